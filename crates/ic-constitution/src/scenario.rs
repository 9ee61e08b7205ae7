//! Scenarios at the border of every sentence's place: inside, beside, and under a name with the same prefix;
//! and far from all places, for sentences that name none.
//!
//! What they expect comes from the sentences, not from the rules, so a mistake of the compiler shows. Only the
//! built-in servers are called. A link across a border needs a disk, and is left to who has one.

use std::collections::HashSet;

use ic_policy::{DomainPattern, Effect};
use ic_types::{Json, Object, Role, ServerName, ToolName};

use crate::compile::{Compiled, Subject, SubjectPlace};
use crate::english::Given;
use crate::parse::Constitution;
use crate::sentence::{Deed, Directory, HostPlace, Place, Sentence};

/// A call and what is expected of it.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What it is about.
    pub description: String,
    /// The server.
    pub server: ServerName,
    /// The tool.
    pub tool: ToolName,
    /// The role that it is about, if it was made for one.
    pub role: Option<Role>,
    /// The arguments.
    pub arguments: Object,
    /// `allow`, `escalate`, `deny` or `not-allow`.
    pub expected: String,
    /// Why.
    pub reasoning: String,
}

/// The most scenarios of a policy.
pub const SCENARIOS_MAX: usize = 2000;
/// A directory that no sentence names.
const ELSEWHERE: &str = "/ironcurtain-elsewhere";
const FILE: &str = "ironcurtain-scenario.txt";

/// Returns the scenarios of a constitution.
pub fn scenarios(constitution: &Constitution, compiled: &Compiled) -> Vec<Scenario> {
    // What stands in blocks of rules is not what the sentences say, and may be asked before them.
    let kept: Vec<Given> = compiled.kept.iter().filter_map(|it| Given::of(&it.rule)).collect();
    let mut scenarios: Vec<Scenario> = Vec::new();
    let mut known: HashSet<(ToolName, String)> = HashSet::new();
    for sentence in &constitution.sentences {
        for scenario in of_sentence(sentence, compiled) {
            if scenarios.len() == SCENARIOS_MAX {
                return scenarios;
            }
            let is_kept = |rule: &Given| {
                let (server, tool) = (scenario.server.as_str(), scenario.tool.as_str());
                scenario.role.is_none_or(|role| rule.is_about(role, server, tool))
            };
            let is_more = compiled.restricts_beside(&scenario.server, &scenario.tool);
            if is_more || kept.iter().any(is_kept) {
                continue;
            }
            let arguments = Json::from(scenario.arguments.clone()).to_string();
            if known.insert((scenario.tool.clone(), arguments)) {
                scenarios.push(scenario);
            }
        }
    }
    scenarios
}

fn of_sentence(sentence: &Sentence, compiled: &Compiled) -> Vec<Scenario> {
    let Deed::Verbs(verbs) = &sentence.deed else { return Vec::new() };
    let roles: Vec<Role> = verbs.iter().flat_map(|verb| verb.row().roles.iter().copied()).collect();
    let mut scenarios = Vec::new();
    match &sentence.place {
        Place::Directories(all) => {
            for directory in all {
                for (what, at) in borders(directory) {
                    scenarios.extend(
                        roles.iter().filter_map(|role| {
                            file_scenario(*role, what, &at, (sentence, compiled))
                        }),
                    );
                }
            }
        }
        Place::Hosts(all) => {
            let is_far = |it: &HostPlace| match it {
                HostPlace::Pattern(pattern) => pattern.to_string() == "*",
                HostPlace::Local => true,
                HostPlace::List(_) => false,
            };
            if roles.contains(&Role::FetchUrl) && all.iter().any(is_far) {
                scenarios
                    .extend(far_hosts().filter_map(|(what, host)| {
                        host_scenario(what, host, (sentence, compiled))
                    }));
            }
            let patterns = all.iter().filter_map(|it| match it {
                HostPlace::Pattern(pattern) => Some(pattern),
                HostPlace::Local | HostPlace::List(_) => None,
            });
            for pattern in patterns.filter(|_| roles.contains(&Role::FetchUrl)) {
                let found = host_borders(pattern);
                scenarios.extend(
                    found
                        .iter()
                        .filter_map(|(what, host)| host_scenario(what, host, (sentence, compiled))),
                );
            }
        }
        Place::Unsaid | Place::Anywhere | Place::Elsewhere => {
            let at = Directory::At(ELSEWHERE.to_owned());
            scenarios.extend(roles.iter().filter_map(|role| {
                file_scenario(*role, "far from all directories", &at, (sentence, compiled))
            }));
            if roles.contains(&Role::FetchUrl) {
                scenarios
                    .extend(far_hosts().filter_map(|(what, host)| {
                        host_scenario(what, host, (sentence, compiled))
                    }));
            }
        }
        Place::Unnamed | Place::Names(_) => {}
    }
    scenarios
}

/// Returns a public host and a local one that no sentence names.
fn far_hosts() -> impl Iterator<Item = (&'static str, &'static str)> {
    [("a public host", "ironcurtain.example"), ("this machine", "127.0.0.1")].into_iter()
}

/// Returns directories inside, beside and near a directory of the home or the root.
fn borders(directory: &Directory) -> Vec<(&'static str, Directory)> {
    let Directory::At(path) = directory else { return Vec::new() };
    // Hidden directories may be protected, which no sentence changes.
    if path.contains("/.") || path == "~" {
        return Vec::new();
    }
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    let mut borders = vec![
        ("in the directory", directory.clone()),
        ("deep in the directory", Directory::At(format!("{path}/ironcurtain-a/b"))),
        ("in a sibling with the same prefix", Directory::At(format!("{path}-ironcurtain"))),
    ];
    if !parent.is_empty() && parent != "~" {
        borders.push(("above the directory", Directory::At(parent.to_owned())));
    }
    borders
}

fn file_scenario(
    role: Role,
    what: &str,
    at: &Directory,
    (sentence, compiled): (&Sentence, &Compiled),
) -> Option<Scenario> {
    let (tool, with_content) = match role {
        Role::ReadPath => ("read_file", false),
        Role::WritePath => ("write_file", true),
        Role::DeletePath => ("delete_file", false),
        _ => return None,
    };
    let (server, tool): (ServerName, ToolName) = ("filesystem".parse().ok()?, tool.parse().ok()?);
    let place = SubjectPlace::Directory(at.clone());
    let effect = compiled.says(&Subject { server: &server, tool: &tool, role, place });
    let mut arguments = Object::new();
    let path = format!("{}/{FILE}", at.within());
    arguments.insert("path", path.as_str());
    if with_content {
        arguments.insert("content", Json::from("x"));
    }
    Some(scenario(sentence, (role, effect), (what, &path), (server, tool, arguments)))
}

fn scenario(
    sentence: &Sentence,
    (role, effect): (Role, Effect),
    (what, value): (&str, &str),
    (server, tool, arguments): (ServerName, ToolName, Object),
) -> Scenario {
    Scenario {
        description: format!("line {}: {what}: {tool} {value}", sentence.line),
        server,
        tool,
        role: Some(role),
        arguments,
        expected: effect.as_str().to_owned(),
        reasoning: format!("At the border of: {}", sentence.text),
    }
}

/// A port that no scheme has by itself.
const PORT: u16 = 8443;

/// Returns hosts that a pattern holds for, and hosts near it.
fn host_borders(pattern: &DomainPattern) -> Vec<(&'static str, String)> {
    let text = pattern.to_string();
    let host = text.rsplit("://").next().unwrap_or_default();
    let is_name = |it: &str| it.parse::<ic_types::Host>().is_ok_and(|host| host.is_public_name());
    match host.strip_prefix("*.") {
        Some(name) if is_name(name) => vec![
            ("the host itself", name.to_owned()),
            ("a subdomain", format!("ironcurtain.{name}")),
            ("another port", format!("{name}:{PORT}")),
            ("a name with the same ending", format!("ironcurtain{name}")),
        ],
        None if is_name(host) => vec![
            ("the host", host.to_owned()),
            ("a subdomain", format!("ironcurtain.{host}")),
            ("another port", format!("{host}:{PORT}")),
            ("a name with the same ending", format!("ironcurtain-{host}")),
            ("a name with the same beginning", format!("{host}.ironcurtain.example")),
        ],
        Some(_) | None => Vec::new(),
    }
}

fn host_scenario(
    what: &str,
    host: &str,
    (sentence, compiled): (&Sentence, &Compiled),
) -> Option<Scenario> {
    let (server, tool): (ServerName, ToolName) =
        ("fetch".parse().ok()?, "http_fetch".parse().ok()?);
    let place = SubjectPlace::Host(DomainPattern::parse(&format!("https://{host}")).ok()?);
    let effect =
        compiled.says(&Subject { server: &server, tool: &tool, role: Role::FetchUrl, place });
    let mut arguments = Object::new();
    let url = format!("https://{host}/");
    arguments.insert("url", url.as_str());
    Some(scenario(sentence, (Role::FetchUrl, effect), (what, &url), (server, tool, arguments)))
}
