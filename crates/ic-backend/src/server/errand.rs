//! A server that is started for one call, and ends with it.
//!
//! It is met and asked once; its tools are not listed, since they are those of the long-lived one.
//! What it sees was worked out before, and whether the call may be made was decided before that.

use std::sync::Arc;

use ic_audit::{Recorded, Redactor};
use ic_confine::Confinement;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection::Connection;
use super::deeds::Deeds;
use super::{START_MAX, Server, Yard, handshake, process};
use crate::aids::Aids;
use crate::launch::LaunchFault;
use crate::one_shot::OneShot;

/// A server that runs for one call.
///
/// One that is dropped is ended as well, but nobody waits for that.
#[derive(Debug)]
pub(crate) struct Errand {
    pub connection: Arc<Connection>,
    running: process::Running,
    deeds: Arc<Deeds>,
    aids: Option<Arc<Aids>>,
    tasks: TaskTracker,
    slot: OwnedSemaphorePermit,
}

/// A server that did not start for a call.
#[derive(Debug)]
pub(crate) enum NoErrand {
    /// Nobody wants it any more.
    Cancelled,
    /// No cage can show what the call is about.
    Unshowable(String),
    /// It does not start.
    Failed(String),
}

impl Server {
    /// Starts the server once more, for one call; waits if too many run that way.
    pub(crate) async fn start_once(
        self: &Arc<Self>,
        one_shot: &OneShot,
        cancel: &CancellationToken,
    ) -> Result<Errand, NoErrand> {
        let slots = Arc::clone(&self.yard.errands);
        let slot = match cancel.run_until_cancelled(slots.acquire_owned()).await {
            None => return Err(NoErrand::Cancelled),
            Some(Err(_)) => return Err(NoErrand::Failed("the session ends".to_owned())),
            Some(Ok(slot)) => slot,
        };
        let failed = |why: String| NoErrand::Failed(why);
        let spec = self.recipe.one_shot(one_shot).map_err(|fault| match fault {
            LaunchFault::Torn { .. } => NoErrand::Unshowable(fault.to_string()),
            fault => failed(fault.to_string()),
        })?;
        let tasks = self.yard.tasks.clone();
        let view = one_shot.view.clone();
        let deeds = Arc::new(Deeds::new(view, self.recipe.confinement(), tasks.clone()));
        // SECURITY: a page is fetched without anything that is the user's.
        let aids = one_shot.reach.as_ref().filter(|_| self.is_git()).map(|_| {
            let Yard { lender, log, .. } = &*self.yard;
            let (name, lender, log) = (self.name.clone(), Arc::clone(lender), Arc::clone(log));
            Arc::new(Aids::new(name, lender, log, tasks.clone()))
        });
        let (server, lent) = (Arc::clone(self), aids.clone());
        // It has nothing to say but what it complains about, and what was lent to it is not told.
        let tell = move |news| {
            if let super::ServerNews::Wrote(line) = news {
                let line = match &lent {
                    Some(aids) => aids.hide(line),
                    None => line,
                };
                server.news(super::ServerNews::Wrote(line));
            }
        };
        let (deeds_to, aids_to) = (Some(Arc::clone(&deeds)), aids.clone());
        let host = process::Host { deeds: deeds_to, aids: aids_to, ..self.host() };
        let started = process::start(&host, &spec, tell).map_err(failed)?;
        let process::Started { running, connection, doors } = started;
        if let (Some(doors), Some(allowed)) = (doors, &one_shot.reach) {
            self.serve_doors(doors, allowed.clone(), connection.over().clone());
        }
        let errand = Errand { connection, running, deeds, aids, tasks, slot };
        let meeting = handshake::meet(&errand.connection, &self.yard.stop, START_MAX);
        match cancel.run_until_cancelled(meeting).await {
            Some(Ok(_)) => Ok(errand),
            None => {
                errand.end("cancelled");
                Err(NoErrand::Cancelled)
            }
            Some(Err(error)) => {
                errand.connection.end("it cannot be met");
                // Every word of it is ours: the launcher's, or the server's that is part of us.
                let ending = errand.running.stop().await.in_full();
                Err(failed(format!("{error}{ending}")))
            }
        }
    }
}

impl Errand {
    /// Returns what holds the server.
    pub(crate) fn confinement(&self) -> Confinement {
        self.running.confinement()
    }

    /// Lets the server ask for the deed of its call, and for what is lent to it.
    pub(crate) fn warrant(&self, recorded: &Recorded) {
        self.deeds.warrant(recorded);
        if let Some(aids) = &self.aids {
            aids.lend(recorded);
        }
    }

    /// Returns what hides the secrets that were lent, if any were.
    pub(crate) fn mask(&self) -> Option<Redactor> {
        self.aids.as_ref().and_then(|aids| aids.mask())
    }

    /// Ends the server; its place is free for another one when it is gone.
    pub(crate) fn end(self, why: &str) {
        self.deeds.close();
        if let Some(aids) = &self.aids {
            aids.close();
        }
        self.connection.end(why);
        let Self { running, slot, tasks, .. } = self;
        tasks.spawn(async move {
            running.stop().await;
            drop(slot);
        });
    }
}
