//! What asks this program to end: an interrupt, a termination, a quit, a terminal that was closed.
//!
//! Says only that; how a command ends is its own business.

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::low_level;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::error::Failure;

/// The exit code of what was cancelled.
const CANCELLED: i32 = 130;

/// The signals that ask us to end.
#[derive(Debug)]
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    /// From a key or from another program; the terminal has to come back as it was all the same.
    quit: Signal,
}

/// What we are asked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Asked {
    /// To end.
    Terminate,
    /// The terminal was closed.
    HangUp,
}

impl Signals {
    /// Listens from now on; must be called within the runtime that is to wait for them.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let on = |kind| {
            signal(kind).map_err(|source| {
                Failure::environment("cannot wait for signals").with_source(source)
            })
        };
        Ok(Self {
            interrupt: on(SignalKind::interrupt())?,
            terminate: on(SignalKind::terminate())?,
            hangup: on(SignalKind::hangup())?,
            quit: on(SignalKind::quit())?,
        })
    }

    /// Lets the second of them end this program at once, after `before` was done, with the exit code of one
    /// that was cancelled.
    ///
    /// A thread hears them, so that this works while everything else waits, even for somebody to read what
    /// is written. What was started ends with this program, and its record says up to where it came.
    pub(crate) fn end_at_the_second_after(self, before: fn()) -> Result<Self, Failure> {
        let all = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];
        let mut heard = signal_hook::iterator::Signals::new(all).map_err(|source| {
            Failure::environment("cannot wait for signals").with_source(source)
        })?;
        std::thread::spawn(move || {
            if heard.forever().nth(1).is_some() {
                before();
                low_level::exit(CANCELLED);
            }
        });
        Ok(self)
    }

    /// Waits for any of them, and says what is asked.
    pub(crate) async fn which(&mut self) -> Asked {
        tokio::select! {
            _ = self.interrupt.recv() => Asked::Terminate,
            _ = self.terminate.recv() => Asked::Terminate,
            _ = self.hangup.recv() => Asked::HangUp,
            _ = self.quit.recv() => Asked::Terminate,
        }
    }

    /// Waits for any of them.
    pub(crate) async fn any(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
            _ = self.quit.recv() => {}
        }
    }
}

/// Returns a token that is cancelled when somebody asks us to end.
pub(crate) fn stop_on_signals() -> Result<CancellationToken, Failure> {
    let stop = CancellationToken::new();
    let (mut signals, told) = (Signals::listen()?, stop.clone());
    tokio::spawn(async move {
        signals.any().await;
        told.cancel();
    });
    Ok(stop)
}
