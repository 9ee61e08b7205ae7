//! Records as lines for a person: one for each call, with what came of it.
//!
//! The records of a call are joined as they come. Only so many calls are held at once; of one that takes
//! longer than that many others, what is known by then is shown.

use std::collections::VecDeque;

use ic_audit::read::{Filter, Record};
use ic_types::{Json, Object};

use super::shortened;
use crate::screen::visible;
use crate::spent::Spent;
use crate::terminal::{Paint, Tone};

/// The most calls that are held until their outcome comes.
const OPEN_MAX: usize = 1024;
/// How wide the name of what was called is at the least.
const WHAT_WIDTH: usize = 28;
/// How wide a verdict or a kind is at the least.
const VERDICT_WIDTH: usize = 10;

/// Joins the records of calls.
#[derive(Debug, Default)]
pub(super) struct Joiner {
    open: VecDeque<Row>,
}

/// A line.
#[derive(Debug)]
pub(super) struct Row {
    request: Option<String>,
    seq: String,
    time: String,
    verdict: String,
    what: String,
    about: String,
    notes: Vec<String>,
    is_done: bool,
    is_wanted: bool,
}

impl Joiner {
    /// Takes a record in; returns the lines that nothing more comes to.
    pub(super) fn take(&mut self, record: &Record, filter: &Filter) -> Vec<Row> {
        let is_wanted = filter.wants(record);
        let is_call =
            matches!(record.text("kind"), Some("intent" | "outcome" | "escalation" | "grant"));
        let id = record.text("requestId").filter(|_| is_call);
        match self.open.iter_mut().find(|row| id.is_some() && row.request.as_deref() == id) {
            Some(row) => {
                row.add(record);
                row.is_wanted |= is_wanted;
            }
            None => self.open.push_back(Row::of(record, id, is_wanted)),
        }
        let mut done = Vec::new();
        while self.open.front().is_some_and(|row| row.is_done || OPEN_MAX < self.open.len()) {
            done.extend(self.open.pop_front().filter(|row| row.is_wanted));
        }
        done
    }

    /// Returns the lines that are left.
    pub(super) fn finish(self) -> impl Iterator<Item = Row> {
        self.open.into_iter().filter(|row| row.is_wanted)
    }
}

impl Row {
    /// Begins the line of a record.
    pub(super) fn of(record: &Record, request: Option<&str>, is_wanted: bool) -> Self {
        let kind = record.text("kind").unwrap_or_default();
        let mut row = Self {
            request: request.map(str::to_owned),
            seq: visible(&record.cell("seq")),
            time: visible(&record.cell("timestamp")),
            verdict: visible(record.text("verdict").unwrap_or(kind)),
            what: called(record),
            about: about(record),
            notes: Vec::new(),
            is_done: request.is_none(),
            is_wanted,
        };
        row.add(record);
        row
    }

    /// Adds what a record says of the same call.
    fn add(&mut self, record: &Record) {
        let text = |name: &str| record.text(name).map(visible).filter(|it| !it.is_empty());
        let verdict = record.text("verdict");
        let by = text("decidedBy").filter(|it| it != "policy");
        match record.text("kind") {
            Some("intent") => {
                if self.what.is_empty() {
                    self.what = called(record);
                }
                if let Some(verdict) = verdict {
                    self.verdict = visible(verdict);
                }
                match by {
                    Some(by) => self.notes.push(format!("approved by {by}")),
                    None => self.notes.extend(text("rule").or_else(|| text("reason"))),
                }
                self.is_done |= verdict == Some("deny");
            }
            Some("outcome") => {
                self.notes.extend(text("reason"));
                self.notes.push(taken(record));
                self.is_done = true;
            }
            Some("escalation" | "grant") => {
                self.notes.extend(event(record, by));
                let decision = argument(record, "decision");
                if decision.as_deref() == Some("denied") {
                    "denied".clone_into(&mut self.verdict);
                }
            }
            _ => self.notes.extend(text("rule").or_else(|| text("reason"))),
        }
    }

    /// Returns the line; the verdict is painted.
    pub(super) fn line(&self, paint: Paint) -> String {
        let verdict = format!("{:<VERDICT_WIDTH$}", self.verdict);
        let mut notes: Vec<&str> = Vec::new();
        for note in self.notes.iter().map(String::as_str).filter(|it| !it.is_empty()) {
            if notes.last() != Some(&note) {
                notes.push(note);
            }
        }
        let rest = [format!("{:<WHAT_WIDTH$}", self.what), self.about.clone(), notes.join("; ")];
        let rest: Vec<String> = rest.into_iter().filter(|it| !it.trim().is_empty()).collect();
        let verdict = paint.text(self.tone(), &verdict);
        let line = format!("{:>6}  {}  {verdict}  {}", self.seq, self.time, rest.join("  "));
        line.trim_end().to_owned()
    }

    /// Paints the verdict in the beginning of a line that was not painted.
    pub(super) fn painted(&self, plain: &str, paint: Paint) -> String {
        let verdict = format!("{:<VERDICT_WIDTH$}", self.verdict);
        let begin = format!("{:>6}  {}  ", self.seq, self.time);
        match plain.strip_prefix(&begin).and_then(|rest| rest.strip_prefix(&verdict)) {
            Some(rest) => format!("{begin}{}{rest}", paint.text(self.tone(), &verdict)),
            None => plain.to_owned(),
        }
    }

    fn tone(&self) -> Tone {
        match self.verdict.as_str() {
            "allow" => Tone::Good,
            "deny" | "denied" => Tone::Bad,
            "escalate" => Tone::Question,
            _ => Tone::Quiet,
        }
    }
}

fn called(record: &Record) -> String {
    match (record.text("server"), record.text("tool")) {
        (Some(server), Some(tool)) => visible(&format!("{server}.{tool}")),
        (Some(server), None) => visible(server),
        (None, _) => String::new(),
    }
}

/// Says what a record is about: paths, addresses, or else what it holds.
fn about(record: &Record) -> String {
    let resolved = match record.fields.get("resolved") {
        Some(Json::Object(roles)) => resources(roles),
        _ => Vec::new(),
    };
    if let Some((model, spent)) = Spent::of(record) {
        return shortened(&visible(&format!("{model}: {spent}")));
    }
    match resolved.is_empty() {
        false => shortened(&visible(&resolved.join(", "))),
        true => shortened(&visible(&record.cell("arguments"))),
    }
}

/// Returns the values of all roles, each once.
fn resources(roles: &Object) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (_, values) in roles.iter() {
        let Json::Array(values) = values else { continue };
        for value in values {
            let text = match value {
                Json::Object(value) => ["url", "path", "destination"]
                    .iter()
                    .find_map(|key| value.get(key).and_then(Json::as_str)),
                other => other.as_str(),
            };
            if let Some(text) = text
                && !found.iter().any(|it| it == text)
            {
                found.push(text.to_owned());
            }
        }
    }
    found
}

/// Says what an answer to an approval request was, or what else became of it.
fn event(record: &Record, by: Option<String>) -> Option<String> {
    let said = argument(record, "decision").or_else(|| argument(record, "event"))?;
    let reason = record.text("reason").map(visible).filter(|it| !it.is_empty());
    Some(match (by, reason) {
        (Some(by), _) => format!("{said} by {by}"),
        (None, Some(reason)) => format!("{said}: {reason}"),
        (None, None) => said,
    })
}

fn argument(record: &Record, name: &str) -> Option<String> {
    match record.fields.get("arguments") {
        Some(Json::Object(arguments)) => arguments.get(name).and_then(Json::as_str).map(visible),
        _ => None,
    }
}

/// Says how long a call took, and how much came back.
fn taken(record: &Record) -> String {
    let number = |name: &str| Some(record.cell(name)).filter(|it| !it.is_empty());
    match (number("durationMs"), number("resultBytes")) {
        (Some(ms), Some(bytes)) => {
            let noun = if bytes == "1" { "byte" } else { "bytes" };
            format!("{} ms, {} {noun}", visible(&ms), visible(&bytes))
        }
        (Some(ms), None) => format!("{} ms", visible(&ms)),
        (None, _) => String::new(),
    }
}
