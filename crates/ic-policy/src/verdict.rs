//! The verdict on a call, and the proofs that come with it.
//!
//! A [`Permit`] is the only thing that lets a call be recorded and forwarded, and this module is the
//! only mint. How a person is asked, and how an answer travels, is not known here.

use std::fmt;
use std::sync::Arc;

use ic_types::{Digest, EscalationId, Json, Object, Role, SessionId, Timestamp};

use crate::call::ResolvedCall;
use crate::effect::Effect;
use crate::finding::{RuleRef, Structural};

/// What the policy says about a call.
#[derive(Debug)]
#[must_use = "a verdict decides what happens to the call"]
pub enum Verdict {
    /// The call may be forwarded.
    Allow(Permit),
    /// A person has to answer first.
    Escalate(Escalation),
    /// The call is refused.
    Deny(Denial),
}

/// A call that policy allowed, or that someone approved.
///
/// It is taken by value where calls are recorded, and what that returns is taken by value where
/// they are forwarded; so a call that skipped the policy does not compile, and one approval forwards
/// one call.
///
/// It cannot be made from outside:
///
/// ```compile_fail,E0451
/// fn forge(call: ic_policy::ResolvedCall, grounds: ic_policy::Grounds) -> ic_policy::Permit {
///     ic_policy::Permit { call, grounds }
/// }
/// ```
///
/// ```compile_fail,E0624
/// fn forge(call: ic_policy::ResolvedCall, grounds: ic_policy::Grounds) -> ic_policy::Permit {
///     ic_policy::Permit::mint(call, grounds)
/// }
/// ```
///
/// nor used twice:
///
/// ```compile_fail,E0599
/// fn twice(permit: ic_policy::Permit) -> (ic_policy::Permit, ic_policy::Permit) {
///     (permit.clone(), permit)
/// }
/// ```
#[derive(Debug)]
#[must_use = "a permit that is dropped forwards nothing"]
pub struct Permit {
    call: ResolvedCall,
    grounds: Grounds,
}

/// Why a call may be forwarded.
#[derive(Clone, Debug)]
pub struct Grounds {
    /// The rule that allowed the call, or that asked for the answer.
    pub rule: Arc<str>,
    /// Why, in the policy's words.
    pub reason: Arc<str>,
    /// The policy that was in force.
    pub policy_hash: Digest,
    /// Who decided.
    pub decided_by: DecidedBy,
}

/// Who decided about a call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DecidedBy {
    /// The policy alone.
    Policy,
    /// A person at the session's own terminal.
    Repl,
    /// A person at the terminal that shows an agent's own interface.
    Pty,
    /// A person at the listener.
    Listener,
    /// A person, by a command.
    Cli,
    /// The person who typed this very call when they started the session.
    User,
    /// A person's earlier grant.
    Grant,
    /// A person, who approved this very call beforehand together with others.
    Plan,
    /// The auto-approver.
    Auto,
}

/// A call that is refused.
#[derive(Debug)]
pub struct Denial {
    call: ResolvedCall,
    rule: Arc<str>,
    reason: Arc<str>,
    policy_hash: Digest,
}

/// A call that waits for an answer; it becomes a permit or it is refused.
///
/// It cannot be made or copied from outside:
///
/// ```compile_fail,E0451
/// fn forge(escalation: ic_policy::Escalation) -> ic_policy::Escalation {
///     ic_policy::Escalation { roles: Vec::new(), ..escalation }
/// }
/// ```
///
/// ```compile_fail,E0599
/// fn twice(escalation: ic_policy::Escalation) -> (ic_policy::Escalation, ic_policy::Escalation) {
///     (escalation.clone(), escalation)
/// }
/// ```
#[derive(Debug)]
#[must_use = "an escalation must be answered"]
pub struct Escalation {
    call: ResolvedCall,
    rule: Arc<str>,
    reason: Arc<str>,
    roles: Vec<Role>,
    causes: Vec<Cause>,
    policy_hash: Digest,
}

/// One thing that asks for a person.
///
/// An escalation names the first of them as its rule; an approval that is to hold for other calls
/// has to look at all of them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Cause {
    /// The rule or invariant.
    pub rule: Arc<str>,
    /// Why it asks.
    pub reason: Arc<str>,
    /// The role that it is about; `None` if it is about the call as a whole.
    pub role: Option<Role>,
    /// The invariant, if it is one.
    pub structural: Option<Structural>,
    /// Which rule of the policy it is, if it is one.
    pub by: Option<RuleRef>,
}

/// What a question is about besides the call: who asks, of which server, until when.
#[derive(Clone, Debug)]
pub struct Ticket {
    /// The session that asks.
    pub session: SessionId,
    /// The question's own id.
    pub escalation: EscalationId,
    /// The trusted identity of the server.
    pub server_identity: Digest,
    /// The hash of the tool's schema.
    pub schema_hash: Digest,
    /// When the answer comes too late.
    pub deadline: Timestamp,
}

/// An answer to a question: of a person who was shown it, of a grant or plan, or of the person who typed the call.
///
/// There is no other way to make one:
///
/// ```compile_fail,E0451
/// fn forge(answer: ic_policy::Answer) -> ic_policy::Answer {
///     ic_policy::Answer { decision: ic_policy::Decision::Approved, ..answer }
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Answer {
    decision: Decision,
    digest: Digest,
    decided_by: DecidedBy,
}

/// The proof that a person was shown a question before they answered it.
#[derive(Debug)]
pub struct Shown {
    digest: Digest,
}

/// What an answer says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Decision {
    /// Forward this one call.
    Approved,
    /// Do not.
    Denied,
}

/// What became of an escalation.
#[derive(Debug)]
#[must_use = "a settled escalation is a permit, a refusal, or a question to ask again"]
pub enum Settled {
    /// The call may be forwarded, once.
    Permit(Permit),
    /// The call is refused.
    Refused(Refusal),
    /// The answer is to another question: something has changed since it was asked.
    AskAgain(Escalation),
}

/// A call that was refused after it had waited.
#[derive(Debug)]
pub struct Refusal {
    call: ResolvedCall,
    cause: RefusalCause,
}

/// Why a waiting call was refused.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RefusalCause {
    /// Somebody said no.
    Denied(DecidedBy),
    /// The answer came too late.
    Expired,
}

// === impl Verdict ===

impl Verdict {
    /// Returns what is to happen.
    pub fn effect(&self) -> Effect {
        match self {
            Self::Allow(_) => Effect::Allow,
            Self::Escalate(_) => Effect::Escalate,
            Self::Deny(_) => Effect::Deny,
        }
    }

    /// Returns the rule or invariant that decided.
    pub fn rule(&self) -> &str {
        match self {
            Self::Allow(permit) => &permit.grounds.rule,
            Self::Escalate(escalation) => &escalation.rule,
            Self::Deny(denial) => &denial.rule,
        }
    }

    /// Returns why.
    pub fn reason(&self) -> &str {
        match self {
            Self::Allow(permit) => &permit.grounds.reason,
            Self::Escalate(escalation) => &escalation.reason,
            Self::Deny(denial) => &denial.reason,
        }
    }

    /// Returns the roles that a person has to decide about.
    pub fn escalated_roles(&self) -> &[Role] {
        match self {
            Self::Escalate(escalation) => &escalation.roles,
            Self::Allow(_) | Self::Deny(_) => &[],
        }
    }

    /// Returns the call.
    pub fn call(&self) -> &ResolvedCall {
        match self {
            Self::Allow(permit) => &permit.call,
            Self::Escalate(escalation) => &escalation.call,
            Self::Deny(denial) => &denial.call,
        }
    }

    pub(crate) fn new(effect: Effect, call: ResolvedCall, ruling: Ruling) -> Self {
        let Ruling { rule, reason, roles, causes, policy_hash } = ruling;
        match effect {
            Effect::Allow => {
                let decided_by = DecidedBy::Policy;
                Self::Allow(Permit::mint(call, Grounds { rule, reason, policy_hash, decided_by }))
            }
            Effect::Escalate => {
                Self::Escalate(Escalation { call, rule, reason, roles, causes, policy_hash })
            }
            Effect::Deny => Self::Deny(Denial { call, rule, reason, policy_hash }),
        }
    }
}

/// What was decided about a call, before the call is bound to it.
pub(crate) struct Ruling {
    pub(crate) rule: Arc<str>,
    pub(crate) reason: Arc<str>,
    pub(crate) roles: Vec<Role>,
    pub(crate) causes: Vec<Cause>,
    pub(crate) policy_hash: Digest,
}

// === impl Answer ===

impl Shown {
    /// Vouches that whoever answers was shown the question of this digest.
    ///
    /// SECURITY: for the side that reads answers; the tidy check finds any other mention.
    pub fn assert_shown(digest: Digest) -> Self {
        Self { digest }
    }
}

impl Answer {
    /// Takes the answer of a person who was shown the question.
    #[expect(clippy::needless_pass_by_value, reason = "the proof is spent")]
    pub fn by_person(shown: Shown, decision: Decision, decided_by: DecidedBy) -> Self {
        Self { decision, digest: shown.digest, decided_by }
    }

    /// Approves what an earlier approval covers.
    ///
    /// SECURITY: for grants that were found to cover it; the tidy check finds any other mention.
    pub fn by_grant(escalation: &Escalation, ticket: &Ticket) -> Self {
        let digest = escalation.digest(ticket);
        Self { decision: Decision::Approved, digest, decided_by: DecidedBy::Grant }
    }

    /// Approves a call that a person has approved beforehand, exactly as it is, together with others.
    ///
    /// SECURITY: for planned calls that were found to be this one; the tidy check finds any other mention.
    pub fn by_plan(escalation: &Escalation, ticket: &Ticket) -> Self {
        let digest = escalation.digest(ticket);
        Self { decision: Decision::Approved, digest, decided_by: DecidedBy::Plan }
    }

    /// Approves what the person's own latest message asks for, as the auto-approver found.
    ///
    /// SECURITY: it is bound to this one escalation by its digest, and there is no such way to deny; the tidy
    /// check finds any other mention.
    pub fn by_judge(escalation: &Escalation, ticket: &Ticket) -> Self {
        let digest = escalation.digest(ticket);
        Self { decision: Decision::Approved, digest, decided_by: DecidedBy::Auto }
    }

    /// Approves a call that a person typed, word for word.
    ///
    /// SECURITY: nobody is shown anything; the tidy check finds any other mention than the kernel's.
    pub fn dangerously_typed(escalation: &Escalation, ticket: &Ticket) -> Self {
        let digest = escalation.digest(ticket);
        Self { decision: Decision::Approved, digest, decided_by: DecidedBy::User }
    }

    /// Returns what was decided.
    pub fn decision(&self) -> Decision {
        self.decision
    }

    /// Returns who answered.
    pub fn decided_by(&self) -> DecidedBy {
        self.decided_by
    }
}

// === impl Permit ===

impl Permit {
    // SECURITY: every permit is made here; the tidy check finds any other mention.
    fn mint(call: ResolvedCall, grounds: Grounds) -> Self {
        Self { call, grounds }
    }

    /// Returns the call.
    pub fn call(&self) -> &ResolvedCall {
        &self.call
    }

    /// Returns why the call may be forwarded.
    pub fn grounds(&self) -> &Grounds {
        &self.grounds
    }
}

// === impl Denial ===

impl Denial {
    /// Returns the call.
    pub fn call(&self) -> &ResolvedCall {
        &self.call
    }

    /// Returns the rule or invariant that denies.
    pub fn rule(&self) -> &str {
        &self.rule
    }

    /// Returns why.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Returns the policy that was in force.
    pub fn policy_hash(&self) -> Digest {
        self.policy_hash
    }
}

// === impl Cause ===

impl Cause {
    fn to_json(&self) -> Json {
        let mut object = Object::new();
        object.insert("rule", &*self.rule);
        object.insert("reason", &*self.reason);
        object.insert("role", self.role.map_or(Json::Null, |role| Json::from(role.as_str())));
        object.insert("structural", self.structural.is_some());
        Json::Object(object)
    }
}

// === impl Escalation ===

impl Escalation {
    /// Returns the call.
    pub fn call(&self) -> &ResolvedCall {
        &self.call
    }

    /// Returns the rule or invariant that asks for a person.
    pub fn rule(&self) -> &str {
        &self.rule
    }

    /// Returns why.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Returns the roles that a person has to decide about.
    pub fn roles(&self) -> &[Role] {
        &self.roles
    }

    /// Returns everything that asks for a person, in the order in which it was found.
    pub fn causes(&self) -> &[Cause] {
        &self.causes
    }

    /// Returns the policy that was in force.
    pub fn policy_hash(&self) -> Digest {
        self.policy_hash
    }

    /// Returns the digest that an approval of this very call must carry.
    pub fn digest(&self, ticket: &Ticket) -> Digest {
        let mut question = self.question(ticket.server_identity, ticket.schema_hash);
        question.insert("session", ticket.session.as_str());
        question.insert("escalationId", ticket.escalation.as_str());
        Digest::of(Json::Object(question).to_canonical().as_bytes())
    }

    /// Returns what two questions about the same call have in common, whenever and in which session they are
    /// asked: all that [`digest`](Self::digest) is made of but the question's own names.
    pub fn likeness(&self, server_identity: Digest, schema_hash: Digest) -> Digest {
        let question = self.question(server_identity, schema_hash);
        Digest::of(Json::Object(question).to_canonical().as_bytes())
    }

    fn question(&self, server_identity: Digest, schema_hash: Digest) -> Object {
        let mut question = Object::new();
        question.insert("serverIdentity", server_identity.to_string());
        question.insert("server", self.call.server().as_str());
        question.insert("tool", self.call.tool().as_str());
        question.insert("schemaHash", schema_hash.to_string());
        question.insert("arguments", Json::Object(self.call.sent().clone()));
        question.insert("resolved", self.call.resolved_json());
        question.insert("policyHash", self.policy_hash.to_string());
        // SECURITY: why a person is asked is a part of what they answer. The same file may have become
        // one that the host runs, by a link elsewhere, while the question stood.
        question.insert("rule", &*self.rule);
        question.insert("reason", &*self.reason);
        question.insert("causes", self.causes.iter().map(Cause::to_json).collect::<Vec<_>>());
        question.insert("behind", self.call.behind_json());
        question
    }

    /// Settles the escalation with `answer`, once; digest and deadline are checked here.
    ///
    /// When an answer comes the broker resolves and judges the call again and settles the *new*
    /// escalation with it: if anything has changed since the question was shown, the digests differ
    /// and the person is asked again.
    pub fn settle(self, ticket: &Ticket, answer: &Answer, now: Timestamp) -> Settled {
        let refuse = |call, cause| Settled::Refused(Refusal { call, cause });
        if ticket.deadline < now {
            return refuse(self.call, RefusalCause::Expired);
        }
        match answer.decision {
            // A denial is obeyed whatever it was an answer to.
            Decision::Denied => refuse(self.call, RefusalCause::Denied(answer.decided_by)),
            Decision::Approved if answer.digest != self.digest(ticket) => Settled::AskAgain(self),
            Decision::Approved => {
                let Self { call, rule, reason, policy_hash, .. } = self;
                let decided_by = answer.decided_by;
                Settled::Permit(Permit::mint(
                    call,
                    Grounds { rule, reason, policy_hash, decided_by },
                ))
            }
        }
    }
}

// === impl Refusal ===

impl Refusal {
    /// Returns the call.
    pub fn call(&self) -> &ResolvedCall {
        &self.call
    }

    /// Returns why it was refused.
    pub fn cause(&self) -> RefusalCause {
        self.cause
    }
}

impl fmt::Display for DecidedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Policy => "policy",
            Self::Repl => "repl",
            Self::Pty => "pty",
            Self::Listener => "listener",
            Self::Cli => "cli",
            Self::User => "user",
            Self::Grant => "grant",
            Self::Plan => "plan",
            Self::Auto => "auto",
        })
    }
}
