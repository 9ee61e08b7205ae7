//! The beginning of a file in a directory that others write to.

#![expect(clippy::disallowed_types, reason = "part of the module that opens files")]

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::{Doing, FileError, open_directory, regular};

/// The beginning of a file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Head {
    /// What it begins with.
    pub bytes: Vec<u8>,
    /// Whether that is all of it.
    pub is_whole: bool,
}

/// Reads the first `bytes_max` bytes of the regular file `name` in `directory`; `None` if nothing is
/// there.
///
/// For a directory that others write to: the file is opened beneath it, `name` has to be one name, and a
/// link in its place is refused, not followed.
pub fn read_head(
    directory: impl AsRef<Path>,
    name: &str,
    bytes_max: u64,
) -> Result<Option<Head>, FileError> {
    let path = directory.as_ref().join(name);
    let failed = |source: io::Error| FileError::system(Doing::Read, &path, source);
    if name.is_empty() || name == "." || name == ".." || name.contains('/') {
        return Err(failed(io::ErrorKind::InvalidInput.into()));
    }
    let beneath = open_directory(directory.as_ref(), OFlags::empty())?;
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let fd = match rustix::fs::openat(&beneath, name, flags, Mode::empty()) {
        Ok(fd) => fd,
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP) => return Err(FileError::Link { path }),
        Err(error) => return Err(failed(error.into())),
    };
    regular(&fd, Doing::Read, &path)?;
    let mut bytes = Vec::new();
    File::from(fd).take(bytes_max.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    let kept = usize::try_from(bytes_max).unwrap_or(usize::MAX);
    let is_whole = bytes.len() <= kept;
    bytes.truncate(kept);
    Ok(Some(Head { bytes, is_whole }))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests: files are made to be read")]

    use super::*;

    #[test]
    fn the_beginning_is_read_through_no_link() {
        let root = tempfile::tempdir().unwrap();
        let (path, outside) = (root.path().join("work"), root.path().join("secret"));
        std::fs::create_dir(&path).unwrap();
        std::fs::write(&outside, "secret").unwrap();
        std::fs::write(path.join("notes"), "12345678").unwrap();
        std::os::unix::fs::symlink(&outside, path.join("link")).unwrap();
        std::fs::create_dir(path.join("directory")).unwrap();
        let head = |name: &str, bytes_max| read_head(&path, name, bytes_max);
        let is = |bytes: &str, is_whole| Some(Head { bytes: bytes.as_bytes().to_vec(), is_whole });
        assert_eq!(head("notes", 8).unwrap(), is("12345678", true));
        assert_eq!(head("notes", 7).unwrap(), is("1234567", false));
        assert_eq!(head("gone", 7).unwrap(), None);
        assert!(matches!(head("link", 99), Err(FileError::Link { .. })));
        for name in ["directory", "../secret", "", ".", "..", "directory/../notes"] {
            assert!(head(name, 99).is_err(), "{name}");
        }
    }
}
