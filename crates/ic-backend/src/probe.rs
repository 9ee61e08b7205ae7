//! Looks at one server outside a session: starts it, meets it, lists its tools, and ends it.
//!
//! Nothing is trusted or recorded by that, and no tool is called. Whether the server may be started at
//! all, because it is new or started in another way than it was trusted to, is for the caller to know.

use std::sync::Arc;

use ic_confine::{Confinement, Launcher};
use ic_egress::{Closed, Egress, Ledger, LedgerError, Refused, SystemResolver};
use ic_inventory::servers_file::Start;
use ic_inventory::tool::{Tool, UnusableTool};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::launch::{LaunchFault, Recipe};
use crate::roots;
use crate::server::handshake::meet_and_list;
use crate::server::running::Running;
use crate::server::side::Side;
use crate::server::{Connection, Introduction, START_MAX, process, remote};

/// A server that was looked at.
#[derive(Debug)]
pub struct Probed {
    /// What it says of itself.
    pub introduction: Introduction,
    /// Its tools, sorted by name.
    pub tools: Vec<Tool>,
    /// What it lists besides and cannot be used.
    pub unusable: Vec<UnusableTool>,
    /// How long it took until the tools were known.
    pub start_ms: u64,
    /// What kept it from doing harm.
    pub confinement: Confinement,
}

/// A server that could not be looked at.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ProbeError {
    /// It cannot be written out how it is started.
    #[error(transparent)]
    Launch(#[from] LaunchFault),
    /// It did not start, or did not answer as the protocol says; with its last words, if it had any.
    #[error("{0}")]
    Server(String),
}

/// For connections that a person makes to look at a server: no session has a log for them.
struct Unrecorded;

impl Ledger for Unrecorded {
    fn opened(&self, _: &ic_egress::Connection) -> Result<(), LedgerError> {
        Ok(())
    }

    fn refused(&self, _: &Refused) {}

    fn closed(&self, _: &ic_egress::Connection, _: &Closed) {}
}

/// Starts the server, meets it, lists its tools, and ends it whatever came of that.
///
/// It reaches no other machine meanwhile, even if its entry names some; one that is on another machine is
/// connected to, and checked like any other connection that leaves.
///
/// It is held as a session would hold it, in directories that must exist. Must be called within a
/// runtime. If the returned future is dropped, the server is ended too.
pub async fn probe(recipe: &Recipe, launcher: &Launcher) -> Result<Probed, ProbeError> {
    let tasks = TaskTracker::new();
    let roots = roots::result(std::iter::once(recipe.lent.sandbox.as_path()));
    let side = Side {
        name: &recipe.name,
        roots: &roots,
        asks: recipe.config.asks,
        petitions: None,
        tasks: &tasks,
    };
    if let Start::Url(_) = recipe.config.start {
        let spec = recipe.remote()?;
        let egress =
            Egress::new(Arc::new(SystemResolver::new()), Arc::new(Unrecorded), tasks.clone());
        let (remote, connection) =
            remote::start(&side, &egress, spec, |_| {}).map_err(ProbeError::Server)?;
        return look(&connection, Running::Remote(remote)).await;
    }
    let spec = recipe.child()?;
    let host = process::Host { side, launcher, deeds: None, aids: None };
    let process::Started { running, connection, doors } =
        process::start(&host, &spec, |_| {}).map_err(ProbeError::Server)?;
    if let Some(doors) = doors {
        // Nobody would record what leaves its cage, so nothing does: they are taken in and closed.
        tasks.spawn(async { drop(doors.come().await) });
    }
    look(&connection, Running::Process(Box::new(running))).await
}

/// Meets a server that was begun to be talked to, lists its tools, and ends it.
async fn look(connection: &Connection, running: Running) -> Result<Probed, ProbeError> {
    let (since, confinement) = (Instant::now(), running.confinement());
    let met = meet_and_list(connection, &CancellationToken::new(), START_MAX).await;
    let start_ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
    connection.end("it was looked at");
    let words = running.stop().await.in_full();
    let (introduction, tools, unusable) =
        met.map_err(|error| ProbeError::Server(format!("{error}{words}")))?;
    Ok(Probed { introduction, tools, unusable, start_ms, confinement })
}
