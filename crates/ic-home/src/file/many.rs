//! What is done to many files, or to whole directories, of ours: looking, moving, removing.
//!
//! Contents are not read here.

#![expect(
    clippy::disallowed_methods,
    reason = "a directory is removed as a whole, links not followed"
)]

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::{AtFlags, CWD, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use super::{Doing, FileError, open_directory, read_names};
use crate::temporary;

/// How many files one thread looks at before it takes the next ones.
const AT_A_TIME: usize = 64;

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

/// Directories by name, and the stamp of a file in each; `None` where there is none.
pub type Stamps = Vec<(OsString, Option<Stamp>)>;

/// What was found where a file was looked for.
enum Seen {
    /// What should be a directory is none.
    NoDirectory,
    /// It is not there, or cannot be looked at.
    Nothing,
    /// It is there.
    File(Stamp),
}

/// Many files that are being looked at.
struct Looking<'a> {
    directory: OwnedFd,
    file: &'a str,
    /// The directories that they are in, once these are known.
    names: OnceLock<Vec<OsString>>,
    /// The first that nobody looks at yet.
    next: AtomicUsize,
}

/// Returns the stamp of what is at `path`, a link not followed; `None` if nothing is there.
///
/// It was changed when the system says so: whoever writes a file can put back the time of its content, and
/// not this one.
pub fn stamp(path: impl AsRef<Path>) -> Result<Option<Stamp>, FileError> {
    let path = path.as_ref();
    match rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => {
            let changed_ns = nanoseconds(stat.st_ctime, stat.st_ctime_nsec);
            Ok(Some(Stamp { changed_ns, ..Stamp::of(&stat) }))
        }
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(FileError::system(Doing::Read, path, errno)),
    }
}

/// Returns the directories in the directory `path` of ours, by name, and the stamp of the file called
/// `name` in each; `None` where there is none.
pub fn stamps(path: impl AsRef<Path>, name: &str) -> Result<Stamps, FileError> {
    stamps_during(path, name, || ()).0
}

/// Returns the same as [`stamps`], and what `work` comes to.
///
/// With thousands of files the system takes a while, so `work` is done meanwhile, and then helps.
pub fn stamps_during<T>(
    path: impl AsRef<Path>,
    name: &str,
    work: impl FnOnce() -> T,
) -> (Result<Stamps, FileError>, T) {
    let path = path.as_ref();
    let directory = match open_directory(path, OFlags::NOFOLLOW) {
        Ok(directory) => directory,
        Err(FileError::System { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return (Ok(Vec::new()), work());
        }
        Err(error) => return (Err(error), work()),
    };
    let (names, next) = (OnceLock::new(), AtomicUsize::new(0));
    let looking = Looking { directory, file: name, names, next };
    let (seen, done) = std::thread::scope(|scope| {
        let begin = || looking.begin(path);
        let Ok(beginning) = std::thread::Builder::new().spawn_scoped(scope, begin) else {
            // No thread is to be had.
            return (begin(), work());
        };
        let done = work();
        let helped = looking.look();
        let begun = beginning.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (begun.map(|seen| seen.into_iter().chain(helped).collect()), done)
    });
    (seen.map(|seen| looking.put_together(seen)), done)
}

/// Puts a time together, whose types depend on the system.
fn nanoseconds(seconds: i64, nanoseconds: impl TryInto<u64>) -> u64 {
    let seconds = u64::try_from(seconds).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds.try_into().unwrap_or(0))
}

impl Stamp {
    fn of(stat: &Stat) -> Self {
        let changed_ns = nanoseconds(stat.st_mtime, stat.st_mtime_nsec);
        let bytes = u64::try_from(stat.st_size).unwrap_or(0);
        Self { inode: stat.st_ino, changed_ns, bytes }
    }
}

impl Looking<'_> {
    /// Finds the directories, and begins to look.
    fn begin(&self, path: &Path) -> Result<Vec<(usize, Vec<Seen>)>, FileError> {
        let again = self.directory.try_clone();
        let again = again.map_err(|error| FileError::system(Doing::Read, path, error))?;
        let names = read_names(path, again)?;
        self.names.get_or_init(|| names);
        Ok(self.look())
    }

    /// Looks at what nobody else looks at: some at a time, and from which one on.
    fn look(&self) -> Vec<(usize, Vec<Seen>)> {
        let mut looked = Vec::new();
        // Whoever is too early takes nothing: what is taken is looked at by nobody else.
        let Some(names) = self.names.get() else { return looked };
        let mut place = Vec::new();
        loop {
            let from = self.next.fetch_add(AT_A_TIME, Ordering::Relaxed);
            let some = names.iter().skip(from).take(AT_A_TIME);
            if some.len() == 0 {
                return looked;
            }
            looked.push((from, some.map(|name| self.look_in(name, &mut place)).collect()));
        }
    }

    fn look_in(&self, name: &OsStr, place: &mut Vec<u8>) -> Seen {
        place.clear();
        place.extend_from_slice(name.as_bytes());
        place.push(b'/');
        place.extend_from_slice(self.file.as_bytes());
        let at = OsStr::from_bytes(place);
        match rustix::fs::statat(&self.directory, at, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Seen::File(Stamp::of(&stat)),
            Err(Errno::NOTDIR) => Seen::NoDirectory,
            // What cannot be looked at is not there for us, and keeps nobody from the others.
            Err(_) => Seen::Nothing,
        }
    }

    fn put_together(self, seen: Vec<(usize, Vec<Seen>)>) -> Stamps {
        let names = self.names.into_inner().unwrap_or_default();
        let mut all: Vec<Seen> = names.iter().map(|_| Seen::Nothing).collect();
        for (from, some) in seen {
            all.iter_mut().skip(from).zip(some).for_each(|(place, seen)| *place = seen);
        }
        let found = names.into_iter().zip(all);
        found
            .filter_map(|(name, seen)| match seen {
                Seen::NoDirectory => None,
                Seen::Nothing => Some((name, None)),
                Seen::File(stamp) => Some((name, Some(stamp))),
            })
            .collect()
    }
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
