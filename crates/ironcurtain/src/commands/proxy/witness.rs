//! Whoever watches a proxy: notices go to standard error, servers' own words to the session's log.
//!
//! Both are made harmless for a terminal first. Nothing here is a record.

#![expect(clippy::disallowed_types, reason = "the session's log is an open file")]

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ic_broker::Witness;
use ic_home::{Clock as _, SystemClock, file};
use ic_types::ServerName;

use crate::error::Failure;
use crate::screen::visible;

/// How much of what servers say is kept.
const LOG_BYTES_MAX: usize = 16 << 20;

/// Tells people by standard error.
#[derive(Debug)]
pub(super) struct StderrWitness {
    log: Mutex<(File, usize)>,
}

impl StderrWitness {
    /// Makes a witness that keeps what servers say in the file at `path`.
    pub(super) fn new(path: &Path) -> Result<Self, Failure> {
        Ok(Self { log: Mutex::new((file::open_append(path)?, LOG_BYTES_MAX)) })
    }

    fn keep(&self, line: &str) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let line = format!("{} {line}\n", SystemClock.now());
        if let Some(left) = log.1.checked_sub(line.len()) {
            log.1 = left;
            // What servers say is a help, not a record; without room for it the session goes on.
            log.0.write_all(line.as_bytes()).ok();
        }
    }
}

impl Witness for StderrWitness {
    fn notice(&self, text: &str) {
        let text = visible(text);
        // Without standard error there is nobody to tell.
        writeln!(std::io::stderr(), "ironcurtain: {text}").ok();
        self.keep(&text);
    }

    fn server_wrote(&self, server: &ServerName, line: &str) {
        self.keep(&format!("[{server}] {}", visible(line)));
    }
}
