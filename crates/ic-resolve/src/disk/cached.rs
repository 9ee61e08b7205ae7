//! What the kernel knows of the disk without asking it: answers at once, or not at all.
//!
//! A file system can take any time to answer: one on another machine, one that a program serves, a disk
//! that is failing. Asked like this it is not asked, so the thread that serves everybody may look.

use std::cell::Cell;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::ResolveFlags;

use super::{Disk, Entry, Kind, is_absence, look_at_once};

/// A disk that is only remembered.
///
/// Once a question could not be answered, none is any more: whatever was found out is to be thrown
/// away, and found out with the disk itself.
#[derive(Debug, Default)]
pub struct CachedDisk {
    has_missed: Cell<bool>,
}

impl CachedDisk {
    /// Returns whether a question could not be answered from memory.
    pub fn has_missed(&self) -> bool {
        self.has_missed.get()
    }

    fn miss<T>(&self) -> io::Result<T> {
        self.has_missed.set(true);
        Err(io::ErrorKind::WouldBlock.into())
    }
}

impl Disk for CachedDisk {
    fn look(&self, path: &Path) -> io::Result<Option<Entry>> {
        if self.has_missed.get() {
            return self.miss();
        }
        match look_at_once(path, ResolveFlags::CACHED) {
            Ok(entry) => Ok(Some(entry)),
            Err(error) if is_absence(error) => Ok(None),
            // Also where the system does not know the question.
            Err(_) => self.miss(),
        }
    }

    fn read_link(&self, _path: &Path) -> io::Result<PathBuf> {
        self.miss()
    }

    fn read_file(&self, _path: &Path, _bytes_max: usize) -> io::Result<Option<Vec<u8>>> {
        self.miss()
    }

    fn list(&self, _path: &Path, _n_max: usize) -> io::Result<Vec<(OsString, Kind)>> {
        self.miss()
    }

    fn look_straight(&self, path: &Path) -> Option<Entry> {
        match self.has_missed.get() {
            true => None,
            false => look_at_once(path, ResolveFlags::CACHED | ResolveFlags::NO_SYMLINKS).ok(),
        }
    }

    fn may_wait(&self) -> bool {
        false
    }

    fn give_up(&self) {
        self.has_missed.set(true);
    }
}
