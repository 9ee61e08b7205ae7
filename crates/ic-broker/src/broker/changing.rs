//! One call at a time changes files in a directory, whichever session it belongs to.
//!
//! Each directory in which a session may change files without asking has a lock between processes, and so
//! has every directory above it: its own is held alone, those above are shared. So two sessions wait for
//! each other exactly if the directory of one is, or lies in, a directory of the other.
//!
//! Sessions of another home directory have other locks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ic_home::{FileError, Lock, file};
use ic_judge::Judge;
use ic_types::{CanonicalPath, Digest, Role};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::refusal::{Refusal, RefusalKind};

/// How long a call waits for those of other sessions.
const WAIT_MAX: Duration = Duration::from_mins(2);
/// How long it waits before it looks again, at first and at most.
const PAUSE: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(20)];
/// How much of a digest names a directory.
const NAME_CHARS: usize = 32;

/// Where a session changes files.
#[derive(Debug)]
pub(super) struct Changing {
    here: Arc<Mutex<()>>,
    /// In the order of the paths, which is the same for everybody.
    locks: Arc<[(PathBuf, Hold)]>,
}

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Hold {
    Shared,
    Alone,
}

/// The right to change files, until it is dropped.
#[derive(Debug)]
pub(super) struct Turnstile {
    _locks: Vec<Lock>,
    _here: OwnedMutexGuard<()>,
}

impl Changing {
    /// Finds the locks of the directories in which calls that `judge` allows change files.
    pub(super) fn new(judge: &Judge, directory: &Path) -> Result<Self, FileError> {
        let roots = roots(judge);
        if !roots.is_empty() {
            file::create_dir(directory)?;
        }
        Ok(Self::of(roots, directory))
    }

    fn of(roots: Vec<CanonicalPath>, directory: &Path) -> Self {
        let mut holds = BTreeMap::new();
        for root in roots {
            for above in root.ancestors().skip(1) {
                holds.entry(above).or_insert(Hold::Shared);
            }
            holds.insert(root, Hold::Alone);
        }
        let lock = |(path, hold): (CanonicalPath, Hold)| {
            let name = Digest::of(path.as_path().as_os_str().as_encoded_bytes()).to_string();
            let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
            let name = name.get(name.len().saturating_sub(NAME_CHARS)..).unwrap_or_default();
            (directory.join(format!("changing-{name}.lock")), hold)
        };
        Self { here: Arc::default(), locks: holds.into_iter().map(lock).collect() }
    }

    /// Waits until no other call changes files in the same directories.
    pub(super) async fn begin(&self, cancel: &CancellationToken) -> Result<Turnstile, Refusal> {
        let here = Arc::clone(&self.here).lock_owned().await;
        let (began, [mut pause, pause_max]) = (Instant::now(), PAUSE);
        loop {
            let refused = |reason: String| {
                Refusal::structural(RefusalKind::Denied, "server-unavailable", reason)
            };
            // SECURITY: without the locks nothing is changed.
            match self.try_all().map_err(|error| refused(crate::chain(&error)))? {
                Some(locks) => return Ok(Turnstile { _locks: locks, _here: here }),
                None if began.elapsed() < WAIT_MAX && !cancel.is_cancelled() => {}
                None => {
                    let reason =
                        "another session is changing files in the same directory; try again";
                    return Err(refused(reason.to_owned()));
                }
            }
            tokio::time::sleep(pause).await;
            pause = pause.saturating_mul(2).min(pause_max);
        }
    }

    /// Takes all locks, or none.
    fn try_all(&self) -> Result<Option<Vec<Lock>>, FileError> {
        let mut locks = Vec::new();
        for (path, hold) in self.locks.iter() {
            let lock = match hold {
                Hold::Shared => Lock::try_share(path)?,
                Hold::Alone => Lock::try_acquire(path)?,
            };
            match lock {
                Some(lock) => locks.push(lock),
                None => return Ok(None),
            }
        }
        Ok(Some(locks))
    }
}

/// Returns the directories in which calls change files without a question, but for the session's own.
fn roots(judge: &Judge) -> Vec<CanonicalPath> {
    let mut roots = Vec::new();
    for server in judge.bounds.servers.keys() {
        let changed = judge.directories(server).into_iter();
        let changed = changed.filter(|(_, roles)| roles.iter().copied().any(Role::changes_path));
        roots.extend(changed.map(|(path, _)| path));
    }
    let own = judge.bounds.sandbox.as_ref().filter(|it| !it.kind.is_used_by_host());
    roots.retain(|path| own.is_none_or(|own| !path.is_within(&own.path)));
    roots.sort_unstable();
    roots.dedup();
    roots
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changing(directory: &Path, roots: &[&str]) -> Changing {
        Changing::of(roots.iter().map(|it| CanonicalPath::new(*it).unwrap()).collect(), directory)
    }

    /// Two sessions wait for each other exactly if one may change files of the other.
    #[test]
    fn directories_in_each_other_exclude_each_other() {
        let place = tempfile::tempdir().unwrap();
        for (one, other, is_excluded) in [
            (&["/w/a"][..], &["/w/a"][..], true),
            (&["/w/a"], &["/w"], true),
            (&["/w"], &["/w/a/b"], true),
            (&["/w/a", "/d"], &["/w/b", "/d/x"], true),
            (&["/w/a"], &["/w/b"], false),
            (&["/w/a"], &["/w/ab"], false),
            (&["/w/a"], &[], false),
        ] {
            let (one, other) = (changing(place.path(), one), changing(place.path(), other));
            let held = one.try_all().unwrap().unwrap();
            assert_eq!(other.try_all().unwrap().is_none(), is_excluded, "{one:?} {other:?}");
            drop(held);
            assert!(other.try_all().unwrap().is_some(), "{other:?} is free again");
        }
    }
}
