//! `ironcurtain migrate`: take over what is worth keeping from the other program's home.

use std::path::PathBuf;

use ic_home::Environment;
use ic_home::migrate::migrate;

use crate::commands::Exit;
use crate::commands::config::home;
use crate::error::Failure;
use crate::screen::{Screen, visible};

/// Copy constitution, policies and keys from a home of the other IronCurtain program
///
/// They are copied into the home in force, which `IRONCURTAIN_HOME` names and which has to be
/// another directory. The source is left as it is, nothing is overwritten, and the policy in force stays
/// the same until `policy use generated` puts the copied one in force.
#[derive(Debug, clap::Args)]
pub(crate) struct MigrateArgs {
    /// Home to copy from; without it `~/.ironcurtain`
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(
    args: &MigrateArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let from = match &args.from {
        Some(from) => from.clone(),
        None => environment.home()?.as_path().join(".ironcurtain"),
    };
    let report = migrate(&environment.absolute(&from)?, &home(environment)?, environment)?;
    if report.copied.is_empty() {
        screen.line("nothing to copy: there is no constitution, no policy and no key")?;
    }
    for copied in &report.copied {
        screen.line(&format!("copied {}", visible(copied)))?;
    }
    for left in &report.left {
        screen.line(&format!("left   {}", visible(left)))?;
    }
    if report.has_policy {
        screen.line(
            "The copied policy is not in force yet: `ironcurtain policy use generated` shows what it \
             changes, and asks.",
        )?;
    }
    Ok(Exit::Success)
}
