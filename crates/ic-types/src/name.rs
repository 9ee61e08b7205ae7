//! The names of MCP servers and of their tools, as written in policy, configuration and audit.
//!
//! Says nothing about whether a server or a tool of that name exists.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A validated MCP server name.
///
/// Server names appear in file paths, in offered tool names (`server__tool`) and in policy rules,
/// so the alphabet is one that serves all three, and `__` is left to the separator.
///
/// Invariant: 1 to 32 bytes of `A-Z`, `a-z`, `0-9`, `_` and `-`, without `__`.
#[derive(Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct ServerName(String);

/// A validated tool name of one MCP server, or the name of a judged method such as `resources/read`.
///
/// Invariant: 1 to 128 bytes of `A-Z`, `a-z`, `0-9`, `_`, `-`, `.`, `/` and `:`.
#[derive(Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct ToolName(String);

/// A name that cannot be the name of a server or a tool.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{}` is not a valid {what} name: {reason}", .raw.escape_debug())]
pub struct InvalidName {
    what: &'static str,
    raw: String,
    reason: &'static str,
}

// === impl ServerName ===

impl ServerName {
    /// The longest server name in bytes.
    pub const LEN_MAX: usize = 32;

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ServerName {
    type Error = InvalidName;

    fn try_from(raw: String) -> Result<Self, Self::Error> {
        let reason = match raw.as_bytes() {
            [] => Some("it is empty"),
            bytes if Self::LEN_MAX < bytes.len() => Some("it is longer than 32 bytes"),
            bytes if !bytes.iter().all(|byte| is_server_byte(*byte)) => {
                Some("only `A-Z`, `a-z`, `0-9`, `_` and `-` may appear")
            }
            _ if raw.contains("__") => Some("`__` separates server and tool"),
            _ => None,
        };
        match reason {
            Some(reason) => Err(InvalidName { what: "server", raw, reason }),
            None => Ok(Self(raw)),
        }
    }
}

fn is_server_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

// === impl ToolName ===

impl ToolName {
    /// The longest tool name in bytes.
    pub const LEN_MAX: usize = 128;

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ToolName {
    type Error = InvalidName;

    fn try_from(raw: String) -> Result<Self, Self::Error> {
        let reason = match raw.as_bytes() {
            [] => Some("it is empty"),
            bytes if Self::LEN_MAX < bytes.len() => Some("it is longer than 128 bytes"),
            bytes if !bytes.iter().all(|byte| is_tool_byte(*byte)) => {
                Some("only `A-Z`, `a-z`, `0-9`, `_`, `-`, `.`, `/` and `:` may appear")
            }
            _ => None,
        };
        match reason {
            Some(reason) => Err(InvalidName { what: "tool", raw, reason }),
            None => Ok(Self(raw)),
        }
    }
}

fn is_tool_byte(byte: u8) -> bool {
    is_server_byte(byte) || matches!(byte, b'.' | b'/' | b':')
}

/// Gives a text newtype the impls that all of them share, each through `TryFrom<String>`.
macro_rules! text_newtype {
    ($name:ident, $error:ident) => {
        impl FromStr for $name {
            type Err = $error;

            fn from_str(raw: &str) -> Result<Self, Self::Err> {
                Self::try_from(raw.to_owned())
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}
pub(crate) use text_newtype;

text_newtype!(ServerName, InvalidName);
text_newtype!(ToolName, InvalidName);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_names_that_could_escape_are_refused() {
        for bad in ["", "a__b", "git/..", "git\0", "gít", "a b", "a.b", &"a".repeat(33)] {
            assert!(bad.parse::<ServerName>().is_err(), "accepted {bad:?}");
            let json = serde_json::to_string(bad).unwrap();
            assert!(serde_json::from_str::<ServerName>(&json).is_err(), "serde accepted {bad:?}");
        }
        for good in ["filesystem", "Git_Hub-2", "9p", "_", &"a".repeat(32)] {
            assert!(good.parse::<ServerName>().is_ok(), "refused {good:?}");
        }
    }

    #[test]
    fn tool_names_hold_methods_but_no_text() {
        for good in ["read_file", "resources/read", "ns:tool", "a.b", "a__b"] {
            assert!(good.parse::<ToolName>().is_ok(), "refused {good:?}");
        }
        for bad in ["", "read file", "x\n", "ï", "$(x)", &"a".repeat(129)] {
            assert!(bad.parse::<ToolName>().is_err(), "accepted {bad:?}");
        }
    }
}
