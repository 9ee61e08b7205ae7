//! Whoever watches a proxy: notices go to standard error, servers' own words to the session's log.
//!
//! Both are made harmless for a terminal first. Nothing here is a record. Notices are written by a
//! thread of their own: a client that does not read our standard error must not hold us up.

#![expect(clippy::disallowed_types, reason = "the session's log is an open file")]

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ic_broker::Witness;
use ic_home::{Clock as _, SystemClock, file};
use ic_types::ServerName;

use crate::error::Failure;
use crate::screen::visible;

/// How much of what servers say is kept.
const LOG_BYTES_MAX: usize = 16 << 20;
/// How many notices wait for somebody who does not read; further ones are only kept.
const NOTICES_MAX: usize = 256;
/// How long the last notices may take to be written.
const LAST_WORDS_MAX: Duration = Duration::from_millis(200);

/// Tells people by standard error.
#[derive(Debug)]
pub(super) struct StderrWitness {
    log: Mutex<(File, usize)>,
    notices: Option<SyncSender<String>>,
    /// Disconnected when all notices are written.
    written: Mutex<Receiver<()>>,
}

impl StderrWitness {
    /// Makes a witness that keeps what servers say in the file at `path`.
    pub(super) fn new(path: &Path) -> Result<Self, Failure> {
        let log = Mutex::new((file::open_append(path)?, LOG_BYTES_MAX));
        let (notices, waiting) = sync_channel::<String>(NOTICES_MAX);
        let (writing, written) = channel();
        std::thread::Builder::new()
            .name("notices".to_owned())
            .spawn(move || {
                for notice in waiting {
                    // Without standard error there is nobody to tell.
                    writeln!(std::io::stderr(), "ironcurtain: {notice}").ok();
                }
                drop(writing);
            })
            .map_err(|source| Failure::environment("cannot start").with_source(source))?;
        Ok(Self { log, notices: Some(notices), written: Mutex::new(written) })
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
        self.keep(&text);
        if let Some(notices) = &self.notices {
            // Whoever does not read misses some of it.
            notices.try_send(text).ok();
        }
    }

    fn server_wrote(&self, server: &ServerName, line: &str) {
        self.keep(&format!("[{server}] {}", visible(line)));
    }
}

impl Drop for StderrWitness {
    fn drop(&mut self) {
        self.notices = None;
        let written = self.written.get_mut().unwrap_or_else(PoisonError::into_inner);
        // An error is the end of the thread, or of our patience.
        written.recv_timeout(LAST_WORDS_MAX).ok();
    }
}
