//! What is written down about the connections of a cage, and by whom.
//!
//! Only the interface: whoever builds an [`Egress`](crate::Egress) knows where records go.

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use ic_types::{Host, ServerName};

use crate::refusal::Refusal;
use crate::target::Target;

/// Where connections are recorded.
///
/// Its methods are called on the tasks that carry connections, so they must not wait for long.
pub trait Ledger: Send + Sync {
    /// Records a connection that is about to be made; it is made only if this succeeds.
    fn opened(&self, connection: &Connection) -> Result<(), LedgerError>;

    /// Records what was refused.
    ///
    /// Nothing is sent because of it, so a ledger that fails here need only fail at the next
    /// [`Self::opened`].
    fn refused(&self, refused: &Refused);

    /// Hears now and then how many bytes have come back so far on a connection that goes on.
    fn carried(&self, _connection: &Connection, _received: u64) {}

    /// Records the end of a connection that was opened, likewise.
    fn closed(&self, connection: &Connection, closed: &Closed);
}

/// A connection could not be recorded.
#[derive(Debug, thiserror::Error)]
#[error("cannot record the connection")]
pub struct LedgerError {
    source: Box<dyn Error + Send + Sync>,
}

/// A connection that leaves a cage.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Connection {
    /// Its number, unique within a session.
    pub id: u64,
    /// The server in the cage.
    pub server: ServerName,
    /// Where it came in.
    pub door: Door,
    /// Where it was wanted to lead.
    pub target: Target,
    /// The addresses that were checked and may be tried, in this order.
    pub addresses: Vec<SocketAddr>,
}

/// The end of a connection.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Closed {
    /// The address that it was made to, if it was made.
    pub address: Option<SocketAddr>,
    /// How many bytes left the cage.
    pub sent: u64,
    /// How many bytes came back.
    pub received: u64,
    /// How long it took, from the record of its opening.
    pub duration: Duration,
    /// How it ended.
    pub ending: Ending,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ending {
    /// Both sides had said everything.
    Finished,
    /// No address answered.
    Unreachable,
    /// What the client said was refused.
    Refused,
    /// Nobody said anything for too long.
    Idle,
    /// The session or the server was over.
    Over,
    /// One side broke it off.
    Broken(io::ErrorKind),
}

/// Something that was refused.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Refused {
    /// The server in the cage.
    pub server: ServerName,
    /// Where it came in.
    pub door: Door,
    /// The host that was wanted, if that can be said.
    pub host: Option<Host>,
    /// The port that was wanted; a question for a name has none.
    pub port: Option<u16>,
    /// Why it was refused.
    pub why: Refusal,
    /// How often, since the last such record.
    pub times: u64,
}

/// A way out of a cage.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Door {
    /// The name server.
    Dns,
    /// The HTTP proxy.
    Proxy,
    /// A port to which programs connect as if it were the host itself.
    Port,
    /// None: a process of ours that is in no cage.
    Direct,
}

impl LedgerError {
    /// Makes the error of `source`.
    pub fn new(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { source: source.into() }
    }
}

impl Door {
    /// Returns the word for records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dns => "dns",
            Self::Proxy => "proxy",
            Self::Port => "port",
            Self::Direct => "direct",
        }
    }
}

impl Ending {
    /// Returns the word for records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Unreachable => "unreachable",
            Self::Refused => "refused",
            Self::Idle => "idle",
            Self::Over => "over",
            Self::Broken(_) => "broken",
        }
    }
}
