//! Keeps a flood of refusals from becoming a flood of records.
//!
//! The first refusal of a kind is recorded at once; its repetitions are counted, and recorded
//! together when the window ends. Of too many kinds only the number is kept. No clock: the owner
//! says when a window ends.

use std::collections::HashMap;

use ic_types::Host;

use crate::ledger::Door;
use crate::refusal::Refusal;

/// How many kinds of refusals are recorded one by one in a window.
pub(crate) const KINDS_MAX: usize = 32;

/// What was refused, as often as it may be.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Kind {
    pub(crate) door: Door,
    pub(crate) host: Option<Host>,
    pub(crate) port: Option<u16>,
    pub(crate) why: Refusal,
}

/// The refusals of one window.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// How often each kind was refused since it was recorded.
    again: HashMap<Kind, u64>,
    /// How often something was refused that is not in there, by door.
    others: HashMap<Door, u64>,
}

impl Tally {
    /// Counts a refusal; returns it if it is to be recorded now.
    pub(crate) fn note(&mut self, kind: Kind) -> Option<Kind> {
        if let Some(times) = self.again.get_mut(&kind) {
            *times += 1;
            return None;
        }
        if KINDS_MAX <= self.again.len() {
            *self.others.entry(kind.door).or_default() += 1;
            return None;
        }
        self.again.insert(kind.clone(), 0);
        Some(kind)
    }

    /// Ends the window; returns what is still to be recorded of it, with how often it was refused.
    pub(crate) fn drain(&mut self) -> Vec<(Kind, u64)> {
        let again = self.again.drain().filter(|(_, times)| *times != 0);
        let others = self.others.drain().map(|(door, times)| {
            (Kind { door, host: None, port: None, why: Refusal::Flood }, times)
        });
        again.chain(others).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(host: &str) -> Kind {
        let host = Some(host.parse().unwrap());
        Kind { door: Door::Dns, host, port: None, why: Refusal::NotAllowed }
    }

    #[test]
    fn repetitions_are_counted() {
        let mut tally = Tally::default();
        assert_eq!(tally.note(kind("a.example")), Some(kind("a.example")));
        for _ in 0..1000 {
            assert_eq!(tally.note(kind("a.example")), None);
        }
        assert_eq!(tally.note(kind("b.example")), Some(kind("b.example")));
        assert_eq!(tally.drain(), [(kind("a.example"), 1000)]);
        assert_eq!(tally.note(kind("a.example")), Some(kind("a.example")));
        assert!(tally.drain().is_empty());
    }

    #[test]
    fn a_flood_of_different_refusals_is_one_record() {
        let mut tally = Tally::default();
        let recorded = (0..10_000).filter_map(|n| tally.note(kind(&format!("n{n}.example"))));
        assert_eq!(recorded.count(), KINDS_MAX);
        let left = tally.drain();
        assert_eq!(left.len(), 1);
        assert_eq!(left[0].0.why, Refusal::Flood);
        assert_eq!(left[0].1, 10_000 - KINDS_MAX as u64);
    }
}
