//! A second opinion: the specification's algorithm (4.3), written as it reads, over every rule in turn.
//!
//! Shares no code with the decision: it compares text, walks lists and knows no index. Of the invariants
//! it knows those that have to be named before rules: protected paths and drafts.

use ic_types::Role;

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
    pub(crate) is_draft: bool,
}

/// Where the sandbox is, and whether it is the user's own directory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RefPlace {
    pub(crate) sandbox: &'static str,
    pub(crate) is_workspace: bool,
    pub(crate) protected: &'static [&'static str],
}

pub(crate) const EFFECTS: [&str; 3] = ["allow", "escalate", "deny"];

/// Somebody's verdict: effect, position among the rules (what is no rule comes after them), name.
type Verdict = (usize, usize, String);

const NO_RULE: usize = usize::MAX;

/// Judges `call`: effect, rule and escalated roles, printed as the real verdict is.
pub(crate) fn judge(place: &RefPlace, rules: &[RefRule], call: &RefCall) -> String {
    let rules: Vec<(usize, &RefRule)> =
        rules.iter().enumerate().filter(|(_, rule)| is_about(rule, call)).collect();
    let mut verdicts: Vec<(usize, String, Option<Role>)> = Vec::new();
    // Step 2, in its order.
    for (role, values) in call.roles.iter().filter(|(role, _)| is_path(*role)) {
        if values.iter().any(|value| is_protected(place, *role, value)) {
            verdicts.push((2, "structural-protected-path".to_owned(), Some(*role)));
        }
    }
    if call.is_draft {
        verdicts.push((1, "structural-draft".to_owned(), None));
    }
    // Steps 3 and 4.
    let resources: Vec<_> = call.roles.iter().filter(|(role, _)| is_resource(*role)).collect();
    let mut are_all_settled = true;
    for (role, values) in resources.iter().copied() {
        if let Some((effect, _, name)) = judge_role(place, &rules, call, *role, values) {
            are_all_settled = false;
            verdicts.push((effect, name, Some(*role)));
        }
    }
    if resources.is_empty() {
        let (effect, name) = judge_whole(&rules, call);
        verdicts.push((effect, name, None));
    } else if are_all_settled {
        verdicts.push((0, "structural-sandbox-allow".to_owned(), None));
    }
    if !resources.is_empty() {
        verdicts.extend(judge_beside(&rules, call).map(|(effect, name)| (effect, name, None)));
    }
    if call.roles.iter().any(|(role, values)| *role == Role::GitRemoteUrl && values.is_empty()) {
        verdicts.push((1, "structural-domain-escalate".to_owned(), Some(Role::GitRemoteUrl)));
    }
    // Step 5.
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

/// What is said about roles that are no resources, in a call that has resources too: what restricts is added.
fn judge_beside(rules: &[(usize, &RefRule)], call: &RefCall) -> Option<(usize, String)> {
    let mut worst: Option<(usize, String)> = None;
    for (_, rule) in rules.iter().filter(|(_, r)| r.paths.is_none() && r.domains.is_none()) {
        let names =
            rule.roles.iter().flatten().chain(rule.lists.iter().flat_map(|(roles, ..)| roles));
        let names: Vec<Role> = names.copied().collect();
        let of_call = |role: &Role| call.roles.iter().any(|(it, _)| it == role);
        if !names.is_empty() && !names.iter().any(|role| !is_resource(*role) && of_call(role)) {
            continue;
        }
        let has_role = rule.roles.as_ref().is_none_or(|roles| roles.iter().any(of_call));
        let (some, all) = holds_elsewhere(rule, call, None);
        if !has_role || !some {
            continue;
        }
        let is_worse = worst.as_ref().is_none_or(|(effect, _)| *effect < rule.effect);
        if rule.effect != 0 && !names.is_empty() && is_worse {
            worst = Some((rule.effect, rule.name.clone()));
        }
        if all {
            break;
        }
    }
    worst
}

/// Judges one role; `None` if the sandbox settles it and nothing beneath its values speaks.
fn judge_role(
    place: &RefPlace,
    rules: &[(usize, &RefRule)],
    call: &RefCall,
    role: Role,
    values: &[&str],
) -> Option<Verdict> {
    let relevant: Vec<(usize, &RefRule)> =
        rules.iter().copied().filter(|(_, rule)| is_relevant(rule, role)).collect();
    if values.is_empty() {
        let rule = relevant
            .iter()
            .find(|(_, r)| r.paths.is_none() && r.domains.is_none() && r.lists.is_empty());
        return Some(rule.map_or((2, NO_RULE, "default-deny".to_owned()), |(at, rule)| {
            (rule.effect, *at, rule.name.clone())
        }));
    }
    let is_contained = matches!(call.server, "fs" | "git");
    let is_free = |value: &&str| {
        is_contained
            && is_path(role)
            && in_sandbox(place, role, value)
            && !is_stronger(place, first_to_settle(&relevant, call, role, value))
    };
    let is_settled = values.iter().all(is_free);
    let mut heard: Vec<Verdict> = Vec::new();
    for value in values {
        if is_free(value) && (is_settled || call.server == "fs") {
            heard.push((0, NO_RULE, "structural-sandbox-allow".to_owned()));
        } else {
            heard.extend(judge_value(&relevant, call, role, value));
        }
    }
    let beneath = added_beneath(&relevant, call, role, values);
    if is_settled && beneath.is_empty() {
        return None;
    }
    heard.extend(beneath);
    let worst = heard.iter().map(|(effect, ..)| *effect).max().unwrap();
    heard.into_iter().filter(|(effect, ..)| *effect == worst).min_by_key(|(_, at, _)| *at)
}

/// Step 3: the user's own word about a value in the sandbox.
fn is_stronger(place: &RefPlace, rule: Option<&RefRule>) -> bool {
    let Some(rule) = rule else { return false };
    let is_place_in_sandbox =
        rule.paths.as_ref().is_some_and(|(_, within)| is_within(within, place.sandbox));
    let denies_in_workspace = rule.effect == 2 && place.is_workspace;
    denies_in_workspace || (rule.effect != 0 && is_place_in_sandbox)
}

/// Returns the first rule that settles the value.
fn first_to_settle<'a>(
    relevant: &[(usize, &'a RefRule)],
    call: &RefCall,
    role: Role,
    value: &str,
) -> Option<&'a RefRule> {
    relevant.iter().map(|(_, rule)| *rule).find(|rule| {
        covers(rule, role, value)
            && holds_elsewhere(rule, call, Some(role)) == (true, true)
            && !is_own_root(rule, role, value)
    })
}

/// Returns whether an allowing rule does not cover the value since it is the rule's own root.
///
/// Nothing exists here, so what is written is made.
fn is_own_root(rule: &RefRule, role: Role, value: &str) -> bool {
    rule.effect == 0
        && matches!(role, Role::WritePath | Role::DeletePath)
        && rule.paths.as_ref().is_some_and(|(_, within)| *within == value && value != "/")
}

/// Step 4: who settles one value, and who adds a verdict on the way.
fn judge_value(
    relevant: &[(usize, &RefRule)],
    call: &RefCall,
    role: Role,
    value: &str,
) -> Vec<Verdict> {
    let mut heard = Vec::new();
    let mut is_root = false;
    for (at, rule) in relevant.iter().filter(|(_, rule)| covers(rule, role, value)) {
        match holds_elsewhere(rule, call, Some(role)) {
            (true, true) if is_own_root(rule, role, value) => is_root = true,
            (true, true) => {
                heard.push((rule.effect, *at, rule.name.clone()));
                return heard;
            }
            (true, false) if rule.effect != 0 => {
                heard.push((rule.effect, *at, rule.name.clone()));
            }
            _ => {}
        }
    }
    heard.push(match is_root {
        true => (1, NO_RULE, "structural-root".to_owned()),
        false => (2, NO_RULE, "default-deny".to_owned()),
    });
    heard
}

/// Step 4: rules that deny or escalate for a place beneath a value of which the whole tree counts.
fn added_beneath(
    relevant: &[(usize, &RefRule)],
    call: &RefCall,
    role: Role,
    values: &[&str],
) -> Vec<Verdict> {
    let is_tree = role == Role::DeletePath || is_path(role) && call.tool == "run_command";
    let mut heard = Vec::new();
    for value in values.iter().filter(|_| is_tree) {
        for (at, rule) in relevant.iter().filter(|(_, rule)| rule.effect != 0) {
            let Some((_, within)) = &rule.paths else { continue };
            let is_beneath = within != value && is_within(within, value);
            let (some, _) = holds_elsewhere(rule, call, Some(role));
            if is_beneath && rule.domains.is_none() && holds_on_lists(rule, role, value) && some {
                heard.push((rule.effect, *at, rule.name.clone()));
            }
        }
    }
    heard
}

fn judge_whole(rules: &[(usize, &RefRule)], call: &RefCall) -> (usize, String) {
    let mut heard: Vec<(usize, String)> = Vec::new();
    let mut is_settled = false;
    for (_, rule) in rules {
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
    rule.paths.as_ref().is_none_or(|(_, within)| is_path(role) && is_within(value, within))
        && rule
            .domains
            .as_ref()
            .is_none_or(|(_, allowed)| !is_path(role) && allowed.iter().any(|p| domain(p, value)))
        && holds_on_lists(rule, role, value)
}

/// Returns whether the rule's lists about `role` hold for the value.
fn holds_on_lists(rule: &RefRule, role: Role, value: &str) -> bool {
    rule.lists.iter().filter(|(roles, ..)| roles.contains(&role)).all(|(_, allowed, kind)| {
        allowed.iter().any(|member| is_member(rule, kind, role, (member, value)))
    })
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
        "domains" => !is_path(role) && domain(member, value),
        "emails" => {
            let is_same_in_ascii = member.eq_ignore_ascii_case(value);
            let is_same = member.to_lowercase() == value.to_lowercase();
            !is_path(role)
                && !matches!(role, Role::FetchUrl | Role::GitRemoteUrl)
                && (is_same_in_ascii || rule.effect != 0 && is_same)
        }
        _ => match role {
            Role::GithubOwner | Role::GithubRepo | Role::ProxyDomain => {
                member.eq_ignore_ascii_case(value)
            }
            _ => member == value,
        },
    }
}

/// The entry of a workspace lies in the directory above it, so removing it is not in the workspace.
fn in_sandbox(place: &RefPlace, role: Role, value: &str) -> bool {
    let is_own_entry = place.is_workspace && role == Role::DeletePath && value == place.sandbox;
    is_within(value, place.sandbox) && !is_own_entry
}

fn is_protected(place: &RefPlace, role: Role, value: &str) -> bool {
    place.protected.iter().any(|protected| {
        is_within(value, protected) || role == Role::DeletePath && is_within(protected, value)
    })
}

fn is_path(role: Role) -> bool {
    matches!(
        role,
        Role::ReadPath
            | Role::WritePath
            | Role::DeletePath
            | Role::WriteHistory
            | Role::DeleteHistory
    )
}

fn is_resource(role: Role) -> bool {
    is_path(role)
        || matches!(role, Role::FetchUrl | Role::GitRemoteUrl)
        || matches!(role, Role::GithubOwner | Role::GithubRepo | Role::ProxyDomain)
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
