//! The clock of the turns, which stands still while a person is asked.
//!
//! What a person takes to think is no time of the agent's. Whoever asks holds the clock; it does not
//! know whom somebody asks, or why.

use std::fmt;
use std::sync::Arc;

use ic_home::Clock;
use ic_types::Timestamp;
use tokio::sync::watch;

/// The clock of the turns; it stands still while somebody holds it, and is behind from then on.
#[derive(Clone)]
pub struct TurnClock {
    clock: Arc<dyn Clock>,
    state: watch::Sender<State>,
}

/// A clock that stands still until this is dropped.
#[derive(Debug)]
#[must_use = "the clock goes on when this is dropped"]
pub struct Held(TurnClock);

#[derive(Clone, Copy, Debug, Default)]
struct State {
    n_held: usize,
    /// When the first of those that hold it began.
    since: Option<Timestamp>,
    /// For how long it was held before that.
    behind_ms: u64,
}

impl TurnClock {
    /// A clock that goes with `clock` until somebody holds it.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, state: watch::Sender::new(State::default()) }
    }

    /// Returns the time now, without the time in which it was held.
    pub fn now(&self) -> Timestamp {
        let now = self.clock.now();
        let State { n_held: _, since, behind_ms } = *self.state.borrow();
        // A clock that was set back has not moved.
        let shown = since.map_or(now, |since| since.min(now));
        Timestamp::from_unix_ms(shown.unix_ms().saturating_sub(behind_ms))
    }

    /// Stops the clock; it goes on when all that hold it are dropped.
    pub fn hold(&self) -> Held {
        let now = self.clock.now();
        self.state.send_modify(|state| {
            state.n_held = state.n_held.saturating_add(1);
            state.since.get_or_insert(now);
        });
        Held(self.clone())
    }

    /// Waits until nobody holds the clock.
    pub(crate) async fn goes_on(&self) {
        // It ends with an error when there is no sender, and we are one.
        self.state.subscribe().wait_for(|state| state.n_held == 0).await.ok();
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let now = self.0.clock.now();
        self.0.state.send_modify(|state| {
            state.n_held = state.n_held.saturating_sub(1);
            if state.n_held == 0
                && let Some(since) = state.since.take()
            {
                let held_ms = now.unix_ms().saturating_sub(since.unix_ms());
                state.behind_ms = state.behind_ms.saturating_add(held_ms);
            }
        });
    }
}

impl fmt::Debug for TurnClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnClock").field("state", &self.state).finish_non_exhaustive()
    }
}
