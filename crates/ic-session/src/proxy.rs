//! The session of a client: its calls come over MCP, and go through the broker.
//!
//! How the client is spoken with is known in `ic_client`; this is what it is served from, and what ends.

use std::sync::Arc;

use ic_broker::Broker;
use ic_escalation::{Pending, Reply, Told};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::end::{End, Owned};
use crate::ground::{Ground, Identity};
use crate::news::{Event, News};
use crate::questions::Questions;
use crate::session::{Closing, Info, ResolveError, SessionError, SessionHandle, Status};

/// A session whose agent is a client, or several.
#[derive(Debug)]
pub struct ProxySession {
    identity: Identity,
    broker: Arc<Broker>,
    news: Arc<News>,
    questions: Questions,
    end: End,
    /// Cancelled when the session ends.
    stop: CancellationToken,
}

impl ProxySession {
    /// Makes the session on its ground; `news` must be told what its witness is told.
    pub fn new(ground: Ground, news: Arc<News>) -> Self {
        let Ground { identity, broker, log, desk, .. } = ground;
        let questions = Questions::of(desk.entry().clone());
        // What a client's calls run in is the client's to wait for.
        let tasks = TaskTracker::new();
        let end = End::of(Owned { desk, broker: Arc::clone(&broker), log, tasks });
        Self { identity, broker, news, questions, end, stop: CancellationToken::new() }
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
            self.end.reach(async {}).await.map_err(SessionError::CloseFailed)
        })
    }
}
