//! `ironcurtain status`: what runs, what waits and what was refused, on one screen.
//!
//! Reads the registry, the requests and the logs; changes nothing, and checks no log.

use ic_audit::read::{Record, Records};
use ic_escalation::display::{self, View, remaining};
use ic_escalation::{Board, Pending, Registry, SessionEntry, is_anybody_there};
use ic_home::{Clock as _, Environment, Home, SystemClock, file};
use ic_listener::rows::{lasting, time_of_day};
use ic_types::{Json, Object, Timestamp};

use crate::books::{Book, Books};
use crate::commands::Exit;
use crate::commands::approvals::{PEOPLE, stats};
use crate::commands::config::home;
use crate::commands::listen::{instance, summary};
use crate::error::{Failure, chain};
use crate::screen::{Screen, visible};

const LOG: &str = "audit.jsonl";
/// How far back refused calls are looked for.
const HOUR_MS: u64 = 3_600_000;
/// The most rows of one kind, so that everything fits a screen.
const ROWS_MAX: usize = 8;

/// Show what runs, what waits for approval and what was refused
///
/// Lists the running sessions with the tokens and cost of their models so far, the approval requests that
/// wait, whether an approver is connected, and the calls that were refused in the last hour.
#[derive(Debug, clap::Args)]
pub(crate) struct StatusArgs {
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

/// What there is at one moment.
struct Sight {
    at: Timestamp,
    sessions: Vec<SessionEntry>,
    books: Books,
    pending: Vec<Pending>,
    refused: Vec<Refused>,
    /// What approval requests cost of late, in one line.
    economy: String,
    is_attended: bool,
    listener: Option<(u32, Timestamp)>,
}

/// A call that was refused.
struct Refused {
    at: Timestamp,
    session: String,
    server: String,
    tool: String,
    reason: String,
}

/// Runs the command.
pub(crate) fn run(
    args: &StatusArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let sight = Sight::take(&home(environment)?, screen)?;
    match args.json {
        true => screen.json(&sight.to_json().to_string())?,
        false => sight.lines().iter().try_for_each(|line| screen.folded(line))?,
    }
    Ok(Exit::Success)
}

impl Sight {
    fn take(home: &Home, screen: &mut Screen) -> Result<Self, Failure> {
        let (live, at) = (Registry::of(home).live()?, SystemClock.now());
        let waiters = Board::default().look(&live.sessions, at);
        live.unreadable.iter().for_each(|error| screen.warning(&chain(error)));
        waiters.unreadable.iter().for_each(|error| screen.warning(&chain(error)));
        let mut books = Books::of(home);
        books.read(&live.sessions, usize::MAX);
        let economy = stats::of_last_day(home)?;
        economy.complaints.iter().for_each(|why| screen.warning(why));
        Ok(Self {
            at,
            sessions: live.sessions,
            books,
            pending: waiters.pending,
            refused: refused(home, at)?,
            economy: economy.line,
            is_attended: is_anybody_there(home)?,
            listener: instance::running(home),
        })
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = vec![match (self.listener, self.is_attended) {
            (Some((pid, _)), true) => {
                format!("An approver is connected: the listener (process {pid}).")
            }
            (_, true) => "An approver is connected.".to_owned(),
            (_, false) => {
                "No approver is connected: calls that need approval are denied, unless their \
                           session waits or has a terminal."
                    .to_owned()
            }
        }];
        let sessions = self.sessions.iter().map(|it| self.session_line(it));
        lines.extend(section(("session runs", "sessions run"), "No session runs.", sessions));
        let pending = self.pending.iter().map(|it| {
            let (number, session) = (it.number(), it.session());
            let left = remaining(it.request().expires_at, self.at);
            format!("#{number} {session}: {}; expires {left}", summary(it.request()))
        });
        let nothing = "No approval request is waiting.";
        lines.extend(section(("request waits", "requests wait"), nothing, pending));
        let refused = self.refused.iter().rev().map(|it| {
            let Refused { at, session, server, tool, reason } = it;
            let reason = display::text(reason, View::Short);
            // A refusal by a cage or a door is not about a tool.
            let what = if tool.is_empty() { server.clone() } else { format!("{server}.{tool}") };
            format!("{} {session}: {what}: {reason}", time_of_day(*at))
        });
        let of = ("call was refused in the last hour", "calls were refused in the last hour");
        lines.extend(section(of, "No call was refused in the last hour.", refused));
        lines.push(format!("In the {}.", self.economy));
        lines
    }

    fn session_line(&self, entry: &SessionEntry) -> String {
        let SessionEntry { name, label, .. } = entry;
        let age = lasting(self.at.unix_ms().saturating_sub(entry.started_at.unix_ms()));
        let waiting = match self.n_waiting(entry) {
            0 => String::new(),
            n => format!(", {n} waiting"),
        };
        let book = self.books.get(&entry.session);
        let spent = book.and_then(Book::spent).map_or_else(String::new, |it| format!(", {it}"));
        format!("{name}: {label}; {age}{waiting}{spent}")
    }

    fn n_waiting(&self, entry: &SessionEntry) -> usize {
        self.pending.iter().filter(|it| it.request().session == entry.session).count()
    }

    fn to_json(&self) -> Json {
        let sessions = self.sessions.iter().map(|it| {
            let book = self.books.get(&it.session);
            let spent = book.map(|it| *it.total()).unwrap_or_default();
            let mut row = Object::new();
            row.insert("sessionId", it.session.as_str());
            row.insert("name", it.name.as_str());
            row.insert("kind", it.kind.as_str());
            row.insert("label", it.label.as_str());
            let policy = book.and_then(Book::policy);
            row.insert("policy", policy.map_or(Json::Null, Json::from));
            row.insert("startedAt", it.started_at.to_string());
            row.insert("waiting", self.n_waiting(it) as u64);
            row.insert("promptTokens", spent.usage.prompt);
            row.insert("completionTokens", spent.usage.completion);
            row.insert("costBillionths", spent.cost().billionths());
            Json::Object(row)
        });
        let refused = self.refused.iter().map(|it| {
            let mut row = Object::new();
            row.insert("at", it.at.to_string());
            row.insert("session", it.session.as_str());
            row.insert("server", it.server.as_str());
            row.insert("tool", it.tool.as_str());
            row.insert("reason", it.reason.as_str());
            Json::Object(row)
        });
        let listener = self.listener.map_or(Json::Null, |(pid, since)| {
            let mut row = Object::new();
            row.insert("pid", u64::from(pid));
            row.insert("startedAt", since.to_string());
            Json::Object(row)
        });
        let mut status = Object::new();
        status.insert("approverConnected", self.is_attended);
        status.insert("listener", listener);
        status.insert("sessions", sessions.collect::<Vec<_>>());
        status.insert("requests", self.pending.iter().map(Pending::to_json).collect::<Vec<_>>());
        status.insert("refused", refused.collect::<Vec<_>>());
        status.insert("economy", self.economy.as_str());
        Json::Object(status)
    }
}

/// Makes a heading with a count, and the first rows below it.
fn section(
    (one, many): (&str, &str),
    none: &str,
    rows: impl ExactSizeIterator<Item = String>,
) -> Vec<String> {
    let n_rows = rows.len();
    let mut lines = vec![match n_rows {
        0 => none.to_owned(),
        1 => format!("1 {one}:"),
        n => format!("{n} {many}:"),
    }];
    lines.extend(rows.take(ROWS_MAX).map(|row| format!("  {}", visible(&row))));
    if ROWS_MAX < n_rows {
        lines.push(format!("  and {} more", n_rows - ROWS_MAX));
    }
    lines
}

/// Finds the calls that were refused in the last hour, of sessions that run or have ended, oldest first.
fn refused(home: &Home, now: Timestamp) -> Result<Vec<Refused>, Failure> {
    let since_ms = now.unix_ms().saturating_sub(HOUR_MS);
    let since = Timestamp::from_unix_ms(since_ms).to_string();
    let mut refused = Vec::new();
    for (name, stamp) in file::stamps(home.sessions(), LOG)? {
        // A log that was not written to since then says nothing about that time.
        if stamp.is_none_or(|it| it.changed_ns / 1_000_000 < since_ms) {
            continue;
        }
        let Ok(records) = Records::open(&home.sessions().join(&name).join(LOG)) else { continue };
        let (mut called, mut found) = (name.to_string_lossy().into_owned(), Vec::new());
        for record in records.filter_map(Result::ok) {
            if let Some(name) = opened(&record) {
                called = name;
            }
            let is_late = since.as_str() <= record.text("timestamp").unwrap_or_default();
            if is_late && record.text("verdict") == Some("deny") {
                found.extend(Refused::of(&record, &called));
            }
        }
        refused.append(&mut found);
    }
    refused.sort_by_key(|it| it.at);
    Ok(refused)
}

impl Refused {
    fn of(record: &Record, session: &str) -> Option<Self> {
        let text = |key: &str| record.text(key).unwrap_or_default().to_owned();
        Some(Self {
            at: record.text("timestamp")?.parse().ok()?,
            session: session.to_owned(),
            server: text("server"),
            tool: text("tool"),
            reason: match (text("reason"), text("decidedBy")) {
                (reason, by) if reason.is_empty() && PEOPLE.contains(&by.as_str()) => {
                    "you denied it".to_owned()
                }
                (reason, _) => reason,
            },
        })
    }
}

/// Returns what a session is called, if the record says that it was opened.
fn opened(record: &Record) -> Option<String> {
    if record.text("kind") != Some("session") {
        return None;
    }
    let Some(Json::Object(event)) = record.fields.get("arguments") else { return None };
    let is_opening = event.get("event").and_then(Json::as_str) == Some("opened");
    event.get("name").and_then(Json::as_str).filter(|_| is_opening).map(str::to_owned)
}
