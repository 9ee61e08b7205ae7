//! Notices that a model goes in circles: the same tool uses with the same results, over and over.
//!
//! It only counts; what follows from it is decided by whoever asks.

use std::collections::VecDeque;

use ic_types::{Digest, Json};

use crate::toolbox::ToolOutcome;

/// The longest circle that is noticed, in tool uses.
const PERIOD_MAX: usize = 3;
/// The largest number of rounds that is counted.
pub(crate) const ROUNDS_MAX: usize = 6;

/// What was used last, and what came of it.
#[derive(Debug, Default)]
pub(crate) struct Repetition(VecDeque<Digest>);

impl Repetition {
    /// Takes in a tool use; returns how often the shortest circle has been gone through.
    ///
    /// It is 1 for a use that is not like the ones before it.
    pub(crate) fn observe(&mut self, name: &str, input: &Json, outcome: &ToolOutcome) -> usize {
        let input = input.to_canonical();
        let kind: &[u8] = if outcome.is_error { b"error" } else { b"result" };
        let parts = [name.as_bytes(), input.as_bytes(), kind, outcome.content.as_bytes()];
        self.0.push_front(Digest::of_parts(parts));
        self.0.truncate(PERIOD_MAX * ROUNDS_MAX);
        (1..=PERIOD_MAX).map(|period| self.rounds(period)).max().unwrap_or(1)
    }

    /// Returns how often the last `period` uses occur in a row, counted backwards.
    fn rounds(&self, period: usize) -> usize {
        let newer = self.0.iter();
        let older = self.0.iter().skip(period);
        let n_same = newer.zip(older).take_while(|(newer, older)| newer == older).count();
        1 + n_same / period
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each letter is a use with a result of its own.
    #[track_caller]
    fn check(uses: &str, expected: &[usize]) {
        let mut repetition = Repetition::default();
        let rounds: Vec<usize> = uses
            .chars()
            .map(|it| {
                let outcome = ToolOutcome::done(it.to_string());
                repetition.observe("t", &Json::Null, &outcome)
            })
            .collect();
        assert_eq!(rounds, expected, "{uses}");
    }

    #[test]
    fn circles_are_counted_in_rounds() {
        check("abc", &[1, 1, 1]);
        check("aaaa", &[1, 2, 3, 4]);
        check("aabaa", &[1, 2, 1, 1, 2]);
        check("ababab", &[1, 1, 1, 2, 2, 3]);
        check("abcabcabc", &[1, 1, 1, 1, 1, 2, 2, 2, 3]);
        check("abcdabcd", &[1; 8]);
        check("aaaaaaaaaa", &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    }

    #[test]
    fn another_result_or_input_or_name_is_something_else() {
        let mut repetition = Repetition::default();
        let done = ToolOutcome::done("x");
        assert_eq!(repetition.observe("t", &Json::Null, &done), 1);
        assert_eq!(repetition.observe("t", &Json::Null, &done), 2);
        assert_eq!(repetition.observe("u", &Json::Null, &done), 1);
        assert_eq!(repetition.observe("u", &Json::from(true), &done), 1);
        assert_eq!(repetition.observe("u", &Json::from(true), &ToolOutcome::failed("x")), 1);
    }

    #[test]
    fn memory_has_an_end() {
        let mut repetition = Repetition::default();
        for n in 0..1000_u64 {
            repetition.observe("t", &Json::from(n), &ToolOutcome::done("x"));
        }
        assert_eq!(repetition.0.len(), PERIOD_MAX * ROUNDS_MAX);
    }
}
