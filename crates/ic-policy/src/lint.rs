//! What is odd about a policy though it can be used: names that match nothing, rules that never hold.
//!
//! A policy that lints clean can still say something else than its author means; what it says about a
//! call is for the decision to show.

mod shadow;

use std::fmt;

use ic_types::{CanonicalPath, Role};

use crate::additions::{Addition, Place};
use crate::annotation::ArgumentAnnotation;
use crate::domain::{DomainPattern, Scheme};
use crate::effect::Effect;
use crate::policy::Policy;
use crate::rule::{Members, Rule};

/// What is known of the machine that a policy is for.
pub struct World<'a> {
    /// The names of the configured servers.
    pub servers: Vec<&'a str>,
    /// Whether a directory is there.
    pub is_directory: &'a dyn Fn(&CanonicalPath) -> bool,
    /// What no rule opens.
    pub protected: &'a [CanonicalPath],
}

/// Something odd, where it is, and what to do about it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Lint {
    /// The place in the file of rules, or of additions.
    pub place: String,
    /// The rule, or the addition.
    pub rule: String,
    /// What is odd.
    pub problem: String,
    /// What to do.
    pub remedy: String,
}

impl fmt::Debug for World<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").field("servers", &self.servers).finish_non_exhaustive()
    }
}

/// Looks through the rules of a policy, without its additions.
pub fn rules(policy: &Policy, world: &World<'_>) -> Vec<Lint> {
    let rules = policy.own_rules();
    let mut found = Vec::new();
    for (position, rule) in rules.iter().enumerate() {
        let mut linter = Linter { policy, world, rule, place: format!("rules[{position}]"), found };
        linter.servers_and_tools();
        linter.roles();
        linter.hosts();
        linter.directory();
        if let Some(by) = shadow::of(rules, position) {
            let names: Vec<String> = by.iter().map(|name| format!("`{name}`")).collect();
            linter.say(
                "",
                format!(
                    "it never holds: {} before it settles all that it is about",
                    names.join(" and ")
                ),
                "move it before them, or remove it".to_owned(),
            );
        }
        found = linter.found;
    }
    found
}

/// Looks through what was added to a policy; each addition comes with the directory it leads to.
pub fn additions(
    policy: &Policy,
    additions: &[(Addition, Option<CanonicalPath>)],
    world: &World<'_>,
) -> Vec<Lint> {
    let mut found = Vec::new();
    for (position, (addition, within)) in additions.iter().enumerate() {
        let mut say = |problem: String, remedy: &str| {
            found.push(Lint {
                place: format!("additions[{position}]"),
                rule: addition.to_string(),
                problem,
                remedy: remedy.to_owned(),
            });
        };
        if let Some(server) = addition.server()
            && !knows_server(policy, world, server.as_str())
        {
            say(format!("there is no server `{server}`"), "correct the name, or remove the entry");
        } else if let (Some(server), Some(tool)) = (addition.server(), addition.tool())
            && policy.annotation(server, tool).is_none()
        {
            say(
                format!("`{server}` has no tool `{tool}`"),
                "correct the name, or remove the entry",
            );
        }
        if let (Some(Place::Directory(_)), Some(within)) = (addition.place(), within)
            && addition.effect() == Effect::Allow
            && !(world.is_directory)(within)
        {
            say(format!("the directory `{within}` does not exist"), "make it, or remove the entry");
        }
        let name = format!("added-{}-", position + 1);
        if !policy.rules().iter().any(|rule| rule.name().starts_with(&name)) {
            say(
                "it has no effect: something that forbids or asks is as specific".to_owned(),
                "remove it with `ironcurtain policy allow|ask|never … --remove`, or what counts instead",
            );
        }
    }
    found
}

/// Looks at one rule.
struct Linter<'a> {
    policy: &'a Policy,
    world: &'a World<'a>,
    rule: &'a Rule,
    place: String,
    found: Vec<Lint>,
}

impl Linter<'_> {
    fn say(&mut self, key: &str, problem: String, remedy: String) {
        let place = format!("{}{key}", self.place);
        self.found.push(Lint { place, rule: self.rule.name().to_owned(), problem, remedy });
    }

    fn servers_and_tools(&mut self) {
        for server in self.rule.servers.iter().flatten() {
            if !knows_server(self.policy, self.world, server) {
                let known = self.world.servers.join(", ");
                self.say(
                    ".if.server",
                    format!("there is no server `{server}`"),
                    format!("correct the name; the servers are {known}"),
                );
            }
        }
        for tool in self.rule.tools.iter().flatten() {
            let is_one =
                |(server, known): (&str, &str)| known == tool && self.rule.is_about(server);
            let mut tools = self.policy.annotations();
            if !tools.any(|(server, known, _)| is_one((server.as_str(), known.as_str()))) {
                let of = match &self.rule.servers {
                    Some(servers) => format!(" of {}", servers.join(" or ")),
                    None => String::new(),
                };
                self.say(
                    ".if.tool",
                    format!("there is no tool `{tool}`{of}"),
                    "correct the name; `ironcurtain policy show --tools` lists all tools"
                        .to_owned(),
                );
            }
        }
    }

    /// Warns of roles that no tool has that the rule is about.
    fn roles(&mut self) {
        let rule = self.rule;
        let conditions = [
            (".if.roles", rule.roles),
            (".if.paths.roles", rule.paths.as_ref().map(|it| it.roles)),
            (".if.domains.roles", rule.domains.as_ref().map(|it| it.roles)),
        ];
        let had: Vec<Role> = self
            .policy
            .annotations()
            .filter(|(server, tool, _)| {
                rule.is_about(server.as_str()) && rule.is_about_tool(tool.as_str())
            })
            .flat_map(|(_, _, annotation)| annotation.arguments())
            .flat_map(ArgumentAnnotation::possible_roles)
            .collect();
        // Without a tool nothing can be said about its roles, and that was said.
        if had.is_empty() {
            return;
        }
        for (key, roles) in conditions {
            let Some(roles) = roles.filter(|roles| !roles.is_empty()) else { continue };
            let idle: Vec<&str> = Role::all()
                .filter(|role| roles.contains(*role) && !had.contains(role))
                .map(Role::as_str)
                .collect();
            if idle.len() == roles.len() {
                self.say(
                    key,
                    format!("no tool that it is about has the role {}", idle.join(" or ")),
                    "correct the roles, or the servers and tools".to_owned(),
                );
            }
        }
    }

    fn hosts(&mut self) {
        let rule = self.rule;
        let domains = rule.domains.iter().map(|it| (".if.domains.allowed", it.roles, &it.allowed));
        let lists = rule.lists.iter().filter_map(|list| match &list.allowed {
            Members::Domains(set) => Some((".if.lists", list.roles, set)),
            Members::Emails(_) | Members::Identifiers(_) => None,
        });
        for (key, roles, set) in domains.chain(lists) {
            for pattern in set.patterns() {
                let Some(scheme) = pattern.scheme() else { continue };
                let speaks = |role: Role| match scheme {
                    Scheme::Http => role == Role::FetchUrl,
                    Scheme::Https => matches!(role, Role::FetchUrl | Role::GitRemoteUrl),
                    Scheme::Ssh => role == Role::GitRemoteUrl,
                };
                let remedy = format!("write the host alone: `{}`", without_scheme(pattern));
                if !Role::all().any(|role| roles.contains(role) && speaks(role)) {
                    let problem =
                        format!("`{pattern}` is written as a URL, and matches nothing here");
                    self.say(key, problem, remedy);
                } else if rule.effect != Effect::Allow {
                    let (only, effect) = (scheme.as_str(), rule.effect);
                    let problem = format!(
                        "`{pattern}` holds for {only} alone, so another way to the same host does not {effect}"
                    );
                    self.say(key, problem, remedy);
                }
            }
        }
    }

    fn directory(&mut self) {
        let Some(paths) = &self.rule.paths else { return };
        let within = paths.within.clone();
        if self.rule.effect == Effect::Allow
            && self.world.protected.iter().any(|it| within.is_within(it))
        {
            let problem = format!("`{within}` is protected, which no rule opens");
            self.say(".if.paths.within", problem, "remove the rule".to_owned());
        } else if !(self.world.is_directory)(&within) {
            let problem = format!("the directory `{within}` does not exist");
            self.say(".if.paths.within", problem, "make it, or correct the path".to_owned());
        }
    }
}

fn knows_server(policy: &Policy, world: &World<'_>, name: &str) -> bool {
    let is_annotated = policy.annotations().any(|(server, _, _)| server.as_str() == name);
    world.servers.contains(&name) || is_annotated
}

fn without_scheme(pattern: &DomainPattern) -> String {
    let text = pattern.to_string();
    text.split_once("://").map_or(text.clone(), |(_, rest)| rest.to_owned())
}
