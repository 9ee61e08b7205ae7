//! The questions of one session that wait for a person, as the session itself sees them.
//!
//! What is answered is what was shown; how it is shown is not known here.

use std::sync::{Mutex, PoisonError};

use ic_escalation::{Board, Pending, Reply, SessionEntry, Told};
use ic_home::{Clock as _, SystemClock};
use ic_policy::DecidedBy;

use crate::session::ResolveError;

/// The questions of a session.
#[derive(Debug)]
pub struct Questions {
    entry: SessionEntry,
    board: Mutex<Board>,
    /// What a record says of who answers here.
    by: DecidedBy,
}

impl Questions {
    /// Makes the questions of the session that is listed as `entry`.
    pub fn of(entry: SessionEntry) -> Self {
        Self { entry, board: Mutex::new(Board::default()), by: DecidedBy::Repl }
    }

    /// Returns the same questions for the terminal that shows an agent's own interface.
    #[must_use]
    pub fn at_interface(&self) -> Self {
        Self { by: DecidedBy::Pty, ..Self::of(self.entry.clone()) }
    }

    /// Returns what waits, in order.
    pub fn pending(&self) -> Vec<Pending> {
        let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        board.look(std::slice::from_ref(&self.entry), SystemClock.now()).pending
    }

    /// Answers a question that was shown to the person who runs the session.
    pub fn resolve(&self, shown: &Pending, reply: &Reply) -> Result<Told, ResolveError> {
        let id = &shown.request().escalation;
        if !self.pending().iter().any(|it| it.request().escalation == *id) {
            return Err(ResolveError::NotPending(id.clone()));
        }
        Ok(shown.answer(reply, self.by, SystemClock.now())?)
    }
}
