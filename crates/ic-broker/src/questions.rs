//! What a session has asked people lately: how often, and what they said no to.
//!
//! Keeps an agent from burying a person in questions, and from asking again what was denied. It knows
//! nothing of calls that nobody is asked about, and decides nothing about those that are.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use ic_policy::ResolvedCall;
use ic_types::{Digest, Json};
use tokio::time::Instant;

/// How many questions a session may put to people in a window, those included that it took back.
pub(crate) const RAISED_MAX: usize = 30;
/// How many denials of people are remembered; while there are more, nobody is asked anything.
const NOES_MAX: usize = 256;
/// How long a question counts, and how long a person's no stands.
pub(crate) const WINDOW: Duration = Duration::from_mins(1);

/// What was asked lately.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    /// When questions were raised, the oldest first.
    raised: VecDeque<Instant>,
    /// When a person said no, by what they were asked about.
    noes: HashMap<Digest, Instant>,
}

/// Why a person is not asked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum NotAsked {
    /// They said no to this very call.
    SaidNo,
    /// They said no to more than is remembered.
    SaidNoOften,
}

impl Questions {
    /// Returns why a person is not to be asked about `call`, if so.
    pub(crate) fn refuses(&mut self, call: &Digest, now: Instant) -> Option<NotAsked> {
        self.forget(now);
        if self.noes.contains_key(call) {
            return Some(NotAsked::SaidNo);
        }
        // SECURITY: forgetting a no to make room would let it be asked again.
        (NOES_MAX <= self.noes.len()).then_some(NotAsked::SaidNoOften)
    }

    /// Counts one more question; `false` if there were too many already.
    #[must_use]
    pub(crate) fn raise(&mut self, now: Instant) -> bool {
        self.forget(now);
        let may = self.raised.len() < RAISED_MAX;
        if may {
            self.raised.push_back(now);
        }
        may
    }

    /// Remembers that a person said no to `call`.
    pub(crate) fn remember_no(&mut self, call: Digest, now: Instant) {
        self.forget(now);
        if self.noes.len() < NOES_MAX {
            self.noes.insert(call, now);
        }
    }

    fn forget(&mut self, now: Instant) {
        let is_past = |since: Instant| WINDOW <= now.saturating_duration_since(since);
        while self.raised.front().is_some_and(|since| is_past(*since)) {
            self.raised.pop_front();
        }
        self.noes.retain(|_, since| !is_past(*since));
    }
}

/// Returns what makes two questions the same: what would be sent, however it was spelled.
pub(crate) fn subject(call: &ResolvedCall) -> Digest {
    let mut sent = String::with_capacity(256);
    Json::write_canonical_object(&mut sent, call.sent());
    let parts = [call.server().as_str(), call.tool().as_str(), &sent];
    Digest::of_parts(parts.into_iter().map(str::as_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(number: usize) -> Digest {
        Digest::of(&number.to_be_bytes())
    }

    #[test]
    fn so_many_questions_are_asked_in_a_minute() {
        let (mut questions, start) = (Questions::default(), Instant::now());
        let at = |second: u64| start + Duration::from_secs(second);
        for second in 0..30 {
            assert!(questions.raise(at(second)), "{second}");
        }
        assert!(!questions.raise(at(30)) && !questions.raise(at(59)));
        // Each counts for a minute, and those that were refused do not.
        assert!(questions.raise(at(60)) && !questions.raise(at(60)));
        assert!(questions.raise(at(61)) && !questions.raise(at(61)));
        assert!((0..28).all(|_| questions.raise(at(89))));
        assert_eq!(questions.raised.len(), RAISED_MAX);
    }

    #[test]
    fn a_no_stands_for_a_minute() {
        let (mut questions, now) = (Questions::default(), Instant::now());
        questions.remember_no(digest(0), now);
        let last = now + WINDOW - Duration::from_millis(1);
        assert_eq!(questions.refuses(&digest(0), last), Some(NotAsked::SaidNo));
        assert_eq!(questions.refuses(&digest(1), now), None, "another call");
        assert_eq!(questions.refuses(&digest(0), now + WINDOW), None);
    }

    #[test]
    fn no_denial_makes_room_for_another() {
        let (mut questions, now) = (Questions::default(), Instant::now());
        for number in 0..10_000 {
            questions.remember_no(digest(number), now);
        }
        assert_eq!(questions.noes.len(), NOES_MAX);
        assert_eq!(questions.refuses(&digest(0), now), Some(NotAsked::SaidNo));
        assert_eq!(questions.refuses(&digest(9_999), now), Some(NotAsked::SaidNoOften));
        assert_eq!(questions.refuses(&digest(9_999), now + WINDOW), None);
    }
}
