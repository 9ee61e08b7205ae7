//! Changes as a person reads them: one line each, the most dangerous first.

use std::cmp::Reverse;

use ic_policy::{Effect, Policy};
use ic_types::{Role, ServerName, ToolCall, ToolName};

use crate::describe::{self, Names};
use crate::diff::{Change, Part};
use crate::space::{Class, Space};

/// The same change of several tools.
#[derive(Clone, Debug)]
pub struct Summary {
    /// What the first policy says.
    pub before: Effect,
    /// What the second policy says.
    pub after: Effect,
    /// What is done.
    pub verb: String,
    /// To what, or where.
    pub place: String,
    /// The role that decides, if it is one.
    pub role: Option<Role>,
    /// The tools.
    pub tools: Vec<(ServerName, ToolName)>,
    /// A call of the first of them.
    pub example: ToolCall,
    /// Who decides about that call before.
    pub rule_before: String,
    /// Who decides about it afterwards.
    pub rule_after: String,
}

/// How many tools of a server are named before they are counted.
const TOOLS_NAMED_MAX: usize = 3;

/// Puts changes together that are the same for several tools, widening before narrowing.
pub fn summaries(
    changes: &[Change],
    space: &Space<'_>,
    names: Names<'_>,
    (before, after): (&Policy, &Policy),
) -> Vec<Summary> {
    let mut found: Vec<Summary> = Vec::new();
    for change in changes {
        let Some(region) = change.regions.first() else { continue };
        let Described { verb, place, role } = Described::of(change, space, names);
        let tool = (change.server.clone(), change.tool.clone());
        let is_same = |it: &&mut Summary| {
            (&it.verb, &it.place) == (&verb, &place)
                && it.before == change.before
                && it.after == change.after
        };
        match found.iter_mut().find(is_same) {
            Some(known) if known.tools.contains(&tool) => {}
            Some(known) => known.tools.push(tool),
            None => found.push(Summary {
                before: change.before,
                after: change.after,
                verb,
                place,
                role,
                example: ToolCall {
                    server: tool.0.clone(),
                    tool: tool.1.clone(),
                    arguments: region.example.clone(),
                },
                tools: vec![tool],
                rule_before: region.before.by.name(before),
                rule_after: region.after.by.name(after),
            }),
        }
    }
    sort(&mut found);
    found
}

/// Puts widening before narrowing, and the most dangerous first.
pub fn sort(summaries: &mut [Summary]) {
    summaries.sort_by_key(|it| {
        // What is allowed in the end, or was in the beginning, matters most.
        let (open, shut) = match it.is_widening() {
            true => (it.after, it.before),
            false => (it.before, it.after),
        };
        (!it.is_widening(), open, Reverse(shut), danger(it.role), Reverse(it.tools.len()))
    });
}

/// A change without its tools.
struct Described {
    verb: String,
    place: String,
    role: Option<Role>,
}

impl Described {
    fn of(change: &Change, space: &Space<'_>, names: Names<'_>) -> Self {
        let (verb, place, role) = match &change.part {
            Part::Values { role: Some(role), beside, .. } => {
                let classes: Vec<&Class> =
                    change.regions.iter().filter_map(|it| it.class.as_ref()).collect();
                let values = describe::values(&classes, space, names);
                let beside = if *beside { ", beside something outside of it" } else { "" };
                (describe::verb(*role), format!("{values}{beside}"), Some(*role))
            }
            Part::Values { role: None, argument, .. } => {
                ("pass the argument", format!("`{argument}`"), None)
            }
            Part::NoValues(role) => {
                let verb = describe::verb(*role);
                let bare = [" at", " from", " to", " for", " with"];
                let verb = bare.iter().find_map(|it| verb.strip_suffix(it)).unwrap_or(verb);
                (verb, "without naming anything".to_owned(), Some(*role))
            }
            Part::Call => ("call", "the tool".to_owned(), None),
        };
        Self { verb: verb.to_owned(), place, role }
    }
}

/// Returns how much harm a role can do, the worst first.
fn danger(role: Option<Role>) -> usize {
    const WORST: [Role; 9] = [
        Role::DeletePath,
        Role::DeleteHistory,
        Role::WritePath,
        Role::WriteHistory,
        Role::GitRemoteUrl,
        Role::FetchUrl,
        Role::ProxyDomain,
        Role::EmailAddress,
        Role::ReadPath,
    ];
    role.and_then(|role| WORST.iter().position(|it| *it == role)).unwrap_or(WORST.len())
}

impl Summary {
    /// Returns whether the second policy lets more through.
    pub fn is_widening(&self) -> bool {
        self.after < self.before
    }

    /// Returns what is done, and where.
    pub fn what(&self) -> String {
        format!("{} {}", self.verb, self.place)
    }

    /// Returns the change as one line.
    pub fn line(&self) -> String {
        format!("{}, with {}: {}", self.what(), tools_text(&self.tools), self.turn())
    }

    fn turn(&self) -> String {
        format!("{} -> {}", describe::word(self.before), describe::word(self.after))
    }
}

/// Returns tools, by server.
fn tools_text(tools: &[(ServerName, ToolName)]) -> String {
    let mut servers: Vec<&ServerName> = tools.iter().map(|(server, _)| server).collect();
    servers.sort_unstable();
    servers.dedup();
    let of = |server: &&ServerName| {
        let named: Vec<&str> =
            tools.iter().filter(|(of, _)| of == *server).map(|(_, tool)| tool.as_str()).collect();
        match named.len() {
            n if TOOLS_NAMED_MAX < n => format!("{n} tools of {server}"),
            _ => format!("{server}.{}", named.join(&format!(", {server}."))),
        }
    };
    servers.iter().map(of).collect::<Vec<_>>().join(" and ")
}

/// Changes that do the same to different values, in one line.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    first: &'a Summary,
    others: Vec<&'a Summary>,
}

/// Groups changes of which the same is done, and judged in the same way, in the order of their firsts.
pub fn groups<'a>(summaries: &[&'a Summary]) -> Vec<Group<'a>> {
    let mut found: Vec<Group<'a>> = Vec::new();
    for summary in summaries {
        let key = |it: &Summary| (it.role, it.before, it.after);
        // Only what is done to values of one role is one thing.
        let known =
            found.iter_mut().find(|it| it.first.role.is_some() && key(it.first) == key(summary));
        match known {
            Some(group) => group.others.push(summary),
            None => found.push(Group { first: summary, others: Vec::new() }),
        }
    }
    found
}

impl<'a> Group<'a> {
    /// Returns the change that is shown with an example.
    pub fn first(&self) -> &'a Summary {
        self.first
    }

    /// Returns the changes as one line.
    pub fn line(&self) -> String {
        let first = self.first;
        if self.others.is_empty() {
            return first.line();
        }
        let all = || std::iter::once(first).chain(self.others.iter().copied());
        let mut places: Vec<&str> = Vec::new();
        let mut tools: Vec<(ServerName, ToolName)> = Vec::new();
        for summary in all() {
            if !places.contains(&summary.place.as_str()) {
                places.push(&summary.place);
            }
            tools.extend(summary.tools.iter().cloned());
        }
        tools.sort_unstable();
        tools.dedup();
        // Not every tool changes in each place; each change by itself says which.
        let some = if all().all(|it| it.tools.len() == tools.len()) { "" } else { "some of " };
        let (places, tools) = (places.join("; "), tools_text(&tools));
        format!("{} {places}; with {some}{tools}: {}", first.verb, first.turn())
    }
}
