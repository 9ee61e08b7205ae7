//! Attacks on the user through the user's own git: random worlds, random calls of an agent through the
//! real proxy, then the user's ordinary commands. Nothing of the agent's may run.
//!
//! ```text
//! seed ─▶ world ─▶ watch ─▶ calls through `ironcurtain proxy` (nobody approves) ─▶ the user's git ─▶ watch
//!                             └─ or carelessly, without anybody who looks: the control
//! ```
//!
//! Reading order: [`world`] and [`names`], [`calls`], [`user`], [`watch`], [`careless`].

pub mod calls;
pub mod canary;
pub mod careless;
pub mod dice;
pub mod listed;
pub mod names;
pub mod user;
pub mod watch;
pub mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use self::calls::Call;
use self::dice::Dice;
use self::user::User;
use self::watch::Watch;
use self::world::World;
use crate::Proxy;

/// How often a sequence is played again, at most, to find out which calls it takes.
const SHRINKS_MAX: usize = 80;
/// In how many directories below the top the user looks around.
const LOOKS_MAX: usize = 4;

/// Who does what the agent asks for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Executor {
    /// The real proxy, under the policy `coding`; nobody is there to approve anything.
    Proxy,
    /// Nobody who looks.
    Careless,
}

/// A sequence, played.
#[derive(Clone, Debug)]
pub struct Played {
    /// Its seed.
    pub seed: u64,
    /// The calls, and what was answered.
    pub calls: Vec<(Call, String)>,
    /// What is not as it should be.
    pub findings: Vec<String>,
}

/// What many sequences came to.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// How many sequences were played.
    pub n_sequences: u64,
    /// For each tool, how many calls were served, and how many were refused or failed.
    pub calls: BTreeMap<&'static str, (u64, u64)>,
}

/// Plays the sequences of `seeds`, `n_threads` at a time, until `n_broken_max` have found something.
pub fn attack_many(
    binary: &Path,
    seeds: std::ops::Range<u64>,
    n_threads: usize,
    n_broken_max: usize,
) -> (Tally, Vec<Played>) {
    let next = AtomicU64::new(seeds.start);
    let results = Mutex::new((Tally::default(), Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..n_threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seeds.end <= seed {
                        return;
                    }
                    let played = play(binary, seed, Executor::Proxy, None);
                    let lock = || results.lock().unwrap_or_else(PoisonError::into_inner);
                    lock().0.add(&played);
                    if !played.findings.is_empty() {
                        let shrunk = shrink(binary, played);
                        lock().1.push(shrunk);
                    }
                    if n_broken_max <= lock().1.len() {
                        return;
                    }
                }
            });
        }
    });
    results.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Plays the sequence of `seed`, or only the calls with these numbers.
///
/// A proxy that ends badly, or does not answer, is a finding too.
pub fn play(
    binary: &Path,
    seed: u64,
    executor: Executor,
    kept: Option<&BTreeSet<usize>>,
) -> Played {
    let played = catch_unwind(AssertUnwindSafe(|| play_once(binary, seed, executor, kept)));
    played.unwrap_or_else(|_| {
        let finding = "the proxy failed; the panic above says how".to_owned();
        Played { seed, calls: Vec::new(), findings: vec![finding] }
    })
}

fn play_once(
    binary: &Path,
    seed: u64,
    executor: Executor,
    kept: Option<&BTreeSet<usize>>,
) -> Played {
    let world = World::new(binary, &mut Dice::new(seed));
    let calls = calls::sequence(&mut Dice::new(!seed), &world);
    let is_kept = |number: &usize| kept.is_none_or(|kept| kept.contains(number));
    let calls: Vec<Call> = calls
        .into_iter()
        .enumerate()
        .filter(|(number, _)| is_kept(number))
        .map(|(_, call)| call)
        .collect();
    let watch = Watch::begin(&world);
    let answers = match executor {
        Executor::Proxy => {
            let workspace = world.workspace();
            let flags = ["--policy", "coding", "--workspace", &workspace.to_string_lossy()];
            through_the_proxy(&world, &flags, &calls)
        }
        Executor::Careless => {
            let obey = |call: &Call| if careless::obey(&world, call) { SERVED } else { "failed" };
            calls.iter().map(|call| obey(call).to_owned()).collect()
        }
    };
    let mut findings = watch.before_the_user(&world);
    findings.extend(written_into_git(&calls, &answers));
    live(&world, &world.user);
    for finding in watch.after_the_user(&world) {
        if !findings.contains(&finding) {
            findings.push(format!("{finding} (after the user's commands)"));
        }
    }
    Played { seed, calls: calls.into_iter().zip(answers).collect(), findings }
}

/// The answer to a call that was served.
pub const SERVED: &str = "served";

/// Makes calls to a proxy that was started with `flags`; returns [`SERVED`], or how each was refused.
pub fn through_the_proxy(world: &World, flags: &[&str], calls: &[Call]) -> Vec<String> {
    let mut proxy = Proxy::start(&world.place, flags);
    proxy.initialize();
    let mut answers = Vec::new();
    for call in calls {
        let answer = proxy.call(call.tool, &call.arguments).json();
        let is_bad = answer.pointer("/result/isError").unwrap_or(&Value::Null) == &json!(true);
        let text = answer.pointer("/result/content/0/text").or(answer.pointer("/error/message"));
        let text = text.and_then(Value::as_str).unwrap_or_default();
        let is_served = answer.get("result").is_some() && !is_bad;
        answers.push(match is_served {
            true => SERVED.to_owned(),
            false => text.lines().next().unwrap_or_default().chars().take(160).collect(),
        });
    }
    proxy.finish();
    answers
}

/// Returns the calls by which another server than git's own wrote git's own files.
fn written_into_git(calls: &[Call], answers: &[String]) -> Vec<String> {
    let mut findings = Vec::new();
    for (call, answer) in calls.iter().zip(answers) {
        let is_file_call = call.tool.starts_with("filesystem__") && answer == SERVED;
        let arguments = ["path", "source", "destination"].map(|name| call.arguments.get(name));
        for path in arguments.into_iter().flatten().filter_map(Value::as_str) {
            if is_file_call && listed::is_gits_own(path) {
                findings.push(format!("`{path}` is git's own, and {} was served", call.tool));
            }
        }
    }
    findings
}

/// Lets the user work in the top directory, and look around in those that may be repositories.
#[expect(clippy::disallowed_methods, reason = "test support: it looks at the test's own place")]
pub fn live(world: &World, user: &User) {
    let workspace = world.workspace();
    user.work_in(&workspace);
    let mut directories: BTreeSet<PathBuf> = BTreeSet::new();
    for tree in world.trees.iter().filter(|tree| !tree.at.is_empty()) {
        directories.insert(workspace.join(&tree.at));
    }
    for name in ["d", "d/e", "b", "k", "new", "n", "src", "tree2", "sub/n", "d/tree", "k2"] {
        let directory = workspace.join(name);
        let parts = ["HEAD", ".git", "commondir", "config"];
        if parts.iter().any(|part| directory.join(part).symlink_metadata().is_ok()) {
            directories.insert(directory);
        }
    }
    for directory in directories.iter().filter(|it| it.is_dir()).take(LOOKS_MAX) {
        user.look_in(directory);
    }
    for program in world.programs.iter().filter(|it| it.is_file()) {
        user.run(&workspace, program);
    }
}

/// Leaves out calls as long as something is still found.
fn shrink(binary: &Path, all: Played) -> Played {
    let mut kept: BTreeSet<usize> = (0..all.calls.len()).collect();
    let (mut found, mut n_left) = (all, SHRINKS_MAX);
    let mut size = kept.len().div_ceil(2);
    while 0 < size {
        let numbers: Vec<usize> = kept.iter().rev().copied().collect();
        let before = kept.len();
        for chunk in numbers.chunks(size) {
            if n_left == 0 {
                return found;
            }
            n_left -= 1;
            let fewer: BTreeSet<usize> =
                kept.iter().copied().filter(|it| !chunk.contains(it)).collect();
            let played = play(binary, found.seed, Executor::Proxy, Some(&fewer));
            if !played.findings.is_empty() {
                (kept, found) = (fewer, played);
            }
        }
        size = match (size, kept.len() < before) {
            (1, true) => 1,
            (size, _) => size / 2,
        };
    }
    found
}

impl Tally {
    fn add(&mut self, played: &Played) {
        self.n_sequences += 1;
        for (call, answer) in &played.calls {
            let (n_served, n_refused) = self.calls.entry(call.tool).or_default();
            *(if answer == SERVED { n_served } else { n_refused }) += 1;
        }
    }

    /// Adds what other sequences came to.
    pub fn extend(&mut self, other: Self) {
        self.n_sequences += other.n_sequences;
        for (tool, (n_served, n_refused)) in other.calls {
            let counts = self.calls.entry(tool).or_default();
            counts.0 += n_served;
            counts.1 += n_refused;
        }
    }

    /// Returns how many calls were served, and how many were made.
    pub fn n_calls(&self) -> (u64, u64) {
        let served = self.calls.values().map(|(n_served, _)| n_served).sum();
        let all = self.calls.values().map(|(n_served, n_refused)| n_served + n_refused).sum();
        (served, all)
    }
}

impl fmt::Display for Played {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}:", self.seed)?;
        for (call, answer) in &self.calls {
            writeln!(f, "  {call}\n    -> {answer}")?;
        }
        for finding in &self.findings {
            writeln!(f, "  FOUND: {finding}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n_served, n_calls) = self.n_calls();
        writeln!(
            f,
            "{} sequences, {n_calls} calls, of which {n_served} were served",
            self.n_sequences
        )?;
        for (tool, (n_served, n_refused)) in &self.calls {
            writeln!(f, "  {tool}: {n_served} served, {n_refused} refused or failed")?;
        }
        Ok(())
    }
}
