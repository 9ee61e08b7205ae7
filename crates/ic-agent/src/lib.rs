//! The built-in agent: a loop over a model and its tools, within a budget.
//!
//! It knows a [`Model`](ic_model::Model) and a [`Toolbox`], and nothing of terminals, disks, brokers or
//! policies. What the model says is untrusted, and so is what a tool returns.
//!
//! ```text
//! person's message ─▶ History ─▶ Model ─┬ text ──────────────────────────────▶ Answer
//!                        ▲              └ tool uses ─▶ Toolbox ─▶ results ─┐
//!                        └─────────────────────────────────────────────────┘  until a budget is used up
//! ```
//!
//! Reading order: [`agent`] (the loop's owner), `turn` (the loop), [`history`] (what is sent),
//! [`toolbox`] (the port), [`budget`] (arithmetic), [`clock`] (which stands still while a person is
//! asked), [`diagnostic`] (what is told while it runs), [`prompt`]; `repetition` and `excerpt` are small and pure.
//!
//! # Invariants
//!
//! - What is sent to a model is a [`History`]: every tool use has its result, also after a cut.
//! - A turn that is cut keeps what happened, and if nothing had happened, the history is as it was.
//! - The time in which a person is asked is no time of the turn.
//! - Tool uses run one after the other, in the order in which the model wrote them.

pub mod agent;
pub mod budget;
pub mod clock;
pub mod diagnostic;
mod excerpt;
pub mod history;
pub mod prompt;
mod repetition;
pub mod toolbox;
mod turn;

pub use agent::{Agent, Answer, Meter, Parts, TurnError, UnfitTool};
pub use budget::{Budget, Dimension, Limits, Snapshot, Spent};
pub use clock::{Held, TurnClock};
pub use diagnostic::{Asked, Diagnostic, Observer, SavePoint};
pub use history::{History, HistoryFault};
pub use prompt::{Note, Surroundings, execute_code, system_prompt};
pub use toolbox::{Interrupted, Running, ToolOutcome, Toolbox};
