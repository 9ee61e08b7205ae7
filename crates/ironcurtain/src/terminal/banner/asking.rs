//! Whose questions a banner shows: those of a session, or of all of them at the desk.

use ic_escalation::{Pending, Reply};
use ic_session::Questions;

use crate::error::chain;
use crate::terminal::group::Group;
use crate::terminal::paint::Tone;

/// What asks, and takes the answers.
pub(crate) trait Asking {
    /// Returns what waits now.
    fn pending(&self) -> Vec<Pending>;

    /// Returns what is shown together with `first`.
    fn group(&self, first: &Pending, pending: &[Pending]) -> Group;

    /// Says what can be typed besides the keys of a question, as it stands behind them.
    fn further_keys(&self) -> &'static str {
        ""
    }

    /// Answers one question, and returns what is said about it.
    fn settle(&self, pending: &Pending, reply: &Reply) -> (Tone, String);
}

impl Asking for Questions {
    fn pending(&self) -> Vec<Pending> {
        self.pending()
    }

    fn group(&self, first: &Pending, pending: &[Pending]) -> Group {
        Group::of(first.clone(), pending)
    }

    fn settle(&self, pending: &Pending, reply: &Reply) -> (Tone, String) {
        match self.resolve(pending, reply) {
            Ok(told) => (Tone::Quiet, told.to_string()),
            Err(error) => (Tone::Bad, chain(&error)),
        }
    }
}
