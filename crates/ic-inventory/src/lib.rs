//! The servers that are configured, the tools that they offered, and what of both is trusted.
//!
//! ```text
//! mcp-servers.json ──▶ servers_file ──ServerConfig──▶ Identity ──┐
//! a server's list of tools ──▶ tool ──Tool────────────────────────┴──▶ pins ──▶ servers.lock.json
//! ```
//!
//! Nothing is started here, nothing is asked of a server, and no call is judged.
//!
//! Reading order: [`servers_file`] (what the user wrote), [`header`] and [`asks`] (parts of an entry),
//! [`tool`] (what a server says it offers), [`draft`] and [`guess`] (what its arguments may mean), [`pins`] (what
//! was trusted).
//!
//! # Invariants
//!
//! - A list of tools is untrusted text: a [`Tool`](tool::Tool) is within limits, and its name is one.
//! - What is not what was trusted is not taken for it: a pin holds the server's identity and each tool's digest.

pub mod asks;
pub mod draft;
pub mod guess;
pub mod header;
pub mod pins;
pub mod servers_file;
pub mod tool;

pub use asks::{Asks, PetitionKind};
