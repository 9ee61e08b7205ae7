//! Sentences that are plain and cannot mean what they say here: shown in English, with their lines.
//!
//! Found by comparing the sentences with each other, with the servers of this home and the disk, and by looking
//! through every call that the compiled policy can judge. Nothing is refused because of it.

use std::collections::BTreeSet;

use ic_analysis::{Asked, Subject, Table};
use ic_constitution::grammar::BUILT_IN_SERVERS;
use ic_constitution::{Deed, Directory, HostPlace, NamePlace, Place, Rule, Sentence, Tool, With};
use ic_inventory::servers_file::Start;
use ic_opening::policy::Loaded;
use ic_policy::{Builtin, Effect};
use ic_resolve::path::{self, Last};
use ic_resolve::{Kind, RealDisk};
use ic_types::{AbsolutePath, Role};

use super::constitution::Made;
use super::english;
use crate::screen::visible_line;

/// What is said of a restriction whose directory is not there: a precaution, or a misspelled name.
pub(crate) const PRECAUTION: &str = "; if its name is misspelled, this protects nothing of yours";

/// Returns what is odd about a constitution; `loaded` is the policy that it becomes.
pub(crate) fn notes(made: &Made, loaded: &Loaded) -> Vec<String> {
    let sentences = &made.constitution.sentences;
    let tools = english::tools(loaded);
    let known: BTreeSet<usize> = made.compiled.notes.iter().map(|it| it.line).collect();
    // A line can hold several sentences.
    let mut notes: Vec<(usize, &str, String)> = Vec::new();
    for (at, sentence) in sentences.iter().enumerate() {
        let mut odd = Vec::new();
        odd.extend(contradiction(sentence, sentences.get(..at).unwrap_or_default()));
        odd.extend(unknown_names(sentence, &tools, loaded));
        odd.extend(nothing_to_allow(sentence, &tools));
        odd.extend(places(sentence, loaded));
        odd.extend(lists(sentence, made));
        let text = sentence.text.as_str();
        notes.extend(odd.into_iter().map(|problem| (sentence.line, text, problem)));
    }
    let said: BTreeSet<usize> = notes.iter().map(|(line, ..)| *line).chain(known).collect();
    let problem = "has no effect: no call that a known tool can make is decided by it";
    let idle = idle(made, loaded).into_iter().filter(|(line, _)| !said.contains(line));
    notes.extend(idle.map(|(line, text)| (line, text, problem.to_owned())));
    notes.sort_by_key(|(line, ..)| *line);
    let shown = |(line, text, problem): (usize, &str, String)| {
        visible_line(&format!("line {line}: `{text}`: {problem}"))
    };
    notes.into_iter().map(shown).collect()
}

/// Says that an earlier sentence says something else about the same.
fn contradiction(sentence: &Sentence, earlier: &[Sentence]) -> Option<String> {
    let is_same = |other: &&Sentence| {
        let deeds = match (&sentence.deed, &other.deed) {
            (Deed::Verbs(one), Deed::Verbs(other)) => one.iter().any(|it| other.contains(it)),
            (one, other) => one == other,
        };
        deeds
            && other.effect != sentence.effect
            && other.with == sentence.with
            && shares_place(&sentence.place, &other.place)
    };
    let other = earlier.iter().find(is_same)?;
    let stricter = if sentence.effect < other.effect { other } else { sentence };
    Some(format!(
        "contradicts line {}; line {} counts, which is stricter",
        other.line, stricter.line
    ))
}

fn shares_place(one: &Place, other: &Place) -> bool {
    match (one, other) {
        (Place::Directories(one), Place::Directories(other)) => {
            one.iter().any(|it| other.contains(it))
        }
        (Place::Hosts(one), Place::Hosts(other)) => one.iter().any(|it| other.contains(it)),
        (Place::Names(one), Place::Names(other)) => one.iter().any(|it| other.contains(it)),
        (one, other) => one == other,
    }
}

/// Says which servers and tools there are not.
fn unknown_names(sentence: &Sentence, tools: &[Tool], loaded: &Loaded) -> Vec<String> {
    let mut odd = Vec::new();
    for With { server, tool } in sentence.named() {
        let is_server = loaded.servers.get(server.as_str()).is_some();
        let is_tool = |it: &Tool| it.server == *server && Some(&it.tool) == tool.as_ref();
        if !is_server {
            odd.push(format!(
                "there is no server `{server}`; `ironcurtain servers list` names them"
            ));
        } else if let Some(tool) = tool
            && !tools.iter().any(is_tool)
        {
            odd.push(format!("the server `{server}` has no known tool `{tool}`"));
        }
    }
    odd.dedup();
    odd
}

/// Says that no tool does what is allowed.
fn nothing_to_allow(sentence: &Sentence, tools: &[Tool]) -> Option<String> {
    let Deed::Verbs(verbs) = &sentence.deed else { return None };
    if sentence.effect != Effect::Allow {
        return None;
    }
    let is_covered = |it: &&Tool| match sentence.with.as_slice() {
        [] => BUILT_IN_SERVERS.contains(&it.server.as_str()),
        with => with.iter().any(|with| {
            with.server == it.server && with.tool.as_ref().is_none_or(|tool| *tool == it.tool)
        }),
    };
    let roles: Vec<Role> = verbs.iter().flat_map(|it| it.row().roles.iter().copied()).collect();
    let does = |it: &Tool| it.roles.iter().any(|role| roles.contains(role));
    if tools.iter().filter(is_covered).any(does) {
        return None;
    }
    let others: BTreeSet<&str> =
        tools.iter().filter(|it| does(it)).map(|it| it.server.as_str()).collect();
    let others: Vec<&str> = others.into_iter().collect();
    Some(match others.is_empty() {
        true => "allows nothing: no server has a tool that does this".to_owned(),
        false => format!(
            "allows nothing: no server that it covers has a tool that does this; add `with {}`",
            others.join(" and ")
        ),
    })
}

/// Says which places there are not.
fn places(sentence: &Sentence, loaded: &Loaded) -> Vec<String> {
    let Place::Directories(all) = &sentence.place else { return Vec::new() };
    // A directory of a built-in sentence that you do not have needs nobody to do anything.
    if Builtin::ALL.iter().any(|it| it.constitution().contains(&sentence.text)) {
        return Vec::new();
    }
    let mut odd = Vec::new();
    for directory in all {
        match directory {
            Directory::At(path) => {
                let found = loaded.roots.locate(path, &loaded.judge.home, &loaded.sandbox);
                let exists = found.is_ok_and(|found| {
                    let absolute = AbsolutePath::new(found.as_path());
                    let looked = absolute.map(|it| path::follow(&RealDisk, &it, Last::Follow));
                    let entry = looked.ok().and_then(Result::ok).and_then(|it| it.entry);
                    entry.is_some_and(|entry| entry.kind == Kind::Directory)
                });
                if !exists {
                    let rest = if sentence.effect == Effect::Allow { "" } else { PRECAUTION };
                    odd.push(format!("there is no directory `{path}`{rest}"));
                }
            }
            Directory::Sandbox(_) => {
                let far = sentence.named().iter().filter(|it| {
                    let config = loaded.servers.get(it.server.as_str());
                    config.is_some_and(|(_, it)| matches!(it.start, Start::Url(_)))
                });
                odd.extend(far.map(|it| {
                    format!("the server `{}` runs elsewhere, where there is no sandbox", it.server)
                }));
            }
        }
    }
    odd
}

/// Says which lists hold nothing.
fn lists(sentence: &Sentence, made: &Made) -> Vec<String> {
    let names: Vec<&String> = match &sentence.place {
        Place::Hosts(all) => all
            .iter()
            .filter_map(|it| match it {
                HostPlace::List(name) => Some(name),
                HostPlace::Pattern(_) | HostPlace::Local => None,
            })
            .collect(),
        Place::Names(all) => all
            .iter()
            .filter_map(|it| match it {
                NamePlace::List(name) => Some(name),
                NamePlace::Name(_) => None,
            })
            .collect(),
        Place::Unsaid
        | Place::Anywhere
        | Place::Elsewhere
        | Place::Unnamed
        | Place::Directories(_) => Vec::new(),
    };
    let is_empty = |name: &&&String| made.list(name).is_empty();
    let odd = names.iter().filter(is_empty);
    odd.map(|name| {
        let is_found = made.constitution.lists.iter().any(|it| it.name == **name);
        let what = match is_found {
            true => "has no values until `ironcurtain refresh-lists` finds them",
            false => "is empty or absent in dynamic-lists.json",
        };
        format!("the list `@{name}` {what}")
    })
    .collect()
}

/// Returns the sentences, with their lines, of which no rule has a say in any call.
///
/// A rule has one beneath an invariant, too: without it, what is asked about there would be denied.
fn idle<'a>(made: &'a Made, loaded: &Loaded) -> Vec<(usize, &'a str)> {
    let (policy, bounds) = (&loaded.judge.policy, &loaded.judge.bounds);
    let Ok(heard) = Table::new(Subject { policy, bounds }, &Asked::default()).heard() else {
        return Vec::new();
    };
    let heard = heard.iter().filter_map(|position| policy.rules().get(*position));
    let heard: BTreeSet<&str> = heard.map(ic_policy::Rule::name).collect();
    let rules = || made.compiled.rules.iter();
    let sentence = |it: &'a Rule| Some((it.line?, it.principle.as_str()));
    let all: BTreeSet<(usize, &str)> = rules().filter_map(sentence).collect();
    let tools = english::tools(loaded);
    let counts = |it: &&Rule| heard.contains(it.name.as_str()) || is_beside_places(it, &tools);
    let used: BTreeSet<(usize, &str)> = rules().filter(counts).filter_map(sentence).collect();
    all.difference(&used).copied().collect()
}

/// Returns whether a rule is about what a known tool is told beside its places, of which the table has no calls.
fn is_beside_places(rule: &Rule, tools: &[Tool]) -> bool {
    let is_about = |it: &&Tool| {
        rule.servers.as_ref().is_none_or(|all| all.iter().any(|name| name == it.server.as_str()))
            && rule.tool.as_ref().is_none_or(|name| name == it.tool.as_str())
    };
    rule.roles_beside().any(|role| tools.iter().filter(is_about).any(|it| it.roles.contains(&role)))
}
