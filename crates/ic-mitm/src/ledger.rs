//! What is written down of requests to a provider, and where.
//!
//! The log is a port here. No body is written down, and no header: of what was said there is a digest.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ic_audit::{AuditLog, Entry, Keep, Kind};
use ic_model::{Cost, Usage};
use ic_policy::Effect;
use ic_types::{Digest, Json, Object};

use crate::refusal::Refusal;

/// Writes down what passes the gate.
pub trait Ledger: fmt::Debug + Send + Sync {
    /// Writes down a request before it is sent on; one that cannot be written down is not sent.
    fn asked(&self, asked: &Asked) -> Result<(), LedgerError>;

    /// Writes down what became of it.
    fn ended(&self, asked: &Asked, ended: &Ended);

    /// Writes down what was refused.
    fn refused(&self, refused: &Refused<'_>);

    /// Writes down something else that a person may want to know.
    fn noticed(&self, notice: &str);
}

/// A log that cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot record the request")]
pub struct LedgerError(#[source] Box<dyn Error + Send + Sync>);

/// A request that was checked.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Its number in this session.
    pub id: u64,
    /// The method.
    pub method: String,
    /// The host.
    pub host: String,
    /// The path.
    pub path: String,
    /// The model, if it is about one: `provider:model`.
    pub model: Option<String>,
    /// The size of the body that is sent on.
    pub n_bytes: u64,
    /// Its digest.
    pub digest: Digest,
    /// What was removed from it.
    pub removed: Vec<String>,
}

/// What became of a request.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The status of the answer, if there was one.
    pub status: Option<u16>,
    /// Tokens, if the request was for a completion.
    pub usage: Option<Usage>,
    /// Whether they were worked out from sizes.
    pub is_estimated: bool,
    /// What they cost.
    pub cost: Cost,
    /// The size of the answer.
    pub n_bytes: u64,
    /// How long it took.
    pub duration: Duration,
    /// Why there is no whole answer, if there is none.
    pub failed: Option<String>,
}

/// A request that was refused.
#[derive(Clone, Debug)]
pub struct Refused<'a> {
    /// The method.
    pub method: &'a str,
    /// The host.
    pub host: &'a str,
    /// The path, made harmless.
    pub path: &'a str,
    /// Why.
    pub why: &'a Refusal,
}

/// The session's own log.
pub struct AuditLedger {
    log: Arc<AuditLog>,
}

impl LedgerError {
    /// Makes the error of `source`.
    pub fn new(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(source.into())
    }
}

impl AuditLedger {
    /// Writes to `log`.
    pub fn new(log: Arc<AuditLog>) -> Self {
        Self { log }
    }
}

impl fmt::Debug for AuditLedger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditLedger").finish_non_exhaustive()
    }
}

impl Ledger for AuditLedger {
    fn asked(&self, asked: &Asked) -> Result<(), LedgerError> {
        let mut event = event("asked", asked);
        event.insert("bytes", asked.n_bytes);
        event.insert("digest", asked.digest.to_string());
        if !asked.removed.is_empty() {
            let removed = asked.removed.iter().map(|it| Json::from(it.as_str()));
            event.insert("removed", removed.collect::<Vec<_>>());
        }
        let (arguments, verdict) = (Some(event.into()), Some(Effect::Allow));
        let entry = Entry { arguments, verdict, ..Entry::new(Kind::Llm) };
        self.log.note(entry).map(drop).map_err(LedgerError::new)
    }

    fn ended(&self, asked: &Asked, ended: &Ended) {
        let mut event = event("ended", asked);
        if let Some(status) = ended.status {
            event.insert("status", u64::from(status));
        }
        if let Some(usage) = ended.usage {
            event.insert("promptTokens", usage.prompt);
            event.insert("completionTokens", usage.completion);
            event.insert("cachedTokens", usage.cached);
            event.insert("cacheWrittenTokens", usage.cache_written);
            event.insert("costBillionths", ended.cost.billionths());
            event.insert("estimated", ended.is_estimated);
        }
        if let Some(failed) = &ended.failed {
            event.insert("error", failed.as_str());
        }
        let entry = Entry {
            arguments: Some(event.into()),
            duration_ms: u64::try_from(ended.duration.as_millis()).ok(),
            result_bytes: Some(ended.n_bytes),
            ..Entry::new(Kind::Llm)
        };
        // A log that cannot be written to stops the next request.
        self.log.note(entry).ok();
    }

    fn refused(&self, refused: &Refused<'_>) {
        let mut event = Object::new();
        event.insert("event", "refused");
        event.insert("method", refused.method);
        event.insert("host", refused.host);
        event.insert("path", refused.path);
        event.insert("status", u64::from(refused.why.status().as_u16()));
        let entry = Entry {
            arguments: Some(event.into()),
            verdict: Some(Effect::Deny),
            reason: Some(Arc::from(refused.why.to_string())),
            keep: Keep::Brief,
            ..Entry::new(Kind::Llm)
        };
        // Likewise.
        self.log.note(entry).ok();
    }

    fn noticed(&self, notice: &str) {
        let mut event = Object::new();
        event.insert("event", "noticed");
        event.insert("notice", notice);
        self.log.note(Entry { arguments: Some(event.into()), ..Entry::new(Kind::Llm) }).ok();
    }
}

fn event(what: &str, asked: &Asked) -> Object {
    let mut event = Object::new();
    event.insert("event", what);
    event.insert("request", asked.id);
    event.insert("method", asked.method.as_str());
    event.insert("host", asked.host.as_str());
    event.insert("path", asked.path.as_str());
    if let Some(model) = &asked.model {
        event.insert("model", model.as_str());
    }
    event
}
