//! Where a session's code runs: a sandbox whose only way out is the broker.
//!
//! Used by the built-in agent, and by a script that a person runs without a model. It knows no model.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ic_agent::TurnClock;
use ic_audit::{AuditError, Redactor};
use ic_confine::{Confinement, Hold, Launcher};
use ic_escalation::{Pending, Reply, Told, UserContext};
use ic_sandbox::{Called, Calls as _, Limits, Pause, Run, Sandbox, SandboxSpec, Script, cage};
use ic_types::{Object, ToolCall};
use tokio::sync::{broadcast, mpsc};
use tokio_util::sync::CancellationToken;

use crate::calls::BrokerCalls;
use crate::directory::SessionDirectory;
use crate::end::{End, Owned};
use crate::ground::{Ground, Identity};
use crate::news::{Event, News};
use crate::questions::Questions;
use crate::repository::{self, NotCloned};
use crate::session::{Closing, Info, ResolveError, SessionError, SessionHandle, Status};

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
    identity: Identity,
    redactor: Arc<Redactor>,
    /// What the person said last.
    pub(crate) context: Arc<UserContext>,
    sandbox: Sandbox,
    calls: BrokerCalls,
    end: End,
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
        let Ground { identity, directory, broker, log, desk, redactor, context } = ground;
        let sandbox = Sandbox::new(SandboxSpec {
            launcher,
            arguments: vec![WORKER.into()],
            hold: hold(confinement, directory.worker()),
            limits: Limits::DEFAULT,
        });
        // Ready while the model thinks, or the servers start.
        sandbox.prepare();
        let calls = BrokerCalls::new(Arc::clone(&broker), Arc::clone(&news));
        let stop = CancellationToken::new();
        calls.warm_up(stop.clone());
        let questions = Questions::of(desk.entry().clone());
        let end = End::of(Owned { desk, broker, log, tasks: calls.tasks() });
        Self { directory, news, questions, identity, redactor, context, sandbox, calls, end, stop }
    }

    /// Runs a script after which no other comes.
    pub async fn run(&self, script: &Script, cancel: &CancellationToken) -> Run {
        self.sandbox.run_last(script, &self.calls, cancel).await
    }

    /// Makes one call for a person's command; it is judged and recorded as a script's would be.
    pub async fn call(&self, call: ToolCall, cancel: &CancellationToken) -> Called {
        self.calls.call(call, &Pause::new(), cancel).await
    }

    /// Runs a script of an agent, who may have another one soon.
    pub(crate) async fn run_one_of_many(&self, script: &Script, cancel: &CancellationToken) -> Run {
        self.sandbox.run(script, &self.calls, cancel).await
    }

    /// Returns the number of the process that guards the worker for the next script, once there is one.
    pub fn spare(&self) -> Option<u32> {
        self.sandbox.spare()
    }

    /// Returns what scripts print from now on, as it comes: text of a stranger.
    pub fn prints(&self) -> mpsc::Receiver<String> {
        self.calls.prints()
    }

    /// Returns what knows our keys.
    pub(crate) fn redactor(&self) -> Arc<Redactor> {
        Arc::clone(&self.redactor)
    }

    /// Returns the clock that stands still while a person is asked.
    pub(crate) fn clock(&self) -> TurnClock {
        self.calls.clock()
    }

    /// Returns the names of the servers, and what the rules of the policy say.
    pub(crate) fn surroundings(&self) -> (Vec<String>, Vec<String>) {
        self.calls.surroundings()
    }

    /// Records a request to a model.
    pub(crate) fn record_completion(&self, told: Object, duration: Duration) {
        self.calls.record_completion(told, duration);
    }

    /// Returns whether the policy lets a call through by itself; nothing is called, asked or recorded.
    pub fn would_allow(&self, call: ToolCall) -> bool {
        self.calls.would_allow(call)
    }

    /// Clones the repository that a person named into the sandbox, before anything is said.
    pub async fn clone_typed(
        &self,
        url: &str,
        cancel: &CancellationToken,
    ) -> Result<String, NotCloned> {
        repository::clone(&self.calls, url, cancel).await
    }

    /// Returns the reasons of the calls that were denied since this was asked last.
    pub(crate) fn take_denials(&self) -> Vec<String> {
        self.calls.take_denials()
    }

    /// Ends everything that runs, and then the record; the second time there is nothing left.
    ///
    /// A caller that gives up waiting for it can close again.
    pub async fn close(&self) -> Result<(), AuditError> {
        self.stop.cancel();
        let before = async {
            self.sandbox.close().await;
            self.calls.let_go();
        };
        self.end.reach(before).await
    }
}

impl SessionHandle for Workbench {
    fn info(&self) -> Info {
        let status = if self.stop.is_cancelled() { Status::Closed } else { Status::Ready };
        self.identity.info(status)
    }

    fn events(&self) -> broadcast::Receiver<Event> {
        self.news.subscribe()
    }

    fn pending_escalations(&self) -> Vec<Pending> {
        self.questions.pending()
    }

    fn resolve_escalation(&self, shown: &Pending, reply: &Reply) -> Result<Told, ResolveError> {
        self.questions.resolve(shown, reply)
    }

    fn close(&self) -> Closing<'_> {
        Box::pin(async move { Self::close(self).await.map_err(SessionError::CloseFailed) })
    }
}

/// A caller that forgets to close leaves nothing that runs.
impl Drop for Workbench {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

pub(crate) fn hold(confinement: Confinement, scratch: PathBuf) -> Hold {
    match confinement {
        Confinement::Cage(rung) => Hold::Caged(rung, cage(scratch)),
        Confinement::None => Hold::Free,
    }
}
