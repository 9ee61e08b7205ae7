//! The desk: carries an escalation to a person, and brings back the answer.
//!
//! It decides nothing and forwards nothing: what comes back is an [`Answer`](ic_policy::Answer), and
//! only settling the escalation with it makes a permit. A denial never comes here.
//!
//! ```text
//! session                                              whoever answers
//! Escalation ─Question::of─▶ Desk::raise               Registry::live ─▶ Board::look ─▶ Pending
//!     ▲                        │  request-<id>.json ──────────────────────▶ │ display::show
//!     │                        ▼                                            │ Offer, Choice, Wish
//!   settle ◀─ Outcome ◀─ Clerk (one task) ◀── response-<id>.json ◀──────────┘ Pending::answer ─▶ Told
//!     ▲
//!     └─ Grants::answer: what was granted before is answered without asking
//! ```
//!
//! Reading order: [`desk`] (the port), [`request`] and [`response`] (the files), [`rendezvous`] (the
//! desk that is a directory), [`board`] (the answering side) and [`ending`] (how a question ended), [`registry`] and [`presence`] (who is
//! there), [`numbers`], [`scope`], [`closed`], [`offer`], [`grant`] and [`grants`] (approvals that outlive a call), [`plans`] (approvals that come before it),
//! [`display`] (what a person sees), [`earlier`] (what was asked before), [`user_context`] and [`approver`]
//! (what a person's own message answers).
//!
//! # Invariants
//!
//! - The first file at the name of a response stands; a session that stops waiting puts its own there
//!   first, so an answer is accepted or too late, and both sides know which.
//! - Anything but an answer to the very question that was asked is a denial, and is said to be one.
//! - A grant is computed from what one call named; nothing in a file can make one, or make one wider.
//! - Nothing an agent wrote reaches a person's eyes but through [`visible`](fn@ic_types::visible).

pub mod approver;
pub mod board;
pub mod closed;
pub mod desk;
pub mod display;
mod document;
pub mod earlier;
pub mod ending;
mod fixed;
pub mod grant;
pub mod grants;
pub mod numbers;
pub mod offer;
pub mod plans;
pub mod presence;
pub mod registry;
pub mod rendezvous;
pub mod request;
pub mod response;
pub mod scope;
pub mod user_context;

pub use approver::{Approver, Intent, IntentJudge, Judged, Judging, Opinion, Reading};
pub use board::{AnswerError, Board, Pending, Receipt, Reply, Told, Waiters};
pub use closed::Closed;
pub use desk::{
    Answered, Desk, DeskError, Outcome, Question, Waiting, Withdrawal, new_escalation_id,
};
pub use document::DocumentFault;
pub use earlier::{Covered, Earlier};
pub use ending::Ending;
pub use grant::{Grant, GrantId};
pub use grants::{GrantRecord, Grants, GrantsError, GrantsFile, Revoked};
pub use numbers::Numbers;
pub use offer::{Choice, Grantable, NoOffer, NotOffered, Offer, Terms, Wish};
pub use plans::{NotPlanned, PlannedCall, Plans};
pub use presence::{Presence, PresenceError, is_anybody_there};
pub use registry::{Live, Registered, Registry, RegistryError, SessionEntry};
pub use rendezvous::{Clerk, Ended, FileDesk, Ticks};
pub use request::{AskedCause, Request, RequestError};
pub use response::ResponseFault;
pub use scope::{Scope, ScopeKind};
pub use user_context::UserContext;

pub use ic_intent::{Keys, Message, Sent, Source, Unclear, keys};
