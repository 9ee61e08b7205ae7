//! What the log of each running session says about it: its policy, and the tokens and cost so far.
//!
//! A log is read on from where it was left, a part at a time. Checks nothing; `audit verify` does.

use std::collections::HashMap;
use std::path::PathBuf;

use ic_audit::read::{Record, Records};
use ic_escalation::SessionEntry;
use ic_home::Home;
use ic_types::{Json, SessionId};

use crate::spent::Spent;

const LOG: &str = "audit.jsonl";

/// The books of all sessions.
#[derive(Debug)]
pub(crate) struct Books {
    sessions: PathBuf,
    books: HashMap<SessionId, Book>,
}

/// What is known of one session.
#[derive(Debug, Default)]
pub(crate) struct Book {
    records: Option<Records>,
    spent: Spent,
    policy: Option<String>,
}

impl Books {
    /// Begins with nothing read.
    pub(crate) fn of(home: &Home) -> Self {
        Self { sessions: home.sessions(), books: HashMap::new() }
    }

    /// Reads on, at most so many records of each log, and forgets sessions that run no more.
    pub(crate) fn read(&mut self, sessions: &[SessionEntry], records_max: usize) {
        self.books.retain(|id, _| sessions.iter().any(|it| it.session == *id));
        for SessionEntry { session, .. } in sessions {
            let log = self.sessions.join(session.as_str()).join(LOG);
            let book = self.books.entry(session.clone()).or_default();
            if book.records.is_none() {
                book.records = Records::open(&log).ok();
            }
            book.read_on(records_max);
        }
    }

    /// Returns the book of a session.
    pub(crate) fn get(&self, session: &SessionId) -> Option<&Book> {
        self.books.get(session)
    }
}

impl Book {
    /// Returns which policy judges the calls of the session.
    pub(crate) fn policy(&self) -> Option<&str> {
        self.policy.as_deref()
    }

    /// Returns what models took so far.
    pub(crate) fn total(&self) -> &Spent {
        &self.spent
    }

    /// Says what models took so far; `None` if none was asked.
    pub(crate) fn spent(&self) -> Option<String> {
        let Spent { n_requests, usage, .. } = &self.spent;
        let tokens = usage.prompt.saturating_add(usage.completion);
        (0 < *n_requests).then(|| format!("{tokens} tokens, {}", self.spent.cost()))
    }

    fn read_on(&mut self, records_max: usize) {
        let Some(records) = &mut self.records else { return };
        // A line that is no record is somebody else's to complain about.
        for record in records.take(records_max).filter_map(Result::ok) {
            if let Some((_, spent)) = Spent::of(&record) {
                self.spent.add(spent);
            }
            if let Some(policy) = policy(&record) {
                self.policy = Some(policy);
            }
        }
    }
}

/// Returns the policy that a session was opened with, if the record says that it was.
fn policy(record: &Record) -> Option<String> {
    if record.text("kind") != Some("session") {
        return None;
    }
    let Some(Json::Object(event)) = record.fields.get("arguments") else { return None };
    let is_opening = event.get("event").and_then(Json::as_str) == Some("opened");
    event.get("policy").and_then(Json::as_str).filter(|_| is_opening).map(str::to_owned)
}
