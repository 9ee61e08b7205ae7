//! `ironcurtain annotate-tools`: what the arguments of added servers mean, by code and by a model, for a person
//! to confirm.
//!
//! The review itself is that of `servers review`. No server is started.

use ic_home::Environment;
use ic_inventory::servers_file::Start;

use super::review::{self, ReviewArgs};
use super::{find, load};
use crate::commands::Exit;
use crate::compiling::{self, Compiler};
use crate::error::Failure;
use crate::screen::{Screen, visible};

/// Say what the arguments of added servers' tools mean
///
/// Code guesses from names, schemas and descriptions; with a key, the model of `policyModelId` is asked too,
/// about new tools and those whose schema has changed, and you see where the two differ. What looks like a
/// path, an address or a repository stays one until you say otherwise. Nothing counts before you confirm it.
/// Exits with 0 if nothing is left to confirm, and with 1 if something is.
#[derive(Debug, clap::Args)]
pub(crate) struct AnnotateArgs {
    /// Server to look at
    #[arg(long, value_name = "NAME", required_unless_present = "all")]
    server: Option<String>,
    /// Look at all servers that were added
    #[arg(long, conflicts_with = "server")]
    all: bool,
    /// Confirm everything without being asked, if `approvals.scripted` is true
    #[arg(long)]
    yes: bool,
}

/// Runs the command.
pub(crate) fn run(
    args: &AnnotateArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let servers = load(None, environment)?;
    let names: Vec<String> = match &args.server {
        Some(name) => vec![find(name, &servers)?.0.to_string()],
        None => servers
            .iter()
            .filter(|(_, config)| !matches!(config.start, Start::Builtin(_)))
            .map(|(name, _)| name.to_string())
            .collect(),
    };
    if names.is_empty() {
        screen.line("no servers were added: the built-in ones need no annotations")?;
        return Ok(Exit::Success);
    }
    let compiler = Compiler::find(environment)?;
    if !compiler.has_model() {
        screen.notice(&format!("{}; what code guessed is shown", compiling::NO_KEY));
    }
    let mut exit = Exit::Success;
    for name in names {
        let asked = ReviewArgs::of(&name, args.yes);
        let reviewed = review::review(&asked, Some(&compiler), environment, screen);
        match reviewed {
            Ok(Exit::Success) => {}
            Ok(_) => exit = Exit::Failed,
            // One server that cannot be looked at does not keep the others from it.
            Err(failure) if args.all => {
                screen.warning(&visible(&failure.to_string()));
                exit = Exit::Failed;
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(exit)
}
