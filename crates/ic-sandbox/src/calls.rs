//! What a script can reach: the port that `ic-session` fills with the broker.
//!
//! Whether a call is allowed is not known here.

use std::pin::Pin;
use std::sync::Arc;

use ic_types::{Json, ToolCall};
use tokio_util::sync::CancellationToken;

use crate::catalogue::Catalogue;
use crate::pause::Pause;

/// A future that somebody else made.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Serves the calls of scripts.
pub trait Calls: Send + Sync {
    /// Returns what can be called now; asked once for each run.
    fn catalogue(&self) -> BoxFuture<'_, Arc<Catalogue>>;

    /// Makes one call of what the catalogue of this run holds.
    ///
    /// A run has one call in flight. While `pause` is held, the time of the run does not count. When
    /// `cancel` is cancelled the run is over and its worker is gone; the call may take a few seconds
    /// more to come to an end of its own, and then it is dropped.
    fn call<'a>(
        &'a self,
        call: ToolCall,
        pause: &'a Pause,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Called>;

    /// Takes what a script prints, as it comes: text of a stranger. It is in the [`Run`] too, and no
    /// run prints more than a few megabytes.
    ///
    /// [`Run`]: crate::Run
    fn printed(&self, _text: &str) {}
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Called {
    /// The tool's result.
    Done {
        /// The text of its content, with a line for each part that is not text.
        text: String,
        /// Its structured content, which a script gets instead if the tool declares an output schema.
        structured: Option<Json>,
    },
    /// The tool says that it failed, or could not be asked; thrown as `ToolError`.
    Failed {
        /// Why.
        message: String,
    },
    /// The call was not let through; thrown as `Denied`.
    Denied(Denial),
}

/// Why a call was not let through.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Denial {
    /// What the agent reads.
    pub message: String,
    /// What was decided, in one word.
    pub decision: String,
    /// The rule that decided.
    pub rule: String,
    /// The reason that the rule gives.
    pub reason: String,
    /// What the agent can do instead.
    pub next_step: Option<String>,
}
