//! Terminals that come and go: what a terminal says to the process that holds a session, and hears from it.
//!
//! ```text
//! start --pty ─▶ client: at the terminal ─┬─▶ process that holds the session: agent, broker, log
//! attach      ─▶ client: at the terminal ─┘    draws on the terminal and reads it, by its handle
//! ```
//!
//! The client hands its terminal over as an open file, so whoever holds the session draws and reads directly,
//! and no byte goes through the client (decision 62). Each end gives the terminal back if the other one is
//! gone. What is drawn is not known here.
//!
//! Reading order: [`wire`], [`door`], [`client`], [`holding`].

pub(crate) mod client;
pub(crate) mod door;
pub(crate) mod holding;
pub(crate) mod wire;

pub(crate) use door::{Door, Line, Visitor};
pub(crate) use holding::Held;
pub(crate) use wire::{Told, Why, Wish, Word};
