//! Who answers a question: a person at the terminal, or a script where the user allows that.
//!
//! Asked at the terminal itself, because standard input and output may belong to anybody. What is
//! asked, and what comes of the answer, is not known here.

#![expect(clippy::disallowed_types, reason = "the terminal is opened here, and nothing else")]

use std::fs::File;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::time::Duration;

use ic_home::config::{Config, ConfigFile, Layers};
use ic_home::{Environment, Home};
use ic_terminal::Gate;
use ic_terminal::gate::{Arrival, Page, Reach};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::getsid;
use rustix::termios::{QueueSelector, tcflush, tcgetsid};
use tokio::time::Instant;

use crate::error::Failure;
use crate::screen::{Screen, columns, fold, visible};

/// The terminal of this process, if it has one.
const TERMINAL: &str = "/dev/tty";
/// The longest answer that is looked at.
const ANSWER_BYTES_MAX: usize = 256;

/// Who answers.
#[derive(Debug)]
pub(crate) enum Person {
    /// Somebody at the terminal.
    AtTerminal(File),
    /// Nobody: the command line agreed beforehand.
    Scripted,
}

/// What is answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Answer {
    /// Yes.
    Approved,
    /// No, or anything else than yes.
    Denied,
}

/// Returns whether somebody types at a terminal what this process reads.
pub(crate) fn is_at_terminal() -> bool {
    io::stdin().is_terminal()
}

/// Whether `approvals.scripted` lets scripts answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Scripts {
    /// They may.
    MayAnswer,
    /// They may not.
    MayNotAnswer,
}

impl Person {
    /// Finds who is to answer `what`.
    pub(crate) fn find(what: &str, agreed: bool, scripts: Scripts) -> Result<Self, Failure> {
        match (agreed, scripts) {
            (true, Scripts::MayAnswer) => return Ok(Self::Scripted),
            (true, Scripts::MayNotAnswer) => {
                return Err(Failure::config(format!(
                    "`--yes` would decide {what} without asking you, and `approvals.scripted` is false"
                ))
                .with_hint(
                    "leave `--yes` out and answer at a terminal, or allow scripts to answer with \
                     `ironcurtain config set approvals.scripted true`",
                ));
            }
            (false, _) => {}
        }
        let terminal = File::options().read(true).write(true).open(TERMINAL);
        terminal.map(Self::AtTerminal).map_err(|source| {
            let failure =
                Failure::environment(format!("cannot ask you {what}: there is no terminal"));
            // That there is none is what this error says; any other says more.
            let is_known = source.raw_os_error() == Some(Errno::NXIO.raw_os_error());
            let failure = if is_known { failure } else { failure.with_source(source) };
            failure.with_hint(match scripts {
                Scripts::MayAnswer => "run this at a terminal, or confirm it with `--yes`",
                Scripts::MayNotAnswer => {
                    "run this at a terminal; where `approvals.scripted` is true, a command that \
                         takes `--yes` is answered by it"
                }
            })
        })
    }

    /// Shows what has to be known before the next question.
    ///
    /// The lines go to the terminal at which the person is asked, whatever standard output is, and to
    /// standard output too if that is no terminal: nobody is asked about what they were not shown.
    pub(crate) fn show(&mut self, lines: &[String], screen: &mut Screen) -> Result<(), Failure> {
        let is_shown = match self {
            Self::AtTerminal(_) => io::stdout().is_terminal(),
            Self::Scripted => false,
        };
        if !is_shown {
            screen.lines(lines)?;
        }
        screen.out().flush().map_err(Failure::output)?;
        match self {
            // SECURITY: a standard output that is another terminal is one that nobody may look at.
            Self::AtTerminal(terminal) => {
                let lines = fold(lines, columns(&*terminal));
                let text: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
                terminal.write_all(text.as_bytes()).map_err(unusable)
            }
            Self::Scripted => Ok(()),
        }
    }

    /// Says how they agreed, for a log of what was agreed to.
    pub(crate) fn how_agreed(&self) -> &'static str {
        match self {
            Self::AtTerminal(_) => "confirmed at a terminal",
            Self::Scripted => "confirmed by a script, as approvals.scripted allows",
        }
    }

    /// Asks `question`, to which only `y` and `yes` are a yes.
    pub(crate) fn ask(&mut self, question: &str) -> Result<Answer, Failure> {
        match self {
            Self::AtTerminal(terminal) => Asking::new(terminal, question).answer(),
            Self::Scripted => Ok(Answer::Approved),
        }
    }
}

/// A question at a terminal that is read by lines.
///
/// What answers it is decided by the same [`Gate`] as everywhere else: the prompt appears once nothing
/// was typed for a while, and what was typed before that is thrown away.
struct Asking<'a> {
    terminal: &'a File,
    question: String,
    gate: Gate<()>,
    start: Instant,
    /// Whether what comes next is the rest of a line that was too long.
    is_within_line: bool,
}

/// One reading of the terminal.
enum Line {
    Whole(Vec<u8>),
    Part,
    End,
}

impl<'a> Asking<'a> {
    fn new(terminal: &'a File, question: &str) -> Self {
        let (question, gate) = (visible(question), Gate::shut());
        Self { terminal, question, gate, start: Instant::now(), is_within_line: false }
    }

    /// Asks until an answer counts; a person who goes away has not agreed.
    fn answer(&mut self) -> Result<Answer, Failure> {
        self.stand()?;
        loop {
            if !self.is_typed()? {
                self.open()?;
                continue;
            }
            let line = match self.read()? {
                Line::Whole(line) => line,
                Line::Part => {
                    self.gate.arrives(Arrival::Mixed, self.start.elapsed());
                    self.gate.disturbed();
                    continue;
                }
                Line::End => return Ok(Answer::Denied),
            };
            self.gate.arrives(Arrival::Alone, self.start.elapsed());
            let answer = Answer::of(&line);
            match self.gate.key(Reach::Whole).copied() {
                Ok(()) => return Ok(answer),
                Err(not_yet) => {
                    let word = if answer == Answer::Approved { "y" } else { "n" };
                    self.write(&format!(" ({})\n", not_yet.to_hint(word)))?;
                    self.stand()?;
                }
            }
        }
    }

    /// Puts the question there.
    fn stand(&mut self) -> Result<(), Failure> {
        self.write(&self.question)?;
        let whole = Page { from: 0, to: 1, of: 1 };
        self.gate.stands((), whole, self.start.elapsed());
        Ok(())
    }

    /// Lets an answer count, and says so, if it is time.
    fn open(&mut self) -> Result<(), Failure> {
        if self.gate.is_disturbed() {
            self.write("\n")?;
            return self.stand();
        }
        // SECURITY: what was typed before the question was read is no answer to it.
        tcflush(self.terminal, QueueSelector::IFlush).map_err(|errno| unusable(errno.into()))?;
        match self.gate.open(self.start.elapsed()) {
            true => self.write(" [y/N] "),
            false => Ok(()),
        }
    }

    /// Waits until something was typed, or the gate has to be opened; returns whether something was.
    fn is_typed(&self) -> Result<bool, Failure> {
        let now = self.start.elapsed();
        let wait = match self.gate.opens_at() {
            Some(at) => Some(at.saturating_sub(now)),
            None if self.gate.is_open() => None,
            None => Some(Duration::ZERO),
        };
        let wait = wait.and_then(|it| Timespec::try_from(it).ok());
        let mut polled = [PollFd::new(self.terminal, PollFlags::IN)];
        match poll(&mut polled, wait.as_ref()) {
            Ok(n_ready) => Ok(0 < n_ready),
            Err(Errno::INTR) => Ok(false),
            Err(errno) => Err(unusable(errno.into())),
        }
    }

    /// Reads once, which does not wait because something is there.
    fn read(&mut self) -> Result<Line, Failure> {
        let mut buffer = [0; ANSWER_BYTES_MAX];
        let bytes = match rustix::io::read(self.terminal, &mut buffer) {
            Ok(0) => return Ok(Line::End),
            Ok(n_bytes) => buffer.get(..n_bytes).unwrap_or_default(),
            Err(Errno::INTR) => return Ok(Line::Part),
            Err(errno) => return Err(unusable(errno.into())),
        };
        // SECURITY: the rest of a long line must not be taken for a line of its own.
        let was_within_line = std::mem::replace(&mut self.is_within_line, !bytes.ends_with(b"\n"));
        Ok(match was_within_line || self.is_within_line {
            true => Line::Part,
            false => Line::Whole(bytes.to_owned()),
        })
    }

    fn write(&self, text: &str) -> Result<(), Failure> {
        let mut terminal = self.terminal;
        terminal.write_all(text.as_bytes()).map_err(unusable)
    }
}

impl Answer {
    fn of(line: &[u8]) -> Self {
        match line.trim_ascii().to_ascii_lowercase().as_slice() {
            b"y" | b"yes" => Self::Approved,
            _ => Self::Denied,
        }
    }
}

impl Person {
    /// Asks for a word, which is returned in lower case; nothing if the terminal has gone.
    ///
    /// A script chooses nothing.
    pub(crate) fn choose(&mut self, question: &str) -> Result<Option<String>, Failure> {
        Ok(self.words(question)?.map(|it| it.to_ascii_lowercase()))
    }

    /// Asks for words, which are returned as they were typed; nothing if the terminal has gone.
    pub(crate) fn words(&mut self, question: &str) -> Result<Option<String>, Failure> {
        let terminal = match self {
            Self::AtTerminal(terminal) => terminal,
            Self::Scripted => return Ok(None),
        };
        // SECURITY: what was typed before the question was read is no answer to it.
        tcflush(&*terminal, QueueSelector::IFlush).map_err(|errno| unusable(errno.into()))?;
        write!(terminal, "{} ", visible(question)).map_err(unusable)?;
        let (answer, is_whole) = read_answer(terminal).map_err(unusable)?;
        let text = String::from_utf8_lossy(&answer).trim().to_owned();
        Ok((is_whole || !text.is_empty()).then_some(text))
    }
}

impl Scripts {
    /// Reads whether scripts may answer.
    pub(crate) fn of(home: &Home, environment: &Environment) -> Result<Self, Failure> {
        let file = ConfigFile::read(home)?;
        let config = Config::load(&Layers { flags: &[], environment, file: &file })?;
        Ok(match config.approvals_scripted {
            true => Self::MayAnswer,
            false => Self::MayNotAnswer,
        })
    }
}

/// Returns whether standard output is the terminal at which a person is asked.
pub(crate) fn is_shown_at_terminal() -> bool {
    // A terminal is that of one session only, and the system tells no other one whose.
    let theirs = tcgetsid(io::stdout());
    theirs.is_ok_and(|session| getsid(None).is_ok_and(|ours| ours == session))
}

/// Reads a line, and whether it was not the end of the input that ended it.
fn read_answer(terminal: &mut File) -> io::Result<(Vec<u8>, bool)> {
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < ANSWER_BYTES_MAX {
        if terminal.read(&mut byte)? != 1 {
            return Ok((line, false));
        }
        if byte == *b"\n" {
            break;
        }
        line.extend(byte);
    }
    Ok((line, true))
}

fn unusable(source: io::Error) -> Failure {
    Failure::environment("cannot ask at the terminal").with_source(source)
}
