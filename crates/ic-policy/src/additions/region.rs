//! Where a sentence holds, and which of two is the more specific: in place, host, server and tool.
//!
//! Knows no verdict. A rule is compared with an addition only where both can hold.

use ic_types::{CanonicalPath, Role, ServerName, ToolName};

use super::{Addition, Place};
use crate::domain::DomainPattern;
use crate::rule::{RoleSet, Rule};

/// Where additions hold: that of one, or what several have in common.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Region {
    pub(super) server: ServerName,
    pub(super) tool: Option<ToolName>,
    pub(super) within: Option<CanonicalPath>,
    /// All of them have to hold.
    pub(super) hosts: Vec<DomainPattern>,
    /// `None` if it is about calls without resources too.
    pub(super) roles: Option<RoleSet>,
}

/// How specific one sentence is beside another, in one respect or in all.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Order {
    /// Both say the same.
    Same,
    /// The first is the more specific one.
    Narrower,
    /// The second is the more specific one.
    Wider,
    /// Each is more specific than the other in some respect.
    Mixed,
}

impl Order {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (order, Self::Same) | (Self::Same, order) => order,
            (Self::Narrower, Self::Narrower) => Self::Narrower,
            (Self::Wider, Self::Wider) => Self::Wider,
            (Self::Narrower | Self::Wider | Self::Mixed, _) => Self::Mixed,
        }
    }

    fn of(is_within: bool, holds: bool) -> Self {
        match (is_within, holds) {
            (true, true) => Self::Same,
            (true, false) => Self::Narrower,
            (false, true) => Self::Wider,
            (false, false) => Self::Mixed,
        }
    }
}

impl Region {
    /// Returns where `addition` holds for `server`; its directory leads to `within`.
    pub(super) fn of(
        addition: &Addition,
        server: &ServerName,
        within: Option<CanonicalPath>,
    ) -> Self {
        let is_bounded = addition.roles.is_some() || addition.place.is_some();
        let roles: Vec<Role> = Role::all().filter(|role| addition.is_about(*role)).collect();
        Self {
            server: server.clone(),
            tool: addition.tool.clone(),
            // The root of all is no place: everything lies in it.
            within: within.filter(|path| path.parent().is_some()),
            hosts: match &addition.place {
                Some(Place::Host(pattern)) => vec![pattern.clone()],
                Some(Place::Directory(_)) | None => Vec::new(),
            },
            roles: is_bounded.then(|| RoleSet::of(&roles)),
        }
    }

    /// Returns what both have in common, if there is anything.
    pub(super) fn meet(&self, other: &Self) -> Option<Self> {
        if self.server != other.server {
            return None;
        }
        let tool = match (&self.tool, &other.tool) {
            (Some(one), Some(other)) if one != other => return None,
            (Some(tool), _) | (None, Some(tool)) => Some(tool.clone()),
            (None, None) => None,
        };
        let within = match (&self.within, &other.within) {
            (Some(one), Some(other)) if one.is_within(other) => Some(one.clone()),
            (Some(one), Some(other)) if other.is_within(one) => Some(other.clone()),
            (Some(_), Some(_)) => return None,
            (Some(within), None) | (None, Some(within)) => Some(within.clone()),
            (None, None) => None,
        };
        let roles = match (self.roles, other.roles) {
            (Some(one), Some(other)) => Some(one.and(other)),
            (Some(roles), None) | (None, Some(roles)) => Some(roles),
            (None, None) => None,
        };
        let mut hosts = self.hosts.clone();
        for host in &other.hosts {
            if hosts.iter().any(|known| !known.meets(host)) {
                return None;
            }
            if !hosts.iter().any(|known| host.covers(known)) {
                hosts.retain(|known| !known.covers(host));
                hosts.push(host.clone());
            }
        }
        hosts.sort_by_key(ToString::to_string);
        let region = Self { server: self.server.clone(), tool, within, hosts, roles };
        (!roles.is_some_and(RoleSet::is_empty)).then_some(region)
    }

    /// Returns whether this lies in `other` wholly, roles included.
    pub(super) fn lies_in(&self, other: &Self) -> bool {
        let roles = match (self.roles, other.roles) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(roles), Some(other)) => roles.and(other) == roles,
        };
        roles
            && self.server == other.server
            && matches!(self.order(other), Order::Same | Order::Narrower)
    }

    /// Returns which of two regions of one server is more specific.
    pub(super) fn order(&self, other: &Self) -> Order {
        let tool = Order::of(
            other.tool.is_none() || self.tool == other.tool,
            self.tool.is_none() || self.tool == other.tool,
        );
        let inside =
            |inner: &Option<CanonicalPath>, outer: &Option<CanonicalPath>| match (inner, outer) {
                (_, None) => true,
                (None, Some(_)) => false,
                (Some(inner), Some(outer)) => inner.is_within(outer),
            };
        let place =
            Order::of(inside(&self.within, &other.within), inside(&other.within, &self.within));
        let narrowed = |inner: &[DomainPattern], outer: &[DomainPattern]| {
            outer.iter().all(|wide| inner.iter().any(|narrow| wide.covers(narrow)))
        };
        let host =
            Order::of(narrowed(&self.hosts, &other.hosts), narrowed(&other.hosts, &self.hosts));
        tool.and(place).and(host)
    }

    /// Returns the roles about which both this and `rule` can be asked.
    pub(super) fn common_roles(&self, rule: &Rule) -> RoleSet {
        let is_common = |role: &Role| {
            self.roles.is_none_or(|roles| roles.contains(*role)) && rule.is_relevant_to(*role)
        };
        RoleSet::of(&Role::all().filter(is_common).collect::<Vec<_>>())
    }

    /// Returns how specific this is beside `rule`; `None` if there is no call for which both can hold.
    pub(super) fn order_beside(&self, rule: &Rule) -> Option<Order> {
        if !rule.is_about(self.server.as_str())
            || self.tool.as_ref().is_some_and(|tool| !rule.is_about_tool(tool.as_str()))
            || self.common_roles(rule).is_empty()
        {
            return None;
        }
        let is_one = |names: &Option<Vec<String>>, name: &str| {
            names.as_ref().is_some_and(|names| names.iter().all(|it| it == name))
        };
        let server = Order::of(true, is_one(&rule.servers, self.server.as_str()));
        let tool = match &self.tool {
            Some(tool) => Order::of(true, is_one(&rule.tools, tool.as_str())),
            None => Order::of(rule.tools.is_none(), true),
        };
        let place = match (&self.within, place_of(rule)) {
            (None, None) => Order::Same,
            (Some(_), None) => Order::Narrower,
            (None, Some(_)) => Order::Wider,
            (Some(within), Some(other)) => {
                let order = Order::of(within.is_within(other), other.is_within(within));
                (order != Order::Mixed).then_some(order)?
            }
        };
        let lists = if rule.lists.is_empty() { Order::Same } else { Order::Wider };
        Some(server.and(tool).and(place).and(self.host_order(rule)?).and(lists))
    }

    fn host_order(&self, rule: &Rule) -> Option<Order> {
        let Some(domains) = &rule.domains else {
            return Some(if self.hosts.is_empty() { Order::Same } else { Order::Narrower });
        };
        if self.hosts.is_empty() {
            return Some(Order::Wider);
        }
        let mut met = domains.allowed.patterns().iter().filter(|it| self.meets_host(it)).peekable();
        met.peek()?;
        // SECURITY: a pattern of the rule that is as specific as this counts, whatever stands beside it.
        Some(met.map(|it| self.pattern_order(it)).fold(Order::Narrower, |all, one| {
            match (all, one) {
                (Order::Narrower, one) => one,
                (all, Order::Narrower) => all,
                (Order::Same, one) | (one, Order::Same) => one,
                (Order::Wider, Order::Wider) => Order::Wider,
                (Order::Wider | Order::Mixed, Order::Wider | Order::Mixed) => Order::Mixed,
            }
        }))
    }

    fn meets_host(&self, pattern: &DomainPattern) -> bool {
        self.hosts.iter().all(|host| host.meets(pattern))
    }

    fn pattern_order(&self, pattern: &DomainPattern) -> Order {
        Order::of(
            self.hosts.iter().any(|host| pattern.covers(host)),
            self.hosts.iter().all(|host| host.covers(pattern)),
        )
    }

    /// Returns those patterns of a rule that are not wider than this in every respect.
    pub(super) fn specific_patterns(&self, patterns: &[DomainPattern]) -> Vec<DomainPattern> {
        let specific =
            |it: &&DomainPattern| self.meets_host(it) && self.pattern_order(it) != Order::Narrower;
        let found: Vec<DomainPattern> = patterns.iter().filter(specific).cloned().collect();
        // Where all are wider, the rule stands for something else than its hosts.
        if found.is_empty() { patterns.to_vec() } else { found }
    }
}

/// Returns the directory that a rule is about; the root of all is none.
pub(super) fn place_of(rule: &Rule) -> Option<&CanonicalPath> {
    rule.paths.as_ref().map(|paths| &paths.within).filter(|within| within.parent().is_some())
}
