//! How much is in a directory that somebody else fills.
//!
//! It follows no link, goes not too deep and does not count for ever: what is too much to be counted
//! is too much.

use std::ffi::CString;
use std::path::Path;

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

/// The most files and directories.
const FILES_MAX: usize = 1 << 16;
/// The most directories within each other; each costs a descriptor.
const DEPTH_MAX: usize = 64;
/// The unit of `st_blocks`.
const BLOCK: u64 = 512;

/// Returns whether there are more than `bytes_max`, or too many files, in the directory at `path`.
pub(super) fn exceeds(path: &Path, bytes_max: u64) -> bool {
    let mut count = Count { n_files: 0, n_bytes: 0, bytes_max };
    match open(CWD, path) {
        Ok(directory) => count.exceeds(&directory, 0),
        // It is not there, or not a directory: somebody else's trouble.
        Err(_) => false,
    }
}

struct Count {
    n_files: usize,
    n_bytes: u64,
    bytes_max: u64,
}

impl Count {
    fn exceeds(&mut self, directory: &OwnedFd, depth: usize) -> bool {
        if DEPTH_MAX < depth {
            return true;
        }
        let Ok(entries) = Dir::read_from(directory) else { return false };
        for entry in entries.flatten() {
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let Ok(stat) = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            self.n_files += 1;
            let n_blocks = u64::try_from(stat.st_blocks).unwrap_or(0);
            self.n_bytes = self.n_bytes.saturating_add(n_blocks.saturating_mul(BLOCK));
            if FILES_MAX < self.n_files || self.bytes_max < self.n_bytes {
                return true;
            }
            let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
            if !is_directory {
                continue;
            }
            match open(directory, CString::from(name).as_c_str()) {
                Ok(below) if !self.exceeds(&below, depth + 1) => {}
                Err(Errno::NOENT) => {}
                // What cannot be counted is too much.
                Ok(_) | Err(_) => return true,
            }
        }
        false
    }
}

fn open(directory: impl rustix::fd::AsFd, name: impl rustix::path::Arg) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(directory, name, flags, Mode::empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a directory of the test's own")]
    fn what_is_in_a_directory_is_counted_and_links_are_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let deep = place.path().join("a/b");
        std::fs::create_dir_all(&deep).unwrap();
        assert!(!exceeds(place.path(), 1 << 20));
        std::os::unix::fs::symlink("/", deep.join("root")).unwrap();
        std::os::unix::fs::symlink(place.path(), deep.join("again")).unwrap();
        assert!(!exceeds(place.path(), 1 << 20), "a link was followed");
        std::fs::write(deep.join("file"), vec![1; 2 << 20]).unwrap();
        assert!(exceeds(place.path(), 1 << 20));
        assert!(!exceeds(place.path(), 4 << 20));
        assert!(!exceeds(&place.path().join("missing"), 0));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a directory of the test's own")]
    fn too_deep_is_too_much() {
        let place = tempfile::tempdir().unwrap();
        let deep: std::path::PathBuf = std::iter::repeat_n("d", DEPTH_MAX + 2).collect();
        std::fs::create_dir_all(place.path().join(deep)).unwrap();
        assert!(exceeds(place.path(), u64::MAX));
    }
}
