//! What is done to many files, or to whole directories, of ours: looking, moving, removing.
//!
//! Contents are not read here.

#![expect(
    clippy::disallowed_methods,
    reason = "a directory is removed as a whole, links not followed"
)]

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, OFlags, RenameFlags};
use rustix::io::Errno;

use super::{Doing, FileError, open_directory, read_names};
use crate::temporary;

/// What tells one version of a file from another, whatever the clock does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Stamp {
    /// Which file it is; one that is replaced is another.
    pub inode: u64,
    /// When it was changed last, in nanoseconds.
    pub changed_ns: u64,
    /// How long it is.
    pub bytes: u64,
}

/// Returns the directories in the directory `path` of ours, by name, and the stamp of the file called
/// `name` in each; `None` where there is none.
pub fn stamps(
    path: impl AsRef<Path>,
    name: &str,
) -> Result<Vec<(OsString, Option<Stamp>)>, FileError> {
    let path = path.as_ref();
    let directory = match open_directory(path, OFlags::NOFOLLOW) {
        Ok(directory) => directory,
        Err(FileError::System { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error),
    };
    let again =
        directory.try_clone().map_err(|error| FileError::system(Doing::Read, path, error))?;
    let mut found = Vec::new();
    let mut file = Vec::new();
    for entry in read_names(path, again)? {
        file.clear();
        file.extend_from_slice(entry.as_bytes());
        file.push(b'/');
        file.extend_from_slice(name.as_bytes());
        let at = OsStr::from_bytes(&file);
        match rustix::fs::statat(&directory, at, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => {
                let seconds = u64::try_from(stat.st_mtime).unwrap_or(0);
                #[expect(clippy::useless_conversion, reason = "its type depends on the system")]
                let nanoseconds = u64::try_from(stat.st_mtime_nsec).unwrap_or(0);
                let changed_ns = seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds);
                let bytes = u64::try_from(stat.st_size).unwrap_or(0);
                found.push((entry, Some(Stamp { inode: stat.st_ino, changed_ns, bytes })));
            }
            // Not a directory.
            Err(Errno::NOTDIR) => {}
            // What cannot be looked at is not there for us, and keeps nobody from the others.
            Err(_) => found.push((entry, None)),
        }
    }
    Ok(found)
}

/// Moves a file of ours from `from` to `to`, where nothing may be; that nothing is at `from` is fine.
pub fn move_to(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<(), FileError> {
    let (from, to) = (from.as_ref(), to.as_ref());
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(Errno::EXIST) => Err(FileError::Exists { path: to.to_owned() }),
        Err(error) => Err(FileError::system(Doing::Write, to, error)),
    }
}

/// Removes the directory at `path` with all that is in it; links in it are removed and not followed.
///
/// It loses its name first: whoever is killed half-way leaves a left-over that is swept, and never
/// half a directory.
pub fn remove_tree(path: impl AsRef<Path>) -> Result<(), FileError> {
    let path = path.as_ref();
    let failed = |source: io::Error| FileError::system(Doing::Remove, path, source);
    let name = temporary::fresh_name().map_err(failed)?;
    let left = path.parent().unwrap_or(Path::new("/")).join(name);
    match rustix::fs::renameat_with(CWD, path, CWD, &left, RenameFlags::NOREPLACE) {
        Ok(()) => {}
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(failed(error.into())),
    }
    std::fs::remove_dir_all(&left).map_err(failed)
}
