//! The writer: one per log, appending under a lock, committing in a thread of its own.
//!
//! `record` returns after `write(2)`, so what it returned for survives `kill -9`; the committer makes
//! it survive the machine, within 50 ms, and then replaces the head. Whoever appends writes the line
//! itself, because handing it to a thread and waiting costs more than writing it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use ic_home::clock::Clock;
use ic_home::file::FileError;
use ic_policy::{Denial, Effect, Escalation, Permit, ResolvedCall};
use ic_types::{Json, Object, SessionId};

use crate::chain::Tip;
use crate::entry::{Body, Entry, Kind};
use crate::head::Head;
use crate::key::AuditKey;
use crate::redact::Redactor;
use crate::sink::{Durable, FileSink, Sink};
use crate::verify::{self, COMMIT_RECORDS_MAX, Condition, Report, Tampering, VerifyError};

/// How long the committer gathers records before it makes them durable; half of what is promised.
const GATHER: Duration = Duration::from_millis(25);
/// How long it waits before it tries again after a failure.
const RETRY: Duration = Duration::from_millis(50);

/// The files of one log.
#[derive(Clone, Debug)]
pub struct LogFiles {
    /// `audit.jsonl`.
    pub log: PathBuf,
    /// `audit.head`.
    pub head: PathBuf,
}

/// When a record is made durable.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SyncMode {
    /// Within 50 ms, together with others.
    Group,
    /// Before the call is forwarded.
    Each,
}

/// Whose log it is, and how it is kept.
pub struct LogOptions {
    /// The session.
    pub session: SessionId,
    /// The key that the chain stands on.
    pub key: AuditKey,
    /// What hides secrets.
    pub redactor: Arc<Redactor>,
    /// What tells the time.
    pub clock: Arc<dyn Clock>,
    /// When a record is made durable.
    pub sync: SyncMode,
}

/// An open audit log.
#[derive(Debug)]
pub struct AuditLog {
    shared: Arc<Shared>,
    committer: Option<JoinHandle<()>>,
}

/// The proof that a permitted call was written down before it is forwarded.
///
/// It cannot be made from outside:
///
/// ```compile_fail,E0451
/// fn forge(permit: ic_policy::Permit) -> ic_audit::Recorded {
///     ic_audit::Recorded { permit, request_id: String::new(), seq: 0 }
/// }
/// ```
///
/// nor used twice:
///
/// ```compile_fail,E0599
/// fn twice(recorded: ic_audit::Recorded) -> (ic_audit::Recorded, ic_audit::Recorded) {
///     (recorded.clone(), recorded)
/// }
/// ```
#[derive(Debug)]
#[must_use = "a recorded call is to be forwarded, and its outcome recorded"]
pub struct Recorded {
    permit: Permit,
    request_id: String,
    seq: u64,
}

/// A log that cannot be opened or written.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The log could not be opened.
    #[error("cannot open the audit log")]
    Open(#[source] FileError),
    /// Another process writes the log.
    #[error("another process writes the audit log `{}`", .0.display())]
    InUse(PathBuf),
    /// The log could not be checked.
    #[error("cannot check the audit log before writing to it")]
    Check(#[from] VerifyError),
    /// The log was changed by somebody else.
    #[error("the audit log `{}` was tampered with ({tampering}); move it away to go on", .path.display())]
    Tampered {
        /// The log.
        path: PathBuf,
        /// What was done to it.
        tampering: Tampering,
    },
    /// A record could not be written, so the call must not be forwarded.
    #[error("cannot write the audit log `{}`, so no call is forwarded", .path.display())]
    Write {
        /// The log.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// What was written could not be committed, so no further call is forwarded.
    #[error("cannot commit the audit log `{}`, so no call is forwarded: {reason}", .path.display())]
    Commit {
        /// The log.
        path: PathBuf,
        /// What went wrong.
        reason: String,
    },
    /// An earlier failure left the log in an unknown state.
    #[error("the audit log `{}` is in an unknown state after a failed write, so no call is forwarded", .0.display())]
    Broken(PathBuf),
}

struct Shared {
    files: LogFiles,
    options: LogOptions,
    durable: Arc<dyn Durable>,
    state: Mutex<State>,
    /// Tells the committer that there is something to do.
    work: Condvar,
    /// Tells those who wait that something was committed, or cannot be.
    committed: Condvar,
}

struct State {
    sink: Box<dyn Sink>,
    tip: Tip,
    /// How many bytes the whole records take.
    length: u64,
    /// The number of the first record that is not committed.
    committed: u64,
    /// Why the last commit failed, while it is not mended.
    commit_failure: Option<String>,
    is_broken: bool,
    is_closing: bool,
}

// === impl AuditLog ===

impl AuditLog {
    /// Opens the log, checks all of it, and repairs what a crash left.
    ///
    /// `opening` is recorded as the first thing the session says; a repair is recorded before it.
    pub fn open(files: LogFiles, options: LogOptions, opening: Object) -> Result<Self, AuditError> {
        let mut sink = FileSink::open(&files.log)
            .map_err(AuditError::Open)?
            .ok_or_else(|| AuditError::InUse(files.log.clone()))?;
        let report = verify::verify(&files, Some(&options.session), &options.key)?;
        let repair = repair(&files.log, &mut sink, &report)?;
        Self::start(files, options, Box::new(sink), &report, repair.into_iter().chain([opening]))
    }

    /// Puts a log right that a crash left behind, records that, and closes it again.
    ///
    /// Returns how the log was found; one that needs no repair is left alone.
    pub fn repair(files: LogFiles, options: LogOptions) -> Result<Report, AuditError> {
        let mut sink = FileSink::open(&files.log)
            .map_err(AuditError::Open)?
            .ok_or_else(|| AuditError::InUse(files.log.clone()))?;
        let report = verify::verify(&files, Some(&options.session), &options.key)?;
        if let Condition::Crashed { .. } = report.condition {
            let event = repair(&files.log, &mut sink, &report)?;
            drop(Self::start(files, options, Box::new(sink), &report, event.into_iter())?);
        }
        Ok(report)
    }

    /// Makes a log of a sink of the caller's, to be broken by tests.
    pub fn with_sink(
        files: LogFiles,
        options: LogOptions,
        sink: Box<dyn Sink>,
    ) -> Result<Self, AuditError> {
        let report = Report::of_nothing(&options);
        Self::start(files, options, sink, &report, std::iter::once(Object::new()))
    }

    fn start(
        files: LogFiles,
        options: LogOptions,
        sink: Box<dyn Sink>,
        report: &Report,
        opening: impl Iterator<Item = Object>,
    ) -> Result<Self, AuditError> {
        let state = State {
            tip: report.tip,
            length: report.bytes,
            committed: report.tip.next_seq,
            commit_failure: None,
            is_broken: false,
            is_closing: false,
            sink,
        };
        let durable = state.sink.durable();
        let (work, committed) = (Condvar::new(), Condvar::new());
        let state = Mutex::new(state);
        let shared = Arc::new(Shared { files, options, durable, state, work, committed });
        for event in opening {
            shared.append(session_entry(event))?;
        }
        // The first head is there before the first call, so that a missing one always means something.
        shared.commit_now()?;
        let committer = std::thread::Builder::new()
            .name("audit-commit".to_owned())
            .spawn({
                let shared = Arc::clone(&shared);
                move || shared.commit_until_closed()
            })
            .map_err(|source| AuditError::Write { path: shared.files.log.clone(), source })?;
        Ok(Self { shared, committer: Some(committer) })
    }

    /// Records a permitted call; only then may it be forwarded.
    pub fn record(
        &self,
        permit: Permit,
        request_id: String,
        confined: &str,
    ) -> Result<Recorded, AuditError> {
        let grounds = permit.grounds();
        let entry = Entry {
            verdict: Some(Effect::Allow),
            rule: Some(Arc::clone(&grounds.rule)),
            reason: Some(Arc::clone(&grounds.reason)),
            policy_hash: Some(grounds.policy_hash),
            decided_by: Some(grounds.decided_by),
            confined: Some(confined.to_owned()),
            ..intent(permit.call(), &request_id)
        };
        let seq = self.shared.append(entry)?;
        if self.shared.options.sync == SyncMode::Each {
            self.shared.sync()?;
        }
        Ok(Recorded { permit, request_id, seq })
    }

    /// Records a call that was denied.
    pub fn record_denial(&self, denial: &Denial, request_id: &str) -> Result<u64, AuditError> {
        self.shared.append(Entry {
            verdict: Some(Effect::Deny),
            rule: Some(Arc::from(denial.rule())),
            reason: Some(Arc::from(denial.reason())),
            policy_hash: Some(denial.policy_hash()),
            decided_by: Some(ic_policy::DecidedBy::Policy),
            ..intent(denial.call(), request_id)
        })
    }

    /// Records a call that a person would have to decide about.
    pub fn record_escalation(
        &self,
        escalation: &Escalation,
        request_id: &str,
    ) -> Result<u64, AuditError> {
        self.shared.append(Entry {
            verdict: Some(Effect::Escalate),
            rule: Some(Arc::from(escalation.rule())),
            reason: Some(Arc::from(escalation.reason())),
            policy_hash: Some(escalation.policy_hash()),
            decided_by: Some(ic_policy::DecidedBy::Policy),
            ..intent(escalation.call(), request_id)
        })
    }

    /// Records anything else; returns the record's number.
    pub fn note(&self, entry: Entry) -> Result<u64, AuditError> {
        self.shared.append(entry)
    }

    /// Writes the last record, commits everything, and ends.
    pub fn close(mut self) -> Result<(), AuditError> {
        let n_records = self.shared.lock()?.tip.next_seq;
        let mut closing = Object::new();
        closing.insert("event", "closed");
        closing.insert("records", n_records);
        self.shared.append(session_entry(closing))?;
        self.stop();
        self.shared.commit_now()
    }

    fn stop(&mut self) {
        if let Ok(mut state) = self.shared.lock() {
            state.is_closing = true;
        }
        self.shared.work.notify_all();
        if let Some(committer) = self.committer.take() {
            // A committer that panicked has committed nothing more; `commit_now` finds out.
            committer.join().ok();
        }
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Puts a log right after a crash, and returns what is to be said about it.
fn repair(path: &Path, sink: &mut FileSink, report: &Report) -> Result<Option<Object>, AuditError> {
    let cut = |sink: &mut FileSink| {
        sink.cut(report.bytes).map_err(|source| AuditError::Write { path: path.to_owned(), source })
    };
    let repaired = |uncommitted: u64| {
        let mut event = Object::new();
        event.insert("event", "repaired");
        event.insert("tornBytes", report.torn_bytes);
        event.insert("uncommitted", uncommitted);
        if 0 < uncommitted {
            // Nobody vouches for these records but whoever wrote them; say which they are.
            event.insert("from", report.records - uncommitted);
            event.insert("to", report.records - 1);
        }
        event
    };
    match &report.condition {
        Condition::Intact => Ok(None),
        Condition::NoHead if report.records == 0 && report.torn_bytes == 0 => Ok(None),
        Condition::NoHead => {
            cut(sink)?;
            Ok(Some(repaired(report.records)))
        }
        Condition::Crashed { uncommitted, .. } => {
            cut(sink)?;
            Ok(Some(repaired(*uncommitted)))
        }
        Condition::Tampered(tampering) => {
            Err(AuditError::Tampered { path: path.to_owned(), tampering: tampering.clone() })
        }
    }
}

fn intent(call: &ResolvedCall, request_id: &str) -> Entry {
    Entry {
        request_id: Some(request_id.to_owned()),
        server: Some(call.server().clone()),
        tool: Some(call.tool().clone()),
        arguments: Some(Json::Object(call.asked().arguments.clone())),
        resolved: Some(call.resolved_json()),
        ..Entry::new(Kind::Intent)
    }
}

fn session_entry(event: Object) -> Entry {
    Entry { arguments: Some(Json::Object(event)), ..Entry::new(Kind::Session) }
}

// === impl Shared ===

impl Shared {
    /// Appends one record and returns its number.
    fn append(&self, entry: Entry) -> Result<u64, AuditError> {
        let LogOptions { session, redactor, clock, .. } = &self.options;
        let body = entry.into_body(session, clock.now(), redactor);
        let mut state = self.lock()?;
        while COMMIT_RECORDS_MAX <= state.tip.next_seq - state.committed {
            self.refuse_if_failing(&state)?;
            self.work.notify_all();
            state = self.committed.wait(state).map_err(|_| self.broken())?;
        }
        self.refuse_if_failing(&state)?;
        let was_committed = state.tip.next_seq == state.committed;
        let seq = state.append(&body).map_err(|source| self.write_error(source))?;
        drop(state);
        if was_committed {
            self.work.notify_all();
        }
        Ok(seq)
    }

    fn refuse_if_failing(&self, state: &State) -> Result<(), AuditError> {
        match &state.commit_failure {
            _ if state.is_broken => Err(self.broken()),
            Some(reason) => {
                Err(AuditError::Commit { path: self.files.log.clone(), reason: reason.clone() })
            }
            None => Ok(()),
        }
    }

    fn sync(&self) -> Result<(), AuditError> {
        self.durable.sync().map_err(|source| {
            if let Ok(mut state) = self.state.lock() {
                state.is_broken = true;
            }
            self.write_error(source)
        })
    }

    /// Makes everything durable that was appended so far, then replaces the head.
    ///
    /// A failed sync is final: the system reports it once, and would then call lost bytes durable.
    /// So is a log that is no longer where it was. A head that cannot be written can be tried again.
    fn commit(&self, tip: Tip) -> Result<(), String> {
        let is_there = self.durable.sync().and_then(|()| self.durable.is_at(&self.files.log));
        if !matches!(is_there, Ok(true)) {
            if let Ok(mut state) = self.state.lock() {
                state.is_broken = true;
            }
            let reason = is_there.map_or_else(|error| error.to_string(), |_| String::new());
            return Err(format!("the log could not be made durable, or was moved away {reason}"));
        }
        let Some(seq) = tip.next_seq.checked_sub(1) else { return Ok(()) };
        let head = Head { seq, hash: tip.hash };
        head.write(&self.files.head, &self.options.key, &self.options.session).map_err(|error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            format!("{error}: {}", cause.unwrap_or_default())
        })
    }

    fn commit_now(&self) -> Result<(), AuditError> {
        let tip = self.lock()?.tip;
        self.commit(tip)
            .map_err(|reason| AuditError::Commit { path: self.files.log.clone(), reason })?;
        let mut state = self.lock()?;
        state.committed = state.committed.max(tip.next_seq);
        Ok(())
    }

    /// The committer: gathers, commits, and starts again, until the log is closed.
    fn commit_until_closed(&self) {
        let Ok(mut state) = self.state.lock() else { return };
        loop {
            while state.tip.next_seq == state.committed && !state.is_closing {
                let Ok(next) = self.work.wait(state) else { return };
                state = next;
            }
            let is_full = COMMIT_RECORDS_MAX <= state.tip.next_seq - state.committed;
            if !state.is_closing && !is_full {
                let Ok((next, _)) = self.work.wait_timeout(state, GATHER) else { return };
                state = next;
            }
            let tip = state.tip;
            drop(state);
            let outcome = self.commit(tip);
            let Ok(next) = self.state.lock() else { return };
            state = next;
            match outcome {
                Ok(()) => {
                    state.committed = state.committed.max(tip.next_seq);
                    state.commit_failure = None;
                }
                Err(reason) => state.commit_failure = Some(reason),
            }
            self.committed.notify_all();
            if state.is_closing {
                return;
            }
            if state.commit_failure.is_some() {
                let Ok((next, _)) = self.work.wait_timeout(state, RETRY) else { return };
                state = next;
            }
        }
    }

    fn lock(&self) -> Result<MutexGuard<'_, State>, AuditError> {
        self.state.lock().map_err(|_| self.broken())
    }

    fn broken(&self) -> AuditError {
        AuditError::Broken(self.files.log.clone())
    }

    fn write_error(&self, source: io::Error) -> AuditError {
        AuditError::Write { path: self.files.log.clone(), source }
    }
}

impl State {
    fn append(&mut self, body: &Body) -> io::Result<u64> {
        let before = self.tip;
        let line = self.tip.extend(body);
        match self.sink.append(line.as_bytes()) {
            Ok(()) => {
                self.length += line.len() as u64;
                Ok(before.next_seq)
            }
            Err(error) => {
                self.tip = before;
                // Half a line must not stand before the next one.
                self.is_broken = self.sink.cut(self.length).is_err();
                Err(error)
            }
        }
    }
}

// === impl Recorded ===

impl Recorded {
    /// Returns the permit that was recorded.
    pub fn permit(&self) -> &Permit {
        &self.permit
    }

    /// Returns the id under which the outcome is to be recorded.
    pub fn request_id(&self) -> &str {
        &self.request_id
    }

    /// Returns the number of the record.
    pub fn seq(&self) -> u64 {
        self.seq
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("files", &self.files).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for LogOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogOptions").field("session", &self.session).finish_non_exhaustive()
    }
}
