//! The end of a session: begun once, brought to its end whether somebody waits for it or not.
//!
//! What has to be done at last is handed in; the order of desk, servers and log is the same for every kind.

use std::sync::Arc;

use ic_audit::{AuditError, AuditLog};
use ic_broker::Broker;
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use crate::desk::OpenDesk;

/// How far the end of a session has come.
#[derive(Debug)]
pub(crate) struct End(Mutex<Stage>);

#[derive(Debug)]
enum Stage {
    /// Nobody wants it yet.
    Open(Box<Owned>),
    /// It goes on whether somebody waits for it or not, so that the record comes to its end.
    Ending(JoinHandle<Result<(), AuditError>>),
    /// There is nothing left.
    Ended,
}

/// What a session owns until its end.
#[derive(Debug)]
pub(crate) struct Owned {
    pub(crate) desk: OpenDesk,
    pub(crate) broker: Arc<Broker>,
    pub(crate) log: Arc<AuditLog>,
    /// Calls that run; each comes to its end, so that its record does.
    pub(crate) tasks: TaskTracker,
}

impl End {
    /// Makes the end of a session that is open.
    pub(crate) fn of(owned: Owned) -> Self {
        Self(Mutex::new(Stage::Open(Box::new(owned))))
    }

    /// Does what is to be done `before`, and then ends everything that the session owns; the second time there
    /// is nothing left.
    ///
    /// A caller that gives up waiting for it can ask again.
    pub(crate) async fn reach(&self, before: impl Future<Output = ()>) -> Result<(), AuditError> {
        // Held to the end, so that another caller waits for it.
        let mut stage = self.0.lock().await;
        before.await;
        *stage = match std::mem::replace(&mut *stage, Stage::Ended) {
            Stage::Open(owned) => Stage::Ending(tokio::spawn(owned.end())),
            under_way @ (Stage::Ending(_) | Stage::Ended) => under_way,
        };
        let Stage::Ending(ending) = &mut *stage else { return Ok(()) };
        let ended = ending.await;
        *stage = Stage::Ended;
        ended.unwrap_or_else(|error| match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime has ended, and with it everything.
            Err(_) => Ok(()),
        })
    }
}

/// A caller that forgets to close does not hear of it, but leaves nothing that runs.
impl Drop for End {
    fn drop(&mut self) {
        let stage = std::mem::replace(self.0.get_mut(), Stage::Ended);
        if let (Stage::Open(owned), Ok(runtime)) = (stage, Handle::try_current()) {
            runtime.spawn(owned.end());
        }
    }
}

impl Owned {
    pub(crate) async fn end(self) -> Result<(), AuditError> {
        // Before the servers end, which takes a while: nobody should answer what nobody asks.
        self.desk.close().await;
        self.tasks.close();
        self.tasks.wait().await;
        self.broker.close().await;
        tracing::info!("closed");
        self.log.close()
    }
}
