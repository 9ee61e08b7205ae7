//! The lock that an agent itself holds while it renews its login: a directory beside the file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ic_home::{Clock, FileError, file};

use super::LoginError;

/// A lock that was not touched for this long was left behind; its holder touches it every few seconds.
const STALE_MS: u64 = 60_000;
/// How often it is looked at.
const PAUSE: Duration = Duration::from_millis(200);
/// How long it is waited for, at most.
const TRIES: usize = 150;

/// A lock that is held.
#[derive(Debug)]
pub(super) struct Lock(Option<PathBuf>);

/// Takes the lock called `name` beside `path`, if the agent has one.
pub(super) async fn take(
    name: Option<&str>,
    path: &Path,
    clock: &dyn Clock,
) -> Result<Lock, LoginError> {
    let Some(name) = name else { return Ok(Lock(None)) };
    let lock = path.with_file_name(name);
    for _ in 0..TRIES {
        match file::create_new_dir(&lock) {
            Ok(()) => return Ok(Lock(Some(lock))),
            Err(FileError::Exists { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let age = file::changed(&lock)?
            .map(|changed| clock.now().unix_ms().saturating_sub(changed.unix_ms()));
        match age {
            Some(age) if STALE_MS < age => file::remove_empty_dir(&lock)?,
            Some(_) => tokio::time::sleep(PAUSE).await,
            None => {}
        }
    }
    Err(LoginError::Busy)
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Some(lock) = &self.0 {
            // One that stays is stale soon.
            file::remove_empty_dir(lock).ok();
        }
    }
}
