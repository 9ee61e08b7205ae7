//! `request-<id>.json`: a question as it is put to a person.
//!
//! Written by the session that asks and read where it is answered, where nothing in it is taken on trust:
//! an answer is about the bytes that were shown. Who answers, and how, is not known here.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use ic_home::FileError;
use ic_home::file::{self, Stamp};
use ic_policy::{Cause, Escalation, Ticket};
use ic_types::{
    Digest, EscalationId, Json, JsonLimits, Object, Role, ServerName, SessionId, Timestamp,
    ToolName,
};

use crate::document::{DocumentFault, Fields, list, whole};
use crate::offer::Grantable;

/// The largest question that is asked; nobody could look at more.
pub const REQUEST_BYTES_MAX: usize = 32 << 20;
/// What reading one may cost.
const LIMITS: JsonLimits =
    JsonLimits { bytes_max: REQUEST_BYTES_MAX, depth_max: 72, values_max: 500_000 };

const PREFIX: &str = "request-";
const SUFFIX: &str = ".json";

/// A question.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The question's id.
    pub escalation: EscalationId,
    /// The session that asks.
    pub session: SessionId,
    /// The server that the call is for.
    pub server: ServerName,
    /// The tool on that server.
    pub tool: ToolName,
    /// The arguments as they will be sent.
    pub arguments: Object,
    /// Why a person is asked; the first of the reasons, if there are several.
    pub reason: String,
    /// The rule or invariant that asks; the first of them, if there are several.
    pub rule: String,
    /// Everything that asks, the first one included.
    pub causes: Vec<AskedCause>,
    /// The roles that a person has to decide about.
    pub escalated_roles: Vec<Role>,
    /// What the arguments were resolved to, role by role.
    pub resolved: Object,
    /// What an approval has to carry.
    pub digest: Digest,
    /// When it was asked.
    pub created_at: Timestamp,
    /// When an answer comes too late.
    pub expires_at: Timestamp,
    /// What the server is called among those that are part of this program, if it is one of them.
    pub builtin: Option<String>,
    /// What the client calls itself that would be asked, if the server itself asks.
    pub client: Option<String>,
    /// The commits and files that a push would send, line by line, if it is one.
    pub sends: Vec<String>,
    /// What may be granted, as far as the request does not say it already; `None` if nothing may.
    pub grantable: Option<Grantable>,
    /// The number by which people name it, the same wherever they see it; it decides nothing.
    pub number: Option<u64>,
    /// The policy that the session was started with by name or directory; `None` if it took the one in
    /// force. Additions to the policy go there; it decides nothing.
    pub policy: Option<String>,
}

/// One thing that asks for a person, with the roles that it is about.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct AskedCause {
    /// The rule or invariant.
    pub rule: String,
    /// Why it asks.
    pub reason: String,
    /// The roles that it is about; none if it is about the call as a whole.
    pub roles: Vec<Role>,
}

/// A question as it was found, with the digest of its very bytes.
#[derive(Clone, Debug)]
pub(crate) struct FoundRequest {
    pub(crate) request: Request,
    pub(crate) bytes_digest: Digest,
}

/// A question that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file is not a question.
    #[error("`{}` is not a valid approval request: {fault}", .path.display())]
    Document {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        fault: DocumentFault,
    },
}

impl Request {
    /// Makes the question of an escalation.
    pub fn of(escalation: &Escalation, ticket: &Ticket, now: Timestamp) -> Self {
        let call = escalation.call();
        let resolved = match call.resolved_json() {
            Json::Object(resolved) => resolved,
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
                Object::new()
            }
        };
        Self {
            escalation: ticket.escalation.clone(),
            session: ticket.session.clone(),
            server: call.server().clone(),
            tool: call.tool().clone(),
            arguments: call.sent().clone(),
            reason: escalation.reason().to_owned(),
            rule: escalation.rule().to_owned(),
            causes: causes(escalation),
            escalated_roles: escalation.roles().to_vec(),
            resolved,
            digest: escalation.digest(ticket),
            created_at: now,
            expires_at: ticket.deadline,
            builtin: None,
            client: None,
            sends: Vec::new(),
            grantable: None,
            number: None,
            policy: None,
        }
    }

    /// Returns everything that asks besides the rule that the question names first.
    pub fn further_causes(&self) -> impl Iterator<Item = &AskedCause> {
        self.causes.iter().filter(|it| (&it.rule, &it.reason) != (&self.rule, &self.reason))
    }

    /// Reads a question; `escalation` and `session` are those whose file it is.
    pub fn parse(
        bytes: &[u8],
        escalation: &EscalationId,
        session: &SessionId,
    ) -> Result<Self, DocumentFault> {
        let mut fields = Fields::parse(bytes, LIMITS)?;
        let request =
            Self {
                escalation: fields.parsed("escalationId", "an escalation's id")?,
                session: fields.parsed("sessionId", "a session's id")?,
                server: fields.parsed("serverName", "a server's name")?,
                tool: fields.parsed("toolName", "a tool's name")?,
                arguments: fields.object("arguments")?,
                reason: fields.text("reason")?,
                rule: fields.text("rule")?,
                causes: parse_causes(fields.take("causes")?)?,
                escalated_roles: roles(&mut fields, "escalatedRoles")?,
                resolved: fields.object("resolved")?,
                digest: fields.parsed("digest", "a digest")?,
                created_at: fields.parsed("createdAt", "a time")?,
                expires_at: fields.parsed("expiresAt", "a time")?,
                builtin: name_of(&mut fields, "builtin")?,
                client: name_of(&mut fields, "client")?,
                sends: match fields.take_optional("sends") {
                    None => Vec::new(),
                    Some(sends) => texts("sends", sends)?,
                },
                grantable: grantable(&mut fields)?,
                number: match fields.take_optional("number") {
                    None => None,
                    Some(number) => Some(whole(&number).ok_or(DocumentFault::Wrong {
                        key: "number",
                        expected: "a whole number",
                    })?),
                },
                policy: name_of(&mut fields, "policy")?,
            };
        fields.finish()?;
        // SECURITY: a copy of another question under this name would be answered as this one.
        if request.escalation != *escalation {
            return Err(DocumentFault::Wrong { key: "escalationId", expected: "that of its file" });
        }
        if request.session != *session {
            return Err(DocumentFault::Wrong { key: "sessionId", expected: "that of its session" });
        }
        Ok(request)
    }

    /// Returns the question as it stands in its file.
    pub fn to_json(&self) -> Json {
        let mut object = Object::new();
        object.insert("escalationId", self.escalation.as_str());
        object.insert("sessionId", self.session.as_str());
        object.insert("serverName", self.server.as_str());
        object.insert("toolName", self.tool.as_str());
        object.insert("arguments", self.arguments.clone());
        object.insert("reason", self.reason.as_str());
        object.insert("rule", self.rule.as_str());
        object.insert("causes", self.causes_json());
        object.insert("escalatedRoles", list(self.escalated_roles.iter().map(|it| it.as_str())));
        object.insert("resolved", self.resolved.clone());
        object.insert("digest", self.digest.to_string());
        object.insert("createdAt", self.created_at.to_string());
        object.insert("expiresAt", self.expires_at.to_string());
        if let Some(builtin) = &self.builtin {
            object.insert("builtin", builtin.as_str());
        }
        if let Some(client) = &self.client {
            object.insert("client", client.as_str());
        }
        if !self.sends.is_empty() {
            object.insert("sends", list(self.sends.iter().map(String::as_str)));
        }
        if let Some(Grantable { only, exact }) = &self.grantable {
            let mut grantable = Object::new();
            grantable.insert("only", list(only.iter().map(String::as_str)));
            grantable.insert("exact", list(exact.iter().map(|it| it.as_str())));
            object.insert("grantable", grantable);
        }
        if let Some(number) = self.number {
            object.insert("number", number);
        }
        if let Some(policy) = &self.policy {
            object.insert("policy", policy.as_str());
        }
        Json::Object(object)
    }

    /// Returns everything that asks, as it stands in the file.
    pub(crate) fn causes_json(&self) -> Json {
        let cause = |AskedCause { rule, reason, roles }: &AskedCause| {
            let mut object = Object::new();
            object.insert("rule", rule.as_str());
            object.insert("reason", reason.as_str());
            object.insert("roles", list(roles.iter().map(|it| it.as_str())));
            Json::Object(object)
        };
        Json::Array(self.causes.iter().map(cause).collect())
    }
}

/// Gathers what asks: the roles about which a rule asks for one reason stand together.
fn causes(escalation: &Escalation) -> Vec<AskedCause> {
    let mut causes: Vec<AskedCause> = Vec::new();
    // There may be one for each of very many values.
    let mut places: HashMap<(&str, &str, bool), usize> = HashMap::new();
    for Cause { rule, reason, role, structural: _, by: _ } in escalation.causes() {
        let at = *places.entry((rule, reason, role.is_none())).or_insert(causes.len());
        match (causes.get_mut(at), role) {
            (Some(cause), Some(role)) if !cause.roles.contains(role) => cause.roles.push(*role),
            (Some(_), _) => {}
            (None, _) => causes.push(AskedCause {
                rule: rule.to_string(),
                reason: reason.to_string(),
                roles: role.iter().copied().collect(),
            }),
        }
    }
    causes
}

fn parse_causes(json: Json) -> Result<Vec<AskedCause>, DocumentFault> {
    let wrong = || DocumentFault::Wrong { key: "causes", expected: "a list of causes" };
    let Json::Array(causes) = json else { return Err(wrong()) };
    let cause = |json: Json| {
        let mut fields = Fields::of(json).ok_or_else(wrong)?;
        let cause = AskedCause {
            rule: fields.text("rule")?,
            reason: fields.text("reason")?,
            roles: roles(&mut fields, "roles")?,
        };
        fields.finish()?;
        Ok(cause)
    };
    causes.into_iter().map(cause).collect()
}

fn name_of(fields: &mut Fields, key: &'static str) -> Result<Option<String>, DocumentFault> {
    match fields.take_optional(key) {
        None => Ok(None),
        Some(Json::String(name)) => Ok(Some(name)),
        Some(_) => Err(DocumentFault::Wrong { key, expected: "a text" }),
    }
}

fn texts(key: &'static str, json: Json) -> Result<Vec<String>, DocumentFault> {
    let wrong = DocumentFault::Wrong { key, expected: "a list of texts" };
    let Json::Array(items) = json else { return Err(wrong) };
    let texts = items.into_iter().map(|item| item.as_str().map(str::to_owned));
    texts.collect::<Option<_>>().ok_or(wrong)
}

fn grantable(fields: &mut Fields) -> Result<Option<Grantable>, DocumentFault> {
    let Some(json) = fields.take_optional("grantable") else { return Ok(None) };
    let wrong = DocumentFault::Wrong { key: "grantable", expected: "what may be granted" };
    let mut fields = Fields::of(json).ok_or(wrong)?;
    let (only, exact) = (fields.texts("only")?, roles(&mut fields, "exact")?);
    fields.finish()?;
    Ok(Some(Grantable { only, exact }))
}

fn roles(fields: &mut Fields, key: &'static str) -> Result<Vec<Role>, DocumentFault> {
    let wrong = DocumentFault::Wrong { key, expected: "a list of roles" };
    let texts = fields.texts(key)?;
    texts.iter().map(|text| text.parse()).collect::<Result<_, _>>().map_err(|_| wrong)
}

/// Returns what tells one version of the question's file from another; `None` if it is not there.
pub(crate) fn stamp(
    directory: &Path,
    escalation: &EscalationId,
) -> Result<Option<Stamp>, FileError> {
    file::stamp(path(directory, escalation))
}

/// Returns where the question's file is.
pub(crate) fn path(directory: &Path, escalation: &EscalationId) -> PathBuf {
    directory.join(name(escalation))
}

/// Returns the name of a question's file.
pub(crate) fn name(escalation: &EscalationId) -> String {
    format!("{PREFIX}{escalation}{SUFFIX}")
}

/// Returns the question whose file is called `name`.
pub(crate) fn id(name: &OsStr) -> Option<EscalationId> {
    name.to_str()?.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.parse().ok()
}

/// Reads the question `escalation` of `session` in `directory`; `None` if it is not there.
pub(crate) fn find(
    directory: &Path,
    escalation: &EscalationId,
    session: &SessionId,
) -> Result<Option<FoundRequest>, RequestError> {
    let path = path(directory, escalation);
    let Some(bytes) = file::read_own(&path, REQUEST_BYTES_MAX as u64)? else { return Ok(None) };
    match Request::parse(&bytes, escalation, session) {
        Ok(request) => Ok(Some(FoundRequest { request, bytes_digest: Digest::of(&bytes) })),
        Err(fault) => Err(RequestError::Document { path, fault }),
    }
}

/// Reads the question `escalation` of `session` in `directory`; `None` if it does not wait any more.
pub fn read(
    directory: &Path,
    escalation: &EscalationId,
    session: &SessionId,
) -> Result<Option<Request>, RequestError> {
    Ok(find(directory, escalation, session)?.map(|found| found.request))
}

/// Returns the digest of the bytes of a question's file; `None` if it is not there.
pub(crate) fn bytes_digest(
    directory: &Path,
    escalation: &EscalationId,
) -> Result<Option<Digest>, FileError> {
    let bytes = file::read_own(path(directory, escalation), REQUEST_BYTES_MAX as u64)?;
    Ok(bytes.as_deref().map(Digest::of))
}
