//! `cargo xtask soak`: days in the life of a proxy, compressed into minutes.
//!
//! Each day is a session with many clients who come and go, some of them without a word, and one kind
//! of mischief; half of all calls are made on the first day, by one process. Whatever happens, every call
//! that was answered is in the log as it was answered, nothing that the policy refuses is answered well,
//! the log verifies, and neither memory nor descriptors nor threads grow.
//!
//! ```text
//! run ─▶ plan of days ─▶ live ─▶ shift: clients (calls) ∥ mischief (house, clock) ─▶ rest (life) ─▶ ...
//!                          └──▶ in the evening: what the clients were told beside the log (ledger)
//! ```

mod calls;
mod client;
mod clock;
mod day;
mod house;
mod ledger;
mod life;
mod mischief;

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use anyhow::{bail, ensure};
use serde_json::{Value, json};

use self::day::{Done, Plan};
use self::mischief::{MISCHIEFS, Mischief};
use crate::bench::{build_binary, build_debug_binary, run_optimised};
use crate::ground::{Ground, reading};

/// How many calls a day has at most, unless it is the longest.
const DAY: u64 = 250_000;
/// With fewer calls, a shift has too few for all kinds of clients and calls.
const CALLS_MIN: u64 = 10_000;
/// Says to this program that it has mounts of its own.
const OWN_MOUNTS: &str = "IRONCURTAIN_SOAK_OWN_MOUNTS";

/// How to soak.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// How many calls; half of them are made by one process, whose log takes about 1.3 kB for each
    #[arg(long, default_value_t = 1_500_000)]
    calls: u64,
    /// Use programs that are built without optimisation: to try the soak itself, fast
    #[arg(long)]
    unoptimised: bool,
    /// Use this program instead of building one
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Go without the days that cannot be lived here, which is an error otherwise
    #[arg(long)]
    allow_missing_days: bool,
}

/// Lives through as many days as the calls take.
pub fn run(options: &Options, out: &mut dyn Write) -> anyhow::Result<()> {
    if cfg!(debug_assertions) && !options.unoptimised {
        return run_optimised();
    }
    let has_own_mounts = std::env::var_os(OWN_MOUNTS).is_some();
    if !has_own_mounts && can_have_own_mounts() {
        return run_with_own_mounts();
    }
    let n_calls = options.calls;
    ensure!(CALLS_MIN <= n_calls, "{n_calls} calls prove nothing; {CALLS_MIN} are the least");
    let mischiefs = mischiefs(has_own_mounts, options.allow_missing_days, out)?;
    let binary = match &options.binary {
        Some(binary) => binary.canonicalize()?,
        None if cfg!(debug_assertions) => build_debug_binary()?,
        None => build_binary(None)?,
    };
    let soak = Soak { binary, ground: ground()?, next: AtomicU64::new(1) };
    writeln!(out, "{}", day::HEAD)?;
    let (start, mut n_done, mut n_records, mut done) = (Instant::now(), 0, 0, Done::default());
    for plan in plans(n_calls, &mischiefs) {
        let day = soak.live(plan)?;
        writeln!(out, "{day}")?;
        out.flush()?;
        n_done += day.n_calls();
        n_records += day.n_records;
        done.add(day.done);
    }
    let took = start.elapsed().as_secs();
    writeln!(out, "\n{n_done} calls and {n_records} records in {took} s.\n{done}")?;
    for mischief in MISCHIEFS.iter().filter(|it| !mischiefs.contains(it)) {
        writeln!(out, "WARNING: there was no day of {mischief:?}.")?;
    }
    Ok(())
}

/// Returns the mischief that can be done here; if not all can, that must be right with whoever asked.
fn mischiefs(
    has_own_mounts: bool,
    may_miss: bool,
    out: &mut dyn Write,
) -> anyhow::Result<Vec<Mischief>> {
    let mut possible = Vec::new();
    for mischief in MISCHIEFS {
        match mischief.is_impossible(has_own_mounts) {
            None => possible.push(mischief),
            Some(why) if may_miss => writeln!(out, "WARNING: no day of {mischief:?}: {why}.")?,
            Some(why) => bail!(
                "no day of {mischief:?} can be lived here: {why}; `--allow-missing-days` goes without"
            ),
        }
    }
    Ok(possible)
}

/// Half of the calls on the longest day, the others on days of mischief, each kind at least once.
fn plans(n_calls: u64, mischiefs: &[Mischief]) -> Vec<Plan> {
    let n_long = n_calls.div_ceil(2);
    let n_rest = n_calls - n_long;
    let n_days = n_rest.div_ceil(DAY).max(mischiefs.len() as u64);
    let mut plans = vec![Plan { number: 1, mischief: Mischief::None, n_calls: n_long }];
    for (day, mischief) in (0..n_days).zip(mischiefs.iter().cycle()) {
        let n_calls = n_rest * (day + 1) / n_days - n_rest * day / n_days;
        plans.push(Plan { number: plans.len() + 1, mischief: *mischief, n_calls });
    }
    plans
}

/// Everything that lasts longer than a day.
#[derive(Debug)]
struct Soak {
    binary: PathBuf,
    ground: Ground,
    /// The number of the next call; no two calls have the same.
    next: AtomicU64,
}

impl Done {
    fn add(&mut self, other: Self) {
        self.crashes += other.crashes;
        self.kills += other.kills;
        self.policies += other.policies;
        self.jumps += other.jumps;
        self.fills += other.fills;
    }
}

impl std::fmt::Display for Done {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { crashes, kills, policies, jumps, fills } = self;
        write!(
            f,
            "Servers were killed and came back: {crashes} times; the proxy was killed and came back: \
             {kills}; the policy was replaced by another one: {policies}; the clock jumped there and \
             back: {jumps}; the disk was full: {fills}."
        )
    }
}

/// Makes a place whose servers are a trivial one and the built-in one for files.
fn ground() -> anyhow::Result<Ground> {
    let this = std::env::current_exe()?;
    let file = |tool: &str, args: Value| json!({"toolName": tool, "args": args});
    let annotations = json!({"servers": {
        "s": {"tools": reading(&[("read", &["count"])])},
        "filesystem": {"tools": [
            file("read_file", json!({"path": ["read-path"], "head": ["none"], "tail": ["none"]})),
            file("write_file", json!({"path": ["write-path"], "content": ["none"]})),
        ]},
    }});
    let ground = Ground::new(&json!({}), &annotations)?;
    let asked = ground.path("asked");
    // What a person is asked about has to be in its view, or the call is refused.
    let servers = json!({
        "s": {"command": this, "args": ["echo-server"],
            "sandbox": {"filesystem": {"allowRead": [asked]}}},
        "filesystem": {"builtin": "filesystem"},
    });
    std::fs::write(ground.path("servers.json"), servers.to_string())?;
    std::fs::create_dir(&asked)?;
    for name in ["file.txt", "other.txt"] {
        std::fs::write(asked.join(name), "a small file\n")?;
    }
    Ok(ground)
}

/// Returns the command that starts another one where its mounts are nobody else's.
fn unshare() -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "--"]);
    command
}

/// Root may, unless it is one of a container.
fn can_have_own_mounts() -> bool {
    let tried = unshare().arg("true").stderr(std::process::Stdio::null()).status();
    tried.is_ok_and(|status| status.success())
}

/// Starts this program again where its mounts are nobody else's.
fn run_with_own_mounts() -> anyhow::Result<()> {
    let mut command = unshare();
    command.arg(std::env::current_exe()?).args(std::env::args_os().skip(1));
    let status = command.env(OWN_MOUNTS, "").status()?;
    ensure!(status.success(), "the days did not go well");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_calls_are_made_on_one_day_and_every_mischief_is_done() {
        for (n_calls, n_days) in [(10_000, 6), (20_001, 6), (1_500_000, 6), (10_000_000, 21)] {
            let plans = plans(n_calls, &MISCHIEFS);
            assert_eq!(plans.len(), n_days);
            assert_eq!(plans.iter().map(|it| it.n_calls).sum::<u64>(), n_calls);
            assert!(n_calls <= 2 * plans[0].n_calls && plans[0].mischief == Mischief::None);
            let is_planned = |mischief| plans.iter().any(|it| it.mischief == mischief);
            assert!(MISCHIEFS.into_iter().all(is_planned));
        }
    }

    #[test]
    fn a_day_that_cannot_be_lived_is_an_error_unless_that_is_allowed() {
        let mut said = Vec::new();
        assert!(mischiefs(false, false, &mut said).is_err());
        let possible = mischiefs(false, true, &mut said).unwrap();
        assert!(!possible.contains(&Mischief::DiskFills));
        assert!(String::from_utf8(said).unwrap().contains("WARNING: no day of DiskFills"));
    }
}
