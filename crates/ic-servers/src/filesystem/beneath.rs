//! Opening beneath a directory handle, through no link of either kind; reading what was opened.
//!
//! The only place that opens anything for the filesystem server. Knows nothing of views.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use ic_resolve::Kind;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

/// How often an opening that others disturb is tried again.
const TRIES_MAX: usize = 64;

/// SECURITY: without these a directory that is swapped for a link leads anywhere.
const RESOLVE: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS).union(ResolveFlags::NO_SYMLINKS);

/// A handle that can neither read nor write; it holds on to what it names.
const HANDLE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// Opens `relative` beneath `directory`.
pub(crate) fn open(
    directory: impl AsFd,
    relative: &Path,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    // The directory itself is meant.
    let relative = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
    let flags = match flags.contains(OFlags::PATH) {
        // The system is strict about what a handle can be asked for.
        true => flags | OFlags::CLOEXEC,
        false => flags | OFlags::CLOEXEC | OFlags::NOCTTY,
    };
    let mut tries = 0;
    loop {
        match rustix::fs::openat2(&directory, relative, flags, mode, RESOLVE) {
            Err(Errno::AGAIN | Errno::INTR) if tries < TRIES_MAX => tries += 1,
            opened => return opened,
        }
    }
}

/// Holds on to the directory `relative` beneath `directory`.
pub(crate) fn hold_directory(directory: impl AsFd, relative: &Path) -> Result<OwnedFd, Errno> {
    open(directory, relative, HANDLE | OFlags::DIRECTORY, Mode::empty())
}

/// Holds on to the directory at `path`, to which no link may lead.
pub(crate) fn hold_root(path: &Path) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    rustix::fs::openat2(CWD, path, HANDLE | OFlags::DIRECTORY, Mode::empty(), resolve)
}

/// Looks at `relative`, whatever it is, without the effects that opening a device or pipe can have.
pub(crate) fn look(directory: impl AsFd, relative: &Path) -> Result<Stat, Errno> {
    let handle = open(directory, relative, HANDLE | OFlags::NOFOLLOW, Mode::empty())?;
    rustix::fs::fstat(handle)
}

/// Looks at the entry `name` of `parent`, not at what a link there leads to.
pub(crate) fn look_at(parent: impl AsFd, name: &OsStr) -> Result<Option<Stat>, Errno> {
    match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns what something is.
pub(crate) fn kind(stat: &Stat) -> Kind {
    Kind::from(FileType::from_raw_mode(stat.st_mode))
}

/// Returns how long something is.
pub(crate) fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

/// An entry of a directory.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: OsString,
    pub(crate) kind: Kind,
}

/// Returns the entries of the directory `relative`, by name; `None` if there are more than `n_max`.
pub(crate) fn list(
    directory: impl AsFd,
    relative: &Path,
    n_max: usize,
) -> Result<(OwnedFd, Vec<Entry>, Whole), Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK;
    let opened = open(directory, relative, flags, Mode::empty())?;
    let mut entries = Vec::new();
    let mut whole = Whole::Complete;
    for entry in rustix::fs::Dir::read_from(&opened)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        if entries.len() == n_max {
            whole = Whole::Cut;
            break;
        }
        let name = OsStr::from_bytes(name).to_owned();
        let kind = match entry.file_type() {
            // Some file systems do not say.
            FileType::Unknown => match look_at(&opened, &name)? {
                Some(stat) => kind(&stat),
                None => continue,
            },
            file_type => Kind::from(file_type),
        };
        entries.push(Entry { name, kind });
    }
    entries.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    Ok((opened, entries, whole))
}

/// Whether all of something is there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Whole {
    /// It is.
    Complete,
    /// There was more.
    Cut,
}
