//! The session of a client: its calls come over MCP, and go through the broker.
//!
//! How the client is spoken with is known in `ic_client`; this is what it is served from, and what ends.

use std::sync::Arc;

use ic_broker::Broker;
use ic_client::client::ScriptTool;
use ic_confine::{Confinement, Launcher};
use ic_escalation::{Pending, Reply, Told};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::end::{End, Owned};
use crate::ground::{Ground, Identity};
use crate::news::{Event, News};
use crate::questions::Questions;
use crate::script_tool::RunScript;
use crate::session::{Closing, Info, ResolveError, SessionError, SessionHandle, Status};

/// A session whose agent is a client, or several.
#[derive(Debug)]
pub struct ProxySession {
    identity: Identity,
    broker: Arc<Broker>,
    news: Arc<News>,
    questions: Questions,
    /// What runs scripts, in code mode.
    scripts: Option<Arc<RunScript>>,
    end: End,
    /// Cancelled when the session ends.
    stop: CancellationToken,
}

impl ProxySession {
    /// Makes the session on its ground; `news` must be told what its witness is told.
    ///
    /// With what starts and holds workers, clients are offered one tool that runs scripts: code mode.
    pub fn new(
        ground: Ground,
        news: Arc<News>,
        code_mode: Option<(Launcher, Confinement)>,
    ) -> Self {
        let Ground { identity, directory, broker, log, desk, redactor, .. } = ground;
        let questions = Questions::of(desk.entry().clone());
        let scripts = code_mode
            .map(|workers| RunScript::new((&broker, &redactor), &news, workers, &directory));
        // What a client's own calls run in is the client's to wait for.
        let tasks = scripts.as_ref().map_or_else(TaskTracker::new, |it| it.tasks());
        let end = End::of(Owned { desk, broker: Arc::clone(&broker), log, tasks });
        let stop = CancellationToken::new();
        Self { identity, broker, news, questions, scripts, end, stop }
    }

    /// Returns the tool that is offered instead of all others, in code mode.
    pub fn script_tool(&self) -> Option<Arc<dyn ScriptTool>> {
        self.scripts.clone().map(|it| it as _)
    }

    /// Returns what judges, records and forwards the client's calls.
    pub fn broker(&self) -> Arc<Broker> {
        Arc::clone(&self.broker)
    }
}

impl SessionHandle for ProxySession {
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
        Box::pin(async move {
            self.stop.cancel();
            let before = async {
                if let Some(scripts) = &self.scripts {
                    scripts.close().await;
                }
            };
            self.end.reach(before).await.map_err(SessionError::CloseFailed)
        })
    }
}
