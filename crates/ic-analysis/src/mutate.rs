//! Policies with one mistake each, to find out whether tests would notice.
//!
//! Every rule, every addition of the user's and every entry of a list is deleted, turned round, widened and
//! narrowed. Works on the files as they are written; whether a mutant can be loaded is for the policy to say.

mod additions;

use ic_policy::artifact::{ArtifactError, Source};
use ic_types::{Json, JsonLimits, Object};

/// The files of a policy in which mistakes are made.
#[derive(Clone, Copy, Debug)]
pub struct Written<'a> {
    /// `compiled-policy.json`.
    pub compiled: Source<'a>,
    /// `dynamic-lists.json`, if there is one.
    pub lists: Option<Source<'a>>,
    /// `additions.json`, if there is one.
    pub additions: Option<Source<'a>>,
}

/// A policy with one mistake.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// The rule, addition or list that has it.
    pub rule: String,
    /// The mistake.
    pub mistake: String,
    /// `compiled-policy.json` with the mistake.
    pub compiled: String,
    /// `dynamic-lists.json` with the mistake, if there are lists.
    pub lists: Option<String>,
    /// `additions.json` with the mistake, if there are additions.
    pub additions: Option<String>,
}

/// The name that a narrower directory gets.
const NARROWED: &str = "narrowed";

/// Returns all mutants of a policy's files.
pub fn mutants(written: Written<'_>) -> Result<Vec<Mutant>, ArtifactError> {
    let policy = parse(written.compiled)?;
    let lists = written.lists.map(parse).transpose()?;
    let added = written.additions.map(parse).transpose()?;
    let text = |it: &Object| Json::Object(it.clone()).to_string();
    let (lists_text, added_text) = (lists.as_ref().map(text), added.as_ref().map(text));
    let mut found = Vec::new();
    let rules = items(policy.get("rules"));
    for (position, rule) in rules.iter().enumerate() {
        let Json::Object(rule) = rule else { continue };
        let name = rule.get("name").and_then(Json::as_str).unwrap_or_default();
        for (mistake, changed) in of_rule(rule) {
            let mut rules = rules.to_vec();
            match changed {
                Some(changed) => {
                    if let Some(place) = rules.get_mut(position) {
                        *place = Json::Object(changed);
                    }
                }
                None => drop(rules.remove(position)),
            }
            let mut policy = policy.clone();
            policy.insert("rules", rules);
            found.push(Mutant {
                rule: name.to_owned(),
                mistake,
                compiled: Json::Object(policy).to_string(),
                lists: lists_text.clone(),
                additions: added_text.clone(),
            });
        }
    }
    let right = Mutant {
        rule: String::new(),
        mistake: String::new(),
        compiled: Json::Object(policy).to_string(),
        lists: lists_text,
        additions: added_text,
    };
    found.extend(lists.iter().flat_map(|lists| of_lists(lists, &right)));
    found.extend(added.iter().flat_map(|added| additions::of_file(added, &right)));
    Ok(found)
}

/// Returns the mistakes that one rule can have; `None` is a rule that is gone.
fn of_rule(rule: &Object) -> Vec<(String, Option<Object>)> {
    let mut found = vec![("deleted".to_owned(), None)];
    found.extend(turned(rule).into_iter().map(|(mistake, changed)| (mistake, Some(changed))));
    let Some(Json::Object(conditions)) = rule.get("if") else { return found };
    for (mistake, changed) in of_conditions(conditions) {
        let mut rule = rule.clone();
        rule.insert("if", changed);
        found.push((mistake, Some(rule)));
    }
    found
}

/// Turns what a rule says into each of the other verdicts.
fn turned(rule: &Object) -> Vec<(String, Object)> {
    let then = rule.get("then").and_then(Json::as_str).unwrap_or_default();
    let others = ["allow", "escalate", "deny"].into_iter().filter(|it| *it != then);
    let turn = |other: &str| {
        let mut changed = rule.clone();
        changed.insert("then", other);
        (format!("{then} turned into {other}"), changed)
    };
    others.map(turn).collect()
}

/// Widens and narrows each condition.
fn of_conditions(conditions: &Object) -> Vec<(String, Object)> {
    let mut found = Vec::new();
    let mut with = |mistake: String, key: &str, value: Option<Json>| {
        let mut changed = conditions.clone();
        match value {
            Some(value) => changed.insert(key, value),
            None => drop(changed.remove(key)),
        }
        found.push((mistake, changed));
    };
    for key in ["server", "tool", "roles"] {
        let Some(value) = conditions.get(key) else { continue };
        with(format!("widened: `{key}` is not asked for"), key, None);
        for (entry, rest) in without_one(items(Some(value))) {
            with(format!("narrowed: `{key}` without `{entry}`"), key, Some(rest));
        }
    }
    if let Some(Json::Object(paths)) = conditions.get("paths") {
        let within = paths.get("within").and_then(Json::as_str).unwrap_or_default();
        for (mistake, within) in of_place(within) {
            let mut changed = paths.clone();
            changed.insert("within", within);
            with(mistake, "paths", Some(Json::Object(changed)));
        }
        for (mistake, changed) in of_entries(paths, "roles", "paths.roles") {
            with(mistake, "paths", Some(Json::Object(changed)));
        }
    }
    if let Some(Json::Object(domains)) = conditions.get("domains") {
        for (mistake, changed) in of_hosts(domains) {
            with(mistake, "domains", Some(Json::Object(changed)));
        }
        for (mistake, changed) in of_entries(domains, "roles", "domains.roles") {
            with(mistake, "domains", Some(Json::Object(changed)));
        }
    }
    let lists = items(conditions.get("lists"));
    for (position, list) in lists.iter().enumerate() {
        let Json::Object(list) = list else { continue };
        for (mistake, changed) in of_entries(list, "allowed", "list") {
            let mut lists = lists.to_vec();
            if let Some(place) = lists.get_mut(position) {
                *place = Json::Object(changed);
            }
            with(mistake, "lists", Some(Json::Array(lists)));
        }
    }
    found
}

/// Returns the directory above, and one beneath.
fn of_place(within: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let above = match within.rsplit_once('/') {
        Some(("", "")) | None => None,
        Some(("", _)) => Some("/".to_owned()),
        Some((above, _)) => Some(above.to_owned()),
    };
    found.extend(above.map(|above| (format!("widened: `{within}` became `{above}`"), above)));
    let beneath = format!("{}/{NARROWED}", within.trim_end_matches('/'));
    found.push((format!("narrowed: `{within}` became `{beneath}`"), beneath));
    found
}

/// Widens each pattern of hosts, and leaves each out.
fn of_hosts(domains: &Object) -> Vec<(String, Object)> {
    let mut found = of_entries(domains, "allowed", "domains.allowed");
    let allowed = items(domains.get("allowed"));
    for (position, entry) in allowed.iter().enumerate() {
        let Some(text) = entry.as_str().filter(|it| !it.starts_with('@')) else { continue };
        let Some(wider) = wider_host(text) else { continue };
        let mistake = format!("widened: `{text}` became `{wider}`");
        let mut allowed = allowed.to_vec();
        if let Some(place) = allowed.get_mut(position) {
            *place = Json::from(wider);
        }
        let mut changed = domains.clone();
        changed.insert("allowed", allowed);
        found.push((mistake, changed));
    }
    found
}

/// Returns a pattern of hosts that also covers others.
fn wider_host(text: &str) -> Option<String> {
    match text.strip_prefix("*.") {
        Some(_) => Some("*".to_owned()),
        None if text == "*" || text.contains(['/', ':']) => None,
        None => Some(format!("*.{text}")),
    }
}

/// Leaves out each entry of a list of an object; a list of one entry becomes empty only for members.
fn of_entries(object: &Object, key: &str, called: &str) -> Vec<(String, Object)> {
    let entries = items(object.get(key));
    let left = match (entries, key) {
        // A condition on no role never holds, which deleting the rule tries already.
        ([_], "roles") => Vec::new(),
        (entries, _) => without_any(entries),
    };
    let without = |(entry, rest): (String, Json)| {
        let mut changed = object.clone();
        changed.insert(key, rest);
        (format!("narrowed: `{called}` without `{entry}`"), changed)
    };
    left.into_iter().map(without).collect()
}

/// Returns a list without each of its entries, if there are several.
fn without_one(entries: &[Json]) -> Vec<(String, Json)> {
    if entries.len() < 2 { Vec::new() } else { without_any(entries) }
}

/// Returns a list without each of its entries.
fn without_any(entries: &[Json]) -> Vec<(String, Json)> {
    let without = |(position, entry): (usize, &Json)| {
        let mut rest = entries.to_vec();
        rest.remove(position);
        let entry = entry.as_str().map_or_else(|| entry.to_string(), str::to_owned);
        (entry, Json::Array(rest))
    };
    entries.iter().enumerate().map(without).collect()
}

/// Leaves out each entry of each list of `dynamic-lists.json`.
fn of_lists(file: &Object, right: &Mutant) -> Vec<Mutant> {
    let mut found = Vec::new();
    let Some(Json::Object(lists)) = file.get("lists") else { return found };
    for (name, list) in lists.iter() {
        let Json::Object(list) = list else { continue };
        for key in ["values", "manualAdditions", "manualRemovals"] {
            for (entry, rest) in without_any(items(list.get(key))) {
                let (mut list, mut lists, mut file) = (list.clone(), lists.clone(), file.clone());
                list.insert(key, rest);
                lists.insert(name, list);
                file.insert("lists", lists);
                found.push(Mutant {
                    rule: format!("@{name}"),
                    mistake: format!("`{key}` without `{entry}`"),
                    lists: Some(Json::Object(file).to_string()),
                    ..right.clone()
                });
            }
        }
    }
    found
}

fn items(json: Option<&Json>) -> &[Json] {
    match json {
        Some(Json::Array(items)) => items,
        _ => &[],
    }
}

fn parse(source: Source<'_>) -> Result<Object, ArtifactError> {
    match Json::parse(source.bytes, JsonLimits::ARTIFACT) {
        Ok(Json::Object(object)) => Ok(object),
        Ok(_) => Err(ArtifactError::new(source.file, "", "it is not an object")),
        Err(error) => Err(ArtifactError::new(source.file, "", error)),
    }
}
