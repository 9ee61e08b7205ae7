//! `cargo xtask`: the command line of the developer's tools.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use xtask::{
    attack, bench, budget, dist, echo, fuzz, pictures, policies, provider, reference, site, soak,
    tidy,
};

/// Tools for those who work on `IronCurtain`
#[derive(Debug, Parser)]
#[command(name = "cargo xtask")]
enum Task {
    /// Check the house rules that a machine can check
    ///
    /// Prints one sentence for each finding and exits with 1 if there is any.
    /// A line that begins with `note:` is worth reading, but fails nothing.
    Tidy,
    /// Measure how fast a part is
    Bench(bench::Options),
    /// Live through days of a proxy in minutes, with all that may happen to it; nothing may be lost
    ///
    /// Half of the calls are made in one process. Prints a row for each day, and fails at the first
    /// thing that is not as it should be. docs/benchmarks.md says what is looked at.
    Soak(soak::Options),
    /// Play random agents against the user's own git, through the optimised proxy
    ///
    /// Each sequence makes a world of its own, up to 30 calls with nobody who approves, and then the
    /// user's ordinary commands. Fails, with the calls that it takes, if anything of an agent's runs.
    Attack(attack::Options),
    /// Try mutated inputs on one parser of hostile bytes
    ///
    /// The test suite does the same for seconds. Fails with the smallest input that was found and the
    /// command that checks it again.
    Fuzz(fuzz::Options),
    /// Make the README's pictures of a terminal from real runs, or check that they are current
    Pictures(pictures::Options),
    /// Compile the built-in policies from their constitutions in examples/, or check that they are current
    Policies(policies::Options),
    /// Write the pages of docs/reference from the program itself, or check that they are current
    Reference(reference::Options),
    /// Build guide, reference and the other documents into one searchable site, and follow its links
    Site,
    /// Make the release: a static program as a tarball, a Debian package and a container image, with checksums
    ///
    /// Every package of others is named with its licence. Nothing is signed or uploaded.
    Dist(dist::Options),
    /// Fail if the build, the program or its start takes more than docs/benchmarks.md allows
    Budget(budget::Options),
    /// Play a provider of models that speaks all four formats, to try everything without a key
    Provider {
        /// The port of this machine to listen at
        #[arg(long, default_value_t = 8787)]
        port: u16,
    },
    /// Serve MCP trivially, for measurements
    #[command(hide = true)]
    EchoServer,
}

fn main() -> anyhow::Result<ExitCode> {
    let mut out = io::stdout();
    match Task::parse() {
        Task::Tidy => run_tidy(&mut out),
        Task::Bench(options) => bench::run(&options, &mut out).map(|()| ExitCode::SUCCESS),
        Task::Soak(options) => soak::run(&options, &mut out).map(|()| ExitCode::SUCCESS),
        Task::Attack(options) => attack::run(&options, &mut out).map(|()| ExitCode::SUCCESS),
        Task::Fuzz(options) => fuzz::run(&options, &mut out).map(|()| ExitCode::SUCCESS),
        Task::Pictures(options) => pictures::run(&options, &mut out).map(|()| ExitCode::SUCCESS),
        Task::Policies(options) => policies::run(&options, &mut out).map(|()| ExitCode::SUCCESS),
        Task::Reference(options) => reference::run(&options, &mut out).map(|()| ExitCode::SUCCESS),
        Task::Dist(options) => dist::run(&options, &mut out).map(|()| ExitCode::SUCCESS),
        Task::Budget(options) => budget::run(&options, &mut out).map(|()| ExitCode::SUCCESS),
        Task::Site => site::run(&mut out).map(|()| ExitCode::SUCCESS),
        Task::Provider { port } => provider::run(port, &mut out).map(|()| ExitCode::SUCCESS),
        Task::EchoServer => echo::run().map(|()| ExitCode::SUCCESS),
    }
}

fn run_tidy(out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let report = tidy::check_workspace()?;
    write!(out, "{report}")?;
    Ok(if report.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
