//! A message of the person who runs the session, and when it counts.
//!
//! How it came to us is said by whoever read it; nothing is read here.

use ic_types::{Json, Object, Timestamp};

use crate::doubt::Doubt;

/// How old a message may be when a call is compared with it.
pub const AGE_MS_MAX: u64 = 120_000;
/// How long a message may be; a longer one was hardly typed for one call.
pub const CHARS_MAX: usize = 600;
/// How many words in a row a message may share with what an agent wrote.
const SHARED_WORDS_MAX: usize = 5;
/// From how many words on a message that an agent wrote word for word is not the person's own.
const COPIED_WORDS_MIN: usize = 2;

/// What a person said.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Message {
    /// The words.
    pub text: String,
    /// How we know them.
    pub source: Source,
    /// When they were said.
    pub at: Timestamp,
    /// Whether any part of it was pasted.
    pub has_paste: bool,
}

/// How the words of a message are known.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Source {
    /// As the keys were pressed, or from the command line.
    Typed,
    /// Put together from keystrokes by a model.
    Reconstructed,
}

impl Message {
    /// Makes a message of what was typed, or stands on the command line.
    pub fn typed(text: impl Into<String>, at: Timestamp) -> Self {
        Self { text: text.into(), source: Source::Typed, at, has_paste: false }
    }

    /// Returns the message as it stands in `user-context.json`, with `text` in the place of its words.
    pub fn to_json(&self, text: &str) -> Json {
        let mut object = Object::new();
        object.insert("message", text);
        object.insert("source", self.source.as_str());
        object.insert("at", self.at.to_string());
        Json::Object(object)
    }

    /// Returns whether the message can count as the person's own words at `now`.
    ///
    /// `heard` is what agents wrote lately: their words, sent back, are not the person's.
    pub fn check(&self, heard: &str, now: Timestamp) -> Result<(), Doubt> {
        if is_stale(self.at, now) {
            return Err(Doubt::Stale);
        }
        if self.has_paste {
            return Err(Doubt::Pasted);
        }
        if CHARS_MAX < self.text.chars().count() {
            return Err(Doubt::Long);
        }
        if self.text.trim().contains(['\n', '\r']) {
            return Err(Doubt::Lines);
        }
        if !self.text.trim().chars().all(|c| c == ' ' || c.is_ascii_graphic()) {
            return Err(Doubt::Characters);
        }
        match is_of(&self.text, heard) {
            true => Err(Doubt::Heard),
            false => Ok(()),
        }
    }
}

impl Source {
    /// Returns the word in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Typed => "typed",
            Self::Reconstructed => "reconstructed",
        }
    }
}

/// Returns whether what was said at `at` counts no more at `now`.
pub fn is_stale(at: Timestamp, now: Timestamp) -> bool {
    // A clock that was set back makes no message younger.
    let age_ms = now.unix_ms().checked_sub(at.unix_ms());
    age_ms.is_none_or(|age_ms| AGE_MS_MAX < age_ms)
}

/// Returns whether `text` is words of `heard`: all of it, or a long run.
fn is_of(text: &str, heard: &str) -> bool {
    let plain = |text: &str| -> Vec<String> {
        let words = text.split_whitespace();
        let words = words.map(|it| it.trim_matches(|c: char| c.is_ascii_punctuation() && c != '/'));
        words.filter(|it| !it.is_empty()).map(str::to_lowercase).collect()
    };
    let (text, heard) = (plain(text), plain(heard));
    let is_in = |run: &[String]| heard.windows(run.len()).any(|it| it == run);
    let is_copied = COPIED_WORDS_MIN <= text.len() && is_in(&text);
    is_copied || text.windows(SHARED_WORDS_MAX).any(is_in)
}
