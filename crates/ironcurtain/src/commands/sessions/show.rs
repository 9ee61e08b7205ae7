//! `ironcurtain sessions show`: one session, and what was said in it.

use ic_home::Environment;
use ic_store::{Metadata, Places, Sessions, Stored, export};

use crate::commands::Exit;
use crate::commands::config::home;
use crate::error::Failure;
use crate::ledger::{Ledger, Since};
use crate::screen::{Screen, visible};

/// Show one session: what it is, and its turns
#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// The session, by id, name or the beginning of one of them
    #[arg(value_name = "S")]
    session: String,
    /// Print it as JSON, with all messages
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(
    args: &ShowArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let home = home(environment)?;
    let sessions = Sessions::of(&home);
    let metadata = sessions.find(&args.session)?;
    let stored = Stored::read(&Places::of(&home, &metadata.id))?;
    if args.json {
        screen.json(&export::json(&stored))?;
        return Ok(Exit::Success);
    }
    let is_running = sessions.is_running(&metadata.id)?;
    let mut lines = facts(&stored.metadata, is_running);
    let record = home.session(&metadata.id).join("audit.jsonl");
    let ledger = Ledger::read(&record, Since::TheBeginning);
    if let Some(ledger) = &ledger {
        lines.push(format!("{:<14} {ledger}", "record"));
        let asked = ledger.models().map(|line| format!("{:<14} {}", "asked", visible(&line)));
        lines.extend(asked);
        let dropped =
            ledger.at_terminals().map(|it| format!("{:<14} {}", "not passed on", visible(it)));
        lines.extend(dropped);
    }
    for turn in &stored.turns {
        lines.push(String::new());
        let time = turn.timestamp;
        lines.push(format!("turn {} ({time}, {} tokens)", turn.turn_number, turn.usage.total));
        lines.extend(quoted("> ", &turn.user_message));
        lines.extend(quoted("  ", &turn.assistant_response));
    }
    if let Some(damage) = &stored.damage {
        screen.warning(&format!("the end of its journal is damaged: {damage}"));
    }
    screen.lines(&lines)?;
    Ok(Exit::Success)
}

fn facts(metadata: &Metadata, is_running: bool) -> Vec<String> {
    let state = match (is_running, metadata.purged) {
        (true, _) => "running",
        (false, true) => "its conversation was purged",
        (false, false) => "ended",
    };
    let model = match metadata.provider == metadata.model {
        true => metadata.model.clone(),
        false => format!("{}:{}", metadata.provider, metadata.model),
    };
    let facts = [
        ("session", metadata.id.to_string()),
        ("name", metadata.name.to_string()),
        ("description", metadata.description.clone().unwrap_or_default()),
        ("kind", metadata.kind.clone()),
        ("agent", metadata.agent.clone()),
        ("model", model),
        ("workspace", metadata.workspace.clone().unwrap_or_default()),
        ("created", metadata.created_at.to_string()),
        ("last activity", metadata.last_activity_at.to_string()),
        ("messages", metadata.message_count.to_string()),
        ("state", state.to_owned()),
    ];
    let shown = facts.into_iter().filter(|(_, value)| !value.is_empty());
    shown.map(|(name, value)| format!("{name:<14} {}", visible(&value))).collect()
}

fn quoted(mark: &str, text: &str) -> Vec<String> {
    text.lines().map(|line| format!("{mark}{}", visible(line))).collect()
}
