//! Puts additions in front of the rules, so that the first rule that holds is the one that counts.
//!
//! For every set of additions that can hold together there is a rule where they all hold, most specific
//! first, so the first one that covers a value knows all additions that do. In front of it stand those
//! rules of the policy that are not less specific than one of these additions, narrowed to its region
//! and in their own order: where one of them holds, it counts beside the additions.

use std::sync::Arc;

use ic_types::{CanonicalPath, ServerName};

use super::Addition;
use super::region::{Order, Region, place_of};
use crate::domain::{DomainPattern, DomainSet};
use crate::effect::Effect;
use crate::rule::{DomainCondition, ListCondition, Members, PathCondition, RoleSet, Rule};

/// The most rules that additions may become.
const RULES_MAX: usize = 10_000;

/// Finds the tools of a server that name no directory and no host.
pub(crate) type WithoutPlaces<'a> = &'a dyn Fn(&ServerName) -> Vec<String>;

/// An addition as it counts for one server.
#[derive(Debug)]
pub(crate) struct Placed<'a> {
    pub(crate) addition: &'a Addition,
    /// Its place in the file, counted from 1.
    pub(crate) number: usize,
    pub(crate) server: &'a ServerName,
    /// The directory that it leads to.
    pub(crate) within: Option<CanonicalPath>,
}

/// An addition, and where it holds.
struct Said<'a> {
    addition: &'a Addition,
    region: Region,
    number: usize,
}

/// Too many rules would be needed.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("together they would need more than {RULES_MAX} rules; remove some of them")]
pub(crate) struct TooMany;

/// Returns the rules that stand for `additions` in front of `rules`.
pub(crate) fn merge(
    additions: &[Placed<'_>],
    rules: &[Rule],
    without_places: WithoutPlaces<'_>,
) -> Result<Vec<Rule>, TooMany> {
    let said: Vec<Said<'_>> = additions
        .iter()
        .map(|Placed { addition, number, server, within }| Said {
            addition,
            region: Region::of(addition, server, within.clone()),
            number: *number,
        })
        .collect();
    let mut merged = Vec::new();
    for region in sorted(&closure(&said)?) {
        let here: Vec<&Said<'_>> = said.iter().filter(|it| it.holds_in(region)).collect();
        let Some((effect, by)) = verdict(&here, None) else { continue };
        let Some(added) = rule_of(region, effect, by, without_places) else { continue };
        let mut front: Vec<Rule> = Vec::new();
        // What nobody can make an exception to needs no exceptions in front of it.
        if !here.iter().any(|it| it.is_absolute()) {
            let counting = rules.iter().filter(|rule| counts(rule, region, &here));
            front.extend(counting.filter_map(|rule| narrowed(rule, (region, &added), &here)));
        }
        while front.last().is_some_and(|last| last.effect == effect) {
            front.pop();
        }
        merged.append(&mut front);
        merged.push(added);
        if RULES_MAX < merged.len() {
            return Err(TooMany);
        }
    }
    Ok(merged)
}

/// Returns the regions of all additions, and what any of them have in common.
fn closure(said: &[Said<'_>]) -> Result<Vec<Region>, TooMany> {
    let mut closure: Vec<Region> = Vec::new();
    for Said { region, .. } in said {
        let mut found: Vec<Region> = closure.iter().filter_map(|it| it.meet(region)).collect();
        found.push(region.clone());
        for region in found {
            if !closure.contains(&region) {
                closure.push(region);
            }
        }
        if RULES_MAX < closure.len() {
            return Err(TooMany);
        }
    }
    Ok(closure)
}

/// Puts the more specific regions first; of equal ones that with fewer roles.
fn sorted(regions: &[Region]) -> Vec<&Region> {
    // INVARIANT: what is more specific than a region is so than all that this one is more specific than
    // too, so it has more beneath it.
    let wider = |region: &Region| {
        let is_wider = |other: &&Region| {
            region.server == other.server && region.order(other) == Order::Narrower
        };
        regions.iter().filter(is_wider).count()
    };
    let mut ranked: Vec<(usize, usize, &Region)> = regions
        .iter()
        .map(|it| (wider(it), it.roles.map_or(usize::MAX, RoleSet::len), it))
        .collect();
    ranked.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(&other.1)));
    ranked.into_iter().map(|(_, _, region)| region).collect()
}

/// Returns the strictest of the additions `here` that count, beside `rule` if there is one.
fn verdict<'a>(here: &[&'a Said<'a>], rule: Option<&Rule>) -> Option<(Effect, &'a Said<'a>)> {
    if let Some(absolute) = here.iter().find(|it| it.is_absolute()) {
        return Some((Effect::Deny, absolute));
    }
    let falls_away = |it: &Said<'_>| {
        here.iter().any(|other| other.region.order(&it.region) == Order::Narrower)
            || rule.is_some_and(|rule| it.region.order_beside(rule) == Some(Order::Wider))
    };
    let counting = here.iter().filter(|it| !falls_away(it));
    counting.map(|it| (it.addition.effect, *it)).reduce(|worst, next| match worst.0 < next.0 {
        true => next,
        false => worst,
    })
}

/// Returns whether `rule` counts beside the additions `here`.
fn counts(rule: &Rule, region: &Region, here: &[&Said<'_>]) -> bool {
    let Some(_) = region.order_beside(rule) else { return false };
    let falls_away = here.iter().any(|it| it.region.order_beside(rule) == Some(Order::Narrower));
    !falls_away || is_absolute(rule)
}

/// Returns `rule` where `region` is, with the verdict that it has there beside the additions.
///
/// `added` is the rule of that region.
fn narrowed(rule: &Rule, (region, added): (&Region, &Rule), here: &[&Said<'_>]) -> Option<Rule> {
    let by = match is_absolute(rule) {
        true => None,
        false => verdict(here, Some(rule)).filter(|(effect, _)| rule.effect < *effect),
    };
    let effect = by.map_or(rule.effect, |(effect, _)| effect);
    let mut narrowed = rule.clone();
    for set in narrowed.host_sets_mut().filter(|_| effect != rule.effect) {
        *set = DomainSet::of_rule(effect, set.patterns().to_vec());
    }
    narrowed.servers = Some(vec![region.server.to_string()]);
    narrowed.tools = match (&added.tools, &rule.tools) {
        (Some(tools), _) => {
            let common = tools.iter().filter(|tool| rule.is_about_tool(tool));
            Some(common.cloned().collect())
        }
        (None, tools) => tools.clone(),
    };
    if rule.roles.is_some() || region.roles.is_some() {
        narrowed.roles = Some(region.common_roles(rule));
    }
    narrowed.paths = match (&rule.paths, paths_of(region)) {
        (Some(rule), Some(of_region)) => {
            let is_inner = rule.within.is_within(&of_region.within);
            let within = if is_inner { rule.within.clone() } else { of_region.within };
            Some(PathCondition { roles: rule.roles.and(of_region.roles), within, ..*rule })
        }
        (None, paths @ Some(_)) => paths,
        (rule, None) => rule.clone(),
    };
    let mut patterns = region.hosts.iter();
    if let Some(first) = patterns.next() {
        let roles = region.roles?;
        if let Some(DomainCondition { roles, allowed }) = &rule.domains {
            let specific = region.specific_patterns(allowed.patterns());
            narrowed.lists.push(domains(effect, *roles, specific));
        }
        let allowed = DomainSet::of_rule(effect, vec![first.clone()]);
        narrowed.domains = Some(DomainCondition { roles, allowed });
        narrowed.lists.extend(patterns.map(|it| domains(effect, roles, vec![it.clone()])));
        narrowed.roles = Some(region.common_roles(rule));
    }
    if let Some((effect, by)) = by {
        narrowed.effect = effect;
        by.sign(&mut narrowed);
    }
    Some(narrowed)
}

/// Returns the rule of a region.
fn rule_of(
    region: &Region,
    effect: Effect,
    by: &Said<'_>,
    without_places: WithoutPlaces<'_>,
) -> Option<Rule> {
    let tools = region.tool.as_ref().map(|tool| vec![tool.to_string()]);
    let is_anywhere = region.within.is_none() && region.hosts.is_empty();
    let tools = match effect {
        // SECURITY: without a place nothing is allowed that names one; a directory or a host has to be
        // said, and what gets such an argument later is not allowed any more.
        Effect::Allow if is_anywhere => {
            let mut open = without_places(&region.server);
            open.retain(|name| tools.as_ref().is_none_or(|tools| tools.contains(name)));
            if open.is_empty() {
                return None;
            }
            Some(open)
        }
        Effect::Allow | Effect::Escalate | Effect::Deny => tools,
    };
    let mut patterns = region.hosts.iter();
    let mut rule = Rule {
        name: Arc::from(""),
        description: String::new(),
        principle: String::new(),
        reason: Arc::from(""),
        effect,
        servers: Some(vec![region.server.to_string()]),
        tools,
        roles: region.roles,
        paths: paths_of(region),
        domains: None,
        lists: Vec::new(),
    };
    if let (Some(first), Some(roles)) = (patterns.next(), region.roles) {
        let allowed = DomainSet::of_rule(effect, vec![first.clone()]);
        rule.domains = Some(DomainCondition { roles, allowed });
        rule.lists = patterns.map(|it| domains(effect, roles, vec![it.clone()])).collect();
    }
    by.sign(&mut rule);
    Some(rule)
}

fn paths_of(region: &Region) -> Option<PathCondition> {
    let within = region.within.clone()?;
    Some(PathCondition { roles: region.roles?, within, leaves_sandbox: false })
}

fn domains(effect: Effect, roles: RoleSet, patterns: Vec<DomainPattern>) -> ListCondition {
    ListCondition { roles, allowed: Members::Domains(DomainSet::of_rule(effect, patterns)) }
}

/// Returns whether a rule forbids something everywhere, so that nothing makes an exception to it.
///
/// A rule without any condition is what is left for the rest, and `within: "/"` is everywhere else.
fn is_absolute(rule: &Rule) -> bool {
    let has_condition = rule.servers.is_some() || rule.tools.is_some() || rule.roles.is_some();
    rule.effect == Effect::Deny
        && has_condition
        && rule.paths.is_none()
        && rule.domains.is_none()
        && rule.lists.is_empty()
        && place_of(rule).is_none()
}

impl Said<'_> {
    /// Returns whether the addition holds in all of `region`.
    fn holds_in(&self, region: &Region) -> bool {
        let names_place = region.within.is_some() || !region.hosts.is_empty();
        let is_without_place =
            self.addition.effect == Effect::Allow && self.addition.place.is_none();
        region.lies_in(&self.region) && !(names_place && is_without_place)
    }

    /// Returns whether this forbids something everywhere.
    fn is_absolute(&self) -> bool {
        self.addition.effect == Effect::Deny && self.addition.place.is_none()
    }

    /// Puts the name of the addition on a rule.
    fn sign(&self, rule: &mut Rule) {
        let Self { addition, number, .. } = self;
        let server = addition.server.as_ref().map_or_else(String::new, |it| format!("-{it}"));
        let tool = addition.tool.as_ref().map_or_else(String::new, |tool| format!(".{tool}"));
        let verb = super::verb(addition.effect);
        rule.name = Arc::from(format!("added-{number}-{verb}{server}{tool}"));
        rule.description = format!("Added by you: {addition}.");
        rule.principle = String::new();
        rule.reason = Arc::from(format!("You added `{addition}` to this policy"));
    }
}
