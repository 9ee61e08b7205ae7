//! The desk that is a directory: a question is a file in it, and so is the answer.
//!
//! ```text
//! FileDesk::raise ── request-<id>.json ──▶ people            (written before the clerk hears of it)
//!      │ message                              │ response-<id>.json, created exclusively
//!      ▼                                      ▼
//!    Clerk: one task, one watch on the directory, and a look every 500 ms in case the watch fails
//! ```
//!
//! The first file at the name of the response decides, and at the deadline the clerk tries to be that
//! first one itself: so an answer is either accepted or too late, and both sides know which. Who
//! answers is not known here.

mod clerk;

use std::path::PathBuf;
use std::sync::Arc;

use ic_home::{Clock, FileError, file};
use ic_types::{Digest, EscalationId};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::{Duration, Instant};

pub use clerk::{Clerk, Ended};

use crate::desk::{Desk, DeskError, Question, Waiting, Withdrawal};
use crate::numbers::Numbers;
use crate::request::{self, REQUEST_BYTES_MAX};
use crate::response;
use clerk::{Message, Raised};

/// How many questions of one session may wait.
pub const PENDING_MAX: usize = 1000;
/// How much room the questions of one session may take, in KiB.
const PENDING_KIB_MAX: usize = 64 << 10;

/// The desk of one session.
#[derive(Clone, Debug)]
pub struct FileDesk {
    directory: Arc<PathBuf>,
    clock: Arc<dyn Ticks>,
    slots: Arc<Semaphore>,
    room_kib: Arc<Semaphore>,
    messages: mpsc::UnboundedSender<Message>,
    /// Where questions get their numbers, if they are to be the same for everybody.
    numbers: Option<Arc<Numbers>>,
    /// The policy that the session was started with, if its command line names one.
    policy: Option<Arc<str>>,
    /// Where the ids of questions are told, if anybody wants to be called.
    told: Option<mpsc::Sender<EscalationId>>,
}

/// A clock that can be printed.
pub trait Ticks: Clock + std::fmt::Debug {}

impl<T: Clock + std::fmt::Debug> Ticks for T {}

impl FileDesk {
    /// Makes the desk in `directory`, which is made if it is not there and is this session's alone.
    ///
    /// What an earlier process left in it is removed. The clerk has to be run.
    pub fn open(
        directory: impl Into<PathBuf>,
        clock: Arc<dyn Ticks>,
    ) -> Result<(Self, Clerk), FileError> {
        let directory = Arc::new(directory.into());
        file::create_dir(&*directory)?;
        for name in file::names(&*directory)?.unwrap_or_default() {
            if request::id(&name).is_some() || response::id(&name).is_some() {
                // Something that is no file stays; nobody waits for it.
                file::remove(directory.join(name)).ok();
            }
        }
        // Bounded by the slots: a question sends two messages at most.
        let (messages, inbox) = mpsc::unbounded_channel();
        let clerk = Clerk::new(Arc::clone(&directory), Arc::clone(&clock), inbox);
        let slots = Arc::new(Semaphore::new(PENDING_MAX));
        let room_kib = Arc::new(Semaphore::new(PENDING_KIB_MAX));
        let (numbers, policy, told) = (None, None, None);
        Ok((Self { directory, clock, slots, room_kib, messages, numbers, policy, told }, clerk))
    }

    /// Lets the questions have numbers that no other question of the home has.
    #[must_use]
    pub fn numbered(self, numbers: Numbers) -> Self {
        Self { numbers: Some(Arc::new(numbers)), ..self }
    }

    /// Lets the questions name the policy that the session was started with.
    #[must_use]
    pub fn under_policy(self, policy: Option<&str>) -> Self {
        Self { policy: policy.map(Arc::from), ..self }
    }

    /// Tells the id of each question once it can be read; what finds no room there is not told.
    #[must_use]
    pub fn telling(self, told: Option<mpsc::Sender<EscalationId>>) -> Self {
        Self { told, ..self }
    }

    /// Closes the desk: no question waits any longer, and none can be raised.
    pub fn close(&self) {
        // A clerk that has gone has closed it.
        self.messages.send(Message::Close).ok();
    }
}

impl Desk for FileDesk {
    fn raise(&self, question: Question) -> Result<Waiting, DeskError> {
        let question = question
            .numbered(self.numbers.as_ref().and_then(|it| it.next()))
            .under_policy(self.policy.as_deref());
        let request = question.request();
        let left_ms = request.expires_at.unix_ms().checked_sub(self.clock.now().unix_ms());
        let left = Duration::from_millis(left_ms.ok_or(DeskError::TooLate)?);
        let deadline = Instant::now().checked_add(left).ok_or(DeskError::TooLate)?;
        let bytes = request.to_json().to_string().into_bytes();
        if REQUEST_BYTES_MAX < bytes.len() {
            return Err(DeskError::TooLarge);
        }
        let slot = Arc::clone(&self.slots)
            .try_acquire_owned()
            .map_err(|_| DeskError::Full { max: PENDING_MAX })?;
        // INVARIANT: a request has at most `REQUEST_BYTES_MAX` bytes, which is far below 4 TiB.
        let kib = u32::try_from(bytes.len().div_ceil(1024)).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room_kib)
            .try_acquire_many_owned(kib)
            .map_err(|_| DeskError::NoRoom)?;
        let id = request.escalation.clone();
        let path = self.directory.join(request::name(&id));
        file::create_new_unsynced(&path, &bytes)?;
        let (answerer, outcome) = oneshot::channel();
        let bytes_digest = Digest::of(&bytes);
        let raised = Raised { question, deadline, bytes_digest, answerer, _held: (slot, room) };
        if self.messages.send(Message::Raised(Box::new(raised))).is_err() {
            file::remove(&path)?;
            return Err(DeskError::Closed);
        }
        if let Some(told) = &self.told {
            // To be called is a convenience: nothing waits for it, and nothing fails without it.
            told.try_send(id.clone()).ok();
        }
        let messages = self.messages.clone();
        let withdraw = move || {
            // A clerk that has gone has taken everything back.
            messages.send(Message::Withdraw(id)).ok();
        };
        Ok(Waiting::new(outcome, Withdrawal::new(withdraw)))
    }
}
