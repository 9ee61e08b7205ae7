//! Models: one completion as a port, what goes into it and what comes out, clients of providers, and
//! the offline model.
//!
//! A [`Model`] is asked once and answers once. It runs no tool, keeps no conversation and knows no
//! policy: whatever it says is untrusted, and whoever asked decides what becomes of it.
//!
//! Reading order: [`model`] (the port), [`message`] (what is said), [`usage`] (what it took, and what
//! that costs), [`error`], [`catalogue`] (what is known of models), [`provider`] (models of providers),
//! [`offline`] (the model that serves without a key).
//!
//! # Invariants
//!
//! - A message is written as JSON and read back without a loss; what only its provider understands
//!   is kept as it came.
//! - A provider's key goes from its `Secret` into the header of a request, and nowhere else.
//! - The offline model is a function of the conversation: no network, no clock, no chance.
//! - Text that a person gave to the offline model reaches a script as a literal, never as code; code
//!   is only what stood in a fenced block that was given to be run.

pub mod catalogue;
pub mod error;
pub mod message;
pub mod model;
pub mod offline;
pub mod provider;
pub mod usage;

pub use catalogue::Known;
pub use error::ModelError;
pub use message::{AssistantBlock, Message, MessageFault, ToolUseId, UserBlock};
pub use model::{
    Completing, Completion, Listener, Model, ModelName, Prompt, Silent, StopReason, ToolSpec,
};
pub use offline::OfflineModel;
pub use provider::sse;
pub use provider::{Client, ClientError, ClientSpec, Credential, Timeouts};
pub use usage::{Cost, Prices, Usage};
