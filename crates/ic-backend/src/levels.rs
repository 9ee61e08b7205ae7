//! How much of the servers' logs clients want to hear, and what servers are told of it.
//!
//! A server hears the lowest level that any client wants; each client is told no more than it asked for,
//! which is the client's own filter's business. What servers log is not seen here.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

use tokio_util::task::TaskTracker;

use crate::locked;
use crate::server::Connection;

/// The least severe message that somebody wants to hear of, as a place in the list of levels.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Level(usize);

const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// Warnings and worse, until a client says otherwise: what servers say is text of strangers.
impl Default for Level {
    fn default() -> Self {
        Self(3)
    }
}

impl Level {
    /// Returns the level that the protocol calls `name`.
    pub fn of(name: &str) -> Option<Self> {
        LEVELS.iter().position(|level| *level == name).map(Self)
    }

    /// Returns what the protocol calls it.
    pub(crate) fn as_str(self) -> &'static str {
        LEVELS.get(self.0).copied().unwrap_or("emergency")
    }
}

/// What the clients of a session want to hear of servers.
#[derive(Debug)]
pub struct Levels {
    state: Mutex<State>,
    tasks: TaskTracker,
}

#[derive(Debug, Default)]
struct State {
    /// The level that each client has set, if it has.
    clients: BTreeMap<u64, Option<Level>>,
    next_client: u64,
    wanted: Wanted,
    /// The servers that have a log.
    servers: Vec<Weak<Connection>>,
}

/// What servers are told.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Wanted {
    /// In a request of its own; nothing until a client has set a level, as without us.
    pub(crate) set: Option<Level>,
    /// With each request, where a server that is told nothing says nothing.
    pub(crate) each: Option<Level>,
}

/// What one client wants; ends with it.
#[derive(Debug)]
pub struct Wish {
    levels: Arc<Levels>,
    client: u64,
}

impl Levels {
    /// Makes it for a session in which nobody wants anything so far.
    pub fn new(tasks: TaskTracker) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), tasks })
    }

    /// Takes in a client that can hear of logs.
    pub fn join(self: &Arc<Self>) -> Wish {
        let mut state = locked(&self.state);
        let client = state.next_client;
        state.next_client += 1;
        state.clients.insert(client, None);
        self.tell(&mut state);
        Wish { levels: Arc::clone(self), client }
    }

    /// Takes in a server that has a log; it is told at once, before anything else is asked of it.
    pub(crate) fn meet(&self, server: &Arc<Connection>) {
        let mut state = locked(&self.state);
        state.servers.retain(|it| it.strong_count() != 0);
        state.servers.push(Arc::downgrade(server));
        server.want_log(state.wanted, &self.tasks);
    }

    /// Tells the servers what is wanted now, if that is not what they were told.
    ///
    /// Under the lock, so that what was wanted last is what was told last.
    fn tell(&self, state: &mut State) {
        let is_set = state.wanted.set.is_some() || state.clients.values().any(Option::is_some);
        // Where nobody is left to hear, the servers may go on as they are.
        let Some(lowest) = state.clients.values().map(|it| it.unwrap_or_default()).min() else {
            return;
        };
        let wanted = Wanted { set: is_set.then_some(lowest), each: Some(lowest) };
        if wanted == state.wanted {
            return;
        }
        state.wanted = wanted;
        for server in state.servers.iter().filter_map(Weak::upgrade) {
            server.want_log(wanted, &self.tasks);
        }
    }
}

impl Wish {
    /// Says what the client wants from now on.
    pub fn set(&self, level: Level) {
        let mut state = locked(&self.levels.state);
        state.clients.insert(self.client, Some(level));
        self.levels.tell(&mut state);
    }
}

impl Drop for Wish {
    fn drop(&mut self) {
        let mut state = locked(&self.levels.state);
        state.clients.remove(&self.client);
        self.levels.tell(&mut state);
    }
}
