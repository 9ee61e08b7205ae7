//! What is written down of packages: each name and version, before it is asked for, and what came of it.
//!
//! The log is a port here, as it is for the model gate.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ic_audit::{AuditLog, Entry, Keep, Kind};
use ic_home::config::Registry;
use ic_policy::Effect;
use ic_types::Object;

use super::NotPassed;
use super::door::SERVER;
use crate::ledger::LedgerError;

/// Writes down what passes the door.
pub trait PackageLedger: fmt::Debug + Send + Sync {
    /// Writes down a request before it is sent on; one that cannot be written down is not sent.
    fn asked(&self, asked: &AskedPackage) -> Result<(), LedgerError>;

    /// Writes down what became of it.
    fn ended(&self, asked: &AskedPackage, ended: &PackageEnded);

    /// Writes down what was refused.
    fn refused(&self, method: &str, host: &str, path: &str, why: &NotPassed);
}

/// A request for a package.
#[derive(Clone, Debug)]
pub struct AskedPackage {
    /// Its number in this session.
    pub id: u64,
    /// The registry.
    pub registry: Registry,
    /// The host.
    pub host: &'static str,
    /// The path that is sent.
    pub path: String,
    /// The package; none for what a registry says of itself.
    pub package: Option<String>,
    /// The version, if it is about one.
    pub version: Option<String>,
}

/// What became of a request.
#[derive(Clone, Debug)]
pub struct PackageEnded {
    /// The status of the answer, if there was one.
    pub status: Option<u16>,
    /// The size of the answer.
    pub n_bytes: u64,
    /// How long it took.
    pub duration: Duration,
    /// Why there is no whole answer, if there is none.
    pub failed: Option<String>,
}

/// The session's own log.
pub struct AuditPackages {
    log: Arc<AuditLog>,
}

impl AuditPackages {
    /// Writes to `log`.
    pub fn new(log: Arc<AuditLog>) -> Self {
        Self { log }
    }
}

impl fmt::Debug for AuditPackages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditPackages").finish_non_exhaustive()
    }
}

impl PackageLedger for AuditPackages {
    fn asked(&self, asked: &AskedPackage) -> Result<(), LedgerError> {
        let event = event("package", asked);
        let (arguments, verdict) = (Some(event.into()), Some(Effect::Allow));
        let entry = Entry { arguments, verdict, ..entry_of_door() };
        self.log.note(entry).map(drop).map_err(LedgerError::new)
    }

    fn ended(&self, asked: &AskedPackage, ended: &PackageEnded) {
        let mut event = event("packageEnded", asked);
        if let Some(status) = ended.status {
            event.insert("status", u64::from(status));
        }
        if let Some(failed) = &ended.failed {
            event.insert("error", failed.as_str());
        }
        let entry = Entry {
            arguments: Some(event.into()),
            duration_ms: u64::try_from(ended.duration.as_millis()).ok(),
            result_bytes: Some(ended.n_bytes),
            ..entry_of_door()
        };
        // A log that cannot be written to stops the next request.
        self.log.note(entry).ok();
    }

    fn refused(&self, method: &str, host: &str, path: &str, why: &NotPassed) {
        let mut event = Object::new();
        event.insert("event", "packageRefused");
        event.insert("method", method);
        event.insert("host", host);
        event.insert("path", path);
        let entry = Entry {
            arguments: Some(event.into()),
            verdict: Some(Effect::Deny),
            reason: Some(Arc::from(why.to_string())),
            keep: Keep::Brief,
            ..entry_of_door()
        };
        // Likewise.
        self.log.note(entry).ok();
    }
}

/// Returns a record of the door, under the name that its connections have.
fn entry_of_door() -> Entry {
    Entry { server: SERVER.parse().ok(), ..Entry::new(Kind::Egress) }
}

fn event(what: &str, asked: &AskedPackage) -> Object {
    let mut event = Object::new();
    event.insert("event", what);
    event.insert("request", asked.id);
    event.insert("registry", asked.registry.as_str());
    event.insert("host", asked.host);
    event.insert("path", asked.path.as_str());
    if let Some(package) = &asked.package {
        event.insert("package", package.as_str());
    }
    if let Some(version) = &asked.version {
        event.insert("version", version.as_str());
    }
    event
}
