//! The disk as resolving sees it: what is at a path, where a link points, a small file's bytes.
//!
//! Absence is an answer; every other failure is an error, and an error never counts as absence.

mod cached;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use ic_policy::{FileKind, FileState};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Statx, StatxFlags};

pub use cached::CachedDisk;

/// What resolving may ask of a disk.
pub trait Disk {
    /// Looks at `path` without following a link at its end; `None` if nothing is there.
    fn look(&self, path: &Path) -> io::Result<Option<Entry>>;

    /// Returns where the link at `path` points.
    fn read_link(&self, path: &Path) -> io::Result<PathBuf>;

    /// Reads the regular file at `path`, following no link at its end.
    ///
    /// `None` if nothing is there; an error if it is longer than `bytes_max` or no regular file.
    fn read_file(&self, path: &Path, bytes_max: usize) -> io::Result<Option<Vec<u8>>>;

    /// Returns what is directly in the directory `path`, at most `n_max` entries.
    fn list(&self, path: &Path, n_max: usize) -> io::Result<Vec<(OsString, Kind)>>;

    /// Looks at `path` with one question, if something is there and no part before its end is a link.
    ///
    /// `None` says nothing: the parts have to be looked at one by one.
    fn look_straight(&self, _path: &Path) -> Option<Entry> {
        None
    }

    /// Returns whether whoever looks can wait for what is found out besides, such as what git says.
    fn may_wait(&self) -> bool {
        true
    }

    /// Notes that something could not be found out without waiting.
    fn give_up(&self) {}
}

/// What is at a path.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Entry {
    /// What it is.
    pub kind: Kind,
    /// Which one it is, and how it is now.
    pub state: FileState,
}

/// What something on a disk is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A socket, device or pipe.
    Other,
}

/// The disk of this machine.
#[derive(Clone, Copy, Debug)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn look(&self, path: &Path) -> io::Result<Option<Entry>> {
        match rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(entry_of(&stat))),
            Err(error) if is_absence(error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        let target = rustix::fs::readlinkat(CWD, path, Vec::new())?;
        Ok(PathBuf::from(OsString::from_vec(target.into_bytes())))
    }

    fn read_file(&self, path: &Path, bytes_max: usize) -> io::Result<Option<Vec<u8>>> {
        // NONBLOCK: opening a pipe that an agent put there must not wait for a writer.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(file) => file,
            Err(error) if is_absence(error) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if entry_of(&rustix::fs::fstat(&file)?).kind != Kind::File {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        let mut bytes = Vec::new();
        let mut chunk = [0; 16 * 1024];
        loop {
            let n = rustix::io::read(&file, &mut chunk)?;
            bytes.extend_from_slice(chunk.get(..n).unwrap_or_default());
            if bytes_max < bytes.len() {
                let reason = format!("it is longer than {bytes_max} bytes");
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
            }
            if n == 0 {
                return Ok(Some(bytes));
            }
        }
    }

    fn list(&self, path: &Path, n_max: usize) -> io::Result<Vec<(OsString, Kind)>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(directory) => directory,
            Err(error) if is_absence(error) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let mut entries = Vec::new();
        for entry in rustix::fs::Dir::read_from(&directory)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") {
                entries.push((OsString::from_vec(name.to_vec()), Kind::from(entry.file_type())));
            }
            if entries.len() == n_max {
                break;
            }
        }
        Ok(entries)
    }

    fn look_straight(&self, path: &Path) -> Option<Entry> {
        look_at_once(path, ResolveFlags::NO_SYMLINKS).ok()
    }
}

/// Looks at `path` without following a link at its end; `how` says what else is not done on the way.
fn look_at_once(path: &Path, how: ResolveFlags) -> rustix::io::Result<Entry> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat2(CWD, path, flags, Mode::empty(), how)?;
    // Nobody is asked for what is known: with `CACHED` this must not wait either.
    let asked = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    let asked = if how.contains(ResolveFlags::CACHED) { asked } else { AtFlags::EMPTY_PATH };
    Ok(entry_of_statx(&rustix::fs::statx(&file, c"", asked, StatxFlags::BASIC_STATS)?))
}

/// How many answers from memory cost as much as one from the disk.
const KNOWN_PER_LOOK: usize = 4;

/// A disk that answers only so many questions, so that no call can keep us busy.
///
/// Each path is looked at once: the paths of one call mostly share their directories, and a call is
/// judged by how the disk was at one moment anyway.
pub(crate) struct Metered<'a> {
    disk: &'a dyn Disk,
    left: Cell<usize>,
    /// How many answers may still be given from memory: these cost less, and are not free.
    known_left: Cell<usize>,
    /// By the bytes of the path, which are hashed faster than its parts.
    known: RefCell<HashMap<OsString, Option<Entry>>>,
}

impl<'a> Metered<'a> {
    pub(crate) fn new(disk: &'a dyn Disk, looks_max: usize) -> Self {
        let known_left = Cell::new(looks_max.saturating_mul(KNOWN_PER_LOOK));
        Self { disk, left: Cell::new(looks_max), known_left, known: RefCell::default() }
    }

    /// Returns whether a question was refused.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.left.get() == 0 || self.known_left.get() == 0
    }

    fn spend(&self) -> io::Result<()> {
        spend_one_of(&self.left)
    }
}

fn spend_one_of(left: &Cell<usize>) -> io::Result<()> {
    left.set(left.get().saturating_sub(1));
    match left.get() {
        0 => Err(io::Error::other("the call asks too much of the disk")),
        _ => Ok(()),
    }
}

impl Disk for Metered<'_> {
    fn look(&self, path: &Path) -> io::Result<Option<Entry>> {
        if let Some(known) = self.known.borrow().get(path.as_os_str()) {
            // SECURITY: links that lead through the same directories again and again cost time too.
            spend_one_of(&self.known_left)?;
            return Ok(*known);
        }
        self.spend()?;
        let entry = self.disk.look(path)?;
        self.known.borrow_mut().insert(path.as_os_str().to_owned(), entry);
        Ok(entry)
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        self.spend()?;
        self.disk.read_link(path)
    }

    fn read_file(&self, path: &Path, bytes_max: usize) -> io::Result<Option<Vec<u8>>> {
        self.spend()?;
        self.disk.read_file(path, bytes_max)
    }

    fn list(&self, path: &Path, n_max: usize) -> io::Result<Vec<(OsString, Kind)>> {
        self.spend()?;
        self.disk.list(path, n_max)
    }

    fn look_straight(&self, path: &Path) -> Option<Entry> {
        // Beside what was looked at already, little is left to look at.
        let known = self.known.borrow();
        if path.ancestors().take(3).any(|it| known.contains_key(it.as_os_str())) {
            return None;
        }
        self.spend().ok()?;
        self.disk.look_straight(path)
    }

    fn may_wait(&self) -> bool {
        self.disk.may_wait()
    }

    fn give_up(&self) {
        self.disk.give_up();
    }
}

/// Nothing can be at a path whose parent is missing or is no directory.
fn is_absence(error: rustix::io::Errno) -> bool {
    matches!(error, rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR)
}

impl Kind {
    fn of_file(self) -> FileKind {
        match self {
            Self::File => FileKind::File,
            Self::Directory => FileKind::Directory,
            Self::Link | Self::Other => FileKind::Other,
        }
    }
}

impl From<FileType> for Kind {
    fn from(file_type: FileType) -> Self {
        match file_type {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Link,
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => Self::Other,
        }
    }
}

fn entry_of(stat: &rustix::fs::Stat) -> Entry {
    let kind = Kind::from(FileType::from_raw_mode(stat.st_mode));
    let state = FileState {
        kind: kind.of_file(),
        device: stat.st_dev,
        inode: stat.st_ino,
        bytes: u64::try_from(stat.st_size).unwrap_or(0),
        modified_s: stat.st_mtime,
        modified_ns: i64::try_from(stat.st_mtime_nsec).unwrap_or(0),
    };
    Entry { kind, state }
}

fn entry_of_statx(stat: &Statx) -> Entry {
    let kind = Kind::from(FileType::from_raw_mode(stat.stx_mode.into()));
    let state = FileState {
        kind: kind.of_file(),
        device: rustix::fs::makedev(stat.stx_dev_major, stat.stx_dev_minor),
        inode: stat.stx_ino,
        bytes: stat.stx_size,
        modified_s: stat.stx_mtime.tv_sec,
        modified_ns: stat.stx_mtime.tv_nsec.into(),
    };
    Entry { kind, state }
}

/// Returns whether `path` starts at the root.
pub(crate) fn is_absolute(path: &Path) -> bool {
    path.as_os_str().as_bytes().first() == Some(&b'/')
}
