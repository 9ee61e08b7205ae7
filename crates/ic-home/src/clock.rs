//! The clock: the one place that reads the time of day.
//!
//! Everything else is handed a [`Timestamp`], or a [`Clock`] where it lives longer than a moment.

use std::time::{SystemTime, UNIX_EPOCH};

use ic_types::Timestamp;

/// Tells the time.
pub trait Clock: Send + Sync {
    /// Returns the time now.
    fn now(&self) -> Timestamp;
}

/// The clock of this machine.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the clock")]
        let now = SystemTime::now();
        timestamp(now)
    }
}

/// Makes a timestamp of a time of the system; what lies before 1970 counts as 1970.
pub(crate) fn timestamp(time: SystemTime) -> Timestamp {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_unix_ms(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_time_becomes_milliseconds_since_1970() {
        let at = |time| timestamp(time).unix_ms();
        assert_eq!(at(UNIX_EPOCH + Duration::from_micros(1_234_567)), 1_234);
        assert_eq!(at(UNIX_EPOCH - Duration::from_secs(9)), 0, "a clock that was never set");
        assert!(SystemClock.now() > Timestamp::from_unix_ms(1_700_000_000_000));
    }
}
