//! Whoever answers a question: a person at the terminal, or a script where the user allows that.
//!
//! Asked at the terminal itself, because standard input and output may belong to anybody. What is
//! asked, and what comes of the answer, is not known here.

#![expect(clippy::disallowed_types, reason = "the terminal is opened here, and nothing else")]

use std::fs::File;
use std::io::{self, IsTerminal as _, Read as _, Write as _};

use ic_home::config::{Config, ConfigFile, Layers};
use ic_home::{Environment, Home};
use rustix::process::getsid;
use rustix::termios::{QueueSelector, tcflush, tcgetsid};

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
    /// Nobody: whoever wrote the command line has agreed beforehand.
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

/// Whether `approvals.scripted` lets scripts answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Scripts {
    /// They may.
    MayAnswer,
    /// They may not.
    MayNotAnswer,
}

impl Person {
    /// Finds whoever is to answer `what`.
    pub(crate) fn find(what: &str, agreed: bool, scripts: Scripts) -> Result<Self, Failure> {
        match (agreed, scripts) {
            (true, Scripts::MayAnswer) => return Ok(Self::Scripted),
            (true, Scripts::MayNotAnswer) => {
                return Err(Failure::config(format!(
                    "`--yes` would settle {what} without a person, and `approvals.scripted` is false"
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
            Failure::environment(format!("nobody can be asked {what}: there is no terminal"))
                .with_source(source)
                .with_hint(
                    "run this at a terminal; where `approvals.scripted` is true, `--yes` answers \
                     without one",
                )
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

    /// Asks `question`, to which only `y` and `yes` are a yes.
    pub(crate) fn ask(&mut self, question: &str) -> Result<Answer, Failure> {
        let terminal = match self {
            Self::AtTerminal(terminal) => terminal,
            Self::Scripted => return Ok(Answer::Approved),
        };
        // SECURITY: what was typed before the question was read is no answer to it.
        tcflush(&*terminal, QueueSelector::IFlush).map_err(|errno| unusable(errno.into()))?;
        write!(terminal, "{} [y/N] ", visible(question)).map_err(unusable)?;
        let answer = read_line(terminal).map_err(unusable)?;
        Ok(match answer.trim_ascii().to_ascii_lowercase().as_slice() {
            b"y" | b"yes" => Answer::Approved,
            _ => Answer::Denied,
        })
    }
}

impl Person {
    /// Asks for a word, which is returned in lower case; nothing if the terminal has gone.
    ///
    /// A script chooses nothing.
    pub(crate) fn choose(&mut self, question: &str) -> Result<Option<String>, Failure> {
        let terminal = match self {
            Self::AtTerminal(terminal) => terminal,
            Self::Scripted => return Ok(None),
        };
        // SECURITY: what was typed before the question was read is no answer to it.
        tcflush(&*terminal, QueueSelector::IFlush).map_err(|errno| unusable(errno.into()))?;
        write!(terminal, "{} ", visible(question)).map_err(unusable)?;
        let (answer, is_whole) = read_answer(terminal).map_err(unusable)?;
        let text = String::from_utf8_lossy(&answer).trim().to_ascii_lowercase();
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

/// Reads up to the end of a line, or of the input.
fn read_line(terminal: &mut File) -> io::Result<Vec<u8>> {
    read_answer(terminal).map(|(line, _)| line)
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
