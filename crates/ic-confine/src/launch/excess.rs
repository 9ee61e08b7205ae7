//! Whether a cage uses more than it may: what all of its processes use together, and what it leaves on disks.
//!
//! The kernel limits each process, and counts processes for each user but root. The rest is counted here, now and
//! then; what comes of it is the guard's to say.

use std::path::PathBuf;

use rustix::process::Pid;

use super::{EXIT_EXCESS, EXIT_FULL, EXIT_TOO_MANY, weight};
use crate::cage::{Access, Limits, Relaxation};
use crate::orders::CageOrder;
use crate::rung::Rung;
use crate::table::{self, Kinship};

/// What is counted of one cage.
#[derive(Debug, Default)]
pub(super) struct Excess {
    /// Directories on disks that had enough room when the cage was made.
    with_room: Vec<PathBuf>,
}

impl Excess {
    /// Remembers where there is room; before the cage is made.
    pub(super) fn of(cage: &CageOrder) -> Self {
        let written = cage.spec.seen.iter().filter(|seen| seen.access == Access::Write);
        // What is in it is on the same disk, or is as likely to be full as any other.
        let is_top = |path: &PathBuf| {
            let mut others = cage.spec.seen.iter().filter(|seen| seen.access == Access::Write);
            !others.any(|seen| seen.path != *path && path.starts_with(&seen.path))
        };
        let tops = written.map(|seen| seen.path.clone()).filter(is_top);
        let with_room = tops.filter(|path| !is_full(path, cage.spec.limits));
        Self { with_room: with_room.collect() }
    }

    /// Returns the code to end with if everything below the guard together uses more than the cage may.
    pub(super) fn code(&self, guard: Pid, cage: &CageOrder) -> Option<u8> {
        /// The first process of a cage and bubblewrap.
        const OURS: u64 = 3;
        let limits = cage.spec.limits;
        let family = table::below(guard, &Kinship::now());
        let (mut n_tasks, mut n_bytes) = (0_u64, 0_u64);
        if cage.spec.is_relaxed(Relaxation::MemoryFiles) {
            n_bytes = n_bytes.saturating_add(table::memory_files(&family));
        }
        for usage in family.into_iter().map(table::usage) {
            n_tasks = n_tasks.saturating_add(usage.n_tasks);
            n_bytes = n_bytes.saturating_add(usage.n_bytes);
        }
        let bytes_max = match cage.spec.is_relaxed(Relaxation::MemoryTogether) {
            true => limits.memory_bytes_max,
            false => limits.memory_bytes_max.saturating_mul(2),
        };
        if u64::from(limits.tasks_max) + OURS < n_tasks {
            return Some(EXIT_TOO_MANY);
        }
        if bytes_max < n_bytes || is_heavy(cage) {
            return Some(EXIT_EXCESS);
        }
        self.with_room.iter().any(|path| is_full(path, limits)).then_some(EXIT_FULL)
    }
}

/// Returns whether what is the cage's own is too much, where it is on the host's disk.
fn is_heavy(cage: &CageOrder) -> bool {
    match (cage.rung, &cage.spec.scratch) {
        (Rung::Landlock, Some(scratch)) => {
            weight::exceeds(scratch, cage.spec.limits.scratch_bytes_max)
        }
        (Rung::Namespaces | Rung::Bubblewrap | Rung::Landlock, _) => false,
    }
}

/// Returns whether less is left on the disk of `path` than has to be.
fn is_full(path: &PathBuf, limits: Limits) -> bool {
    let left = rustix::fs::statvfs(path).map(|it| it.f_bavail.saturating_mul(it.f_frsize));
    left.is_ok_and(|left| left < limits.disk_bytes_left_min)
}
