//! How old something is.

use std::path::Path;

use ic_types::Timestamp;
use rustix::fs::{AtFlags, CWD};
use rustix::io::Errno;

use super::{Doing, FileError};

/// Returns when what is at `path` was last changed; `None` if nothing is there. A link is not followed.
pub fn changed(path: impl AsRef<Path>) -> Result<Option<Timestamp>, FileError> {
    let path = path.as_ref();
    match rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => {
            let seconds = u64::try_from(stat.st_mtime).unwrap_or(0);
            Ok(Some(Timestamp::from_unix_ms(seconds.saturating_mul(1000))))
        }
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(FileError::system(Doing::Read, path, error)),
    }
}
