//! Rules in pieces: one effect, one role, one area, some servers and tools; and the place that a sentence
//! names for a piece, which depends on the pieces that are asked before it.

use std::collections::BTreeSet;

use ic_policy::{DomainPattern, Effect};
use ic_types::{Category, Role};

use super::given::{Given, GivenList};
use crate::compile::Tool;
use crate::sentence::{Directory, HostPlace, NamePlace, Place};

/// What a rule says about one role, or about everything that tools do.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) rule: usize,
    pub(super) effect: Effect,
    /// `None` for all of them, and for calls as a whole.
    pub(super) role: Option<Role>,
    pub(super) servers: Option<BTreeSet<String>>,
    pub(super) tools: Option<BTreeSet<String>>,
    pub(super) area: Area,
}

/// The values that a piece is about.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Area {
    /// All, and calls without a value.
    All,
    /// Every path.
    Top,
    /// Every path; but the sandbox is left to containment.
    Elsewhere,
    In(Directory),
    /// A directory that *anywhere else* leaves out; but the sandbox is left to containment.
    LeftOut(Directory),
    At(Vec<HostPlace>),
    Names(Vec<NamePlace>),
}

/// Takes a rule apart; `None` if it has no plain form.
pub(super) fn pieces(rule: &Given, position: usize) -> Option<Vec<Piece>> {
    let set = |all: &Option<Vec<String>>| all.as_ref().map(|all| all.iter().cloned().collect());
    let piece = |role: Option<Role>, area: Area| Piece {
        rule: position,
        effect: rule.effect,
        role,
        servers: set(&rule.servers),
        tools: set(&rule.tools),
        area,
    };
    if rule.is_about_all() {
        return Some(vec![piece(None, Area::All)]);
    }
    let roles: Vec<Role> = Role::all().filter(|role| rule.is_relevant_to(*role)).collect();
    let area = match (&rule.paths, &rule.domains, rule.lists.as_slice()) {
        (None, None, []) => Area::All,
        (Some(paths), None, []) => {
            if roles.iter().any(|role| role.category() != Category::Path) {
                return None;
            }
            match (directory(&paths.within), paths.leaves_sandbox) {
                (Some(directory), false) => Area::In(directory),
                (None, false) => Area::Top,
                (None, true) if rule.effect == Effect::Deny => Area::Elsewhere,
                (Some(directory), true) if rule.effect == Effect::Deny => Area::LeftOut(directory),
                (_, true) => return None,
            }
        }
        (None, Some((_, allowed)), []) => hosts(&roles, allowed)?,
        (None, None, [list]) => listed(rule, &roles, list)?,
        _ => return None,
    };
    Some(roles.into_iter().map(|role| piece(Some(role), area.clone())).collect())
}

/// Reads a directory of a rule; `None` is the root of all.
fn directory(within: &str) -> Option<Directory> {
    let parts = |text: &str| {
        text.split('/').filter(|it| !it.is_empty() && *it != ".").collect::<Vec<_>>().join("/")
    };
    if let Some(rest) = within.strip_prefix("${SANDBOX}") {
        return Some(Directory::Sandbox(parts(rest)));
    }
    match (within.strip_prefix('~'), parts(within)) {
        (Some(rest), _) if parts(rest).is_empty() => Some(Directory::At("~".to_owned())),
        (Some(rest), _) => Some(Directory::At(format!("~/{}", parts(rest)))),
        (None, path) if path.is_empty() => None,
        (None, path) => Some(Directory::At(format!("/{path}"))),
    }
}

fn is_host(role: Role) -> bool {
    role.category() == Category::Url || role == Role::ProxyDomain
}

fn hosts(roles: &[Role], allowed: &[String]) -> Option<Area> {
    let host = |text: &String| match text.strip_prefix('@') {
        Some(name) => Some(HostPlace::List(name.to_owned())),
        None => DomainPattern::parse(text).ok().map(HostPlace::Pattern),
    };
    let hosts = allowed.iter().map(host).collect::<Option<Vec<_>>>()?;
    (roles.iter().all(|role| is_host(*role)) && !hosts.is_empty()).then_some(Area::At(hosts))
}

fn listed(rule: &Given, roles: &[Role], list: &GivenList) -> Option<Area> {
    // For calls as a whole both would be a condition.
    if rule.roles.as_ref().is_some_and(|all| *all != list.roles) {
        return None;
    }
    let is_name = |role: &Role| {
        role.category() == Category::Identifier && *role != Role::ProxyDomain
            || matches!(role, Role::BranchName | Role::SharePermission)
    };
    let is_fit = match list.kind.as_str() {
        "domains" => return hosts(roles, &list.allowed),
        "emails" => roles.iter().all(|role| *role == Role::EmailAddress),
        "identifiers" => roles.iter().all(is_name),
        _ => false,
    };
    let name = |text: &String| match text.strip_prefix('@') {
        Some(name) => NamePlace::List(name.to_owned()),
        None => NamePlace::Name(text.clone()),
    };
    // Several roles of one list are one condition of a call.
    (is_fit && roles.len() == 1 && !list.allowed.is_empty())
        .then(|| Area::Names(list.allowed.iter().map(name).collect()))
}

impl Piece {
    /// Returns whether all calls of `other` are calls of this.
    fn covers_scope(&self, other: &Self) -> bool {
        let covers = |wide: &Option<BTreeSet<String>>, narrow: &Option<BTreeSet<String>>| match (
            wide, narrow,
        ) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(wide), Some(narrow)) => narrow.is_subset(wide),
        };
        covers(&self.servers, &other.servers) && covers(&self.tools, &other.tools)
    }

    fn meets_scope(&self, other: &Self) -> bool {
        let meets =
            |one: &Option<BTreeSet<String>>, other: &Option<BTreeSet<String>>| match (one, other) {
                (Some(one), Some(other)) => !one.is_disjoint(other),
                _ => true,
            };
        meets(&self.servers, &other.servers) && meets(&self.tools, &other.tools)
    }

    /// Returns whether this is asked about whatever `other` is about.
    fn is_about(&self, other: &Self) -> bool {
        self.role.is_none() || self.role == other.role
    }

    /// Returns whether nothing is left of this after `earlier`.
    pub(super) fn is_dead(&self, earlier: &[Self]) -> bool {
        earlier
            .iter()
            .any(|it| it.is_about(self) && it.covers_scope(self) && it.area.covers(&self.area))
    }

    /// Returns the place that a sentence names for this; `None` if there is none that means the same.
    pub(super) fn place(&self, earlier: &[Self], tools: &[Tool]) -> Option<Place> {
        let about = || earlier.iter().filter(|it| it.is_about(self) || self.role.is_none());
        // A *never* without a place would silence them.
        let softens = || {
            about().any(|it| {
                it.effect != Effect::Deny && it.meets_scope(self) && it.can_have(self.role, tools)
            })
        };
        let is_never = self.effect == Effect::Deny;
        let is_path = self.role.is_some_and(|role| role.category() == Category::Path);
        match &self.area {
            Area::In(directory) => Some(Place::Directories(vec![directory.clone()])),
            Area::At(hosts) => Some(Place::Hosts(hosts.clone())),
            Area::Names(names) => Some(Place::Names(names.clone())),
            // The sentence that leaves it out says so.
            Area::LeftOut(_) => None,
            Area::Top => match self.effect {
                Effect::Allow if self.is_elsewhere(&about().collect::<Vec<_>>()) => {
                    Some(Place::Elsewhere)
                }
                Effect::Allow => Some(Place::Anywhere),
                Effect::Escalate => Some(Place::Elsewhere),
                Effect::Deny => (!softens()).then_some(Place::Unsaid),
            },
            Area::Elsewhere => Some(Place::Elsewhere),
            Area::All if self.role.is_none() => (!is_never || !softens()).then_some(Place::Unsaid),
            Area::All if is_path => {
                let is_all = |area: &Area| matches!(area, Area::Top | Area::Elsewhere);
                let is_top = |it: &&Self| is_all(&it.area) && it.covers_scope(self);
                match about().any(|it| is_top(&it)) {
                    true => Some(Place::Unnamed),
                    false => (!is_never || !softens()).then_some(Place::Unsaid),
                }
            }
            Area::All => {
                let is_web = |it: &&Self| it.area.is_web() && it.covers_scope(self);
                match (about().any(|it| is_web(&it)), is_never && softens()) {
                    (true, _) => Some(Place::Hosts(vec![HostPlace::Local])),
                    (false, true) => Some(Place::Elsewhere),
                    (false, false) => Some(Place::Unsaid),
                }
            }
        }
    }

    /// Returns whether *anywhere else* says of a *may* what comes before it: it leaves every place that is
    /// restricted before for some calls alone.
    fn is_elsewhere(&self, about: &[&Self]) -> bool {
        let is_place = |it: &&Self| matches!(it.area, Area::In(_) | Area::LeftOut(_));
        let places = || about.iter().copied().filter(is_place);
        let is_left = |one: &Self| {
            let stops = |it: &Self| it.effect != Effect::Allow && it.covers_scope(self);
            about.iter().any(|it| stops(it) && it.area.covers(&one.area))
        };
        places().next().is_some() && places().filter(|it| it.effect != Effect::Allow).all(is_left)
    }

    /// Returns whether a tool that this names can have the role, or may come to have it.
    fn can_have(&self, role: Option<Role>, tools: &[Tool]) -> bool {
        let (Some(role), None, Some(names)) = (role, self.role, &self.tools) else { return true };
        let is_one = |it: &&Tool| {
            names.contains(it.tool.as_str())
                && self.servers.as_ref().is_none_or(|all| all.contains(it.server.as_str()))
        };
        let mut named = tools.iter().filter(is_one).peekable();
        named.peek().is_none() || named.any(|it| it.roles.contains(&role))
    }

    /// Returns what this and a later piece have in common, if a sentence is needed to say that this counts.
    pub(super) fn before(&self, later: &Self) -> Option<Self> {
        let is_needed = self.role.is_some()
            && self.role == later.role
            && self.effect < later.effect
            && self.meets_scope(later)
            && !(later.covers_scope(self) && later.area.covers(&self.area));
        let area = match (self.area.covers(&later.area), later.area.covers(&self.area)) {
            (true, _) => later.area.clone(),
            (false, true) => self.area.clone(),
            (false, false) => return None,
        };
        let common =
            |one: &Option<BTreeSet<String>>, other: &Option<BTreeSet<String>>| match (one, other) {
                (Some(one), Some(other)) => Some(one.intersection(other).cloned().collect()),
                (Some(all), None) | (None, Some(all)) => Some(all.clone()),
                (None, None) => None,
            };
        is_needed.then(|| Self {
            servers: common(&self.servers, &later.servers),
            tools: common(&self.tools, &later.tools),
            area,
            ..self.clone()
        })
    }
}

impl Area {
    fn is_web(&self) -> bool {
        let is_any = |it: &HostPlace| match (it, crate::parse::web()) {
            (HostPlace::Pattern(pattern), Some(web)) => pattern.covers(&web),
            (HostPlace::Pattern(_), None) | (HostPlace::List(_) | HostPlace::Local, _) => false,
        };
        matches!(self, Self::At(all) if all.iter().any(is_any))
    }

    fn covers(&self, inner: &Self) -> bool {
        match (self, inner) {
            (Self::All, _)
            | (Self::Top, Self::Top | Self::Elsewhere | Self::In(_) | Self::LeftOut(_))
            | (Self::Elsewhere, Self::Elsewhere | Self::In(Directory::At(_)) | Self::LeftOut(_)) => {
                true
            }
            (Self::In(outer) | Self::LeftOut(outer), Self::In(inner) | Self::LeftOut(inner)) => {
                crate::compile::is_beneath(inner, outer)
            }
            (Self::At(outer), Self::At(inner)) => {
                let holds = |wide: &HostPlace, narrow: &HostPlace| match (wide, narrow) {
                    (HostPlace::Pattern(wide), HostPlace::Pattern(narrow)) => wide.covers(narrow),
                    (wide, narrow) => wide == narrow,
                };
                inner.iter().all(|narrow| outer.iter().any(|wide| holds(wide, narrow)))
            }
            (Self::Names(outer), Self::Names(inner)) => inner.iter().all(|it| outer.contains(it)),
            _ => false,
        }
    }
}
