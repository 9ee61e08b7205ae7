//! What can go wrong with a conversation, and how it is said.

use std::path::PathBuf;

use ic_home::FileError;
use ic_types::{SessionId, SessionName};

/// A conversation, or a session, that could not be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file could not be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file is not what we wrote.
    #[error("`{}` is damaged, and is left as it is", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// There is no such session.
    #[error("no session is called `{}`", .0.escape_debug())]
    Unknown(String),
    /// Several sessions could be meant.
    #[error("{} sessions begin with `{}`: {}", .found.len(), .text.escape_debug(), few(.found))]
    Ambiguous {
        /// What was written.
        text: String,
        /// Which sessions that could be.
        found: Vec<String>,
    },
    /// The name belongs to another session.
    #[error("there is a session `{name}` already: {id}")]
    Taken {
        /// The name.
        name: SessionName,
        /// Whose it is.
        id: SessionId,
    },
    /// Somebody runs the session.
    #[error("the session `{0}` is running")]
    Running(SessionName),
    /// The session has no conversation.
    #[error("the session `{0}` has no conversation")]
    NoConversation(SessionName),
    /// Its conversation was purged.
    #[error("the conversation of the session `{0}` was purged")]
    Purged(SessionName),
    /// No session has a conversation.
    #[error("there is no session to continue")]
    NothingToContinue,
}

impl StoreError {
    pub(crate) fn damaged(
        path: PathBuf,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self::Damaged { path, source: source.into() }
    }
}

/// Names the first few.
fn few(found: &[String]) -> String {
    const SHOWN_MAX: usize = 5;
    let mut shown: Vec<&str> = found.iter().take(SHOWN_MAX).map(String::as_str).collect();
    if SHOWN_MAX < found.len() {
        shown.push("…");
    }
    shown.join(", ")
}
