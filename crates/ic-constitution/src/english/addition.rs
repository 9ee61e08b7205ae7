//! What the user has added to a policy, as plain sentences.

use ic_policy::Effect;
use ic_policy::additions::{Addition, Place as Added, names_a_place};
use ic_types::{Category, Role};

use super::{is_read_back, sentence};
use crate::compile::Tool;
use crate::grammar::Verb;
use crate::sentence::{Deed, Directory, HostPlace, Place, Sentence, With, kind_of};

/// Writes an addition as sentences; `None` if it has no plain form.
pub fn of_addition(addition: &Addition, tools: &[Tool]) -> Option<Vec<Sentence>> {
    let effect = addition.effect();
    let is_meant = |it: &&Tool| {
        addition.is_about_server(&it.server) && addition.tool().is_none_or(|tool| *tool == it.tool)
    };
    let meant = || tools.iter().filter(is_meant);
    let own = addition
        .server()
        .map(|server| With { server: server.clone(), tool: addition.tool().cloned() });
    let with: Vec<With> = own.into_iter().collect();
    let place = match addition.place() {
        // A *never* for the root of all is meant for the workspace too.
        Some(Added::Directory(path)) if path.trim_end_matches('/').is_empty() => match effect {
            Effect::Deny => Place::Anywhere,
            Effect::Allow | Effect::Escalate => Place::Elsewhere,
        },
        Some(Added::Directory(path)) => Place::Directories(vec![directory(path)]),
        Some(Added::Host(pattern)) => Place::Hosts(vec![HostPlace::Pattern(pattern.clone())]),
        None => Place::Unsaid,
    };
    let roles: Vec<Role> = match (addition.roles(), addition.place()) {
        (Some(roles), _) => roles.to_vec(),
        (None, Some(_)) => {
            let has = |role: &Role| meant().any(|it| it.roles.contains(role));
            // What restricts has to hold for tools that come later, too.
            let is_one =
                |role: &Role| addition.is_about(*role) && (effect != Effect::Allow || has(role));
            Role::all().filter(is_one).collect()
        }
        (None, None) => {
            let uses = match effect {
                Effect::Allow => {
                    let is_free = |it: &&Tool| !it.roles.iter().any(|role| names_a_place(*role));
                    let one =
                        |it: &Tool| With { server: it.server.clone(), tool: Some(it.tool.clone()) };
                    meant().filter(is_free).map(one).collect()
                }
                Effect::Escalate | Effect::Deny => with,
            };
            let one = sentence(effect, Deed::Use(uses.clone()), (Place::Unsaid, Vec::new()));
            return (!uses.is_empty() && is_read_back(&one)).then(|| vec![one]);
        }
    };
    let mut groups: Vec<Vec<Verb>> = Vec::new();
    for role in roles {
        let verb = Verb::all().find(|verb| verb.row().roles == [role])?;
        let joins = |verbs: &&mut Vec<Verb>| {
            let is_file = role.category() == Category::Path;
            let is_kind = kind_of(&[verbs.as_slice(), &[verb]].concat()).is_some();
            is_kind && (is_file || role.category() == Category::Url)
        };
        match groups.iter_mut().find(joins) {
            Some(verbs) => verbs.push(verb),
            None => groups.push(vec![verb]),
        }
    }
    let sentences: Vec<Sentence> = groups
        .into_iter()
        .map(|verbs| sentence(effect, Deed::Verbs(verbs), (place.clone(), with.clone())))
        .collect();
    (!sentences.is_empty() && sentences.iter().all(is_read_back)).then_some(sentences)
}

fn directory(path: &str) -> Directory {
    match path.strip_prefix("${SANDBOX}") {
        Some(rest) => Directory::Sandbox(rest.trim_matches('/').to_owned()),
        None => Directory::At(path.trim_end_matches('/').to_owned()),
    }
}
