//! One line about a policy: what is free, what asks, what is refused, what is out of reach.
//!
//! Found out by asking the policy in force about example calls, so it is true of any policy. Nothing is
//! forwarded. The rules only say which places, hosts and servers to ask about; where there are more than fit,
//! the line says so and claims nothing about the rest.

use std::collections::BTreeSet;

use ic_policy::{Effect, Rule, SandboxKind};
use ic_types::{CanonicalPath, Role, ServerName, ToolName};

use super::{Loaded, possible_roles};

/// How many entries are named under one heading.
const ENTRIES_MAX: usize = 8;
/// How many places and hosts of rules are asked about.
const ASKED_MAX: usize = 64;
/// How many tools are named one by one.
const TOOLS_MAX: usize = 3;
/// A file that is nowhere, to ask about.
const EXAMPLE: &str = "ironcurtain-example.txt";

/// What can be done with files: the word for it, its role, and the built-in tool that stands for it.
const VERBS: [(&str, Role, Option<&str>); 5] = [
    ("read", Role::ReadPath, Some("read_text_file")),
    ("write", Role::WritePath, Some("write_file")),
    ("delete", Role::DeletePath, Some("delete_file")),
    ("commit", Role::WriteHistory, None),
    ("rewrite history", Role::DeleteHistory, None),
];

/// What the policy says about each of [`VERBS`] in one place; `None` where it cannot be done.
type Effects = [Option<Effect>; VERBS.len()];

/// Which of [`VERBS`] are meant.
type Meant = [bool; VERBS.len()];

/// Who does something: a server, or one tool of it.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Who {
    server: ServerName,
    tool: Option<ToolName>,
}

/// What is said, each with its verdict.
#[derive(Debug, Default)]
struct Said {
    entries: Vec<(Effect, String)>,
    /// Whether there is more than was asked about.
    is_cut: bool,
}

impl Loaded {
    /// Says in one line what the agent may do.
    pub fn outline(&self) -> String {
        let mut said = Said::default();
        let elsewhere = self.effects_of_files(&format!("{}/{EXAMPLE}", self.home()));
        let is_same = !self.say_places(elsewhere, &mut said);
        self.say_hosts(&mut said);
        self.say_servers(&mut said);
        let others = [
            ("the web", self.effect_of_url("https://example.com/")),
            ("git remotes", self.effect_of_remote("https://git.example.com/example/example.git")),
        ];
        let mut parts = Vec::new();
        let is_any_cut = said.is_cut
            || [Effect::Allow, Effect::Escalate, Effect::Deny]
                .iter()
                .any(|effect| ENTRIES_MAX < said.of(*effect).count());
        for (title, effect) in
            [("free", Effect::Allow), ("asks", Effect::Escalate), ("refused", Effect::Deny)]
        {
            let mut named: Vec<String> = said.of(effect).map(str::to_owned).collect();
            if ENTRIES_MAX < named.len() {
                let n_more = named.len() - ENTRIES_MAX;
                named.truncate(ENTRIES_MAX);
                named.push(format!("and {n_more} more (`ironcurtain policy show`)"));
            }
            named.extend(not_named(elsewhere, (is_same, is_any_cut), &others, effect));
            if !named.is_empty() {
                parts.push(format!("{title}: {}", named.join(", ")));
            }
        }
        parts.push("out of reach: keys, credentials and IronCurtain's own files".to_owned());
        parts.join("; ")
    }

    fn home(&self) -> String {
        self.judge.home.as_path().display().to_string()
    }

    /// Says what is special about the places of rules; returns whether anything is.
    fn say_places(&self, elsewhere: Effects, said: &mut Said) -> bool {
        let mut is_any = false;
        for (name, path, place) in self.places(said) {
            let here = self.effects_of_files(&path);
            let whos = place.map_or_else(BTreeSet::new, |place| self.whos_at(&place));
            for effect in [Effect::Allow, Effect::Escalate, Effect::Deny] {
                let special = meant(here, effect, &[elsewhere]);
                if let Some(verbs) = verbs(special, here.iter().flatten().count()) {
                    is_any = true;
                    let to = match effect {
                        Effect::Deny => self.refused_to(&path, special),
                        Effect::Allow | Effect::Escalate => String::new(),
                    };
                    said.entries.push((effect, format!("{verbs} in {name}{to}")));
                }
                let is_whole = here.iter().zip(special).all(|(it, is)| it.is_none() || is);
                for who in &whos {
                    let of = |path: &str| self.effects_of(who, path);
                    let (there, is) = (of(&format!("{}/{EXAMPLE}", self.home())), of(&path));
                    let special = meant(is, effect, &[there, here]);
                    // Everything there is said to be so already.
                    let is_said = is_whole && is.iter().flatten().all(|it| *it == effect);
                    let n_possible = self.n_verbs(who);
                    if let Some(verbs) = verbs(special, n_possible).filter(|_| !is_said) {
                        is_any = true;
                        said.entries.push((effect, format!("{verbs} in {name} ({})", who.name())));
                    }
                }
            }
        }
        is_any
    }

    /// Returns the places that are asked about: the name, a file in it, and the place if rules name it.
    fn places(&self, said: &mut Said) -> Vec<(String, String, Option<CanonicalPath>)> {
        let sandbox = self.judge.bounds.sandbox.as_ref();
        let mut places: Vec<(String, String, Option<CanonicalPath>)> = Vec::new();
        if let Some(sandbox) = sandbox {
            let name = match sandbox.kind {
                SandboxKind::Workspace => "the workspace",
                SandboxKind::Session | SandboxKind::Filled => "the sandbox",
            };
            places.push((name.to_owned(), example_in(&sandbox.path), None));
        }
        let mut named: Vec<&CanonicalPath> = Vec::new();
        for place in self.judge.policy.rules().iter().filter_map(Rule::place) {
            let is_sandbox = sandbox.is_some_and(|sandbox| sandbox.path == *place);
            if place.parent().is_some() && !is_sandbox && !named.contains(&place) {
                named.push(place);
            }
        }
        said.is_cut |= ASKED_MAX < named.len();
        places.extend(
            named
                .into_iter()
                .take(ASKED_MAX)
                .map(|place| (self.shortened(place), example_in(place), Some(place.clone()))),
        );
        places
    }

    /// Returns the servers and tools that rules about `place` are about.
    fn whos_at(&self, place: &CanonicalPath) -> BTreeSet<Who> {
        let rules = self.judge.policy.rules().iter().filter(|rule| rule.place() == Some(place));
        let mut whos = BTreeSet::new();
        for rule in rules {
            let meant = self.judge.policy.annotations().filter(|(server, tool, _)| {
                rule.is_about(server.as_str())
                    && rule.is_about_tool(tool.as_str())
                    && self.servers.get(server.as_str()).is_some()
            });
            whos.extend(meant.map(|(server, tool, _)| Who {
                server: server.clone(),
                tool: rule.names_tools().then(|| tool.clone()),
            }));
        }
        // The files of the built-in server are what is said without naming anyone.
        whos.retain(|who| who.server.as_str() != "filesystem" || who.tool.is_some());
        whos
    }

    /// Says to whom a place is refused, unless it is to everyone.
    fn refused_to(&self, path: &str, meant: Meant) -> String {
        let roles: Vec<Role> = (VERBS.iter().zip(meant))
            .filter(|(_, is_meant)| *is_meant)
            .map(|((_, role, _), _)| *role)
            .collect();
        let is_refused = |server: &&ServerName| {
            let can = |role: &Role| {
                self.most_lenient(server, *role, path).is_some_and(|it| it != Effect::Deny)
            };
            !roles.iter().any(can)
        };
        let (refused, others): (Vec<&ServerName>, Vec<&ServerName>) =
            self.path_servers().into_iter().partition(is_refused);
        let names: Vec<&str> = refused.iter().map(|it| it.as_str()).collect();
        if others.is_empty() || names.is_empty() {
            return String::new();
        }
        format!(" to {} only", listed(&names))
    }

    /// Says what is special about the hosts of rules.
    fn say_hosts(&self, said: &mut Said) {
        let web = self.effect_of_url("https://example.com/");
        let remotes = self.effect_of_remote("https://git.example.com/example/example.git");
        let mut known: Vec<String> = Vec::new();
        for rule in self.judge.policy.rules() {
            for pattern in rule.hosts() {
                let text = pattern.to_string();
                let name = text.rsplit("//").next().unwrap_or_default();
                if name == "*" || known.contains(&text) {
                    continue;
                }
                if known.len() == ASKED_MAX {
                    said.is_cut = true;
                    return;
                }
                known.push(text.clone());
                let host = name.replacen("*.", "www.", 1);
                let (page, remote) = match pattern.names_repository() {
                    true => (None, format!("https://{host}.git")),
                    false => (
                        self.effect_of_url(&format!("https://{host}/")),
                        format!("https://{host}/example/example.git"),
                    ),
                };
                let remote = self.effect_of_remote(&remote);
                for (what, is, was) in
                    [("pages of", page, web), ("git remotes at", remote, remotes)]
                {
                    if let Some(effect) = is.filter(|_| is != was) {
                        said.entries.push((effect, format!("{what} {text}")));
                    }
                }
            }
            // What other servers may reach there is not asked about here.
            said.is_cut |= !rule.hosts().is_empty()
                && (rule.names_tools() || !["fetch", "git"].iter().any(|it| rule.is_about(it)));
        }
    }

    /// Says what was added about servers and tools without naming a place.
    fn say_servers(&self, said: &mut Said) {
        let policy = &self.judge.policy;
        let n_added = policy.rules().len() - policy.own_rules().len();
        let added = policy.rules().iter().take(n_added);
        for rule in added.filter(|rule| rule.place().is_none() && rule.hosts().is_empty()) {
            let meant: Vec<String> = policy
                .annotations()
                .filter(|(server, tool, _)| {
                    rule.is_about(server.as_str()) && rule.is_about_tool(tool.as_str())
                })
                .map(|(server, tool, _)| format!("{server}.{tool}"))
                .collect();
            let servers: BTreeSet<&str> =
                meant.iter().filter_map(|it| Some(it.split_once('.')?.0)).collect();
            let servers = listed(&servers.into_iter().collect::<Vec<_>>());
            let verbs = rule.roles().map(|roles| {
                let verb = |role: &Role| VERBS.iter().find(|(_, it, _)| it == role).map(|it| it.0);
                roles.iter().filter_map(verb).collect::<Vec<_>>()
            });
            let entry = match (verbs, rule.names_tools()) {
                (Some(verbs), false) if verbs.is_empty() => continue,
                (Some(verbs), _) => format!("{} with {servers}", listed(&verbs)),
                (None, true) if meant.len() <= TOOLS_MAX => listed(&meant),
                (None, true) => format!("{} tools of {servers}", meant.len()),
                (None, false) => format!("everything of {servers}"),
            };
            if !meant.is_empty() && !said.entries.contains(&(rule.effect(), entry.clone())) {
                said.entries.push((rule.effect(), entry));
            }
        }
    }

    /// Returns a path as people write it.
    fn shortened(&self, path: &CanonicalPath) -> String {
        match path.as_path().strip_prefix(self.judge.home.as_path()) {
            Ok(rest) if !rest.as_os_str().is_empty() => format!("~/{}", rest.display()),
            Ok(_) | Err(_) => path.to_string(),
        }
    }

    /// Returns what the built-in server for files may do with the file at `path`.
    fn effects_of_files(&self, path: &str) -> Effects {
        VERBS.map(|(_, role, tool)| self.effect("filesystem", tool?, role, path))
    }

    /// Returns what someone may do with the file at `path`.
    fn effects_of(&self, who: &Who, path: &str) -> Effects {
        VERBS.map(|(_, role, _)| {
            if let Some(tool) = &who.tool {
                return self.effect_of_role((&who.server, tool), role, path);
            }
            let tools = self.judge.policy.annotations();
            let tools = tools.filter(|(server, ..)| **server == who.server);
            let effect = |(server, tool, _)| self.effect_of_role((server, tool), role, path);
            tools.filter_map(effect).max()
        })
    }

    /// Counts what someone can do with files, also if it depends on other arguments.
    fn n_verbs(&self, who: &Who) -> usize {
        let tools = self.judge.policy.annotations().filter(|(server, tool, _)| {
            **server == who.server && who.tool.as_ref().is_none_or(|it| it == *tool)
        });
        let roles: Vec<Role> = tools.flat_map(|(_, _, it)| possible_roles(it)).collect();
        VERBS.iter().filter(|(_, role, _)| roles.contains(role)).count()
    }

    fn effect_of_url(&self, url: &str) -> Option<Effect> {
        self.effect("fetch", "http_fetch", Role::FetchUrl, url)
    }

    fn effect_of_remote(&self, url: &str) -> Option<Effect> {
        self.effect("git", "git_clone", Role::GitRemoteUrl, url)
    }

    fn effect(&self, server: &str, tool: &str, role: Role, value: &str) -> Option<Effect> {
        self.servers.get(server)?;
        self.effect_of_role((&server.parse().ok()?, &tool.parse().ok()?), role, value)
    }
}

impl Said {
    fn of(&self, effect: Effect) -> impl Iterator<Item = &str> {
        self.entries.iter().filter(move |(it, _)| *it == effect).map(|(_, text)| text.as_str())
    }
}

impl Who {
    fn name(&self) -> String {
        match &self.tool {
            Some(tool) => format!("{}.{tool}", self.server),
            None => self.server.to_string(),
        }
    }
}

/// Returns a file in a directory, to ask about.
fn example_in(directory: &CanonicalPath) -> String {
    directory.as_path().join(EXAMPLE).display().to_string()
}

/// Returns which verbs have `effect`, and another one in all the others.
fn meant(is: Effects, effect: Effect, others: &[Effects]) -> Meant {
    let mut meant = is.map(|it| it == Some(effect));
    for other in others {
        for ((meant, here), there) in meant.iter_mut().zip(is).zip(*other) {
            *meant &= here != there;
        }
    }
    meant
}

/// Names the verbs that are meant; `None` if none is.
fn verbs(meant: Meant, n_possible: usize) -> Option<String> {
    let words: Vec<&str> = (VERBS.iter().zip(meant))
        .filter(|(_, is_meant)| *is_meant)
        .map(|((word, _, _), _)| *word)
        .collect();
    match words.len() {
        0 => None,
        n if n == n_possible && 1 < n => Some("everything".to_owned()),
        _ => Some(listed(&words)),
    }
}

/// Joins words as a sentence does.
fn listed<T: AsRef<str>>(words: &[T]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Says what has `effect` wherever no place was named.
fn not_named(
    elsewhere: Effects,
    (is_same, is_cut): (bool, bool),
    others: &[(&str, Option<Effect>)],
    effect: Effect,
) -> Vec<String> {
    let n_possible = elsewhere.iter().flatten().count();
    let words = verbs(meant(elsewhere, effect, &[]), n_possible);
    let others: Vec<&str> =
        others.iter().filter(|(_, it)| *it == Some(effect)).map(|(name, _)| *name).collect();
    let is_all = words.as_deref() == Some("everything");
    if is_all && others.len() == 2 {
        return vec![
            match is_cut {
                true => "everything that no other rule is about",
                false => "everything else",
            }
            .to_owned(),
        ];
    }
    let anywhere = match (is_same, is_cut) {
        (_, true) => "where no other rule is about it",
        (true, false) => "anywhere",
        (false, false) => "anywhere else",
    };
    let files = words.map(|words| match is_all {
        true => format!("files {anywhere}"),
        false => format!("{words} {anywhere}"),
    });
    files.into_iter().chain(others.into_iter().map(ToOwned::to_owned)).collect()
}
