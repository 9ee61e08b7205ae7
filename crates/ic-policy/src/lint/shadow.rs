//! Rules that never hold, because rules before them settle everything that they are about.
//!
//! Says so only where that is certain; a rule of which nothing is said may still never hold.

use ic_types::Role;

use crate::domain::{DomainPattern, DomainSet};
use crate::effect::Effect;
use crate::rule::Rule;

/// One part of what a rule is about.
#[derive(Clone, Copy)]
struct Part<'a> {
    server: Option<&'a str>,
    tool: Option<&'a str>,
    /// `None` for calls without resources.
    role: Option<Role>,
}

/// Returns the rules before the one at `position` that leave it nothing, if there are such.
pub(super) fn of(rules: &[Rule], position: usize) -> Option<Vec<&str>> {
    let (earlier, rule) = (rules.get(..position)?, rules.get(position)?);
    let mut by: Vec<&str> = Vec::new();
    let parts = parts(rule);
    // What can hold for nothing at all was warned of when it was loaded.
    if parts.is_empty() {
        return None;
    }
    for part in parts {
        let settling = earlier.iter().find(|it| settles(it, rule, part))?;
        if !by.contains(&settling.name()) {
            by.push(settling.name());
        }
    }
    Some(by)
}

fn parts(rule: &Rule) -> Vec<Part<'_>> {
    let resources = Role::all().filter(|role| role.is_resource() && rule.is_relevant_to(*role));
    let mut roles: Vec<Option<Role>> = resources.map(Some).collect();
    let is_opaque = |role: Role| !role.is_resource();
    let is_whole = rule.paths.is_none() && rule.domains.is_none();
    if is_whole
        && rule.roles.is_none_or(|roles| Role::all().any(|it| roles.contains(it) && is_opaque(it)))
    {
        roles.push(None);
    }
    let mut parts = Vec::new();
    for server in named(rule.servers.as_deref()) {
        for tool in named(rule.tools.as_deref()) {
            parts.extend(roles.iter().map(|role| Part { server, tool, role: *role }));
        }
    }
    parts
}

/// Returns each of the names, or that none is asked for.
fn named(names: Option<&[String]>) -> Vec<Option<&str>> {
    match names {
        Some(names) => names.iter().map(|name| Some(name.as_str())).collect(),
        None => vec![None],
    }
}

/// Returns whether `earlier` settles all that `rule` is about in this part.
fn settles(earlier: &Rule, rule: &Rule, part: Part<'_>) -> bool {
    let about_server = match part.server {
        Some(server) => earlier.is_about(server),
        None => earlier.servers.is_none(),
    };
    let about_tool = match part.tool {
        Some(tool) => earlier.is_about_tool(tool),
        None => earlier.tools.is_none(),
    };
    if !about_server || !about_tool || !earlier.lists.is_empty() {
        return false;
    }
    let Some(role) = part.role else {
        return earlier.paths.is_none() && earlier.domains.is_none() && earlier.roles.is_none();
    };
    let in_place = match (&earlier.paths, &rule.paths) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(outer), Some(inner)) => {
            // A rule does not settle the entry of its own root, so one for that may follow.
            let is_root = outer.within == inner.within && earlier.effect == Effect::Allow;
            inner.within.is_within(&outer.within)
                && !(is_root && rule.effect != Effect::Allow && outer.within.parent().is_some())
        }
    };
    let at_host = match (&earlier.domains, &rule.domains) {
        (None, _) => true,
        (Some(_), None) => false,
        // An empty list is about nothing, and was warned of.
        (Some(_), Some(inner)) if inner.allowed.patterns().is_empty() => false,
        (Some(outer), Some(inner)) => {
            let read = |effect: Effect, set: &DomainSet| -> Vec<DomainPattern> {
                set.patterns().iter().map(|it| it.read_by(effect)).collect()
            };
            let outer = read(earlier.effect, &outer.allowed);
            let inner = read(rule.effect, &inner.allowed);
            inner.iter().all(|narrow| outer.iter().any(|wide| wide.covers(narrow)))
        }
    };
    earlier.is_relevant_to(role) && in_place && at_host
}
