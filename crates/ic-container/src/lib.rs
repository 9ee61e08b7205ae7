//! Containers: the engine over its socket, and the one hardened container that agents run in.
//!
//! ```text
//! DOCKER_HOST, contexts, usual places ─▶ socket::find ─▶ Api: Engine ─▶ dockerd, Podman
//! Container (image, mounts, limits, owner) ─request─▶ create ─▶ inspect ─deviations─▶ none, or it is removed
//!                                                        └─▶ attach, start, wait, pause, kill, remove
//! labels of containers + processes of this machine ─▶ sweep: what belongs to nobody any more is removed
//! ```
//!
//! The engine is trusted, and so is who may talk to it; what runs in a container is not. Not in here: what an
//! agent is, what a policy shows it (`ic-backend`), and what a person is told (`ironcurtain`).
//!
//! # Invariants
//!
//! - A container is started only after the engine has reported back every restriction that was asked for.
//! - No container gets the engine's socket, a system directory, or a place outside a written-out list.
//! - A program in a container ends with the container: the engine's `exec` is not used, because what it starts
//!   outlives whoever asked for it.

pub mod api;
pub mod container;
pub mod engine;
pub mod fake;
pub mod images;
pub mod mount;
pub mod owner;
pub mod preflight;
pub mod running;
pub mod socket;
mod streams;
mod words;

pub use api::Api;
pub use container::{Container, ContainerLimits, User};
pub use engine::{Asked, Engine, EngineError, Streams};
pub use mount::{Mount, MountFault, Place};
pub use owner::{Owner, Swept, sweep};
pub use preflight::{Facts, Unfit};
pub use running::{Ended, Running, StartFault};
pub use socket::{NoEngine, Socket};
