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
    /// What is done, and where.
    pub what: String,
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
        let (what, role) = described(change, space, names);
        let tool = (change.server.clone(), change.tool.clone());
        let is_same = |it: &&mut Summary| {
            it.what == what && it.before == change.before && it.after == change.after
        };
        match found.iter_mut().find(is_same) {
            Some(known) if known.tools.contains(&tool) => {}
            Some(known) => known.tools.push(tool),
            None => found.push(Summary {
                before: change.before,
                after: change.after,
                what,
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

fn described(change: &Change, space: &Space<'_>, names: Names<'_>) -> (String, Option<Role>) {
    match &change.part {
        Part::Values { role: Some(role), beside, .. } => {
            let classes: Vec<&Class> =
                change.regions.iter().filter_map(|it| it.class.as_ref()).collect();
            let values = describe::values(&classes, space, names);
            let beside = if *beside { ", beside something outside of it" } else { "" };
            (format!("{} {values}{beside}", describe::verb(*role)), Some(*role))
        }
        Part::Values { role: None, argument, .. } => {
            (format!("pass the argument `{argument}`"), None)
        }
        Part::NoValues(role) => {
            let verb = describe::verb(*role);
            let bare = [" at", " from", " to", " for", " with"];
            let verb = bare.iter().find_map(|it| verb.strip_suffix(it)).unwrap_or(verb);
            (format!("{verb} without naming anything"), Some(*role))
        }
        Part::Call => ("call the tool".to_owned(), None),
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

    /// Returns the change as one line.
    pub fn line(&self) -> String {
        let (before, after) = (describe::word(self.before), describe::word(self.after));
        format!("{}, with {}: {before} -> {after}", self.what, self.tools_text())
    }

    /// Returns the tools, by server.
    pub fn tools_text(&self) -> String {
        let mut servers: Vec<&ServerName> = self.tools.iter().map(|(server, _)| server).collect();
        servers.dedup();
        let of = |server: &&ServerName| {
            let tools: Vec<&str> = self
                .tools
                .iter()
                .filter(|(of, _)| of == *server)
                .map(|(_, tool)| tool.as_str())
                .collect();
            match tools.len() {
                n if TOOLS_NAMED_MAX < n => format!("{n} tools of {server}"),
                _ => format!("{server}.{}", tools.join(&format!(", {server}."))),
            }
        };
        servers.iter().map(of).collect::<Vec<_>>().join(" and ")
    }
}
