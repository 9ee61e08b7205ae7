//! The side of a terminal that is handed over: takes it, waits, and gives it back as it was.
//!
//! What is typed and drawn meanwhile is none of its business; it says when the size changes and when somebody
//! asks it to end, and it gives the terminal back even if the process at the other end is killed.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::{Child, ExitStatus};
use std::time::Duration;

use ic_home::Environment;
use rustix::process::{Pid, Signal as Sent, kill_process};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::holding::Holder;
use super::wire::{Told, Why, Wish, Word, say_hello};
use crate::commands::Exit;
use crate::error::Failure;
use crate::screen::Screen;
use crate::signals::{Asked, Signals};
use crate::terminal::{RawMode, Tty, agents_screen, restore, titled};

/// The most lines that are kept of what the process at the other end says for itself.
const LINES_MAX: usize = 100;
/// How long it is waited for what a process that is gone has said last.
const LAST_WORDS_MAX: Duration = Duration::from_secs(2);

/// A terminal at which a session is shown.
pub(crate) struct Client<'a> {
    terminal: OwnedFd,
    signals: Signals,
    told: mpsc::Receiver<io::Result<Told>>,
    writing: OwnedWriteHalf,
    raw: Option<RawMode>,
    /// Whether the interface has ended.
    is_over: bool,
    holder: Option<Own>,
    screen: &'a mut Screen,
}

/// The process that holds the session, if we started it, and what it says for itself.
struct Own {
    process: Child,
    lines: Lines<BufReader<pipe::Receiver>>,
    is_silent: bool,
    kept: Vec<String>,
}

/// Something that happened.
enum Happening {
    Told(Option<io::Result<Told>>),
    Line(io::Result<Option<String>>),
    Asked(Asked),
    Resized,
    Continued,
}

/// Says that there is nothing to draw on.
pub(crate) fn no_terminal() -> Failure {
    Failure::environment("PTY mode needs a terminal to draw on")
        .with_hint("leave `--pty` out where input or output is a pipe")
}

/// Finds the terminal that is to be handed over.
///
/// Must be called within a runtime.
pub(crate) fn terminal(environment: &Environment) -> Option<OwnedFd> {
    Tty::find().filter(|it| it.takes_keys(environment))?.handle().ok()
}

impl<'a> Client<'a> {
    /// Shows the session that `holder` begins.
    pub(crate) async fn begin(
        terminal: OwnedFd,
        holder: Holder,
        screen: &'a mut Screen,
    ) -> Result<Exit, Failure> {
        let Holder { mut process, line } = holder;
        let lines = process.stderr.take().ok_or_else(|| unusable(io::ErrorKind::BrokenPipe.into()));
        let lines = pipe::Receiver::from_owned_fd(lines?.into()).map_err(unusable)?;
        let lines = BufReader::new(lines).lines();
        let own = Own { process, lines, is_silent: false, kept: Vec::new() };
        Self::show(terminal, line, (Wish::Attach, Some(own)), screen).await
    }

    /// Shows a session that runs.
    pub(crate) async fn attach(
        terminal: OwnedFd,
        line: UnixStream,
        wish: Wish,
        screen: &'a mut Screen,
    ) -> Result<Exit, Failure> {
        Self::show(terminal, line, (wish, None), screen).await
    }

    async fn show(
        terminal: OwnedFd,
        line: UnixStream,
        (wish, holder): (Wish, Option<Own>),
        screen: &'a mut Screen,
    ) -> Result<Exit, Failure> {
        let signals = Signals::listen()?.end_at_the_second_after(restore)?;
        say_hello(&line, wish, terminal.as_fd()).await.map_err(unusable)?;
        let (reading, writing) = line.into_split();
        let (sender, told) = mpsc::channel(1);
        tokio::spawn(hear(reading, sender));
        let raw = None;
        let client = Self { terminal, signals, told, writing, raw, is_over: false, holder, screen };
        client.run().await
    }

    async fn run(mut self) -> Result<Exit, Failure> {
        let listen = |kind| signal(kind).map_err(unusable);
        let mut resized = listen(SignalKind::window_change())?;
        let mut continued = listen(SignalKind::from_raw(signal_hook::consts::SIGCONT))?;
        let ended = loop {
            let happening = tokio::select! {
                biased;
                line = next_line(self.holder.as_mut()) => Happening::Line(line),
                told = self.told.recv() => Happening::Told(told),
                asked = self.signals.which() => Happening::Asked(asked),
                _ = resized.recv() => Happening::Resized,
                _ = continued.recv() => Happening::Continued,
            };
            match happening {
                Happening::Told(Some(Ok(told))) => {
                    if let Some(ended) = self.on_told(told) {
                        break ended;
                    }
                }
                // It is gone, or says what nobody understands.
                Happening::Told(None | Some(Err(_))) => break self.on_gone().await,
                Happening::Line(line) => self.on_line(line),
                Happening::Asked(asked) => self.on_asked(asked),
                Happening::Resized => self.say(Word::Resized),
                Happening::Continued => self.on_continued(),
            }
        };
        self.raw = None;
        ended
    }

    fn say(&self, word: Word) {
        // Whoever does not hear it is gone, which is noticed by itself.
        self.writing.try_write(&[word.byte()]).ok();
    }

    fn on_told(&mut self, told: Told) -> Option<Result<Exit, Failure>> {
        match told {
            Told::Welcome => {
                match RawMode::enter(&self.terminal) {
                    Ok(raw) => self.raw = Some(raw),
                    Err(source) => return Some(Err(unusable(source))),
                }
                agents_screen();
                self.say(Word::Go);
            }
            Told::Refused(text) => return Some(Err(Failure::environment(text))),
            Told::Titled(is_ours) => titled(is_ours),
            Told::Goodbye(why) => {
                self.raw = None;
                match why {
                    Why::Over => self.is_over = true,
                    Why::Left => {
                        self.screen.notice(
                            "detached; the session goes on, and `ironcurtain attach` comes back to it",
                        );
                        return Some(Ok(Exit::Success));
                    }
                    Why::Taken => {
                        self.screen.notice("another terminal has taken the session over");
                        return Some(Ok(Exit::Success));
                    }
                }
            }
            Told::Said(line) => self.screen.progress(&line, str::to_owned),
            Told::Ended(code) => return Some(Ok(Exit::Agent(code))),
        }
        None
    }

    /// Says how it ended at the other end, which has not said so itself.
    async fn on_gone(&mut self) -> Result<Exit, Failure> {
        let has_begun = self.raw.is_some() || self.is_over;
        self.raw = None;
        if self.is_over {
            self.screen.notice("the agent's interface has ended");
            return Ok(Exit::Success);
        }
        let gone = || Failure::environment("the process that held the session is gone");
        let Some(mut own) = self.holder.take() else { return Err(gone()) };
        // What it has started may have its standard error open for a while.
        let last_words = async {
            while let Ok(Some(line)) = own.lines.next_line().await {
                own.keep(line, has_begun, self.screen);
            }
        };
        tokio::time::timeout(LAST_WORDS_MAX, last_words).await.ok();
        for line in &own.kept {
            self.screen.progress(line, str::to_owned);
        }
        if has_begun {
            return Err(gone());
        }
        // It has said why it did not begin.
        code(own.process.wait().map_err(unusable)?).map(Exit::Agent).ok_or_else(gone)
    }

    fn on_line(&mut self, line: io::Result<Option<String>>) {
        let is_shown = self.raw.is_some() || self.is_over;
        let Some(own) = &mut self.holder else { return };
        match line {
            Ok(Some(line)) => own.keep(line, is_shown, self.screen),
            Ok(None) | Err(_) => own.is_silent = true,
        }
    }

    fn on_asked(&mut self, asked: Asked) {
        let word = match (asked, &self.holder) {
            (Asked::Terminate, Some(own)) if self.raw.is_none() => {
                // It does not listen yet, but it can be asked as we were.
                let process = i32::try_from(own.process.id()).ok().and_then(Pid::from_raw);
                if let Some(process) = process {
                    kill_process(process, Sent::TERM).ok();
                }
                return;
            }
            (Asked::Terminate, Some(_)) => Word::End,
            (Asked::Terminate, None) | (Asked::HangUp, _) => Word::Leave,
        };
        self.say(word);
    }

    fn on_continued(&self) {
        if self.raw.is_some() {
            // A terminal that cannot be taken again is one that cannot be read either.
            RawMode::again(&self.terminal).ok();
            agents_screen();
            self.say(Word::Continued);
        }
    }
}

impl Own {
    /// Shows a line that it says for itself, or keeps it as long as its interface is shown.
    fn keep(&mut self, line: String, is_shown: bool, screen: &mut Screen) {
        match is_shown {
            false => screen.progress(&line, str::to_owned),
            true if self.kept.len() < LINES_MAX => self.kept.push(line),
            true => {}
        }
    }
}

async fn hear(mut reading: OwnedReadHalf, sender: mpsc::Sender<io::Result<Told>>) {
    while let Some(told) = Told::read(&mut reading).await.transpose() {
        let is_sense = told.is_ok();
        if sender.send(told).await.is_err() || !is_sense {
            return;
        }
    }
}

async fn next_line(own: Option<&mut Own>) -> io::Result<Option<String>> {
    match own {
        Some(own) if !own.is_silent => own.lines.next_line().await,
        _ => std::future::pending().await,
    }
}

fn code(status: ExitStatus) -> Option<u8> {
    status.code().and_then(|code| u8::try_from(code).ok())
}

fn unusable(source: io::Error) -> Failure {
    Failure::environment("cannot use the terminal").with_source(source)
}
