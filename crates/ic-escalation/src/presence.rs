//! `registry/desk-<pid>.lock`: somebody is there to answer.
//!
//! Presence is a held lock, so whoever is killed is not there any more. Who it is, and what they
//! answer, is not known here.

use std::ffi::OsStr;
use std::path::Path;

use ic_home::{FileError, Home, Lock, Process, file};

/// How often the lock is tried: whoever looks at it holds it for a moment, and looking is not being
/// there. Waiting for it instead would be for ever if this process has it already.
const ATTEMPTS_MAX: usize = 20_000;

/// Somebody who answers, until this is dropped.
#[derive(Debug)]
#[must_use = "somebody who is dropped is not there any more"]
pub struct Presence {
    lock: Lock,
}

/// Nobody could take a seat.
#[derive(Debug, thiserror::Error)]
pub enum PresenceError {
    /// The lock cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// This process has one already.
    #[error("this process already has an approver")]
    Taken,
}

impl Presence {
    /// Says that somebody at this process answers.
    pub fn take(home: &Home) -> Result<Self, PresenceError> {
        let path = home.desk_lock(std::process::id());
        for _ in 0..ATTEMPTS_MAX {
            if let Some(lock) = Lock::try_acquire(&path)? {
                return Ok(Self { lock });
            }
            // Somebody looks whether we are there, which takes a moment.
            std::thread::yield_now();
        }
        Err(PresenceError::Taken)
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        // While the lock is still held, so it is nobody else's file.
        file::remove(self.lock.path()).ok();
    }
}

/// Returns whether anybody is there to answer; locks that nobody holds are removed.
pub fn is_anybody_there(home: &Home) -> Result<bool, FileError> {
    let registry = home.registry();
    let names = file::names(&registry)?.unwrap_or_default();
    let mut is_there = false;
    for (name, pid) in names.iter().filter_map(|name| Some((name, pid(name)?))) {
        is_there |= is_present(&registry.join(name), pid)?;
    }
    Ok(is_there)
}

fn is_present(path: &Path, pid: u32) -> Result<bool, FileError> {
    if Lock::is_held(path)? {
        // A lock is also held for a moment by whoever removes it.
        return Ok(Process::find(pid)?.is_some());
    }
    // SECURITY: removed only while it is held, so that it is not the lock of somebody who has just
    // come; who comes meanwhile finds the file gone and makes a new one.
    if let Some(lock) = Lock::try_acquire(path)? {
        file::remove(lock.path())?;
    }
    Ok(false)
}

/// Returns the process whose lock is called `name`.
fn pid(name: &OsStr) -> Option<u32> {
    name.to_str()?.strip_prefix("desk-")?.strip_suffix(".lock")?.parse().ok()
}
