//! What a person is offered beyond one approval: scopes, the words for them, and what was chosen.
//!
//! Both sides compute the same offer, whoever answers from the request and the session from its own
//! escalation; what comes back is compared with that, so nothing wider than what was shown is taken.
//! What only the session can know, such as which directories are too much, stands in the request and
//! makes the offer narrower. Nothing is granted here.

use std::fmt::Write as _;
use std::time::Duration;

use ic_policy::Escalation;
use ic_types::{Json, Object, Role, ServerName, Timestamp, ToolName, letter_by_letter, visible};

use crate::closed::Closed;
use crate::display::clock;
use crate::document::list;
use crate::fixed::{self, Fixed};
use crate::request::Request;
use crate::scope::{Names, Resource, Scope, ScopeKind};

/// How long a grant lasts if nobody says otherwise.
pub const LIFETIME: Duration = Duration::from_hours(1);
/// How long a grant may last.
pub const LIFETIME_MAX: Duration = Duration::from_hours(24);
/// How many calls a grant may be limited to.
pub const COUNT_MAX: u64 = 1_000_000;
/// The most values of one role of which a scope is made; nobody would read more.
const VALUES_MAX: usize = 100;
/// What the names of invariants begin with.
const STRUCTURAL_PREFIX: &str = "structural-";

/// What may be granted besides the call that is asked about.
///
/// Invariant: at least one role, each with at least one scope, narrow ones first.
#[derive(Clone, Debug)]
pub struct Offer {
    server: ServerName,
    tool: ToolName,
    roles: Vec<OfferedRole>,
    grantable: Grantable,
}

/// What the session says of a grant, beyond what its request says of the call.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Grantable {
    /// What has to stay as it is in this call, in words.
    pub only: Vec<String>,
    /// The roles for which no directory is offered, because it would be too much.
    pub exact: Vec<Role>,
}

#[derive(Clone, Debug)]
struct OfferedRole {
    role: Role,
    scopes: Vec<Scope>,
}

/// One scope for each role that escalated.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Choice {
    server: ServerName,
    tool: ToolName,
    pub(crate) scopes: Vec<(Role, Scope)>,
    /// What has to stay as it is in the call that is asked about.
    only: Vec<String>,
}

/// Until when, and how often, a grant holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Terms {
    pub(crate) expires_at: Timestamp,
    pub(crate) count: Option<u64>,
}

/// What a person was shown and has confirmed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Wish {
    choice: Choice,
    terms: Terms,
}

/// Why nothing is offered.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NoOffer {
    /// No role escalated, so nothing would limit the grant.
    #[error("the request is about the call as a whole, so nothing would limit a grant")]
    NoRole,
    /// A role has no value, or one of which no scope can be made.
    #[error("no scope can be made for the role `{0}`")]
    NoScope(Role),
    /// A role has more values than anybody would read.
    #[error("the role `{0}` has too many values")]
    TooMany(Role),
    /// The session offers none.
    #[error(
        "a push that forces, deletes or sends tags is approved one at a time, and so is one whose \
         refs are not known"
    )]
    Push,
}

/// Why a grant is not taken.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NotOffered {
    /// It names other roles than those that escalated.
    #[error("it is not about the roles that escalated")]
    Roles,
    /// It names a scope that was not offered for the role.
    #[error("its scope for `{0}` is not the one that was shown")]
    Scope(Role),
    /// It would have ended already, or lasts too long.
    #[error("it has to end within 24 hours, and not before it begins")]
    Lifetime,
    /// Its count is none.
    #[error("its count has to lie between 1 and 1000000")]
    Count,
}

/// A grant as it is written in an answer; not believed before it was compared with the offer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WrittenGrant {
    pub(crate) roles: Vec<WrittenScope>,
    pub(crate) expires_at: Timestamp,
    pub(crate) count: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WrittenScope {
    pub(crate) role: Role,
    pub(crate) kind: ScopeKind,
    pub(crate) values: Vec<String>,
}

/// Which kinds of scope there are.
#[derive(Clone, Copy)]
enum Reach {
    Any,
    /// What the call named and nothing else: an invariant asks.
    Exact,
}

// === impl Offer ===

impl Offer {
    /// Computes what may be granted with the answer to `request`.
    pub fn of_request(request: &Request) -> Result<Self, NoOffer> {
        if request.causes.iter().any(|cause| cause.roles.is_empty()) {
            return Err(NoOffer::NoRole);
        }
        let causes = request.causes.iter().map(|cause| &cause.rule);
        let is_structural = |rule: &String| rule.starts_with(STRUCTURAL_PREFIX);
        let reach = match causes.chain([&request.rule]).any(is_structural) {
            true => Reach::Exact,
            false => Reach::Any,
        };
        let resources = |role: Role| match request.resolved.get(role.as_str()) {
            Some(Json::Array(values)) => {
                Some(values.iter().map(|it| Resource::of_json(role, &request.tool, it)).collect())
            }
            Some(
                Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Object(_),
            )
            | None => None,
        };
        let grantable = request.grantable.clone();
        let may = |role: Role, scope: &Scope| {
            let is_exact = grantable.as_ref().is_none_or(|it| it.exact.contains(&role));
            !is_exact || scope.is_exact()
        };
        let roles = offered(&request.escalated_roles, resources, reach, may)?;
        // SECURITY: what the session does not offer, nobody is shown.
        let grantable = grantable.ok_or(NoOffer::Push)?;
        Ok(Self { server: request.server.clone(), tool: request.tool.clone(), roles, grantable })
    }

    /// Computes what may be granted with an answer to `escalation`.
    pub(crate) fn of_escalation(escalation: &Escalation, closed: &Closed) -> Result<Self, NoOffer> {
        // SECURITY: what no role carries, no scope would limit; the next call could bring it along.
        if escalation.causes().iter().any(|cause| cause.role.is_none()) {
            return Err(NoOffer::NoRole);
        }
        let is_structural = escalation.causes().iter().any(|cause| cause.structural.is_some());
        let reach = if is_structural { Reach::Exact } else { Reach::Any };
        let call = escalation.call();
        let resources = |role: Role| {
            let values = call.values(role).iter();
            Some(values.map(|value| Resource::of(role, call.tool(), value)).collect())
        };
        let may = |_: Role, scope: &Scope| !scope.is_too_much(closed);
        let roles = offered(escalation.roles(), resources, reach, may)?;
        if fixed::is_push_beyond_a_branch(call) {
            return Err(NoOffer::Push);
        }
        let is_narrow = |it: &&OfferedRole| it.scopes.iter().all(Scope::is_exact);
        let grantable = Grantable {
            only: Fixed::of(call, escalation.roles()).describe(),
            exact: roles.iter().filter(is_narrow).map(|it| it.role).collect(),
        };
        Ok(Self { server: call.server().clone(), tool: call.tool().clone(), roles, grantable })
    }

    /// Returns what stands in the request about grants.
    pub(crate) fn grantable(&self) -> &Grantable {
        &self.grantable
    }

    /// Returns what can be chosen, the narrowest first.
    pub fn choices(&self) -> Vec<Choice> {
        let choice = |pick: fn(&[Scope]) -> Option<&Scope>| {
            let scopes = self.roles.iter();
            let scopes = scopes.filter_map(|it| Some((it.role, pick(&it.scopes)?.clone())));
            Choice {
                server: self.server.clone(),
                tool: self.tool.clone(),
                scopes: scopes.collect(),
                only: self.grantable.only.clone(),
            }
        };
        let mut choices = vec![choice(<[Scope]>::first), choice(<[Scope]>::last)];
        choices.dedup();
        choices
    }

    /// Compares a grant that somebody wrote with what was offered.
    pub(crate) fn accept(
        &self,
        written: &WrittenGrant,
        now: Timestamp,
    ) -> Result<(Choice, Terms), NotOffered> {
        let terms = Terms::check(written.expires_at, written.count, now)?;
        if written.roles.len() != self.roles.len() {
            return Err(NotOffered::Roles);
        }
        let mut scopes = Vec::new();
        for OfferedRole { role, scopes: offered } in &self.roles {
            let of_role = |it: &&WrittenScope| it.role == *role;
            let written = written.roles.iter().find(of_role).ok_or(NotOffered::Roles)?;
            let scope = offered.iter().find(|scope| written.is(scope));
            scopes.push((*role, scope.ok_or(NotOffered::Scope(*role))?.clone()));
        }
        let (server, tool) = (self.server.clone(), self.tool.clone());
        Ok((Choice { server, tool, scopes, only: self.grantable.only.clone() }, terms))
    }
}

fn offered(
    escalated: &[Role],
    resources: impl Fn(Role) -> Option<Vec<Option<Resource>>>,
    reach: Reach,
    may: impl Fn(Role, &Scope) -> bool,
) -> Result<Vec<OfferedRole>, NoOffer> {
    if escalated.is_empty() {
        return Err(NoOffer::NoRole);
    }
    let offered = |role: Role| {
        let resources = resources(role).ok_or(NoOffer::NoScope(role))?;
        if VALUES_MAX < resources.len() {
            return Err(NoOffer::TooMany(role));
        }
        let resources: Option<Vec<Resource>> = resources.into_iter().collect();
        let resources = resources.ok_or(NoOffer::NoScope(role))?;
        let scopes = ScopeKind::ALL.into_iter().filter_map(|kind| Scope::of(kind, &resources));
        let is_in_reach = |scope: &Scope| match reach {
            Reach::Any => true,
            Reach::Exact => scope.is_exact(),
        };
        let scopes: Vec<Scope> =
            scopes.filter(|scope| is_in_reach(scope) && may(role, scope)).collect();
        if scopes.is_empty() {
            return Err(NoOffer::NoScope(role));
        }
        Ok(OfferedRole { role, scopes })
    };
    escalated.iter().copied().map(offered).collect()
}

// === impl Choice ===

impl Choice {
    /// Says until when and how often it is to hold.
    pub fn with(self, terms: Terms) -> Wish {
        Wish { choice: self, terms }
    }

    /// Returns the scope of each role.
    pub fn scopes(&self) -> impl Iterator<Item = (Role, &Scope)> {
        self.scopes.iter().map(|(role, scope)| (*role, scope))
    }
}

// === impl Terms ===

impl Terms {
    /// Says that a grant lasts for `lifetime` from `now`, and for `count` more calls.
    pub fn new(now: Timestamp, lifetime: Duration, count: Option<u64>) -> Result<Self, NotOffered> {
        let ms = u64::try_from(lifetime.as_millis()).map_err(|_| NotOffered::Lifetime)?;
        Self::check(Timestamp::from_unix_ms(now.unix_ms().saturating_add(ms)), count, now)
    }

    fn check(
        expires_at: Timestamp,
        count: Option<u64>,
        now: Timestamp,
    ) -> Result<Self, NotOffered> {
        let lifetime_ms = expires_at.unix_ms().saturating_sub(now.unix_ms());
        if lifetime_ms == 0 || LIFETIME_MAX.as_millis() < u128::from(lifetime_ms) {
            return Err(NotOffered::Lifetime);
        }
        if count.is_some_and(|count| !(1..=COUNT_MAX).contains(&count)) {
            return Err(NotOffered::Count);
        }
        Ok(Self { expires_at, count })
    }
}

// === impl Wish ===

impl Wish {
    /// Says in full what would be granted, for the person who is about to confirm it.
    pub fn preview(&self) -> Vec<String> {
        let Self { choice: Choice { server, tool, scopes, only }, terms } = self;
        let mut lines = vec![format!("`{server}` may call `{tool}` without asking again, for")];
        for (role, scope) in scopes {
            let parts = scope.describe(*role).into_iter();
            for part in parts {
                let letters = letter_by_letter(&part);
                lines.push(format!("  {role}: {part}"));
                lines.extend(letters.map(|it| format!("    letter by letter: {it}")));
            }
        }
        lines.extend(only.iter().map(|part| format!("  {}", visible(part))));
        let mut end = format!("until {} or the end of the session", clock(terms.expires_at));
        if let Some(count) = terms.count {
            let calls = if count == 1 { "call" } else { "calls" };
            // Writing to a string cannot fail.
            write!(end, ", and for {count} more {calls}").ok();
        }
        lines.push(end);
        lines
    }

    /// Returns whether the grant would have approved `request`, as far as the request says it.
    ///
    /// For telling only: what is granted is compared with the call itself, and never by this.
    pub fn would_cover(&self, request: &Request) -> bool {
        let Self { choice: Choice { server, tool, scopes, only }, terms } = self;
        let is_within = |(role, scope): &(Role, Scope)| {
            let Some(Json::Array(values)) = request.resolved.get(role.as_str()) else {
                return false;
            };
            let mut resources = values.iter().map(|it| Resource::of_json(*role, tool, it));
            !values.is_empty()
                && resources.all(|it| it.is_some_and(|it| scope.covers(&it, Names::Any)))
        };
        let has_scope = |role: &Role| scopes.iter().any(|(other, _)| other == role);
        request.server == *server
            && request.tool == *tool
            && request.created_at < terms.expires_at
            && request.causes.iter().all(|it| !it.roles.is_empty())
            && request.escalated_roles.iter().all(has_scope)
            && scopes.iter().all(is_within)
            && request.grantable.as_ref().is_some_and(|it| it.only == *only)
    }

    /// Returns what is written in the answer.
    pub(crate) fn to_written(&self) -> WrittenGrant {
        let written = |(role, scope): &(Role, Scope)| WrittenScope {
            role: *role,
            kind: scope.kind(),
            values: scope.values(),
        };
        WrittenGrant {
            roles: self.choice.scopes.iter().map(written).collect(),
            expires_at: self.terms.expires_at,
            count: self.terms.count,
        }
    }
}

// === impl WrittenGrant ===

impl WrittenGrant {
    pub(crate) fn to_json(&self) -> Json {
        let mut roles = Object::new();
        for WrittenScope { role, kind, values } in &self.roles {
            let mut scope = Object::new();
            scope.insert("kind", kind.as_str());
            scope.insert("values", list(values.iter().cloned()));
            roles.insert(role.as_str(), scope);
        }
        let mut object = Object::new();
        object.insert("roles", roles);
        object.insert("expiresAt", self.expires_at.to_string());
        if let Some(count) = self.count {
            object.insert("count", count);
        }
        Json::Object(object)
    }
}

impl WrittenScope {
    /// Returns whether this is `scope`, no matter in which order its values stand.
    fn is(&self, scope: &Scope) -> bool {
        let sorted = |mut values: Vec<String>| {
            values.sort_unstable();
            values
        };
        self.kind == scope.kind() && sorted(self.values.clone()) == sorted(scope.values())
    }
}
