//! Counts a day that was played: questions by what they are about, and what became of the calls.
//!
//! The questions are those that the person saw; the logs have to agree.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;

use anyhow::{Context as _, ensure};
use ic_testkit::git_host::git;
use ic_testkit::proxy::records;
use serde_json::Value;

use super::person::{Habit, Question};
use super::play::Played;
use super::script::{Kind, NOTES, Part, SETTINGS, Step, WORKFLOW, parts, steps};
use super::world::World;

/// What was counted of one day.
#[derive(Debug, Default)]
pub(super) struct Count {
    pub(super) calls: BTreeMap<Kind, usize>,
    /// Those of them that real agents made with their own shell.
    pub(super) n_in_cages: usize,
    pub(super) questions: BTreeMap<Kind, usize>,
    /// Calls that an earlier grant approved.
    pub(super) by_grant: BTreeMap<Kind, usize>,
    /// Questions about several calls, and those that were answered with a grant.
    pub(super) n_groups: usize,
    pub(super) n_grants: usize,
}

impl Count {
    /// Counts a day, and checks what came of it.
    pub(super) fn of(played: &Played, habit: Habit) -> anyhow::Result<Self> {
        for Part { name, n, least } in parts(&played.world.places()) {
            ensure!(least <= n, "the day has {n} {name}, and needs {least}");
        }
        check_effects(&played.world)?;
        let mut count = Self { n_in_cages: played.n_in_cages, ..Self::default() };
        for kind in &played.calls {
            *count.calls.entry(*kind).or_default() += 1;
        }
        for question in &played.questions {
            let kind = kind_of_question(question)?;
            *count.questions.entry(kind).or_default() += 1;
            count.n_groups += usize::from(1 < question.ids.len());
            count.n_grants += usize::from(question.is_granted);
        }
        count.by_grant = by_grant(&played.world)?;
        count.compare_with_log(&played.world, habit)?;
        Ok(count)
    }

    pub(super) fn n_calls(&self) -> usize {
        self.calls.values().sum()
    }

    pub(super) fn n_questions(&self) -> usize {
        self.questions.values().sum()
    }

    /// Says how many questions there were for every hundred calls, with one decimal.
    pub(super) fn per_hundred(&self) -> String {
        let n_calls = self.n_calls().max(1);
        let tenths = (self.n_questions() * 1000 + n_calls / 2) / n_calls;
        format!("{}.{}", tenths / 10, tenths % 10)
    }

    /// Compares with what `approvals stats` says of the same home.
    fn compare_with_log(&self, world: &World, habit: Habit) -> anyhow::Result<()> {
        let verified = world.place.run(["audit", "verify"]);
        ensure!(verified.code == 0, "the log does not verify: {}", verified.stdout);
        let stats = world.place.run(["approvals", "stats", "--json"]);
        let stats: Value = serde_json::from_str(&stats.stdout).context("`approvals stats`")?;
        let number = |key: &str| stats.get(key).and_then(Value::as_u64).unwrap_or_default();
        let n_refused: u64 =
            ["denied", "expired", "withdrawn", "notAsked"].map(number).iter().sum();
        ensure!(n_refused == 0, "calls were refused: {stats}");
        // A call that is made for another one is recorded, too.
        let n_judged = (self.n_calls() - self.n_in_cages) as u64;
        ensure!(n_judged <= number("calls"), "calls are not in the log: {stats}");
        let n_questions = self.n_questions() as u64;
        let is_right = match habit {
            Habit::OneByOne => n_questions == number("requests"),
            Habit::GroupsAndGrants => n_questions <= number("requests"),
        };
        ensure!(is_right, "{n_questions} questions were seen, the log says {stats}");
        Ok(())
    }
}

/// Writes both days side by side.
pub(super) fn table(out: &mut dyn Write, without: &Count, with: &Count) -> anyhow::Result<()> {
    writeln!(
        out,
        "\n| about | calls | questions without | with grants and grouping | calls approved by a grant |\n\
         |---|---:|---:|---:|---:|"
    )?;
    let of = |counted: &BTreeMap<Kind, usize>, kind| counted.get(&kind).copied().unwrap_or(0);
    for kind in Kind::ALL {
        writeln!(
            out,
            "| {} | {} | {} | {} | {} |",
            kind.name(),
            of(&with.calls, kind),
            of(&without.questions, kind),
            of(&with.questions, kind),
            of(&with.by_grant, kind)
        )?;
    }
    writeln!(
        out,
        "| *all* | {} | {} | {} | {} |\n| *questions per 100 calls* | | {} | {} | |",
        with.n_calls(),
        without.n_questions(),
        with.n_questions(),
        with.by_grant.values().sum::<usize>(),
        without.per_hundred(),
        with.per_hundred()
    )?;
    writeln!(
        out,
        "\nWith grants and grouping: questions about several calls at once: {}; answered with a grant: {}.\n\
         Calls refused on either day: 0. Commands that real agents ran with their own shell: {}.",
        with.n_groups, with.n_grants, with.n_in_cages
    )?;
    Ok(())
}

fn kind_of_question(question: &Question) -> anyhow::Result<Kind> {
    let headline = &question.headline;
    if headline.contains("read packages from") {
        return Ok(Kind::Packages);
    }
    let tool = headline.rsplit(' ').next().unwrap_or_default();
    kind_of(tool, &question.rule).with_context(|| format!("what is this about: {question:?}"))
}

/// Says what a question about a tool, asked by a rule, is about.
fn kind_of(tool: &str, rule: &str) -> Option<Kind> {
    Some(match tool {
        "http_fetch" => Kind::Page,
        "git_push" => Kind::Push,
        "git_pull" | "git_fetch" => Kind::Pull,
        "git_checkout" | "git_merge" => Kind::Branches,
        "edit_file" if rule == "structural-host-executes" => Kind::HostRuns,
        "edit_file" | "read_text_file" => Kind::Outside,
        _ => return None,
    })
}

/// Counts the calls that a grant approved.
fn by_grant(world: &World) -> anyhow::Result<BTreeMap<Kind, usize>> {
    let (mut asked, mut counted) = (HashMap::new(), BTreeMap::new());
    for record in records(&world.place) {
        let text = |key: &str| record.get(key).and_then(Value::as_str).unwrap_or_default();
        let id = text("requestId").to_owned();
        let event = record.pointer("/arguments/event").and_then(Value::as_str);
        match (text("kind"), event) {
            ("intent", _) => {
                asked
                    .entry(id)
                    .or_insert_with(|| (text("tool").to_owned(), text("rule").to_owned()));
            }
            ("grant", Some("used")) => {
                let (tool, rule) = asked.get(&id).context("a grant is used for a call")?;
                let kind = kind_of(tool, rule).with_context(|| format!("{tool}, {rule}"))?;
                *counted.entry(kind).or_default() += 1;
            }
            _ => {}
        }
    }
    Ok(counted)
}

/// Checks that what the calls did is there: commits, merges, pushes, pages, packages and files.
fn check_effects(world: &World) -> anyhow::Result<()> {
    let World { repository, remote, host, .. } = world;
    let subjects = git(repository, &["log", "--format=%s"]);
    for step in steps() {
        match step {
            Step::Commit(message) => ensure!(subjects.contains(message), "no commit `{message}`"),
            Step::Merge(branch) => {
                ensure!(subjects.contains(&format!("Merge {branch}")), "`{branch}` is not merged");
            }
            Step::Push(branch) => {
                let tips = [repository, remote].map(|it| git(it, &["rev-parse", branch]));
                ensure!(tips[0] == tips[1], "`{branch}` is not pushed: {tips:?}");
            }
            _ => {}
        }
    }
    ensure!(git(repository, &["status", "--porcelain"]).is_empty(), "not all is committed");
    // What a push begins with has the name of the service in its query.
    let is_push = |line: &&str| line.contains("/git-receive-pack");
    let requests = host.requests();
    let (n_pushed, n_pushes) = (
        requests.lines().filter(is_push).count(),
        steps().filter(|it| matches!(it, Step::Push(_))).count(),
    );
    ensure!(n_pushes <= n_pushed, "{n_pushed} of {n_pushes} pushes came");
    check_pages(world)?;
    check_files(world)
}

fn check_pages(world: &World) -> anyhow::Result<()> {
    for step in steps() {
        let Step::Pages(pages) = step else { continue };
        for (host, path) in pages {
            let host = world.documentation.get(*host).context("a host")?;
            ensure!(host.paths().iter().any(|it| it == path), "{path} was not fetched");
        }
    }
    Ok(())
}

fn check_files(world: &World) -> anyhow::Result<()> {
    let World { place, repository, registry, .. } = world;
    let manifest = git(repository, &["show", "main:package.json"]);
    for step in steps() {
        if let Step::Install(package) = step {
            ensure!(manifest.contains(package), "`{package}` is not in {manifest}");
            let is_there = repository.join("node_modules").join(package).is_dir();
            ensure!(is_there, "`{package}` is not installed");
            let is_asked = registry.paths().iter().any(|path| path.contains(package));
            ensure!(is_asked, "the registry was not asked for `{package}`");
        }
    }
    for (name, [_, after]) in
        [(".github/workflows/ci.yml", WORKFLOW), (".vscode/settings.json", SETTINGS)]
    {
        let text = git(repository, &["show", &format!("main:{name}")]);
        ensure!(text.contains(after), "{name} is not changed: {text}");
    }
    let notes = std::fs::read_to_string(place.path("home/notes/today.md"))?;
    ensure!(notes.contains(NOTES[1]), "the notes are not changed: {notes}");
    Ok(())
}
