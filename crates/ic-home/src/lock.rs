//! Locks between processes: one holder at a time, let go when the holder ends, however it ends.
//!
//! The lock is on an open file, so a process that is killed leaves no stale lock behind; the file
//! itself stays. A lock does not stop a program that does not ask for it.

#![expect(clippy::disallowed_types, reason = "a lock is held by an open file")]

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

use crate::file::{self, Doing, FileError};

/// How often a lock file may be taken away under us before we give up.
const ATTEMPTS_MAX: usize = 64;

/// A lock that is held until it is dropped.
#[derive(Debug)]
#[must_use = "a lock that is dropped is let go"]
pub struct Lock {
    file: File,
    path: PathBuf,
}

/// What to do while somebody else holds the lock.
#[derive(Clone, Copy)]
enum Busy {
    Wait,
    GiveUp,
    /// The same, and others may share it.
    GiveUpShared,
}

impl Lock {
    /// Takes the lock at `path`, waiting for whoever holds it.
    pub fn acquire(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        Self::take(path, Busy::Wait)?.ok_or_else(|| {
            let busy = io::Error::from(io::ErrorKind::ResourceBusy);
            FileError::system(Doing::Lock, path, busy)
        })
    }

    /// Takes the lock at `path`, or returns `None` if somebody else holds it.
    pub fn try_acquire(path: impl AsRef<Path>) -> Result<Option<Self>, FileError> {
        Self::take(path.as_ref(), Busy::GiveUp)
    }

    /// Takes the lock at `path` together with others who share it, or returns `None` if somebody holds it
    /// alone.
    pub fn try_share(path: impl AsRef<Path>) -> Result<Option<Self>, FileError> {
        Self::take(path.as_ref(), Busy::GiveUpShared)
    }

    /// Returns whether somebody holds the lock at `path`; makes no file, and holds nobody up.
    pub fn is_held(path: impl AsRef<Path>) -> Result<bool, FileError> {
        let path = path.as_ref();
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(CWD, path, flags, Mode::empty()) {
            Ok(fd) => File::from(fd),
            Err(Errno::NOENT) => return Ok(false),
            Err(error) => return Err(FileError::system(Doing::Lock, path, error)),
        };
        // Shared, so that two who look at the same time do not take each other for the holder.
        match file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(FileError::system(Doing::Lock, path, error)),
        }
    }

    /// Writes into the lock file, in the place of what is there: who holds it, for people who wonder.
    pub fn note(&self, bytes: &[u8]) -> Result<(), FileError> {
        let failed = |source: io::Error| FileError::system(Doing::Write, &self.path, source);
        self.file.set_len(0).map_err(failed)?;
        self.file.write_all_at(bytes, 0).map_err(failed)
    }

    /// Returns the path of the lock file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn take(path: &Path, busy: Busy) -> Result<Option<Self>, FileError> {
        let failed = |source: io::Error| FileError::system(Doing::Lock, path, source);
        for _ in 0..ATTEMPTS_MAX {
            let file = file::open_lock(path)?;
            let tried = match busy {
                Busy::Wait => match file.lock() {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    locked => locked.map_err(TryLockError::Error),
                },
                Busy::GiveUp => file.try_lock(),
                Busy::GiveUpShared => file.try_lock_shared(),
            };
            match tried {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
            if is_still_at(&file, path).map_err(failed)? {
                return Ok(Some(Self { file, path: path.to_owned() }));
            }
        }
        Err(failed(io::Error::other("the lock file keeps being replaced")))
    }
}

/// Returns whether `file` is what `path` leads to.
///
/// A lock on a file that was removed meanwhile holds nobody off: the next one makes a new file.
fn is_still_at(file: &File, path: &Path) -> io::Result<bool> {
    let held = rustix::fs::fstat(file)?;
    match rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok((found.st_dev, found.st_ino) == (held.st_dev, held.st_ino)),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
