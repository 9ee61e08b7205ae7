//! The record: every call, every answer and every refusal, in a log that nobody can quietly change.
//!
//! Each line holds the hash of the line before it; the first stands on a key, and so does the head
//! that is written beside the log after every commit. What is written has passed the [`Redactor`].
//!
//! ```text
//! Permit ──AuditLog::record──▶ Recorded ──(backend forwards)──▶ outcome ──AuditLog::note──▶
//!                 │ write(2), then return           committer thread: fdatasync, then audit.head
//! ```
//!
//! Reading order: [`entry`] (what a record says), [`chain`] (how records hold each other), [`key`],
//! [`head`], [`sink`] (where bytes go), [`log`] (the writer), [`verify`] (the reader that trusts
//! nothing), [`read`] (the reader for people), `redact`
//! and `brief` (what does not go into it).
//!
//! # Invariants
//!
//! - [`Recorded`] comes only from [`AuditLog::record`], after the line was written.
//! - A log that cannot be written or committed records nothing more, so nothing more is forwarded.
//! - The crate decides nothing and forwards nothing.

mod brief;
pub mod chain;
pub mod economy;
pub mod entry;
pub mod head;
pub mod key;
pub mod log;
pub mod read;
mod redact;
pub mod sink;
pub mod verify;

pub use entry::{Entry, Keep, Kind, REPORTED_ERROR};
pub use key::AuditKey;
pub use log::{AuditError, AuditLog, BYTES_MAX, LogFiles, LogOptions, Recorded, SyncMode};
pub use redact::Redactor;
pub use verify::{Condition, Report, Tampering};
