//! Waits until a file changes, woken by the system and not by looking again and again.
//!
//! Says that something happened, not what; the caller looks.

use std::io;
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};

use rustix::fd::OwnedFd;
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

fn system(path: &Path, source: io::Error) -> FileError {
    FileError::System { doing: Doing::Read, path: path.to_owned(), source }
}
