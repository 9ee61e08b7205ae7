//! What the dashboard knows: sessions, requests, how requests ended, grants.
//!
//! Texts are as they came; they are made harmless where they are drawn.

use ic_terminal::{Ink, Line};
use ic_types::Timestamp;

/// A session that runs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SessionRow {
    /// What people call it.
    pub name: String,
    /// What kind of session it is.
    pub kind: String,
    /// Which agent works there, and on what.
    pub label: String,
    /// The policy that judges its calls, if that is known.
    pub policy: Option<String>,
    /// When it began.
    pub started_at: Timestamp,
    /// Tokens and cost so far, if they are known.
    pub spent: Option<String>,
}

/// A request that waits.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RequestRow {
    /// The number by which people name it; no other request ever has it.
    pub number: u64,
    /// The session that asks.
    pub session: String,
    /// What will happen, in one line.
    pub summary: String,
    /// The server that would do it, if that is said beside it.
    pub server: Option<String>,
    /// When it is too late to answer.
    pub expires_at: Timestamp,
    /// The lowest number of those that are asked about together with it: they are listed one below the other.
    pub group: u64,
}

impl RequestRow {
    /// Returns the summary in at most so many columns: where they are too few, without the server, and then
    /// without its middle, since requests of one session begin alike.
    pub(crate) fn summary_within(&self, columns: usize) -> Line {
        let summary = Line::plain(&self.summary);
        let whole = match &self.server {
            Some(server) => summary.clone().and(Ink::Plain, &format!(" ({server})")),
            None => summary.clone(),
        };
        if whole.width() <= columns { whole } else { summary.cut_middle(columns) }
    }
}

/// A request that is over.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HistoryRow {
    /// When it ended.
    pub at: Timestamp,
    /// Its number.
    pub number: u64,
    /// The session that asked.
    pub session: String,
    /// What was asked, in one line.
    pub summary: String,
    /// How it ended.
    pub ending: String,
    /// In which ink that stands.
    pub ink: Ink,
}

/// A grant that is in force.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct GrantRow {
    /// By which it is named.
    pub id: String,
    /// What it covers and until when; the first line is the heading.
    pub lines: Vec<String>,
}

/// Says how long something lasts: `40 s`, `5 min`, `2 h 5 min`.
pub fn lasting(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
    }
}

/// Says how much time is left: `4:09`, `1:02:03`.
pub fn countdown(expires_at: Timestamp, now: Timestamp) -> String {
    let seconds = expires_at.unix_ms().saturating_sub(now.unix_ms()) / 1_000;
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        1..1_000 => format!("{hours}:{minutes:02}:{seconds:02}"),
        _ => "never".to_owned(),
    }
}

/// Returns the time of day of a moment, in UTC.
pub fn time_of_day(at: Timestamp) -> String {
    let written = at.to_string();
    let time = written.split_once('T').and_then(|(_, time)| time.get(..8));
    time.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        for (ms, expected) in [
            (0, "0 s"),
            (59_999, "59 s"),
            (60_000, "1 min"),
            (3_599_999, "59 min"),
            (7_500_000, "2 h 5 min"),
        ] {
            assert_eq!(lasting(ms), expected);
        }
        let at = Timestamp::from_unix_ms;
        for (ms, expected) in [
            (0, "0:00"),
            (999, "0:00"),
            (249_000, "4:09"),
            (3_723_000, "1:02:03"),
            (u64::MAX / 2, "never"),
        ] {
            assert_eq!(countdown(at(ms), at(0)), expected);
        }
        assert_eq!(countdown(at(0), at(5_000)), "0:00", "it is over");
        assert_eq!(time_of_day(at(3_723_000)), "01:02:03");
    }
}
