//! The answering side: which questions wait, and how one of them is answered.
//!
//! What is answered is what was shown: an approval carries the digest that was read together with
//! what was displayed, and is not written if the question has changed since. How questions are shown
//! and who may answer is not known here.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ic_home::file::{self, Stamp};
use ic_home::watch::DirectoryWatch;
use ic_home::{FileError, Process};
use ic_policy::{DecidedBy, Decision};
use ic_types::{Digest, EscalationId, Json, Object, SessionName, Timestamp};

use crate::ending::Ending;
use crate::offer::Wish;
use crate::registry::SessionEntry;
use crate::request::{self, Request, RequestError};
use crate::response::{self, RESPONSE_BYTES_MAX, Response, Written};

/// Knows the numbers of questions: those that they have, and for those that have none the next one; a
/// number is never given twice.
#[derive(Debug, Default)]
pub struct Board {
    numbers: HashMap<EscalationId, u64>,
    n_given: u64,
    /// What was read before, so that a thousand questions are not read anew because one is answered.
    ///
    /// SECURITY: only for showing. Whether a file is still what was read is looked at when it is answered.
    read: HashMap<PathBuf, (Stamp, Pending)>,
}

/// What waits.
#[derive(Debug, Default)]
pub struct Waiters {
    /// The questions, in the order in which they were asked.
    pub pending: Vec<Pending>,
    /// Questions that cannot be read.
    pub unreadable: Vec<RequestError>,
}

/// A question that waits, as it was read.
#[derive(Clone, Debug)]
pub struct Pending {
    number: u64,
    session: SessionName,
    directory: PathBuf,
    request: Arc<Request>,
    /// Of the very bytes that were read.
    bytes_digest: Digest,
    /// The process that asks.
    process: Process,
}

/// What is answered.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Forward this one call, and grant what was confirmed.
    Approve(Option<Wish>),
    /// Do not.
    Deny,
}

/// What became of an answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Receipt {
    /// The session has it.
    Accepted(Decision),
    /// It came too late.
    Expired,
    /// Somebody else was quicker.
    AnsweredAlready,
    /// The question is not the one that was shown; nothing was answered.
    Changed,
    /// To the session it was no answer to what it had asked: the call is denied.
    Refused,
    /// The session runs no more; nothing was answered.
    Ended,
}

/// What became of an answer, and which question it was to; printed as people are told.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Told {
    /// The number of the question.
    pub number: u64,
    /// What became of the answer.
    pub receipt: Receipt,
}

/// An answer that could not be written.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// The file cannot be used.
    #[error("cannot write the answer")]
    File(#[from] FileError),
    /// The grant is longer than anybody reads.
    #[error("the answer is larger than {RESPONSE_BYTES_MAX} bytes")]
    TooLarge,
    /// Nobody of that kind answers.
    #[error("an answer is not `{0}`")]
    NotAPerson(DecidedBy),
}

impl Board {
    /// Returns the questions of `sessions` that wait at `now`.
    pub fn look(&mut self, sessions: &[SessionEntry], now: Timestamp) -> Waiters {
        let mut found = Waiters::default();
        for session in sessions {
            if let Err(error) = self.look_at(session, now, &mut found) {
                found.unreadable.push(error.into());
            }
        }
        let paths: HashSet<PathBuf> = found.pending.iter().map(Pending::path).collect();
        self.read.retain(|path, _| paths.contains(path));
        found.pending.sort_by(|a, b| a.order().cmp(&b.order()));
        let waiting: HashSet<_> = found.pending.iter().map(|it| &it.request.escalation).collect();
        self.numbers.retain(|id, _| waiting.contains(id));
        let mut taken: HashSet<u64> = self.numbers.values().copied().collect();
        for pending in &mut found.pending {
            let known = self.numbers.get(&pending.request.escalation).copied();
            let number = known.unwrap_or_else(|| {
                // One that two questions claim is that of the first.
                let own = pending.request.number.filter(|it| !taken.contains(it));
                own.unwrap_or_else(|| self.n_given.saturating_add(1))
            });
            self.n_given = self.n_given.max(number);
            taken.insert(number);
            self.numbers.insert(pending.request.escalation.clone(), number);
            pending.number = number;
        }
        found
    }

    fn look_at(
        &mut self,
        session: &SessionEntry,
        now: Timestamp,
        found: &mut Waiters,
    ) -> Result<(), FileError> {
        let names = file::names(&session.escalation_dir)?.unwrap_or_default();
        let answered: HashSet<EscalationId> =
            names.iter().filter_map(|it| response::id(it)).collect();
        for id in names.iter().filter_map(|it| request::id(it)) {
            if answered.contains(&id) {
                continue;
            }
            match self.read(session, &id) {
                Ok(Some(it)) if now <= it.request.expires_at => found.pending.push(it),
                Ok(_) => {}
                Err(error) => found.unreadable.push(error),
            }
        }
        Ok(())
    }

    /// Reads a question, unless it is the file that was read before; `None` if it is not there.
    fn read(
        &mut self,
        session: &SessionEntry,
        id: &EscalationId,
    ) -> Result<Option<Pending>, RequestError> {
        let directory = &session.escalation_dir;
        // Before it is read: what is written in between is another file the next time.
        let Some(stamp) = request::stamp(directory, id)? else { return Ok(None) };
        let path = request::path(directory, id);
        if let Some((of, pending)) = self.read.get(&path)
            && *of == stamp
            && pending.request.session == session.session
            && pending.process == session.process
        {
            return Ok(Some(pending.clone()));
        }
        let Some(it) = request::find(directory, id, &session.session)? else { return Ok(None) };
        let pending = Pending {
            number: 0,
            session: session.name.clone(),
            directory: directory.clone(),
            request: Arc::new(it.request),
            bytes_digest: it.bytes_digest,
            process: session.process,
        };
        self.read.insert(path, (stamp, pending.clone()));
        Ok(Some(pending))
    }

    /// Finds how the question `id` of one of `sessions` ended, as long as something is left of it.
    pub fn ending(sessions: &[SessionEntry], id: &EscalationId) -> Option<Ending> {
        let endings = sessions.iter().map(|session| Ending::of(&session.escalation_dir, id));
        endings.into_iter().find(|ending| *ending != Ending::Gone)
    }
}

// === impl Pending ===

impl Pending {
    /// Returns the number by which people name the question.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the question.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// Returns whether both are the same question, word by word.
    pub fn asks_the_same_as(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.request, &other.request) || self.request == other.request
    }

    fn path(&self) -> PathBuf {
        request::path(&self.directory, &self.request.escalation)
    }

    /// Returns what people call the session that asks.
    pub fn session(&self) -> &SessionName {
        &self.session
    }

    /// Returns how the question ended, once it waits no more at `now`.
    pub fn ending(&self, now: Timestamp) -> Ending {
        let times = (self.request.expires_at, now);
        Ending::of_shown(&self.directory, &self.request.escalation, times)
    }

    fn order(&self) -> (Timestamp, &EscalationId) {
        (self.request.created_at, &self.request.escalation)
    }

    /// Returns the question as scripts see it.
    pub fn to_json(&self) -> Json {
        let request = &self.request;
        let mut object = Object::new();
        object.insert("escalationId", request.escalation.as_str());
        object.insert("number", self.number);
        object.insert("session", self.session.as_str());
        object.insert("server", request.server.as_str());
        object.insert("tool", request.tool.as_str());
        object.insert("arguments", request.arguments.clone());
        object.insert("resolved", request.resolved.clone());
        object.insert("reason", request.reason.as_str());
        object.insert("rule", request.rule.as_str());
        object.insert("causes", request.causes_json());
        object.insert("createdAt", request.created_at.to_string());
        object.insert("expiresAt", request.expires_at.to_string());
        Json::Object(object)
    }

    /// Answers the question that was shown, at `now`.
    pub fn answer(
        &self,
        reply: &Reply,
        decided_by: DecidedBy,
        now: Timestamp,
    ) -> Result<Told, AnswerError> {
        let receipt = self.write(reply, decided_by, now)?;
        Ok(Told { number: self.number, receipt })
    }

    fn write(
        &self,
        reply: &Reply,
        decided_by: DecidedBy,
        now: Timestamp,
    ) -> Result<Receipt, AnswerError> {
        if decided_by == DecidedBy::Policy {
            return Err(AnswerError::NotAPerson(decided_by));
        }
        let (decision, grant) = match reply {
            Reply::Approve(wish) => (Decision::Approved, wish.as_ref().map(Wish::to_written)),
            Reply::Deny => (Decision::Denied, None),
        };
        // SECURITY: the digest is that of what was shown, never that of what stands there now.
        let digest = self.request.digest;
        let response = Response { decision, digest, decided_by, decided_at: now, grant };
        let bytes = response.to_json().to_string().into_bytes();
        if RESPONSE_BYTES_MAX < bytes.len() {
            return Err(AnswerError::TooLarge);
        }
        if self.request.expires_at < now {
            return Ok(Receipt::Expired);
        }
        // Whoever was killed left its question behind.
        if !self.process.is_running()? {
            return Ok(Receipt::Ended);
        }
        match (self.found()?, decision) {
            (None, _) => return Ok(Receipt::Expired),
            (Some(found), Decision::Approved) if found != self.bytes_digest => {
                return Ok(Receipt::Changed);
            }
            // A question that has changed may be denied all the same.
            (Some(_), Decision::Approved | Decision::Denied) => {}
        }
        self.put(&bytes, decision)
    }

    /// Puts an answer in its place, if it is the first, and looks whether anybody wants it.
    fn put(&self, bytes: &[u8], decision: Decision) -> Result<Receipt, AnswerError> {
        let path = self.directory.join(response::name(&self.request.escalation));
        match file::create_new_unsynced(&path, bytes) {
            Ok(()) => {}
            Err(FileError::Exists { .. }) => return Ok(first_there(&path)),
            // The session has gone with all it had.
            Err(_) if self.found()?.is_none() => return Ok(Receipt::Expired),
            Err(error) => return Err(error.into()),
        }
        if self.found()?.is_none() {
            let found = file::read_own(&path, RESPONSE_BYTES_MAX as u64);
            let is_ours = found.is_ok_and(|it| it.is_some_and(|it| it == bytes));
            if !is_ours && self.is_refused() {
                return Ok(Receipt::Refused);
            }
            // Nobody waits for it, and nobody should find it.
            file::remove(&path).ok();
            return Ok(Receipt::Expired);
        }
        Ok(Receipt::Accepted(decision))
    }

    /// Returns whether the session has refused what was answered; it does so at once, if it does.
    pub fn is_refused(&self) -> bool {
        Ending::of(&self.directory, &self.request.escalation) == Ending::Malformed
    }

    /// Watches what becomes of the question.
    pub fn watch(&self) -> Result<DirectoryWatch, FileError> {
        DirectoryWatch::on(&self.directory)
    }

    /// Returns the digest of the question that stands there now.
    fn found(&self) -> Result<Option<Digest>, FileError> {
        match request::bytes_digest(&self.directory, &self.request.escalation) {
            Err(FileError::System { source, .. })
                if source.kind() == std::io::ErrorKind::NotADirectory =>
            {
                Ok(None)
            }
            found => found,
        }
    }
}

/// Says what it means that something stands in the place of our answer.
fn first_there(path: &Path) -> Receipt {
    match file::read_own(path, RESPONSE_BYTES_MAX as u64) {
        Ok(None) => Receipt::Expired,
        Ok(Some(bytes)) => match Written::parse(&bytes) {
            Ok(Written::Seal(_)) => Receipt::Expired,
            Ok(Written::Response(_)) | Err(_) => Receipt::AnsweredAlready,
        },
        Err(_) => Receipt::AnsweredAlready,
    }
}

// === impl Told ===

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.number;
        match self.receipt {
            Receipt::Accepted(Decision::Approved) => f.write_str("Escalation approved."),
            Receipt::Accepted(Decision::Denied) => f.write_str("Escalation denied."),
            Receipt::Expired => {
                write!(f, "Escalation #{number} expired (response was too late)")
            }
            Receipt::AnsweredAlready => {
                write!(f, "Escalation #{number} was answered already")
            }
            Receipt::Refused => write!(
                f,
                "Escalation #{number}: the session did not accept the response, so the call is denied"
            ),
            Receipt::Ended => {
                write!(f, "Escalation #{number}: its session has ended; nothing was answered")
            }
            Receipt::Changed => write!(
                f,
                "Escalation #{number} is not what was shown any more; nothing was answered"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a question whose files are in `directory`, and its text.
    fn pending(directory: &Path) -> (Pending, String) {
        let digest = Digest::of(b"question");
        let text = format!(
            r#"{{"escalationId":"e","sessionId":"s","serverName":"x","toolName":"t","arguments":{{}},
                "reason":"","rule":"ask","causes":[],"escalatedRoles":[],"resolved":{{}},"digest":"{digest}",
                "createdAt":"2026-11-15T00:00:00Z","expiresAt":"2026-11-15T00:05:00Z"}}"#
        );
        let (id, session) = ("e".parse().unwrap(), "s".parse().unwrap());
        let pending = Pending {
            number: 1,
            session: "work".parse().unwrap(),
            directory: directory.to_owned(),
            request: Arc::new(Request::parse(text.as_bytes(), &id, &session).unwrap()),
            bytes_digest: Digest::of(text.as_bytes()),
            process: Process::this().unwrap(),
        };
        (pending, text)
    }

    /// Returns a session whose questions are in `directory`.
    fn session(directory: &Path) -> SessionEntry {
        SessionEntry {
            session: "s".parse().unwrap(),
            name: "work".parse().unwrap(),
            kind: "proxy".to_owned(),
            label: "x".to_owned(),
            escalation_dir: directory.to_owned(),
            started_at: Timestamp::from_unix_ms(0),
            process: Process::this().unwrap(),
        }
    }

    #[test]
    fn an_answer_to_a_session_that_runs_no_more_is_none() {
        let root = tempfile::tempdir().unwrap();
        let (mut pending, text) = pending(root.path());
        file::create_new_unsynced(root.path().join("request-e.json"), text.as_bytes()).unwrap();
        // Another one has its number by now.
        let this = Process::this().unwrap();
        pending.process = Process { start_time: this.start_time - 1, ..this };
        for reply in [Reply::Approve(None), Reply::Deny] {
            let told = pending.answer(&reply, DecidedBy::Cli, Timestamp::from_unix_ms(0)).unwrap();
            assert_eq!(told.receipt, Receipt::Ended);
            let said = "Escalation #1: its session has ended; nothing was answered";
            assert_eq!(told.to_string(), said);
        }
        assert_eq!(file::names(root.path()).unwrap().unwrap(), ["request-e.json"]);
    }

    /// The question is withdrawn after we looked whether it is still there, and before we wrote.
    #[test]
    fn an_answer_that_nobody_waits_for_is_too_late_and_taken_back() {
        let root = tempfile::tempdir().unwrap();
        let (pending, text) = pending(root.path());
        let names = || file::names(root.path()).unwrap().unwrap();
        assert_eq!(pending.put(b"{}", Decision::Approved).unwrap(), Receipt::Expired);
        assert_eq!(names(), [""; 0], "the answer is taken back");
        file::create_new_unsynced(root.path().join("request-e.json"), text.as_bytes()).unwrap();
        let accepted = Receipt::Accepted(Decision::Approved);
        assert_eq!(pending.put(b"{}", Decision::Approved).unwrap(), accepted);
        assert_eq!(names(), ["request-e.json", "response-e.json"]);
    }

    /// A watcher may notice that the time is over before the session does.
    #[test]
    fn a_question_whose_time_is_over_has_expired_before_its_session_notices() {
        let root = tempfile::tempdir().unwrap();
        let (pending, text) = pending(root.path());
        let in_time: Timestamp = "2026-11-15T00:04:00Z".parse().unwrap();
        let late: Timestamp = "2026-11-15T00:05:01Z".parse().unwrap();
        let (asked, answered) = (root.path().join("request-e.json"), "response-e.json");
        file::create_new_unsynced(&asked, text.as_bytes()).unwrap();
        assert_eq!(pending.ending(in_time), Ending::Gone);
        assert_eq!(pending.ending(late), Ending::Expired);
        file::create_new_unsynced(root.path().join(answered), response::Seal::Withdrawn.to_bytes())
            .unwrap();
        assert_eq!(pending.ending(late), Ending::Withdrawn, "what is said counts");
        file::remove(root.path().join(answered)).unwrap();
        file::remove(&asked).unwrap();
        assert_eq!(pending.ending(late), Ending::Gone, "nobody can tell any more");
    }

    /// The number that a question has is its number on every board; one that is claimed twice, or is not
    /// there, is given by the board, and to nobody else.
    #[test]
    fn questions_keep_the_numbers_they_have() {
        let root = tempfile::tempdir().unwrap();
        let digest = Digest::of(b"question");
        for (at, (id, number)) in
            [("a", r#","number":7"#), ("b", r#","number":7"#), ("c", ""), ("d", r#","number":3"#)]
                .into_iter()
                .enumerate()
        {
            let text = format!(
                r#"{{"escalationId":"{id}","sessionId":"s","serverName":"x","toolName":"t",
                    "arguments":{{}},"reason":"","rule":"ask","causes":[],"escalatedRoles":[],
                    "resolved":{{}},"digest":"{digest}","createdAt":"2026-11-15T00:00:0{at}Z",
                    "expiresAt":"2999-11-15T00:00:00Z"{number}}}"#
            );
            file::create_new_unsynced(
                root.path().join(format!("request-{id}.json")),
                text.as_bytes(),
            )
            .unwrap();
        }
        let sessions = [session(root.path())];
        let now = Timestamp::from_unix_ms(1_800_000_000_000);
        let numbers = |board: &mut Board| {
            let found = board.look(&sessions, now);
            assert!(found.unreadable.is_empty(), "{:?}", found.unreadable);
            found.pending.iter().map(Pending::number).collect::<Vec<_>>()
        };
        let mut board = Board::default();
        assert_eq!(numbers(&mut board), [7, 8, 9, 3]);
        assert_eq!(numbers(&mut board), [7, 8, 9, 3]);
        assert_eq!(numbers(&mut Board::default()), [7, 8, 9, 3]);
    }

    /// What is as it was is not read again; what was written anew is, even where it is as long as before.
    #[test]
    fn a_question_that_is_written_anew_is_read_anew() {
        let root = tempfile::tempdir().unwrap();
        let (_, text) = pending(root.path());
        let file = root.path().join("request-e.json");
        let put = |text: &str| file::replace_unsynced(&file, text.as_bytes()).unwrap();
        put(&text);
        let sessions = [session(root.path())];
        let now: Timestamp = "2026-11-15T00:04:00Z".parse().unwrap();
        let mut board = Board::default();
        let mut look = || board.look(&sessions, now).pending;
        let first = look();
        assert!(Arc::ptr_eq(&first[0].request, &look()[0].request), "read once");
        put(&text.replace(r#""toolName":"t""#, r#""toolName":"u""#));
        let second = look();
        assert_eq!(second[0].request.tool.as_str(), "u");
        assert_ne!(second[0].bytes_digest, first[0].bytes_digest);
        assert!(!second[0].asks_the_same_as(&first[0]));
        let approved = first[0].answer(&Reply::Approve(None), DecidedBy::Cli, now).unwrap();
        assert_eq!(approved.receipt, Receipt::Changed);
        file::remove(&file).unwrap();
        assert!(look().is_empty());
        put(&text);
        assert_eq!(look()[0].request.tool.as_str(), "t");
    }
}
