//! `ironcurtain sessions purge`: old conversations make room.

use ic_home::Environment;
use ic_home::config::{Config, ConfigFile, Layers};
use ic_store::{Doing, Removed, Sessions};

use crate::commands::Exit;
use crate::commands::config::home;
use crate::error::{Failure, chain};
use crate::screen::Screen;

/// Remove the conversations that were active least recently
///
/// Only the conversations go: sandboxes and audit logs stay, and so do sessions that are running.
#[derive(Debug, clap::Args)]
pub(crate) struct PurgeArgs {
    /// How many conversations to keep; without it `session.maxSessions` of the configuration
    #[arg(long, value_name = "N")]
    keep: Option<usize>,
    /// Only say what would be removed
    #[arg(long)]
    dry_run: bool,
}

/// Runs the command.
pub(crate) fn run(
    args: &PurgeArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let home = home(environment)?;
    let keep = if let Some(keep) = args.keep {
        keep
    } else {
        let file = ConfigFile::read(&home)?;
        let config = Config::load(&Layers { flags: &[], environment, file: &file })?;
        usize::try_from(config.session.sessions_max).unwrap_or(usize::MAX)
    };
    let doing = if args.dry_run { Doing::OnPaper } else { Doing::ForGood };
    let purged = Sessions::of(&home).purge(keep, doing)?;
    told(&purged, ("purged", "would purge"), doing, screen)?;
    Sessions::of(&home).all()?;
    Ok(if purged.failed.is_empty() { Exit::Success } else { Exit::Failed })
}

/// Tells what became of sessions; `words` say what was done, and what would be.
pub(in crate::commands) fn told(
    removed: &Removed,
    words: (&str, &str),
    doing: Doing,
    screen: &mut Screen,
) -> Result<(), Failure> {
    let word = match doing {
        Doing::ForGood => words.0,
        Doing::OnPaper => words.1,
    };
    for session in &removed.removed {
        screen.line(&format!("{word} {} ({})", session.id, session.name))?;
    }
    for session in &removed.running {
        screen.notice(&format!("the session `{}` is running, and stays", session.name));
    }
    for (session, error) in &removed.failed {
        screen.warning(&format!("the session `{}` stays: {}", session.name, chain(error)));
    }
    if removed.removed.is_empty() {
        screen.line("nothing to do")?;
    }
    Ok(())
}
