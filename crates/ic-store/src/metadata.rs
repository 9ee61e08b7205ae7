//! What a session is, in a few lines: `meta.json`, and the same in the index and the conversation.

use ic_home::{FileError, file};
use ic_types::{SessionId, SessionName, Timestamp};
use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::places::{Places, set_aside};
use crate::stored::metadata_within;

/// The largest description that is read.
pub(crate) const META_BYTES_MAX: u64 = 1 << 20;
/// How much of the first message is written down.
const FIRST_MESSAGE_CHARS_MAX: usize = 200;

/// What is written down about a session.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// The session.
    pub id: SessionId,
    /// What people call it.
    pub name: SessionName,
    /// What it is about, in a person's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What kind of session it is.
    #[serde(default)]
    pub kind: String,
    /// Who acts in it.
    #[serde(default)]
    pub agent: String,
    /// The user's own directory, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// When it was made.
    #[serde(with = "written")]
    pub created_at: Timestamp,
    /// When something was said in it last.
    #[serde(with = "written")]
    pub last_activity_at: Timestamp,
    /// How many messages its conversation has.
    #[serde(default)]
    pub message_count: u64,
    /// The beginning of the first message.
    #[serde(default)]
    pub first_message: String,
    /// Whose model thinks.
    #[serde(default)]
    pub provider: String,
    /// The model.
    #[serde(default)]
    pub model: String,
    /// Whether its conversation was removed to make room.
    #[serde(default, skip_serializing_if = "is_false")]
    pub purged: bool,
}

impl Metadata {
    /// Describes a session in which nothing was said yet.
    pub fn new(id: SessionId, name: SessionName, now: Timestamp) -> Self {
        Self {
            id,
            name,
            description: None,
            kind: String::new(),
            agent: String::new(),
            workspace: None,
            created_at: now,
            last_activity_at: now,
            message_count: 0,
            first_message: String::new(),
            provider: String::new(),
            model: String::new(),
            purged: false,
        }
    }

    /// Reads what is written down about a session; `None` if nothing is.
    pub fn read(places: &Places) -> Result<Option<Self>, StoreError> {
        let path = places.meta();
        match file::read(&path, META_BYTES_MAX)? {
            Some(bytes) => {
                Self::parse(&bytes).map(Some).map_err(|source| StoreError::damaged(path, source))
            }
            None => Ok(None),
        }
    }

    /// Reads what is written down about a session that the caller holds. What is damaged is set aside,
    /// and made again of what the conversation says; `None` if nothing is known.
    pub fn restore(places: &Places) -> Result<Option<Self>, StoreError> {
        match Self::read(places) {
            Err(StoreError::Damaged { path, .. }) => {
                set_aside(&path)?;
                Ok(metadata_within(places))
            }
            Ok(None) => Ok(metadata_within(places)),
            read => read,
        }
    }

    /// Writes it down, in place of what is there.
    pub fn write(&self, places: &Places) -> Result<(), FileError> {
        file::replace_unsynced(places.meta(), self.to_text().as_bytes())
    }

    /// Notes that something was said at `now`; a clock that was set back changes nothing.
    pub fn touch(&mut self, now: Timestamp) {
        self.last_activity_at = self.last_activity_at.max(now);
    }

    /// Notes how the conversation begins, once.
    pub fn begins_with(&mut self, text: &str) {
        if self.first_message.is_empty() {
            self.first_message = text.chars().take(FIRST_MESSAGE_CHARS_MAX).collect();
        }
    }

    /// Returns whether there is something in it to go on with.
    pub fn is_conversation(&self) -> bool {
        0 < self.message_count && !self.purged
    }

    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(bytes)
    }

    pub(crate) fn to_text(&self) -> String {
        // Text, numbers and switches: nothing of it can fail to be written.
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Times as they are written in files.
pub(crate) mod written {
    use std::borrow::Cow;

    use ic_types::Timestamp;
    use serde::{Deserialize as _, Deserializer, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
    pub(crate) fn serialize<S: Serializer>(time: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(time)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        let text = Cow::<str>::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
