//! The circuit breaker: an agent that does the same thing over and over is stopped.
//!
//! It counts identical calls with identical results, and identical denials, within a minute. It
//! judges nothing else: a call that it lets through is judged as any other. What a person said no to is
//! not kept here, where it could be pushed out by other calls.

use std::collections::HashMap;
use std::time::Duration;

use ic_types::{Digest, Timestamp};

/// How many identical calls with identical results are served in a window.
const REPEATS_MAX: u32 = 20;
/// How many identical denials are answered in a window.
const DENIALS_MAX: u32 = 5;
/// How long repetition is remembered, and how long an identical call is then refused.
const WINDOW: Duration = Duration::from_mins(1);
/// How many different calls are remembered; beyond it the oldest are forgotten.
const CALLS_MAX: usize = 4096;

/// What was called lately, and what came of it.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    calls: HashMap<Digest, Past>,
}

/// What came of a call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Came {
    /// It was served, with a result of this digest.
    Result(Digest),
    /// It was denied.
    Denial,
}

/// What is remembered of one call.
#[derive(Debug)]
struct Past {
    came: Came,
    count: u32,
    since: Timestamp,
    last: Timestamp,
    refused_until: Option<Timestamp>,
}

impl Breaker {
    /// Returns how many times the call was repeated, if it is to be refused now.
    pub(crate) fn refuses(&self, call: &Digest, now: Timestamp) -> Option<u32> {
        let past = self.calls.get(call)?;
        past.refused_until.filter(|until| now < *until).map(|_| past.count)
    }

    /// Remembers what came of a call.
    pub(crate) fn remember(&mut self, call: Digest, came: Came, now: Timestamp) {
        let past = self.past(call, came, now);
        past.count = past.count.saturating_add(1);
        past.last = now;
        let limit = match came {
            Came::Result(_) => REPEATS_MAX,
            Came::Denial => DENIALS_MAX,
        };
        if limit <= past.count {
            past.refused_until = Some(after(now, WINDOW));
        }
    }

    /// Returns what is remembered of a call that came to the same; what came to something else is over.
    fn past(&mut self, call: Digest, came: Came, now: Timestamp) -> &mut Past {
        if !self.calls.contains_key(&call) && CALLS_MAX <= self.calls.len() {
            self.forget(now);
        }
        let fresh = || Past { came, count: 0, since: now, last: now, refused_until: None };
        let past = self.calls.entry(call).or_insert_with(fresh);
        if past.came != came || is_past(past.since, now) {
            *past = fresh();
        }
        past
    }

    /// Forgets what is past; if that is too little, the older half of the rest.
    fn forget(&mut self, now: Timestamp) {
        self.calls.retain(|_, past| {
            !is_past(past.last, now) || past.refused_until.is_some_and(|until| now < until)
        });
        if self.calls.len() < CALLS_MAX {
            return;
        }
        let mut times: Vec<Timestamp> = self.calls.values().map(|past| past.last).collect();
        times.sort_unstable();
        let middle = times.get(times.len() / 2).copied().unwrap_or(now);
        self.calls.retain(|_, past| middle < past.last);
        if CALLS_MAX <= self.calls.len() {
            // All at the same moment: there is no older half.
            self.calls.clear();
        }
    }
}

fn after(time: Timestamp, duration: Duration) -> Timestamp {
    let ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    Timestamp::from_unix_ms(time.unix_ms().saturating_add(ms))
}

fn is_past(since: Timestamp, now: Timestamp) -> bool {
    // A clock that was set back makes `since` lie in the future; then the window starts anew.
    now < since || after(since, WINDOW) <= now
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAME: Came = Came::Result(Digest::from_bytes([1; 32]));

    fn digest(number: u64) -> Digest {
        Digest::of(&number.to_be_bytes())
    }

    fn at(second: u64) -> Timestamp {
        Timestamp::from_unix_ms(1_000_000 + second * 1_000)
    }

    /// Remembers `came` at each of the given seconds, and returns whether the call is then refused.
    fn is_refused(came: &[Came], seconds: &[u64], now: u64) -> bool {
        let mut breaker = Breaker::default();
        for (came, second) in came.iter().zip(seconds) {
            breaker.remember(digest(0), *came, at(*second));
        }
        breaker.refuses(&digest(0), at(now)).is_some()
    }

    #[test]
    fn twenty_equal_results_in_a_minute_are_enough_and_nineteen_are_not() {
        let seconds: Vec<u64> = (0..20).collect();
        assert!(!is_refused(&[SAME; 19], &seconds, 20));
        assert!(is_refused(&[SAME; 20], &seconds, 20));
        assert!(is_refused(&[SAME; 20], &seconds, 78), "for sixty seconds");
        assert!(!is_refused(&[SAME; 20], &seconds, 79), "and no longer");
    }

    #[test]
    fn five_equal_denials_are_enough() {
        assert!(!is_refused(&[Came::Denial; 4], &[0, 1, 2, 3], 4));
        assert!(is_refused(&[Came::Denial; 5], &[0, 1, 2, 3, 4], 5));
        assert!(!is_refused(&[Came::Denial; 5], &[0, 20, 40, 59, 60], 61), "not within a minute");
    }

    #[test]
    fn a_result_that_changes_is_progress() {
        let other = Came::Result(digest(7));
        let came: Vec<Came> = (0..60).map(|n| if n % 19 == 0 { other } else { SAME }).collect();
        assert!(!is_refused(&came, &[0; 60], 0));
    }

    #[test]
    fn a_clock_that_goes_back_refuses_nobody_for_ever() {
        assert!(!is_refused(&[SAME; 20], &[100; 19], 0));
        let mut breaker = Breaker::default();
        for _ in 0..19 {
            breaker.remember(digest(0), SAME, at(1_000_000));
        }
        breaker.remember(digest(0), SAME, at(0));
        assert!(breaker.refuses(&digest(0), at(0)).is_none());
    }

    #[test]
    fn memory_is_bounded() {
        let mut breaker = Breaker::default();
        for number in 0..100_000 {
            breaker.remember(digest(number), SAME, at(number / 1000));
            assert!(breaker.calls.len() <= CALLS_MAX);
        }
        let mut at_once = Breaker::default();
        for number in 0..10_000 {
            at_once.remember(digest(number), SAME, at(0));
            assert!(at_once.calls.len() <= CALLS_MAX);
        }
    }
}
