//! What the four formats share: a reader of a stream, and small tools to build and to look into JSON.
//!
//! No format is known here.

use ic_types::{Json, JsonLimits, Object};

use super::fault::Fault;
use super::sse::Event;
use crate::error::ModelError;
use crate::message::{AssistantBlock, ToolUseId};
use crate::model::{Completion, Listener};
use crate::usage::Usage;

/// Reads the stream of one completion.
pub(super) trait Reading: Send {
    /// Takes the next event; text goes to `listener` as it comes.
    fn take(&mut self, event: &Event, listener: &dyn Listener) -> Result<Progress, Trouble>;

    /// Returns what the provider has counted so far.
    fn usage(&self) -> Usage;

    /// Makes the completion, once the stream has ended.
    fn finish(self: Box<Self>) -> Result<Completion, Trouble>;
}

/// Whether more is to come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Progress {
    /// It is.
    More,
    /// All is said.
    Done,
}

/// A stream that came to no completion.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The provider says so, in its words.
    Fault(Fault),
    /// We say so.
    Error(ModelError),
}

impl From<ModelError> for Trouble {
    fn from(error: ModelError) -> Self {
        Self::Error(error)
    }
}

/// What one model takes, as far as requests depend on it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Traits {
    /// How many tokens it may say at once.
    pub(super) max_output: u64,
    /// Whether it thinks before it speaks, as much as it finds fit.
    pub(super) is_thinking: bool,
}

/// The limits of one event; a stream as a whole is bounded elsewhere.
const LIMITS: JsonLimits = JsonLimits { bytes_max: 16 << 20, depth_max: 64, values_max: 200_000 };

/// Reads the JSON of an event.
pub(super) fn parse(data: &str) -> Result<Json, ModelError> {
    Json::parse(data.as_bytes(), LIMITS)
        .map_err(|error| ModelError::Protocol(format!("an event is not valid JSON ({error})")))
}

/// Reads the input of a tool, which came as text; one that is not valid JSON is kept as text, so that the
/// model is told.
pub(super) fn input(text: &str) -> Json {
    match text.trim() {
        "" => Object::new().into(),
        text => Json::parse(text.as_bytes(), LIMITS).unwrap_or_else(|_| Json::from(text)),
    }
}

/// Returns an input as the object that formats want; what is no object is put into one.
pub(super) fn input_object(input: &Json) -> Json {
    match input {
        Json::Object(_) => input.clone(),
        other => object([("invalid", other.clone())]),
    }
}

/// Returns whether text is the whole of an input.
pub(super) fn is_whole(text: &str) -> bool {
    text.trim().is_empty() || Json::parse(text.as_bytes(), LIMITS).is_ok()
}

/// Makes an id of a tool use.
pub(super) fn id(raw: &str) -> Result<ToolUseId, ModelError> {
    ToolUseId::try_from(raw.to_owned()).map_err(|error| ModelError::Protocol(error.to_string()))
}

/// Returns whether a message wants tools to be used.
pub(super) fn uses_tools(blocks: &[AssistantBlock]) -> bool {
    blocks.iter().any(|block| matches!(block, AssistantBlock::ToolUse { .. }))
}

/// Says that a stream ended too early.
pub(super) fn cut() -> Trouble {
    Trouble::Error(ModelError::Cut("the stream ended before the message did".to_owned()))
}

/// A note of the program as a provider gets it: nobody should take it for the person's words.
pub(super) fn note(text: &str) -> String {
    format!("[Note of the program, not of the person: {text}]")
}

/// Makes an object.
pub(super) fn object<const N: usize>(entries: [(&str, Json); N]) -> Json {
    let mut object = Object::new();
    for (key, value) in entries {
        object.insert(key, value);
    }
    object.into()
}

/// Returns what stands at `path`.
pub(super) fn at<'a>(json: &'a Json, path: &[&str]) -> Option<&'a Json> {
    path.iter().try_fold(json, |json, key| match json {
        Json::Object(object) => object.get(key),
        _ => None,
    })
}

/// Returns the text at `path`.
pub(super) fn text<'a>(json: &'a Json, path: &[&str]) -> Option<&'a str> {
    at(json, path)?.as_str()
}

/// Returns the whole number at `path`.
pub(super) fn number(json: &Json, path: &[&str]) -> Option<u64> {
    match at(json, path)? {
        Json::Number(number) => number.as_str().parse().ok(),
        _ => None,
    }
}

/// Returns the items at `path`; none if there is no array.
pub(super) fn items<'a>(json: &'a Json, path: &[&str]) -> &'a [Json] {
    match at(json, path) {
        Some(Json::Array(items)) => items,
        _ => &[],
    }
}
