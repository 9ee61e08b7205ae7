//! The agent: owns a conversation and takes one turn after the other.
//!
//! How a turn goes is in `turn`; saving, showing and asking people are done by whoever observes it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use ic_model::{Model, ModelError, Prices, StopReason, ToolSpec, Usage};
use ic_schema::{Schema, SchemaFault};
use tokio_util::sync::CancellationToken;

use crate::budget::{Budget, Limits, Snapshot, Spent};
use crate::clock::TurnClock;
use crate::diagnostic::{Observer, SavePoint};
use crate::history::{History, cut_note};
use crate::toolbox::Toolbox;
use crate::turn::Turn;

/// The longest message that a person may send, in bytes.
pub const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// The built-in agent with its conversation.
pub struct Agent {
    pub(crate) parts: Parts,
    pub(crate) tools: Tools,
    pub(crate) history: History,
    pub(crate) meter: Meter,
}

/// What an agent is made of.
#[derive(Clone)]
pub struct Parts {
    /// Who thinks.
    pub model: Arc<dyn Model>,
    /// Who acts.
    pub toolbox: Arc<dyn Toolbox>,
    /// Who tells the time; held by whoever asks a person.
    pub clock: TurnClock,
    /// What the model is told before anything else.
    pub system: String,
    /// What one turn may use.
    pub limits: Limits,
    /// What the model costs.
    pub prices: Prices,
}

/// The tools on offer, with their schemas ready.
pub(crate) struct Tools {
    pub(crate) specs: Vec<ToolSpec>,
    pub(crate) schemas: Vec<Schema>,
}

/// What a turn came to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Answer {
    /// What the model says to the person.
    pub text: String,
    /// Why it ends where it ends; with [`StopReason::MaxTokens`] it is incomplete.
    pub stop: StopReason,
    /// What all messages of the turn took.
    pub usage: Usage,
}

/// A turn that came to no answer.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum TurnError {
    /// There is nothing in the message.
    #[error("the message is empty")]
    EmptyMessage,
    /// The message is too long.
    #[error("the message is longer than {MESSAGE_BYTES_MAX} bytes")]
    LongMessage,
    /// The model gave no answer.
    #[error(transparent)]
    Model(ModelError),
    /// The model had nothing to say, twice.
    #[error("the model's answer is empty")]
    EmptyAnswer,
    /// The person does not want an answer any more.
    #[error("the turn was cancelled")]
    Cancelled,
    /// The turn has used what it may use.
    #[error("the budget of this turn is used up ({0})")]
    BudgetExhausted(Spent),
    /// The model went in circles.
    #[error("the model used `{}` {repeats} times in a row with the same result", .tool.escape_debug())]
    Loop {
        /// The tool.
        tool: String,
        /// How often.
        repeats: usize,
    },
}

/// A tool whose schema cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the schema of the tool `{}` cannot be used", .tool.escape_debug())]
pub struct UnfitTool {
    tool: String,
    source: SchemaFault,
}

/// Tells how the budget of the current turn, or else of the last one, stands.
#[derive(Clone)]
pub struct Meter {
    budget: Arc<Mutex<Budget>>,
    clock: TurnClock,
}

impl Agent {
    /// Makes an agent that goes on with `history`.
    pub fn new(parts: Parts, history: History) -> Result<Self, UnfitTool> {
        let specs = parts.toolbox.tools();
        let schemas = specs.iter().map(compile).collect::<Result<_, _>>()?;
        let budget = Budget::start(parts.limits, parts.prices, parts.clock.now());
        let meter = Meter { budget: Arc::new(Mutex::new(budget)), clock: parts.clock.clone() };
        Ok(Self { parts, tools: Tools { specs, schemas }, history, meter })
    }

    /// Answers one message of the person.
    ///
    /// When it is cut, what happened is kept: the message, the finished steps, and a note to the
    /// model; if no step had finished, the history is as it was.
    pub async fn turn(
        &mut self,
        message: &str,
        observer: &dyn Observer,
        cancel: &CancellationToken,
    ) -> Result<Answer, TurnError> {
        if message.trim().is_empty() {
            return Err(TurnError::EmptyMessage);
        }
        if MESSAGE_BYTES_MAX < message.len() {
            return Err(TurnError::LongMessage);
        }
        let (limits, prices) = (self.parts.limits, self.parts.prices);
        self.meter.restart(Budget::start(limits, prices, self.parts.clock.now()));
        let mark = self.history.say(message);
        observer.save_point(SavePoint::UserMessage, self.history.messages());
        let mut turn = Turn::new(self, observer, cancel);
        let ended = turn.run().await;
        let is_untouched = !turn.has_finished_a_step();
        match &ended {
            Ok(_) => observer.save_point(SavePoint::Answer, self.history.messages()),
            Err(cut) => {
                if is_untouched {
                    self.history.rewind(mark);
                } else {
                    self.history.note(cut.note());
                }
                observer.save_point(SavePoint::Cut, self.history.messages());
            }
        }
        ended
    }

    /// Returns the conversation.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Returns a meter, which may be read while a turn runs.
    pub fn meter(&self) -> Meter {
        self.meter.clone()
    }
}

fn compile(tool: &ToolSpec) -> Result<Schema, UnfitTool> {
    Schema::compile(&tool.input_schema.clone().into())
        .map_err(|source| UnfitTool { tool: tool.name.clone(), source })
}

impl TurnError {
    /// Tells the model, in the next turn, why the last one has no answer.
    fn note(&self) -> String {
        cut_note(self)
    }
}

impl Meter {
    /// Returns how the budget stands now.
    pub fn snapshot(&self) -> Snapshot {
        let now = self.clock.now();
        self.with(|budget| budget.snapshot(now))
    }

    pub(crate) fn with<T>(&self, read: impl FnOnce(&mut Budget) -> T) -> T {
        read(&mut self.budget.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn restart(&self, fresh: Budget) {
        self.with(|budget| *budget = fresh);
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("history", &self.history).finish_non_exhaustive()
    }
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").field("model", &self.model).finish_non_exhaustive()
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meter").field("budget", &self.budget).finish_non_exhaustive()
    }
}
