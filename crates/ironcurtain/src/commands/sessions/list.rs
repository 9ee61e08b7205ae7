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
/// How wide the column of kinds is.
const KIND_CHARS: usize = 8;
/// How long a row is without its name and topic.
const ROW_BYTES_USUAL: usize = 80;

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
    let (text, unreadable) = index::with(&home, |entries| {
        let all: Vec<(&Entry<'_>, Row<'_>)> =
            entries.iter().filter_map(|entry| Some((entry, entry.row()?))).collect();
        let mut rows: Vec<&(&Entry<'_>, Row<'_>)> =
            all.iter().filter(|(_, row)| args.all || !row.purged).collect();
        rows.sort_unstable_by(|(_, a), (_, b)| {
            (&b.last_activity_at, &b.id).cmp(&(&a.last_activity_at, &a.id))
        });
        if args.json { as_json(&rows) } else { as_table(&rows) }
    })?;
    match args.json {
        true => screen.json(&text)?,
        false => screen.lines(&text.lines().map(str::to_owned).collect::<Vec<_>>())?,
    }
    for session in unreadable {
        screen.warning(&format!("the session {} is left out: {}", session.id, session.reason));
    }
    Ok(Exit::Success)
}

fn as_json(rows: &[&(&Entry<'_>, Row<'_>)]) -> String {
    let n_bytes: usize = rows.iter().map(|(entry, _)| entry.text.len() + 2).sum();
    let mut out = String::with_capacity(n_bytes + 3);
    out.push('[');
    for (at, (entry, _)) in rows.iter().enumerate() {
        out.push_str(if at == 0 { "" } else { ",\n" });
        out.push_str(entry.text);
    }
    out.push(']');
    out
}

fn as_table(rows: &[&(&Entry<'_>, Row<'_>)]) -> String {
    if rows.is_empty() {
        return "no sessions\n".to_owned();
    }
    let width = rows.iter().map(|(_, row)| row.name.len()).max().unwrap_or(0);
    let mut out = String::with_capacity(rows.len() * (TOPIC_CHARS_MAX + ROW_BYTES_USUAL + width));
    for (_, row) in rows {
        let time = row.last_activity_at.get(..16).unwrap_or(&row.last_activity_at);
        let topic = row.description.as_deref().unwrap_or(&row.first_message);
        let end = topic.char_indices().nth(TOPIC_CHARS_MAX).map_or(topic.len(), |(at, _)| at);
        out.push_str(&visible(&row.id));
        left(&mut out, &visible(&row.name), width);
        left(&mut out, &visible(&time.replacen('T', " ", 1)), 0);
        left(&mut out, &visible(&row.kind), KIND_CHARS);
        out.push_str("  ");
        // Writing to a string cannot fail.
        match (row.purged, row.message_count) {
            (true, _) => out.push_str("      purged"),
            (false, 1) => out.push_str("   1 message"),
            (false, n) => write!(out, "{n:>3} messages").unwrap_or_default(),
        }
        left(&mut out, &visible(topic.get(..end).unwrap_or(topic)), 0);
        out.push('\n');
    }
    out
}

/// Adds a column of at least `width` characters.
fn left(out: &mut String, text: &str, width: usize) {
    out.push_str("  ");
    out.push_str(text);
    // It is counted only where it may be too short.
    if text.len() < width || !text.is_ascii() {
        out.extend(std::iter::repeat_n(' ', width.saturating_sub(text.chars().count())));
    }
}
