//! A call's values made canonical on this machine: paths, URLs, git remotes.
//!
//! The step between what an agent wrote and what the policy judges. It is the only crate that looks
//! at the disk before the verdict, it only reads, and all it reads goes through the [`Disk`] trait,
//! so that its laws can be tested without one.
//!
//! ```text
//! ToolCall ──Resolver::resolve──▶ ResolvedCall      a value that cannot be resolved is noted, and denied by the policy
//! ToolCall ──petition::of_server▶ ResolvedCall      what a server asks of a client: nothing in it is resolved
//! ToolCall ──planted::of_server─▶ ResolvedCall      what a server left for the host to execute, to be kept
//! Places ───bounds::gather──────▶ Bounds            sandbox, protected paths, what the host executes
//! ```
//!
//! Reading order: [`disk`], [`path`], [`url`], [`remote`], [`git`], [`executes`], [`resolver`], [`bounds`].
//!
//! # Invariants
//!
//! - Resolving is idempotent: a resolved path resolves to itself while the disk stays as it is.
//! - What is judged is what is sent: [`ic_policy::ResolvedCall::sent`] holds the judged forms.
//! - Nothing is executed, written, or looked up in a network.

pub mod bounds;
pub mod disk;
pub mod executes;
pub mod git;
pub mod path;
pub mod petition;
pub mod planted;
pub mod remote;
pub mod resolver;
pub mod url;

pub use bounds::{BoundsError, Places};
pub use disk::{CachedDisk, Disk, Entry, Kind, RealDisk};
pub use executes::{
    Change, Executes, History, LinkTable, NamedInTree, Names, Orders, UserGit, is_attributes,
};
pub use path::PathFault;
pub use resolver::{PATH_WORDS, Resolver};
