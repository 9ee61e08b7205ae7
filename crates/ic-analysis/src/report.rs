//! Changes as a person reads them: one line each, the most dangerous first.
//!
//! A line says the worst that such calls do, whichever of their roles decides: who agrees to a line learns
//! what becomes possible. What is opened is named in full; only what is closed may be shortened.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use ic_policy::{Effect, Policy, Sandbox};
use ic_types::{Category, Role, ServerName, ToolCall, ToolName};

use crate::describe::{self, Length, Names};
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
    /// To what, or where, each place, host or name by itself and all of them.
    pub places: Vec<String>,
    /// The same with the changes that are told together with this one, shortened.
    together: String,
    /// The worst that such calls do there, if they do anything to values.
    pub role: Option<Role>,
    /// The roles that decide.
    pub decisive: Vec<Role>,
    /// The tools.
    pub tools: Vec<ChangedTool>,
    /// A call of the first of them.
    pub example: ToolCall,
    /// Where the agent is free in that call.
    pub sandbox: Option<Sandbox>,
    /// Who decides about that call before.
    pub rule_before: String,
    /// Who decides about it afterwards.
    pub rule_after: String,
    /// How far down the tree the widest place is.
    depth: usize,
}

/// A tool of which calls come out differently.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct ChangedTool {
    /// The server.
    pub server: ServerName,
    /// The tool.
    pub tool: ToolName,
    /// The arguments that a call must have for it, if it needs any.
    pub only_with: Option<String>,
}

impl ChangedTool {
    fn of(change: &Change) -> Self {
        let conditions: Vec<&str> = change.only_with.iter().map(String::as_str).collect();
        let only_with = (!conditions.is_empty()).then(|| conditions.join(" or "));
        Self { server: change.server.clone(), tool: change.tool.clone(), only_with }
    }

    /// Returns `server.tool`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.server, self.tool)
    }

    fn text(&self) -> String {
        match &self.only_with {
            Some(condition) => format!("{} (only with {condition})", self.name()),
            None => self.name(),
        }
    }
}

/// How many tools of a server are named before they are counted.
const TOOLS_NAMED_MAX: usize = 3;

/// Which changes are told together where they are not told one by one.
type Together = (Option<Role>, Effect, Effect, bool);

/// Puts changes together that are the same for several tools, widening before narrowing.
pub fn summaries(
    changes: &[Change],
    space: &Space<'_>,
    names: Names<'_>,
    (before, after): (&Policy, &Policy),
) -> Vec<Summary> {
    let together = together(changes, space, names);
    let mut found: Vec<Summary> = Vec::new();
    for change in changes {
        let Some(region) = change.regions.first() else { continue };
        let Described { verb, places, role } = Described::of(change, space, names);
        let tool = ChangedTool::of(change);
        let is_same = |it: &&mut Summary| {
            (&it.verb, &it.places) == (&verb, &places)
                && it.before == change.before
                && it.after == change.after
        };
        let decisive = change.part.role();
        if let Some(known) = found.iter_mut().find(is_same) {
            known.add(tool);
            known.decisive.extend(decisive.filter(|it| !known.decisive.contains(it)));
            continue;
        }
        let shortened = || describe::listed(&places, Length::Short);
        found.push(Summary {
            before: change.before,
            after: change.after,
            verb,
            together: match change.part {
                Part::Values { .. } => {
                    together.get(&key(change)).cloned().unwrap_or_else(shortened)
                }
                Part::NoValues(_) | Part::Call => shortened(),
            },
            role,
            decisive: decisive.into_iter().collect(),
            example: ToolCall {
                server: tool.server.clone(),
                tool: tool.tool.clone(),
                arguments: region.example.clone(),
            },
            sandbox: names.bounds.sandbox.clone(),
            tools: vec![tool],
            rule_before: region.before.by.name(before),
            rule_after: region.after.by.name(after),
            depth: describe::depth(&classes(change)),
            places,
        });
    }
    sort(&mut found);
    found
}

/// Puts widening before narrowing, the most dangerous first, and a wide place before one in it.
pub fn sort(summaries: &mut [Summary]) {
    summaries.sort_by_key(|it| {
        // What is allowed in the end, or was in the beginning, matters most.
        let (open, shut) = match it.is_widening() {
            true => (it.after, it.before),
            false => (it.before, it.after),
        };
        let danger = it.role.map_or(usize::MAX, describe::danger);
        (!it.is_widening(), open, Reverse(shut), danger, it.depth, Reverse(it.tools.len()))
    });
}

fn classes(change: &Change) -> Vec<&Class> {
    change.regions.iter().filter_map(|it| it.class.as_ref()).collect()
}

fn key(change: &Change) -> Together {
    let beside = matches!(change.part, Part::Values { beside: true, .. });
    (change.does.first().copied(), change.before, change.after, beside)
}

/// Describes all values of changes that do the same and are judged in the same way, shortened.
fn together(changes: &[Change], space: &Space<'_>, names: Names<'_>) -> BTreeMap<Together, String> {
    let mut all: BTreeMap<Together, Vec<&Class>> = BTreeMap::new();
    for change in changes.iter().filter(|it| matches!(it.part, Part::Values { .. })) {
        if change.does.is_empty() {
            continue;
        }
        all.entry(key(change)).or_default().extend(classes(change));
    }
    let described = |(key, classes): (Together, Vec<&Class>)| {
        let places = places(key.0, &classes, (space, names), Length::Short);
        let beside = if key.3 { BESIDE } else { "" };
        (key, format!("{}{beside}", describe::listed(&places, Length::Short)))
    };
    all.into_iter().map(described).collect()
}

/// What is said of a value that is free in the sandbox only by itself.
const BESIDE: &str = ", in a call that also names something outside of it";

fn places(
    role: Option<Role>,
    classes: &[&Class],
    (space, names): (&Space<'_>, Names<'_>),
    length: Length,
) -> Vec<String> {
    let phrases = describe::phrases(classes, space, names, length);
    match role {
        Some(role) => describe::behind_verb(role, phrases),
        None => phrases,
    }
}

/// A change without its tools.
struct Described {
    verb: String,
    places: Vec<String>,
    role: Option<Role>,
}

impl Described {
    fn of(change: &Change, space: &Space<'_>, names: Names<'_>) -> Self {
        let worst = change.does.first().copied();
        let (verb, places) = match (&change.part, worst) {
            (Part::Values { beside, .. }, Some(role)) => {
                let mut places = places(worst, &classes(change), (space, names), Length::Full);
                if let (true, Some(last)) = (beside, places.last_mut()) {
                    last.push_str(BESIDE);
                }
                (describe::verb(role).to_owned(), places)
            }
            (Part::Values { argument, .. }, None) => {
                ("pass the argument".to_owned(), vec![format!("`{argument}`")])
            }
            (Part::NoValues(role), worst) => {
                let role = worst.unwrap_or(*role);
                let verb = describe::verb(role);
                let bare = [" at", " from", " to", " for", " with"];
                let verb = bare.iter().find_map(|it| verb.strip_suffix(it)).unwrap_or(verb);
                let what = if role.category() == Category::Path { "a place" } else { "anything" };
                (verb.to_owned(), vec![format!("without naming {what}")])
            }
            (Part::Call, None) => ("call".to_owned(), vec!["the tool".to_owned()]),
            (Part::Call, Some(_)) => {
                let verbs: Vec<&str> = change.does.iter().map(|it| describe::verb(*it)).collect();
                ("call".to_owned(), vec![format!("the tool ({})", verbs.join("; "))])
            }
        };
        Self { verb, places, role: worst }
    }
}

impl Summary {
    /// Adds a tool; one that is known needs an argument only if all of its calls need it.
    fn add(&mut self, tool: ChangedTool) {
        let known =
            self.tools.iter_mut().find(|it| (&it.server, &it.tool) == (&tool.server, &tool.tool));
        match known {
            Some(known) if known.only_with != tool.only_with => known.only_with = None,
            Some(_) => {}
            None => self.tools.push(tool),
        }
    }

    /// Returns whether the second policy lets more through.
    pub fn is_widening(&self) -> bool {
        self.after < self.before
    }

    /// Returns what is done, and where, in full.
    pub fn what(&self) -> String {
        self.what_in(Length::Full)
    }

    fn what_in(&self, length: Length) -> String {
        format!("{} {}", self.verb, describe::listed(&self.places, length))
    }

    /// Returns the change as one line, in full if more is let through.
    pub fn line(&self) -> String {
        // SECURITY: a person agrees to what is opened, so nothing of it is left out.
        let length = if self.is_widening() { Length::Full } else { Length::Short };
        let tools = tools_text(&self.tools, length);
        format!("{}, with {tools}: {}", self.what_in(length), self.turn())
    }

    fn turn(&self) -> String {
        format!("{} -> {}", describe::word(self.before), describe::word(self.after))
    }
}

/// Returns tools, by server; in full with the arguments that a call must have.
fn tools_text(tools: &[ChangedTool], length: Length) -> String {
    let mut servers: Vec<&ServerName> = tools.iter().map(|it| &it.server).collect();
    servers.sort_unstable();
    servers.dedup();
    let mut texts: Vec<String> = Vec::new();
    for server in servers {
        let (limited, plain): (Vec<&ChangedTool>, Vec<&ChangedTool>) = tools
            .iter()
            .filter(|it| it.server == *server)
            .partition(|it| length == Length::Full && it.only_with.is_some());
        if TOOLS_NAMED_MAX < plain.len() {
            texts.push(format!("{} tools of {server}", plain.len()));
        } else {
            texts.extend(plain.iter().map(|it| it.name()));
        }
        texts.extend(limited.iter().map(|it| it.text()));
    }
    describe::listed(&texts, Length::Full)
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
        let key = |it: &'a Summary| (&it.verb, it.role, it.before, it.after);
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
        let mut tools: Vec<ChangedTool> = Vec::new();
        for summary in all() {
            if !places.contains(&summary.together.as_str()) {
                places.push(&summary.together);
            }
            tools.extend(summary.tools.iter().cloned());
        }
        tools.sort_unstable();
        // A tool without a condition comes first, and says it all.
        tools.dedup_by(|it, known| (&it.server, &it.tool) == (&known.server, &known.tool));
        // Not every tool changes in each place; each change by itself says which.
        let some = match all().all(|it| it.tools.len() == tools.len()) {
            true => "",
            false => "some calls of ",
        };
        let (places, tools) = (places.join(", or "), tools_text(&tools, Length::Short));
        format!("{} {places}, with {some}{tools}: {}", first.verb, first.turn())
    }
}
