//! `ironcurtain sessions delete`: a session goes, with its sandbox; its record stays.

use ic_home::Environment;
use ic_store::{Metadata, Sessions};

use crate::commands::Exit;
use crate::commands::config::home;
use crate::error::Failure;
use crate::person::{Answer, Person, Scripts};
use crate::screen::Screen;

/// Remove sessions: conversation, sandbox, everything but the audit log
///
/// The audit log moves to `audit/` in the IronCurtain home. A workspace of your own is not touched.
/// Asks at the terminal first.
#[derive(Debug, clap::Args)]
pub(crate) struct DeleteArgs {
    /// The sessions, by id, name or the beginning of one of them
    #[arg(value_name = "S", required = true)]
    sessions: Vec<String>,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

/// Runs the command.
pub(crate) fn run(
    args: &DeleteArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let home = home(environment)?;
    let sessions = Sessions::of(&home);
    // All of them are known before the first one goes.
    let found = args.sessions.iter().map(|name| sessions.find(name));
    let found = found.collect::<Result<Vec<Metadata>, _>>()?;
    for session in found {
        let question = format!(
            "Remove the session `{}` ({}) with its conversation and its sandbox?",
            session.name, session.id
        );
        if !args.yes {
            let mut person =
                Person::find("whether sessions are to be removed", false, Scripts::MayNotAnswer)
                    .map_err(|failure| failure.with_hint("`--yes` removes without asking"))?;
            match person.ask(&question)? {
                Answer::Approved => {}
                Answer::Denied => {
                    screen.line(&format!("kept {}", session.id))?;
                    continue;
                }
            }
        }
        sessions.delete(&session)?;
        screen.line(&format!("removed {} ({})", session.id, session.name))?;
    }
    // So that the list is right for whoever reads the file.
    sessions.all()?;
    Ok(Exit::Success)
}
