//! Answers that were paid for, by the hash of their question.
//!
//! Nothing that is read from here is trusted more than a fresh answer: it is checked in the same way.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use ic_home::file;
use ic_types::{Digest, Json, JsonLimits, Object};

/// The longest answer that is kept.
const BYTES_MAX: u64 = 4 << 20;

/// Keeps answers.
pub trait Cache: std::fmt::Debug {
    /// Returns the answer to a question; one that cannot be read is none.
    fn get(&self, question: &Digest) -> Option<Object>;

    /// Keeps the answer to a question, or says why that failed.
    fn put(&self, question: &Digest, answer: &Object) -> Result<(), String>;
}

/// Answers in files of a directory of the home, one for each question.
#[derive(Debug)]
pub struct Files(PathBuf);

impl Files {
    /// Keeps answers in `directory`, which is made when it is needed.
    pub fn new(directory: PathBuf) -> Self {
        Self(directory)
    }

    fn path(&self, question: &Digest) -> PathBuf {
        self.0.join(format!("{question}.json"))
    }
}

impl Cache for Files {
    fn get(&self, question: &Digest) -> Option<Object> {
        let bytes = file::read_own(self.path(question), BYTES_MAX).ok()??;
        match Json::parse(&bytes, JsonLimits::CALL) {
            Ok(Json::Object(answer)) => Some(answer),
            Ok(_) | Err(_) => None,
        }
    }

    fn put(&self, question: &Digest, answer: &Object) -> Result<(), String> {
        let mut text = String::new();
        Json::write_object(&mut text, answer);
        file::create_dir(&self.0)
            .and_then(|()| file::replace(self.path(question), text.as_bytes()))
            .map_err(|error| error.to_string())
    }
}

/// Answers in memory, for as long as the process runs.
#[derive(Debug, Default)]
pub struct Memory(Mutex<HashMap<Digest, Object>>);

impl Cache for Memory {
    fn get(&self, question: &Digest) -> Option<Object> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(question).cloned()
    }

    fn put(&self, question: &Digest, answer: &Object) -> Result<(), String> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(*question, answer.clone());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_in_files_outlive_the_process_and_damage_is_no_answer() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("cache");
        let (question, mut answer) = (Digest::of(b"q"), Object::new());
        answer.insert("ids", true);
        assert_eq!(Files::new(place.clone()).get(&question), None);
        Files::new(place.clone()).put(&question, &answer).unwrap();
        assert_eq!(Files::new(place.clone()).get(&question), Some(answer));
        file::replace(place.join(format!("{question}.json")), b"[1").unwrap();
        assert_eq!(Files::new(place).get(&question), None);
    }
}
