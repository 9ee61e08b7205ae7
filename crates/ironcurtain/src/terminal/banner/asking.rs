//! Whoever asks at a banner and takes the answers, and where that banner is.
//!
//! A session asks its own questions; the desk those of all sessions.

use ic_escalation::{Pending, Reply};
use ic_session::Questions;

use super::super::group::Group;
use super::super::paint::Tone;
use super::super::stage::Stage;
use crate::error::chain;

/// What can be typed.
const KEYS: &str = "y approve · n deny · g approve and grant · d details";

/// Whoever asks, and takes the answers.
pub(crate) trait Asking {
    /// Returns what waits now.
    fn pending(&self) -> Vec<Pending>;

    /// Returns what is shown together with `first`.
    fn group(&self, first: &Pending, pending: &[Pending]) -> Group;

    /// Says what can be typed.
    fn keys(&self, group: &Group) -> String;

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

    fn keys(&self, _: &Group) -> String {
        KEYS.to_owned()
    }

    fn settle(&self, pending: &Pending, reply: &Reply) -> (Tone, String) {
        match self.resolve(pending, reply) {
            Ok(told) => (Tone::Quiet, told.to_string()),
            Err(error) => (Tone::Bad, chain(&error)),
        }
    }
}

/// Where a banner is shown, and answered.
pub(crate) struct Place<'a> {
    pub(crate) questions: &'a dyn Asking,
    pub(crate) stage: &'a mut dyn Stage,
}
