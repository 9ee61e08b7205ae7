//! `ironcurtain servers remove`: a server with all that was installed and remembered for it.

use ic_home::Environment;
use ic_inventory::pins::PinsFile;
use ic_types::ServerName;

use super::entries::{Entries, Removed};
use super::install;
use crate::commands::Exit;
use crate::commands::config::home;
use crate::error::Failure;
use crate::screen::{Screen, visible};

/// Remove a server: its entry, what was installed for it, its drafts and its trusted identity
///
/// Records of its calls stay, and so does what it kept in its `${DATA}`. A session that runs keeps the server until it ends.
#[derive(Debug, clap::Args)]
pub(crate) struct RemoveArgs {
    /// Server to remove
    name: String,
}

/// Runs the command.
pub(crate) fn run(
    args: &RemoveArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let home = home(environment)?;
    let name: ServerName = args.name.parse().map_err(|error| {
        Failure::usage(format!("`{}` is not a valid server name", visible(&args.name)))
            .with_source(error)
    })?;
    home.prepare()?;
    let mut entries = Entries::open(&home)?;
    let removed = entries.remove(&name);
    if removed == Removed::Nothing {
        return Err(Failure::config(format!("there is no server `{name}`"))
            .with_hint("`ironcurtain servers list` shows those that there are"));
    }
    entries.write()?;
    drop(entries);
    PinsFile::of(&home).forget(&name)?;
    let kept = install::uninstall(name.as_str(), &home)?;
    screen.line(&match removed {
        Removed::ForBuiltin => {
            format!("{name} is removed; the built-in server `{name}` is used again")
        }
        Removed::Nothing | Removed::Server => format!("{name} is removed"),
    })?;
    if let Some(kept) = kept {
        screen.line(&format!(
            "{name}: what it kept stays in `{}`",
            visible(&kept.display().to_string())
        ))?;
    }
    Ok(Exit::Success)
}
