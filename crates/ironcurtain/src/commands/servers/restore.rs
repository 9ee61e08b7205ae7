//! `ironcurtain servers restore`: a built-in server that was switched off is there again.

use ic_home::Environment;
use ic_inventory::servers_file::BuiltinServer;
use ic_types::ServerName;

use super::entries::{Entries, Removed};
use crate::commands::Exit;
use crate::commands::config::home;
use crate::error::Failure;
use crate::screen::{Screen, visible};

/// Switch a built-in server on again that `servers remove` switched off
#[derive(Debug, clap::Args)]
pub(crate) struct RestoreArgs {
    /// Built-in server: `filesystem`, `git`, `fetch` or `shell`
    name: String,
}

/// Runs the command.
pub(crate) fn run(
    args: &RestoreArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let home = home(environment)?;
    let Some(builtin) = BuiltinServer::named(&args.name) else {
        let names = BuiltinServer::ALL.map(BuiltinServer::as_str).join(", ");
        return Err(Failure::usage(format!("`{}` is not a built-in server", visible(&args.name)))
            .with_hint(format!("the built-in servers are {names}; `servers add` adds others")));
    };
    let name: ServerName = builtin.as_str().parse().map_err(|error: ic_types::InvalidName| {
        Failure::usage("this is not a valid server name").with_source(error)
    })?;
    home.prepare()?;
    let mut entries = Entries::open(&home)?;
    if !entries.restore(&name) {
        return match entries.would_remove(&name) {
            Removed::ForBuiltin => Err(Failure::config(format!(
                "another server is called `{name}` and takes the place of the built-in one"
            ))
            .with_hint(format!(
                "`ironcurtain servers remove {name}` brings the built-in one back"
            ))),
            Removed::Nothing | Removed::Server | Removed::Builtin => {
                screen.line(&format!("{name} is on already"))?;
                Ok(Exit::Success)
            }
        };
    }
    entries.write()?;
    screen.line(&format!("{name} is on again, for new sessions"))?;
    Ok(Exit::Success)
}
