//! Our side of the talk with a server, wherever it runs: what we are to it, and our ends of what is said.
//!
//! How messages get there and back is not known here, and neither is what they mean.

use std::sync::Arc;

use ic_inventory::Asks;
use ic_types::{Json, ServerName};
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

use super::ServerNews;
use super::connection::Connection;
use super::inbox::{Inbox, News};
use super::petitions::{Petitions, Way};

/// How many news of one server wait to be heard: more than it may send in a second.
const NEWS_MAX: usize = 2048;
/// How many messages for the log wait; what comes on top is dropped.
const LOGS_MAX: usize = 64;

/// What every server is talked to with.
#[derive(Debug)]
pub(crate) struct Side<'a> {
    /// The server.
    pub(crate) name: &'a ServerName,
    /// The answer to its `roots/list`.
    pub(crate) roots: &'a Json,
    /// What it may ask of clients.
    pub(crate) asks: Asks,
    /// Where what it asks of them goes, if there may be any.
    pub(crate) petitions: Option<Way>,
    /// Where the tasks that carry its messages run.
    pub(crate) tasks: &'a TaskTracker,
}

/// Our ends: what is asked goes in at the connection and comes out to be sent, what is heard goes into the
/// inbox.
pub(super) struct Ends {
    pub(super) connection: Arc<Connection>,
    pub(super) outgoing: mpsc::Receiver<String>,
    pub(super) inbox: Inbox,
}

impl Side<'_> {
    /// Makes our ends, and tells what is heard besides answers for as long as there is the inbox.
    pub(super) fn open(&self, tell: impl Fn(ServerNews) + Clone + Send + 'static) -> Ends {
        let (connection, outgoing) = Connection::new(self.name.clone(), self.asks);
        let (news, heard) = mpsc::channel(NEWS_MAX);
        let (logs, logged) = mpsc::channel(LOGS_MAX);
        let petitions = self.petitions.clone().map(|way| Petitions::new(self.name.clone(), way));
        let inbox = Inbox::new(Arc::clone(&connection), self.roots.clone(), news, logs)
            .with_petitions(petitions);
        self.tasks.spawn(pass_on(heard, tell.clone()));
        self.tasks.spawn(pass_on(logged, tell));
        Ends { connection, outgoing, inbox }
    }
}

/// Passes on what the server said of its own accord.
async fn pass_on(mut heard: mpsc::Receiver<News>, tell: impl Fn(ServerNews)) {
    while let Some(news) = heard.recv().await {
        tell(ServerNews::Said(news));
    }
}
