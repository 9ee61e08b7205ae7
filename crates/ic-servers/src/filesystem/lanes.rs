//! Whoever changes a file goes one after another; different files do not wait for each other, mostly.
//!
//! Holds for the calls of one server. What other programs do meanwhile is noticed, not prevented.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ic_types::CanonicalPath;

/// How many files can be changed at once; two that share a lane wait for each other.
const N_LANES: usize = 32;

/// The lanes.
#[derive(Debug)]
pub(crate) struct Lanes([Mutex<()>; N_LANES]);

impl Lanes {
    pub(crate) fn new() -> Self {
        Self(std::array::from_fn(|_| Mutex::new(())))
    }

    /// Waits until nobody else changes the file at `path`.
    pub(crate) fn enter(&self, path: &CanonicalPath) -> Option<MutexGuard<'_, ()>> {
        let mut hasher = DefaultHasher::new();
        path.hash(&mut hasher);
        let n_lanes = u64::try_from(N_LANES).ok()?;
        let lane = usize::try_from(hasher.finish() % n_lanes).ok()?;
        // A lane guards no data that could have been left half changed.
        self.0.get(lane).map(|lane| lane.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
