//! What is said in a conversation, in the form in which a model sees it.
//!
//! A user's message holds what a person wrote, results of tools, and notes of the program; they are
//! told apart, so that nothing that the program adds is ever taken for a person's wish. Whether
//! messages follow each other as they should is not known here.

mod json;

use std::fmt;

use ic_types::{Json, Provider};

pub use json::MessageFault;

/// One message.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// What the model is told.
    User(Vec<UserBlock>),
    /// What the model said.
    Assistant(Vec<AssistantBlock>),
}

/// A part of what the model is told.
#[derive(Clone, Debug, PartialEq)]
pub enum UserBlock {
    /// What a person wrote.
    Text(String),
    /// What the program has to say, such as that a turn was cut; to a provider it goes as text.
    Note(String),
    /// What came of a tool use.
    ToolResult {
        /// The use.
        id: ToolUseId,
        /// What the model reads.
        content: String,
        /// Whether it is about a failure.
        is_error: bool,
    },
}

/// A part of what the model said.
#[derive(Clone, Debug, PartialEq)]
pub enum AssistantBlock {
    /// Text for people.
    Text(String),
    /// The wish that a tool is used.
    ToolUse {
        /// What its result is found by.
        id: ToolUseId,
        /// The tool.
        name: String,
        /// Its input.
        input: Json,
    },
    /// A block that only its provider understands, such as a signed thought, kept as it came.
    ///
    /// It goes back to the same provider in the same place, and to no other one. What belongs to the
    /// block that follows, such as the signature of a tool use, is kept in one of these before it.
    Verbatim {
        /// Whose block it is.
        provider: Provider,
        /// The block.
        block: Json,
    },
}

/// What a tool use and its result are matched by.
///
/// Invariant: 1 to 256 bytes without control characters.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ToolUseId(String);

/// Text that is no id of a tool use.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("an id of a tool use has 1 to 256 bytes without control characters")]
pub struct InvalidToolUseId;

impl Message {
    /// Returns what a person wrote in this message, in order.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let blocks = match self {
            Self::User(blocks) => blocks.as_slice(),
            Self::Assistant(_) => &[],
        };
        blocks.iter().filter_map(|block| match block {
            UserBlock::Text(text) => Some(text.as_str()),
            UserBlock::Note(_) | UserBlock::ToolResult { .. } => None,
        })
    }
}

impl ToolUseId {
    /// The longest id, in bytes.
    pub const LEN_MAX: usize = 256;

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ToolUseId {
    type Error = InvalidToolUseId;

    fn try_from(raw: String) -> Result<Self, Self::Error> {
        let is_id =
            !raw.is_empty() && raw.len() <= Self::LEN_MAX && !raw.contains(char::is_control);
        if is_id { Ok(Self(raw)) } else { Err(InvalidToolUseId) }
    }
}

impl fmt::Display for ToolUseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests;
