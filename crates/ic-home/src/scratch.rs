//! A directory for the moment: private, called as nobody guesses, and removed with all that is in it.
//!
//! What a process that was killed leaves behind is removed when the home is prepared the next time.
//! Nothing that has to last belongs here.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the directory is held by a handle, and removed as a whole without following links"
)]

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::file::{self, Doing, FileError};
use crate::temporary;

/// How often a new name is tried before we believe that something is wrong.
const NAMES_MAX: usize = 16;

/// A directory that is gone when this is dropped.
#[derive(Debug)]
#[must_use = "a scratch directory that is dropped is removed"]
pub struct Scratch {
    path: PathBuf,
    /// Locked, so that nobody takes the directory for a left-over.
    _held: File,
}

impl Scratch {
    /// Makes a directory in `parent`, which must exist.
    pub fn new_in(parent: impl AsRef<Path>) -> Result<Self, FileError> {
        let parent = parent.as_ref();
        let failed = |source: io::Error| FileError::system(Doing::CreateDirectory, parent, source);
        for _ in 0..NAMES_MAX {
            let path = parent.join(temporary::fresh_name().map_err(failed)?);
            match file::create_new_dir(&path) {
                Ok(()) => {}
                Err(FileError::Exists { .. }) => continue,
                Err(error) => return Err(error),
            }
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let held = match rustix::fs::openat(CWD, &path, flags, Mode::empty()) {
                Ok(fd) => File::from(fd),
                Err(error) => {
                    remove(&path).ok();
                    return Err(FileError::system(Doing::Read, &path, error));
                }
            };
            // Where locks do not work, age alone tells a left-over.
            held.try_lock().ok();
            return Ok(Self { path, _held: held });
        }
        Err(failed(io::Error::other("no name for a temporary directory is free")))
    }

    /// Gives the directory a name to stay under; if there is something of that name, it stays instead.
    pub fn keep_as(self, path: impl AsRef<Path>) -> Result<(), FileError> {
        let path = path.as_ref();
        match rustix::fs::renameat_with(CWD, &self.path, CWD, path, RenameFlags::NOREPLACE) {
            // What is dropped now is not there any more under its first name.
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(FileError::system(Doing::Write, path, error)),
        }
    }

    /// Returns where the directory is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed now is removed when the home is prepared the next time.
        remove(&self.path).ok();
    }
}

/// Removes a directory of ours and all that is in it, if it is there; links in it are not followed.
pub fn remove_tree(path: impl AsRef<Path>) -> Result<(), FileError> {
    let path = path.as_ref();
    match remove(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(FileError::system(Doing::Remove, path, error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Removes a directory of ours and all that is in it but the directory `kept`, if something is in that;
/// returns whether it stays.
pub fn remove_tree_but(path: impl AsRef<Path>, kept: &str) -> Result<bool, FileError> {
    let path = path.as_ref();
    let failed = |error: io::Error| FileError::system(Doing::Remove, path, error);
    let entries = match std::fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        entries => entries.map_err(failed)?,
    };
    for entry in entries {
        let entry = entry.map_err(failed)?;
        if entry.file_name() == kept {
            continue;
        }
        match entry.file_type().map_err(failed)?.is_dir() {
            true => remove_tree(entry.path())?,
            false => file::remove(entry.path())?,
        }
    }
    for directory in [&path.join(kept), path] {
        match std::fs::remove_dir(directory) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => return Ok(true),
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(false)
}

/// Removes a directory and all that is in it; links in it are removed and not followed.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    std::fs::remove_dir_all(path)
}
