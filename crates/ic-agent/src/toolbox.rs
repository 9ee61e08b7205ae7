//! The port to whatever can act: the tools on offer, and the use of one.
//!
//! The agent knows nothing else of the world: no broker, no sandbox, no policy.

use std::future::Future;
use std::pin::Pin;

use ic_model::ToolSpec;
use ic_types::Json;
use tokio_util::sync::CancellationToken;

/// The tools of an agent.
pub trait Toolbox: Send + Sync {
    /// Returns what is on offer; it stays the same.
    fn tools(&self) -> Vec<ToolSpec>;

    /// Uses the tool `name`, which is on offer, with an input that fits its schema.
    ///
    /// When `cancel` is cancelled it ends soon, with what came of it if that is complete, and with
    /// [`Interrupted`] otherwise.
    fn run<'a>(
        &'a self,
        name: &'a str,
        input: &'a Json,
        cancel: &'a CancellationToken,
    ) -> Running<'a>;
}

/// A tool use that is under way.
pub type Running<'a> = Pin<Box<dyn Future<Output = Result<ToolOutcome, Interrupted>> + Send + 'a>>;

/// What came of a tool use. A failure is an outcome: the model is told.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ToolOutcome {
    /// What the model reads.
    pub content: String,
    /// Whether that is about a failure.
    pub is_error: bool,
    /// The reasons of calls that were denied on the way.
    pub denials: Vec<String>,
    /// What a cage refused on the way.
    pub violations: Vec<String>,
}

/// A tool use was cancelled before it was finished.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Interrupted;

impl ToolOutcome {
    /// Makes the outcome of a use that went well.
    pub fn done(content: impl Into<String>) -> Self {
        Self {
            content: content.into(),
            is_error: false,
            denials: Vec::new(),
            violations: Vec::new(),
        }
    }

    /// Makes the outcome of a use that failed.
    pub fn failed(content: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::done(content) }
    }
}
