//! The open log that its writers share: whoever appends writes the line itself, a thread commits.
//!
//! What a record says is decided above; this is about lines, and about when they are safe.

use std::io;
use std::sync::Arc;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use ic_policy::Effect;
use ic_types::Object;

use super::{AuditError, LogFiles, LogOptions, session_entry};
use crate::chain::Tip;
use crate::entry::{Body, Entry, Kind};
use crate::head::Head;
use crate::sink::{Durable, Sink};
use crate::verify::COMMIT_RECORDS_MAX;

/// How long the committer gathers records before it makes them durable; half of what is promised.
const GATHER: Duration = Duration::from_millis(25);
/// How long it waits before it tries again after a failure.
const RETRY: Duration = Duration::from_millis(50);

pub(super) struct Shared {
    pub(super) files: LogFiles,
    pub(super) options: LogOptions,
    pub(super) durable: Arc<dyn Durable>,
    pub(super) state: Mutex<State>,
    /// Tells the committer that there is something to do.
    pub(super) work: Condvar,
    /// Tells those who wait that something was committed, or cannot be.
    pub(super) committed: Condvar,
}

pub(super) struct State {
    pub(super) sink: Box<dyn Sink>,
    pub(super) tip: Tip,
    /// How many bytes the whole records take.
    pub(super) length: u64,
    /// The number of the first record that is not committed.
    pub(super) committed: u64,
    /// Why the last commit failed, while it is not mended.
    pub(super) commit_failure: Option<String>,
    pub(super) is_broken: bool,
    pub(super) phase: Phase,
    /// Whether a record did not fit any more.
    pub(super) is_full: bool,
    /// How many refused calls were counted instead of written out.
    pub(super) n_refused: u64,
}

/// How far the log is on its way to its end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Phase {
    /// Records are taken.
    Open,
    /// The last record is written; none comes after it.
    Sealed,
    /// What is written is committed, and that is all.
    Ending,
}

/// What becomes of a record for which the log has no room.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum WhenFull {
    /// It is counted: whoever is refused must not fill the disk.
    Count,
    /// It is an error, so that what it is about does not happen.
    Refuse,
    /// It is written all the same: it belongs to something that has happened, of which there is little.
    Write,
}

impl WhenFull {
    fn of(entry: &Entry) -> Self {
        match (entry.kind, entry.verdict) {
            (Kind::Intent, Some(Effect::Deny)) => Self::Count,
            (Kind::Intent | Kind::Egress | Kind::Llm, _) => Self::Refuse,
            (Kind::Outcome | Kind::Escalation | Kind::Grant | Kind::Session, _) => Self::Write,
        }
    }
}

impl Shared {
    /// Appends one record and returns its number.
    pub(super) fn append(&self, entry: Entry) -> Result<u64, AuditError> {
        self.append_unless(entry, |state| state.phase != Phase::Open)
    }

    /// Appends the last record, which is told how many there are before it; after it there is none.
    pub(super) fn append_last(&self, entry: impl FnOnce(u64) -> Entry) -> Result<u64, AuditError> {
        let n_records = {
            let mut state = self.lock()?;
            state.phase = Phase::Sealed;
            state.tip.next_seq
        };
        let appended = self.append_unless(entry(n_records), |_| false);
        if appended.is_err() {
            self.lock()?.phase = Phase::Open;
        }
        appended
    }

    fn append_unless(
        &self,
        entry: Entry,
        is_refused: impl Fn(&State) -> bool,
    ) -> Result<u64, AuditError> {
        let LogOptions { session, redactor, clock, bytes_max, .. } = &self.options;
        let when_full = WhenFull::of(&entry);
        let body = entry.into_body(session, clock.now(), redactor);
        let mut state = self.lock()?;
        while COMMIT_RECORDS_MAX <= state.tip.next_seq - state.committed {
            self.refuse_if_failing(&state)?;
            self.work.notify_all();
            state = self.committed.wait(state).map_err(|_| self.broken())?;
        }
        self.refuse_if_failing(&state)?;
        if is_refused(&state) {
            return Err(AuditError::Closed(self.files.log.clone()));
        }
        let is_over = *bytes_max < state.length.saturating_add(body.len() as u64);
        if state.is_full || is_over {
            // For good: a smaller record would let a call through after one was refused for want of room.
            state.is_full |= when_full != WhenFull::Write;
            match when_full {
                WhenFull::Count => return self.count(state),
                WhenFull::Refuse => {
                    let (path, mib_max) = (self.files.log.clone(), bytes_max >> 20);
                    return Err(AuditError::Full { path, mib_max });
                }
                WhenFull::Write => {}
            }
        }
        let was_committed = state.tip.next_seq == state.committed;
        let seq = state.append(&body).map_err(|source| self.write_error(source))?;
        drop(state);
        if was_committed {
            self.work.notify_all();
        }
        Ok(seq)
    }

    /// Counts a refused call; the count is written down each time that it has doubled.
    fn count(&self, mut state: MutexGuard<'_, State>) -> Result<u64, AuditError> {
        state.n_refused = state.n_refused.saturating_add(1);
        let (n_refused, next_seq) = (state.n_refused, state.tip.next_seq);
        drop(state);
        match n_refused.is_power_of_two() {
            true => self.append(refused_entry(n_refused)),
            false => Ok(next_seq.saturating_sub(1)),
        }
    }

    /// Writes down how many refused calls were counted, if any were.
    pub(super) fn note_refused(&self) -> Result<(), AuditError> {
        let n_refused = self.lock()?.n_refused;
        match n_refused {
            0 => Ok(()),
            n_refused => self.append(refused_entry(n_refused)).map(drop),
        }
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

    pub(super) fn sync(&self) -> Result<(), AuditError> {
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
        // The copy last, so that it is never ahead of the head.
        let copy = self.files.copy_of_head(&self.options.session);
        for path in std::iter::once(&self.files.head).chain(&copy) {
            head.write(path, &self.options.key, &self.options.session).map_err(|error| {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                format!("{error}: {}", cause.unwrap_or_default())
            })?;
        }
        Ok(())
    }

    pub(super) fn commit_now(&self) -> Result<(), AuditError> {
        let tip = self.lock()?.tip;
        self.commit(tip)
            .map_err(|reason| AuditError::Commit { path: self.files.log.clone(), reason })?;
        let mut state = self.lock()?;
        state.committed = state.committed.max(tip.next_seq);
        Ok(())
    }

    /// The committer: gathers, commits, and starts again, until the log is closed.
    pub(super) fn commit_until_closed(&self) {
        let Ok(mut state) = self.state.lock() else { return };
        loop {
            while state.tip.next_seq == state.committed && state.phase != Phase::Ending {
                let Ok(next) = self.work.wait(state) else { return };
                state = next;
            }
            let is_full = COMMIT_RECORDS_MAX <= state.tip.next_seq - state.committed;
            if state.phase != Phase::Ending && !is_full {
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
            if state.phase == Phase::Ending {
                return;
            }
            if state.commit_failure.is_some() {
                let Ok((next, _)) = self.work.wait_timeout(state, RETRY) else { return };
                state = next;
            }
        }
    }

    pub(super) fn lock(&self) -> Result<MutexGuard<'_, State>, AuditError> {
        self.state.lock().map_err(|_| self.broken())
    }

    fn broken(&self) -> AuditError {
        AuditError::Broken(self.files.log.clone())
    }

    fn write_error(&self, source: io::Error) -> AuditError {
        AuditError::Write { path: self.files.log.clone(), source }
    }
}

fn refused_entry(n_refused: u64) -> Entry {
    let mut event = Object::new();
    event.insert("event", "refusedNotWritten");
    event.insert("count", n_refused);
    session_entry(event)
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

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("files", &self.files).finish_non_exhaustive()
    }
}
