//! What the client was asked and has not answered yet.
//!
//! Each worker asks one thing at a time and waits, so there are never more questions than workers. An
//! answer to nothing is dropped. Nothing is written here.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ic_mcp::{Id, Outcome, Response};

use crate::tools::NoAnswer;

/// The questions.
#[derive(Debug)]
pub(super) struct Questions(Mutex<State>);

#[derive(Debug)]
struct State {
    n_asked: u64,
    waiting: HashMap<u64, SyncSender<Outcome>>,
    is_closed: bool,
}

impl Questions {
    pub(super) fn new() -> Self {
        Self(Mutex::new(State { n_asked: 0, waiting: HashMap::new(), is_closed: false }))
    }

    /// Puts a question; returns its number, and where the answer comes.
    pub(super) fn put(&self) -> Result<(u64, Receiver<Outcome>), NoAnswer> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(NoAnswer);
        }
        state.n_asked += 1;
        let (tell, answer) = sync_channel(1);
        let number = state.n_asked;
        state.waiting.insert(number, tell);
        Ok((number, answer))
    }

    /// Takes an answer to whoever waits for it.
    pub(super) fn answer(&self, response: Response) {
        let number = response.id.as_ref().and_then(Id::as_number);
        let waiting = number.and_then(|number| self.lock().waiting.remove(&number));
        if let Some(waiting) = waiting {
            // There is room for the one answer.
            waiting.try_send(response.outcome).ok();
        }
    }

    /// Says that nothing is answered any more; nobody waits any longer.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        state.waiting.clear();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing in here can panic half-way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
