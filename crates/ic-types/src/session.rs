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
#[error("`{}` is not a valid {what} id: {reason}", .raw.escape_debug())]
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

/// The name of a session: what people call it.
///
/// Invariant: 1 to 64 bytes of `a-z`, `0-9` and single `-` between them, and none that a system or we
/// ourselves use for something else.
#[derive(Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionName(String);

impl SessionName {
    const LEN_MAX: usize = 64;
    /// Names of our own files, and names that some systems keep for devices.
    const RESERVED: [&str; 7] = ["index", "metadata", "last_session", "con", "prn", "aux", "nul"];

    /// Makes a name of any text: lower case, and `-` for whatever cannot be in a name.
    pub fn of(text: &str) -> Result<Self, InvalidId> {
        let mut name = String::new();
        for c in text.chars().flat_map(char::to_lowercase) {
            match c.is_ascii_alphanumeric() {
                true => name.push(c),
                false if name.ends_with('-') => {}
                false => name.push('-'),
            }
        }
        let name: String = name.trim_matches('-').chars().take(Self::LEN_MAX).collect();
        let name = name.trim_end_matches('-');
        let is_device = |prefix| {
            name.strip_prefix(prefix).is_some_and(|rest: &str| {
                rest.len() == 1 && rest.bytes().all(|digit| (b'1'..=b'9').contains(&digit))
            })
        };
        // `last_session` would come out as `last-session`, and nobody should have to think of that.
        let reserved = Self::RESERVED.contains(&name) || name == "last-session";
        let reason = match name {
            "" => Some("nothing of it can be part of a name"),
            _ if reserved || is_device("com") || is_device("lpt") => Some("the name is taken"),
            _ => None,
        };
        match reason {
            Some(reason) => Err(InvalidId { what: "session", raw: text.to_owned(), reason }),
            None => Ok(Self(name.to_owned())),
        }
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for SessionName {
    type Error = InvalidId;

    fn try_from(raw: String) -> Result<Self, Self::Error> {
        match Self::of(&raw) {
            Ok(name) if name.0 == raw => Ok(name),
            Ok(_) => {
                let reason = "only `a-z`, `0-9` and single `-` between them may appear";
                Err(InvalidId { what: "session", raw, reason })
            }
            Err(error) => Err(error),
        }
    }
}

text_newtype!(SessionId, InvalidId);
text_newtype!(EscalationId, InvalidId);
text_newtype!(SessionName, InvalidId);

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

    #[test]
    fn a_name_is_made_of_what_is_left() {
        for (text, expected) in [
            ("Work", "work"),
            ("Claude Code (2)!", "claude-code-2"),
            ("--a__b--", "a-b"),
            ("../x", "x"),
            ("Ünï", "n"),
            (&"a".repeat(300), &"a".repeat(64)),
        ] {
            let name = SessionName::of(text).unwrap();
            assert_eq!(name.as_str(), expected);
            assert_eq!(name.as_str().parse(), Ok(name.clone()), "a name names itself");
        }
        for taken in ["", "...", "日本", "index", "CON", "nul", "com1", "LPT9", "last_session"] {
            assert!(SessionName::of(taken).is_err(), "accepted {taken:?}");
        }
        assert!(SessionName::of("com10").is_ok());
        assert!("A b".parse::<SessionName>().is_err(), "what is read back must be a name already");
    }
}
