//! A turn that was answered, as people look back at it.
//!
//! What the model saw of it is in the messages.

use ic_types::{Json, Object, Timestamp};
use serde::{Deserialize, Serialize};

use crate::metadata::written;

/// A turn that was answered.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    /// Which one, from 1.
    pub turn_number: u64,
    /// What the person wrote.
    pub user_message: String,
    /// What was answered.
    pub assistant_response: String,
    /// What it took.
    pub usage: TurnUsage,
    /// When it began.
    #[serde(with = "written")]
    pub timestamp: Timestamp,
}

/// The tokens of a turn.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct TurnUsage {
    /// Those that went in.
    pub prompt: u64,
    /// Those that came out.
    pub completion: u64,
    /// Both.
    pub total: u64,
}

impl Turn {
    /// Writes the turn as JSON.
    pub fn to_json(&self) -> Json {
        let Self { turn_number, user_message, assistant_response, usage, timestamp } = self;
        let mut tokens = Object::new();
        tokens.insert("prompt", usage.prompt);
        tokens.insert("completion", usage.completion);
        tokens.insert("total", usage.total);
        let mut turn = Object::new();
        turn.insert("turnNumber", *turn_number);
        turn.insert("userMessage", user_message.as_str());
        turn.insert("assistantResponse", assistant_response.as_str());
        turn.insert("usage", tokens);
        turn.insert("timestamp", timestamp.to_string());
        turn.into()
    }
}
