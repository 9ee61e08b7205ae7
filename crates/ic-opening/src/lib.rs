//! Opens policies, cages, models and sessions from the home and its configuration.
//!
//! Used by every command, and by anything else that wants a session: nothing is printed here, no terminal
//! is known, and no exit code. What a person should be told comes back as a value, and what failed as a
//! [`Fault`].
//!
//! ```text
//! Wanted ─▶ Loaded (policy in its surroundings) ─┐
//! Holding (what confines servers) ───────────────┼─▶ SessionWanted::open ─▶ Opened (ground, header)
//! Config, Environment ───────────────────────────┘
//! Thinker (the model) ─▶ ic_session::Mind
//! ```
//!
//! Reading order: [`policy`] (which policy is in force, and what it means here), [`holding`], [`session`],
//! [`workspace`] and [`notes`] (the directory of a project), `packages` (the door to package registries), [`notify`] (how the user is called),
//! [`thinker`], [`fault`].

pub mod fault;
pub mod files;
pub mod holding;
pub mod notes;
pub mod notify;
mod packages;
pub mod policy;
pub mod session;
pub mod thinker;
pub mod workspace;

pub use fault::{Fault, FaultKind};
pub use holding::Holding;
pub use policy::{Loaded, Wanted};
pub use session::{Header, Opened, SessionWanted};
pub use thinker::Thinker;
