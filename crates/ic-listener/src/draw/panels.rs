//! What stands in the panels: sessions, history, grants, help, and what is said while nothing waits.

use ic_terminal::{Ink, Line, Span};
use ic_types::Timestamp;

use super::{Scene, ago};
use crate::command::COMMANDS;
use crate::dashboard::{Dashboard, Panel};
use crate::rows::{HistoryRow, SessionRow, time_of_day};

/// The keys, as the help lists them; those of a request are the same wherever one is answered.
const KEYS: [(&str, &str); 14] = [
    ("y", "approve this one call, exactly as it is shown"),
    ("n", "deny it"),
    ("g", "approve it and choose a grant for similar calls; what it covers is shown first"),
    ("a", "always: add to the policy; what would be added is shown first"),
    ("d", "details: show everything, where long values were shortened"),
    ("o", "one by one: take a group of similar requests apart"),
    ("s", "show the next request; this one waits"),
    ("Enter", "show the next page of a long request"),
    ("Up, Down", "choose another request; in a panel, scroll"),
    ("mouse", "choose and scroll, never answer; Shift selects text"),
    ("Tab", "sessions, history, grants, and back"),
    ("h", "history"),
    ("Esc", "back to the request; clear the filter"),
    (
        "q, Ctrl-C",
        "quit; then calls that need approval are denied, unless another approver is connected",
    ),
];

/// As wide as what stands before the meaning of a key in the help.
const HELP_MARK: &str = "                 ";

/// Returns the heading of a panel, and its lines.
pub(super) fn of(panel: Panel, scene: &Scene<'_>) -> (&'static str, Vec<Line>) {
    let Scene { dashboard, now, .. } = scene;
    match panel {
        Panel::Question => ("Request", Vec::new()),
        Panel::Sessions => ("Sessions", sessions(dashboard, *now)),
        Panel::History => {
            let cost = dashboard.economy().map(|it| Line::new(Ink::Quiet, &it));
            ("History", cost.into_iter().chain(ends(dashboard)).collect())
        }
        Panel::Grants => {
            let rows = dashboard.grants().iter().rev().flat_map(|it| it.lines.iter());
            let rows: Vec<Line> = rows.map(|line| Line::plain(line)).collect();
            ("Grants (/undo takes the first one back)", or(rows, "No grant is in force."))
        }
        Panel::Help => ("Help", help()),
    }
}

/// Returns what stands before the further rows of a line that is too long.
pub(super) fn mark(panel: Panel, columns: usize) -> &'static str {
    match panel {
        // Below what is said of a key, if that leaves room to say it.
        Panel::Help if 2 * HELP_MARK.len() < columns => HELP_MARK,
        Panel::Question | Panel::Sessions | Panel::History | Panel::Grants | Panel::Help => "    ",
    }
}

/// Returns a session in one row.
pub(super) fn session(dashboard: &Dashboard, row: &SessionRow, now: Timestamp) -> Line {
    let waits = match dashboard.n_waiting(&row.name) {
        0 => Line::new(Ink::Quiet, " running"),
        n => Line::new(Ink::Question, &format!(" {n} waiting")),
    };
    let mut line = waits.behind(&Span::new(Ink::Code, &row.name));
    line = line.and(Ink::Quiet, &format!(" {}", ago(row.started_at, now)));
    if let Some(spent) = &row.spent {
        line = line.and(Ink::Quiet, &format!(" {spent}"));
    }
    // A label begins with the agent, which may be what the kind is called.
    match row.label.starts_with(&row.kind) {
        true => line.and(Ink::Plain, &format!(" {}", row.label)),
        false => line.and(Ink::Plain, &format!(" {} · {}", row.kind, row.label)),
    }
}

/// Returns how requests ended, a row each, or says that none did.
pub(super) fn ends(dashboard: &Dashboard) -> impl Iterator<Item = Line> {
    let mut rows = dashboard.history().map(ended).peekable();
    let is_empty = rows.peek().is_none();
    let nothing = Line::new(Ink::Quiet, "Nothing was answered since this listener began.");
    rows.chain(is_empty.then_some(nothing))
}

/// Returns a request that is over in one row.
pub(super) fn ended(row: &HistoryRow) -> Line {
    Line::new(Ink::Quiet, &time_of_day(row.at))
        .and(Ink::Plain, &format!(" #{} ", row.number))
        .and(Ink::Code, &row.session)
        .and(row.ink, &format!(" {} ", row.ending))
        .and(Ink::Plain, &row.summary)
}

/// Says that no request is listed: because none waits, or because the filter lets none through.
pub(super) fn nothing_listed(dashboard: &Dashboard) -> String {
    match dashboard.counts() {
        (_, 0) => "No approval request is waiting.".to_owned(),
        (_, 1) => "1 request waits that the filter hides; Esc shows it.".to_owned(),
        (_, n) => format!("{n} requests wait that the filter hides; Esc shows them."),
    }
}

/// Returns what stands in the place of a request while there is none.
pub(super) fn idle(dashboard: &Dashboard, columns: usize) -> Vec<Line> {
    let mut lines = vec![
        Line::plain(&nothing_listed(dashboard)),
        Line::new(Ink::Quiet, "Sessions ask you here as long as this runs; the bell rings then."),
    ];
    lines.extend(dashboard.economy().map(|it| Line::new(Ink::Quiet, &it)));
    let n_said = lines.len();
    let mut ends = dashboard.history().peekable();
    if ends.peek().is_some() {
        lines.push(Line::plain(""));
        lines.push(Line::new(Ink::Strong, "Answered last:"));
        lines.extend(ends.map(ended));
    }
    let mark = Span::new(Ink::Plain, "    ");
    let (said, ended) = lines.split_at(n_said);
    // What is said is folded; a list has a row for each.
    let said = said.iter().flat_map(|line| line.fold(columns, &mark));
    said.chain(ended.iter().cloned()).collect()
}

fn sessions(dashboard: &Dashboard, now: Timestamp) -> Vec<Line> {
    let lines = dashboard.sessions().flat_map(|row| {
        let first = session(dashboard, row, now);
        let policy = row.policy.as_deref().unwrap_or("not known");
        let spent = row.spent.as_deref().unwrap_or("not known");
        let facts = format!("    policy: {policy} · models: {spent}");
        [first, Line::new(Ink::Quiet, &facts)]
    });
    let mut lines = or(lines.collect(), dashboard.why_no_session());
    if 0 < dashboard.complaints().len() {
        lines.extend([Line::plain(""), Line::new(Ink::Strong, "What is wrong:")]);
        lines.extend(dashboard.complaints().map(|it| Line::new(Ink::Bad, it)));
    }
    lines
}

fn help() -> Vec<Line> {
    let row = |name: &str, what: &str| {
        Line::new(Ink::Strong, &format!("  {name:14} ")).and(Ink::Plain, what)
    };
    let keys = KEYS.iter().map(|(name, what)| row(name, what));
    let commands = COMMANDS.iter().map(|(name, what)| row(name, what));
    let why = Line::new(
        Ink::Quiet,
        "A key counts once a request was shown to its end and nothing was typed for 0.7 s.",
    );
    keys.chain([Line::plain("")]).chain(commands).chain([Line::plain(""), why]).collect()
}

fn or(lines: Vec<Line>, empty: &str) -> Vec<Line> {
    match lines.is_empty() {
        true => vec![Line::new(Ink::Quiet, empty)],
        false => lines,
    }
}
