//! The trusted kernel: a call comes in, is judged, recorded, forwarded or refused, and answered.
//!
//! ```text
//! client ──lines──▶ client ──Asked──▶ Broker ──Recorded──▶ server ──lines──▶ MCP server
//!        ◀──lines──        ◀──Reply──        ◀──Outcome──        ◀──lines──
//! ```
//!
//! MCP is spoken on both sides, on each in the revision that the other end wants. Nothing that a
//! client or a server sends is passed on as it came: it is parsed once, and what was looked at is
//! written again.
//!
//! Reading order: [`broker`] (one call), [`client`] (who calls), `server` (who serves), [`tool`] and
//! [`pins`] (what is trusted), `breaker`, `questions`, `result` and [`refusal`] (what stands between),
//! [`launch`] and [`servers_file`] (how servers come to be), `cage` and `sight` (what they see), [`planted`] (what they must not plant),
//! [`one_shot`] (what one that is started for one call sees), `reach` and `aids` (what it reaches, and what is
//! lent to it), [`petition`] (what servers ask of clients), `violation` and `ledger` (what cages refuse, and what leaves them), [`socket`] (where several
//! clients come in), `levels` (how much of logs they want to hear), [`mod@probe`] (a look at one outside a session), [`judge`].
//!
//! # Invariants
//!
//! - Only a `Recorded` call is sent to a server, and it is sent once.
//! - What a client may ask is a closed list; what a server may ask is an even shorter one, and what it asks
//!   of a client's model or person is sent once, recorded, after a person said yes.
//! - A result is held to limits before anybody reads it, and our own keys are masked in it.
//! - Every queue has an end, and a peer that does not read slows down nobody but itself.

mod agent_places;
mod aids;
mod breaker;
pub mod broker;
mod cage;
pub mod client;
pub mod launch;
mod ledger;
mod levels;
pub mod one_shot;
pub mod petition;
pub mod planted;
pub mod probe;
mod questions;
mod reach;
pub mod refusal;
mod result;
mod server;
mod sight;
pub mod socket;
pub mod stdio;
mod violation;

pub use aids::Keyring;
pub use broker::{
    Attendance, Broker, Ending, EscalationNews, FORWARD_GRACE, Patience, People, Setup, Witness,
};
pub use server::{HandshakeError, Introduction};

use ic_types::{chain, locked};
