//! A second opinion: the specification's algorithm, written as it reads, over every rule in turn.
//!
//! Shares no code with the decision: it compares text, walks lists and knows no index. It covers what
//! the index touches (rules, containment); invariants have their own table.

use ic_types::{Category, Role};

/// A rule as text.
#[derive(Clone, Debug)]
pub(crate) struct RefRule {
    pub(crate) name: String,
    /// 0 allow, 1 escalate, 2 deny.
    pub(crate) effect: usize,
    pub(crate) servers: Option<Vec<&'static str>>,
    pub(crate) tools: Option<Vec<&'static str>>,
    pub(crate) roles: Option<Vec<Role>>,
    pub(crate) paths: Option<(Vec<Role>, &'static str)>,
    pub(crate) domains: Option<(Vec<Role>, Vec<&'static str>)>,
    pub(crate) lists: Vec<(Vec<Role>, Vec<&'static str>, &'static str)>,
}

/// A call as text.
#[derive(Clone, Debug)]
pub(crate) struct RefCall {
    pub(crate) server: &'static str,
    pub(crate) tool: &'static str,
    pub(crate) roles: Vec<(Role, Vec<&'static str>)>,
}

pub(crate) const EFFECTS: [&str; 3] = ["allow", "escalate", "deny"];

/// Judges `call`: effect, rule and escalated roles, printed as the real verdict is.
pub(crate) fn judge(rules: &[RefRule], call: &RefCall) -> String {
    let rules: Vec<&RefRule> = rules.iter().filter(|rule| is_about(rule, call)).collect();
    let resources: Vec<_> = call.roles.iter().filter(|(role, _)| role.is_resource()).collect();
    let contained = matches!(call.server, "fs" | "git");
    let settled = |(role, values): &(Role, Vec<&str>)| {
        contained
            && role.category() == Category::Path
            && !values.is_empty()
            && values.iter().all(|v| in_sandbox(v))
    };
    let mut verdicts: Vec<(usize, String, Option<Role>)> = Vec::new();
    if resources.is_empty() {
        let (effect, name) = judge_whole(&rules, call);
        verdicts.push((effect, name, None));
    } else if resources.iter().all(|entry| settled(entry)) {
        verdicts.push((0, "structural-sandbox-allow".to_owned(), None));
    } else {
        for entry in resources.iter().filter(|entry| !settled(entry)) {
            let (effect, name) = judge_role(&rules, call, entry.0, &entry.1);
            verdicts.push((effect, name, Some(entry.0)));
        }
    }
    if call.roles.iter().any(|(role, values)| *role == Role::GitRemoteUrl && values.is_empty()) {
        verdicts.push((1, "structural-domain-escalate".to_owned(), Some(Role::GitRemoteUrl)));
    }
    let worst = verdicts.iter().map(|(effect, ..)| *effect).max().unwrap();
    let named = &verdicts.iter().find(|(effect, ..)| *effect == worst).unwrap().1;
    let mut escalated: Vec<&str> = Vec::new();
    for (role, _) in &call.roles {
        let escalates = verdicts.iter().any(|(effect, _, of)| *effect == 1 && *of == Some(*role));
        if worst == 1 && escalates {
            escalated.push(role.as_str());
        }
    }
    let escalated =
        if escalated.is_empty() { String::new() } else { format!(" ({})", escalated.join(" ")) };
    format!("{} by {named}{escalated}", EFFECTS[worst])
}

fn judge_role(rules: &[&RefRule], call: &RefCall, role: Role, values: &[&str]) -> (usize, String) {
    let relevant: Vec<_> = rules.iter().filter(|rule| is_relevant(rule, role)).collect();
    if values.is_empty() {
        let rule = relevant
            .iter()
            .find(|r| r.paths.is_none() && r.domains.is_none() && r.lists.is_empty());
        return rule
            .map_or((2, "default-deny".to_owned()), |rule| (rule.effect, rule.name.clone()));
    }
    let mut left: Vec<&str> = values.to_vec();
    let mut in_the_sandbox = false;
    if call.server == "fs" && role.category() == Category::Path {
        in_the_sandbox = left.iter().any(|value| in_sandbox(value));
        left.retain(|value| !in_sandbox(value));
    }
    let mut heard: Vec<(usize, String)> = Vec::new();
    let mut roots: Vec<&str> = Vec::new();
    for rule in relevant {
        let mut covered: Vec<&str> =
            left.iter().copied().filter(|value| covers(rule, role, value)).collect();
        // Nothing exists here, so what is written is made; a rule does not cover its own root.
        if rule.effect == 0
            && matches!(role, Role::WritePath | Role::DeletePath)
            && holds_elsewhere(rule, call, Some(role)) == (true, true)
        {
            let is_root = |value: &&str| {
                rule.paths.as_ref().is_some_and(|(_, within)| within == value && *within != "/")
            };
            roots.extend(covered.iter().copied().filter(is_root));
            covered.retain(|value| !is_root(value));
        }
        if covered.is_empty() {
            continue;
        }
        match holds_elsewhere(rule, call, Some(role)) {
            (true, true) => {
                heard.push((rule.effect, rule.name.clone()));
                left.retain(|value| !covered.contains(value));
            }
            (true, false) if rule.effect != 0 => heard.push((rule.effect, rule.name.clone())),
            _ => {}
        }
    }
    if in_the_sandbox {
        heard.push((0, "structural-sandbox-allow".to_owned()));
    }
    if left.iter().any(|value| roots.contains(value)) {
        heard.push((1, "structural-root".to_owned()));
    }
    if left.iter().any(|value| !roots.contains(value)) {
        heard.push((2, "default-deny".to_owned()));
    }
    let worst = heard.iter().map(|(effect, _)| *effect).max().unwrap();
    heard.into_iter().find(|(effect, _)| *effect == worst).unwrap()
}

fn judge_whole(rules: &[&RefRule], call: &RefCall) -> (usize, String) {
    let mut heard: Vec<(usize, String)> = Vec::new();
    let mut is_settled = false;
    for rule in rules {
        let has_role = rule
            .roles
            .as_ref()
            .is_none_or(|roles| call.roles.iter().any(|(role, _)| roles.contains(role)));
        if !has_role || rule.paths.is_some() || rule.domains.is_some() {
            continue;
        }
        match holds_elsewhere(rule, call, None) {
            (true, true) => {
                heard.push((rule.effect, rule.name.clone()));
                is_settled = true;
                break;
            }
            (true, false) if rule.effect != 0 => heard.push((rule.effect, rule.name.clone())),
            _ => {}
        }
    }
    if !is_settled {
        heard.push((2, "default-deny".to_owned()));
    }
    let worst = heard.iter().map(|(effect, _)| *effect).max().unwrap();
    heard.into_iter().find(|(effect, _)| *effect == worst).unwrap()
}

fn is_about(rule: &RefRule, call: &RefCall) -> bool {
    rule.servers.as_ref().is_none_or(|names| names.contains(&call.server))
        && rule.tools.as_ref().is_none_or(|names| names.contains(&call.tool))
}

fn is_relevant(rule: &RefRule, role: Role) -> bool {
    rule.roles.as_ref().is_none_or(|roles| roles.contains(&role))
        && rule.paths.as_ref().is_none_or(|(roles, _)| roles.contains(&role))
        && rule.domains.as_ref().is_none_or(|(roles, _)| roles.contains(&role))
        && (rule.lists.is_empty() || rule.lists.iter().any(|(roles, ..)| roles.contains(&role)))
}

fn covers(rule: &RefRule, role: Role, value: &str) -> bool {
    let is_path = role.category() == Category::Path;
    rule.paths.as_ref().is_none_or(|(_, within)| is_path && is_within(value, within))
        && rule
            .domains
            .as_ref()
            .is_none_or(|(_, allowed)| !is_path && allowed.iter().any(|p| domain(p, value)))
        && rule.lists.iter().filter(|(roles, ..)| roles.contains(&role)).all(
            |(_, allowed, kind)| {
                allowed.iter().any(|member| is_member(rule, kind, role, (member, value)))
            },
        )
}

/// Returns whether something matches, and whether everything does, on lists about other roles.
fn holds_elsewhere(rule: &RefRule, call: &RefCall, judged: Option<Role>) -> (bool, bool) {
    let (mut some, mut all) = (true, true);
    for (roles, allowed, kind) in &rule.lists {
        if judged.is_some_and(|role| roles.contains(&role)) {
            continue;
        }
        let of_roles = call.roles.iter().filter(|(role, _)| roles.contains(role));
        let values: Vec<(Role, &str)> = of_roles
            .flat_map(|(role, values)| values.iter().map(|value| (*role, *value)))
            .collect();
        let matches = |(role, value): &(Role, &str)| {
            allowed.iter().any(|m| is_member(rule, kind, *role, (m, value)))
        };
        some &= values.iter().any(matches);
        all &= !values.is_empty() && values.iter().all(matches);
    }
    (some, all)
}

fn is_member(rule: &RefRule, kind: &str, role: Role, (member, value): (&str, &str)) -> bool {
    match kind {
        "domains" => role.category() != Category::Path && domain(member, value),
        "emails" => {
            let is_same_in_ascii = member.eq_ignore_ascii_case(value);
            let is_same = member.to_lowercase() == value.to_lowercase();
            matches!(role.category(), Category::Identifier | Category::Opaque)
                && (is_same_in_ascii || rule.effect != 0 && is_same)
        }
        _ => match role.category() {
            Category::Identifier => member.eq_ignore_ascii_case(value),
            _ => member == value,
        },
    }
}

fn in_sandbox(value: &str) -> bool {
    is_within(value, crate::world::SANDBOX)
}

fn is_within(value: &str, within: &str) -> bool {
    within == "/" || value == within || value.starts_with(&format!("{within}/"))
}

/// Matches plain names only; the values of the laws are `https://name` and `name`.
fn domain(pattern: &str, value: &str) -> bool {
    let name = value.strip_prefix("https://").unwrap_or(value).to_lowercase();
    let is_host = |name: &str| !name.contains(['@', ' ']);
    match pattern.strip_prefix("*.") {
        Some(base) => name == base || name.ends_with(&format!(".{base}")),
        None if pattern == "*" => name.contains('.') && is_host(&name),
        None => name == pattern,
    }
}
