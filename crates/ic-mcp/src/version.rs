//! The revisions of the protocol that we speak.
//!
//! Which one a connection uses is agreed on elsewhere, on each side by itself.

use std::fmt;
use std::str::FromStr;

/// A revision of the protocol.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum ProtocolVersion {
    /// 2024-11-05
    V2024_11_05,
    /// 2025-03-26
    V2025_03_26,
    /// 2025-06-18
    V2025_06_18,
    /// 2025-11-25, the last one that begins with `initialize`.
    V2025_11_25,
    /// 2026-07-28, which begins with nothing: each request says what it is.
    V2026_07_28,
}

/// A revision that we do not speak.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("this revision of the protocol is not known")]
pub struct UnknownVersion;

impl ProtocolVersion {
    /// Every revision that we speak, oldest first.
    pub const ALL: [Self; 5] = [
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];

    /// The newest revision that begins with `initialize`.
    pub const NEWEST_INITIALIZED: Self = Self::V2025_11_25;

    /// Returns the revision's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Returns what is agreed on when a client asks for `requested` in `initialize`.
    ///
    /// An unknown revision is answered with the newest we could have agreed on, and the client
    /// decides whether it can live with that.
    pub fn answer_to(requested: &str) -> Self {
        match requested.parse() {
            Ok(version) if version <= Self::NEWEST_INITIALIZED => version,
            _ => Self::NEWEST_INITIALIZED,
        }
    }
}

impl FromStr for ProtocolVersion {
    type Err = UnknownVersion;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|version| version.as_str() == text).ok_or(UnknownVersion)
    }
}

impl fmt::Display for ProtocolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_revision_is_agreed_on_and_any_other_is_answered_with_the_newest() {
        for (asked, answer) in [
            ("2024-11-05", "2024-11-05"),
            ("2025-03-26", "2025-03-26"),
            ("2025-06-18", "2025-06-18"),
            ("2025-11-25", "2025-11-25"),
            // `initialize` is not part of it, so a client that sends it there means an older one.
            ("2026-07-28", "2025-11-25"),
            ("2099-01-01", "2025-11-25"),
            ("1.0", "2025-11-25"),
            ("", "2025-11-25"),
        ] {
            assert_eq!(ProtocolVersion::answer_to(asked).as_str(), answer, "{asked}");
        }
    }
}
