//! Whoever watches a proxy: notices go to standard error, servers' own words to the session's log.
//!
//! Both are made harmless for a terminal first. Nothing here is a record. Notices are written by a
//! thread of their own: a client that does not read our standard error must not hold us up.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ic_backend::{EscalationNews, Witness};
use ic_opening::Fault;
use ic_session::News;
use ic_types::ServerName;

use crate::screen::visible;

/// How many notices wait for somebody who does not read; further ones are only kept.
const NOTICES_MAX: usize = 256;
/// How long the last notices may take to be written.
const LAST_WORDS_MAX: Duration = Duration::from_millis(200);

/// Tells people by standard error.
#[derive(Debug)]
pub(super) struct StderrWitness {
    /// What keeps it, and tells other listeners.
    news: Arc<News>,
    notices: Option<SyncSender<String>>,
    /// Disconnected when all notices are written.
    written: Mutex<Receiver<()>>,
}

impl StderrWitness {
    /// Makes a witness that tells `news` too.
    pub(super) fn new(news: Arc<News>) -> Result<Self, Fault> {
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
            .map_err(|source| Fault::machine("cannot start").with_source(source))?;
        Ok(Self { news, notices: Some(notices), written: Mutex::new(written) })
    }
}

impl Witness for StderrWitness {
    fn notice(&self, text: &str) {
        self.news.notice(text);
        if let Some(notices) = &self.notices {
            // Whoever does not read misses some of it.
            notices.try_send(visible(text)).ok();
        }
    }

    fn server_wrote(&self, server: &ServerName, line: &str) {
        self.news.server_wrote(server, line);
    }

    fn violation(&self, reason: &str) {
        self.news.violation(reason);
    }

    fn escalation(&self, news: EscalationNews<'_>) {
        self.news.escalation(news);
        match news {
            EscalationNews::Raised { server, tool, until, .. } => self.notice(&format!(
                "{server}.{tool} waits for approval until {until}; see `ironcurtain approvals list`"
            )),
            EscalationNews::Ended(..) | EscalationNews::Unattended => {}
        }
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
