//! What one record says, and its canonical text in the parts between which the chain stands.
//!
//! A record's keys are sorted, so `hash`, `prevHash` and `seq` have fixed places among them. The rest
//! is written beforehand by whoever records, and the chain only fills those three in: canonical JSON
//! is made once.

use std::fmt::Write as _;
use std::sync::Arc;

use ic_policy::{DecidedBy, Effect};
use ic_types::{Digest, Json, ServerName, SessionId, Timestamp, ToolName};

use crate::brief::shortened;
use crate::redact::Redactor;

/// What a record is about.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Kind {
    /// A call, and what was decided about it.
    Intent,
    /// What became of a call.
    Outcome,
    /// A question to a person, or its answer.
    Escalation,
    /// A grant that was given, used or revoked.
    Grant,
    /// The beginning or end of a session, or something about the log itself.
    Session,
    /// A connection that left a cage.
    Egress,
    /// A request to a model.
    Llm,
}

/// What a record says of a call whose tool reported an error, if there is nothing else to say.
pub const REPORTED_ERROR: &str = "the tool reported an error";

/// How much of what an agent sent is kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Keep {
    /// All of it.
    All,
    /// As much as tells what was tried, for a call that went nowhere: whoever is refused must not fill
    /// the disk.
    Brief,
}

/// One record, before it is redacted and chained; what is absent is left out.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What the record is about.
    pub kind: Kind,
    /// The call that the record belongs to.
    pub request_id: Option<String>,
    /// The server that was asked.
    pub server: Option<ServerName>,
    /// The tool on that server.
    pub tool: Option<ToolName>,
    /// The arguments, or what else there is to say.
    pub arguments: Option<Json>,
    /// The resolved values of a call.
    pub resolved: Option<Json>,
    /// What decides about a call besides its arguments and values.
    pub behind: Option<Json>,
    /// What was decided.
    pub verdict: Option<Effect>,
    /// The rule that decided.
    pub rule: Option<Arc<str>>,
    /// Why.
    pub reason: Option<Arc<str>>,
    /// The policy that was in force.
    pub policy_hash: Option<Digest>,
    /// Who decided.
    pub decided_by: Option<DecidedBy>,
    /// How long the call took.
    pub duration_ms: Option<u64>,
    /// The digest of the result.
    pub result_digest: Option<Digest>,
    /// The size of the result.
    pub result_bytes: Option<u64>,
    /// How the server was confined.
    pub confined: Option<String>,
    /// How much is kept of the arguments and of the resolved values.
    pub keep: Keep,
}

/// A record's canonical text without `hash`, `prevHash` and `seq`.
///
/// Each part is empty or ends in a comma, but for the last, which ends the object.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Body {
    pub(crate) before_hash: String,
    pub(crate) before_prev: String,
    pub(crate) before_seq: String,
    pub(crate) rest: String,
}

/// What a part of an ordinary record takes, so that it need not grow while it is written.
const PART_CAPACITY: usize = 256;

impl Body {
    fn with_capacity(part: usize) -> Self {
        let new = || String::with_capacity(part);
        Self { before_hash: new(), before_prev: new(), before_seq: new(), rest: new() }
    }

    /// Returns how long all parts are together.
    pub(crate) fn len(&self) -> usize {
        self.before_hash.len() + self.before_prev.len() + self.before_seq.len() + self.rest.len()
    }
}

// === impl Kind ===

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Intent,
        Self::Outcome,
        Self::Escalation,
        Self::Grant,
        Self::Session,
        Self::Egress,
        Self::Llm,
    ];

    /// Returns the word that the log uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Intent => "intent",
            Self::Outcome => "outcome",
            Self::Escalation => "escalation",
            Self::Grant => "grant",
            Self::Session => "session",
            Self::Egress => "egress",
            Self::Llm => "llm",
        }
    }
}

// === impl Entry ===

impl Entry {
    /// Makes a record that says nothing yet.
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            request_id: None,
            server: None,
            tool: None,
            arguments: None,
            resolved: None,
            behind: None,
            verdict: None,
            rule: None,
            reason: None,
            policy_hash: None,
            decided_by: None,
            duration_ms: None,
            result_digest: None,
            result_bytes: None,
            confined: None,
            keep: Keep::All,
        }
    }

    /// Redacts the record and writes it in parts.
    pub(crate) fn into_body(self, session: &SessionId, at: Timestamp, redactor: &Redactor) -> Body {
        let mut is_shortened = false;
        let mut written = |value: Option<Json>| {
            let (value, was_redacted) = redactor.json_owned(value?);
            // SECURITY: only now, since half a secret is not recognised.
            let value = match self.keep {
                Keep::All => value,
                Keep::Brief => match shortened(&value) {
                    None => value,
                    Some(brief) => {
                        is_shortened = true;
                        brief
                    }
                },
            };
            Some((value, was_redacted))
        };
        let (arguments, resolved) = (written(self.arguments), written(self.resolved));
        let is_any_hidden = arguments.as_ref().is_some_and(|(_, was_redacted)| *was_redacted);
        // SECURITY: it repeats values of arguments without the names by which secrets are known.
        let is_left_out = is_any_hidden && self.behind.is_some();
        let behind = written(self.behind.filter(|_| !is_any_hidden));
        let is_hidden_behind =
            is_left_out || behind.as_ref().is_some_and(|(_, was_redacted)| *was_redacted);
        // A call of which something was hidden or left out cannot be judged again from the log.
        let replayable = match (&resolved, is_shortened) {
            (_, true) => Some(false),
            (Some((_, was_redacted)), false) => Some(!was_redacted && !is_hidden_behind),
            (None, false) => None,
        };

        let mut body = Body::with_capacity(PART_CAPACITY);
        let part = &mut body.before_hash;
        json(part, "arguments", arguments);
        json(part, "behind", behind);
        text(part, "confined", self.confined.as_deref(), redactor);
        display(part, "decidedBy", self.decided_by);
        field(part, "durationMs", self.duration_ms);

        let part = &mut body.before_prev;
        display(part, "kind", Some(self.kind.as_str()));
        display(part, "policyHash", self.policy_hash);

        let part = &mut body.before_seq;
        text(part, "reason", self.reason.as_deref(), redactor);
        field(part, "replayable", replayable);
        text(part, "requestId", self.request_id.as_deref(), redactor);
        json(part, "resolved", resolved);
        field(part, "resultBytes", self.result_bytes);
        display(part, "resultDigest", self.result_digest);
        text(part, "rule", self.rule.as_deref(), redactor);

        let part = &mut body.rest;
        display(part, "server", self.server);
        display(part, "sessionId", Some(session));
        display(part, "timestamp", Some(at));
        display(part, "tool", self.tool);
        display(part, "verdict", self.verdict);
        part.pop();
        body
    }
}

/// Writes a field whose value needs no quotes.
fn field(out: &mut String, name: &str, value: Option<impl std::fmt::Display>) {
    if let Some(value) = value {
        // Writing to a string cannot fail.
        write!(out, "\"{name}\":{value},").ok();
    }
}

/// Writes a field of text of our own making, which needs quotes but no escapes.
fn display(out: &mut String, name: &str, value: Option<impl std::fmt::Display>) {
    if let Some(value) = value {
        write!(out, "\"{name}\":\"{value}\",").ok();
    }
}

/// Writes a field of any text, without the secrets in it.
fn text(out: &mut String, name: &str, value: Option<&str>, redactor: &Redactor) {
    if let Some(value) = value {
        write!(out, "\"{name}\":").ok();
        Json::write_text(out, &redactor.text(value));
        out.push(',');
    }
}

/// Writes a field of JSON that has been redacted.
fn json(out: &mut String, name: &str, value: Option<(Json, bool)>) {
    if let Some((value, _)) = value {
        write!(out, "\"{name}\":").ok();
        value.write_canonical(out);
        out.push(',');
    }
}
