//! What the record of a session comes to, for people: calls, denials, approvals, files changed, cost.
//!
//! Checks nothing; `audit verify` does.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::Path;
use std::time::Duration;

use ic_audit::REPORTED_ERROR;
use ic_audit::read::{Record, Records};
use ic_mitm::Earlier;
use ic_model::Cost;
use ic_session::{SessionKind, TERMINAL_EVENT};
use ic_types::{Json, Object, Timestamp};

use crate::spent::{ByModel, Spent};

/// What is changed is named by these roles.
const CHANGING: [&str; 2] = ["write-path", "delete-path"];

/// From when on is counted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Since {
    /// From the first record.
    TheBeginning,
    /// From when the session was opened last.
    TheLastOpening,
}

/// What a record comes to.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    n_calls: u64,
    n_denied: u64,
    n_approved: u64,
    /// The files that calls changed, or may have changed: those of a tool that reported an error are left out.
    files: BTreeSet<String>,
    models: ByModel,
    /// The files of calls that are not over, by request.
    open: HashMap<String, Vec<String>>,
    /// Whether an agent with tools of its own worked there: what these change is in no call.
    has_own_tools: bool,
    /// What agents sent their terminals that was not passed on.
    at_terminals: Vec<String>,
}

impl Ledger {
    /// Reads the record at `path`; `None` if it cannot be read.
    pub(crate) fn read(path: &Path, since: Since) -> Option<Self> {
        let mut ledger = Self::default();
        for record in Records::open(path).ok()? {
            let record = record.ok()?;
            if since == Since::TheLastOpening && is_opening(&record) {
                ledger = Self::default();
            }
            ledger.has_own_tools |= is_of_agent(&record);
            ledger.count(&record);
        }
        Some(ledger)
    }

    fn count(&mut self, record: &Record) {
        let request = || record.text("requestId").unwrap_or_default().to_owned();
        match (record.text("kind"), record.text("verdict")) {
            (Some("intent"), Some("allow")) => {
                self.open.insert(request(), changed(record));
            }
            (Some("intent"), Some("deny")) => self.n_denied += 1,
            (Some("outcome"), _) => {
                self.n_calls += 1;
                let files = self.open.remove(&request()).into_iter().flatten();
                if record.text("reason") != Some(REPORTED_ERROR) {
                    self.files.extend(files);
                }
            }
            (Some("escalation"), Some("allow")) => self.n_approved += 1,
            (Some("llm"), _) => self.models.take(record),
            (Some("session"), _) => self.at_terminals.extend(dropped_at_terminal(record)),
            _ => {}
        }
    }

    /// Says how many files were changed: `2 files changed`.
    pub(crate) fn files(&self) -> String {
        let files = match self.files.len() {
            1 => "1 file changed".to_owned(),
            n_files => format!("{n_files} files changed"),
        };
        match self.has_own_tools {
            true => {
                format!("{files} by these calls (what the agent's own tools did is not counted)")
            }
            false => files,
        }
    }

    /// Returns a line for each model: requests, tokens and cost.
    pub(crate) fn models(&self) -> impl Iterator<Item = String> {
        self.models.lines()
    }

    /// Returns what agents sent their terminals that was not passed on.
    pub(crate) fn at_terminals(&self) -> impl Iterator<Item = &str> {
        self.at_terminals.iter().map(String::as_str)
    }

    /// Returns what the models cost.
    pub(crate) fn cost(&self) -> Cost {
        self.models.cost()
    }
}

/// Reads from the record at `path` what a session used before it was opened last; `None` if that cannot be read.
///
/// A process that was killed counts until its last record.
pub(crate) fn earlier(path: &Path) -> Option<Earlier> {
    let (mut earlier, mut since_opening) = (Earlier::nothing(), Earlier::nothing());
    let mut opened: Option<u64> = None;
    for record in Records::open(path).ok()? {
        let record = record.ok()?;
        let at = record.text("timestamp")?.parse::<Timestamp>().ok()?.unix_ms();
        if is_opening(&record) {
            add(&mut earlier, &since_opening);
            (since_opening, opened) = (Earlier::nothing(), Some(at));
        }
        let opened = *opened.get_or_insert(at);
        since_opening.open = Duration::from_millis(at.saturating_sub(opened));
        if let Some((_, spent)) = Spent::of(&record) {
            let sum = &mut since_opening.spent;
            sum.n_requests += spent.n_requests;
            sum.usage += spent.usage;
            sum.cost = sum.cost.plus(spent.cost());
        }
    }
    Some(earlier)
}

fn add(sum: &mut Earlier, more: &Earlier) {
    sum.spent.n_requests += more.spent.n_requests;
    sum.spent.usage += more.spent.usage;
    sum.spent.cost = sum.spent.cost.plus(more.spent.cost);
    sum.open += more.open;
}

/// Says it for people: `3 calls made, 1 denied, 1 approved by a person, 2 files changed, $0.0000`.
impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { n_calls, n_denied, n_approved, .. } = self;
        let plural = if *n_calls == 1 { "call" } else { "calls" };
        write!(f, "{n_calls} {plural} made, {n_denied} denied, {n_approved} approved by you, ")?;
        write!(f, "{}, {}", self.files(), self.cost())
    }
}

fn is_opening(record: &Record) -> bool {
    let arguments = object(record.fields.get("arguments"));
    let event = arguments.and_then(|it| it.get("event")).and_then(Json::as_str);
    record.text("kind") == Some("session") && event == Some("opened")
}

/// Returns what an agent sent its terminal that was not passed on, if a record says so.
fn dropped_at_terminal(record: &Record) -> Option<String> {
    let arguments = object(record.fields.get("arguments"))?;
    let is_terminal = arguments.get("event").and_then(Json::as_str) == Some(TERMINAL_EVENT);
    let dropped = arguments.get("dropped").and_then(Json::as_str).filter(|_| is_terminal)?;
    Some(dropped.to_owned())
}

/// Returns whether a record opens a session of an agent that has tools of its own.
fn is_of_agent(record: &Record) -> bool {
    let arguments = object(record.fields.get("arguments"));
    let kind = arguments.and_then(|it| it.get("kind")).and_then(Json::as_str);
    is_opening(record) && kind == Some(SessionKind::Agent.as_str())
}

/// Returns the paths that a call is about to change.
fn changed(record: &Record) -> Vec<String> {
    let Some(resolved) = object(record.fields.get("resolved")) else { return Vec::new() };
    let values = CHANGING.iter().filter_map(|role| match resolved.get(role) {
        Some(Json::Array(values)) => Some(values),
        _ => None,
    });
    let path = |value: &Json| Some(object(Some(value))?.get("path")?.as_str()?.to_owned());
    values.flatten().filter_map(path).collect()
}

fn object(json: Option<&Json>) -> Option<&Object> {
    match json {
        Some(Json::Object(object)) => Some(object),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use ic_home::file;

    use super::*;

    #[test]
    fn a_record_is_counted() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.jsonl");
        let allowed = |id: u32, role: &str, paths: &[&str]| {
            let paths: Vec<String> =
                paths.iter().map(|it| format!(r#"{{"path":"{it}"}}"#)).collect();
            let paths = paths.join(",");
            format!(
                r#"{{"kind":"intent","verdict":"allow","requestId":"{id}","resolved":{{"{role}":[{paths}]}}}}"#
            )
        };
        let outcome = |id: u32| format!(r#"{{"kind":"outcome","requestId":"{id}"}}"#);
        let opened = r#"{"kind":"session","arguments":{"event":"opened"}}"#.to_owned();
        let llm = r#"{"kind":"llm","arguments":{"model":"m","costBillionths":1500000}}"#.to_owned();
        let lines = [
            opened.clone(),
            allowed(1, "write-path", &["/a", "/b"]),
            outcome(1),
            llm.clone(),
            opened,
            // The same file again, one that is deleted, one that is read, and one that was never tried.
            allowed(2, "write-path", &["/a"]),
            allowed(3, "delete-path", &["/c"]),
            outcome(3),
            outcome(2),
            allowed(4, "read-path", &["/d"]),
            outcome(4),
            allowed(5, "write-path", &["/e"]),
            // The disk was full.
            allowed(7, "write-path", &["/f"]),
            r#"{"kind":"outcome","requestId":"7","reason":"the tool reported an error"}"#
                .to_owned(),
            r#"{"kind":"intent","verdict":"deny","requestId":"6"}"#.to_owned(),
            r#"{"kind":"escalation","verdict":"allow"}"#.to_owned(),
            llm,
        ];
        let text = lines.map(|it| format!("{it}\n")).concat();
        file::replace_unsynced(&path, text.as_bytes()).unwrap();
        for (since, expected) in [
            (
                Since::TheBeginning,
                "5 calls made, 1 denied, 1 approved by you, 3 files changed, $0.0030",
            ),
            (
                Since::TheLastOpening,
                "4 calls made, 1 denied, 1 approved by you, 2 files changed, $0.0015",
            ),
        ] {
            assert_eq!(Ledger::read(&path, since).unwrap().to_string(), expected);
        }
        let agents = r#"{"kind":"session","arguments":{"event":"opened","kind":"KIND"}}"#;
        let text = agents.replace("KIND", SessionKind::Agent.as_str());
        file::replace_unsynced(&path, format!("{text}\n").as_bytes()).unwrap();
        assert_eq!(
            Ledger::read(&path, Since::TheLastOpening).unwrap().files(),
            "0 files changed by these calls (what the agent's own tools did is not counted)"
        );
        file::replace_unsynced(&path, b"no record\n").unwrap();
        assert!(Ledger::read(&path, Since::TheBeginning).is_none());
    }

    #[test]
    fn what_was_used_before_the_last_opening_is_summed_up() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.jsonl");
        let at = |seconds: u64| Timestamp::from_unix_ms(1_700_000_000_000 + seconds * 1000);
        let opened = |seconds: u64| {
            let at = at(seconds);
            format!(r#"{{"timestamp":"{at}","kind":"session","arguments":{{"event":"opened"}}}}"#)
        };
        let llm = |seconds: u64, event: &str| {
            let at = at(seconds);
            format!(
                r#"{{"timestamp":"{at}","kind":"llm","arguments":{{"event":"{event}","model":"m","promptTokens":100,"completionTokens":10,"costBillionths":500}}}}"#
            )
        };
        let lines = [
            opened(0),
            llm(5, "asked"),
            llm(7, "ended"),
            // Killed; the time until the next opening is not the session's.
            opened(1000),
            llm(1020, "ended"),
            opened(5000),
            llm(5001, "ended"),
        ];
        let text = lines.map(|it| format!("{it}\n")).concat();
        file::replace_unsynced(&path, text.as_bytes()).unwrap();
        let Earlier { spent, open } = earlier(&path).unwrap();
        assert_eq!((spent.n_requests, spent.usage.total()), (2, 220));
        assert_eq!((spent.cost.billionths(), open), (1000, Duration::from_secs(27)));
        file::replace_unsynced(&path, b"no record\n").unwrap();
        assert_eq!(earlier(&path), None);
    }
}
