//! What several crates' tests share: a disk in memory, a hermetic place to run the real binary in,
//! a model, a provider and a web server that follow scripts, the worked examples in free wordings, rows of real agents, random agents that attack the user's git,
//! the pages of docs/reference as they should be, and the recorded vectors and hostile inputs, where they
//! lie beside the project.
//!
//! Never part of the product: other crates use it as a dev-dependency only.

pub mod agents;
pub mod attack;
pub mod caller;
pub mod client;
pub mod far;
pub mod free;
pub mod git_host;
pub mod memory_disk;
pub mod place;
pub mod provider;
pub mod proxy;
pub mod reference;
pub mod scripted_model;
pub mod web;

pub use caller::Caller;
pub use client::Client;
pub use far::{Far, FarRequest, FarSays};
pub use ic_fuzz::shared;
pub use memory_disk::MemoryDisk;
pub use place::{Output, Place};
pub use provider::ScriptedProvider;
pub use proxy::Proxy;
pub use scripted_model::{Line, ScriptedModel};
pub use web::{Says, Web};
