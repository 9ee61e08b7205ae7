//! `session.log`: what is neither a record nor for a person, such as servers' own words.
//!
//! What is written is made harmless for a terminal first. Nothing here is a record, and nothing waits
//! for it.

#![expect(clippy::disallowed_types, reason = "the session's log is an open file")]

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ic_home::{Clock as _, FileError, SystemClock, file};
use ic_types::{ServerName, visible};

/// How much is kept.
const BYTES_MAX: usize = 16 << 20;

/// The session's log.
#[derive(Debug)]
pub struct Journal(Mutex<(File, usize)>);

impl Journal {
    /// Opens the file at `path`, to write at its end.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        Ok(Self(Mutex::new((file::open_append(path)?, BYTES_MAX))))
    }

    /// Keeps a line, if there is room for it.
    pub fn keep(&self, line: &str) {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let line = format!("{} {}\n", SystemClock.now(), visible(line));
        if let Some(left) = log.1.checked_sub(line.len()) {
            log.1 = left;
            // It is a help, not a record; without room for it the session goes on.
            log.0.write_all(line.as_bytes()).ok();
        }
    }

    /// Keeps a line of a server's standard error.
    pub fn keep_words(&self, server: &ServerName, line: &str) {
        self.keep(&format!("[{server}] {line}"));
    }
}
