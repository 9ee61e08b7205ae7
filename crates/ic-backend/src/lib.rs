//! What serves calls: servers that run in cages, or on other machines, and what is lent to them.
//!
//! ```text
//! Recorded ──▶ Connection ──lines──▶ MCP server
//!          ◀──Outcome──    ◀──lines──
//! ```
//!
//! MCP is spoken in the revision that the server wants. Nothing that a server sends is passed on as it came:
//! it is parsed once, and what was looked at is written again. Whether a call may be made was decided before.
//!
//! Reading order: `server` (one server: started, watched, asked), [`launch`] (how it comes to be), `cage` and
//! `sight` (what it sees), [`agent_cage`] (the cage of an agent and its shell), [`agent_looks`] (the looks at it while it runs), [`planted`] (what it must not plant), [`one_shot`] (what one that is started for one
//! call sees), `reach` and `aids` (what it reaches, and what is lent to it), [`petition`] (what it asks of
//! clients), [`caller`] (the client, as far as a server reaches it), `violation` and `ledger` (what cages refuse,
//! and what leaves them), `levels` (how much of logs is wanted), [`mod@probe`] (a look at one outside a session).
//!
//! # Invariants
//!
//! - Only a `Recorded` call is sent to a server, and it is sent once.
//! - What a server may ask is a short closed list, and what it asks of a client's model or person is sent once,
//!   recorded, after a person said yes.
//! - Every queue has an end, and a peer that does not read slows down nobody but itself.

pub mod agent_backend;
pub mod agent_cage;
mod agent_container;
pub mod agent_git;
mod agent_history;
pub mod agent_looks;
mod agent_places;
pub mod agent_terminal;
mod agent_user;
pub mod agent_watch;
mod aids;
pub mod backend;
mod cage;
pub mod caller;
pub mod launch;
mod ledger;
pub mod levels;
pub mod listing;
pub mod one_shot;
pub mod package_door;
pub mod petition;
mod plan;
pub mod planted;
mod premises;
pub mod probe;
mod reach;
mod roots;
pub mod server;
mod sight;
mod strategy;
#[cfg(feature = "testing")]
pub mod testing;
pub mod violation;
pub mod witness;

pub use agent_backend::{
    AgentBackend, AgentProcess, CageBackend, DoorListener, Starting, StartingAtTerminal,
};
pub use agent_cage::{
    AgentCage, AgentCageFault, AgentCageParts, Caged, CagedAtTerminal, CagedProgram,
};
pub use agent_container::{ContainerBackend, ContainerParts, RootsWorkspace};
pub use agent_git::{AgentGit, Collected};
pub use agent_looks::AgentLooks;
pub use agent_watch::AgentWatch;
pub use aids::Keyring;
pub use backend::Backend;
pub use ledger::LogLedger;
pub use package_door::PackageDoor;
pub use planted::last_look::{NotOpened, run_settling};
pub use premises::{Backends, Premises};
pub use server::{HandshakeError, Introduction};
pub use witness::{Ending, EscalationNews, Witness};

use ic_types::{chain, locked};
