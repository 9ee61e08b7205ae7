//! The ids of sessions and of escalations.
//!
//! An id names a directory or a file, so its alphabet is that of a harmless file name.
//! Whether such a session exists is not known here.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Timestamp;
use crate::name::text_newtype;
use crate::time::Civil;

/// The id of a session: `YYYY-MM-DD-HH-mm-ss-mmm-rand`, or what an older home holds.
///
/// Invariant: 1 to 128 bytes of `A-Z`, `a-z`, `0-9`, `_`, `.` and `-`, without `..`, not `.`.
#[derive(Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionId(String);

/// The id of one escalation; part of the names of its request and response files.
///
/// Invariant: the same alphabet and length as a [`SessionId`].
#[derive(Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct EscalationId(String);

/// Text that cannot be an id.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{}` is no {what} id: {reason}", .raw.escape_debug())]
pub struct InvalidId {
    what: &'static str,
    raw: String,
    reason: &'static str,
}

impl SessionId {
    const SUFFIX_ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";

    /// Makes the id of a session that starts at `now`; `random` picks the four last characters.
    ///
    /// The caller checks for collisions: only it knows which directories exist.
    pub fn generate(now: Timestamp, random: u32) -> Self {
        let Civil { year, month, day, hour, minute, second, milli } = now.civil();
        let suffix: String = [1, 36, 36 * 36, 36 * 36 * 36]
            .into_iter()
            .filter_map(|place| Self::SUFFIX_ALPHABET.get((random / place % 36) as usize))
            .map(|byte| char::from(*byte))
            .collect();
        Self(format!(
            "{year:04}-{month:02}-{day:02}-{hour:02}-{minute:02}-{second:02}-{milli:03}-{suffix}"
        ))
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for SessionId {
    type Error = InvalidId;

    fn try_from(raw: String) -> Result<Self, Self::Error> {
        check_id("session", raw).map(Self)
    }
}

impl EscalationId {
    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for EscalationId {
    type Error = InvalidId;

    fn try_from(raw: String) -> Result<Self, Self::Error> {
        check_id("escalation", raw).map(Self)
    }
}

text_newtype!(SessionId, InvalidId);
text_newtype!(EscalationId, InvalidId);

fn check_id(what: &'static str, raw: String) -> Result<String, InvalidId> {
    const LEN_MAX: usize = 128;
    let is_id_byte = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    let reason = match raw.as_bytes() {
        [] => Some("it is empty"),
        b"." => Some("it names a directory that always exists"),
        bytes if LEN_MAX < bytes.len() => Some("it is longer than 128 bytes"),
        bytes if !bytes.iter().all(|byte| is_id_byte(*byte)) => {
            Some("only `A-Z`, `a-z`, `0-9`, `_`, `.` and `-` may appear")
        }
        _ if raw.contains("..") => Some("it contains `..`"),
        _ => None,
    };
    match reason {
        Some(reason) => Err(InvalidId { what, raw, reason }),
        None => Ok(raw),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_ids_have_the_documented_shape() {
        let now = Timestamp::from_unix_ms(1_794_700_800_123);
        assert_eq!(SessionId::generate(now, 0).as_str(), "2026-11-15-00-00-00-123-aaaa");
        let last = SessionId::generate(now, u32::MAX);
        assert_eq!(last.as_str().len(), "2026-11-15-00-00-00-123-aaaa".len());
        assert_eq!(last.as_str().parse(), Ok(last));
    }

    #[test]
    fn ids_that_could_leave_the_sessions_directory_are_refused() {
        for bad in ["", ".", "..", "a..b", "../x", "a/b", "a\0", "a b", "é", &"a".repeat(129)] {
            assert!(bad.parse::<SessionId>().is_err(), "accepted {bad:?}");
            assert!(bad.parse::<EscalationId>().is_err(), "accepted {bad:?}");
        }
        assert!("my.session_1-x".parse::<SessionId>().is_ok());
    }
}
