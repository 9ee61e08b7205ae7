//! What lies over the host's files in a cage, and whether it still lies where it was put.
//!
//! The system takes a mount away when somebody outside removes or replaces what it lies on, as an
//! editor does that saves a file. Then what was hidden shows, or what was kept can be written; so a
//! guard that sees such a thing ends the cage. It puts nothing back.

use std::path::PathBuf;

use rustix::fs::{AtFlags, CWD};

use crate::cage::CageSpec;
use crate::orders::{CageOrder, Identity};

/// The places where something lies over the host's files, and what was there.
pub(super) struct Covers(Vec<(PathBuf, Option<Identity>)>);

impl Covers {
    /// Remembers what is there now; before the cage is made.
    pub(super) fn of(order: &CageOrder) -> Self {
        let places = match order.rung.can_hide() {
            true => places(&order.spec),
            false => Vec::new(),
        };
        let looked_at = places.into_iter().map(|path| {
            let identity = look(&path);
            (path, identity)
        });
        Self(looked_at.collect())
    }

    /// Returns whether nothing lies over the host's files.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether something else is at one of the places now.
    pub(super) fn have_shifted(&self) -> bool {
        self.0.iter().any(|(path, before)| look(path) != *before)
    }
}

/// Returns what is hidden, what is seen within something else that is seen, what something else stands for, and
/// what is to stay absent.
fn places(spec: &CageSpec) -> Vec<PathBuf> {
    let is_nested = |path: &PathBuf| {
        spec.seen.iter().any(|seen| seen.path != *path && path.starts_with(&seen.path))
    };
    let seen = spec.seen.iter().map(|seen| &seen.path);
    let placed = spec.placed.iter().map(|placed| &placed.at);
    let covered = seen.chain(&spec.hidden).chain(placed).filter(|path| is_nested(path));
    // What is not there has no cover, and is not to be seen when it comes.
    covered.chain(&spec.absent).cloned().collect()
}

fn look(path: &PathBuf) -> Option<Identity> {
    let stat = rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(Identity { device: stat.st_dev, file: stat.st_ino })
}
