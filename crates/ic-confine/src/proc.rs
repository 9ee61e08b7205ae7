//! Reads and writes `/proc`: small files, and directories whose names are numbers.
//!
//! It does not know what they mean, and opens nothing outside.

use std::path::Path;

use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Dir, Mode, OFlags};
use rustix::io::Errno;

/// Reads the file at `path`, at most about `bytes_max` of it.
pub(crate) fn read(path: &Path, bytes_max: usize) -> Result<Vec<u8>, Errno> {
    const CHUNK: usize = 4096;
    let file = open(path, OFlags::empty())?;
    let mut text = Vec::new();
    while text.len() < bytes_max {
        let n_before = text.len();
        text.resize(n_before + CHUNK, 0);
        let free = text.get_mut(n_before..).unwrap_or_default();
        let n_read = rustix::io::retry_on_intr(|| rustix::io::read(&file, &mut *free))?;
        text.truncate(n_before + n_read);
        if n_read == 0 {
            break;
        }
    }
    Ok(text)
}

/// Writes `text` to the file at `path`.
pub(crate) fn write(path: &Path, text: &[u8]) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
    rustix::io::write(file, text).map(drop)
}

/// Returns those names in `directory` that are numbers, at most `n_max` of them.
pub(crate) fn numbers_in(directory: &Path, n_max: usize) -> Result<Vec<i32>, Errno> {
    let mut numbers = Vec::new();
    for entry in Dir::new(open(directory, OFlags::DIRECTORY)?)? {
        let entry = entry?;
        numbers.extend(entry.file_name().to_str().ok().and_then(|name| name.parse::<i32>().ok()));
        if n_max <= numbers.len() {
            break;
        }
    }
    Ok(numbers)
}

fn open(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(CWD, path, flags | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}
