//! `ironcurtain completions`: a script that lets a shell complete our commands.

use clap::CommandFactory as _;

use crate::cli::Cli;
use crate::commands::Exit;
use crate::error::Failure;
use crate::screen::Screen;

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// Shell to write the script for
    shell: clap_complete::Shell,
}

/// Runs the command.
pub(crate) fn run(args: &CompletionsArgs, screen: &mut Screen) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ironcurtain", &mut script);
    screen.out().write_all(&script).map_err(Failure::output)?;
    Ok(Exit::Success)
}
