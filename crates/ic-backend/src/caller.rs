//! The client whose call it is, as far as a server may reach it: progress goes to it, and questions.
//!
//! How lines come in from it is not known here.

mod ear;
mod outbox;

pub use ear::{Ear, Silent};
pub use outbox::{Outbox, Outgoing, Slow};
