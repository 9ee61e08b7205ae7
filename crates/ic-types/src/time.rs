//! A point in time, handed in by whoever owns the clock.
//!
//! This module never reads a clock; `now` is always an argument.

use std::fmt;
use std::str::FromStr;

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

    /// Returns the date and time of day in UTC.
    ///
    /// Counts years from 1 March, so that the leap day is the last of a year.
    pub(crate) fn civil(self) -> Civil {
        let (days, ms_of_day) = (self.0 / 86_400_000, self.0 % 86_400_000);
        let days_since_0000_03_01 = days + 719_468;
        let (era, day_of_era) = (days_since_0000_03_01 / 146_097, days_since_0000_03_01 % 146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        Civil {
            year: era * 400 + year_of_era + u64::from(month <= 2),
            month,
            day: day_of_year - (153 * month_from_march + 2) / 5 + 1,
            hour: ms_of_day / 3_600_000,
            minute: ms_of_day / 60_000 % 60,
            second: ms_of_day / 1_000 % 60,
            milli: ms_of_day % 1_000,
        }
    }
}

/// Reads RFC 3339 from 1970 on, at any offset; what is finer than a millisecond is dropped.
impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    fn from_str(raw: &str) -> Result<Self, Self::Err> {
        parse(raw.as_bytes()).ok_or(InvalidTimestamp)
    }
}

fn parse(raw: &[u8]) -> Option<Timestamp> {
    let (date, rest) = raw.split_at_checked(10)?;
    let (time, rest) = rest.split_at_checked(9)?;
    let ([y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2], [b'T', time @ ..]) = (date, time) else {
        return None;
    };
    let [h1, h2, b':', n1, n2, b':', s1, s2] = time else { return None };
    let year = number(&[*y1, *y2, *y3, *y4], 9999)?;
    let (month, day) = (number(&[*m1, *m2], 12)?, number(&[*d1, *d2], 31)?);
    let (hour, minute) = (number(&[*h1, *h2], 23)?, number(&[*n1, *n2], 59)?);
    let second = number(&[*s1, *s2], 59)?;
    let (ms, offset) = fraction(rest)?;
    let offset_s = match offset {
        b"Z" => 0,
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let minutes = number(&[*h1, *h2], 23)? * 60 + number(&[*m1, *m2], 59)?;
            let seconds = i64::try_from(minutes * 60).ok()?;
            if *sign == b'+' { seconds } else { -seconds }
        }
        _ => return None,
    };
    let days = days_since_1970(year, month, day)?;
    let local_s = days * 86_400 + hour * 3_600 + minute * 60 + second;
    let unix_s = u64::try_from(i64::try_from(local_s).ok()? - offset_s).ok()?;
    Some(Timestamp(unix_s * 1_000 + ms))
}

/// Reads `.123456` into milliseconds, and returns what follows.
fn fraction(rest: &[u8]) -> Option<(u64, &[u8])> {
    let [b'.', rest @ ..] = rest else { return Some((0, rest)) };
    let n_digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = rest.split_at_checked(n_digits)?;
    let digit = |at: usize| digits.get(at).map_or(0, |byte| u64::from(byte - b'0'));
    (1..=9).contains(&n_digits).then(|| (digit(0) * 100 + digit(1) * 10 + digit(2), rest))
}

fn number(digits: &[u8], max: u64) -> Option<u64> {
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
    let number = digits.iter().try_fold(0, |sum, byte| Some(sum * 10 + digit(byte)?))?;
    (number <= max).then_some(number)
}

/// Returns `None` for a day that no calendar has, and for one before 1970.
fn days_since_1970(year: u64, month: u64, day: u64) -> Option<u64> {
    // Counted from 1 March, as in `civil`, so that the leap day is the last of a year.
    let (year_from_march, month_from_march) = match month {
        0 => return None,
        1 | 2 => (year.checked_sub(1)?, month + 9),
        _ => (year, month - 3),
    };
    let (era, year_of_era) = (year_from_march / 400, year_from_march % 400);
    let day_of_year = (153 * month_from_march + 2) / 5 + day.checked_sub(1)?;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = (era * 146_097 + day_of_era).checked_sub(719_468)?;
    let Civil { month: found_month, day: found_day, .. } = Timestamp(days * 86_400_000).civil();
    ((found_month, found_day) == (month, day)).then_some(days)
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
    fn reads_what_other_programs_write() {
        for (text, expected) in [
            ("2026-11-15T00:00:00Z", "2026-11-15T00:00:00.000Z"),
            ("2026-11-15T00:00:00.1Z", "2026-11-15T00:00:00.100Z"),
            ("2026-11-15T00:00:00.123456789Z", "2026-11-15T00:00:00.123Z"),
            ("2026-11-15T01:30:00+01:30", "2026-11-15T00:00:00.000Z"),
            ("2026-11-14T23:00:00.5-01:00", "2026-11-15T00:00:00.500Z"),
            ("2026-11-15T00:00:00+00:00", "2026-11-15T00:00:00.000Z"),
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
            "2026-11-15T00:00:00z",
            "2026-11-15T00:00:00.Z",
            "2026-11-15T00:00:00.1234567890Z",
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
