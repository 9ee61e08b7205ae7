//! The clock of a run, which stands still while a person is asked.
//!
//! It does not know whom somebody asks, or why.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// The clock of a run; it stands still while somebody holds it.
#[derive(Debug)]
pub struct Pause {
    state: Mutex<State>,
    changed: Notify,
}

/// A clock that stands still until this is dropped.
#[derive(Debug)]
#[must_use = "the clock goes on when this is dropped"]
pub struct Held<'a>(&'a Pause);

#[derive(Debug)]
struct State {
    n_held: usize,
    /// What was counted before `since`.
    counted: Duration,
    /// Since when it is counting, if it is.
    since: Instant,
}

impl Pause {
    /// A clock that starts now.
    pub fn new() -> Self {
        let state = State { n_held: 0, counted: Duration::ZERO, since: Instant::now() };
        Self { state: Mutex::new(state), changed: Notify::new() }
    }

    /// Stops the clock; it goes on when all that hold it are dropped.
    pub fn hold(&self) -> Held<'_> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.n_held == 0 {
            let counted = state.counted + state.since.elapsed();
            state.counted = counted;
        }
        state.n_held += 1;
        drop(state);
        self.changed.notify_one();
        Held(self)
    }

    /// Returns how much time has counted.
    pub fn counted(&self) -> Duration {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match state.n_held {
            0 => state.counted + state.since.elapsed(),
            _ => state.counted,
        }
    }

    fn is_held(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).n_held != 0
    }

    /// Waits until `limit` has counted. One at a time.
    pub(crate) async fn reach(&self, limit: Duration) {
        loop {
            let changed = self.changed.notified();
            let left = limit.saturating_sub(self.counted());
            match (self.is_held(), left) {
                (false, Duration::ZERO) => return,
                (true, _) => changed.await,
                (false, left) => {
                    // When it was held meanwhile, less has counted, and we look again.
                    tokio::time::timeout(left, changed).await.ok();
                }
            }
        }
    }
}

impl Default for Pause {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.n_held -= 1;
        if state.n_held == 0 {
            state.since = Instant::now();
        }
        drop(state);
        self.0.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[tokio::test(start_paused = true)]
    async fn time_counts_unless_it_is_held() {
        let (start, pause) = (Instant::now(), Pause::new());
        let work = async {
            tokio::time::sleep(s(3)).await;
            let one = pause.hold();
            tokio::time::sleep(s(100)).await;
            let other = pause.hold();
            drop(one);
            tokio::time::sleep(s(100)).await;
            assert_eq!(pause.counted(), s(3));
            drop(other);
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = pause.reach(s(10)) => {}
            () = work => {}
        }
        assert_eq!(start.elapsed(), s(210));
        assert_eq!(pause.counted(), s(10));
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_nobody_holds_runs_out() {
        let (start, pause) = (Instant::now(), Pause::new());
        pause.reach(s(5)).await;
        assert_eq!(start.elapsed(), s(5));
        pause.reach(s(5)).await;
        assert_eq!(start.elapsed(), s(5));
    }
}
