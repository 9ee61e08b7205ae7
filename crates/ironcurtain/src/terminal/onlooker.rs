//! Looks on while a session works: tells what happens, asks about what needs approval, and can stop it.
//!
//! At a terminal that gives keys, with what goes on and the model's text as it comes; elsewhere line by
//! line.

mod keys;
mod lines;
mod script;
mod watch;

use std::future::Future;

use ic_home::Environment;
use ic_session::{News, Questions};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use self::keys::KeyFront;
use self::lines::LineFront;
pub(crate) use self::script::Script;
use self::watch::Watch;
use super::paint::Paint;
use super::tty::Tty;
use crate::error::Failure;
use crate::own_policy::always::Always;
use crate::screen::Screen;
use crate::signals::Signals;

/// Looks on.
pub(crate) enum Onlooker<'a> {
    /// At a terminal that gives keys.
    Keys(Box<Watch<'a, KeyFront<'a>>>),
    /// Elsewhere.
    Lines(Box<Watch<'a, LineFront<'a>>>),
}

/// Where somebody looks on.
pub(crate) struct Seat<'a> {
    /// Where answers are typed, if somebody is there.
    pub(crate) terminal: Option<Tty>,
    pub(crate) environment: &'a Environment,
    /// What is done between calls.
    pub(crate) between: &'static str,
    /// What adds to the policy at a question.
    pub(crate) always: Always,
}

impl<'a> Onlooker<'a> {
    /// Looks at what happens from now on.
    pub(crate) fn new(
        scene: (&News, &'a Questions),
        seat: Seat<'_>,
        screen: &'a mut Screen,
    ) -> Result<Self, Failure> {
        let Seat { terminal, environment, between, always } = seat;
        let paint = Paint::of_stderr(environment);
        match terminal {
            Some(terminal) if terminal.takes_keys(environment) => {
                let front = KeyFront::new(terminal, paint, (between, always), screen)?;
                Ok(Self::Keys(Box::new(Watch::new(scene, front))))
            }
            terminal => {
                let front = LineFront::new(terminal, paint, screen).offering(always);
                Ok(Self::Lines(Box::new(Watch::new(scene, front))))
            }
        }
    }

    /// Looks at what happens in a session of a script's, or where nobody can be asked.
    pub(crate) fn nobody(
        scene: (&News, &'a Questions),
        paint: Paint,
        screen: &'a mut Screen,
    ) -> Self {
        Self::Lines(Box::new(Watch::new(scene, LineFront::new(None, paint, screen))))
    }

    /// Looks at what happens line by line, and prints every event for a script.
    pub(crate) fn scripted(
        scene: (&News, &'a Questions),
        seat: Seat<'_>,
        script: Script,
        screen: &'a mut Screen,
    ) -> Self {
        let paint = Paint::of_stderr(seat.environment);
        let front = LineFront::new(seat.terminal, paint, screen).offering(seat.always);
        Self::Lines(Box::new(Watch::new(scene, front).scripted(script)))
    }

    /// Lets it print what comes out of `prints`.
    #[must_use]
    pub(crate) fn printing(self, prints: mpsc::Receiver<String>) -> Self {
        match self {
            Self::Keys(keys) => Self::Keys(Box::new(keys.printing(prints))),
            Self::Lines(lines) => Self::Lines(Box::new(lines.printing(prints))),
        }
    }

    /// Looks on until `work` is done; being interrupted cancels it.
    pub(crate) async fn watch<T>(
        &mut self,
        work: impl Future<Output = T>,
        signals: &mut Signals,
        cancel: &CancellationToken,
    ) -> T {
        match self {
            Self::Keys(keys) => keys.watch(work, signals, cancel).await,
            Self::Lines(lines) => lines.watch(work, signals, cancel).await,
        }
    }

    /// Returns whether the answer was shown already.
    pub(crate) fn has_shown_answer(&self) -> bool {
        match self {
            Self::Keys(keys) => keys.front.has_shown_answer(),
            Self::Lines(_) => false,
        }
    }

    /// Returns why standard output could not be written to, if that is so.
    pub(crate) fn deaf(self) -> Option<Failure> {
        match self {
            Self::Keys(keys) => keys.into_deaf(),
            Self::Lines(lines) => lines.into_deaf(),
        }
    }
}
