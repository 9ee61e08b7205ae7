//! The auto-approver: an escalation that the person's own latest message asks for is approved.
//!
//! It can approve one escalation, and never deny one: all that it says otherwise is that the person is to be
//! asked. What is compared by code is decided in `ic-intent`; here a call becomes what is compared there, and
//! an approval becomes an [`Answer`]. No result of any tool comes here.
//!
//! ```text
//! Escalation ─wanted─▶ literal::check ──────────────────────────▶ Answer::by_judge (one digest)
//!                └───▶ asked::check ─▶ Intent ─▶ IntentJudge ─yes─▶┘     └─ judged again, then settled
//!                             └─ Doubt        └─ no, error, too late ─▶ Judged::Ask: a person
//! ```
//!
//! A message that was typed at another program's interface may first have to be put together from its keys
//! ([`IntentJudge::read`]); what comes of it is compared like any other.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use ic_home::Clock;
use ic_intent::message::is_stale;
use ic_intent::{Doubt, Named, Other, Unclear, Wanted, WantedRole, asked, literal, wanted};
use ic_policy::{Answer, Escalation, Push, ResolvedCall, Ticket, Value};
use ic_types::{Digest, Json, Role, visible};
use tokio_util::sync::CancellationToken;

use crate::fixed;
use crate::user_context::UserContext;

/// How long a model may take; after that the person is asked.
pub const JUDGING_MAX: Duration = Duration::from_secs(10);
/// How much of a reason the model is shown.
const REASON_CHARS_MAX: usize = 500;
/// What the names of invariants begin with.
const STRUCTURAL_PREFIX: &str = "structural-";

/// Says whether a message asks for a call. It is asked only about what the code found no doubt in.
pub trait IntentJudge: fmt::Debug + Send + Sync {
    /// Returns what judges, for the record.
    fn name(&self) -> String;

    /// Judges; whoever gives up waiting drops it.
    fn judge<'a>(&'a self, intent: &'a Intent, cancel: &'a CancellationToken) -> Judging<'a>;

    /// Puts together the last message of these keys; dropping it gives up waiting.
    fn read<'a>(&'a self, keys: &'a Unclear, cancel: &'a CancellationToken) -> Reading<'a>;
}

/// A judgement that is under way.
pub type Judging<'a> = Pin<Box<dyn Future<Output = Opinion> + Send + 'a>>;

/// A message that is being put together; `None` if it cannot be.
pub type Reading<'a> = Pin<Box<dyn Future<Output = Option<String>> + Send + 'a>>;

/// All that a judge is shown of a call.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Intent {
    /// What the person said.
    pub message: String,
    /// The server and the tool.
    pub tool: String,
    /// Why the policy asks.
    pub reason: String,
    /// What the call is about: the role and the resource, cleaned.
    pub resources: Vec<(Role, String)>,
}

/// What a judge says.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Opinion {
    /// The message asks for just this.
    Asked,
    /// Anything else: why the person is to be asked.
    Doubtful(String),
}

/// What came of it.
#[derive(Debug)]
pub enum Judged {
    /// The message asks for it.
    Approved {
        /// The answer, which fits this one escalation.
        answer: Answer,
        /// The words relied on.
        words: String,
        /// Who found that: `literal`, or the model.
        by: String,
    },
    /// The person is to be asked; why, and after which words.
    Ask {
        /// Why.
        why: String,
        /// The words that were considered, if there were any.
        words: Option<String>,
    },
    /// There was no message to go by.
    NoMessage,
}

/// Compares escalations with what the person said.
#[derive(Debug)]
pub struct Approver {
    /// What they said.
    pub context: Arc<UserContext>,
    /// Whether a message that is one plain request is enough.
    pub is_literal: bool,
    /// The model, if one may judge.
    pub judge: Option<Arc<dyn IntentJudge>>,
    /// What `~` stands for.
    pub home: Option<String>,
}

impl Approver {
    /// Compares an escalation with the last message.
    pub async fn answer(
        &self,
        escalation: &Escalation,
        ticket: &Ticket,
        clock: &dyn Clock,
        cancel: &CancellationToken,
    ) -> Judged {
        let call = key(escalation);
        let doubt = |doubt: Doubt| Judged::Ask { why: doubt.to_string(), words: None };
        let wanted = match wanted(escalation) {
            Ok(wanted) => wanted,
            Err(why) if self.context.has_message() => return doubt(why),
            Err(_) => return Judged::NoMessage,
        };
        if let Err(why) = self.put_together(clock, cancel).await {
            return doubt(why);
        }
        let Some((message, heard)) = self.context.now() else { return Judged::NoMessage };
        if self.context.has_answered(&call) {
            return doubt(Doubt::Used);
        }
        let around = (heard.as_str(), self.home.as_deref());
        if self.is_literal
            && let Ok(words) = literal::check(&message, &wanted, around, clock.now())
        {
            return match self.context.answer(&message, call) {
                true => approved(escalation, ticket, words, "literal".to_owned()),
                false => doubt(Doubt::Used),
            };
        }
        let words = match asked::check(&message, &wanted, around, clock.now()) {
            Ok(words) => words,
            Err(why) => return doubt(why),
        };
        let Some(judge) = &self.judge else { return doubt(Doubt::OtherDeed) };
        let intent = intent(escalation, &message.text);
        let ask = |why: String| Judged::Ask { why, words: Some(words.clone()) };
        let judging = tokio::time::timeout(JUDGING_MAX, judge.judge(&intent, cancel));
        match judging.await {
            Err(_) => {
                return ask(format!("no answer of the model within {} s", JUDGING_MAX.as_secs()));
            }
            Ok(Opinion::Doubtful(why)) => return ask(why),
            Ok(Opinion::Asked) => {}
        }
        // SECURITY: while the model thought, the message grew older, and the person may have said something else.
        if let Err(why) = message.check(&heard, clock.now()) {
            return ask(why.to_string());
        }
        match self.context.answer(&message, call) {
            true => approved(escalation, ticket, words, judge.name()),
            false => ask(Doubt::Used.to_string()),
        }
    }
}

impl Approver {
    /// Has the last message put together, if it was typed with keys that code cannot read.
    ///
    /// Only once a call waits: most messages are compared with none, and are nobody's business.
    async fn put_together(
        &self,
        clock: &dyn Clock,
        cancel: &CancellationToken,
    ) -> Result<(), Doubt> {
        let Some((keys, at)) = self.context.unclear() else { return Ok(()) };
        if keys.has_paste() {
            return Err(Doubt::Pasted);
        }
        if is_stale(at, clock.now()) {
            return Err(Doubt::Stale);
        }
        let judge = self.judge.as_ref().ok_or(Doubt::Keys)?;
        let reading = tokio::time::timeout(JUDGING_MAX, judge.read(&keys, cancel));
        let text = reading.await.ok().flatten().ok_or(Doubt::Keys)?;
        self.context.put_together((&keys, at), &text)
    }
}

/// SECURITY: the only place where an answer is made of words; it carries the digest of this one escalation.
fn approved(escalation: &Escalation, ticket: &Ticket, words: String, by: String) -> Judged {
    Judged::Approved { answer: Answer::by_judge(escalation, ticket), words, by }
}

/// Returns what makes two calls the same call for one message.
fn key(escalation: &Escalation) -> Digest {
    let call = escalation.call();
    let resolved = call.resolved_json();
    let named = match &resolved {
        // What is there now is not a part of what was asked for.
        Json::Object(roles) => roles.keys().map(str::to_owned).collect::<Vec<_>>(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
            Vec::new()
        }
    };
    let sent = Json::Object(call.sent().clone()).to_canonical();
    let parts = [call.server().as_str(), call.tool().as_str(), &sent, &named.join(" ")];
    Digest::of_parts(parts.into_iter().map(str::as_bytes))
}

/// Returns what of an escalation is compared with a message.
pub(crate) fn wanted(escalation: &Escalation) -> Result<Wanted, Doubt> {
    let is_structural = escalation.rule().starts_with(STRUCTURAL_PREFIX)
        || escalation.causes().iter().any(|it| {
            it.structural.is_some() || it.role.is_none() || it.rule.starts_with(STRUCTURAL_PREFIX)
        });
    // SECURITY: an invariant is not about what the person wants, so no wish of theirs answers it.
    if is_structural || escalation.causes().is_empty() {
        return Err(Doubt::Structural);
    }
    let call = escalation.call();
    let sends_one_branch = |push: &Push| push.only_advances_branches() && push.names().len() == 1;
    if fixed::is_push_beyond_a_branch(call) || !call.push().is_none_or(sends_one_branch) {
        return Err(Doubt::Arguments);
    }
    let mut roles = Vec::new();
    for it in call.roles().iter().filter(|it| it.role.is_resource()) {
        let named: Result<Vec<Named>, Doubt> =
            it.values.iter().map(|value| named(it.role, value)).collect();
        roles.push(WantedRole { role: it.role, written: written(call, it.role)?, named: named? });
    }
    let tool = call.tool().as_str().to_owned();
    Ok(Wanted { tool, escalated: escalation.roles().to_vec(), roles, others: others(call) })
}

fn named(role: Role, value: &Value) -> Result<Named, Doubt> {
    match value {
        // What is reached by another name than its own was not named.
        Value::Path(path) if path.also.is_empty() => Ok(Named::Path(path.path.to_string())),
        Value::Path(_) => Err(Doubt::NotNamed),
        Value::Url(url) if role == Role::GitRemoteUrl => {
            wanted::remote(&url.text).map(Named::Remote).ok_or(Doubt::Kind)
        }
        Value::Url(url) => Ok(Named::Url(url.text.clone())),
        Value::LocalRemote(path) => Ok(Named::Path(path.to_string())),
        Value::Text(_) => Err(Doubt::Kind),
    }
}

/// Returns the values of a role as the agent wrote them.
fn written(call: &ResolvedCall, role: Role) -> Result<Vec<String>, Doubt> {
    let mut written = Vec::new();
    for place in call.places().iter().filter(|it| it.roles.contains(&role)) {
        for value in place.place.find(&call.asked().arguments).map_err(|_| Doubt::Kind)? {
            match value {
                Json::String(text) => written.push(text.clone()),
                Json::Array(items) => {
                    for item in items {
                        written.push(item.as_str().ok_or(Doubt::Kind)?.to_owned());
                    }
                }
                Json::Null => {}
                Json::Bool(_) | Json::Number(_) | Json::Object(_) => return Err(Doubt::Kind),
            }
        }
    }
    Ok(written)
}

/// Returns what is sent besides resources.
fn others(call: &ResolvedCall) -> Vec<Other> {
    let is_resource = |name: &str| {
        let mut whole = call.places().iter().filter(|it| it.place.as_str() == name);
        whole.any(|it| it.roles.iter().all(|role| role.is_resource()))
    };
    let is_content_role = |name: &str| {
        let mut whole = call.places().iter().filter(|it| it.place.as_str() == name);
        whole.any(|it| it.roles.iter().all(|role| fixed::CONTENT_ROLES.contains(role)))
    };
    let others = call.sent().iter().filter(|(name, value)| {
        !matches!(value, Json::Null | Json::Bool(false)) && !is_resource(name)
    });
    let others = others.map(|(name, value)| Other {
        name: name.to_owned(),
        text: value.as_str().map(str::to_owned),
        is_content: is_content_role(name) || fixed::is_content(name, value),
    });
    others.collect()
}

/// Returns what a judge is shown of it.
fn intent(escalation: &Escalation, message: &str) -> Intent {
    let call = escalation.call();
    let of_role = |it: &ic_policy::RoleValues| {
        let role = it.role;
        it.values
            .iter()
            .map(move |value| (role, visible(&value.to_string()).clone()))
            .collect::<Vec<_>>()
    };
    let resources = call.roles().iter().filter(|it| it.role.is_resource()).flat_map(of_role);
    let reason: String = escalation.reason().chars().take(REASON_CHARS_MAX).collect();
    Intent {
        message: message.to_owned(),
        tool: format!("{}.{}", call.server(), call.tool()),
        reason: visible(&reason).clone(),
        resources: resources.collect(),
    }
}
