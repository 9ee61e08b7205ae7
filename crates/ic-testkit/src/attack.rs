//! Attacks on the user through the user's own git: random worlds, random calls of an agent through the
//! real proxy, then the user's ordinary commands. Nothing of the agent's may run.
//!
//! ```text
//! seed ─▶ world ─▶ watch ─▶ calls through `ironcurtain proxy` (nobody approves) ─▶ the user's git ─▶ watch
//!                             └─ or carelessly, without anybody who looks: the control
//! ```
//!
//! Reading order: [`world`] and [`names`], [`calls`] and [`sight`], [`ways`], [`user`], [`watch`],
//! [`careless`], [`tally`].

pub mod calls;
pub mod canary;
pub mod careless;
pub mod dice;
pub mod listed;
pub mod names;
pub mod sight;
pub mod tally;
pub mod user;
pub mod watch;
pub mod ways;
pub mod world;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use self::calls::{Agent, Call};
use self::dice::Dice;
use self::user::User;
use self::watch::Watch;
use self::ways::{Calls, Way};
use self::world::World;

pub use self::tally::{Played, SERVED, Tally};
pub use self::ways::through_the_proxy;

/// How often a sequence is played again, at most, to find out which calls it takes.
const SHRINKS_MAX: usize = 80;
/// In how many directories below the top the user looks around.
const LOOKS_MAX: usize = 4;

/// Where the user looks around if a part of a repository is there.
const LOOKED_AT: [&str; 17] = [
    "d",
    "d/e",
    "b",
    "k",
    "new",
    "n",
    "src",
    "tree2",
    "sub/n",
    "d/tree",
    "k2",
    "mirror.git",
    "docs",
    "t9",
    "sub/t9",
    "k9",
    "old",
];

/// Who does what the agent asks for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Executor {
    /// The real proxy, under the policy `coding`; nobody is there to approve anything.
    Proxy,
    /// Nobody who looks.
    Careless,
}

/// Plays the sequences of `seeds`, `n_threads` at a time, until `n_broken_max` have found something.
pub fn attack_many(
    binary: &Path,
    seeds: std::ops::Range<u64>,
    executor: Executor,
    (n_threads, n_broken_max): (usize, usize),
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
                    let played = play(binary, seed, executor, None);
                    let lock = || results.lock().unwrap_or_else(PoisonError::into_inner);
                    lock().0.add(&played);
                    if !played.findings.is_empty() {
                        let shrunk = shrink(binary, executor, played);
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

/// Plays the sequence of `seed`, or these calls in its world.
///
/// A proxy that ends badly, or does not answer, is a finding too.
pub fn play(binary: &Path, seed: u64, executor: Executor, replayed: Option<&Replay>) -> Played {
    let played = catch_unwind(AssertUnwindSafe(|| play_once(binary, seed, executor, replayed)));
    played.unwrap_or_else(|_| {
        let finding = "the proxy failed; the panic above says how".to_owned();
        let (way, root, calls) = (Way::of(seed).name(), String::new(), Vec::new());
        Played { seed, way, root, calls, findings: vec![finding] }
    })
}

/// Calls that were made in a world, to be made once more in another one of the same seed.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    /// The root of that world.
    pub root: String,
    /// The calls.
    pub calls: Vec<Call>,
}

fn play_once(binary: &Path, seed: u64, executor: Executor, replayed: Option<&Replay>) -> Played {
    let world = World::new(binary, &mut Dice::new(seed));
    let root = world.place.root().to_string_lossy().into_owned();
    let way = Way::of(seed);
    way.prepare(&world);
    let moved: Vec<Call>;
    let calls = match replayed {
        None => Calls::Drawn(Agent::new(Dice::new(!seed), &world, way == Way::Helper)),
        Some(Replay { root: from, calls }) => {
            moved = calls.iter().map(|call| call.moved(from, &root)).collect();
            Calls::Given(&moved)
        }
    };
    let watch = Watch::begin(&world);
    let calls = match executor {
        Executor::Proxy => way.play(&world, calls),
        Executor::Careless => {
            let obey = |call: &Call| if careless::obey(&world, call) { SERVED } else { "failed" };
            calls.each(&world, |call| obey(call).to_owned())
        }
    };
    let mut findings = watch.before_the_user(&world);
    findings.extend(written_into_git(&calls));
    live(&world, &world.user);
    for finding in watch.after_the_user(&world) {
        if !findings.contains(&finding) {
            findings.push(format!("{finding} (after the user's commands)"));
        }
    }
    Played { seed, way: way.name(), root, calls, findings }
}

/// Returns the calls by which another server than git's own wrote git's own files.
fn written_into_git(calls: &[(Call, String)]) -> Vec<String> {
    let mut findings = Vec::new();
    for (call, answer) in calls {
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
    if let [first, ..] = world.trees.as_slice() {
        // Below, the user works where there is no repository around.
        if !first.at.is_empty() && workspace.join(&first.at).is_dir() {
            user.work_in(&workspace.join(&first.at));
        }
    }
    let mut directories: BTreeSet<PathBuf> = BTreeSet::new();
    for tree in world.trees.iter().filter(|tree| !tree.at.is_empty()) {
        directories.insert(workspace.join(&tree.at));
    }
    for name in LOOKED_AT {
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
fn shrink(binary: &Path, executor: Executor, all: Played) -> Played {
    let (mut found, mut n_left) = (all, SHRINKS_MAX);
    let mut size = found.calls.len().div_ceil(2);
    while 0 < size {
        let before = found.calls.len();
        // From the end, so that what is left out moves nothing that is still to be tried.
        let mut end = before;
        while 0 < end {
            if n_left == 0 {
                return found;
            }
            n_left -= 1;
            let start = end.saturating_sub(size);
            let mut calls: Vec<Call> = found.calls.iter().map(|(call, _)| call.clone()).collect();
            calls.drain(start..end);
            let replay = Replay { root: found.root.clone(), calls };
            let played = play(binary, found.seed, executor, Some(&replay));
            if !played.findings.is_empty() && !played.root.is_empty() {
                found = played;
            }
            end = start;
        }
        size = match (size, found.calls.len() < before) {
            (1, true) => 1,
            (size, _) => size / 2,
        };
    }
    found
}
