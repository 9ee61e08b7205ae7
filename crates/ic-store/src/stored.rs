//! A conversation as it lies on the disk: the whole, and what the journal has beyond it.
//!
//! Reading changes nothing, so that anybody can look at a session that runs.

use ic_home::file;
use ic_model::Message;
use ic_types::{Json, Object};
use serde::Deserialize as _;

use crate::error::StoreError;
use crate::journal::{self, Entry, LIMITS, natural, read_messages, write_messages};
use crate::metadata::Metadata;
use crate::places::Places;
use crate::turn::Turn;

/// The longest conversation that is read.
const BYTES_MAX: u64 = 1 << 30;

/// A conversation that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// What the session is.
    pub metadata: Metadata,
    /// What was said, as the model saw it.
    pub messages: Vec<Message>,
    /// A message of the model whose tools were being used when the process ended.
    pub pending: Option<Message>,
    /// The turns that were answered.
    pub turns: Vec<Turn>,
    /// What the person was told when it was resumed last.
    pub context_summary: Option<String>,
    /// What is wrong with the journal, if something is.
    pub damage: Option<String>,
    /// Whether there is anything on the disk.
    pub is_there: bool,
    /// Whether the journal has anything that the whole has not.
    pub(crate) has_journal: bool,
    /// How much it is on the disk.
    pub(crate) bytes: usize,
}

/// `conversation.json`, taken apart.
struct Whole {
    metadata: Metadata,
    messages: Vec<Message>,
    turns: Vec<Turn>,
    context_summary: Option<String>,
    /// Which lines of which journal it has.
    covers: Option<Covers>,
    bytes: usize,
}

/// Lines of a journal that are part of the whole, too.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Covers {
    /// The journal.
    pub(crate) journal: String,
    /// How many of its lines.
    pub(crate) n_lines: usize,
}

impl Stored {
    /// Reads the conversation of a session; one that has not begun is empty.
    pub fn read(places: &Places) -> Result<Self, StoreError> {
        // The journal first: while a session runs, it is folded into the whole and then goes.
        let mut journal = journal::read(&places.journal())?;
        let whole = read_whole(places)?;
        let is_there = whole.is_some() || journal.is_there;
        let bytes = journal.bytes + whole.as_ref().map_or(0, |it| it.bytes);
        let meta = match Metadata::read(places) {
            Ok(meta) => meta,
            // The conversation has it, too.
            Err(StoreError::Damaged { .. }) if whole.is_some() => None,
            Err(error) => return Err(error),
        };
        let (messages, turns, context_summary, covers, kept) = match whole {
            Some(it) => (it.messages, it.turns, it.context_summary, it.covers, Some(it.metadata)),
            None => (Vec::new(), Vec::new(), None, None, None),
        };
        let n_covered =
            covers.filter(|it| it.journal == journal.id).map_or(0, |covers| covers.n_lines);
        let Some(metadata) = meta.or(kept) else {
            let none = std::io::Error::from(std::io::ErrorKind::NotFound);
            return Err(StoreError::damaged(places.meta(), none));
        };
        let mut stored = Self {
            metadata,
            messages,
            pending: None,
            turns,
            context_summary,
            damage: journal.damage.take(),
            is_there,
            has_journal: journal.is_there,
            bytes,
        };
        for (at, entry) in journal.entries.into_iter().enumerate().skip(n_covered) {
            if !stored.apply(entry) {
                stored.damage = Some(format!("line {}: messages before it are missing", at + 1));
                break;
            }
        }
        Ok(stored)
    }

    fn apply(&mut self, entry: Entry) -> bool {
        match entry {
            Entry::Messages { from, .. } if self.messages.len() < from => return false,
            Entry::Messages { from, messages } => {
                self.messages.truncate(from);
                self.messages.extend(messages);
                self.pending = None;
            }
            Entry::Pending(message) => self.pending = Some(message),
            Entry::Turn(turn) => {
                self.turns.retain(|it| it.turn_number != turn.turn_number);
                self.turns.push(turn);
            }
        }
        true
    }
}

/// What `conversation.json` is written from.
pub(crate) struct Writing<'a> {
    pub(crate) metadata: &'a Metadata,
    pub(crate) messages: &'a [Message],
    pub(crate) turns: &'a [Turn],
    pub(crate) context_summary: Option<&'a str>,
    /// Which lines of the journal are in it.
    pub(crate) covers: Option<Covers>,
}

impl Writing<'_> {
    /// Writes it.
    pub(crate) fn to_text(&self) -> String {
        let mut out = format!("{{\"metadata\":{},\"messages\":", self.metadata.to_text());
        write_messages(&mut out, self.messages);
        out.push_str(",\"turns\":[");
        for (at, turn) in self.turns.iter().enumerate() {
            if at != 0 {
                out.push(',');
            }
            turn.to_json().write(&mut out);
        }
        out.push(']');
        if let Some(summary) = self.context_summary {
            out.push_str(",\"contextSummary\":");
            Json::write_text(&mut out, summary);
        }
        if let Some(Covers { journal, n_lines }) = &self.covers {
            out.extend([format!(",\"covers\":{{\"journal\":\"{journal}\",\"lines\":{n_lines}}}")]);
        }
        out.push('}');
        out
    }
}

fn read_whole(places: &Places) -> Result<Option<Whole>, StoreError> {
    let path = places.conversation();
    let Some(bytes) = file::read(&path, BYTES_MAX)? else { return Ok(None) };
    parse(&bytes).map(Some).map_err(|reason| StoreError::damaged(path, reason))
}

fn parse(bytes: &[u8]) -> Result<Whole, String> {
    let json = Json::parse(bytes, LIMITS).map_err(|error| error.to_string())?;
    let Json::Object(object) = json else { return Err("it is not an object".to_owned()) };
    let metadata = object.get("metadata").ok_or("`metadata` is missing")?;
    let metadata = Metadata::deserialize(metadata).map_err(|fault| format!("metadata: {fault}"))?;
    let messages = read_messages(object.get("messages").ok_or("`messages` is missing")?)?;
    Ok(Whole {
        metadata,
        messages,
        turns: turns(&object)?,
        context_summary: object.get("contextSummary").and_then(Json::as_str).map(str::to_owned),
        covers: object.get("covers").and_then(covers),
        bytes: bytes.len(),
    })
}

fn covers(json: &Json) -> Option<Covers> {
    let Json::Object(object) = json else { return None };
    let journal = object.get("journal")?.as_str()?.to_owned();
    Some(Covers { journal, n_lines: natural(object, "lines")? })
}

fn turns(object: &Object) -> Result<Vec<Turn>, String> {
    match object.get("turns") {
        None => Ok(Vec::new()),
        Some(json) => Vec::deserialize(json).map_err(|fault| format!("turns: {fault}")),
    }
}

/// Reads what the conversation says about its session, whatever else is in it.
pub(crate) fn metadata_within(places: &Places) -> Option<Metadata> {
    Some(read_whole(places).ok()??.metadata)
}
