//! Keeps a cage that connects over and over from filling the ledger.
//!
//! A burst passes at once; beyond it connections wait their turn. None is refused.

use std::sync::Mutex;
use std::time::Duration;

use ic_types::locked;
use tokio::time::{Instant, sleep_until};

/// How many connections may be opened at once before they are spread out.
const BURST: u32 = 256;
/// How far apart they are then.
const STEP: Duration = Duration::from_millis(20);

/// When the connections of one cage may be opened.
#[derive(Debug)]
pub(crate) struct Pace {
    /// When all that were opened so far would have been, had they been spread out.
    until: Mutex<Instant>,
}

impl Pace {
    pub(crate) fn new() -> Self {
        Self { until: Mutex::new(Instant::now()) }
    }

    /// Waits for the turn of the next connection.
    pub(crate) async fn turn(&self) {
        let turn = {
            let mut until = locked(&self.until);
            *until = (*until).max(Instant::now()) + STEP;
            until.checked_sub(STEP * BURST)
        };
        if let Some(turn) = turn {
            sleep_until(turn).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_passes_and_then_it_goes_slowly() {
        let pace = Pace::new();
        let start = Instant::now();
        for _ in 0..BURST {
            pace.turn().await;
        }
        assert_eq!(start.elapsed(), Duration::ZERO);
        for _ in 0..100 {
            pace.turn().await;
        }
        assert!(STEP * 100 <= start.elapsed(), "{:?}", start.elapsed());
        // Whoever waits long enough may burst again.
        tokio::time::advance(STEP * BURST).await;
        let start = Instant::now();
        for _ in 0..BURST {
            pace.turn().await;
        }
        assert!(start.elapsed() <= STEP, "{:?}", start.elapsed());
    }
}
