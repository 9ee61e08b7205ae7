//! `cargo xtask attack`: thousands of random agents against the user's own git.
//!
//! The sequences are those of the integration tests, played with the optimised binary. What a sequence
//! is, and what counts as a finding, is in `ic_testkit::attack`; here they are only counted and timed.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Instant;

use anyhow::ensure;
use ic_testkit::attack::attack_many;

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
    let lines = Mutex::new(&mut *out);
    let show = |n_played: u64| {
        if n_played % PROGRESS == 0 {
            let took = start.elapsed().as_secs();
            if let Ok(mut out) = lines.lock() {
                // Whoever read it may be gone; the sequences are played all the same.
                writeln!(out, "{n_played} sequences in {took} s").ok();
            }
        }
    };
    // `show` is called by several threads, and a writer is not meant for that.
    let seeds = seed..seed.saturating_add(sequences);
    let (tally, broken) = attack_many(&binary, seeds, threads, findings, &show);
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
