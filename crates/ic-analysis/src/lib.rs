//! What a policy lets through, what another one would change, and whether its tests would notice a mistake.
//!
//! Answered completely, by computation: a policy asks finitely many questions of a value, so all values fall
//! into finitely many classes that it cannot tell apart. One example of each class is judged by the policy's
//! own decision, and the answers are put together as the decision does it. No model takes part.
//!
//! Reading order: [`space`] (the classes), `side` (one policy, asked), `context` (what one role asks of
//! another), `rows` (the table of one tool), `model` and `search` (all calls of a tool), [`replay`] (calls
//! that were recorded), [`view`] (what the cage of an agent shows).
//!
//! # Invariants
//!
//! - No I/O, no clock, no randomness; calls are imagined, explained and never forwarded.
//! - The decision itself is [`ic_policy`]'s. Nothing here decides a second time.
//! - What is too much to look through is an error, never an answer that leaves something out.

mod context;
pub mod describe;
pub mod diff;
mod imagined;
mod model;
pub mod mutate;
pub mod property;
pub mod replay;
pub mod report;
mod rows;
mod search;
pub mod side;
pub mod space;
pub mod suggest;
mod table;
mod tools;
pub mod view;

use std::fmt;

use ic_types::{ServerName, ToolName};

pub use diff::{Change, Comparison};
pub use side::{By, Outcome, Row};
pub use space::{Asked, Class, Space, Subject};
pub use table::{Line, Table};
pub use tools::unusable;
pub use view::{AgentView, Inhabitant, NoView, Shown};

/// A policy, or a tool of it, that is too much to look through completely.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TooComplex {
    what: &'static str,
    tool: Option<String>,
}

impl TooComplex {
    fn lists() -> Self {
        Self { what: "its rules compare too many lists with other arguments", tool: None }
    }

    fn variants() -> Self {
        Self { what: "its annotation has too many conditions", tool: None }
    }

    fn states() -> Self {
        Self { what: "its calls can come out in too many ways", tool: None }
    }

    /// Too many places would have to be taken for a workspace.
    pub fn places() -> Self {
        Self { what: "its rules restrict too many places that the other one does not", tool: None }
    }

    fn unconfirmed() -> Self {
        Self { what: "the decision does not confirm what was found", tool: None }
    }

    fn of(self, server: &ServerName, tool: &ToolName) -> Self {
        Self { tool: Some(format!("{server}.{tool}")), ..self }
    }
}

impl std::error::Error for TooComplex {}

impl fmt::Display for TooComplex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.tool {
            Some(tool) => write!(f, "`{tool}` cannot be analysed completely: {}", self.what),
            None => write!(f, "the policy cannot be analysed completely: {}", self.what),
        }
    }
}
