//! What approval requests cost within the last day, counted beside the screen that shows it.
//!
//! Nothing waits for it: a screen that stands still because logs are long is worse than an old figure.

use std::collections::HashSet;
use std::time::Duration;

use ic_home::Home;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::commands::approvals::stats::{self, LastDay};
use crate::commands::approvals::unusable;
use crate::error::Failure;

/// How long a count counts, though something has happened since.
const COUNTS_FOR: Duration = Duration::from_secs(15);
/// How long it counts though nothing is known to have happened: calls about which nobody is asked count too.
const COUNTS_AT_MOST: Duration = Duration::from_mins(5);
/// How much longer than a count takes it counts: with long logs the processor has other things to do.
const REST: u32 = 200;

/// Counts now and then.
pub(super) struct Economy {
    home: Home,
    counting: Option<JoinHandle<(Result<LastDay, Failure>, Duration)>>,
    is_old: bool,
    /// When it may be counted again, and when it has to be.
    again: (Instant, Instant),
    /// What was complained about.
    complaints: HashSet<String>,
}

impl Economy {
    pub(super) fn of(home: &Home) -> Self {
        let (again, complaints) = ((Instant::now(), Instant::now()), HashSet::new());
        Self { home: home.clone(), counting: None, is_old: true, again, complaints }
    }

    /// Takes in that something has happened that counts.
    pub(super) fn is_old(&mut self) {
        self.is_old = true;
    }

    /// Returns whether nobody has complained so before.
    pub(super) fn is_new(&mut self, complaint: &str) -> bool {
        self.complaints.insert(complaint.to_owned())
    }

    /// Begins to count, if that is worth it.
    pub(super) fn count(&mut self) {
        let ((may, must), now) = (self.again, Instant::now());
        if self.counting.is_some() || now < may || (!self.is_old && now < must) {
            return;
        }
        self.is_old = false;
        let home = self.home.clone();
        self.counting = Some(tokio::task::spawn_blocking(move || {
            let since = Instant::now();
            (stats::of_last_day(&home), since.elapsed())
        }));
    }

    /// Waits for the count that was begun; for ever if there is none.
    pub(super) async fn counted(&mut self) -> Result<LastDay, Failure> {
        let Some(counting) = &mut self.counting else { return std::future::pending().await };
        let counted = counting.await;
        self.counting = None;
        let (counted, took) = counted.map_err(|error| unusable(&error))?;
        let (now, rest) = (Instant::now(), took * REST);
        self.again = (now + COUNTS_FOR.max(rest), now + COUNTS_AT_MOST.max(rest));
        counted
    }
}
