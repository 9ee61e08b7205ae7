//! Tells other sessions where third-party servers of this one may write, and asks where theirs may.
//!
//! ```text
//! locks/      writers-1234-0.lock     held as long as the session runs
//!             writers-1234-0.roots    the directories, with a zero byte after each
//! ```
//!
//! Our own servers can be stopped while git takes files in; those of another session cannot, so what counts
//! is asked about there. Nothing is decided here.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use ic_home::{Clock as _, FileError, Lock, SystemClock, file};
use ic_types::CanonicalPath;

use crate::locked;
use crate::planted::last_look::LOOK_SUFFIX;

/// How the files are called.
const PREFIX: &str = "writers-";
const LOCK: &str = ".lock";
const ROOTS: &str = ".roots";
/// The longest list of directories that is read.
const ROOTS_BYTES_MAX: u64 = 1 << 20;

/// Tells the sessions of one process apart.
static N_SESSIONS: AtomicU64 = AtomicU64::new(0);
/// Tells the looks of one process apart.
static N_LOOKS: AtomicU64 = AtomicU64::new(0);

/// What this session tells the others.
#[derive(Debug)]
pub(crate) struct Announced {
    directory: PathBuf,
    name: String,
    told: Mutex<Told>,
}

#[derive(Debug, Default)]
struct Told {
    lock: Option<Lock>,
    roots: BTreeSet<CanonicalPath>,
}

impl Announced {
    pub(crate) fn new(directory: PathBuf) -> Self {
        let n = N_SESSIONS.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{n}", std::process::id());
        Self { directory, name, told: Mutex::default() }
    }

    /// Tells that a server of this session may write in `roots` from now on.
    pub(crate) fn tell(&self, roots: &[CanonicalPath]) -> Result<(), FileError> {
        let mut told = locked(&self.told);
        if told.lock.is_some() && roots.iter().all(|root| told.roots.contains(root)) {
            return Ok(());
        }
        file::create_dir(&self.directory)?;
        told.roots.extend(roots.iter().cloned());
        let mut text = Vec::new();
        for root in &told.roots {
            text.extend_from_slice(root.as_path().as_os_str().as_bytes());
            text.push(0);
        }
        file::replace_unsynced(self.at(&self.name, ROOTS), &text)?;
        if told.lock.is_none() {
            told.lock = Some(Lock::acquire(self.at(&self.name, LOCK))?);
        }
        Ok(())
    }

    /// Returns where the last look at what a server may write is kept.
    pub(crate) fn new_look(&self) -> PathBuf {
        let n = N_LOOKS.fetch_add(1, Ordering::Relaxed);
        let now = SystemClock.now().unix_ms();
        self.at(&self.name, &format!("-{now}-{n}{LOOK_SUFFIX}"))
    }

    /// Returns the last looks of sessions that are over.
    pub(crate) fn looks_left(&self) -> Result<Vec<PathBuf>, FileError> {
        let names = file::names(&self.directory)?.unwrap_or_default();
        let mut left = Vec::new();
        for name in names.iter().filter_map(|name| name.to_str()) {
            let Some(look) = name.strip_suffix(LOOK_SUFFIX) else { continue };
            let mut parts = look.rsplitn(3, '-');
            let session = parts.nth(2).unwrap_or(look);
            if session != self.name && !Lock::is_held(self.at(session, LOCK))? {
                left.push(self.directory.join(name));
            }
        }
        Ok(left)
    }

    /// Returns whether servers of another session may write at `paths`; also if that cannot be found out.
    pub(crate) fn others_write_at(&self, paths: &[CanonicalPath]) -> bool {
        let Ok(names) = file::names(&self.directory) else { return true };
        let names = names.unwrap_or_default();
        let names = names.iter().filter_map(|name| name.to_str()?.strip_suffix(LOCK));
        let mut others = names.filter(|name| name.starts_with(PREFIX) && *name != self.name);
        others.any(|name| match Lock::is_held(self.at(name, LOCK)) {
            Ok(false) => false,
            Ok(true) => self.is_near(name, paths),
            Err(_) => true,
        })
    }

    fn is_near(&self, name: &str, paths: &[CanonicalPath]) -> bool {
        let text = file::read(self.at(name, ROOTS), ROOTS_BYTES_MAX);
        let Ok(Some(text)) = text else { return true };
        let mut roots = text.split(|byte| *byte == 0).filter(|it| !it.is_empty());
        roots.any(|root| match CanonicalPath::new(Path::new(OsStr::from_bytes(root))) {
            Ok(root) => paths.iter().any(|path| path.is_within(&root) || root.is_within(path)),
            Err(_) => true,
        })
    }

    fn at(&self, name: &str, suffix: &str) -> PathBuf {
        self.directory.join(format!("{name}{suffix}"))
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        if locked(&self.told).lock.is_some() {
            // What stays is held by nobody.
            file::remove(self.at(&self.name, ROOTS)).ok();
            file::remove(self.at(&self.name, LOCK)).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_sessions_are_asked_and_one_that_is_over_counts_no_more() {
        let place = tempfile::tempdir().unwrap();
        let path = |text: &str| [CanonicalPath::new(text).unwrap()];
        let [ours, theirs] = [0, 1].map(|_| Announced::new(place.path().join("locks")));
        assert!(!ours.others_write_at(&path("/w")));
        theirs.tell(&path("/w/a")).unwrap();
        theirs.tell(&path("/x\n")).unwrap();
        for (at, is_near) in [("/w", true), ("/w/a/b", true), ("/w/b", false), ("/x\n/y", true)] {
            assert_eq!(ours.others_write_at(&path(at)), is_near, "{at}");
            assert!(!theirs.others_write_at(&path(at)), "its own servers can be stopped");
        }
        file::remove(theirs.at(&theirs.name, ROOTS)).unwrap();
        assert!(ours.others_write_at(&path("/w/b")), "what cannot be read may be anywhere");
        drop(theirs);
        assert!(!ours.others_write_at(&path("/w")));
    }
}
