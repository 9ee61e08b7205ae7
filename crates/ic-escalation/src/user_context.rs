//! What the person who runs a session said last: in memory, and in `user-context.json` for others to see.
//!
//! The approver goes by what is in memory. The file is written and never read, so nothing that somebody
//! writes into it approves anything. How a message came to be typed is for whoever has the terminal to say.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Mutex;

use ic_home::{FileError, file};
use ic_intent::Message;
use ic_types::{Digest, locked};

/// How much of what an agent wrote is remembered, in bytes.
const HEARD_BYTES_MAX: usize = 64 << 10;
/// How much of a message stands in the file, in characters.
const FILE_CHARS_MAX: usize = 32 << 10;

/// The last message of the person, and what agents wrote around it.
#[derive(Debug)]
pub struct UserContext {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    message: Option<Message>,
    /// What agents wrote lately.
    heard: String,
    /// The calls that the message has answered.
    used: HashSet<Digest>,
}

impl UserContext {
    /// Begins without a message; one of an earlier run is removed.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, FileError> {
        let context = Self { path: path.into(), state: Mutex::default() };
        file::remove(&context.path)?;
        Ok(context)
    }

    /// Takes a message of the person; `shown` is its text without keys of ours, for the file.
    ///
    /// If the file cannot be written, there is no message: what approves has to be seen.
    pub fn say(&self, message: Message, shown: &str) -> Result<(), FileError> {
        let mut state = locked(&self.state);
        (state.message, state.used) = (None, HashSet::new());
        let shown: String = shown.chars().take(FILE_CHARS_MAX).collect();
        let json = message.to_json(&shown).to_string();
        file::replace_unsynced(&self.path, json.as_bytes())?;
        state.message = Some(message);
        Ok(())
    }

    /// Begins a turn with `text`; unless that is what the person said, nobody has said anything.
    pub fn begin_turn(&self, text: &str) {
        let mut state = locked(&self.state);
        if state.message.as_ref().is_some_and(|it| it.text != text) {
            state.message = None;
            // A file that stays behind is only looked at.
            file::remove(&self.path).ok();
        }
    }

    /// Remembers what an agent wrote.
    pub fn hear(&self, text: &str) {
        let mut state = locked(&self.state);
        state.heard.push_str(text);
        let too_much = state.heard.len().saturating_sub(HEARD_BYTES_MAX);
        if 0 < too_much {
            let at = (too_much..=state.heard.len()).find(|at| state.heard.is_char_boundary(*at));
            state.heard.drain(..at.unwrap_or_default());
        }
    }

    /// Returns the message, and what agents wrote.
    pub(crate) fn now(&self) -> Option<(Message, String)> {
        let state = locked(&self.state);
        Some((state.message.clone()?, state.heard.clone()))
    }

    /// Returns whether `message` has answered `call` already.
    pub(crate) fn has_answered(&self, call: &Digest) -> bool {
        locked(&self.state).used.contains(call)
    }

    /// Lets `message` answer `call`, once, if it is still the last one.
    pub(crate) fn answer(&self, message: &Message, call: Digest) -> bool {
        let mut state = locked(&self.state);
        state.message.as_ref() == Some(message) && state.used.insert(call)
    }
}
