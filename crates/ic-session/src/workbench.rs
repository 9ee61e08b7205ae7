//! Where a session's code runs: a sandbox whose only way out is the broker.
//!
//! Used by the built-in agent, and by a script that a person runs without a model. It knows no model.

use std::path::PathBuf;
use std::sync::Arc;

use ic_audit::AuditError;
use ic_confine::{Confinement, Hold, Launcher};
use ic_sandbox::{Limits, Run, Sandbox, SandboxSpec, Script, cage};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::calls::BrokerCalls;
use crate::desk::OpenDesk;
use crate::directory::SessionDirectory;
use crate::ground::Ground;
use crate::news::News;
use crate::questions::Questions;

/// The word after which this program is a worker of the code sandbox.
pub const WORKER: &str = "code-worker";

/// What runs code under policy.
#[derive(Debug)]
pub struct Workbench {
    /// The session's directory.
    pub directory: SessionDirectory,
    /// What happens.
    pub news: Arc<News>,
    /// What waits for a person.
    pub questions: Questions,
    sandbox: Sandbox,
    calls: BrokerCalls,
    desk: Mutex<Option<OpenDesk>>,
    /// Cancelled when the session ends.
    stop: CancellationToken,
}

impl Workbench {
    /// Sets it up on the ground of a session.
    pub fn new(
        ground: Ground,
        news: Arc<News>,
        launcher: Launcher,
        confinement: Confinement,
    ) -> Self {
        let Ground { directory, broker, desk } = ground;
        let sandbox = Sandbox::new(SandboxSpec {
            launcher,
            arguments: vec![WORKER.into()],
            hold: hold(confinement, directory.worker()),
            limits: Limits::DEFAULT,
        });
        let calls = BrokerCalls::new(broker, Arc::clone(&news));
        let stop = CancellationToken::new();
        calls.warm_up(stop.clone());
        let questions = Questions::of(desk.entry().clone());
        let desk = Mutex::new(Some(desk));
        Self { directory, news, questions, sandbox, calls, desk, stop }
    }

    /// Runs a script.
    pub async fn run(&self, script: &Script, cancel: &CancellationToken) -> Run {
        self.sandbox.run(script, &self.calls, cancel).await
    }

    /// Returns the reasons of the calls that were denied since this was asked last.
    pub(crate) fn take_denials(&self) -> Vec<String> {
        self.calls.take_denials()
    }

    /// Ends everything that runs, and then the record; the second time there is nothing left.
    pub async fn close(&self) -> Result<(), AuditError> {
        self.stop.cancel();
        // Held to the end, so that whoever closes at the same time waits for it.
        let mut desk = self.desk.lock().await;
        self.sandbox.close().await;
        if let Some(desk) = desk.take() {
            // Before the servers end, which takes a while: nobody should answer what nobody asks.
            desk.close().await;
        }
        match self.calls.end().await {
            Some(broker) => broker.close().await,
            None => Ok(()),
        }
    }
}

fn hold(confinement: Confinement, scratch: PathBuf) -> Hold {
    match confinement {
        Confinement::Cage(rung) => Hold::Caged(rung, cage(scratch)),
        Confinement::None => Hold::Free,
    }
}
