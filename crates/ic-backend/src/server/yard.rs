//! What the servers of a session share, and what is told of them.
//!
//! Nothing is done with it here.

use std::sync::Arc;

use ic_audit::AuditLog;
use ic_confine::{Confinement, Launcher};
use ic_egress::Egress;
use ic_home::Clock;
use ic_inventory::pins::RememberedPins;
use ic_types::{Json, ServerName};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{Introduction, Live, News, Raised, ToolTable, Warden};
use crate::aids::Lender;
use crate::levels::Levels;
use crate::planted::PutBack;

/// What the servers of a session share.
pub(crate) struct Yard {
    pub launcher: Launcher,
    pub pins: RememberedPins,
    pub clock: Arc<dyn Clock>,
    /// What makes the connections that leave cages.
    pub egress: Egress,
    /// What is asked for what is lent to calls.
    pub lender: Arc<Lender>,
    /// The record of what was lent.
    pub log: Arc<AuditLog>,
    /// The answer to a server's `roots/list`.
    pub roots: Json,
    /// Where a server's news go.
    pub news: mpsc::Sender<(ServerName, ServerNews)>,
    /// Where its own words go: apart, so that one that talks too much drowns nobody's news.
    pub words: mpsc::Sender<(ServerName, ServerNews)>,
    /// Where what servers ask of clients goes.
    pub petitions: mpsc::Sender<Raised>,
    /// How much of what servers log clients want to hear.
    pub levels: Arc<Levels>,
    pub tasks: TaskTracker,
    /// What looks after those that may write where the host looks for what it executes.
    pub warden: Warden,
    /// The places of servers that are started for one call.
    pub errands: Arc<Semaphore>,
    /// Cancelled when the session ends.
    pub stop: CancellationToken,
}

/// What happens to a server, besides calls.
#[derive(Debug)]
pub enum ServerNews {
    /// It runs, and its tools are known.
    Up(Box<Up>),
    /// It does not run any more, or could not be started.
    Down(String),
    /// Its identity was recorded for the first time, with so many tools.
    Recorded(usize),
    /// Its tools were listed again.
    Listed,
    /// It said something.
    Said(News),
    /// It wrote to its standard error.
    Wrote(String),
    /// It changed what the host executes, which was put back, and no call of it can tell.
    Planted(PutBack),
}

/// A server that runs by now.
#[derive(Debug)]
pub struct Up {
    /// What it says of itself.
    pub introduction: Introduction,
    /// What holds it.
    pub confinement: Confinement,
    /// Its tools.
    pub tools: Arc<ToolTable>,
}

impl Up {
    pub(super) fn of(live: &Live) -> Self {
        let (introduction, confinement) = (live.introduction.clone(), live.confinement);
        Self { introduction, confinement, tools: live.tools() }
    }
}

impl std::fmt::Debug for Yard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Yard").finish_non_exhaustive()
    }
}
