//! The writer: one per log, appending under a lock, committing in a thread of its own.
//!
//! `record` returns after `write(2)`, so what it returned for survives `kill -9`; the committer makes
//! it survive the machine, within 50 ms, and then replaces the head. Whoever appends writes the line
//! itself, because handing it to a thread and waiting costs more than writing it.

mod shared;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

use ic_home::clock::Clock;
use ic_home::file::{self, FileError};
use ic_policy::{Denial, Effect, Escalation, Permit, ResolvedCall};
use ic_types::{Json, Object, SessionId, locked};

use crate::entry::{Entry, Keep, Kind};
use crate::key::AuditKey;
use crate::redact::Redactor;
use crate::sink::{FileSink, Sink};
use crate::verify::{self, Condition, Report, Tampering, VerifyError};

use shared::{Phase, Shared, State};

/// The files of one log.
#[derive(Clone, Debug)]
pub struct LogFiles {
    /// `audit.jsonl`.
    pub log: PathBuf,
    /// `audit.head`.
    pub head: PathBuf,
    /// The directory of copies of heads, far from the logs: an older log that is put back together with
    /// its head is found out by the copy.
    pub heads: Option<PathBuf>,
}

/// How long a log may be where nobody says otherwise.
pub const BYTES_MAX: u64 = 1 << 30;

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
    /// How long the log may become; after that refused calls are counted, and others stop.
    pub bytes_max: u64,
}

/// An open audit log.
#[derive(Debug)]
pub struct AuditLog {
    shared: Arc<Shared>,
    committer: Mutex<Option<JoinHandle<()>>>,
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
    /// The log is as long as it may be.
    #[error(
        "the audit log `{}` has reached its limit of {mib_max} MiB (`audit.maxMiB`), so no call is forwarded; \
         start another session or raise the limit",
        .path.display()
    )]
    Full {
        /// The log.
        path: PathBuf,
        /// How long it may be.
        mib_max: u64,
    },
    /// The log was closed: its session has ended.
    #[error("the audit log `{}` is closed, because its session has ended, so no call is forwarded", .0.display())]
    Closed(PathBuf),
    /// An earlier failure left the log in an unknown state.
    #[error("the audit log `{}` is in an unknown state after a failed write, so no call is forwarded", .0.display())]
    Broken(PathBuf),
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
        let repair = match report.begun_anew_after {
            // Whoever has moved a log away goes on without it, and that is written down.
            Some(n_records) => Some(begun_anew(n_records)),
            None => repair(&files.log, &mut sink, &report)?,
        };
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

    /// Returns whether a process writes the log right now.
    pub fn is_written(files: &LogFiles) -> Result<bool, AuditError> {
        let sink = FileSink::open(&files.log).map_err(AuditError::Open)?;
        Ok(sink.is_none())
    }

    /// Makes a log of a sink of the caller's, to be broken by tests.
    #[cfg(feature = "testing")]
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
        if let Some(heads) = &files.heads {
            file::create_dir(heads).map_err(AuditError::Open)?;
        }
        let state = State {
            tip: report.tip,
            length: report.bytes,
            committed: report.tip.next_seq,
            commit_failure: None,
            is_broken: false,
            phase: Phase::Open,
            is_full: false,
            n_refused: 0,
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
        Ok(Self { shared, committer: Mutex::new(Some(committer)) })
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

    /// Records a call that was denied; of much that it says, the beginning.
    pub fn record_denial(&self, denial: &Denial, request_id: &str) -> Result<u64, AuditError> {
        self.shared.append(Entry {
            verdict: Some(Effect::Deny),
            rule: Some(Arc::from(denial.rule())),
            reason: Some(Arc::from(denial.reason())),
            policy_hash: Some(denial.policy_hash()),
            decided_by: Some(ic_policy::DecidedBy::Policy),
            keep: Keep::Brief,
            ..intent(denial.call(), request_id)
        })
    }

    /// Records a call that a person would have to decide about; of much that it says, the beginning.
    ///
    /// If it comes to be forwarded, [`Self::record`] has all of it.
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
            keep: Keep::Brief,
            ..intent(escalation.call(), request_id)
        })
    }

    /// Records anything else; returns the record's number.
    pub fn note(&self, entry: Entry) -> Result<u64, AuditError> {
        self.shared.append(entry)
    }

    /// Writes the last record, commits everything, and ends, even if others still hold the log. A second call does nothing.
    ///
    /// Whatever is to be recorded from then on is refused.
    pub fn close(&self) -> Result<(), AuditError> {
        if self.shared.lock()?.phase != Phase::Open {
            return Ok(());
        }
        self.shared.note_refused()?;
        self.shared.append_last(|n_records| {
            let mut closing = Object::new();
            closing.insert("event", "closed");
            closing.insert("records", n_records);
            session_entry(closing)
        })?;
        self.stop();
        self.shared.commit_now()?;
        self.shared.lock()?.sink.release();
        Ok(())
    }

    fn stop(&self) {
        if let Ok(mut state) = self.shared.lock() {
            state.phase = Phase::Ending;
        }
        self.shared.work.notify_all();
        let committer = locked(&self.committer).take();
        if let Some(committer) = committer {
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

fn begun_anew(n_records: u64) -> Object {
    let mut event = Object::new();
    event.insert("event", "begunAnew");
    event.insert("recordsBefore", n_records);
    event
}

fn intent(call: &ResolvedCall, request_id: &str) -> Entry {
    Entry {
        request_id: Some(request_id.to_owned()),
        server: Some(call.server().clone()),
        tool: Some(call.tool().clone()),
        arguments: Some(Json::Object(call.asked().arguments.clone())),
        resolved: Some(call.resolved_json()),
        behind: Some(call.behind_record()),
        ..Entry::new(Kind::Intent)
    }
}

fn session_entry(event: Object) -> Entry {
    Entry { arguments: Some(Json::Object(event)), ..Entry::new(Kind::Session) }
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

impl std::fmt::Debug for LogOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogOptions").field("session", &self.session).finish_non_exhaustive()
    }
}
