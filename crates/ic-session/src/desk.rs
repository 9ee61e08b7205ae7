//! The desk of a session: where its questions are put, and who is there to answer them.
//!
//! What is asked, and what an answer means, is decided in `ic_broker` and `ic_policy`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ic_broker::{Attendance, Patience};
use ic_escalation::{Desk, Ended, FileDesk, Numbers, Registered, Registry, SessionEntry};
use ic_home::{Clock as _, FileError, Home, Process, SystemClock};
use tokio::task::JoinHandle;

use crate::directory::{Description, SessionDirectory};
use crate::notify::Notifier;

/// How much of a task stands in the list of sessions that run.
const LABEL_CHARS_MAX: usize = 80;

/// Whether calls wait for a person who is not there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Wait {
    /// For anybody who comes in time.
    ForAnybody,
    /// Only while somebody is there.
    WhileAttended,
}

/// The place of a person at the terminal of one session; dropping it means that they have left.
///
/// Unlike somebody at a desk of the home they see the questions of this session only, so no other
/// session counts on them.
#[derive(Debug)]
pub struct Seat(AtTerminal);

/// Knows whether somebody sits at the terminal of a session.
#[derive(Clone, Debug, Default)]
pub struct AtTerminal(Arc<AtomicUsize>);

/// A desk that is open, and the session in the list of those that run.
#[derive(Debug)]
pub struct OpenDesk {
    desk: FileDesk,
    clerk: JoinHandle<Ended>,
    /// What calls the user, if they want to be called.
    caller: Option<JoinHandle<()>>,
    entry: SessionEntry,
    registered: Registered,
}

/// The people who can answer the questions of a session.
#[derive(Debug)]
struct People {
    home: Home,
    at_terminal: AtTerminal,
}

impl OpenDesk {
    /// Opens the desk of a session whose log is open: nobody else has it, and what is left of an
    /// earlier run can go.
    pub(crate) fn open(
        home: &Home,
        directory: &SessionDirectory,
        description: &Description<'_>,
        policy: Option<&str>,
        notifier: Option<Notifier>,
    ) -> Result<Self, FileError> {
        let escalation_dir = home.escalations(&directory.id);
        let (desk, clerk) = FileDesk::open(&escalation_dir, Arc::new(SystemClock))?;
        let (told, caller) = notifier.map(Notifier::spawn).unzip();
        let desk = desk.numbered(Numbers::of(home)).under_policy(policy).telling(told);
        let entry = SessionEntry {
            session: directory.id.clone(),
            name: directory.name.clone(),
            kind: description.kind.as_str().to_owned(),
            label: label(description),
            escalation_dir,
            started_at: SystemClock.now(),
            process: Process::this()?,
        };
        let registered = Registry::of(home).register(&entry)?;
        Ok(Self { desk, clerk: tokio::spawn(clerk.run()), caller, entry, registered })
    }

    /// Returns the desk, to ask at.
    pub(crate) fn desk(&self) -> Arc<dyn Desk> {
        Arc::new(self.desk.clone())
    }

    /// Returns the session as it stands in the list of those that run.
    pub fn entry(&self) -> &SessionEntry {
        &self.entry
    }

    /// Withdraws what still waits, and takes the session off the list.
    pub async fn close(self) {
        self.desk.close();
        // A clerk that panicked has withdrawn everything too.
        self.clerk.await.ok();
        if let Some(caller) = self.caller {
            // Nothing waits any more; a program that still runs is asked to end.
            caller.abort();
        }
        drop(self.registered);
    }
}

impl Wait {
    /// Returns when a question is worth asking.
    pub(crate) fn patience(self, home: &Home, at_terminal: AtTerminal) -> Patience {
        match self {
            Self::ForAnybody => Patience::ForAnybody,
            Self::WhileAttended => {
                Patience::WhileAttended(Arc::new(People { home: home.clone(), at_terminal }))
            }
        }
    }

    /// Says what becomes of calls that need a person, for the header of a session.
    pub fn header(self, home: &Home, at_terminal: &AtTerminal) -> Result<&'static str, FileError> {
        if at_terminal.is_somebody_there() {
            return Ok("approvals: IronCurtain asks you at this terminal");
        }
        let is_attended = ic_escalation::is_anybody_there(home)?;
        Ok(match (self, is_attended) {
            (_, true) => {
                "approvals: an approver is connected; calls that need approval wait for an answer"
            }
            (Self::ForAnybody, false) => {
                "approvals: no approver is connected; calls that need approval wait until you \
                 answer with `ironcurtain approvals approve` or `deny`"
            }
            (Self::WhileAttended, false) => {
                "approvals: no approver is connected, so calls that need approval are denied; \
                 run `ironcurtain listen` in another terminal to answer them, or \
                 use `--wait`"
            }
        })
    }
}

impl Default for Seat {
    fn default() -> Self {
        AtTerminal::default().sit()
    }
}

impl Seat {
    /// Returns what knows whether somebody still sits here.
    pub fn at_terminal(&self) -> AtTerminal {
        self.0.clone()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl AtTerminal {
    /// Sits down, until what is returned is dropped.
    pub fn sit(&self) -> Seat {
        self.0.fetch_add(1, Ordering::AcqRel);
        Seat(self.clone())
    }

    /// Returns whether somebody sits there.
    pub fn is_somebody_there(&self) -> bool {
        0 < self.0.load(Ordering::Acquire)
    }
}

impl Attendance for People {
    fn is_anybody_there(&self) -> Result<bool, FileError> {
        Ok(self.at_terminal.is_somebody_there() || ic_escalation::is_anybody_there(&self.home)?)
    }
}

/// Says who does what, in a line.
fn label(description: &Description<'_>) -> String {
    let task = description.task.unwrap_or("interactive");
    let line = task.lines().next().unwrap_or_default();
    let mut label = format!("{}: ", description.agent);
    label.extend(line.chars().take(LABEL_CHARS_MAX));
    if line.chars().nth(LABEL_CHARS_MAX).is_some() || line.len() < task.trim_end().len() {
        label.push('…');
    }
    label
}
