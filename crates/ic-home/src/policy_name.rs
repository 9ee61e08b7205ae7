//! What a policy is called, and how the configuration says which one is in force.
//!
//! Whether there is a policy of that name is not known here.

use std::fmt;
use std::str::FromStr;

use ic_types::AbsolutePath;

/// The name of a policy; it is the name of a directory too.
///
/// Invariant: 1 to 64 of `a-z`, `0-9`, `-` and `_`; the first is a letter or a digit.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct PolicyName(String);

/// A policy as the configuration names it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PolicyChoice {
    /// By its name.
    Named(PolicyName),
    /// By its directory.
    Directory(AbsolutePath),
}

/// Text that is not the name of a policy.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "`{}` is not a name for a policy: use 1 to 64 of `a-z`, `0-9`, `-` and `_`, a letter or digit first",
    .0.escape_debug()
)]
pub struct InvalidPolicyName(String);

impl PolicyName {
    const BYTES_MAX: usize = 64;

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PolicyName {
    type Err = InvalidPolicyName;

    fn from_str(text: &str) -> Result<Self, InvalidPolicyName> {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let is_name = text.len() <= Self::BYTES_MAX
            && text.bytes().next().is_some_and(is_plain)
            && text.bytes().all(|byte| is_plain(byte) || matches!(byte, b'-' | b'_'));
        if is_name { Ok(Self(text.to_owned())) } else { Err(InvalidPolicyName(text.to_owned())) }
    }
}

impl fmt::Display for PolicyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_lead_anywhere_else() {
        for good in ["a", "my-policy", "9_lives", &"a".repeat(64)] {
            assert_eq!(good.parse::<PolicyName>().unwrap().as_str(), good);
        }
        for bad in
            ["", "-a", "_a", "A", "a/b", "..", ".", "a.b", "a b", "a\0", "ä", &"a".repeat(65)]
        {
            assert!(bad.parse::<PolicyName>().is_err(), "accepted {bad:?}");
        }
    }
}
