//! Makes the connections that were checked and recorded, and no others.
//!
//! Resolves nothing: the addresses are those of the check.

use std::net::SocketAddr;

use ic_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use crate::allowed::Checked;
use crate::ledger::{Connection, Door, Ledger};
use crate::limits;
use crate::refusal::Failure;

/// A connection that was recorded, and has not been made yet.
///
/// Only [`record`] makes one, and only of what was checked.
#[derive(Debug)]
#[must_use = "a connection that is dropped was recorded and not made"]
pub(crate) struct Recorded {
    connection: Connection,
}

/// Records that what was checked is about to be connected to.
pub(crate) fn record(
    checked: Checked,
    id: u64,
    server: &ServerName,
    door: Door,
    ledger: &dyn Ledger,
) -> Result<Recorded, Failure> {
    if checked.addresses().is_empty() {
        return Err(Failure::NoAddress);
    }
    let (target, addresses) = checked.into_parts();
    let connection = Connection { id, server: server.clone(), door, target, addresses };
    ledger.opened(&connection).map_err(Failure::Ledger)?;
    Ok(Recorded { connection })
}

impl Recorded {
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Connects to the first address that answers.
    ///
    /// Each gets its share of the time that is left, so that one that is silent does not use up
    /// that of the others.
    pub(crate) async fn connect(&self) -> Result<(TcpStream, SocketAddr), Failure> {
        let deadline = Instant::now() + limits::CONNECT;
        let mut last = Failure::NoAddress;
        let mut n_left = u32::try_from(self.connection.addresses.len()).unwrap_or(u32::MAX);
        for address in &self.connection.addresses {
            let share = deadline.saturating_duration_since(Instant::now()) / n_left.max(1);
            n_left = n_left.saturating_sub(1);
            match timeout(share, TcpStream::connect(*address)).await {
                Ok(Ok(stream)) => {
                    // What is relayed was buffered by whoever wrote it; a socket that refuses to
                    // hurry is only slower.
                    stream.set_nodelay(true).ok();
                    return Ok((stream, *address));
                }
                Ok(Err(error)) => last = Failure::Connect(error),
                Err(_) => last = Failure::ConnectTimeout,
            }
        }
        Err(last)
    }
}
