//! Waits until a file or a directory changes, woken by the system and not by looking again and again.
//!
//! Says that something happened, and in a directory where; the caller looks.

use std::ffi::{OsStr, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use rustix::fs::inotify;

use crate::file::{Doing, FileError};

/// Watches one file.
#[derive(Debug)]
pub struct Watch {
    events: OwnedFd,
    path: PathBuf,
}

impl Watch {
    /// Starts watching the file at `path`.
    pub fn on(path: &Path) -> Result<Self, FileError> {
        let failed = |errno: rustix::io::Errno| system(path, errno.into());
        let events = inotify::init(inotify::CreateFlags::CLOEXEC).map_err(failed)?;
        let flags = inotify::WatchFlags::MODIFY | inotify::WatchFlags::DELETE_SELF;
        inotify::add_watch(&events, path, flags).map_err(failed)?;
        Ok(Self { events, path: path.to_owned() })
    }

    /// Returns when the file has changed since the last call.
    pub fn wait(&mut self) -> Result<(), FileError> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.events, &mut buffer);
        loop {
            match reader.next().map(drop) {
                Ok(()) if !reader.is_buffer_empty() => {}
                Ok(()) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(system(&self.path, errno.into())),
            }
        }
    }
}

/// Watches one directory for files that appear in it, without ever blocking.
///
/// The handle becomes readable when something has happened.
#[derive(Debug)]
pub struct DirectoryWatch {
    events: OwnedFd,
    path: PathBuf,
}

/// What happened in a directory.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Changes {
    /// The names of files that were written to the end, moved there, moved away or removed.
    pub names: Vec<OsString>,
    /// Whether more happened than is named here, or the directory is not watched any more.
    pub lost: bool,
}

impl DirectoryWatch {
    /// Starts watching the directory at `path`.
    pub fn on(path: &Path) -> Result<Self, FileError> {
        let failed = |errno: rustix::io::Errno| system(path, errno.into());
        let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
        let events = inotify::init(flags).map_err(failed)?;
        // Not when a file is made: it may still be empty then.
        let flags = inotify::WatchFlags::CLOSE_WRITE
            | inotify::WatchFlags::MOVED_TO
            | inotify::WatchFlags::MOVED_FROM
            | inotify::WatchFlags::DELETE
            | inotify::WatchFlags::DELETE_SELF
            | inotify::WatchFlags::MOVE_SELF
            | inotify::WatchFlags::ONLYDIR
            | inotify::WatchFlags::DONT_FOLLOW;
        inotify::add_watch(&events, path, flags).map_err(failed)?;
        Ok(Self { events, path: path.to_owned() })
    }

    /// Returns what has happened since the last call, without waiting.
    pub fn changes(&mut self) -> Result<Changes, FileError> {
        let lost = inotify::ReadFlags::QUEUE_OVERFLOW
            | inotify::ReadFlags::DELETE_SELF
            | inotify::ReadFlags::MOVE_SELF
            | inotify::ReadFlags::IGNORED
            | inotify::ReadFlags::UNMOUNT;
        let mut changes = Changes::default();
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.events, &mut buffer);
        loop {
            match reader.next() {
                Ok(event) => {
                    changes.lost |= event.events().intersects(lost);
                    let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
                    changes.names.extend(name.map(OsStr::to_owned));
                }
                Err(rustix::io::Errno::AGAIN) => return Ok(changes),
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(system(&self.path, errno.into())),
            }
        }
    }
}

impl AsFd for DirectoryWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }
}

impl AsRawFd for DirectoryWatch {
    fn as_raw_fd(&self) -> RawFd {
        self.events.as_raw_fd()
    }
}

fn system(path: &Path, source: io::Error) -> FileError {
    FileError::System { doing: Doing::Read, path: path.to_owned(), source }
}
