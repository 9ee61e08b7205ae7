//! A call during which a server is looked after: its ground is looked at before and afterwards.
//!
//! What counts, and how it is put back, is in `planted`; when it is looked at besides is in `server/warden.rs`.

use std::sync::Arc;

use super::{Live, Looked, Moment, Server};
use crate::backend::NoPlan;
use crate::planted::PutBack;

/// A call during which a server is looked after.
#[derive(Debug)]
pub(crate) struct Watched {
    server: Arc<Server>,
    live: Arc<Live>,
}

impl Watched {
    /// Looks at the ground of a server before a call; `None` if it has none.
    pub(crate) async fn begin(
        server: &Arc<Server>,
        live: &Arc<Live>,
    ) -> Result<Option<Self>, NoPlan> {
        let Some(guarded) = &live.guarded else { return Ok(None) };
        match server.look(live, Moment::Before).await {
            Looked::Same => {
                guarded.begin_call();
                Ok(Some(Self { server: Arc::clone(server), live: Arc::clone(live) }))
            }
            Looked::Anew(why) => {
                let reason =
                    format!("the server `{}` is started anew: {why}; try again", server.name);
                server.yard.warden.witness.notice(&reason);
                Err(NoPlan::Unavailable(reason))
            }
            Looked::PutBack(done) => Err(NoPlan::PutBack(done)),
        }
    }

    /// Looks at the ground after the call; returns what had to be put back.
    ///
    /// A server that did not answer goes on, and is looked after as before.
    pub(crate) async fn end(self) -> Option<PutBack> {
        let is_over = || self.live.connection.over().is_cancelled();
        for _ in 0..2 {
            let was_over = is_over();
            if was_over {
                // The task that sees the server end makes the comparison and leaves reporting to this one.
                self.live.gone.cancelled().await;
            }
            match self.server.look(&self.live, Moment::After).await {
                Looked::PutBack(done) => return Some(done),
                Looked::Same | Looked::Anew(_) if is_over() && !was_over => {}
                Looked::Same | Looked::Anew(_) => return None,
            }
        }
        None
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(guarded) = &self.live.guarded {
            guarded.end_call();
        }
    }
}
