//! `cargo xtask bench`: how fast the parts are, measured on this machine.

use std::io::Write;

use anyhow::bail;

/// What to measure.
#[derive(clap::Subcommand, Debug)]
pub enum Bench {
    /// Time the decision under policies of growing size
    Policy,
}

/// Runs one benchmark and writes its table to `out`.
pub fn run(bench: &Bench, out: &mut dyn Write) -> anyhow::Result<()> {
    match bench {
        Bench::Policy => policy(out),
    }
}

fn policy(_out: &mut dyn Write) -> anyhow::Result<()> {
    bail!("not written yet")
}
