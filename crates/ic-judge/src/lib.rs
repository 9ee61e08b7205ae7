//! Policy, surroundings and resolver together: what judges a call, and what a call is about once it is judged.
//!
//! ```text
//! ToolCall ──Judge::judge──▶ Verdict        ResolvedCall ──Judged::of──▶ paths and rights
//! ```
//!
//! Forwards nothing, records nothing, starts nothing.
//!
//! Reading order: [`judge`], [`method`] (the methods besides `tools/call` that are judged as calls), [`judged`],
//! [`heads`] (what our git server is told of the trees that a call takes over), [`aside`] (where long steps are done, and questions to the disk that may never be answered),
//! [`ahead`] (what is read before a call needs it).
//!
//! # Invariants
//!
//! - Every verdict comes from [`ic_policy::evaluate`], over a call that [`ic_resolve`] has resolved.

pub mod ahead;
pub mod aside;
pub mod heads;
pub mod judge;
pub mod judged;
pub mod method;

pub use ahead::Ahead;
pub use aside::{Aside, Unanswered, Weight};
pub use judge::{Bringing, Judge};
pub use judged::Judged;
