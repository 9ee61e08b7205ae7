//! `ironcurtain man`: manual pages, made from the same texts as `--help`.

use clap::CommandFactory as _;

use crate::cli::Cli;
use crate::commands::Exit;
use crate::error::Failure;
use crate::screen::Screen;

/// Print a manual page
///
/// Without a command, the page of `ironcurtain` itself. Read it with `ironcurtain man | man -l -`.
#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// Command to print the page of, for example `policy check`
    command: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(args: &ManArgs, screen: &mut Screen) -> Result<Exit, Failure> {
    let mut command = Cli::command();
    command.build();
    let mut name = String::from("ironcurtain");
    for word in &args.command {
        command = command
            .find_subcommand(word)
            .ok_or_else(|| {
                Failure::usage(format!("`{name}` has no command `{}`", word.escape_debug()))
            })?
            .clone();
        name = format!("{name}-{word}");
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page).map_err(Failure::output)?;
    screen.out().write_all(&page).map_err(Failure::output)?;
    Ok(Exit::Success)
}
