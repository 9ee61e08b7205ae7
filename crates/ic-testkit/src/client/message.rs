//! A message that a client was told, and what a test wants to know of it.
//!
//! It knows JSON-RPC as far as ids go, and the results of tools; it does not check that a message keeps to the protocol.

#![expect(clippy::panic, reason = "test support: a failure is a failed test")]

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// A message of the proxy's, as it was written.
#[derive(Clone, Debug)]
pub struct Message {
    /// The line, without its end.
    pub line: String,
    id: Option<String>,
    method: Option<String>,
}

/// What tells messages apart; numbers of any size stay as they are.
#[derive(Deserialize)]
struct Envelope {
    id: Option<Box<RawValue>>,
    method: Option<String>,
}

impl Message {
    #[track_caller]
    pub(crate) fn of(line: String) -> Self {
        let envelope: Envelope = serde_json::from_str(&line)
            .unwrap_or_else(|error| panic!("{error} in what the proxy wrote: {line}"));
        // A `null` is read as an absent one.
        let is_null = line.contains("\"id\":null");
        let id = envelope.id.map(|id| id.get().to_owned()).or(is_null.then(|| "null".to_owned()));
        Self { id, method: envelope.method, line }
    }

    /// Returns the message as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.line).unwrap_or_else(|error| panic!("{error}: {}", self.line))
    }

    /// Returns whether it is the answer to the request `id`, which is written as in JSON.
    pub fn answers(&self, id: &str) -> bool {
        self.method.is_none() && self.id.as_deref() == Some(id)
    }

    /// Returns the method of a notification.
    pub fn method(&self) -> Option<&str> {
        self.method.as_deref()
    }

    /// Returns the result of a call that was answered with one.
    #[track_caller]
    pub fn result(&self) -> Value {
        let mut json = self.json();
        assert!(json.get("result").is_some(), "no result: {}", self.shown());
        json.get_mut("result").map(Value::take).unwrap_or_default()
    }

    /// Returns the code and the message of an error.
    #[track_caller]
    pub fn error(&self) -> (i64, String) {
        let json = self.json();
        let field =
            |name: &str| json.pointer(&format!("/error/{name}")).cloned().unwrap_or_default();
        match (field("code").as_i64(), field("message").as_str()) {
            (Some(code), Some(message)) => (code, message.to_owned()),
            _ => panic!("no error: {}", self.shown()),
        }
    }

    /// Returns the text of a result's first part.
    #[track_caller]
    pub fn text(&self) -> String {
        let result = self.result();
        let text = result.pointer("/content/0/text").and_then(Value::as_str);
        text.unwrap_or_else(|| panic!("no text: {}", self.shown())).to_owned()
    }

    /// Returns the text of a result that says that something went well.
    #[track_caller]
    pub fn good(&self) -> String {
        assert_ne!(self.result().get("isError"), Some(&json!(true)), "{}", self.shown());
        self.text()
    }

    /// Returns the text of a result that says that something went wrong.
    #[track_caller]
    pub fn bad(&self) -> String {
        assert_eq!(self.result().get("isError"), Some(&json!(true)), "{}", self.shown());
        self.text()
    }

    fn shown(&self) -> String {
        self.line.chars().take(1000).collect()
    }
}
