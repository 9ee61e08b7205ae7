//! The stages of the compiler that need a model: what it proposes, how that is checked, and who is to blame.
//!
//! ```text
//! free statements ─▶ pre-filter ─▶ sentences ─▶ compile (by code) ─▶ verify (the engine) ─▶ merge
//!                                     ▲                                   │ a scenario fails
//!                                     └── repair ◀── judge ◀──────────────┘   (three rounds at most)
//! ```
//!
//! A model proposes plain sentences; [`ic_constitution`] compiles them, and whoever runs the stages shows them
//! to a person before they count. No model writes a rule, and this crate replaces no file of a policy. It has no
//! part in the process that judges calls.
//!
//! Reading order: [`mod@run`] (all stages), [`mod@unit`] (what they are about), [`ask`] (one structured question),
//! [`stage`] (prompts and schemas), the stages [`sentences`], [`cases`], [`judge`], [`annotate`] and [`lists`], and the
//! ports [`cache`], [`journal`] and [`engine`].
//!
//! # Invariants
//!
//! - What a model answers fits its schema and passes the checks of its stage, or is asked again twice, or fails.
//! - A proposed sentence is plain, is about the servers that were asked about, and is kept in our own words.
//! - Sentences and scenarios that a person wrote are never changed.
//! - A question that was answered once is not asked, and not paid for, again.

pub mod annotate;
pub mod ask;
pub mod cache;
pub mod cases;
pub mod engine;
pub mod journal;
pub mod judge;
pub mod lists;
pub mod run;
pub mod sentences;
pub mod stage;
pub mod unit;

pub use ask::{AskError, Asker, Mind, Spent};
pub use cases::Case;
pub use engine::{Engine, EngineFault, Finding};
pub use run::{Compiled, CompilerError, Input, Proposal, run};
pub use stage::Stage;
pub use unit::{ToolInfo, Unit};
