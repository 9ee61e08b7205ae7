//! `ironcurtain sessions rename`: another name for a session.

use ic_home::Environment;
use ic_store::Sessions;
use ic_types::SessionName;

use crate::commands::Exit;
use crate::commands::config::home;
use crate::error::Failure;
use crate::screen::Screen;

/// Give a session another name
///
/// A session that is running keeps its name until it has ended.
#[derive(Debug, clap::Args)]
pub(crate) struct RenameArgs {
    /// The session, by id, name or the beginning of one of them
    #[arg(value_name = "S")]
    session: String,
    /// The new name, which no other session has
    #[arg(value_name = "NAME")]
    name: String,
}

/// Runs the command.
pub(crate) fn run(
    args: &RenameArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let name = SessionName::of(&args.name).map_err(|error| Failure::usage(error.to_string()))?;
    let home = home(environment)?;
    let sessions = Sessions::of(&home);
    let session = sessions.find(&args.session)?;
    sessions.rename(&session, &name)?;
    screen.line(&format!("{} is called {name} now", session.id))?;
    Ok(Exit::Success)
}
