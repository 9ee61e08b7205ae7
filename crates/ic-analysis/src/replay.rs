//! Recorded calls, judged by another policy.
//!
//! A record has all that decided about its call, so nothing of the machine of that day is needed. Where a
//! record lacks something, or where another policy would have made us look at more of the disk, the answer is
//! *unknown*; it is never taken for allowed.

mod tally;

use ic_policy::{
    Annotation, ArgumentAnnotation, Effect, Pointer, RecordedCall, ResolvedCall, decisive, explain,
};
use ic_types::{Category, Json, Object, Role, ServerName, ToolCall, ToolName};

use crate::imagined;
use crate::side::Outcome;
use crate::space::Subject;

pub use tally::{Group, Tally};

/// What begins a text that was hidden.
const REDACTED: &str = "<redacted:";

/// A record of a call, as far as it is about a decision.
#[derive(Clone, Debug)]
pub struct Intent {
    /// The call that the record belongs to.
    pub request: String,
    /// The server.
    pub server: ServerName,
    /// The tool.
    pub tool: ToolName,
    /// The arguments, without what was hidden.
    pub arguments: Object,
    /// What the policy decided; a call that someone approved was one to ask about.
    pub verdict: Effect,
    /// Whether the policy alone decided, or someone answered.
    pub is_by_policy: bool,
    /// The rule that decided, or that asked.
    pub rule: String,
    /// The policy that decided.
    pub policy_hash: String,
    /// When.
    pub timestamp: String,
    resolved: Option<Object>,
    behind: Option<Object>,
    is_complete: bool,
}

/// What another policy says of a recorded call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Answer {
    /// This.
    Decided(Outcome),
    /// It cannot be said.
    Unknown(Unknown),
}

/// Why something cannot be said.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Unknown {
    /// Secrets were hidden in what decides, or much was cut.
    Hidden,
    /// The record is of a version that did not keep all that decides.
    Old,
    /// The policy gives the arguments other roles than they had.
    OtherRoles,
    /// Servers, protected paths or directories are not what they were.
    Surroundings,
    /// The policy has rules about places in a directory of the call, and what was there is not recorded.
    Disk,
}

impl Unknown {
    /// Returns the reason, as it can follow a number of calls.
    pub fn text(self) -> &'static str {
        match self {
            Self::Hidden => "secrets were redacted, or arguments shortened, in the record",
            Self::Old => "recorded by a version that did not keep all that decides",
            Self::OtherRoles => "the policy gives the arguments other roles",
            Self::Surroundings => {
                "servers, protected paths or directories have changed since, or cannot be used"
            }
            Self::Disk => "it depends on files of that day",
        }
    }
}

impl Intent {
    /// Reads a record; `None` if no policy decided about a call in it.
    pub fn read(mut fields: Object) -> Option<Self> {
        let text = |key: &str| fields.get(key).and_then(Json::as_str).map(str::to_owned);
        if text("kind").as_deref() != Some("intent") {
            return None;
        }
        let policy_hash = text("policyHash")?;
        let is_by_policy = text("decidedBy").as_deref() == Some("policy");
        let verdict = match (text("verdict")?.as_str(), is_by_policy) {
            ("allow", true) => Effect::Allow,
            ("escalate", _) | ("allow", false) => Effect::Escalate,
            _ => Effect::Deny,
        };
        let (server, tool) = (text("server")?.parse().ok()?, text("tool")?.parse().ok()?);
        let (request, rule) = (text("requestId")?, text("rule")?);
        let timestamp = text("timestamp")?;
        let is_complete = fields.get("replayable") == Some(&Json::Bool(true));
        let mut object = |key: &str| match fields.remove(key) {
            Some(Json::Object(object)) => Some(object),
            _ => None,
        };
        let (arguments, resolved, behind) =
            (object("arguments").unwrap_or_default(), object("resolved"), object("behind"));
        Some(Self {
            request,
            server,
            tool,
            arguments,
            verdict,
            is_by_policy,
            rule,
            policy_hash,
            timestamp,
            resolved,
            behind,
            is_complete,
        })
    }

    /// Asks a policy about the call; `own` is the policy that decided then, if it is known.
    ///
    /// If that one would decide otherwise today, something else than the policy has changed.
    pub fn judge(&self, subject: Subject<'_>, own: Option<Subject<'_>>) -> Answer {
        if let Some(own) = own {
            match self.resolved_with(own, None) {
                Ok(call) if outcome(own, &call).effect != self.verdict => {
                    return Answer::Unknown(Unknown::Surroundings);
                }
                Ok(_) => {}
                Err(unknown) => return Answer::Unknown(unknown),
            }
        }
        match self.resolved_with(subject, own) {
            Ok(call) => Answer::Decided(outcome(subject, &call)),
            Err(unknown) => Answer::Unknown(unknown),
        }
    }

    /// Puts the call together as it would be judged by a policy.
    pub(crate) fn resolved_for(&self, subject: Subject<'_>) -> Result<ResolvedCall, Unknown> {
        self.resolved_with(subject, None)
    }

    /// Puts the call together; `own` is the policy that decided then, if it is known.
    fn resolved_with(
        &self,
        subject: Subject<'_>,
        own: Option<Subject<'_>>,
    ) -> Result<ResolvedCall, Unknown> {
        let is_same_policy = subject.policy.hash().to_string() == self.policy_hash;
        let (Some(resolved), true) = (&self.resolved, self.is_complete) else {
            return Err(Unknown::Hidden);
        };
        let behind = self.behind.as_ref().ok_or(Unknown::Old)?;
        let annotation = subject.policy.annotation(&self.server, &self.tool);
        let asked = ToolCall {
            server: self.server.clone(),
            tool: self.tool.clone(),
            arguments: self.arguments.clone(),
        };
        let recorded = RecordedCall { asked, resolved, behind };
        if let (Some(annotation), false) = (annotation, recorded.is_unannotated()) {
            if depends_on_hidden(annotation, &self.arguments) {
                return Err(Unknown::Hidden);
            }
            let then = own.and_then(|it| it.policy.annotation(&self.server, &self.tool));
            let is_same_base =
                is_same_policy || then.is_some_and(|it| bases(it).eq(bases(annotation)));
            let may_differ = || !is_same_base && has_other_base(annotation, &self.arguments);
            if !recorded.means(annotation) || may_differ() {
                return Err(Unknown::OtherRoles);
            }
        }
        let parts = recorded.parts(annotation).map_err(|_| Unknown::Hidden)?;
        let call = imagined::recorded(parts);
        // What is denied anyway is denied whatever else there was.
        let may_be_denied = || outcome(subject, &call).effect == Effect::Deny;
        if !is_same_policy && looks_further(subject, &call) && !may_be_denied() {
            return Err(Unknown::Disk);
        }
        Ok(call)
    }
}

fn outcome(subject: Subject<'_>, call: &ResolvedCall) -> Outcome {
    let found = explain(subject.policy, subject.bounds, call);
    match decisive(&found) {
        Some(finding) => Outcome { effect: finding.effect, by: finding.authority.into() },
        None => Outcome { effect: Effect::Deny, by: crate::side::By::Default },
    }
}

/// Returns whether roles depend on an argument of which something was hidden.
fn depends_on_hidden(annotation: &Annotation, arguments: &Object) -> bool {
    let asked = annotation.arguments().iter().flat_map(ArgumentAnnotation::conditions);
    asked.into_iter().any(|(name, _)| match arguments.get(name) {
        Some(Json::String(text)) => text.contains(REDACTED),
        Some(value @ (Json::Array(_) | Json::Object(_))) => value.to_string().contains(REDACTED),
        Some(Json::Null | Json::Bool(_) | Json::Number(_)) | None => false,
    })
}

/// Returns which arguments are relative to which others.
fn bases(annotation: &Annotation) -> impl Iterator<Item = (&str, Option<&str>)> {
    annotation
        .arguments()
        .iter()
        .map(|it| (it.place().as_str(), it.relative_to().map(Pointer::as_str)))
}

/// Returns whether a relative path was given for an argument that is relative to another one: against which
/// one it was resolved is not recorded.
fn has_other_base(annotation: &Annotation, arguments: &Object) -> bool {
    let is_relative = |text: &str| !text.starts_with(['/', '~']);
    let of_base = annotation.arguments().iter().filter(|it| it.relative_to().is_some());
    of_base.filter_map(|it| it.place().find(arguments).ok()).flatten().any(|json| match json {
        Json::String(text) => is_relative(text),
        Json::Array(items) => items.iter().filter_map(Json::as_str).any(is_relative),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_) => false,
    })
}

/// Returns whether this policy would have made the resolver, or a built-in server, look for further files.
fn looks_further(subject: Subject<'_>, call: &ResolvedCall) -> bool {
    let has = |role: Role| !call.values(role).is_empty();
    let is_move = has(Role::WritePath) && (has(Role::DeletePath) || has(Role::ReadPath));
    let traits = subject.bounds.servers.get(call.server());
    let names_files = traits.is_some_and(|it| it.names_files);
    let mut roles = Role::all().filter(|role| match names_files {
        true => role.category() == Category::Path,
        false => *role == Role::WritePath && is_move,
    });
    let names = (call.server(), call.tool());
    let paths = || call.roles().iter().flat_map(|it| &it.values).filter_map(|it| it.path());
    roles
        .any(|role| paths().any(|value| subject.policy.restricts_beneath(names, role, &value.path)))
}
