//! What is said of the answers: who may do what, where.

use ic_policy::Effect;
use ic_types::Role;

use super::table::{Answers, Column, VERBS};

/// How many tools are named one by one.
pub(super) const TOOLS_MAX: usize = 3;

/// Returns the columns with this answer.
pub(super) fn holds(answers: &Answers, effect: Effect) -> impl Iterator<Item = usize> {
    let is = move |(at, it): (usize, &Option<Effect>)| (*it == Some(effect)).then_some(at);
    answers.iter().enumerate().filter_map(is)
}

/// Says what has `effect` in one place, where it is not so `around` it.
pub(super) fn entries(
    columns: &[&Column],
    answers: &Answers,
    around: Option<&Answers>,
    effect: Effect,
    at: &str,
) -> Vec<String> {
    let held: Vec<usize> = holds(answers, effect).collect();
    let is_new =
        |column: &usize| around.is_none_or(|around| around.get(*column) != Some(&Some(effect)));
    if !held.iter().any(is_new) {
        return Vec::new();
    }
    if held.len() == columns.len() && 1 < held.len() {
        return vec![format!("everything {at}")];
    }
    // Verbs of the same servers and tools are said together.
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for (verb, role) in VERBS {
        let of_role: Vec<usize> = held
            .iter()
            .copied()
            .filter(|column| columns.get(*column).is_some_and(|it| it.role == role))
            .collect();
        if !of_role.iter().any(is_new) {
            continue;
        }
        let mut who = who(columns, role, &of_role);
        // What only one server can do goes with what it alone may do.
        let is_its = |server: &str| {
            columns.iter().filter(|it| it.role == role).all(|it| it.server.as_str() == server)
        };
        if let Some((alone, _)) = groups.iter().find(|(it, _)| who.is_empty() && is_its(it)) {
            who.clone_from(alone);
        }
        match groups.iter_mut().find(|(it, _)| *it == who) {
            Some((_, verbs)) => verbs.push(verb),
            None => groups.push((who, vec![verb])),
        }
    }
    let line = |(who, verbs): &(String, Vec<&str>)| {
        let n_possible = VERBS.iter().filter(|(_, role)| has(columns, who, *role)).count();
        let verbs = match verbs.len() {
            n if n == n_possible && 1 < n => "everything".to_owned(),
            _ => listed(verbs),
        };
        match who.is_empty() {
            true => format!("{verbs} {at}"),
            false => format!("{verbs} {at} ({who})"),
        }
    };
    groups.iter().map(line).collect()
}

/// Returns whether the one server of this name can do this.
fn has(columns: &[&Column], server: &str, role: Role) -> bool {
    columns.iter().any(|it| it.server.as_str() == server && it.role == role)
}

/// Says what has `effect` of addresses that are all the same to the policy.
pub(super) fn of_addresses(
    columns: &[&Column],
    answers: &Answers,
    effect: Effect,
    what: &str,
) -> Option<String> {
    let held: Vec<usize> = holds(answers, effect).collect();
    let role = columns.first()?.role;
    (!held.is_empty()).then(|| match who(columns, role, &held).as_str() {
        "" => what.to_owned(),
        who => format!("{what} ({who})"),
    })
}

/// Says whose columns are meant; nothing if it is everyone who can do this.
fn who(columns: &[&Column], role: Role, held: &[usize]) -> String {
    let of_role = || columns.iter().enumerate().filter(|(_, it)| it.role == role);
    if of_role().all(|(at, _)| held.contains(&at)) {
        return String::new();
    }
    let mut names: Vec<String> = Vec::new();
    let mut servers: Vec<&ic_types::ServerName> = of_role().map(|(_, it)| &it.server).collect();
    servers.dedup();
    for server in servers {
        let of_server = || of_role().filter(|(_, it)| it.server == *server);
        if of_server().all(|(at, _)| held.contains(&at)) {
            names.push(server.to_string());
            continue;
        }
        let tools: Vec<String> = of_server()
            .filter(|(at, _)| held.contains(at))
            .flat_map(|(_, it)| it.tools.iter().map(|tool| format!("{server}.{tool}")))
            .collect();
        match tools.len() {
            0 => {}
            n if n <= TOOLS_MAX => names.extend(tools),
            n => names.push(format!("{n} tools of {server}")),
        }
    }
    listed(&names)
}

/// Joins words as a sentence does.
pub(super) fn listed<T: AsRef<str>>(words: &[T]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
