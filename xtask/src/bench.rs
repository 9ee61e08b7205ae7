//! `cargo xtask bench`: how fast the parts are, measured on this machine.
//!
//! One of them counts questions and measures no time. Wall times on a busy machine are noise; so sizes and variants take turns in every round, and
//! what is printed are medians and 99th percentiles over all rounds.

mod analysis;
mod audit;
mod broker;
mod cage;
mod compile;
mod day;
mod desk;
mod git;
mod lists;
mod many;
mod mitm;
mod model;
mod policy;
mod sandbox;
mod session;
mod store;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

/// What to measure, and how.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(subcommand)]
    what: Bench,
    /// Use this program instead of building one
    #[arg(long, global = true)]
    binary: Option<PathBuf>,
}

/// What to measure.
#[derive(clap::Subcommand, Debug)]
pub enum Bench {
    /// Time the decision, resolving and loading under policies of growing size
    Policy,
    /// Time looking through a policy, comparing two, and judging recorded calls anew
    Analysis,
    /// Time calls with thousands of paths or URLs through the proxy, and pings meanwhile
    Many,
    /// Time a proxy from its start to its list of tools, with the servers of a home and without them
    Lists {
        /// A home to which `ironcurtain servers add` has added some
        #[arg(long)]
        home: Option<PathBuf>,
    },
    /// Time the same calls made directly and through the proxy, and the proxy's start
    Broker,
    /// Time cages: the start of a child on every rung, a one-shot call, a connection
    Cage,
    /// Count what compiling the worked examples from free wordings asks of a model, and time the rest
    Compile,
    /// Count the questions of a day of coding, with grants and grouping and without
    Day,
    /// Time questions to a person: until they are seen, and from their answers to the results
    Desk,
    /// Time judging a push, and `git_status` through the proxy beside git's own
    Git,
    /// Time scripts in the code sandbox, their calls, and what idle sandboxes take
    Sandbox,
    /// Time sessions of the built-in agent, and what idle ones take
    Session,
    /// Time what lies between a provider's last byte and the next request
    Model,
    /// Time requests to a provider straight and through the model gate, and thousands of open streams
    Mitm,
    /// Time conversations: saving, reading back, and listing ten thousand sessions
    Store,
    /// Time appending to, checking and showing an audit log, and the start of the program
    Audit,
}

/// Runs one benchmark and writes its table to `out`.
pub fn run(options: &Options, out: &mut dyn Write) -> anyhow::Result<()> {
    // A day is counted and not timed.
    if cfg!(debug_assertions) && !matches!(options.what, Bench::Day) {
        return run_optimised();
    }
    // A place starts the program from a directory of its own.
    let given = options.binary.as_ref().map(|it| it.canonicalize()).transpose()?;
    let given = given.as_deref();
    match &options.what {
        Bench::Policy => policy::run(out, given),
        Bench::Analysis => analysis::run(out),
        Bench::Lists { home } => lists::run(out, given, home.as_deref()),
        Bench::Many => many::run(out, given),
        Bench::Audit => audit::run(out, given),
        Bench::Broker => broker::run(out, given),
        Bench::Cage => cage::run(out, given),
        Bench::Compile => compile::run(out, given),
        Bench::Day => day::run(out, given),
        Bench::Desk => desk::run(out, given),
        Bench::Model => model::run(out),
        Bench::Mitm => mitm::run(out, given),
        Bench::Git => git::run(out, given),
        Bench::Sandbox => sandbox::run(out),
        Bench::Session => session::run(out, given),
        Bench::Store => store::run(out, given),
    }
}

/// Runs the same command again, built with optimisation: other figures are worth nothing.
pub(crate) fn run_optimised() -> anyhow::Result<()> {
    let status = Command::new("cargo")
        .args(["run", "--quiet", "--release", "--package", "xtask", "--"])
        .args(std::env::args_os().skip(1))
        .status()?;
    ensure!(status.success(), "the benchmark did not succeed");
    Ok(())
}

/// Builds the program, optimised, and returns where it is; one that is given is taken instead.
pub(crate) fn build_binary(given: Option<&Path>) -> anyhow::Result<PathBuf> {
    if let Some(given) = given {
        return Ok(given.to_owned());
    }
    let status =
        Command::new("cargo").args(["build", "--release", "-q", "-p", "ironcurtain"]).status()?;
    ensure!(status.success(), "the binary does not build");
    // This very program lies beside it.
    let here = std::env::current_exe()?;
    let target = here.parent().and_then(Path::parent).context("a target directory")?;
    Ok(target.join("release/ironcurtain"))
}

/// Builds the program without optimisation, and returns where it is; for this program, built likewise.
pub(crate) fn build_debug_binary() -> anyhow::Result<PathBuf> {
    let status =
        Command::new("cargo").args(["build", "--locked", "-q", "-p", "ironcurtain"]).status()?;
    ensure!(status.success(), "the binary does not build");
    Ok(std::env::current_exe()?.with_file_name("ironcurtain"))
}

/// The times of one thing that was done many times.
#[derive(Debug, Default)]
struct Samples(Vec<Duration>);

impl Samples {
    /// Times `work` once.
    fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.0.push(start.elapsed());
        result
    }

    /// Returns the time that `percent` of the samples stay within.
    fn percentile(&mut self, percent: usize) -> Duration {
        self.0.sort_unstable();
        let at = self.0.len().saturating_sub(1) * percent / 100;
        self.0.get(at).copied().unwrap_or_default()
    }
}

/// Returns how many a second `n` in `elapsed` are.
pub(crate) fn per_second(n: u64, elapsed: Duration) -> f64 {
    f64::from(u32::try_from(n).unwrap_or(u32::MAX)) / elapsed.as_secs_f64()
}

/// Prints a time in the unit that suits it.
fn shown(time: Duration) -> String {
    let us = time.as_secs_f64() * 1e6;
    match time.as_micros() {
        0..10 => format!("{us:.2} µs"),
        10..10_000 => format!("{us:.0} µs"),
        _ => format!("{:.0} ms", us / 1e3),
    }
}
