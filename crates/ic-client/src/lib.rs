//! MCP towards clients: lines come in, each is answered, and what is not on a closed list goes nowhere.
//!
//! ```text
//! client ──lines──▶ Client ──Asked──▶ Broker
//!        ◀──lines──        ◀──Reply──
//! ```
//!
//! MCP is spoken in the revision that the client wants; an id is given back exactly as it came. No call is
//! judged here, and no server is known.
//!
//! Reading order: [`client`], [`socket`] (where several clients come in), [`stdio`].
//!
//! # Invariants
//!
//! - What a client may ask is a closed list.
//! - Every queue has an end, and a client that does not read slows down nobody but itself.

pub mod bridge;
pub mod client;
pub mod socket;
pub mod stdio;

use ic_types::{chain, locked};
