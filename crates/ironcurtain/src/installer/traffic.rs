//! What leaves the cage of an installer: counted, for whoever waits, and what was refused, for the error.
//!
//! No session has a log for it: a person asked for the installation, and is told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use ic_egress::{Closed, Connection, Ledger, LedgerError, Refused};
use ic_types::locked;

/// The most refused hosts that are named.
const REFUSED_MAX: usize = 8;

/// The connections of one installer.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    connections: AtomicU64,
    /// How much came back, by connection.
    received: Mutex<BTreeMap<u64, u64>>,
    refused: Mutex<BTreeSet<String>>,
}

impl Traffic {
    /// Says how much was fetched.
    pub(super) fn told(&self) -> String {
        let received: u64 = locked(&self.received).values().sum();
        match self.connections.load(Ordering::Relaxed) {
            0 => "no connection yet".to_owned(),
            1 => format!("1 connection, {} KiB received", received / 1024),
            n => format!("{n} connections, {} KiB received", received / 1024),
        }
    }

    /// Says what was refused, a line each.
    pub(super) fn refused(&self) -> Vec<String> {
        locked(&self.refused).iter().cloned().collect()
    }
}

impl Ledger for Traffic {
    fn opened(&self, _: &Connection) -> Result<(), LedgerError> {
        self.connections.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn refused(&self, refused: &Refused) {
        let Some(host) = &refused.host else { return };
        let port = refused.port.map(|port| format!(":{port}")).unwrap_or_default();
        let mut all = locked(&self.refused);
        if all.len() < REFUSED_MAX {
            all.insert(format!("not connected to {host}{port}, which is not the package index"));
        }
    }

    fn carried(&self, connection: &Connection, received: u64) {
        locked(&self.received).insert(connection.id, received);
    }

    fn closed(&self, connection: &Connection, closed: &Closed) {
        locked(&self.received).insert(connection.id, closed.received);
    }
}
