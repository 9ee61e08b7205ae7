//! What happens in a session, for whoever runs it, and what is counted of it.
//!
//! Nothing here is a record: whoever does not listen misses it. Text in it is of strangers; whoever
//! shows it makes it visible first.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use ic_agent::{Diagnostic, Snapshot};
use ic_backend::{Ending, EscalationNews, Witness};
use ic_types::{EscalationId, ServerName, visible};
use tokio::sync::broadcast;

use crate::journal::Journal;
use crate::session::Status;

/// How much a listener may be behind without missing anything.
const EVENTS_MAX: usize = 1024;
/// How many notices are kept for the first who listens.
const EARLY_MAX: usize = 100;
/// How many violations wait to be told.
const VIOLATIONS_MAX: usize = 20;

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// The session stands otherwise.
    Status(Status),
    /// A piece of the model's text.
    Text(String),
    /// Something happened in a turn.
    Diagnostic(Diagnostic),
    /// A call is about to be made: the server and the tool, as a script names them.
    Calling(String),
    /// A call was made, and this is what became of it.
    Called(CallNews),
    /// A call waits for a person.
    EscalationRaised(EscalationId),
    /// Somebody has answered, or nobody wants an answer any more.
    EscalationResolved(EscalationId, Ending),
    /// Nobody has answered in time.
    EscalationExpired(EscalationId),
    /// The answer to a message.
    Answer(String),
    /// How the budget stands after a turn.
    Budget(Box<Snapshot>),
    /// Something that a person should know.
    Notice(String),
}

/// A call that is over.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CallNews {
    /// The server and the tool, as a script names them.
    pub call: String,
    /// The arguments, shortened.
    pub arguments: String,
    /// What became of it.
    pub fate: CallFate,
}

/// What became of a call.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum CallFate {
    /// It was made.
    Done,
    /// It was made after a person had approved it.
    Approved,
    /// It was made, and failed: why.
    Failed(String),
    /// It was not made: why.
    Refused(String),
    /// It was cancelled while it waited for approval, and was not made.
    Cancelled,
}

/// What was counted in a session.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Tally {
    /// Calls that were made.
    pub calls: u64,
    /// Calls that were refused.
    pub refusals: u64,
    /// Calls that a person approved.
    pub approvals: u64,
    /// Calls that needed approval and got no answer: nobody was available, or the time was over.
    pub unanswered: u64,
}

/// Tells what happens, and counts.
#[derive(Debug)]
pub struct News {
    events: broadcast::Sender<Event>,
    journal: Journal,
    calls: AtomicU64,
    refusals: AtomicU64,
    approvals: AtomicU64,
    unanswered: AtomicU64,
    violations: Mutex<Vec<String>>,
    /// What is to be told to the first who listens; nothing once somebody does.
    early: Mutex<Option<Vec<String>>>,
}

impl News {
    /// Makes one that keeps what is not for people in `journal`.
    pub fn new(journal: Journal) -> Self {
        let (events, _) = broadcast::channel(EVENTS_MAX);
        let zero = || AtomicU64::new(0);
        let (calls, refusals, approvals, unanswered) = (zero(), zero(), zero(), zero());
        let (violations, early) = (Mutex::new(Vec::new()), Mutex::new(Some(Vec::new())));
        Self { events, journal, calls, refusals, approvals, unanswered, violations, early }
    }

    /// Returns what happens from now on; the first who asks is also told what was noticed before.
    pub fn subscribe(&self) -> broadcast::Receiver<Event> {
        let receiver = self.events.subscribe();
        let early = self.early.lock().unwrap_or_else(PoisonError::into_inner).take();
        for text in early.into_iter().flatten() {
            self.tell(Event::Notice(text));
        }
        receiver
    }

    /// Returns what was counted so far.
    pub fn tally(&self) -> Tally {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Tally {
            calls: read(&self.calls),
            refusals: read(&self.refusals),
            approvals: read(&self.approvals),
            unanswered: read(&self.unanswered),
        }
    }

    /// Keeps a line in the session's log; nobody is told.
    pub(crate) fn log(&self, line: &str) {
        self.journal.keep(line);
    }

    /// Returns what cages refused since this was asked last.
    pub(crate) fn take_violations(&self) -> Vec<String> {
        std::mem::take(&mut *self.violations.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn tell(&self, event: Event) {
        // Nobody has to listen.
        self.events.send(event).ok();
    }

    pub(crate) fn called(&self, call: CallNews) {
        match call.fate {
            CallFate::Done | CallFate::Approved | CallFate::Failed(_) => count(&self.calls),
            CallFate::Refused(_) => count(&self.refusals),
            CallFate::Cancelled => {}
        }
        self.tell(Event::Called(call));
    }
}

impl Witness for News {
    fn notice(&self, text: &str) {
        tracing::info!(notice = %visible(text));
        self.journal.keep(text);
        let mut early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(early) = early.as_mut().filter(|it| it.len() < EARLY_MAX) {
            early.push(text.to_owned());
        }
        drop(early);
        self.tell(Event::Notice(text.to_owned()));
    }

    fn server_wrote(&self, server: &ServerName, line: &str) {
        tracing::debug!(%server, line = %visible(line), "wrote");
        self.journal.keep_words(server, line);
    }

    fn violation(&self, reason: &str) {
        let mut violations = self.violations.lock().unwrap_or_else(PoisonError::into_inner);
        if violations.len() < VIOLATIONS_MAX {
            violations.push(reason.to_owned());
        }
    }

    fn escalation(&self, news: EscalationNews<'_>) {
        match news {
            EscalationNews::Raised { id, .. } => self.tell(Event::EscalationRaised(id.clone())),
            EscalationNews::Ended(id, Ending::Expired) => {
                count(&self.unanswered);
                self.tell(Event::EscalationExpired(id.clone()));
            }
            EscalationNews::Ended(id, ending) => {
                if ending == Ending::Approved {
                    count(&self.approvals);
                }
                self.tell(Event::EscalationResolved(id.clone(), ending));
            }
            EscalationNews::Unattended => count(&self.unanswered),
        }
    }
}

/// Says it for people: `3 calls, 1 refused, 1 approved`.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { calls, refusals, approvals, unanswered } = self;
        let plural = if *calls == 1 { "call" } else { "calls" };
        write!(f, "{calls} {plural} made, {refusals} refused, {approvals} approved by you")?;
        match unanswered {
            0 => Ok(()),
            _ => write!(f, ", {unanswered} unanswered"),
        }
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
