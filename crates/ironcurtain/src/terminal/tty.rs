//! The terminal itself, read line by line without holding anything up.
//!
//! Opened anew, so that reading without waiting changes nothing for others who have it open. What a
//! line means is not known here.

use std::io::{self, IsTerminal as _};
use std::os::fd::{AsFd, OwnedFd};

use ic_home::Environment;
use ic_session::{AtTerminal, Seat};
use rustix::fs::{Mode, OFlags};
use rustix::process::{getpgrp, getsid};
use rustix::termios::{QueueSelector, tcflush, tcgetpgrp, tcgetsid};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The terminal of this process, if it has one.
const TERMINAL: &str = "/dev/tty";
/// The longest line that is looked at.
const LINE_BYTES_MAX: usize = 256;

/// How much is read of keys at once.
const KEYS_BYTES_MAX: usize = 4096;

/// A terminal at which somebody sits.
#[derive(Debug)]
pub(crate) struct Tty {
    terminal: AsyncFd<OwnedFd>,
    /// Whether what comes next is the rest of a line that was too long.
    is_within_line: bool,
    /// Whoever sits here is gone with the terminal.
    seat: Option<Seat>,
}

/// What was typed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Typed {
    /// A line, without the ends of it.
    Line(String),
    /// Nothing that could be an answer.
    Noise,
    /// The terminal has gone, or its input has ended.
    End,
}

impl Tty {
    /// Finds the terminal, if somebody sits at it: both what is asked and what is typed go through it.
    ///
    /// Must be called within the runtime that is to wait for it.
    pub(crate) fn find() -> Option<Self> {
        if !io::stdin().is_terminal() || !is_ours(io::stderr()) {
            return None;
        }
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let terminal = rustix::fs::open(TERMINAL, flags, Mode::empty()).ok()?;
        let terminal = waited_for(terminal, Interest::READABLE).ok()?;
        Some(Self { terminal, is_within_line: false, seat: Some(Seat::default()) })
    }

    /// Returns whether single keys can be read and rows drawn here, without taking the terminal from others.
    ///
    /// Whoever reads our standard output in a pipe may use the terminal too, and a task in the background
    /// does not have it.
    pub(crate) fn takes_keys(&self, environment: &Environment) -> bool {
        let is_ahead = tcgetpgrp(self.terminal.get_ref()).is_ok_and(|it| it == getpgrp());
        is_ahead && is_ours(io::stdout()) && is_ours(io::stderr()) && environment.terminal_draws()
    }

    /// Returns what knows whether somebody still sits here.
    pub(crate) fn at_terminal(&self) -> AtTerminal {
        self.seat.as_ref().map(Seat::at_terminal).unwrap_or_default()
    }

    /// Takes note that nobody sits here any more, so that no question counts on them.
    pub(crate) fn leave_seat(&mut self) {
        self.seat = None;
    }

    /// Throws away what was typed and not read yet.
    pub(crate) fn forget_typed(&self) {
        // Without a terminal nothing was typed.
        tcflush(self.terminal.get_ref(), QueueSelector::IFlush).ok();
    }

    /// Returns the terminal, for whoever changes how it works.
    pub(crate) fn handle(&self) -> io::Result<OwnedFd> {
        self.terminal.get_ref().try_clone()
    }

    /// Waits for the next bytes; none if the terminal has gone.
    pub(crate) async fn bytes(&mut self) -> Vec<u8> {
        let mut buffer = [0; KEYS_BYTES_MAX];
        let n_bytes = self.read(&mut buffer).await;
        buffer.get(..n_bytes).unwrap_or_default().to_vec()
    }

    /// Reads what is there, or waits for it; nothing comes any more after nothing.
    async fn read(&mut self, buffer: &mut [u8]) -> usize {
        loop {
            let Ok(mut ready) = self.terminal.readable().await else { return 0 };
            let read = ready.try_io(|terminal| Ok(rustix::io::read(terminal, &mut *buffer)?));
            match read {
                Ok(Ok(n_bytes)) => return n_bytes,
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(Err(_)) => return 0,
                // Nothing was there after all.
                Err(_) => {}
            }
        }
    }

    /// Waits for the next line.
    pub(crate) async fn typed(&mut self) -> Typed {
        let mut buffer = [0; LINE_BYTES_MAX];
        let n_bytes = self.read(&mut buffer).await;
        if n_bytes == 0 {
            return Typed::End;
        }
        let bytes = buffer.get(..n_bytes).unwrap_or_default();
        // SECURITY: the rest of a long line must not be taken for a line of its own.
        let was_within_line = std::mem::replace(&mut self.is_within_line, !bytes.ends_with(b"\n"));
        match was_within_line || self.is_within_line {
            true => Typed::Noise,
            false => Typed::Line(String::from_utf8_lossy(bytes).trim().to_owned()),
        }
    }
}

/// Returns a terminal that can be waited for.
pub(super) fn waited_for(terminal: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    #[expect(
        deprecated,
        reason = "only a handle that is closed behind its back is a danger here, and this one is \
                  owned; what replaces this is unsafe"
    )]
    let waited_for = AsyncFd::with_interest(terminal, interest);
    waited_for
}

/// Returns whether a stream is the terminal at which answers are typed.
pub(super) fn is_ours(stream: impl AsFd) -> bool {
    // SECURITY: one that is another terminal is one that nobody may look at. A terminal is that of one
    // session only, and the system tells no other one whose.
    tcgetsid(stream).is_ok_and(|theirs| getsid(None).is_ok_and(|ours| ours == theirs))
}
