//! Messages of earlier sessions, kept in the home for whoever wants to send one again.
//!
//! Best effort: a message that cannot be kept is sent all the same.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use ic_audit::Redactor;
use ic_home::file;
use ic_terminal::History;

/// The largest file that is read; a larger one is begun anew.
const BYTES_MAX: u64 = 8 << 20;
/// How many bytes make it worth writing the file anew with what is still wanted.
const BYTES_USUAL: usize = 1 << 20;

/// Messages that were sent.
pub(super) struct Memory {
    pub(super) history: History,
    path: PathBuf,
    redactor: Arc<Redactor>,
}

impl Memory {
    /// Reads what is kept at `path`.
    pub(super) fn read(path: PathBuf, redactor: Arc<Redactor>) -> Self {
        let bytes = match file::read_own(&path, BYTES_MAX) {
            Ok(bytes) => bytes.unwrap_or_default(),
            Err(_) => Vec::new(),
        };
        let history = History::of_text(&String::from_utf8_lossy(&bytes));
        if BYTES_USUAL < bytes.len() {
            file::replace_unsynced(&path, history.to_text().as_bytes()).ok();
        }
        Self { history, path, redactor }
    }

    /// Keeps a message.
    pub(super) fn add(&mut self, message: &str) {
        self.history.add(message);
        let mut one = History::default();
        // SECURITY: a key that was typed is not written down.
        one.add(&self.redactor.text(message));
        if let Ok(mut file) = file::open_append(&self.path) {
            file.write_all(one.to_text().as_bytes()).ok();
        }
    }
}
