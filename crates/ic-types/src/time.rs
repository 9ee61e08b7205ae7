//! A point in time, handed in by whoever owns the clock.
//!
//! This module never reads a clock; `now` is always an argument.

use std::fmt;
use std::str::FromStr;

use time::format_description::well_known::Rfc3339;
use time::{OffsetDateTime, PrimitiveDateTime};

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Timestamp(u64);

/// Text that is no point in time.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a time is written as in 2026-11-15T00:00:00.123Z")]
pub struct InvalidTimestamp;

/// A date and time of day in UTC.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Civil {
    pub(crate) year: u64,
    pub(crate) month: u64,
    pub(crate) day: u64,
    pub(crate) hour: u64,
    pub(crate) minute: u64,
    pub(crate) second: u64,
    pub(crate) milli: u64,
}

impl Timestamp {
    /// Makes a timestamp from milliseconds since the epoch.
    pub const fn from_unix_ms(unix_ms: u64) -> Self {
        Self(unix_ms)
    }

    /// Returns the milliseconds since the epoch.
    pub const fn unix_ms(self) -> u64 {
        self.0
    }

    /// Returns the date and time of day in UTC; what lies beyond the year 9999 is its last second.
    pub(crate) fn civil(self) -> Civil {
        let unix_s = i64::try_from(self.0 / 1_000).unwrap_or(i64::MAX);
        let at = OffsetDateTime::from_unix_timestamp(unix_s);
        let at = at.unwrap_or_else(|_| PrimitiveDateTime::MAX.assume_utc());
        Civil {
            year: u64::try_from(at.year()).unwrap_or_default(),
            month: u64::from(u8::from(at.month())),
            day: u64::from(at.day()),
            hour: u64::from(at.hour()),
            minute: u64::from(at.minute()),
            second: u64::from(at.second()),
            milli: self.0 % 1_000,
        }
    }
}

/// Reads RFC 3339 from 1970 on, at any offset; what is finer than a millisecond is dropped.
impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    fn from_str(raw: &str) -> Result<Self, Self::Err> {
        // RFC 3339 lets applications put a space between date and time; none of ours does.
        if raw.contains(' ') {
            return Err(InvalidTimestamp);
        }
        let at = OffsetDateTime::parse(raw, &Rfc3339).map_err(|_| InvalidTimestamp)?;
        let unix_ms = at.unix_timestamp_nanos().div_euclid(1_000_000);
        u64::try_from(unix_ms).map(Self).map_err(|_| InvalidTimestamp)
    }
}

/// Prints RFC 3339 with milliseconds, in UTC.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Civil { year, month, day, hour, minute, second, milli } = self.civil();
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_dates_around_leap_days_and_centuries() {
        for (unix_ms, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_200_000, "2024-03-01T00:00:00.000Z"),
            (1_794_700_800_123, "2026-11-15T00:00:00.123Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(Timestamp::from_unix_ms(unix_ms).to_string(), expected);
            assert_eq!(expected.parse(), Ok(Timestamp::from_unix_ms(unix_ms)));
        }
    }

    #[test]
    fn every_day_reads_back() {
        for day in 0..80_000 {
            let timestamp = Timestamp::from_unix_ms(day * 86_400_000 + day % 86_400_000);
            assert_eq!(timestamp.to_string().parse(), Ok(timestamp));
        }
    }

    #[test]
    fn what_no_calendar_has_is_the_last_second_of_the_year_9999() {
        let last = Timestamp::from_unix_ms(253_402_300_799_999);
        assert_eq!(last.to_string(), "9999-12-31T23:59:59.999Z");
        assert_eq!(last.to_string().parse(), Ok(last));
        let beyond = Timestamp::from_unix_ms(u64::MAX).to_string();
        assert!(beyond.starts_with("9999-12-31T23:59:59."), "{beyond}");
    }

    #[test]
    fn reads_what_other_programs_write() {
        for (text, expected) in [
            ("2026-11-15T00:00:00Z", "2026-11-15T00:00:00.000Z"),
            ("2026-11-15T00:00:00.1Z", "2026-11-15T00:00:00.100Z"),
            ("2026-11-15T00:00:00.123456789Z", "2026-11-15T00:00:00.123Z"),
            ("2026-11-15T01:30:00+01:30", "2026-11-15T00:00:00.000Z"),
            ("2026-11-14T23:00:00.5-01:00", "2026-11-15T00:00:00.500Z"),
            ("2026-11-15T00:00:00+00:00", "2026-11-15T00:00:00.000Z"),
            ("2026-11-15t00:00:00z", "2026-11-15T00:00:00.000Z"),
            ("2026-11-15T00:00:00.1234567899Z", "2026-11-15T00:00:00.123Z"),
        ] {
            assert_eq!(text.parse::<Timestamp>().map(|it| it.to_string()), Ok(expected.to_owned()));
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for bad in [
            "",
            "now",
            "2026-11-15",
            "2026-11-15T00:00:00",
            "2026-11-15 00:00:00Z",
            "2026-11-15T00:00:00.Z",
            "2026-11-15T24:00:00Z",
            "2026-11-15T00:60:00Z",
            "2026-11-15T00:00:60Z",
            "2026-02-29T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "0000-01-01T00:00:00Z",
            "1970-01-01T00:00:00+01:00",
            "2026-11-15T00:00:00+1:00",
            "2026-11-15T00:00:00Z ",
            "+026-11-15T00:00:00Z",
            "2026-11-15T00:00:0\u{661}Z",
        ] {
            assert_eq!(bad.parse::<Timestamp>(), Err(InvalidTimestamp), "{bad}");
        }
    }
}
