//! `ironcurtain sessions list`: all sessions, the most recently active first.
//!
//! Made for many thousands of them: what is not shown is not parsed, and all rows are one write.

use std::fmt::Write as _;

use ic_home::Environment;
use ic_store::{Entry, Row, index};

use crate::commands::Exit;
use crate::commands::config::home;
use crate::error::Failure;
use crate::screen::{Screen, visible};

/// How much of the first message is shown.
const TOPIC_CHARS_MAX: usize = 60;

/// Show the sessions, the most recently active first
///
/// Sessions whose conversation was purged are left out.
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Show sessions whose conversation was purged, too
    #[arg(long)]
    all: bool,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(
    args: &ListArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let home = home(environment)?;
    let (text, unreadable) = index::with(&home, |entries, unreadable| {
        let mut rows: Vec<(&Entry<'_>, Row<'_>)> =
            entries.iter().filter_map(|entry| Some((entry, entry.row()?))).collect();
        rows.retain(|(_, row)| args.all || !row.purged);
        rows.sort_unstable_by(|(_, a), (_, b)| {
            (&b.last_activity_at, &b.id).cmp(&(&a.last_activity_at, &a.id))
        });
        let text = if args.json { as_json(&rows) } else { as_table(&rows) };
        (text, unreadable.to_vec())
    })?;
    screen.out().write_all(text.as_bytes()).map_err(Failure::output)?;
    for session in unreadable {
        screen.warning(&format!("the session {} is left out: {}", session.id, session.reason));
    }
    Ok(Exit::Success)
}

fn as_json(rows: &[(&Entry<'_>, Row<'_>)]) -> String {
    let mut out = String::from("[");
    for (at, (entry, _)) in rows.iter().enumerate() {
        out.push_str(if at == 0 { "" } else { ",\n" });
        out.push_str(entry.text);
    }
    out.push_str("]\n");
    out
}

fn as_table(rows: &[(&Entry<'_>, Row<'_>)]) -> String {
    if rows.is_empty() {
        return "no sessions\n".to_owned();
    }
    let width = rows.iter().map(|(_, row)| row.name.len()).max().unwrap_or(0);
    let mut out = String::new();
    for (_, row) in rows {
        let time = row.last_activity_at.get(..16).unwrap_or(&row.last_activity_at);
        let topic = row.description.as_deref().unwrap_or(&row.first_message);
        let topic: String = topic.chars().take(TOPIC_CHARS_MAX).collect();
        let messages = match (row.purged, row.message_count) {
            (true, _) => "purged".to_owned(),
            (false, 1) => "1 message".to_owned(),
            (false, n) => format!("{n} messages"),
        };
        let time = time.replace('T', " ");
        // Writing to a string cannot fail.
        writeln!(
            out,
            "{}  {:width$}  {time}  {:8}  {messages:>12}  {}",
            visible(&row.id),
            visible(&row.name),
            visible(&row.kind),
            visible(&topic),
        )
        .ok();
    }
    out
}
