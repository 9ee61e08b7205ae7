//! The desk of a proxy's session: where its questions are put, and who is there to answer them.
//!
//! What is asked, and what an answer means, is decided in `ic_broker` and `ic_policy`.

use std::sync::Arc;

use ic_broker::{Attendance, Patience};
use ic_escalation::{Desk, Ended, FileDesk, Registered, Registry, SessionEntry};
use ic_home::{Clock as _, FileError, Home, Process, SystemClock};
use tokio::task::JoinHandle;

use crate::error::Failure;
use crate::session::SessionDirectory;

/// Whether calls wait for a person who is not there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Wait {
    /// For anybody who comes in time.
    ForAnybody,
    /// Only while somebody is there.
    WhileAttended,
}

/// A desk that is open, and the session in the list of those that run.
#[derive(Debug)]
pub(super) struct OpenDesk {
    desk: FileDesk,
    clerk: JoinHandle<Ended>,
    registered: Registered,
}

/// The people of this home.
#[derive(Debug)]
struct People(Home);

impl OpenDesk {
    /// Opens the desk of a session whose log is open: nobody else has it, and what is left of an
    /// earlier run can go.
    pub(super) fn open(
        home: &Home,
        directory: &SessionDirectory,
        (kind, agent): (&str, &str),
    ) -> Result<Self, Failure> {
        let escalation_dir = home.escalations(&directory.id);
        let (desk, clerk) = FileDesk::open(&escalation_dir, Arc::new(SystemClock))?;
        let entry = SessionEntry {
            session: directory.id.clone(),
            name: directory.name.clone(),
            kind: kind.to_owned(),
            label: format!("{agent}: interactive"),
            escalation_dir,
            started_at: SystemClock.now(),
            process: Process::this()?,
        };
        let registered = Registry::of(home).register(&entry)?;
        Ok(Self { desk, clerk: tokio::spawn(clerk.run()), registered })
    }

    /// Returns the desk, to ask at.
    pub(super) fn desk(&self) -> Arc<dyn Desk> {
        Arc::new(self.desk.clone())
    }

    /// Withdraws what still waits, and takes the session off the list.
    pub(super) async fn close(self) {
        self.desk.close();
        // A clerk that panicked has withdrawn everything too.
        self.clerk.await.ok();
        drop(self.registered);
    }
}

impl Wait {
    /// Returns when a question is worth asking.
    pub(super) fn patience(self, home: &Home) -> Patience {
        match self {
            Self::ForAnybody => Patience::ForAnybody,
            Self::WhileAttended => Patience::WhileAttended(Arc::new(People(home.clone()))),
        }
    }

    /// Says what becomes of calls that need a person, for the header of a session.
    pub(super) fn header(self, home: &Home) -> Result<String, Failure> {
        let is_attended = ic_escalation::is_anybody_there(home)?;
        Ok(match (self, is_attended) {
            (_, true) => "desk: somebody is there; calls that need a person wait for them",
            (Self::ForAnybody, false) => {
                "desk: nobody is there; calls that need a person wait until somebody answers, with \
                 `ironcurtain approvals`"
            }
            (Self::WhileAttended, false) => {
                "desk: nobody is there, so calls that need a person are denied; \
                 `ironcurtain approvals watch --desk` in another terminal lets you answer, and \
                 `--wait` lets calls wait"
            }
        }
        .to_owned())
    }
}

impl Attendance for People {
    fn is_anybody_there(&self) -> Result<bool, FileError> {
        ic_escalation::is_anybody_there(&self.0)
    }
}
