//! `ironcurtain policy lint`: names that match nothing, and rules that never hold.

use std::path::PathBuf;

use ic_home::Environment;
use ic_opening::policy::{ADDITIONS, COMPILED, Loaded, NoSandbox, Origin, Wanted};
use ic_policy::Builtin;
use ic_policy::additions::{self, Addition, Place};
use ic_policy::artifact::Source;
use ic_policy::lint::{self, Lint, World};
use ic_resolve::path::{self, Last};
use ic_resolve::{Kind, RealDisk};
use ic_types::{AbsolutePath, CanonicalPath, Json, JsonLimits};
use serde::Serialize;

use crate::commands::Exit;
use crate::error::Failure;
use crate::files;
use crate::own_policy::constitution::{self, Made};
use crate::own_policy::{english, meaning};
use crate::screen::{Screen, visible};

/// Look for mistakes in a policy: names that match nothing, rules that never hold
///
/// Each finding names the file, the rule and what to do. Exits with 1 if there is one, or if the policy
/// cannot be loaded, and with 0 if there is none. A directory of a built-in rule that you do not have
/// is only a note.
#[derive(Debug, clap::Args)]
pub(crate) struct LintArgs {
    /// `default`, `coding`, `readonly`, one of your own by name, or a directory; without it the one in force
    #[arg(value_name = "NAME|DIR")]
    policy: Option<PathBuf>,
    /// Print the findings as a JSON array
    #[arg(long)]
    json: bool,
}

/// The level of what needs nobody to do anything.
const NOTE: &str = "note";

/// A finding as it is printed.
#[derive(Debug, Serialize)]
struct Found {
    level: &'static str,
    file: String,
    place: String,
    rule: String,
    problem: String,
    remedy: String,
}

/// Runs the command.
pub(crate) fn run(
    args: &LintArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let wanted =
        Wanted { policy: args.policy.clone(), sandbox: None, protected: Vec::new(), servers: None };
    // The warnings of loading are findings here.
    let loaded =
        Loaded::load_confirming(&wanted, NoSandbox::None, environment).map_err(Failure::from);
    let (origin, found) = match &loaded {
        Ok(loaded) => (loaded.origin.clone(), findings(loaded)?),
        Err(failure) => {
            let named = args.policy.as_ref().map(|it| it.display().to_string());
            (named.unwrap_or_default(), vec![Found::of_failure(failure)])
        }
    };
    if args.json {
        screen.json(&serde_json::to_string(&found).unwrap_or_default())?;
    } else {
        print(&origin, &found, screen)?;
    }
    Ok(if found.iter().all(|it| it.level == NOTE) { Exit::Success } else { Exit::Failed })
}

fn findings(loaded: &Loaded) -> Result<Vec<Found>, Failure> {
    let policy = &loaded.judge.policy;
    let world = World {
        servers: loaded.servers.iter().map(|(name, _)| name.as_str()).collect(),
        is_directory: &is_directory,
        protected: &loaded.judge.bounds.protected,
    };
    let mut found: Vec<Found> = policy.warnings().iter().map(|it| Found::of_warning(it)).collect();
    let file = |name: &str| match &loaded.found {
        Origin::Builtin(builtin) => format!("built-in {}/{name}", builtin.name()),
        Origin::Directory(directory) => directory.as_path().join(name).display().to_string(),
    };
    let rules = lint::rules(policy, &world);
    found.extend(rules.into_iter().map(|it| {
        // What forbids something in a place that is not there yet is a precaution.
        let denies = |rule: &ic_policy::Rule| {
            rule.name() == it.rule && rule.effect() == ic_policy::Effect::Deny
        };
        let is_harmless = is_of_builtin(&it.rule) || policy.own_rules().iter().any(denies);
        let is_note = it.problem.ends_with("does not exist") && is_harmless;
        let mut found = Found::of(it, file(COMPILED));
        if is_note {
            found.level = NOTE;
            "the rule has no effect until you make it".clone_into(&mut found.remedy);
        }
        found
    }));
    if let Origin::Directory(directory) = &loaded.found {
        let path = directory.as_path().join(ADDITIONS);
        if let Some(bytes) = files::read_if_present(&path)? {
            let source = Source { file: &path.display().to_string(), bytes: &bytes };
            let all: Vec<(Addition, Option<CanonicalPath>)> = additions::read(source)?
                .into_iter()
                .map(|addition| {
                    let within = located(&addition, loaded);
                    (addition, within)
                })
                .collect();
            let lints = lint::additions(policy, &all, &world);
            found.extend(lints.into_iter().map(|it| Found::of(it, file(ADDITIONS))));
        }
    }
    found.extend(sentences(loaded));
    Ok(found)
}

/// Returns what is odd about the sentences that the policy was compiled from.
fn sentences(loaded: &Loaded) -> Vec<Found> {
    let Origin::Directory(directory) = &loaded.found else { return Vec::new() };
    let directory = directory.as_path();
    let (path, text) = match constitution::source_of(directory) {
        Ok(Some(source)) => source,
        Ok(None) => return Vec::new(),
        Err(failure) => return vec![Found::of_failure(&failure)],
    };
    let Ok(made) = Made::of(&text, &english::tools(loaded), directory, Vec::new()) else {
        return Vec::new();
    };
    let edited = edited(&made, loaded);
    let notes = made.notes().into_iter().chain(meaning::notes(&made, loaded)).chain(edited);
    let found = notes.map(|problem| Found {
        level: if problem.ends_with(meaning::PRECAUTION) { NOTE } else { "warning" },
        file: path.display().to_string(),
        place: String::new(),
        rule: String::new(),
        problem,
        remedy: "change the sentence with `ironcurtain policy edit`".to_owned(),
    });
    found.collect()
}

/// Says that the rules are not those of the sentences.
fn edited(made: &Made, loaded: &Loaded) -> Option<String> {
    let (compiled, _) = loaded.rules_and_lists();
    let is_same = rules_of(compiled.bytes) == rules_of(made.rules.as_bytes());
    let text = "the rules in compiled-policy.json are not what the sentences come to: they were changed by hand, or \
                compiled by another version or with other servers; what is in force is the rules";
    (!is_same).then(|| text.to_owned())
}

fn rules_of(bytes: &[u8]) -> Option<Json> {
    match Json::parse(bytes, JsonLimits::ARTIFACT).ok()? {
        Json::Object(file) => file.get("rules").cloned(),
        _ => None,
    }
}

/// Returns whether a rule of this name comes with one of the built-in policies.
fn is_of_builtin(rule: &str) -> bool {
    let name = format!("\"{rule}\"");
    Builtin::ALL
        .iter()
        .any(|it| String::from_utf8_lossy(it.sources().compiled.bytes).contains(&name))
}

fn located(addition: &Addition, loaded: &Loaded) -> Option<CanonicalPath> {
    match addition.place()? {
        Place::Directory(text) => {
            loaded.roots.locate(text, &loaded.judge.home, &loaded.sandbox).ok()
        }
        Place::Host(_) => None,
    }
}

fn is_directory(path: &CanonicalPath) -> bool {
    let Ok(absolute) = AbsolutePath::new(path.as_path()) else { return false };
    let found = path::follow(&RealDisk, &absolute, Last::Follow);
    found.is_ok_and(|found| found.entry.is_some_and(|entry| entry.kind == Kind::Directory))
}

fn print(origin: &str, found: &[Found], screen: &mut Screen) -> Result<(), Failure> {
    for Found { level, file, place, rule, problem, remedy } in found {
        let place = if place.is_empty() { String::new() } else { format!(": {place}") };
        let file = if file.is_empty() { origin } else { file.as_str() };
        screen.folded(&format!("{level}: {}", visible(&format!("{file}{place}"))))?;
        let rule = if rule.is_empty() { String::new() } else { format!("`{rule}`: ") };
        screen.folded(&format!("  {}", visible(&format!("{rule}{problem}"))))?;
        screen.folded(&format!("  {}", visible(remedy)))?;
    }
    match found.iter().filter(|it| it.level != NOTE).count() {
        0 => screen.folded(&format!("no findings ({})", visible(origin))),
        1 => screen.line("1 finding"),
        n => screen.folded(&format!("{n} findings")),
    }
}

impl Found {
    fn of(lint: Lint, file: String) -> Self {
        let Lint { place, rule, problem, remedy } = lint;
        Self { level: "warning", file, place, rule, problem, remedy }
    }

    /// Takes a warning of loading apart, which is `file: place: reason`.
    fn of_warning(warning: &str) -> Self {
        let mut parts = warning.splitn(3, ": ").map(str::to_owned);
        let (file, place) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        Self {
            level: "warning",
            file,
            place,
            rule: String::new(),
            problem: parts.next().unwrap_or_default(),
            remedy: "correct it, or remove the rule".to_owned(),
        }
    }

    fn of_failure(failure: &Failure) -> Self {
        Self {
            level: "error",
            file: String::new(),
            place: String::new(),
            rule: String::new(),
            problem: failure.to_string(),
            remedy: failure.hint().map_or_else(
                || "correct it; no session starts with this policy until then".to_owned(),
                str::to_owned,
            ),
        }
    }
}
