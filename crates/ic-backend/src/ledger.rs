//! Connections that leave a cage, written down in the session's log.
//!
//! What may leave is decided in `ic_egress`, which makes a connection only after it was recorded.

use std::sync::Arc;

use ic_audit::{AuditLog, Entry, Kind};
use ic_egress::{Closed, Connection, Ledger, LedgerError, Refused};
use ic_policy::Effect;
use ic_types::{Json, Object};

/// The session's log, as egress sees it.
pub struct LogLedger {
    log: Arc<AuditLog>,
}

impl LogLedger {
    /// Writes to `log`.
    pub fn new(log: Arc<AuditLog>) -> Self {
        Self { log }
    }
}

impl std::fmt::Debug for LogLedger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogLedger").finish_non_exhaustive()
    }
}

impl Ledger for LogLedger {
    fn opened(&self, connection: &Connection) -> Result<(), LedgerError> {
        let Connection { id, server, door, target, addresses } = connection;
        let mut event = Object::new();
        event.insert("event", "opened");
        event.insert("connection", *id);
        event.insert("door", door.as_str());
        event.insert("host", target.host().to_string());
        event.insert("port", u64::from(target.port()));
        let addresses = addresses.iter().map(|address| Json::from(address.to_string()));
        event.insert("addresses", addresses.collect::<Vec<_>>());
        let entry = Entry {
            server: Some(server.clone()),
            arguments: Some(Json::Object(event)),
            verdict: Some(Effect::Allow),
            ..Entry::new(Kind::Egress)
        };
        self.log.note(entry).map(drop).map_err(LedgerError::new)
    }

    fn refused(&self, refused: &Refused) {
        let Refused { server, door, host, port, why, times } = refused;
        let mut event = Object::new();
        event.insert("event", "refused");
        event.insert("door", door.as_str());
        if let Some(host) = host {
            event.insert("host", host.to_string());
        }
        if let Some(port) = port {
            event.insert("port", u64::from(*port));
        }
        event.insert("times", *times);
        let entry = Entry {
            server: Some(server.clone()),
            arguments: Some(Json::Object(event)),
            verdict: Some(Effect::Deny),
            reason: Some(Arc::from(why.to_string())),
            ..Entry::new(Kind::Egress)
        };
        // A log that cannot be written to stops the next connection, and every call.
        self.log.note(entry).ok();
    }

    fn closed(&self, connection: &Connection, closed: &Closed) {
        let Closed { address, sent, received, duration, ending } = closed;
        let mut event = Object::new();
        event.insert("event", "closed");
        event.insert("connection", connection.id);
        if let Some(address) = address {
            event.insert("address", address.to_string());
        }
        event.insert("sentBytes", *sent);
        event.insert("receivedBytes", *received);
        event.insert("ending", ending.as_str());
        let entry = Entry {
            server: Some(connection.server.clone()),
            arguments: Some(Json::Object(event)),
            duration_ms: u64::try_from(duration.as_millis()).ok(),
            ..Entry::new(Kind::Egress)
        };
        // Likewise.
        self.log.note(entry).ok();
    }
}
