//! Wheels that were installed before: kept in our home by their hash, and shared between servers.
//!
//! Only the host writes here, and only what has the hash under which it is kept; whatever is taken out is
//! hashed again, and pip checks it against the lock once more. No cage can write here, and no agent: our home
//! is protected. What a wheel is for is not known here.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ic_home::{Home, file};
use ic_types::Digest;

use crate::error::Failure;

/// The largest wheel that is kept.
const WHEEL_BYTES_MAX: u64 = 256 << 20;
/// How many wheels are kept; further ones are fetched each time.
const WHEELS_MAX: usize = 2000;
/// How a wheel's name ends.
const ENDING: &str = ".whl";

/// The wheels of a home.
#[derive(Debug)]
pub(super) struct Wheels {
    directory: PathBuf,
}

impl Wheels {
    pub(super) fn of(home: &Home) -> Self {
        Self { directory: home.wheels() }
    }

    /// Puts the wheel with this hash into `target`, if it is kept and still is what it was.
    pub(super) fn take(&self, hash: &str, target: &Path) -> Result<bool, Failure> {
        let own = self.directory.join(hash);
        for name in file::names(&own)?.unwrap_or_default() {
            let Some(name) = name.to_str().filter(|name| is_wheel(name)) else { continue };
            let Some(bytes) = file::read_own(own.join(name), WHEEL_BYTES_MAX)? else { continue };
            // SECURITY: a file that is not what its place says is not used, whoever changed it.
            if Digest::of(&bytes).to_string() == hash {
                file::replace(target.join(name), &bytes)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Keeps the wheels in `fetched` that have one of these hashes.
    pub(super) fn keep(&self, fetched: &Path, hashes: &BTreeSet<&str>) -> Result<(), Failure> {
        file::create_dir(&self.directory)?;
        let mut n_kept = file::names(&self.directory)?.unwrap_or_default().len();
        for name in file::names(fetched)?.unwrap_or_default() {
            let Some(name) = name.to_str().filter(|name| is_wheel(name)) else { continue };
            // One that is too large, or is not a file, is not kept.
            let Ok(Some(bytes)) = file::read(fetched.join(name), WHEEL_BYTES_MAX) else { continue };
            let hash = Digest::of(&bytes).to_string();
            if WHEELS_MAX <= n_kept || !hashes.contains(hash.as_str()) {
                continue;
            }
            let own = self.directory.join(&hash);
            file::create_dir(&own)?;
            file::replace(own.join(name), &bytes)?;
            n_kept += 1;
        }
        Ok(())
    }
}

/// Returns whether a name is that of a wheel, and of nothing else.
fn is_wheel(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+!".contains(&byte);
    name.ends_with(ENDING) && !name.starts_with('.') && name.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_wheels_lead_nowhere() {
        for good in ["a-1.0-py3-none-any.whl", "a_b-1.0+x-py3-none-any.whl"] {
            assert!(is_wheel(good), "{good}");
        }
        for bad in ["a.zip", "../a.whl", ".a.whl", "a b.whl", "a/b.whl", "", "a.whl\n"] {
            assert!(!is_wheel(bad), "{bad:?}");
        }
    }
}
