//! The numbers by which people name questions: one for each of a home, and never given twice.
//!
//! A number decides nothing. Whoever gets none is numbered by whoever shows it.

use std::path::PathBuf;

use ic_home::{FileError, Home, Lock, file};

/// The longest number.
const BYTES_MAX: u64 = 32;

/// Counts the questions of a home, in a file.
#[derive(Debug)]
pub struct Numbers {
    file: PathBuf,
    lock: PathBuf,
}

impl Numbers {
    /// Names the numbers of a home; nothing is looked at.
    pub fn of(home: &Home) -> Self {
        Self { file: home.question_number(), lock: home.question_number_lock() }
    }

    /// Returns the next number; none if it cannot be kept.
    pub fn next(&self) -> Option<u64> {
        self.take().ok()
    }

    fn take(&self) -> Result<u64, FileError> {
        let _lock = Lock::acquire(&self.lock)?;
        let before = file::read_own(&self.file, BYTES_MAX).ok().flatten().unwrap_or_default();
        let before = str::from_utf8(&before).ok().and_then(|it| it.trim().parse().ok());
        // A file that is damaged, or has come to its end, begins anew.
        let number = before.and_then(|it: u64| it.checked_add(1)).unwrap_or(1);
        file::replace_unsynced(&self.file, number.to_string().as_bytes())?;
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests: a damaged file is made")]

    use ic_types::AbsolutePath;

    use super::*;

    #[test]
    fn numbers_go_on_and_survive_a_damaged_file() {
        let root = tempfile::tempdir().unwrap();
        let home = Home::new(AbsolutePath::new(root.path().join("home")).unwrap());
        let numbers = Numbers::of(&home);
        assert_eq!(numbers.next(), None, "there is no home");
        home.prepare().unwrap();
        assert_eq!(
            [numbers.next(), Numbers::of(&home).next(), numbers.next()].map(Option::unwrap),
            [1, 2, 3]
        );
        for text in ["x", "-1", "18446744073709551615", ""] {
            std::fs::write(home.question_number(), text).unwrap();
            assert_eq!(numbers.next(), Some(1), "{text}");
        }
    }
}
