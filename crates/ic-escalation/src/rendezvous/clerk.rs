//! The clerk: waits for the answers to all questions of one session, in one task.
//!
//! Owns what is pending. Reads a response once, hands over what it says, and puts a seal in the place
//! of a response that will not be accepted any more. It judges no call.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ic_home::FileError;
use ic_home::file;
use ic_home::watch::{Changes, DirectoryWatch};
use ic_policy::Decision;
use ic_types::{Digest, EscalationId, Timestamp};
use rustix::io::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::time::{Duration, Instant, MissedTickBehavior};

use super::Ticks;
use crate::desk::{Outcome, Question};
use crate::response::{self, RESPONSE_BYTES_MAX, ResponseFault, Seal};
use crate::{rendezvous, request};

/// How often the clerk looks, in case the watch says nothing.
const POLL: Duration = Duration::from_millis(500);
/// How long files stay after their question was settled, so that whoever answered can see that the
/// answer was taken, and whoever is late can see that it is.
const LINGER: Duration = Duration::from_secs(2);
/// How many settled questions may have files that linger.
const LINGERING_MAX: usize = 4 * rendezvous::PENDING_MAX;
/// How long after the deadline an answer that stood there in time may be noticed.
///
/// More than that means that the machine slept, and nobody can tell when the answer was written.
const LATE_MS_MAX: u64 = 2_000;

/// Waits for answers; to be run as a task.
#[derive(Debug)]
#[must_use = "without its clerk a desk answers nothing"]
pub struct Clerk {
    directory: Arc<PathBuf>,
    clock: Arc<dyn Ticks>,
    inbox: mpsc::UnboundedReceiver<Message>,
    pending: HashMap<EscalationId, Raised>,
    deadlines: BTreeSet<(Instant, EscalationId)>,
    lingering: VecDeque<(Instant, EscalationId)>,
}

/// What the clerk is told.
#[derive(Debug)]
pub(super) enum Message {
    Raised(Box<Raised>),
    Withdraw(EscalationId),
    Close,
}

/// A question that was put into the directory.
#[derive(Debug)]
pub(super) struct Raised {
    pub(super) question: Question,
    pub(super) deadline: Instant,
    /// Of the very bytes that people see.
    pub(super) bytes_digest: Digest,
    pub(super) answerer: oneshot::Sender<Outcome>,
    /// Its place among those that may wait.
    pub(super) _held: (OwnedSemaphorePermit, OwnedSemaphorePermit),
}

/// How the clerk ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ended {
    /// The desk was closed, or nobody has it any more.
    Closed,
    /// The directory is gone.
    DirectoryGone,
}

/// What the clerk does next.
enum Step {
    GoOn,
    End(Ended),
}

impl Clerk {
    pub(super) fn new(
        directory: Arc<PathBuf>,
        clock: Arc<dyn Ticks>,
        inbox: mpsc::UnboundedReceiver<Message>,
    ) -> Self {
        let (pending, deadlines, lingering) = (HashMap::new(), BTreeSet::new(), VecDeque::new());
        Self { directory, clock, inbox, pending, deadlines, lingering }
    }

    /// Waits for answers until the desk is closed.
    pub async fn run(mut self) -> Ended {
        let mut watch = Watched::on(&self.directory);
        let mut poll = tokio::time::interval(POLL);
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let next = self.next_moment();
            let step = tokio::select! {
                message = self.inbox.recv() => self.on_message(message),
                changes = watch.changes() => {
                    if changes.lost {
                        watch = Watched::on(&self.directory);
                    }
                    self.on_changes(&changes)
                }
                _ = poll.tick(), if !self.pending.is_empty() => self.look_everywhere(),
                () = tokio::time::sleep_until(next), if self.has_moments() => self.on_moment(),
            };
            match step {
                Step::GoOn => {}
                Step::End(ended) => return ended,
            }
        }
    }

    fn on_message(&mut self, message: Option<Message>) -> Step {
        match message {
            Some(Message::Raised(raised)) => {
                let id = raised.question.request().escalation.clone();
                self.deadlines.insert((raised.deadline, id.clone()));
                self.pending.insert(id.clone(), *raised);
                // Somebody may have been quicker than this message.
                self.look(&id);
                Step::GoOn
            }
            Some(Message::Withdraw(id)) => {
                if let Some(raised) = self.take(&id) {
                    drop(raised);
                    self.seal(&id, Seal::Withdrawn).ok();
                    self.remove_request(&id);
                    self.linger(id);
                }
                Step::GoOn
            }
            Some(Message::Close) | None => Step::End(Ended::Closed),
        }
    }

    fn on_changes(&mut self, changes: &Changes) -> Step {
        for id in changes.names.iter().filter_map(|name| response::id(name)) {
            self.look(&id);
        }
        if changes.lost { self.look_everywhere() } else { Step::GoOn }
    }

    /// Does what is due: ends what was not answered in time, and removes what has lingered.
    fn on_moment(&mut self) -> Step {
        let now = Instant::now();
        while let Some((deadline, id)) = self.deadlines.first().cloned() {
            if now < deadline {
                break;
            }
            self.expire(&id);
            // Whatever became of it, it is not due again.
            self.deadlines.remove(&(deadline, id));
        }
        while self.lingering.front().is_some_and(|(until, _)| *until <= now) {
            self.remove_first_lingering();
        }
        Step::GoOn
    }

    fn look_everywhere(&mut self) -> Step {
        let answered: Vec<EscalationId> = match file::names(&*self.directory) {
            Ok(Some(names)) => names.iter().filter_map(|name| response::id(name)).collect(),
            Ok(None) => return Step::End(Ended::DirectoryGone),
            // Too many names, perhaps: then each file is looked for by its own.
            Err(_) => self.pending.keys().cloned().collect(),
        };
        for id in answered {
            self.look(&id);
        }
        // The machine may have slept, and then the deadline has passed for everybody but the timer.
        let now = self.clock.now();
        let is_over = |raised: &Raised| raised.question.request().expires_at < now;
        let over = self.pending.iter().filter(|(_, raised)| is_over(raised));
        let over: Vec<EscalationId> = over.map(|(id, _)| id.clone()).collect();
        for id in over {
            self.expire(&id);
        }
        Step::GoOn
    }

    /// Looks whether a question was answered, and hands over what the answer says.
    fn look(&mut self, id: &EscalationId) {
        let Some(raised) = self.pending.get(id) else { return };
        if let Some(outcome) = self.read(id, &raised.question, raised.bytes_digest) {
            self.settle(id, outcome);
        }
    }

    /// Ends a question, unless an answer stands in its place already.
    fn expire(&mut self, id: &EscalationId) {
        let Some(raised) = self.pending.get(id) else { return };
        // SECURITY: the last look and the end of waiting are one step, because the seal and an answer
        // cannot both be first; otherwise somebody could be told the opposite of what we do.
        let outcome = match self.seal(id, Seal::Expired) {
            Err(FileError::Exists { .. }) => {
                self.read(id, &raised.question, raised.bytes_digest).unwrap_or(Outcome::Expired)
            }
            Ok(()) | Err(_) => Outcome::Expired,
        };
        self.settle(id, outcome);
    }

    /// Reads the answer to a question; `None` if there is none, or it has to be looked at again.
    fn read(&self, id: &EscalationId, question: &Question, bytes: Digest) -> Option<Outcome> {
        let path = self.directory.join(response::name(id));
        let response = match file::read_own(path, RESPONSE_BYTES_MAX as u64) {
            Ok(None) => return None,
            Ok(Some(response)) => response,
            Err(error) if is_passing(&error) => return None,
            Err(error) => return Some(Outcome::Malformed(ResponseFault::File(error))),
        };
        let now = self.clock.now();
        if is_late(question.request().expires_at, now) {
            return Some(Outcome::Expired);
        }
        let answered = match question.read(&response, now) {
            Ok(answered) => answered,
            Err(fault) => return Some(Outcome::Malformed(fault)),
        };
        // SECURITY: whoever approved may have been shown something else than we asked.
        let is_as_asked = || {
            let found = request::bytes_digest(&self.directory, id);
            found.is_ok_and(|found| found == Some(bytes))
        };
        if answered.answer.decision() == Decision::Approved && !is_as_asked() {
            return Some(Outcome::Malformed(ResponseFault::RequestChanged));
        }
        Some(Outcome::Answered(Box::new(answered)))
    }

    fn settle(&mut self, id: &EscalationId, outcome: Outcome) {
        let Some(raised) = self.take(id) else { return };
        match &outcome {
            // It stays for a while: to whoever answered, its end means that the answer was too late.
            Outcome::Answered(_) => {}
            Outcome::Malformed(_) => {
                // Before the request goes: whoever answered looks for it, and then for the reason. Something
                // that is no file stays what it is.
                let path = self.directory.join(response::name(id));
                file::replace_unsynced(path, Seal::Refused.to_bytes()).ok();
                self.remove_request(id);
            }
            Outcome::Expired | Outcome::Closed => self.remove_request(id),
        }
        // Whoever waited may have stopped just now.
        raised.answerer.send(outcome).ok();
        self.linger(id.clone());
    }

    fn take(&mut self, id: &EscalationId) -> Option<Raised> {
        let raised = self.pending.remove(id)?;
        self.deadlines.remove(&(raised.deadline, id.clone()));
        Some(raised)
    }

    fn seal(&self, id: &EscalationId, seal: Seal) -> Result<(), FileError> {
        file::create_new_unsynced(self.directory.join(response::name(id)), seal.to_bytes())
    }

    fn linger(&mut self, id: EscalationId) {
        self.lingering.push_back((Instant::now() + LINGER, id));
        if LINGERING_MAX < self.lingering.len() {
            self.remove_first_lingering();
        }
    }

    fn remove_first_lingering(&mut self) {
        if let Some((_, id)) = self.lingering.pop_front() {
            self.remove_request(&id);
            file::remove(self.directory.join(response::name(&id))).ok();
        }
    }

    fn remove_request(&self, id: &EscalationId) {
        // What cannot be removed now is removed when the session is next opened.
        file::remove(self.directory.join(request::name(id))).ok();
    }

    /// Returns when something is due next; of no meaning if nothing is.
    fn next_moment(&self) -> Instant {
        let deadline = self.deadlines.first().map(|(deadline, _)| *deadline);
        let lingering = self.lingering.front().map(|(until, _)| *until);
        deadline.into_iter().chain(lingering).min().unwrap_or_else(Instant::now)
    }

    fn has_moments(&self) -> bool {
        !self.deadlines.is_empty() || !self.lingering.is_empty()
    }
}

/// However the clerk ends, no question of its stays behind.
impl Drop for Clerk {
    fn drop(&mut self) {
        self.inbox.close();
        while let Ok(message) = self.inbox.try_recv() {
            if let Message::Raised(raised) = message {
                self.pending.insert(raised.question.request().escalation.clone(), *raised);
            }
        }
        for (id, raised) in std::mem::take(&mut self.pending) {
            self.remove_request(&id);
            raised.answerer.send(Outcome::Closed).ok();
        }
        while !self.lingering.is_empty() {
            self.remove_first_lingering();
        }
    }
}

/// A watch on the directory, or none where the system has none to give.
struct Watched(Option<AsyncFd<DirectoryWatch>>);

impl Watched {
    fn on(directory: &Path) -> Self {
        let Ok(watch) = DirectoryWatch::on(directory) else { return Self(None) };
        #[expect(
            deprecated,
            reason = "only a handle that is closed behind its back is a danger here, and a watch \
                      owns its own; what replaces this is unsafe"
        )]
        let watch = AsyncFd::with_interest(watch, Interest::READABLE);
        Self(watch.ok())
    }

    /// Waits for something to happen; without a watch nothing does.
    async fn changes(&mut self) -> Changes {
        let Some(watch) = &mut self.0 else { return std::future::pending().await };
        let lost = || Changes { names: Vec::new(), lost: true };
        let changes = match watch.readable_mut().await {
            Ok(mut ready) => {
                let changes = ready.get_inner_mut().changes();
                ready.clear_ready();
                changes.unwrap_or_else(|_| lost())
            }
            Err(_) => lost(),
        };
        if changes.lost {
            // Made anew by whoever looks; if it cannot be, polling has to do.
            self.0 = None;
        }
        changes
    }
}

/// Returns whether a failure says something about the moment and not about the file.
fn is_passing(error: &FileError) -> bool {
    let passing = [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::INTR, Errno::AGAIN];
    match error {
        FileError::System { source, .. } => {
            passing.iter().any(|errno| source.raw_os_error() == Some(errno.raw_os_error()))
        }
        FileError::Link { .. }
        | FileError::NotRegular { .. }
        | FileError::NotDirectory { .. }
        | FileError::NotOurs { .. }
        | FileError::Exists { .. }
        | FileError::TooLong { .. } => false,
    }
}

fn is_late(deadline: Timestamp, now: Timestamp) -> bool {
    deadline.unix_ms().saturating_add(LATE_MS_MAX) < now.unix_ms()
}
