//! A disk that answers each question once, for the length of one look.
//!
//! Most questions of a look are about the same directories: every name of a start-up file in the home asks
//! for each part of the home's own path again. Whoever writes meanwhile is stopped or is looked at again, so
//! one look shows one moment; it must not live any longer.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use ic_resolve::{Disk, Entry, Kind};

/// How many answers are remembered.
const ANSWERS_MAX: usize = 1 << 16;

/// A disk that remembers what it said.
pub(super) struct Remembered<'a> {
    disk: &'a dyn Disk,
    looks: RefCell<HashMap<PathBuf, Option<Entry>>>,
    links: RefCell<HashMap<PathBuf, PathBuf>>,
}

impl<'a> Remembered<'a> {
    pub(super) fn new(disk: &'a dyn Disk) -> Self {
        Self { disk, looks: RefCell::default(), links: RefCell::default() }
    }
}

/// Returns what is known of `path`, or asks; an error is not remembered.
fn once<T: Clone>(
    known: &RefCell<HashMap<PathBuf, T>>,
    path: &Path,
    ask: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    if let Some(answer) = known.borrow().get(path) {
        return Ok(answer.clone());
    }
    let answer = ask()?;
    let mut known = known.borrow_mut();
    if known.len() < ANSWERS_MAX {
        known.insert(path.to_owned(), answer.clone());
    }
    Ok(answer)
}

impl Disk for Remembered<'_> {
    fn look(&self, path: &Path) -> io::Result<Option<Entry>> {
        once(&self.looks, path, || self.disk.look(path))
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        once(&self.links, path, || self.disk.read_link(path))
    }

    fn read_file(&self, path: &Path, bytes_max: usize) -> io::Result<Option<Vec<u8>>> {
        self.disk.read_file(path, bytes_max)
    }

    fn list(&self, path: &Path, n_max: usize) -> io::Result<Vec<(OsString, Kind)>> {
        self.disk.list(path, n_max)
    }

    fn may_wait(&self) -> bool {
        self.disk.may_wait()
    }

    fn give_up(&self) {
        self.disk.give_up();
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make files")]

    use std::cell::Cell;

    use ic_resolve::RealDisk;

    use super::*;

    struct Counting(Cell<usize>);

    impl Disk for Counting {
        fn look(&self, path: &Path) -> io::Result<Option<Entry>> {
            self.0.set(self.0.get() + 1);
            RealDisk.look(path)
        }
        fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
            self.0.set(self.0.get() + 1);
            RealDisk.read_link(path)
        }
        fn read_file(&self, path: &Path, bytes_max: usize) -> io::Result<Option<Vec<u8>>> {
            RealDisk.read_file(path, bytes_max)
        }
        fn list(&self, path: &Path, n_max: usize) -> io::Result<Vec<(OsString, Kind)>> {
            RealDisk.list(path, n_max)
        }
    }

    /// Each question goes to the disk once, also if the answer is that nothing is there; trouble is asked
    /// about again, and so is everything in the next look.
    #[test]
    fn each_question_is_asked_once_in_one_look() {
        let place = tempfile::tempdir().unwrap();
        let [there, link, missing] = ["a", "l", "m"].map(|name| place.path().join(name));
        std::fs::write(&there, "a").unwrap();
        std::os::unix::fs::symlink("a", &link).unwrap();
        let disk = Counting(Cell::new(0));
        let look = Remembered::new(&disk);
        for _ in 0..3 {
            assert!(look.look(&there).unwrap().is_some());
            assert!(look.look(&missing).unwrap().is_none());
            assert_eq!(look.read_link(&link).unwrap(), Path::new("a"));
        }
        assert_eq!(disk.0.get(), 3);
        for _ in 0..2 {
            assert!(look.read_link(&there).is_err());
        }
        assert_eq!(disk.0.get(), 5);
        std::fs::write(&missing, "m").unwrap();
        assert!(look.look(&missing).unwrap().is_none(), "one look shows one moment");
        assert!(Remembered::new(&disk).look(&missing).unwrap().is_some());
    }
}
