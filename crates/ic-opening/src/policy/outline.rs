//! One line about a policy: what is free, what asks, what is refused, what is out of reach.
//!
//! Said from a table of what the policy in force answers to example calls ([`table`]), so it is true of any
//! policy and claims no more than every tool it speaks of gets. Where there are more entries than fit, or
//! something could not be asked about, the line says so and claims nothing about the rest.

mod table;
mod words;

use ic_policy::{DomainPattern, Effect, Rule, SandboxKind};
use ic_types::{CanonicalPath, Role};

use super::Loaded;
use table::{Answers, Column, VERBS};
use words::{entries, holds, listed, of_addresses};

/// How many entries are named under one heading.
const ENTRIES_MAX: usize = 8;
/// How many places and hosts of rules are asked about.
const ASKED_MAX: usize = 64;
/// A file that is nowhere, to ask about.
const EXAMPLE: &str = "ironcurtain-example.txt";
/// A file that no rule names, whatever place a rule is about.
const ELSEWHERE: &str = "/ironcurtain-example/ironcurtain-example.txt";
/// A file that programs of the user's run by themselves.
const RUN_BY_ITSELF: &str = ".envrc";
/// Addresses that no rule names.
const PAGE: &str = "https://ironcurtain.example.com/";
const REMOTE: &str = "https://ironcurtain.example.com/example/example.git";

const EFFECTS: [(&str, Effect); 3] =
    [("free", Effect::Allow), ("asks", Effect::Escalate), ("refused", Effect::Deny)];

/// A place that is asked about.
struct Place {
    name: String,
    path: CanonicalPath,
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
        // What a command does to files is its cage's to say, so it is no column beside the others.
        let (commands, columns): (Vec<Column>, Vec<Column>) =
            self.columns().into_iter().partition(|it| self.runs_commands(it));
        let of = |roles: &[Role]| -> Vec<&Column> {
            columns.iter().filter(|it| roles.contains(&it.role)).collect()
        };
        let files = of(&VERBS.map(|(_, role)| role));
        let (pages, remotes) = (of(&[Role::FetchUrl]), of(&[Role::GitRemoteUrl]));
        let mut said = Said { is_cut: self.has_unasked(), ..Said::default() };

        let elsewhere = self.answers(&files, ELSEWHERE);
        let (web, far) = (self.answers(&pages, PAGE), self.answers(&remotes, REMOTE));
        let placeless = self.placeless();
        let answered = elsewhere.iter().chain(&web).chain(&far).copied().flatten();
        let rest = default_of(answered.chain(placeless.iter().map(|(.., effect)| *effect)));

        let rows = self.rows(&files, &mut said);
        say_places(&files, &rows, &elsewhere, &mut said);
        self.say_commands(&commands, &rows, rest, &mut said);
        self.say_hosts((&pages, &remotes), (&web, &far), &mut said);
        for (_, effect) in EFFECTS.iter().filter(|(_, effect)| *effect != rest) {
            let held: Vec<usize> = holds(&elsewhere, *effect).collect();
            let is_so = |(_, row): &(Place, Answers)| {
                held.iter().all(|at| row.get(*at) == elsewhere.get(*at))
            };
            let anywhere = match (rows.iter().all(is_so), said.is_cut()) {
                (_, true) => "where no other rule is about it",
                (true, false) => "anywhere",
                (false, false) => "anywhere else",
            };
            if held.len() == elsewhere.len() && !held.is_empty() {
                said.entries.push((*effect, format!("files {anywhere}")));
            } else {
                said.say(*effect, entries(&files, &elsewhere, None, *effect, anywhere));
            }
            said.say(*effect, of_addresses(&pages, &web, *effect, "the web"));
            said.say(*effect, of_addresses(&remotes, &far, *effect, "git remotes"));
        }
        self.say_placeless(&columns, &placeless, rest, &mut said);
        let except = self.exception(&files, &rows, &elsewhere);
        if let Some(except) = except.filter(|_| rest != Effect::Escalate) {
            said.say(Effect::Escalate, [except.to_owned()]);
        }
        said.finish(rest, except)
    }

    /// Returns what the policy answers in each place that is asked about.
    fn rows(&self, columns: &[&Column], said: &mut Said) -> Vec<(Place, Answers)> {
        let row = |place: Place| {
            let answers = self.answers(columns, &example_in(&place.path));
            (place, answers)
        };
        self.places(said).into_iter().map(row).collect()
    }

    /// Returns the places that are asked about, the sandbox first.
    fn places(&self, said: &mut Said) -> Vec<Place> {
        let sandbox = self.judge.bounds.sandbox.as_ref();
        let mut places: Vec<Place> = sandbox
            .map(|it| Place {
                name: match it.kind {
                    SandboxKind::Workspace => "the workspace".to_owned(),
                    SandboxKind::Session | SandboxKind::Filled => "the sandbox".to_owned(),
                },
                path: it.path.clone(),
            })
            .into_iter()
            .collect();
        for path in self.judge.policy.rules().iter().filter_map(Rule::place) {
            if path.parent().is_none() || places.iter().any(|it| it.path == *path) {
                continue;
            }
            if ASKED_MAX < places.len() {
                said.is_cut = true;
                break;
            }
            places.push(Place { name: self.shortened(path), path: path.clone() });
        }
        places
    }

    /// Says what becomes of commands, where that is not what was said of files.
    ///
    /// They run in the sandbox or workspace and nowhere else, so nothing is said of other places.
    fn say_commands(
        &self,
        commands: &[Column],
        rows: &[(Place, Answers)],
        rest: Effect,
        said: &mut Said,
    ) {
        let sandbox = self.judge.bounds.sandbox.as_ref();
        let Some((place, files)) =
            rows.first().filter(|(it, _)| sandbox.is_some_and(|sandbox| it.path == sandbox.path))
        else {
            return;
        };
        let path = place.path.to_string();
        let effects = commands.iter().filter_map(|it| self.answer(it, &path));
        let Some(effect) = effects.max() else { return };
        // Where all is one, that was said of everything.
        let of_all = files.first().copied().flatten();
        let of_all =
            of_all.filter(|one| 1 < files.len() && files.iter().all(|it| *it == Some(*one)));
        if of_all.unwrap_or(rest) != effect {
            said.say(effect, [format!("run commands in {}", place.name)]);
        }
    }

    /// Says what is special about the hosts of rules.
    fn say_hosts(
        &self,
        (pages, remotes): (&[&Column], &[&Column]),
        (web, far): (&Answers, &Answers),
        said: &mut Said,
    ) {
        let mut known: Vec<(String, Answers, Answers)> = Vec::new();
        let rules = self.judge.policy.rules();
        said.is_cut |= rules.iter().any(Rule::has_lists);
        for pattern in rules.iter().flat_map(Rule::hosts) {
            let text = pattern.to_string();
            let name = text.rsplit("//").next().unwrap_or_default();
            if name == "*" || known.iter().any(|(it, ..)| *it == text) {
                continue;
            }
            if ASKED_MAX <= known.len() {
                said.is_cut = true;
                break;
            }
            let (page, remote) = examples_at(pattern, name);
            let page = page.map_or_else(Vec::new, |page| self.answers(pages, &page));
            known.push((text, page, self.answers(remotes, &remote)));
        }
        for (text, page, remote) in &known {
            let around = known.iter().filter(|(it, ..)| is_around(it, text));
            let (mut webs, mut fars) = (vec![web], vec![far]);
            for (_, page, remote) in around {
                webs.push(page);
                fars.push(remote);
            }
            for (_, effect) in EFFECTS {
                let is_special = |is: &Answers, was: &[&Answers]| {
                    was.iter().any(|was| is.len() == was.len() && is != *was)
                };
                if is_special(page, &webs) {
                    let what = format!("pages of {text}");
                    said.say(effect, of_addresses(pages, page, effect, &what));
                }
                if is_special(remote, &fars) {
                    let what = format!("git remotes at {text}");
                    said.say(effect, of_addresses(remotes, remote, effect, &what));
                }
            }
        }
    }

    /// Says what is special about tools that name no place.
    fn say_placeless(
        &self,
        columns: &[Column],
        placeless: &[(ic_types::ServerName, ic_types::ToolName, Effect)],
        rest: Effect,
        said: &mut Said,
    ) {
        for (server, _) in self.servers.iter() {
            let of_server: Vec<_> = placeless.iter().filter(|(it, ..)| it == server).collect();
            for (_, effect) in EFFECTS.iter().filter(|(_, effect)| *effect != rest) {
                let meant: Vec<String> = of_server
                    .iter()
                    .filter(|(.., it)| it == effect)
                    .map(|(server, tool, _)| format!("{server}.{tool}"))
                    .collect();
                let has_others = columns.iter().any(|it| it.server == *server);
                let entry = match meant.len() {
                    0 => continue,
                    n if n == of_server.len() && !has_others => format!("everything of {server}"),
                    n if n == of_server.len() => format!("tools of {server} without a place"),
                    n if n <= words::TOOLS_MAX => listed(&meant),
                    n => format!("{n} tools of {server}"),
                };
                said.entries.push((*effect, entry));
            }
        }
    }

    /// Says what asks although it lies where everything else is free: files that are run by themselves.
    fn exception(
        &self,
        files: &[&Column],
        rows: &[(Place, Answers)],
        elsewhere: &Answers,
    ) -> Option<&'static str> {
        let sandbox = self.judge.bounds.sandbox.as_ref();
        let asks = |answers: &Answers, run: &str| {
            files.iter().zip(answers).any(|(column, plain)| {
                column.role.changes_path()
                    && *plain == Some(Effect::Allow)
                    && self.answer(column, run) != Some(Effect::Allow)
            })
        };
        let (mut is_outside, mut is_inside) =
            (asks(elsewhere, &ELSEWHERE.replace(EXAMPLE, RUN_BY_ITSELF)), false);
        for (place, answers) in rows {
            let run = place.path.as_path().join(RUN_BY_ITSELF).display().to_string();
            if asks(answers, &run) {
                let is_sandbox = sandbox.is_some_and(|it| place.path.is_within(&it.path));
                is_inside |= is_sandbox;
                is_outside |= !is_sandbox;
            }
        }
        match (is_inside, is_outside) {
            (true, _) => Some("changes to files that your tools run (such as .envrc)"),
            (false, true) => {
                Some("changes outside the sandbox to files that your tools run (such as .envrc)")
            }
            (false, false) => None,
        }
    }

    /// Returns a path as people write it.
    fn shortened(&self, path: &CanonicalPath) -> String {
        match path.as_path().strip_prefix(self.judge.home.as_path()) {
            Ok(rest) if !rest.as_os_str().is_empty() => format!("~/{}", rest.display()),
            Ok(_) | Err(_) => path.to_string(),
        }
    }
}

impl Said {
    fn say(&mut self, effect: Effect, entries: impl IntoIterator<Item = String>) {
        self.entries.extend(entries.into_iter().map(|entry| (effect, entry)));
    }

    /// Returns whether the line cannot say everything.
    fn is_cut(&self) -> bool {
        let n_of = |effect: Effect| self.entries.iter().filter(|(it, _)| *it == effect).count();
        self.is_cut || EFFECTS.iter().any(|(_, effect)| ENTRIES_MAX < n_of(*effect))
    }

    fn finish(&self, rest: Effect, except: Option<&str>) -> String {
        let of = |effect: Effect| self.entries.iter().filter(move |(it, _)| *it == effect);
        let is_cut = self.is_cut();
        let mut parts = Vec::new();
        for (title, effect) in EFFECTS {
            let mut named: Vec<&str> = of(effect).map(|(_, text)| text.as_str()).collect();
            let more = match named.len().checked_sub(ENTRIES_MAX) {
                Some(n @ 1..) => format!("and {n} more (`ironcurtain policy show`)"),
                Some(0) | None => String::new(),
            };
            if !more.is_empty() {
                named.truncate(ENTRIES_MAX);
                named.push(&more);
            }
            if effect == rest {
                named.push(match is_cut {
                    true => "everything that no other rule is about",
                    false => "everything else",
                });
            }
            if !named.is_empty() {
                let except = except.filter(|_| effect == Effect::Allow);
                let except = except.map_or_else(String::new, |it| format!(", except {it}"));
                parts.push(format!("{title}: {}{except}", named.join(", ")));
            }
        }
        parts.push("out of reach: keys, credentials and IronCurtain's own files".to_owned());
        parts.join("; ")
    }
}

/// Says what is special about the places of rules.
fn say_places(
    columns: &[&Column],
    rows: &[(Place, Answers)],
    elsewhere: &Answers,
    said: &mut Said,
) {
    for (place, answers) in rows {
        // What is so in the place around it need not be said again.
        let around = rows
            .iter()
            .filter(|(it, _)| it.path != place.path && place.path.is_within(&it.path))
            .max_by_key(|(it, _)| it.path.as_path().components().count())
            .map_or(elsewhere, |(_, answers)| answers);
        for (_, effect) in EFFECTS {
            let at = format!("in {}", place.name);
            said.say(effect, entries(columns, answers, Some(around), effect, &at));
        }
    }
}

/// Returns the verdict of most things that no rule names: to ask, or to refuse.
fn default_of(answered: impl Iterator<Item = Effect>) -> Effect {
    let answered: Vec<Effect> = answered.collect();
    let count = |effect: Effect| answered.iter().filter(|it| **it == effect).count();
    match count(Effect::Escalate) < count(Effect::Deny) {
        true => Effect::Deny,
        false => Effect::Escalate,
    }
}

/// Returns a file in a directory, to ask about.
fn example_in(directory: &CanonicalPath) -> String {
    directory.as_path().join(EXAMPLE).display().to_string()
}

/// Returns a page and a repository that a pattern means.
fn examples_at(pattern: &DomainPattern, name: &str) -> (Option<String>, String) {
    let host = name.replacen("*.", "www.", 1);
    match pattern.names_repository() {
        true => (None, format!("https://{host}.git")),
        false => (Some(format!("https://{host}/")), format!("https://{host}/example/example.git")),
    }
}

/// Returns whether a pattern means everything that another one means, and more.
fn is_around(pattern: &str, other: &str) -> bool {
    let host = |text: &str| {
        let text = text.rsplit("//").next().unwrap_or_default();
        text.split(['/', ':']).next().unwrap_or_default().to_owned()
    };
    let (around, inner) = (host(pattern), host(other));
    let inner_name = inner.trim_start_matches("*.");
    match around.strip_prefix("*.") {
        Some(domain) => {
            around != inner && (inner_name == domain || inner_name.ends_with(&format!(".{domain}")))
        }
        None => around == inner && pattern != other,
    }
}
