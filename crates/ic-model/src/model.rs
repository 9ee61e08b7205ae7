//! The port to a model: one completion, streamed while it comes.
//!
//! Here is no provider. A model runs no tool, and its answer is untrusted.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use ic_types::{ModelId, Object};
use tokio_util::sync::CancellationToken;

use crate::error::ModelError;
use crate::message::{AssistantBlock, Message};
use crate::usage::Usage;

/// Answers conversations.
pub trait Model: fmt::Debug + Send + Sync {
    /// Returns which model this is.
    fn name(&self) -> ModelName;

    /// Completes a conversation by one message.
    ///
    /// Text is handed to `listener` as it comes; what counts is the message that is returned. When
    /// `cancel` is cancelled, the answer is [`ModelError::Cancelled`], soon.
    fn complete<'a>(
        &'a self,
        prompt: Prompt<'a>,
        listener: &'a dyn Listener,
        cancel: &'a CancellationToken,
    ) -> Completing<'a>;

    /// Returns how many bytes of one tool result this model is given at most.
    fn result_bytes_max(&self) -> usize {
        RESULT_BYTES_MAX
    }
}

/// What a model of the usual size is given of one tool result: some 25,000 tokens.
pub const RESULT_BYTES_MAX: usize = 100_000;

/// A completion that is under way.
pub type Completing<'a> = Pin<Box<dyn Future<Output = Result<Completion, ModelError>> + Send + 'a>>;

/// Which model answers: `provider:model`, or `offline`.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum ModelName {
    /// The model that needs nobody.
    Offline,
    /// A model of a provider.
    Provided(ModelId),
}

/// What a model is asked.
#[derive(Clone, Copy, Debug)]
pub struct Prompt<'a> {
    /// What it is told about itself and its surroundings.
    pub system: &'a str,
    /// The conversation; it ends with a message of the user.
    pub messages: &'a [Message],
    /// What it may use.
    pub tools: &'a [ToolSpec],
}

/// A tool as a model is told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// What it is called.
    pub name: String,
    /// What it does.
    pub description: String,
    /// What its input looks like, as a JSON Schema.
    pub input_schema: Object,
}

/// What came back.
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    /// The message, finished.
    pub blocks: Vec<AssistantBlock>,
    /// Why it ends where it ends.
    pub stop: StopReason,
    /// What it took.
    pub usage: Usage,
}

/// Why a message ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StopReason {
    /// All is said.
    EndTurn,
    /// The results of tools are needed.
    ToolUse,
    /// The message may not be longer.
    MaxTokens,
}

/// Hears a message while it comes.
pub trait Listener: Send + Sync {
    /// Takes the next piece of text, never empty.
    fn text(&self, delta: &str);

    /// Hears what the provider has counted so far for this attempt, all of it.
    fn usage(&self, usage: Usage) {
        let _ = usage;
    }

    /// Hears that the request failed for `error`, and is sent again after `delay`.
    fn waiting(&self, error: &ModelError, delay: Duration) {
        let _ = (error, delay);
    }
}

/// Hears nothing.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl Listener for Silent {
    fn text(&self, _: &str) {}
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Offline => f.write_str("offline"),
            Self::Provided(id) => id.fmt(f),
        }
    }
}
