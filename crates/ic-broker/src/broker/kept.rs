//! Calls of servers that may write where the host looks for what it executes: looked after on both sides.
//!
//! Before the call all that counts is read-only in the cage that runs, or the server is started anew. After
//! it, what appeared or was moved is put back, with every such server ended first, so that nobody is
//! writing there. What counts, and how it is put back, is in `planted`.

use std::sync::Arc;

use ic_audit::Entry;
use ic_resolve::RealDisk;
use ic_types::Digest;

use super::{Broker, Reply};
use crate::locked;
use crate::planted::{PutBack, Survey, Uncovered, put_back};
use crate::refusal::{Refusal, RefusalKind};
use crate::server::{Live, Server};

/// A call during which a server is looked after.
#[derive(Debug)]
pub(super) struct Watched {
    live: Arc<Live>,
    /// How it was before this call, and before every other one that was under way when it began.
    before: Arc<Survey>,
}

impl Watched {
    /// Looks at the ground of a server before a call; `None` if it has none.
    pub(super) async fn begin(
        broker: &Broker,
        server: &Server,
        live: &Arc<Live>,
    ) -> Result<Option<Self>, Refusal> {
        let Some(kept) = live.sight.kept().map(Arc::clone) else { return Ok(None) };
        let judge = Arc::clone(&broker.judge);
        let looking = tokio::task::spawn_blocking(move || kept.before(&judge, &RealDisk));
        let why = match looking.await {
            Ok(Ok(survey)) => {
                let before = locked(&live.watching).join(survey);
                return Ok(Some(Self { live: Arc::clone(live), before }));
            }
            Ok(Err(Uncovered::Appeared(path))) => format!(
                "`{path}` appeared or was replaced, and programs on this machine run it or take orders from \
                 it; it becomes read-only for this server"
            ),
            Ok(Err(Uncovered::Fault(fault))) => fault.to_string(),
            Err(error) => error.to_string(),
        };
        live.connection.end(&why);
        let reason = format!("the server `{}` is started anew: {why}; try again", server.name);
        broker.witness.notice(&reason);
        Err(Refusal::structural(RefusalKind::Denied, "server-unavailable", reason))
    }

    /// Looks at the ground after the call; returns what had to be put back.
    ///
    /// A server that did not answer is ended first: nobody knows what it is still doing.
    pub(super) async fn end(self, broker: &Broker, is_answered: bool) -> Option<PutBack> {
        let kept = Arc::clone(self.live.sight.kept()?);
        if !is_answered {
            self.live
                .connection
                .end("a call was not answered, and this server may still be writing");
            self.live.gone.cancelled().await;
        }
        let (judge, before) = (Arc::clone(&broker.judge), Arc::clone(&self.before));
        let looking = tokio::task::spawn_blocking({
            let (kept, judge, before) =
                (Arc::clone(&kept), Arc::clone(&judge), Arc::clone(&before));
            move || Survey::of(&kept.ground, &judge, &RealDisk).map(|after| before.differs(&after))
        });
        if let Ok(Ok(false)) = looking.await {
            return None;
        }
        // SECURITY: what is moved back is no longer a mount in any cage that runs.
        let running = broker.servers.values().filter_map(|server| server.running());
        for live in running.filter(|live| live.sight.kept().is_some()) {
            live.connection.end("what programs on this machine run was changed, and is put back");
            live.gone.cancelled().await;
        }
        self.live.gone.cancelled().await;
        let quarantine = broker.quarantine.clone();
        let putting =
            tokio::task::spawn_blocking(move || put_back(&kept, &before, &judge, &quarantine));
        let done = putting.await.unwrap_or_else(|error| PutBack {
            failed: vec![error.to_string()],
            ..PutBack::default()
        });
        Some(done)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        locked(&self.live.watching).leave();
    }
}

impl Broker {
    /// Records and answers a call after which something was put back.
    pub(super) fn put_back(&self, done: &PutBack, entry: Entry, call: Digest) -> Reply {
        let server = entry.server.as_ref().map_or("", |server| server.as_str());
        let (why, reason) = (done.told(server), done.told_in_full(server));
        self.witness.violation(&reason);
        self.witness.notice(&reason);
        self.failed_with(&why, Entry { reason: Some(Arc::from(reason)), ..entry }, call)
    }
}
