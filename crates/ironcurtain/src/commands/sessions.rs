//! `ironcurtain sessions`: earlier sessions, and what is kept of them.

mod list;
mod show;

use ic_home::Environment;

use crate::commands::Exit;
use crate::error::Failure;
use crate::screen::Screen;

/// Show earlier sessions, name them, export them, remove them
#[derive(Debug, clap::Subcommand)]
pub(crate) enum SessionsCommand {
    List(list::ListArgs),
    Show(show::ShowArgs),
}

/// Runs `command`.
pub(crate) fn run(
    command: SessionsCommand,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    match command {
        SessionsCommand::List(args) => list::run(&args, environment, screen),
        SessionsCommand::Show(args) => show::run(&args, environment, screen),
    }
}
