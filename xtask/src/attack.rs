//! `cargo xtask attack`: thousands of random agents against the user's own git.
//!
//! The sequences are those of the integration tests, played with the optimised binary. What a sequence
//! is, and what counts as a finding, is in `ic_testkit::attack`; here they are only counted and timed.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::ensure;
use ic_testkit::attack::{Executor, Played, Tally, attack_many, play};

use crate::bench::build_binary;

/// How many sequences lie between two lines of progress.
const PROGRESS: u64 = 200;
/// In one of how many sequences the control has to hear the canary, at least.
const CONTROL_MIN: u64 = 10;

/// How to attack.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// How many sequences
    #[arg(long, default_value_t = 20_000)]
    sequences: u64,
    /// The seed of the first one; the others follow
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many are played at a time
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Stop after this many that found something
    #[arg(long, default_value_t = 5)]
    findings: usize,
    /// Use this program instead of building one
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Play without IronCurtain in between, and fail unless the canary is heard often enough
    #[arg(long)]
    control: bool,
    /// Say in the end why calls were not served
    #[arg(long)]
    reasons: bool,
}

/// Plays the sequences, and fails if one of them finds something.
pub fn run(options: &Options, out: &mut dyn Write) -> anyhow::Result<()> {
    let Options { sequences, seed, threads, findings, ref binary, control, reasons } = *options;
    let binary = match binary {
        // A place starts the program from a directory of its own.
        Some(binary) => binary.canonicalize()?,
        None => build_binary(None)?,
    };
    if control {
        return run_control(&binary, seed..seed.saturating_add(sequences), out);
    }
    let start = Instant::now();
    let (mut tally, mut broken) = (Tally::default(), Vec::new());
    let end = seed.saturating_add(sequences);
    let mut first = seed;
    while first < end && broken.len() < findings {
        let next = first.saturating_add(PROGRESS).min(end);
        let limits = (threads, findings - broken.len());
        let (more, found) = attack_many(&binary, first..next, Executor::Proxy, limits);
        tally.extend(more);
        for played in &found {
            writeln!(out, "{played}")?;
        }
        broken.extend(found);
        let (n_played, took) = (tally.n_sequences, start.elapsed().as_secs());
        let [served, asked, denied, failed] = tally.n_outcomes();
        writeln!(
            out,
            "{n_played} sequences in {took} s, seeds {seed} to {}; calls: {served} served, {asked} \
             need approval, {denied} denied, {failed} failed; {} found something",
            next - 1,
            broken.len()
        )?;
        first = next;
    }
    let took = start.elapsed().as_secs_f64();
    write!(out, "{tally}")?;
    if reasons {
        write!(out, "\n{}", tally.reasons())?;
    }
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let rate = tally.n_sequences as f64 / took;
    writeln!(out, "{took:.0} s, {rate:.1} sequences per second, seeds from {seed}")?;
    ensure!(broken.is_empty(), "{} sequences found something", broken.len());
    ensure!(tally.n_sequences == sequences, "only {} sequences were played", tally.n_sequences);
    Ok(())
}

/// Plays the sequences without anybody who looks: here the canary has to be heard.
fn run_control(
    binary: &Path,
    seeds: std::ops::Range<u64>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let (mut n_heard, mut n_found) = (0, 0);
    let n_sequences = seeds.end - seeds.start;
    for seed in seeds {
        let Played { findings, .. } = play(binary, seed, Executor::Careless, None);
        n_heard += u64::from(findings.iter().any(|it| it.contains("canary was heard")));
        n_found += u64::from(!findings.is_empty());
    }
    writeln!(
        out,
        "without IronCurtain: the canary was heard in {n_heard} of {n_sequences} sequences, and \
         something was found in {n_found}"
    )?;
    ensure!(n_sequences <= CONTROL_MIN * n_heard, "the control hears too little");
    Ok(())
}
