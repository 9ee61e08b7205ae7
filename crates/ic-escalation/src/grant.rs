//! A grant: an approval that outlives one call, bound to everything that it was given for.
//!
//! It turns an escalation into an answer and touches nothing else: a denial is no escalation, so
//! there is nothing here that a denial could be handed to. Where grants are kept is not known here.

use std::io;

use ic_home::random;
use ic_policy::{Cause, Escalation, RuleRef, Structural, Ticket};
use ic_types::{Digest, Json, Object, Role, ServerName, Timestamp, ToolName};

use crate::document::list;
use crate::fixed::{self, Fixed};
use crate::offer::{Choice, Terms};
use crate::scope::{Names, Resource, Scope};

/// An approval that outlives one call.
///
/// Invariant: made from an offer, so it has a scope for each role that escalated and for no other.
///
/// It cannot be put together from parts:
///
/// ```compile_fail,E0451
/// fn widen(grant: ic_escalation::Grant) -> ic_escalation::Grant {
///     ic_escalation::Grant { scopes: Vec::new(), ..grant }
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Grant {
    id: GrantId,
    binding: Binding,
    scopes: Vec<(Role, Scope)>,
    /// What else a call has to have in common with the one that was shown.
    fixed: Fixed,
    /// The invariants that asked when it was given.
    structural: Vec<Structural>,
    /// The rules that asked then, each about a role.
    rules: Vec<(Role, RuleRef)>,
    created_at: Timestamp,
    expires_at: Timestamp,
    /// How many calls are left, if they are counted.
    left: Option<u64>,
    /// How many calls it has answered.
    used: u64,
}

/// The name of a grant.
///
/// Invariant: eight hexadecimal digits in lower case.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct GrantId(String);

/// What else has to be the same for a grant to hold.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Binding {
    server: ServerName,
    tool: ToolName,
    server_identity: Digest,
    schema_hash: Digest,
    policy_hash: Digest,
}

/// What a grant is made of besides what a person chose.
#[derive(Clone, Debug)]
pub(crate) struct Ground {
    binding: Binding,
    fixed: Fixed,
    structural: Vec<Structural>,
    rules: Vec<(Role, RuleRef)>,
}

impl Ground {
    pub(crate) fn of(escalation: &Escalation, ticket: &Ticket) -> Self {
        let structural = escalation.causes().iter().filter_map(|cause| cause.structural).collect();
        let fixed = Fixed::of(escalation.call(), escalation.roles());
        let rules =
            escalation.causes().iter().filter_map(|cause| cause.role.zip(cause.by)).collect();
        Self { binding: Binding::of(escalation, ticket), fixed, structural, rules }
    }

    /// Makes the grant of what was chosen from the offer of the same escalation.
    pub(crate) fn grant(&self, choice: Choice, terms: Terms, now: Timestamp) -> io::Result<Grant> {
        Ok(Grant {
            id: GrantId::generate()?,
            binding: self.binding.clone(),
            scopes: choice.scopes,
            fixed: self.fixed.clone(),
            structural: self.structural.clone(),
            rules: self.rules.clone(),
            created_at: now,
            expires_at: terms.expires_at,
            left: terms.count,
            used: 0,
        })
    }
}

impl Binding {
    fn of(escalation: &Escalation, ticket: &Ticket) -> Self {
        Self {
            server: escalation.call().server().clone(),
            tool: escalation.call().tool().clone(),
            server_identity: ticket.server_identity,
            schema_hash: ticket.schema_hash,
            policy_hash: escalation.policy_hash(),
        }
    }
}

// === impl Grant ===

impl Grant {
    /// Returns the grant's name.
    pub fn id(&self) -> &GrantId {
        &self.id
    }

    /// Returns when the grant ends.
    pub fn expires_at(&self) -> Timestamp {
        self.expires_at
    }

    /// Returns the server and the tool that it is for.
    pub fn tool(&self) -> (&ServerName, &ToolName) {
        (&self.binding.server, &self.binding.tool)
    }

    /// Returns the scope of each role.
    pub fn scopes(&self) -> impl Iterator<Item = (Role, &Scope)> {
        self.scopes.iter().map(|(role, scope)| (*role, scope))
    }

    /// Returns whether the grant is still to be used.
    pub(crate) fn is_in_force(&self, now: Timestamp) -> bool {
        // SECURITY: a clock that was set back would make an hour a matter of days.
        self.created_at <= now && now < self.expires_at && self.left != Some(0)
    }

    /// Returns whether calls are counted.
    pub(crate) fn is_counted(&self) -> bool {
        self.left.is_some()
    }

    /// Takes one call off the count, and counts it.
    pub(crate) fn spend(&mut self) {
        self.used = self.used.saturating_add(1);
        self.left = self.left.map(|left| left.saturating_sub(1));
    }

    /// Takes over a smaller count.
    pub(crate) fn lower(&mut self, left: Option<u64>) {
        if let (Some(ours), Some(theirs)) = (self.left, left) {
            self.left = Some(ours.min(theirs));
        }
    }

    /// Returns whether everything that asks in `escalation` was granted.
    pub(crate) fn covers(&self, escalation: &Escalation, ticket: &Ticket) -> bool {
        let asks_invariant = escalation.causes().iter().any(|cause| cause.structural.is_some());
        let names = if asks_invariant { Names::AsShown } else { Names::Any };
        self.binding == Binding::of(escalation, ticket)
            && !escalation.roles().is_empty()
            && escalation.causes().iter().all(|cause| self.covers_cause(cause))
            && escalation.roles().iter().all(|role| self.covers_role(*role, escalation, names))
            && self.is_as_shown(escalation)
    }

    /// SECURITY: whatever no scope speaks of is what the person saw, or they are asked.
    fn is_as_shown(&self, escalation: &Escalation) -> bool {
        let scoped: Vec<Role> = self.scopes.iter().map(|(role, _)| *role).collect();
        !fixed::is_push_beyond_a_branch(escalation.call())
            && self.fixed == Fixed::of(escalation.call(), &scoped)
    }

    /// Says what has to stay as it was, line by line.
    pub fn only(&self) -> Vec<String> {
        self.fixed.describe()
    }

    fn covers_cause(&self, cause: &Cause) -> bool {
        // SECURITY: what is about the call as a whole, no scope limits.
        let Some(role) = cause.role else { return false };
        let Some(scope) = self.scope(role) else { return false };
        match cause.structural {
            // SECURITY: a rule that did not ask when the grant was given speaks of something that the person
            // was not asked about: a place in the granted directory of which they said more.
            None => cause.by.is_some_and(|rule| self.rules.contains(&(role, rule))),
            Some(structural) => self.structural.contains(&structural) && scope.is_exact(),
        }
    }

    fn covers_role(&self, role: Role, escalation: &Escalation, names: Names) -> bool {
        let (call, Some(scope)) = (escalation.call(), self.scope(role)) else { return false };
        let values = call.values(role);
        let is_covered = |value| {
            Resource::of(role, call.tool(), value)
                .is_some_and(|resource| scope.covers(&resource, names))
        };
        !values.is_empty() && values.iter().all(is_covered)
    }

    fn scope(&self, role: Role) -> Option<&Scope> {
        self.scopes.iter().find(|(it, _)| *it == role).map(|(_, scope)| scope)
    }

    /// Returns the grant as it stands in its file.
    pub(crate) fn to_json(&self) -> Json {
        let mut roles = Object::new();
        for (role, scope) in &self.scopes {
            roles.insert(role.as_str(), scope.to_json());
        }
        let mut object = Object::new();
        object.insert("id", self.id.as_str());
        object.insert("serverName", self.binding.server.as_str());
        object.insert("toolName", self.binding.tool.as_str());
        object.insert("policyHash", self.binding.policy_hash.to_string());
        object.insert("roles", roles);
        object.insert("only", list(self.only()));
        object.insert("createdAt", self.created_at.to_string());
        object.insert("expiresAt", self.expires_at.to_string());
        if let Some(left) = self.left {
            object.insert("count", left);
        }
        if self.used != 0 {
            object.insert("used", self.used);
        }
        if !self.structural.is_empty() {
            object.insert("structural", list(self.structural.iter().map(|it| it.as_str())));
        }
        Json::Object(object)
    }
}

// === impl GrantId ===

impl GrantId {
    fn generate() -> io::Result<Self> {
        let digits = random::bytes::<4>()?.map(|byte| format!("{byte:02x}"));
        Ok(Self(digits.concat()))
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for GrantId {
    type Err = InvalidGrantId;

    fn from_str(text: &str) -> Result<Self, InvalidGrantId> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        match text.len() == 8 && text.bytes().all(is_digit) {
            true => Ok(Self(text.to_owned())),
            false => Err(InvalidGrantId),
        }
    }
}

/// Text that is no grant's name.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a grant is named by eight hexadecimal digits in lower case")]
pub struct InvalidGrantId;

impl std::fmt::Display for GrantId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
