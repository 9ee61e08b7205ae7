//! Connections that leave a cage: judged, resolved, checked, recorded, and made by the host.
//!
//! A cage has a network of its own with nothing in it but loopback. Sockets in that network were
//! handed to this process, which listens on them:
//!
//! ```text
//!            in the cage                 │           in the trusted process
//!  getaddrinfo ──▶ 127.0.0.x:53 ─────────┼─▶ question ─▶ names            (nothing leaves)
//!  connect 127.64.0.n:443 ──▶ a port ────┼─▶ door ─▶ cage ─▶ Target ─admit─▶ Admitted
//!  HTTPS_PROXY ──▶ proxy ────────────────┼─▶ door ─▶         │ resolve, once
//!                                        │                   ▼
//!                                        │                check ─▶ Checked ─record─▶ Recorded
//!                                        │                                             │ connect
//!  client ◀──────── bytes ───────────────┼────────── relay ◀─────────────── server ◀───┘
//!  client ──────── bytes ────────────────┼─▶ gate ─▶ relay ───────────────▶ server
//! ```
//!
//! Reading order: [`target`] and [`address`] (what is wanted, and what it is), [`allowed`] (what may
//! be), `connect` (what is made), `gate`, `hello`, `head`, `request` and `body` (what is said),
//! `relay`, `cage`, `door`, `dns`, `question` and `names`, [`ledger`], `tally` and `pace` (what is
//! written down, and how often), [`egress`](mod@egress) (the service).
//!
//! ```no_run
//! # use std::sync::Arc;
//! # use ic_egress::{Allowed, Doors, Egress, Ledger, SystemResolver};
//! # use ic_policy::DomainSet;
//! # use tokio_util::{sync::CancellationToken, task::TaskTracker};
//! # async fn cage(doors: Doors, ledger: Arc<dyn Ledger>) -> Result<(), Box<dyn std::error::Error>> {
//! let list = DomainSet::parse(["api.github.com", "db.corp.example:5432"])?;
//! let allowed = Allowed::new(vec![list], DomainSet::new(Vec::new()))?;
//! // The launcher makes the doors, for `allowed.ports()` and `allowed.addresses()`.
//! let (tasks, over) = (TaskTracker::new(), CancellationToken::new());
//! let egress = Egress::new(Arc::new(SystemResolver::new()), ledger, tasks.clone());
//! egress.serve("github".parse()?, allowed, doors, over.clone())?;
//! // The cage lives, and ends.
//! over.cancel();
//! tasks.close();
//! tasks.wait().await;
//! # Ok(())
//! # }
//! ```
//!
//! # Invariants
//!
//! - A connection is made only to an address that was checked for it, and only after it was
//!   recorded; nothing is resolved twice.
//! - One address of a host that may not be connected to refuses the host.
//! - Addresses that are not public are reached only if a pattern names the host, or the address,
//!   with its port; those of clouds' metadata only if the address itself is named.
//! - A question for a name never leaves the process.
//! - No byte of a client is passed on before it has shown that it speaks with the host that was
//!   judged. HTTP in the clear is written anew, one request per connection.
//! - Every wait, buffer and table has an end.
//!
//! # What it does not promise
//!
//! What is said inside of TLS is not seen: a host that is allowed, and that serves other hosts from
//! the same machines, can pass messages on to them. A host that is allowed learns that its address
//! was looked for, whether or not it is then connected to.

pub mod address;
pub mod allowed;
mod answer;
mod body;
mod cage;
mod connect;
mod cursor;
mod dns;
mod door;
pub mod egress;
mod gate;
mod head;
mod hello;
pub mod ledger;
mod limits;
mod names;
mod pace;
mod question;
pub mod refusal;
mod relay;
mod request;
pub mod resolve;
mod tally;
pub mod target;

pub use address::Special;
pub use allowed::{Allowed, TooManyDoors};
pub use egress::{Doors, Egress};
pub use ledger::{Closed, Connection, Door, Ending, Ledger, LedgerError, Refused};
pub use refusal::Refusal;
pub use resolve::{Resolve, Resolving, SystemResolver};
pub use target::Target;

#[cfg(test)]
mod tests;
