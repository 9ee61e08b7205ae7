//! `cargo xtask attack`: thousands of random agents against the user's own git.
//!
//! The sequences are those of the integration tests, played with the optimised binary. What a sequence
//! is, and what counts as a finding, is in `ic_testkit::attack`; here they are only counted and timed.

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::ensure;
use ic_testkit::attack::{Tally, attack_many};

use crate::bench::build_binary;

/// How many sequences lie between two lines of progress.
const PROGRESS: u64 = 500;

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
}

/// Plays the sequences, and fails if one of them finds something.
pub fn run(options: &Options, out: &mut dyn Write) -> anyhow::Result<()> {
    let Options { sequences, seed, threads, findings, ref binary } = *options;
    let binary = match binary {
        // A place starts the program from a directory of its own.
        Some(binary) => binary.canonicalize()?,
        None => build_binary()?,
    };
    let start = Instant::now();
    let (mut tally, mut broken) = (Tally::default(), Vec::new());
    let end = seed.saturating_add(sequences);
    let mut first = seed;
    while first < end && broken.len() < findings {
        let next = first.saturating_add(PROGRESS).min(end);
        let (more, found) = attack_many(&binary, first..next, threads, findings - broken.len());
        tally.extend(more);
        broken.extend(found);
        let (n_played, took) = (tally.n_sequences, start.elapsed().as_secs());
        writeln!(out, "{n_played} sequences in {took} s")?;
        first = next;
    }
    let took = start.elapsed().as_secs_f64();
    for played in &broken {
        writeln!(out, "{played}")?;
    }
    write!(out, "{tally}")?;
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let rate = tally.n_sequences as f64 / took;
    writeln!(out, "{took:.0} s, {rate:.1} sequences per second, seeds from {seed}")?;
    ensure!(broken.is_empty(), "{} sequences found something", broken.len());
    ensure!(tally.n_sequences == sequences, "only {} sequences were played", tally.n_sequences);
    Ok(())
}
