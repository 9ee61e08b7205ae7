//! Files of ours: opened without following links, private, and replaced as a whole or not at all.
//!
//! ```text
//! replace   open the directory ─▶ new file in it, 0600, name nobody guesses ─▶ write ─▶ sync
//!           ─▶ rename over the old one ─▶ sync the directory          (an error removes the new file)
//! ```
//!
//! Not for anything an agent names: those paths are resolved, judged and opened elsewhere. This
//! module does not know what is in a file, nor where in the home it lies.

#![expect(
    clippy::disallowed_types,
    reason = "this is the module that the rest of the house opens its files with"
)]

mod age;
mod error;
mod head;
mod many;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

pub use age::changed;
pub use error::{Doing, FileError};
pub use head::{Head, read_head};
pub use many::{Stamp, Stamps, move_to, remove_tree, stamp, stamps, stamps_during};

use crate::temporary;

/// Only the owner reads and writes.
const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);
/// Only the owner looks in.
const DIRECTORY_MODE: Mode = Mode::RWXU;
/// How often a new name is tried before we believe that something is wrong.
const NAMES_MAX: usize = 16;
/// The most entries of one directory that are looked at.
const ENTRIES_MAX: usize = 1 << 16;

/// Whether a file must have reached the disk before we go on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Durability {
    Synced,
    Unsynced,
}

/// What to do with a file that has the name already.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Existing {
    Replace,
    Keep,
}

// === reading ===

/// Reads the regular file at `path`, at most `bytes_max` of it; `None` if nothing is there.
///
/// A link at the end of the path is refused, not followed.
pub fn read(path: impl AsRef<Path>, bytes_max: u64) -> Result<Option<Vec<u8>>, FileError> {
    read_with(path.as_ref(), bytes_max, OFlags::NOFOLLOW)
}

/// Reads the regular file at `path` like [`read`], and refuses one that another user owns.
///
/// For files that say something in our name.
pub fn read_own(path: impl AsRef<Path>, bytes_max: u64) -> Result<Option<Vec<u8>>, FileError> {
    let path = path.as_ref();
    let us = rustix::process::geteuid().as_raw();
    read_if(path, bytes_max, OFlags::NOFOLLOW, |stat| match stat.st_uid == us {
        true => Ok(()),
        false => Err(FileError::NotOurs { path: path.to_owned(), owner: stat.st_uid, us }),
    })
}

/// Reads a regular file that a person pointed us to, at most `bytes_max` of it; links are followed.
///
/// A path through something that is no directory counts as absent, like one to nothing.
pub fn read_following(
    path: impl AsRef<Path>,
    bytes_max: u64,
) -> Result<Option<Vec<u8>>, FileError> {
    match read_with(path.as_ref(), bytes_max, OFlags::empty()) {
        Err(FileError::System { source, .. }) if source.kind() == io::ErrorKind::NotADirectory => {
            Ok(None)
        }
        read => read,
    }
}

fn read_with(path: &Path, bytes_max: u64, flags: OFlags) -> Result<Option<Vec<u8>>, FileError> {
    read_if(path, bytes_max, flags, |_| Ok(()))
}

/// Reads a regular file if `check` has nothing against it.
fn read_if(
    path: &Path,
    bytes_max: u64,
    flags: OFlags,
    check: impl FnOnce(&Stat) -> Result<(), FileError>,
) -> Result<Option<Vec<u8>>, FileError> {
    let failed = |source: io::Error| FileError::system(Doing::Read, path, source);
    // Not blocking: opening a pipe would wait for somebody to write to it.
    let flags = flags | OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let fd = match rustix::fs::openat(CWD, path, flags, Mode::empty()) {
        Ok(fd) => fd,
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP) if flags.contains(OFlags::NOFOLLOW) => {
            return Err(FileError::Link { path: path.to_owned() });
        }
        Err(error) => return Err(failed(error.into())),
    };
    let stat = regular(&fd, Doing::Read, path)?;
    check(&stat)?;
    let too_long = || FileError::TooLong { path: path.to_owned(), bytes_max };
    let bytes = u64::try_from(stat.st_size).unwrap_or(0);
    if bytes_max < bytes {
        return Err(too_long());
    }
    // Room for all of it at once, so that a growing buffer leaves no copies of a key behind.
    let mut content = Vec::with_capacity(usize::try_from(bytes).unwrap_or(0).saturating_add(1));
    File::from(fd).take(bytes_max.saturating_add(1)).read_to_end(&mut content).map_err(failed)?;
    match u64::try_from(content.len()) {
        Ok(length) if length <= bytes_max => Ok(Some(content)),
        Ok(_) | Err(_) => Err(too_long()),
    }
}

/// Returns the names in a directory that a person pointed us to, sorted; links are followed.
///
/// `None` if nothing is there.
pub fn names(path: impl AsRef<Path>) -> Result<Option<Vec<OsString>>, FileError> {
    let path = path.as_ref();
    match open_directory(path, OFlags::empty()) {
        Ok(directory) => read_names(path, directory).map(Some),
        Err(FileError::System { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Returns the names in a directory of ours, sorted; none if it is a link or no directory.
pub(crate) fn own_names(path: &Path) -> Result<Vec<OsString>, FileError> {
    match open_directory(path, OFlags::NOFOLLOW) {
        Ok(directory) => read_names(path, directory),
        Err(FileError::NotDirectory { .. }) => Ok(Vec::new()),
        Err(FileError::System { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            Ok(Vec::new())
        }
        Err(error) => Err(error),
    }
}

fn read_names(path: &Path, directory: OwnedFd) -> Result<Vec<OsString>, FileError> {
    let failed = |error: Errno| FileError::system(Doing::Read, path, error);
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::new(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        if names.len() == ENTRIES_MAX {
            let full = io::Error::other(format!("it has more than {ENTRIES_MAX} entries"));
            return Err(FileError::system(Doing::Read, path, full));
        }
        names.push(OsStr::from_bytes(name).to_owned());
    }
    names.sort();
    Ok(names)
}

// === writing ===

/// Puts `bytes` in place of what is at `path`, and returns when they are safe on the disk.
///
/// Whoever reads meanwhile sees the old file or the new one, whole.
pub fn replace(path: impl AsRef<Path>, bytes: &[u8]) -> Result<(), FileError> {
    put(path.as_ref(), bytes, Existing::Replace, Durability::Synced)
}

/// Puts `bytes` in place of a file of another program, with the rights that the file has.
///
/// Like [`replace`], and private like it if nothing is there; a link is refused, not replaced.
pub fn replace_keeping_mode(path: impl AsRef<Path>, bytes: &[u8]) -> Result<(), FileError> {
    let path = path.as_ref();
    let mode = match rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => FILE_MODE,
        Err(error) => return Err(FileError::system(Doing::Write, path, error)),
        Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Mode::from_raw_mode(stat.st_mode),
            FileType::Symlink => return Err(FileError::Link { path: path.to_owned() }),
            _ => return Err(FileError::NotRegular { path: path.to_owned() }),
        },
    };
    put_with_mode(path, bytes, mode, Existing::Replace, Durability::Synced)
}

/// Puts `bytes` in place of what is at `path`, without waiting for the disk.
///
/// After a crash of the machine the file may be the old one, or empty on some file systems: for
/// what can be made again.
pub fn replace_unsynced(path: impl AsRef<Path>, bytes: &[u8]) -> Result<(), FileError> {
    put(path.as_ref(), bytes, Existing::Replace, Durability::Unsynced)
}

/// Makes a file of `bytes` at `path`, where nothing may be yet; it is complete or it is absent.
pub fn create_new(path: impl AsRef<Path>, bytes: &[u8]) -> Result<(), FileError> {
    put(path.as_ref(), bytes, Existing::Keep, Durability::Synced)
}

/// Makes a file like [`create_new`], without waiting for the disk.
///
/// For what is of no use after a crash of the machine.
pub fn create_new_unsynced(path: impl AsRef<Path>, bytes: &[u8]) -> Result<(), FileError> {
    put(path.as_ref(), bytes, Existing::Keep, Durability::Unsynced)
}

/// Opens the regular file at `path` to append to it, and to read it; makes it if it is not there.
pub fn open_append(path: impl AsRef<Path>) -> Result<File, FileError> {
    open_own(path.as_ref(), OFlags::APPEND, Doing::Write)
}

/// Makes the directory at `path`, for us alone; one of ours that is there is made private.
pub fn create_dir(path: impl AsRef<Path>) -> Result<(), FileError> {
    let path = path.as_ref();
    match rustix::fs::mkdirat(CWD, path, DIRECTORY_MODE) {
        // A strict umask takes even our own rights away, and then it could not be opened.
        Ok(()) => rustix::fs::chmodat(CWD, path, DIRECTORY_MODE, AtFlags::empty())
            .map_err(|error| FileError::system(Doing::SetMode, path, error))?,
        Err(Errno::EXIST) => {}
        Err(error) => return Err(FileError::system(Doing::CreateDirectory, path, error)),
    }
    let directory = open_directory(path, OFlags::NOFOLLOW)
        .map_err(|error| error.on(Doing::CreateDirectory, path))?;
    tighten(&directory, DIRECTORY_MODE, Doing::CreateDirectory, path)
}

/// Makes the directory at `path`, for us alone; nothing may be there yet.
pub fn create_new_dir(path: impl AsRef<Path>) -> Result<(), FileError> {
    let path = path.as_ref();
    match rustix::fs::mkdirat(CWD, path, DIRECTORY_MODE) {
        // What a strict umask took away is given back.
        Ok(()) => create_dir(path),
        Err(Errno::EXIST) => Err(FileError::Exists { path: path.to_owned() }),
        Err(error) => Err(FileError::system(Doing::CreateDirectory, path, error)),
    }
}

/// Gives a file or directory to a user and a group; a link at its end is given, and not followed.
pub fn give(path: impl AsRef<Path>, (user, group): (u32, u32)) -> Result<(), FileError> {
    let path = path.as_ref();
    let (user, group) = (rustix::fs::Uid::from_raw(user), rustix::fs::Gid::from_raw(group));
    let given = rustix::fs::chownat(CWD, path, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW);
    given.map_err(|errno| FileError::system(Doing::Write, path, errno))
}

/// Lets everybody who can get to a file or directory of ours read it; a link at its end is an error.
pub fn show_others(path: impl AsRef<Path>) -> Result<(), FileError> {
    let path = path.as_ref();
    let failed = |errno: Errno| FileError::system(Doing::SetMode, path, errno);
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(CWD, path, flags, Mode::empty()).map_err(failed)?;
    let stat = rustix::fs::fstat(&fd).map_err(failed)?;
    let mode = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => Mode::RWXU | Mode::RGRP | Mode::XGRP | Mode::ROTH | Mode::XOTH,
        _ => Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH,
    };
    rustix::fs::fchmod(&fd, mode).map_err(failed)
}

/// Removes the file at `path`; that nothing is there is fine.
pub fn remove(path: impl AsRef<Path>) -> Result<(), FileError> {
    let path = path.as_ref();
    match rustix::fs::unlinkat(CWD, path, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(FileError::system(Doing::Remove, path, error)),
    }
}

/// Removes the directory at `path` if nothing is in it.
pub fn remove_empty_dir(path: impl AsRef<Path>) -> Result<(), FileError> {
    let path = path.as_ref();
    match rustix::fs::unlinkat(CWD, path, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(FileError::system(Doing::Remove, path, error)),
    }
}

/// Opens a lock file, which nobody writes to.
pub(crate) fn open_lock(path: &Path) -> Result<File, FileError> {
    open_own(path, OFlags::empty(), Doing::Lock)
}

/// Makes a file or a directory of ours private, if it is there and is no link.
pub(crate) fn make_private(path: &Path) -> Result<(), FileError> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let fd = match rustix::fs::openat(CWD, path, flags, Mode::empty()) {
        Ok(fd) => fd,
        // A link is the user's own arrangement, a socket has no use for this.
        Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return Ok(()),
        Err(error) => return Err(FileError::system(Doing::SetMode, path, error)),
    };
    let stat = stat(&fd, Doing::SetMode, path)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => tighten(&fd, FILE_MODE, Doing::SetMode, path),
        FileType::Directory => tighten(&fd, DIRECTORY_MODE, Doing::SetMode, path),
        FileType::Symlink
        | FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => Ok(()),
    }
}

fn open_own(path: &Path, flags: OFlags, doing: Doing) -> Result<File, FileError> {
    // SECURITY: without NOFOLLOW a link at our name would have us write to where it points.
    let flags = flags
        | OFlags::RDWR
        | OFlags::CREATE
        | OFlags::NOFOLLOW
        | OFlags::NONBLOCK
        | OFlags::NOCTTY
        | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(CWD, path, flags, FILE_MODE)
        .map_err(|error| FileError::opening(doing, path, error))?;
    regular(&fd, doing, path)?;
    tighten(&fd, FILE_MODE, doing, path)?;
    Ok(File::from(fd))
}

fn put(
    path: &Path,
    bytes: &[u8],
    existing: Existing,
    durability: Durability,
) -> Result<(), FileError> {
    put_with_mode(path, bytes, FILE_MODE, existing, durability)
}

fn put_with_mode(
    path: &Path,
    bytes: &[u8],
    mode: Mode,
    existing: Existing,
    durability: Durability,
) -> Result<(), FileError> {
    let failed = |source: io::Error| FileError::system(Doing::Write, path, source);
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(failed(io::Error::from(io::ErrorKind::InvalidInput)));
    };
    // Opened once: everything happens in this directory, even if its name is moved meanwhile.
    let directory =
        open_directory(parent, OFlags::empty()).map_err(|error| error.on(Doing::Write, path))?;
    let (temporary, mut file) = create_temporary(&directory).map_err(failed)?;
    let done = (|| {
        rustix::fs::fchmod(&file, mode)?;
        file.write_all(bytes)?;
        if durability == Durability::Synced {
            file.sync_all()?;
        }
        publish(&directory, &temporary, name, existing)
    })();
    if let Err(error) = done {
        // What cannot be removed now is removed at the next start.
        rustix::fs::unlinkat(&directory, &temporary, AtFlags::empty()).ok();
        return Err(match error.kind() {
            io::ErrorKind::AlreadyExists => FileError::Exists { path: path.to_owned() },
            _ => failed(error),
        });
    }
    match durability {
        Durability::Synced => rustix::fs::fsync(&directory)
            .map_err(|error| FileError::system(Doing::Sync, parent, error)),
        Durability::Unsynced => Ok(()),
    }
}

/// Makes a file that nobody else knows of, and locks it, so that nobody takes it for a left-over.
fn create_temporary(directory: &OwnedFd) -> io::Result<(OsString, File)> {
    // SECURITY: exclusive, so that nothing that was put there first is opened in its place.
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    for _ in 0..NAMES_MAX {
        let name = temporary::fresh_name()?;
        match rustix::fs::openat(directory, &name, flags, FILE_MODE) {
            Ok(fd) => {
                let file = File::from(fd);
                // Where locks do not work, age alone tells a left-over.
                file.try_lock().ok();
                return Ok((name, file));
            }
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::Error::other("no name for a temporary file is free"))
}

/// Gives the temporary file its name.
fn publish(
    directory: &OwnedFd,
    temporary: &OsStr,
    name: &OsStr,
    existing: Existing,
) -> io::Result<()> {
    match existing {
        Existing::Replace => rustix::fs::renameat(directory, temporary, directory, name)?,
        Existing::Keep => {
            let flags = RenameFlags::NOREPLACE;
            match rustix::fs::renameat_with(directory, temporary, directory, name, flags) {
                // A file system that does not know this knows links, or says so.
                Err(Errno::INVAL | Errno::NOSYS) => {
                    rustix::fs::linkat(directory, temporary, directory, name, AtFlags::empty())?;
                    rustix::fs::unlinkat(directory, temporary, AtFlags::empty())?;
                }
                renamed => renamed?,
            }
        }
    }
    Ok(())
}

fn open_directory(path: &Path, flags: OFlags) -> Result<OwnedFd, FileError> {
    // A bare name has an empty parent, which is the working directory.
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let flags = flags | OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, path, flags, Mode::empty()).map_err(|error| match error {
        Errno::NOTDIR => FileError::NotDirectory { path: path.to_owned() },
        error => FileError::system(Doing::Read, path, error),
    })
}

fn stat(fd: impl AsFd, doing: Doing, path: &Path) -> Result<Stat, FileError> {
    rustix::fs::fstat(fd).map_err(|error| FileError::system(doing, path, error))
}

/// Checks that an open file is a regular one: not a pipe, a socket, a device or a directory.
fn regular(fd: impl AsFd, doing: Doing, path: &Path) -> Result<Stat, FileError> {
    let stat = stat(fd, doing, path)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(FileError::NotRegular { path: path.to_owned() });
    }
    Ok(stat)
}

/// Checks that what is open is ours, and takes away what others may do with it.
fn tighten(fd: impl AsFd, mode: Mode, doing: Doing, path: &Path) -> Result<(), FileError> {
    let stat = stat(&fd, doing, path)?;
    let us = rustix::process::geteuid().as_raw();
    if stat.st_uid != us {
        return Err(FileError::NotOurs { path: path.to_owned(), owner: stat.st_uid, us });
    }
    if Mode::from_raw_mode(stat.st_mode) == mode {
        return Ok(());
    }
    rustix::fs::fchmod(&fd, mode).map_err(|error| FileError::system(Doing::SetMode, path, error))
}
