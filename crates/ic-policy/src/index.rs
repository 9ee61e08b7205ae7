//! Finds the rules that may settle a value without walking all of them.
//!
//! Rules go into buckets by what they say of server and tool; in a bucket, for each role, into a
//! tree of directories, a table of hosts, a table of texts, and the first rule without conditions,
//! behind which no other rule of the bucket can matter. What is found for a value is a superset of
//! the rules that hold for it, in the policy's order; the rule itself is asked in the end. So the
//! index decides nothing, and a test compares it with a walk over all rules. A second tree has the
//! places of rules that deny or escalate, to find those that lie beneath a value.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};

use ic_types::{CanonicalPath, Host, Role, ServerName, ToolName};

use crate::call::Value;
use crate::domain::{Destination, DomainSet, HostPattern};
use crate::effect::Effect;
use crate::rule::{Members, Rule, comparable};

/// The position of a rule in its policy.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) struct RuleId(u32);

/// The index of a policy's rules.
#[derive(Debug, Default)]
pub(crate) struct Index {
    any_server: ToolBuckets,
    servers: HashMap<String, ToolBuckets>,
    /// Whether a rule restricts by a role that is no resource, so that a call with resources is asked for it.
    has_restriction_beside: bool,
}

#[derive(Debug, Default)]
struct ToolBuckets {
    any_tool: Bucket,
    tools: HashMap<String, Bucket>,
}

/// The rules that say the same of server and tool.
#[derive(Debug, Default)]
struct Bucket {
    /// By [`Role`] as a number.
    roles: Vec<RoleIndex>,
    /// Rules that may hold for a call without resource roles.
    whole: Vec<RuleId>,
    whole_is_closed: bool,
}

#[derive(Debug, Default)]
struct RoleIndex {
    /// The first rule without conditions on values: it settles whatever is left.
    always: Option<RuleId>,
    paths: PathTree,
    hosts: HostTable,
    texts: HashMap<String, Vec<RuleId>>,
    /// Rules that no table holds; they are always asked.
    others: Vec<RuleId>,
    /// The places of rules that deny or escalate, of those too that settle nothing.
    restricting: PlaceTree,
}

/// What rules deny or escalate beneath each directory.
#[derive(Debug, Default)]
struct PlaceTree {
    first_denying: Option<RuleId>,
    first_escalating: Option<RuleId>,
    /// Rules with further conditions, each of which is asked.
    conditional: Vec<RuleId>,
    children: HashMap<OsString, PlaceTree>,
}

#[derive(Debug, Default)]
struct PathTree {
    rules: Vec<RuleId>,
    /// Whether the last rule here settles everything beneath, so that later ones cannot matter.
    is_closed: bool,
    /// Whether it settles the entry of this directory too.
    settles_itself: bool,
    children: HashMap<OsString, PathTree>,
}

#[derive(Debug, Default)]
struct HostTable {
    any_public: Vec<RuleId>,
    exact: HashMap<Host, Vec<RuleId>>,
    under: HashMap<String, Vec<RuleId>>,
}

// === impl RuleId ===

impl RuleId {
    pub(crate) fn position(self) -> usize {
        self.0 as usize
    }
}

// === impl Index ===

impl Index {
    pub(crate) fn new(rules: &[Rule]) -> Self {
        let mut index = Self::default();
        for (id, rule) in (0..).map(RuleId).zip(rules) {
            index.has_restriction_beside |= rule.restricts_beside();
            match &rule.servers {
                None => index.any_server.insert(id, rule),
                Some(servers) => {
                    for server in servers {
                        index.servers.entry(server.clone()).or_default().insert(id, rule);
                    }
                }
            }
        }
        index
    }

    /// Returns the rules that may settle `value` of `role`, in the policy's order.
    pub(crate) fn candidates(
        &self,
        (server, tool): (&ServerName, &ToolName),
        role: Role,
        value: &Value,
    ) -> Vec<RuleId> {
        let mut found = Vec::new();
        for bucket in self.buckets(server, tool) {
            if let Some(index) = bucket.roles.get(role as usize) {
                index.collect(value, &mut found);
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns rules that deny or escalate for places beneath `path`, in the policy's order.
    ///
    /// Of the rules that say the same of server and tool, the first of each effect is enough, as long
    /// as nothing but their place is asked.
    pub(crate) fn restricting_beneath(
        &self,
        (server, tool): (&ServerName, &ToolName),
        role: Role,
        path: &CanonicalPath,
    ) -> Vec<RuleId> {
        let mut found = Vec::new();
        for bucket in self.buckets(server, tool) {
            if let Some(index) = bucket.roles.get(role as usize) {
                index.restricting.collect_beneath(path, &mut found);
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns the first rule for `role` that asks for no value.
    pub(crate) fn without_values(
        &self,
        (server, tool): (&ServerName, &ToolName),
        role: Role,
    ) -> Option<RuleId> {
        self.buckets(server, tool)
            .filter_map(|bucket| bucket.roles.get(role as usize)?.always)
            .min()
    }

    /// Returns the rules that may hold for a call without resource roles, in the policy's order.
    pub(crate) fn whole(&self, server: &ServerName, tool: &ToolName) -> Vec<RuleId> {
        let mut found: Vec<_> =
            self.buckets(server, tool).flat_map(|bucket| &bucket.whole).copied().collect();
        found.sort_unstable();
        found
    }

    /// Returns whether some rule restricts by a role that is no resource.
    pub(crate) fn has_restriction_beside(&self) -> bool {
        self.has_restriction_beside
    }

    fn buckets(&self, server: &ServerName, tool: &ToolName) -> impl Iterator<Item = &Bucket> {
        [Some(&self.any_server), self.servers.get(server.as_str())]
            .into_iter()
            .flatten()
            .flat_map(move |tools| [Some(&tools.any_tool), tools.tools.get(tool.as_str())])
            .flatten()
    }
}

impl ToolBuckets {
    fn insert(&mut self, id: RuleId, rule: &Rule) {
        match &rule.tools {
            None => self.any_tool.insert(id, rule),
            Some(tools) => {
                for tool in tools {
                    self.tools.entry(tool.clone()).or_default().insert(id, rule);
                }
            }
        }
    }
}

// === impl Bucket ===

impl Bucket {
    fn insert(&mut self, id: RuleId, rule: &Rule) {
        self.roles.resize_with(Role::all().count(), RoleIndex::default);
        for role in Role::all().filter(|role| role.is_resource() && rule.is_relevant_to(*role)) {
            if let Some(index) = self.roles.get_mut(role as usize) {
                index.insert(id, rule, role);
            }
        }
        // A server or tool named twice in one rule brings it here twice.
        let is_new = self.whole.last() != Some(&id);
        if !self.whole_is_closed && is_new && rule.paths.is_none() && rule.domains.is_none() {
            self.whole.push(id);
            self.whole_is_closed = rule.is_unconditional() && rule.roles.is_none();
        }
    }
}

// === impl RoleIndex ===

impl RoleIndex {
    fn insert(&mut self, id: RuleId, rule: &Rule, role: Role) {
        self.restricting.insert(id, rule);
        if self.always.is_some() {
            return;
        }
        if rule.is_unconditional() {
            self.always = Some(id);
            return;
        }
        // One condition finds the rule; the others are asked of the rule itself.
        if let Some(paths) = &rule.paths {
            let closes = rule.domains.is_none() && rule.lists.is_empty();
            self.paths.insert(&paths.within, id, (closes, rule.effect));
        } else if let Some(domains) = &rule.domains {
            self.hosts.insert(&domains.allowed, id);
        } else {
            let own = rule.lists.iter().find(|list| list.roles.contains(role));
            match own.map(|list| &list.allowed) {
                Some(Members::Domains(set)) => self.hosts.insert(set, id),
                // A branch has more than one name.
                Some(Members::Identifiers(all)) if role != Role::BranchName => {
                    for member in all.of(role) {
                        push_once(self.texts.entry(member.clone()).or_default(), id);
                    }
                }
                Some(Members::Emails(_) | Members::Identifiers(_)) | None => self.others.push(id),
            }
        }
    }

    fn collect(&self, value: &Value, found: &mut Vec<RuleId>) {
        found.extend(self.always);
        found.extend(&self.others);
        if !self.texts.is_empty() {
            found.extend(self.texts.get(&comparable(value)).into_iter().flatten());
        }
        match value {
            Value::Path(value) => self.paths.collect(&value.path, found),
            Value::Url(url) => self.hosts.collect(&url.destination, found),
            Value::Text(text) => {
                if let (false, Some(destination)) =
                    (self.hosts.is_empty(), Destination::parse_authority(text))
                {
                    self.hosts.collect(&destination, found);
                }
            }
            Value::LocalRemote(_) => {}
        }
    }
}

// === impl PathTree ===

impl PathTree {
    fn insert(&mut self, within: &CanonicalPath, id: RuleId, (closes, effect): (bool, Effect)) {
        let mut node = self;
        for component in within.components() {
            if node.is_closed {
                return;
            }
            node = node.children.entry(component.to_owned()).or_default();
        }
        // An allowing rule settles what is in its place, and not the entry of the place itself.
        if !node.settles_itself {
            push_once(&mut node.rules, id);
            node.is_closed |= closes;
            node.settles_itself = closes && effect != Effect::Allow;
        }
    }

    fn collect(&self, path: &CanonicalPath, found: &mut Vec<RuleId>) {
        found.extend(&self.rules);
        let mut node = self;
        for component in path.components() {
            let Some(child) = node.children.get::<OsStr>(component) else { return };
            found.extend(&child.rules);
            node = child;
        }
    }
}

// === impl PlaceTree ===

impl PlaceTree {
    fn insert(&mut self, id: RuleId, rule: &Rule) {
        let Some(place) = rule.place().filter(|_| rule.effect != Effect::Allow) else { return };
        let mut node = self;
        for component in place.components() {
            node.note(id, rule);
            node = node.children.entry(component.to_owned()).or_default();
        }
    }

    /// Notes a rule about a place beneath this one.
    fn note(&mut self, id: RuleId, rule: &Rule) {
        let has_conditions = !rule.lists.is_empty() || rule.domains.is_some();
        match rule.effect {
            Effect::Escalate | Effect::Deny if has_conditions => {
                push_once(&mut self.conditional, id);
            }
            Effect::Escalate => _ = self.first_escalating.get_or_insert(id),
            Effect::Deny => _ = self.first_denying.get_or_insert(id),
            Effect::Allow => {}
        }
    }

    fn collect_beneath(&self, path: &CanonicalPath, found: &mut Vec<RuleId>) {
        let mut node = self;
        for component in path.components() {
            let Some(child) = node.children.get::<OsStr>(component) else { return };
            node = child;
        }
        found.extend(node.first_denying.into_iter().chain(node.first_escalating));
        found.extend(&node.conditional);
    }
}

// === impl HostTable ===

impl HostTable {
    fn insert(&mut self, set: &DomainSet, id: RuleId) {
        for host in set.hosts() {
            let rules = match host {
                HostPattern::AnyPublic => &mut self.any_public,
                HostPattern::Under(name) => self.under.entry(name.clone()).or_default(),
                HostPattern::Exact(host) => self.exact.entry(host.clone()).or_default(),
            };
            push_once(rules, id);
        }
    }

    fn collect(&self, destination: &Destination, found: &mut Vec<RuleId>) {
        found.extend(&self.any_public);
        found.extend(self.exact.get(&destination.host).into_iter().flatten());
        let unmapped = destination.host.unmapped();
        if unmapped != destination.host {
            found.extend(self.exact.get(&unmapped).into_iter().flatten());
        }
        if let Host::Name(name) = &destination.host
            && !self.under.is_empty()
        {
            found.extend(name.suffixes().filter_map(|name| self.under.get(name)).flatten());
        }
    }

    fn is_empty(&self) -> bool {
        self.any_public.is_empty() && self.exact.is_empty() && self.under.is_empty()
    }
}

/// Adds `id` unless it was the last one added; rules come in order.
fn push_once(rules: &mut Vec<RuleId>, id: RuleId) {
    if rules.last() != Some(&id) {
        rules.push(id);
    }
}
