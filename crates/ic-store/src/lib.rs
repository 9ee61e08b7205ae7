//! Conversations on disk: saved as they go, resumed as the model saw them, listed, purged, removed.
//!
//! ```text
//! sessions/<id>/conversation.journal   one line for each step, appended while the session runs
//! sessions/<id>/conversation.json      the whole, replaced when a turn or the session ends
//! sessions/<id>/meta.json              what the session is              ── the truth
//! sessions/index.json                  all of those in one file         ── a cache of it
//! sessions/last_session                the id for `--continue`
//! ```
//!
//! Messages are written and read by `ic_model`, which keeps them as they came. No model is asked here,
//! nothing is shown to anybody, and no session runs here.
//!
//! Reading order: [`metadata`] and [`turn`] (what is kept besides messages), [`journal`] (how a step
//! is kept), [`stored`] (how all of it is read back), [`conversation`] (a conversation that goes on),
//! [`index`] and [`sessions`] (all of them), [`summary`] and [`export`] (for people).
//!
//! # Invariants
//!
//! - Once a save has returned, what was saved survives the end of the process, however it comes.
//! - A save costs what its step costs, however long the conversation is, and never writes the index.
//! - What cannot be read is set aside or left as it is, and never overwritten.
//! - The index can be deleted, damaged or old at any moment: `meta.json` files decide.

pub mod conversation;
pub mod error;
pub mod export;
pub mod index;
pub mod journal;
pub mod metadata;
pub mod places;
pub mod sessions;
pub mod stored;
pub mod summary;
pub mod turn;

pub use conversation::{Conversation, Found, Moment, Saving};
pub use error::StoreError;
pub use index::{Entry, Row, Unreadable};
pub use metadata::Metadata;
pub use places::Places;
pub use sessions::{Doing, Removed, Sessions};
pub use stored::Stored;
pub use turn::{Turn, TurnUsage};
