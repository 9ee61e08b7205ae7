//! `response-<id>.json`: an answer as it travels from a person to the session that asked.
//!
//! Read strictly: an approval that is not exactly one is a denial, and is said to be one. Whether the
//! question has changed meanwhile is for the policy to find out, when the escalation is settled.

use std::ffi::OsStr;
use std::str::FromStr;

use ic_home::FileError;
use ic_policy::{DecidedBy, Decision};
use ic_types::{Digest, EscalationId, Json, JsonLimits, Object, Role, Timestamp};

use crate::document::{DocumentFault, Fields};
use crate::offer::{NotOffered, WrittenGrant, WrittenScope};
use crate::scope::ScopeKind;

/// The largest answer that is read.
pub const RESPONSE_BYTES_MAX: usize = 1 << 20;
const LIMITS: JsonLimits =
    JsonLimits { bytes_max: RESPONSE_BYTES_MAX, depth_max: 8, values_max: 10_000 };

const PREFIX: &str = "response-";
const SUFFIX: &str = ".json";

/// An answer as it was written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Response {
    pub(crate) decision: Decision,
    pub(crate) digest: Digest,
    pub(crate) decided_by: DecidedBy,
    pub(crate) decided_at: Timestamp,
    pub(crate) grant: Option<WrittenGrant>,
}

/// Why an answer is none; then the call is denied.
///
/// Exhaustive: whoever reports it has to have words for each.
#[derive(Debug, thiserror::Error)]
pub enum ResponseFault {
    /// The file cannot be read, or is none that we read.
    #[error("the response cannot be used")]
    File(#[source] FileError),
    /// The file is no answer.
    #[error("the response is malformed: {0}")]
    Document(DocumentFault),
    /// It approves something else.
    #[error("the response approves another request")]
    OtherQuestion,
    /// The question on disk is not the one that was asked.
    #[error("the request was changed after it was made")]
    RequestChanged,
    /// It grants what was not offered.
    #[error("the response grants what was not offered: {0}")]
    Grant(NotOffered),
}

/// What the session itself puts in the place of an answer, so that none is accepted after it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Seal {
    /// Nobody answered in time.
    Expired,
    /// Nobody wants the answer any more.
    Withdrawn,
    /// What stood there was no answer to what was asked; the call is denied.
    Refused,
}

/// What is in a response file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Written {
    Response(Response),
    Seal(Seal),
}

impl Response {
    /// Reads an answer.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, DocumentFault> {
        let mut fields = Fields::parse(bytes, LIMITS)?;
        let decision = fields.parsed::<WrittenDecision>("decision", "`approved` or `denied`")?;
        let by = "`repl`, `pty`, `listener`, `cli`, `grant` or `auto`";
        let response = Self {
            decision: decision.0,
            digest: fields.parsed("digest", "a digest")?,
            decided_by: fields.parsed::<WrittenDecidedBy>("decidedBy", by)?.0,
            decided_at: fields.parsed("decidedAt", "a time")?,
            grant: fields.take_optional("grant").map(parse_grant).transpose()?,
        };
        fields.finish()?;
        if response.decision == Decision::Denied && response.grant.is_some() {
            return Err(DocumentFault::Wrong { key: "grant", expected: "part of a denial" });
        }
        Ok(response)
    }

    /// Returns the answer as it stands in its file.
    pub(crate) fn to_json(&self) -> Json {
        let mut object = Object::new();
        let decision = match self.decision {
            Decision::Approved => "approved",
            Decision::Denied => "denied",
        };
        object.insert("decision", decision);
        object.insert("digest", self.digest.to_string());
        object.insert("decidedBy", self.decided_by.to_string());
        object.insert("decidedAt", self.decided_at.to_string());
        if let Some(grant) = &self.grant {
            object.insert("grant", grant.to_json());
        }
        Json::Object(object)
    }
}

impl Written {
    /// Reads what stands where an answer does.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, DocumentFault> {
        let seals = [Seal::Expired, Seal::Withdrawn, Seal::Refused];
        let seal = seals.into_iter().find(|it| it.to_bytes() == bytes);
        match seal {
            Some(seal) => Ok(Self::Seal(seal)),
            None => Response::parse(bytes).map(Self::Response),
        }
    }
}

impl Seal {
    /// Returns what stands in the file; to a session that waits it is no answer.
    pub(crate) fn to_bytes(self) -> &'static [u8] {
        match self {
            Self::Expired => br#"{"decision":"expired"}"#,
            Self::Withdrawn => br#"{"decision":"withdrawn"}"#,
            Self::Refused => br#"{"decision":"refused"}"#,
        }
    }
}

/// Returns the name of an answer's file.
pub(crate) fn name(escalation: &EscalationId) -> String {
    format!("{PREFIX}{escalation}{SUFFIX}")
}

/// Returns the question that the file called `name` answers.
pub(crate) fn id(name: &OsStr) -> Option<EscalationId> {
    name.to_str()?.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.parse().ok()
}

fn parse_grant(json: Json) -> Result<WrittenGrant, DocumentFault> {
    let wrong = |key, expected| DocumentFault::Wrong { key, expected };
    let mut fields = Fields::of(json).ok_or(wrong("grant", "an object"))?;
    let mut roles = Vec::new();
    for (role, scope) in fields.object("roles")?.into_entries() {
        let role: Role = role.parse().map_err(|_| wrong("roles", "scopes by role"))?;
        let mut scope = Fields::of(scope).ok_or(wrong("roles", "scopes by role"))?;
        let kind: ScopeKind = scope.parsed("kind", "a kind of scope")?;
        let values = scope.texts("values")?;
        scope.finish()?;
        roles.push(WrittenScope { role, kind, values });
    }
    let expires_at = fields.parsed("expiresAt", "a time")?;
    let count = match fields.take_optional("count") {
        None => None,
        Some(count) => {
            let count = crate::document::whole(&count);
            Some(count.ok_or(wrong("count", "a whole number"))?)
        }
    };
    fields.finish()?;
    Ok(WrittenGrant { roles, expires_at, count })
}

struct WrittenDecision(Decision);

impl FromStr for WrittenDecision {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "approved" => Ok(Self(Decision::Approved)),
            "denied" => Ok(Self(Decision::Denied)),
            _ => Err(()),
        }
    }
}

struct WrittenDecidedBy(DecidedBy);

impl FromStr for WrittenDecidedBy {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "repl" => Ok(Self(DecidedBy::Repl)),
            "pty" => Ok(Self(DecidedBy::Pty)),
            "listener" => Ok(Self(DecidedBy::Listener)),
            "cli" => Ok(Self(DecidedBy::Cli)),
            "grant" => Ok(Self(DecidedBy::Grant)),
            "auto" => Ok(Self(DecidedBy::Auto)),
            _ => Err(()),
        }
    }
}
