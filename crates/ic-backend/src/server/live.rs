//! A server that runs: how it is reached, what it sees, and its tools as they were listed last.
//!
//! It is not asked anything here, and what becomes of it when it ends is the server's to say.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use ic_confine::Confinement;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Connection, Guarded, Introduction, ToolTable};
use crate::locked;
use crate::sight::Sight;

/// A server that runs.
#[derive(Debug)]
pub(crate) struct Live {
    pub connection: Arc<Connection>,
    pub introduction: Introduction,
    pub confinement: Confinement,
    /// What it reaches.
    pub sight: Sight,
    /// What is looked after, if it may write where the host looks for what it executes.
    pub guarded: Option<Guarded>,
    tools: Mutex<Arc<ToolTable>>,
    listing: Mutex<Listing>,
    pub(super) since: Instant,
    /// Cancelled when nothing is left of the process, and the server counts as down.
    pub gone: CancellationToken,
    /// Tells this process from all others of the session.
    pub number: u64,
}

/// The number of the next server that runs.
static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// Whether the tools of a running server are being listed again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Listing {
    Rests,
    Runs,
    /// They changed once more meanwhile.
    RunsTwice,
}

impl Live {
    pub(super) fn new(
        connection: Arc<Connection>,
        introduction: Introduction,
        confinement: Confinement,
        (sight, guarded): (Sight, Option<Guarded>),
        tools: ToolTable,
    ) -> Self {
        Self {
            connection,
            introduction,
            confinement,
            sight,
            guarded,
            tools: Mutex::new(Arc::new(tools)),
            listing: Mutex::new(Listing::Rests),
            since: Instant::now(),
            gone: CancellationToken::new(),
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Returns the tools as they are known now.
    pub(crate) fn tools(&self) -> Arc<ToolTable> {
        Arc::clone(&locked(&self.tools))
    }

    /// Puts other tools in the place of those that are known.
    pub(super) fn change_tools(&self, change: impl FnOnce(&ToolTable) -> ToolTable) {
        let mut tools = locked(&self.tools);
        let changed = change(&tools);
        *tools = Arc::new(changed);
    }

    /// Returns whether the tools are to be listed again now; if that is under way, it is done twice.
    pub(crate) fn begin_listing(&self) -> bool {
        let mut listing = locked(&self.listing);
        let is_resting = *listing == Listing::Rests;
        *listing = if is_resting { Listing::Runs } else { Listing::RunsTwice };
        is_resting
    }

    /// Returns whether the tools are to be listed once more.
    pub(crate) fn end_listing(&self) -> bool {
        let mut listing = locked(&self.listing);
        let is_twice = *listing == Listing::RunsTwice;
        *listing = if is_twice { Listing::Runs } else { Listing::Rests };
        is_twice
    }
}
