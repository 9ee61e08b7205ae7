//! When a request is sent once more: pure arithmetic over what the provider said.
//!
//! Nothing waits here.

use std::time::Duration;

use ic_types::Timestamp;

use crate::error::ModelError;

/// How often a request is sent at most.
pub(crate) const ATTEMPTS_MAX: u32 = 5;
/// How often somebody who cannot be reached is tried at most.
pub(crate) const CONNECTIONS_MAX: u32 = 3;
/// How often an answer that broke off is asked for at most.
pub(crate) const CUTS_MAX: u32 = 2;

/// The first wait, if the provider says nothing; each further one is twice as long.
const FIRST: Duration = Duration::from_secs(1);
/// The first wait after a connection broke, for which nobody has to recover.
const FIRST_AFTER_CUT: Duration = Duration::from_millis(200);
/// The longest wait, whoever asks for it; who asks for more is not waited for.
const LONGEST: Duration = Duration::from_mins(1);

/// Returns how long to wait before the next attempt; `None` if there is none.
///
/// `n_failed` attempts have failed, the last for `error`, with the wish to be asked again after
/// `wanted`. `chance` is any number: it spreads those who were turned away together.
pub(crate) fn delay(
    error: &ModelError,
    n_failed: u32,
    wanted: Option<Duration>,
    chance: u32,
) -> Option<Duration> {
    let (first, attempts_max) = match error {
        ModelError::Overloaded | ModelError::Failing(_) | ModelError::RateLimited { .. } => {
            (FIRST, ATTEMPTS_MAX)
        }
        ModelError::Network(_) => (FIRST, CONNECTIONS_MAX),
        ModelError::Cut(_) => (FIRST_AFTER_CUT, CUTS_MAX),
        ModelError::NoKey(_)
        | ModelError::BadKey { .. }
        | ModelError::NoCredit(..)
        | ModelError::UnknownModel { .. }
        | ModelError::ContextExceeded
        | ModelError::Refused(_)
        | ModelError::Rejected(_)
        | ModelError::Tls(_)
        | ModelError::Protocol(_)
        | ModelError::HoldsKey(_)
        | ModelError::Cancelled => return None,
    };
    if attempts_max <= n_failed {
        return None;
    }
    let share = f64::from(chance) / f64::from(u32::MAX);
    match wanted {
        Some(wanted) if LONGEST < wanted => None,
        // Never earlier than we were asked to, and not all at the same moment.
        Some(wanted) => Some(wanted + wanted.mul_f64(share * 0.1)),
        None => {
            let doubled = first.saturating_mul(1_u32 << n_failed.saturating_sub(1).min(16));
            Some(doubled.min(LONGEST).mul_f64(0.5 + share / 2.0))
        }
    }
}

/// What the headers of an answer say about when to ask again.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct After<'a> {
    /// `retry-after-ms`.
    pub(crate) milliseconds: Option<&'a str>,
    /// `retry-after`: seconds, or a date.
    pub(crate) value: Option<&'a str>,
    /// `date`: what time it is, as the provider sees it.
    pub(crate) date: Option<&'a str>,
}

impl After<'_> {
    /// Returns how long the provider wants to be left alone; `now` is our own clock.
    ///
    /// A date is held against the provider's own clock, if it says what time it is: two clocks differ.
    pub(crate) fn wanted(self, now: Timestamp) -> Option<Duration> {
        let number =
            |text: &str| text.trim().parse::<f64>().ok().filter(|it| (0.0..1e9).contains(it));
        let milliseconds =
            self.milliseconds.and_then(number).map(|it| Duration::from_secs_f64(it / 1e3));
        let seconds = self.value.and_then(number).map(Duration::from_secs_f64);
        let until = || {
            let until = self.value.and_then(http_date)?;
            let now = self.date.and_then(http_date).unwrap_or(now);
            Some(Duration::from_millis(until.unix_ms().saturating_sub(now.unix_ms())))
        };
        milliseconds.or(seconds).or_else(until)
    }
}

/// Reads a date as HTTP writes it today: `Wed, 21 Oct 2026 07:28:00 GMT`.
fn http_date(text: &str) -> Option<Timestamp> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let parts: Vec<&str> = text.split_whitespace().collect();
    let [_, day, month, year, time, "GMT"] = parts.as_slice() else { return None };
    let month = MONTHS.iter().position(|it| it == month)? + 1;
    format!("{year}-{month:02}-{day}T{time}Z").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(u64) -> Duration = Duration::from_secs;

    #[test]
    fn waits_grow_and_end() {
        let waits = |chance| -> Vec<Option<Duration>> {
            (1..=5).map(|n| delay(&ModelError::Overloaded, n, None, chance)).collect()
        };
        assert_eq!(waits(u32::MAX), [Some(S(1)), Some(S(2)), Some(S(4)), Some(S(8)), None]);
        let half = |n| Some(Duration::from_millis(n));
        assert_eq!(waits(0), [half(500), half(1000), half(2000), half(4000), None]);
    }

    #[test]
    fn the_providers_wish_counts_within_reason() {
        let limited = ModelError::RateLimited { retry_after: None };
        assert_eq!(delay(&limited, 1, Some(S(7)), 0), Some(S(7)));
        assert_eq!(delay(&limited, 4, Some(S(10)), u32::MAX), Some(S(11)));
        assert_eq!(delay(&limited, 5, Some(S(7)), 0), None);
        assert_eq!(delay(&limited, 1, Some(S(61)), 0), None);
        assert_eq!(delay(&limited, 1, Some(S(0)), 0), Some(S(0)));
    }

    #[test]
    fn what_will_not_change_is_not_tried_again() {
        for error in [
            ModelError::ContextExceeded,
            ModelError::Refused(String::new()),
            ModelError::Tls(String::new()),
            ModelError::Cancelled,
        ] {
            assert_eq!(delay(&error, 1, Some(S(0)), 0), None, "{error}");
        }
        let cut = ModelError::Cut(String::new());
        assert!(delay(&cut, 1, None, 0).is_some());
        assert_eq!(delay(&cut, 2, None, 0), None);
    }

    #[test]
    fn headers_are_read() {
        let now = "2026-10-21T07:27:50Z".parse().unwrap();
        let date = "Wed, 21 Oct 2026 07:28:00 GMT";
        for (milliseconds, value, clock, expected) in [
            (None, Some("3"), None, Some(S(3))),
            (None, Some(" 0.5 "), None, Some(Duration::from_millis(500))),
            (Some("250"), Some("3"), None, Some(Duration::from_millis(250))),
            (Some("x"), Some("3"), None, Some(S(3))),
            (None, Some("-1"), None, None),
            (None, Some("NaN"), None, None),
            (None, Some("1e300"), None, None),
            // Ten seconds after what we think, and three after what the provider thinks.
            (None, Some(date), None, Some(S(10))),
            (None, Some(date), Some("Wed, 21 Oct 2026 07:27:57 GMT"), Some(S(3))),
            (None, Some(date), Some("no date"), Some(S(10))),
            (None, Some(date), Some(date), Some(S(0))),
            (None, Some("Wed, 21 Oct 2026 07:27:00 GMT"), None, Some(S(0))),
            (Some("7"), Some(date), None, Some(Duration::from_millis(7))),
            (None, Some("Wed, 21 Oct 2026 07:28:00 CEST"), None, None),
            (None, Some("Wed, 21 Okt 2026 07:28:00 GMT"), None, None),
            (None, Some("Wed, 99 Oct 2026 07:28:00 GMT"), None, None),
            (None, Some("21 Oct"), None, None),
            (None, None, Some(date), None),
        ] {
            let after = After { milliseconds, value, date: clock };
            assert_eq!(after.wanted(now), expected, "{after:?}");
        }
    }
}
