//! `ironcurtain sessions`: earlier sessions, and what is kept of them.

mod delete;
mod export;
mod list;
mod purge;
mod rename;
mod show;

use ic_home::Environment;

use crate::commands::Exit;
use crate::error::Failure;
use crate::screen::Screen;

pub(super) use purge::told;

/// List, show, name, export and remove earlier sessions
#[derive(Debug, clap::Subcommand)]
pub(crate) enum SessionsCommand {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Rename(rename::RenameArgs),
    Delete(delete::DeleteArgs),
    Purge(purge::PurgeArgs),
    Export(export::ExportArgs),
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
        SessionsCommand::Rename(args) => rename::run(&args, environment, screen),
        SessionsCommand::Delete(args) => delete::run(&args, environment, screen),
        SessionsCommand::Purge(args) => purge::run(&args, environment, screen),
        SessionsCommand::Export(args) => export::run(&args, environment, screen),
    }
}
