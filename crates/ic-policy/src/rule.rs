//! One rule of a policy, and whether its conditions hold for a value or a call.
//!
//! Knows nothing of the order of rules or of the index; a rule answers for itself alone.

mod members;
mod written;

use std::fmt;
use std::sync::Arc;

use ic_types::{CanonicalPath, Category, Host, Role};

use crate::bounds::Sandbox;
use crate::call::{ResolvedCall, Value};
use crate::domain::{DomainPattern, DomainSet};
use crate::effect::Effect;
pub use members::addresses;
pub(crate) use members::{Emails, Identifiers, Members, comparable};

/// A rule, ready to be asked.
#[derive(Clone, Debug)]
pub struct Rule {
    pub(crate) name: Arc<str>,
    pub(crate) description: String,
    pub(crate) principle: String,
    pub(crate) reason: Arc<str>,
    pub(crate) effect: Effect,
    pub(crate) servers: Option<Vec<String>>,
    pub(crate) tools: Option<Vec<String>>,
    pub(crate) roles: Option<RoleSet>,
    pub(crate) paths: Option<PathCondition>,
    pub(crate) domains: Option<DomainCondition>,
    pub(crate) lists: Vec<ListCondition>,
}

/// A set of roles.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct RoleSet(u32);

#[derive(Clone, Debug)]
pub(crate) struct PathCondition {
    pub(crate) roles: RoleSet,
    pub(crate) within: CanonicalPath,
    /// Whether a denial leaves the sandbox, a workspace too, to containment.
    pub(crate) leaves_sandbox: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct DomainCondition {
    pub(crate) roles: RoleSet,
    pub(crate) allowed: DomainSet,
}

#[derive(Clone, Debug)]
pub(crate) struct ListCondition {
    pub(crate) roles: RoleSet,
    pub(crate) allowed: Members,
}

/// How far the conditions on roles other than the judged one hold.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Hold {
    No,
    Partly,
    Fully,
}

// === impl Rule ===

impl Rule {
    /// Returns the rule's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns what the rule does, in the policy's words.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Returns the sentence of the constitution that the rule comes from.
    pub fn principle(&self) -> &str {
        &self.principle
    }

    /// Returns why the rule says what it says.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Returns what the rule says.
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// Returns whether the rule may settle values of `role`.
    pub fn is_relevant_to(&self, role: Role) -> bool {
        self.roles.is_none_or(|roles| roles.contains(role))
            && self.paths.as_ref().is_none_or(|paths| paths.roles.contains(role))
            && self.domains.as_ref().is_none_or(|domains| domains.roles.contains(role))
            && (self.lists.is_empty() || self.lists.iter().any(|list| list.roles.contains(role)))
    }

    /// Returns whether the rule has no condition on values.
    pub(crate) fn is_unconditional(&self) -> bool {
        self.paths.is_none() && self.domains.is_none() && self.lists.is_empty()
    }

    /// Returns whether the rule's conditions on `role` hold for `value`.
    ///
    /// The rule must be relevant to `role`.
    pub fn covers(&self, role: Role, value: &Value) -> bool {
        self.paths.as_ref().is_none_or(|paths| {
            value.path().is_some_and(|value| value.path.is_within(&paths.within))
        }) && self.holds_besides_path(role, value)
    }

    /// Returns whether the rule's other conditions on `role` hold for `value`.
    pub(crate) fn holds_besides_path(&self, role: Role, value: &Value) -> bool {
        self.domains.as_ref().is_none_or(|domains| {
            Members::with_destination(value, |destination| domains.allowed.contains(destination))
        }) && self
            .lists
            .iter()
            .filter(|list| list.roles.contains(role))
            .all(|list| list.allowed.holds(role, value))
    }

    /// Returns how far the conditions on other roles than `judged` hold for the call.
    ///
    /// `None` judges the call as a whole: then every list is such a condition.
    pub(crate) fn holds_elsewhere(&self, judged: Option<Role>, call: &ResolvedCall) -> Hold {
        self.lists
            .iter()
            .filter(|list| judged.is_none_or(|role| !list.roles.contains(role)))
            .map(|list| list.holds_for(call))
            .min()
            .unwrap_or(Hold::Fully)
    }

    /// Returns whether the rule names the roles that it is about.
    pub(crate) fn names_roles(&self) -> bool {
        self.roles.is_some() || !self.lists.is_empty()
    }

    /// Returns whether the rule restricts by a role that is no resource.
    pub(crate) fn restricts_beside(&self) -> bool {
        self.effect != Effect::Allow && Role::all().any(|it| !it.is_resource() && self.names(it))
    }

    /// Returns whether the rule can be about what a call with resources says beside them: it names a role of
    /// the call that is no resource, or none at all.
    pub(crate) fn may_speak_beside(&self, call: &ResolvedCall) -> bool {
        self.may_speak_beside_roles(call.roles().iter().map(|it| it.role))
    }

    /// Returns whether the rule names `role`, in a list or by itself.
    fn names(&self, role: Role) -> bool {
        self.roles.is_some_and(|roles| roles.contains(role))
            || self.lists.iter().any(|list| list.roles.contains(role))
    }

    /// Returns how far the rule holds for a call without resource roles.
    pub(crate) fn holds_for_whole(&self, call: &ResolvedCall) -> Hold {
        // `paths` and `domains` never hold without a value.
        let is_out = self.paths.is_some()
            || self.domains.is_some()
            || !self.roles.is_none_or(|roles| call.roles().iter().any(|r| roles.contains(r.role)));
        if is_out { Hold::No } else { self.holds_elsewhere(None, call) }
    }
}

impl Rule {
    /// Returns whether the rule can be about what a call with these roles says beside its resources.
    pub fn may_speak_beside_roles(&self, roles: impl Iterator<Item = Role>) -> bool {
        let mut beside = roles.filter(|it| !it.is_resource());
        !self.names_roles() || beside.any(|role| self.names(role))
    }

    /// Returns whether the rule can be about calls of `server`.
    pub fn is_about(&self, server: &str) -> bool {
        self.servers.as_ref().is_none_or(|names| names.iter().any(|name| name == server))
    }

    /// Returns the directory that the rule is about, if it is about one.
    pub fn place(&self) -> Option<&CanonicalPath> {
        self.paths.as_ref().map(|paths| &paths.within)
    }

    /// Returns whether the rule is about some tools only.
    pub fn names_tools(&self) -> bool {
        self.tools.is_some()
    }

    /// Returns whether the rule depends on lists of names.
    pub fn has_lists(&self) -> bool {
        !self.lists.is_empty()
    }

    /// Returns the hosts and repositories that the rule is about, if it is about some.
    pub fn hosts(&self) -> &[DomainPattern] {
        self.domains.as_ref().map_or(&[], |domains| domains.allowed.patterns())
    }

    /// Returns the rule for another place, if it denies or escalates for one.
    pub(crate) fn restricting_at(&self, place: &CanonicalPath) -> Option<Self> {
        let paths = self.paths.as_ref().filter(|_| self.effect != Effect::Allow)?;
        let paths = PathCondition { within: place.clone(), ..paths.clone() };
        Some(Self { paths: Some(paths), ..self.clone() })
    }

    /// Returns whether the rule is the user's own word about values in `sandbox`, which is stronger
    /// than containment: it denies and the directory is the user's, or it denies or escalates for a
    /// place at the sandbox or in it. A denial that leaves the sandbox alone is neither.
    pub fn outranks(&self, sandbox: &Sandbox) -> bool {
        let is_about_it = || self.place().is_some_and(|place| place.is_within(&sandbox.path));
        match self.effect {
            Effect::Allow => false,
            Effect::Escalate => is_about_it(),
            Effect::Deny => {
                let leaves = self.paths.as_ref().is_some_and(|paths| paths.leaves_sandbox);
                !leaves && (sandbox.kind.is_used_by_host() || is_about_it())
            }
        }
    }

    /// Returns whether nothing but the place of a value is asked.
    pub(crate) fn asks_only_for_place(&self) -> bool {
        self.tools.is_none() && self.domains.is_none() && self.lists.is_empty()
    }

    /// Returns whether the rule can settle paths.
    pub fn is_about_paths(&self) -> bool {
        self.domains.is_none()
            && Role::all().any(|it| it.category() == Category::Path && self.is_relevant_to(it))
    }

    /// Returns whether `path` is the very directory that the rule is about; the root of all is nobody's.
    pub(crate) fn is_rooted_at(&self, path: &CanonicalPath) -> bool {
        self.place().is_some_and(|within| within == path && within.parent().is_some())
    }

    /// Returns whether the rule can be about calls of `tool`.
    pub fn is_about_tool(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|names| names.iter().any(|name| name == tool))
    }

    /// Returns whether the rule names `host` literally, with `port`.
    pub(crate) fn names_host(&self, host: &Host, port: u16) -> bool {
        let names = |set: &DomainSet| set.names(host, port);
        let lists = self.lists.iter().filter_map(|list| match &list.allowed {
            Members::Domains(set) => Some(set),
            Members::Emails(_) | Members::Identifiers(_) => None,
        });
        self.domains.iter().map(|it| &it.allowed).chain(lists).any(names)
    }

    /// Returns whether the rule names tools, and `tool` among them.
    pub fn names_tool(&self, tool: &str) -> bool {
        self.tools.is_some() && self.is_about_tool(tool)
    }

    /// Returns the patterns of hosts that the rule compares values with, of its lists too.
    pub fn patterns(&self) -> impl Iterator<Item = &DomainPattern> {
        let lists = self.lists.iter().filter_map(|list| match &list.allowed {
            Members::Domains(set) => Some(set),
            Members::Emails(_) | Members::Identifiers(_) => None,
        });
        self.domains.iter().map(|it| &it.allowed).chain(lists).flat_map(DomainSet::patterns)
    }

    /// Returns the sets of patterns that the rule compares hosts with, of its lists too.
    pub(crate) fn host_sets_mut(&mut self) -> impl Iterator<Item = &mut DomainSet> {
        let lists = self.lists.iter_mut().filter_map(|list| match &mut list.allowed {
            Members::Domains(set) => Some(set),
            Members::Emails(_) | Members::Identifiers(_) => None,
        });
        self.domains.iter_mut().map(|it| &mut it.allowed).chain(lists)
    }

    /// Returns the texts that the rule's lists of identifiers and addresses are compared as.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.lists.iter().flat_map(|list| {
            let (one, other) = list.allowed.texts();
            one.into_iter().chain(other).flatten().map(String::as_str)
        })
    }

    /// Returns how many lists the rule compares values with.
    pub fn n_lists(&self) -> usize {
        self.lists.len()
    }

    /// Returns whether the list at `position` is compared with values of `role`.
    pub fn list_names(&self, position: usize, role: Role) -> bool {
        self.lists.get(position).is_some_and(|list| list.roles.contains(role))
    }

    /// Returns whether the list at `position` holds for `value` of `role`.
    pub fn list_holds(&self, position: usize, role: Role, value: &Value) -> bool {
        self.lists.get(position).is_some_and(|list| list.allowed.holds(role, value))
    }

    /// Returns the directory that the rule opens to `server`, and for which roles.
    pub(crate) fn opens(&self, server: &str) -> Option<(&CanonicalPath, RoleSet)> {
        let paths = self.paths.as_ref()?;
        let roles = self.roles.map_or(paths.roles, |roles| paths.roles.and(roles));
        let opens = self.effect == Effect::Allow && self.is_about(server);
        opens.then_some((&paths.within, roles))
    }
}

// === impl RoleSet ===

impl RoleSet {
    pub(crate) fn of(roles: &[Role]) -> Self {
        Self(roles.iter().fold(0, |bits, role| bits | 1 << *role as u32))
    }

    pub(crate) fn contains(self, role: Role) -> bool {
        self.0 & 1 << role as u32 != 0
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn len(self) -> usize {
        self.0.count_ones() as usize
    }
}

// === impl ListCondition ===

impl ListCondition {
    /// The condition must hold for every value of its roles, of which there is at least one.
    fn holds_for(&self, call: &ResolvedCall) -> Hold {
        let (mut n_values, mut n_members) = (0, 0);
        for entry in call.roles().iter().filter(|entry| self.roles.contains(entry.role)) {
            n_values += entry.values.len();
            n_members +=
                entry.values.iter().filter(|value| self.allowed.holds(entry.role, value)).count();
        }
        match (n_members, n_values) {
            (0, _) => Hold::No,
            (members, values) if members == values => Hold::Fully,
            _ => Hold::Partly,
        }
    }
}

/// The conditions of a rule, in words; prints as one line.
#[derive(Debug)]
pub struct Conditions<'a>(&'a Rule);

impl Rule {
    /// Returns the rule's conditions, to be printed.
    pub fn conditions(&self) -> Conditions<'_> {
        Conditions(self)
    }
}

impl fmt::Display for Conditions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(rule) = self;
        let mut parts = Vec::new();
        if let Some(servers) = &rule.servers {
            parts.push(format!("server is {}", servers.join(" or ")));
        }
        if let Some(tools) = &rule.tools {
            parts.push(format!("tool is {}", tools.join(" or ")));
        }
        if let Some(roles) = rule.roles {
            parts.push(format!("role is {roles}"));
        }
        if let Some(PathCondition { roles, within, leaves_sandbox }) = &rule.paths {
            let rest = if *leaves_sandbox { ", the sandbox aside" } else { "" };
            parts.push(format!("{roles} is within {within}{rest}"));
        }
        if let Some(DomainCondition { roles, allowed }) = &rule.domains {
            parts.push(format!("{roles} is one of {allowed}"));
        }
        for ListCondition { roles, allowed } in &rule.lists {
            parts.push(format!("{roles} is one of {allowed}"));
        }
        match parts.as_slice() {
            [] => f.write_str("anything"),
            parts => f.write_str(&parts.join(" and ")),
        }
    }
}

impl fmt::Display for RoleSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> =
            Role::all().filter(|role| self.contains(*role)).map(Role::as_str).collect();
        f.write_str(if names.is_empty() { "nothing" } else { "" })?;
        f.write_str(&names.join(" or "))
    }
}
