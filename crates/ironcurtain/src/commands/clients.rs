//! `ironcurtain clients`: puts the proxy into the configuration of an MCP client, and takes it out again.
//!
//! ```text
//! known: the clients, their files ─▶ target: the file on this disk ─▶ edit: its text, changed ─▶ shown, asked, written
//! ```

mod edit;
mod install;
mod known;
mod list;
mod remove;
mod shown;
mod target;

use ic_home::Environment;

use crate::commands::Exit;
use crate::error::Failure;
use crate::person::{Answer, Person, Scripts};
use crate::screen::{Screen, visible};

use known::{CLIENTS, Client};
use target::Target;

/// Connect an MCP client, such as Claude Code or Codex, to `ironcurtain proxy`
#[derive(Debug, clap::Subcommand)]
pub(crate) enum ClientsCommand {
    Install(install::InstallArgs),
    Remove(remove::RemoveArgs),
    List(list::ListArgs),
}

/// Runs `command`.
pub(crate) fn run(
    command: ClientsCommand,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    match command {
        ClientsCommand::Install(args) => install::run(&args, environment, screen),
        ClientsCommand::Remove(args) => remove::run(&args, environment, screen),
        ClientsCommand::List(args) => list::run(&args, environment, screen),
    }
}

fn names() -> clap::builder::PossibleValuesParser {
    CLIENTS.each_ref().map(|it| it.name).into()
}

fn client(name: &str) -> Result<&'static Client, Failure> {
    const ALL: &[Client] = &CLIENTS;
    ALL.iter()
        .find(|it| it.name == name)
        .ok_or_else(|| Failure::usage(format!("`{}` is not a known client", visible(name))))
}

/// Says that nobody judges the client's own tools, and how to turn them off.
fn told_about_own_tools(client: &Client, screen: &mut Screen) {
    screen.warning(&format!(
        "IronCurtain does not see or judge {}'s own tools (its shell, its edits). {}",
        client.title, client.own_tools.how
    ));
    for line in client.own_tools.block.unwrap_or_default().lines() {
        screen.row(&format!("    {line}"));
    }
}

/// A change to a file that is to be made.
#[derive(Debug)]
struct Change {
    target: Target,
    before: String,
    /// `None` if the file goes.
    after: Option<String>,
}

/// Shows changes, asks, and makes them if the answer is yes.
fn make(
    client: &Client,
    changes: &[Change],
    is_agreed: bool,
    screen: &mut Screen,
) -> Result<Answer, Failure> {
    let what = format!("to change the configuration of {}", client.title);
    let mut person = Person::find(&what, is_agreed, Scripts::MayAnswer)?;
    for change in changes {
        let target = &change.target;
        // A file behind a link is not changed where nobody is asked about it.
        if is_agreed && target.is_linked() {
            return Err(Failure::config(format!(
                "`{}` leads through a link to `{}`, and is not changed without asking",
                target.expected.display(),
                target.real.display()
            ))
            .with_hint("leave `--yes` out, and confirm the change at a terminal"));
        }
        let after = change.after.as_deref().unwrap_or_default();
        let mut lines = vec![format!("{}:", target.shown())];
        lines.extend(shown::lines(&change.before, after));
        person.show(&lines, screen)?;
    }
    let answer = person.ask("Make this change?")?;
    if answer == Answer::Denied {
        screen.line("Nothing was changed.")?;
        return Ok(answer);
    }
    for Change { target, after, .. } in changes {
        let kept = target.write(after.as_deref())?;
        let done = if after.is_some() { "Changed" } else { "Removed" };
        let kept =
            kept.map(|it| format!("; the old file is {}", visible(&it.display().to_string())));
        screen.line(&format!("{done} {}{}.", target.shown(), kept.unwrap_or_default()))?;
    }
    Ok(answer)
}
