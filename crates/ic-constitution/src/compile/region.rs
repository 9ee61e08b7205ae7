//! Where atoms hold together: the regions of all atoms, and what any of them have in common.

use std::collections::{BTreeSet, HashSet};

use ic_policy::Effect;
use ic_types::{Role, ToolName};

use super::atom::{Atom, HostCondition, Reach, Spot, is_beneath, parts};
use crate::grammar::BUILT_IN_SERVERS;
use crate::sentence::{Directory, NamePlace};

/// A set of values, or of calls without resources.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Region {
    pub(super) reach: Reach,
    pub(super) tool: Option<ToolName>,
    pub(super) has: Option<Role>,
    pub(super) area: Area,
}

/// The part of a region that is about values.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Area {
    General,
    Directory(Directory),
    /// All of them have to hold; sorted by their text.
    Hosts(Vec<HostCondition>),
    /// All of them have to hold.
    Names(Vec<(Role, BTreeSet<NamePlace>)>),
}

/// Too many regions would be needed.
pub(super) struct TooMany;

impl Region {
    pub(super) fn of(atom: &Atom) -> Self {
        let area = Area::of(&atom.spot, atom.effect);
        Self { reach: atom.reach.clone(), tool: atom.tool.clone(), has: atom.has, area }
    }

    /// Returns the places that a *may anywhere else* leaves, for the calls that it is about.
    ///
    /// They need rules of their own: its rule would hold there for servers that no other sentence is about.
    pub(super) fn left_by(atom: &Atom) -> impl Iterator<Item = Self> {
        let own = Self::of(atom);
        let everyone = |area| Self { reach: Reach::Any, tool: None, has: None, area };
        let areas = atom.leaves.iter().map(|spot| Area::of(spot, Effect::Deny));
        areas.filter(|area| *area != Area::General).filter_map(move |it| everyone(it).meet(&own))
    }

    /// Returns what both have in common, if there is something that a rule can be about.
    pub(super) fn meet(&self, other: &Self) -> Option<Self> {
        let area = self.area.meet(&other.area)?;
        let reach = self.reach.meet(&other.reach)?;
        let tool = match (&self.tool, &other.tool) {
            (Some(one), Some(other)) if one != other => return None,
            (Some(tool), _) | (None, Some(tool)) => Some(tool.clone()),
            (None, None) => None,
        };
        let has = match (self.has, other.has) {
            (Some(one), Some(other)) if one != other => return None,
            (one, other) => one.or(other),
        };
        Some(Self { reach, tool, has: has.filter(|role| !area.has(*role)), area })
    }

    /// Returns whether all of `inner` lies in this.
    pub(super) fn contains(&self, inner: &Self) -> bool {
        self.reach.covers(&inner.reach)
            && (self.tool.is_none() || self.tool == inner.tool)
            && self.has.is_none_or(|role| inner.has == Some(role) || inner.area.has(role))
            && self.area.contains(&inner.area)
    }

    /// Returns whether this lies in `outer` and is not the same.
    pub(super) fn is_inside(&self, outer: &Self) -> bool {
        outer.contains(self) && !self.contains(outer)
    }

    /// Returns whether values have to fulfil more than one condition.
    pub(super) fn has_several_conditions(&self) -> bool {
        match &self.area {
            Area::General | Area::Directory(_) => false,
            Area::Hosts(all) => 1 < all.len(),
            Area::Names(all) => 1 < all.len(),
        }
    }

    /// Returns whether the atom, whose region is `own`, holds in all of this region.
    pub(super) fn is_of(&self, atom: &Atom, own: &Self) -> bool {
        let applies = match (&atom.spot, &self.area) {
            (Spot::Elsewhere, _) => {
                !(self.is_left_by(atom) || self.is_in_sandbox() && atom.is_restriction_elsewhere())
            }
            (Spot::Unnamed, area) => *area == Area::General,
            (Spot::Local, Area::Hosts(conditions)) => !conditions.iter().any(is_web),
            _ => true,
        };
        applies && own.contains(self)
    }

    /// Returns whether a *may anywhere else* leaves all of this to sentences that restrict it.
    pub(super) fn is_left_by(&self, atom: &Atom) -> bool {
        atom.leaves.iter().any(|spot| match (spot, &self.area) {
            // What stands behind the rule for the web is local, or names no host.
            (Spot::Local, Area::General) => true,
            (Spot::Local, Area::Hosts(conditions)) => !conditions.iter().any(is_web),
            (Spot::Local, Area::Directory(_) | Area::Names(_)) => false,
            (spot, area) => Area::of(spot, Effect::Deny).contains(area),
        })
    }

    /// Returns whether it is a directory of the sandbox.
    pub(super) fn is_in_sandbox(&self) -> bool {
        matches!(self.area, Area::Directory(Directory::Sandbox(_)))
    }

    /// Returns whether it is the sandbox as a whole.
    pub(super) fn is_sandbox(&self) -> bool {
        self.area == Area::sandbox()
    }

    /// Returns whether this is about all servers and tools that both are about, whatever the values.
    pub(super) fn is_for(&self, other: &Self) -> bool {
        let tools = self.tool.is_none() || self.tool == other.tool;
        tools && self.reach.covers(&other.reach)
    }

    /// Ranks regions: what lies in another and is not the same has a higher rank.
    pub(super) fn rank(&self) -> usize {
        let reach = match self.reach {
            Reach::Any => 0,
            Reach::BuiltIn => 1,
            Reach::One(_) => 2,
        };
        let area = match &self.area {
            Area::General => 0,
            Area::Directory(directory) => {
                2 + parts(directory).1.split('/').filter(|it| !it.is_empty()).count()
            }
            Area::Hosts(all) => all.iter().map(rank_of).sum(),
            Area::Names(all) => {
                all.iter().map(|(_, names)| 100_000_usize.saturating_sub(names.len())).sum()
            }
        };
        reach + usize::from(self.tool.is_some()) + usize::from(self.has.is_some()) + area
    }

    /// Returns whether values may lie in both although no rule can be about them alone.
    pub(super) fn is_apart_from(&self, other: &Self) -> bool {
        let kinds = match (&self.area, &other.area) {
            (Area::Directory(one), Area::Directory(other)) => parts(one).0 != parts(other).0,
            _ => false,
        };
        let tools = self.tool.is_none() || other.tool.is_none() || self.tool == other.tool;
        let servers = self.reach.covers(&other.reach) || other.reach.covers(&self.reach);
        kinds && tools && servers
    }

    /// Writes the region so that equal ones are equal, and the order of sentences does not matter.
    pub(super) fn key(&self) -> String {
        format!("{self:?}")
    }
}

fn rank_of(condition: &HostCondition) -> usize {
    match condition {
        HostCondition::List { is_wide, .. } => 1 + usize::from(!is_wide),
        HostCondition::Pattern(pattern) => {
            let text = pattern.to_string();
            let text = text.trim_start_matches('=');
            let (scheme, rest) = text.split_once("://").map_or((0, text), |(_, rest)| (1, rest));
            let (authority, repository) =
                rest.split_once('/').map_or((rest, 0), |(authority, _)| (authority, 1));
            let labels = authority.split('.').count();
            let host = match authority.strip_prefix('*') {
                Some(rest) if rest.is_empty() || rest.starts_with(':') => 1,
                Some(_) => 1 + labels,
                None => 1000,
            };
            let is_any_port = authority.ends_with(":*");
            let has_port = !authority.ends_with(']') && authority.contains(':');
            let port = usize::from(has_port && !is_any_port);
            let is_wide = pattern.is_wide() || is_any_port;
            host + scheme + port + repository + usize::from(!is_wide)
        }
    }
}

/// Returns whether a condition holds for the web alone.
fn is_web(condition: &HostCondition) -> bool {
    match (condition, crate::parse::web()) {
        (HostCondition::Pattern(pattern), Some(web)) => web.read_by(Effect::Deny).covers(pattern),
        (HostCondition::Pattern(_), None) | (HostCondition::List { .. }, _) => false,
    }
}

impl Reach {
    /// Returns whether this is about every server that `inner` is about.
    pub(super) fn covers(&self, inner: &Self) -> bool {
        match (self, inner) {
            (Self::Any, _) | (Self::BuiltIn, Self::BuiltIn) => true,
            (Self::BuiltIn, Self::One(name)) => BUILT_IN_SERVERS.contains(&name.as_str()),
            (Self::One(one), Self::One(other)) => one == other,
            (Self::BuiltIn | Self::One(_), Self::Any) | (Self::One(_), Self::BuiltIn) => false,
        }
    }

    pub(super) fn meet(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::Any, it) | (it, Self::Any) => Some(it.clone()),
            (Self::BuiltIn, Self::BuiltIn) => Some(Self::BuiltIn),
            (Self::BuiltIn, Self::One(name)) | (Self::One(name), Self::BuiltIn) => {
                BUILT_IN_SERVERS.contains(&name.as_str()).then(|| Self::One(name.clone()))
            }
            (Self::One(one), Self::One(other)) => (one == other).then(|| Self::One(one.clone())),
        }
    }
}

impl Area {
    /// Returns the values that a sentence with this `effect` is about.
    fn of(spot: &Spot, effect: Effect) -> Self {
        match spot {
            Spot::Unsaid | Spot::Anywhere | Spot::Elsewhere | Spot::Unnamed | Spot::Local => {
                Self::General
            }
            Spot::Directory(directory) => Self::Directory(directory.clone()),
            Spot::Host(condition) => Self::Hosts(vec![condition.read_by(effect)]),
            Spot::Names(role, names) => Self::Names(vec![(*role, names.clone())]),
        }
    }

    /// Returns the sandbox as a whole.
    pub(super) fn sandbox() -> Self {
        Self::Directory(Directory::Sandbox(String::new()))
    }

    /// Writes the area so that equal ones are equal.
    pub(super) fn key(&self) -> String {
        format!("{self:?}")
    }

    fn has(&self, role: Role) -> bool {
        matches!(self, Self::Names(all) if all.iter().any(|(it, _)| *it == role))
    }

    fn meet(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::General, area) | (area, Self::General) => Some(area.clone()),
            (Self::Directory(one), Self::Directory(other)) => {
                let inner =
                    [(one, other), (other, one)].into_iter().find(|(a, b)| is_beneath(a, b));
                inner.map(|(inner, _)| Self::Directory(inner.clone()))
            }
            (Self::Hosts(one), Self::Hosts(other)) => meet_hosts(one, other),
            (Self::Names(one), Self::Names(other)) => meet_names(one, other),
            _ => None,
        }
    }

    fn contains(&self, inner: &Self) -> bool {
        match (self, inner) {
            (Self::General, _) => true,
            (Self::Directory(outer), Self::Directory(inner)) => is_beneath(inner, outer),
            (Self::Hosts(outer), Self::Hosts(inner)) => {
                outer.iter().all(|wide| inner.iter().any(|narrow| wide.covers(narrow)))
            }
            (Self::Names(outer), Self::Names(inner)) => outer.iter().all(|(role, wide)| {
                inner.iter().any(|(of, narrow)| role == of && narrow.is_subset(wide))
            }),
            _ => false,
        }
    }
}

fn meet_hosts(one: &[HostCondition], other: &[HostCondition]) -> Option<Area> {
    if other.iter().any(|host| one.iter().any(|known| !known.meets(host))) {
        return None;
    }
    let mut hosts = one.to_vec();
    for host in other {
        if hosts.iter().any(|known| !known.meets(host)) {
            return None;
        }
        if !hosts.iter().any(|known| host.covers(known)) {
            hosts.retain(|known| !known.covers(host));
            hosts.push(host.clone());
        }
    }
    hosts.sort_by_key(|it| it.text(Effect::Allow));
    Some(Area::Hosts(hosts))
}

fn meet_names(
    one: &[(Role, BTreeSet<NamePlace>)],
    other: &[(Role, BTreeSet<NamePlace>)],
) -> Option<Area> {
    let mut all = one.to_vec();
    for (role, names) in other {
        let is_plain =
            |names: &BTreeSet<NamePlace>| names.iter().all(|it| matches!(it, NamePlace::Name(_)));
        if all.iter().any(|(of, known)| of == role && known == names) {
            continue;
        }
        let is_one = |(of, known): &&mut (Role, BTreeSet<NamePlace>)| {
            of == role && is_plain(known) && is_plain(names)
        };
        match all.iter_mut().find(is_one) {
            Some((_, known)) => {
                let common: BTreeSet<NamePlace> = known.intersection(names).cloned().collect();
                if common.is_empty() {
                    return None;
                }
                *known = common;
            }
            None => all.push((*role, names.clone())),
        }
    }
    all.sort();
    all.dedup();
    Some(Area::Names(all))
}

/// Returns the regions of the atoms, and all that any of them have in common.
pub(super) fn closure(
    atoms: &[&Atom],
    extra: Vec<Region>,
    most: usize,
) -> Result<Vec<Region>, TooMany> {
    let mut closure: Vec<Region> = Vec::new();
    let mut known: HashSet<String> = HashSet::new();
    let mut own: Vec<Region> = atoms.iter().map(|atom| Region::of(atom)).chain(extra).collect();
    let mut seen: HashSet<String> = HashSet::new();
    own.retain(|region| seen.insert(region.key()));
    for region in own {
        let mut found: Vec<Region> = closure.iter().filter_map(|it| it.meet(&region)).collect();
        found.push(region);
        for region in found {
            if known.insert(region.key()) {
                closure.push(region);
            }
        }
        if most < closure.len() {
            return Err(TooMany);
        }
    }
    Ok(closure)
}
