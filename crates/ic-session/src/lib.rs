//! A session: one conversation with one agent, owning all that it needs.
//!
//! It wires; it decides nothing. Calls are judged in `ic_broker` and `ic_policy`, code runs in
//! `ic_sandbox`, models are asked in `ic_agent`. No terminal is known here: whoever runs a session
//! talks to it through a trait.
//!
//! Reading order: [`directory`] (where a session is kept), [`desk`] and [`ground`] (what every session
//! stands on), [`journal`].

pub mod desk;
pub mod directory;
pub mod ground;
pub mod journal;

pub use desk::{OpenDesk, Wait};
pub use directory::{Description, DirectoryError, SessionDirectory, SessionKind};
pub use ground::{Ground, Held, OpenError, Opening};
pub use journal::Journal;
