//! What the person who runs a session said last: in memory, and in `user-context.json` for others to see.
//!
//! The approver goes by what is in memory. The file is written and never read, so nothing that somebody
//! writes into it approves anything. How a message came to be typed is for whoever has the terminal to say.

use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Mutex;

use ic_home::{FileError, file};
use ic_intent::{Doubt, Message, Source, Unclear};
use ic_types::{Digest, Timestamp, locked};

/// How much of what an agent wrote is remembered, in bytes.
const HEARD_BYTES_MAX: usize = 64 << 10;
/// How much of a message stands in the file, in characters.
const FILE_CHARS_MAX: usize = 32 << 10;

/// The last message of the person, and what agents wrote around it.
pub struct UserContext {
    path: PathBuf,
    /// Takes our keys out of what the file shows.
    mask: Box<dyn Fn(String) -> String + Send + Sync>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    message: Option<Message>,
    /// The keys of a message that nobody has put together yet, and when they were pressed.
    unclear: Option<(Unclear, Timestamp)>,
    /// What agents wrote lately.
    heard: String,
    /// The calls that the message has answered.
    used: HashSet<Digest>,
}

impl UserContext {
    /// Begins without a message; one of an earlier run is removed. `mask` takes our keys out of what the file shows.
    pub fn open(
        path: impl Into<PathBuf>,
        mask: impl Fn(String) -> String + Send + Sync + 'static,
    ) -> Result<Self, FileError> {
        let context = Self { path: path.into(), mask: Box::new(mask), state: Mutex::default() };
        file::remove(&context.path)?;
        Ok(context)
    }

    /// Takes a message of the person.
    ///
    /// If the file cannot be written, there is no message: what approves has to be seen.
    pub fn say(&self, message: Message) -> Result<(), FileError> {
        self.take(message, &mut locked(&self.state))
    }

    fn take(&self, message: Message, state: &mut State) -> Result<(), FileError> {
        *state = State { heard: std::mem::take(&mut state.heard), ..State::default() };
        let shown: String =
            (self.mask)(message.text.clone()).chars().take(FILE_CHARS_MAX).collect();
        let json = message.to_json(&shown).to_string();
        file::replace_unsynced(&self.path, json.as_bytes())?;
        state.message = Some(message);
        Ok(())
    }

    /// Takes the keys of a message that code cannot read; what was said before counts no more.
    pub fn press(&self, keys: Unclear, at: Timestamp) {
        self.forget();
        locked(&self.state).unclear = Some((keys, at));
    }

    /// Lets what was said before count no more.
    pub fn forget(&self) {
        let mut state = locked(&self.state);
        *state = State { heard: std::mem::take(&mut state.heard), ..State::default() };
        // A file that stays behind is only looked at.
        file::remove(&self.path).ok();
    }

    /// Returns keys whose message nobody has put together yet, and when they were pressed.
    pub(crate) fn unclear(&self) -> Option<(Unclear, Timestamp)> {
        locked(&self.state).unclear.clone()
    }

    /// Takes `text` as the message of these keys, if it can be theirs and nothing came since.
    pub(crate) fn put_together(
        &self,
        (keys, at): (&Unclear, Timestamp),
        text: &str,
    ) -> Result<(), Doubt> {
        let mut state = locked(&self.state);
        let is_last =
            state.unclear.as_ref().is_some_and(|(last, when)| last == keys && *when == at);
        if !is_last || !keys.could_be(text) {
            return Err(Doubt::Keys);
        }
        let (text, has_paste) = (text.to_owned(), keys.has_paste());
        let message = Message { text, source: Source::Reconstructed, at, has_paste };
        self.take(message, &mut state).map_err(|_| Doubt::NoMessage)
    }

    /// Begins a turn with `text`; unless that is what the person said, nobody has said anything.
    pub fn begin_turn(&self, text: &str) {
        let mut state = locked(&self.state);
        if state.message.as_ref().is_some_and(|it| it.text != text) || state.unclear.is_some() {
            (state.message, state.unclear) = (None, None);
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

    /// Returns whether the person said anything, clear or not.
    pub(crate) fn has_message(&self) -> bool {
        let state = locked(&self.state);
        state.message.is_some() || state.unclear.is_some()
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

impl fmt::Debug for UserContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserContext").field("path", &self.path).finish_non_exhaustive()
    }
}
