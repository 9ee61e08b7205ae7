//! `conversation.journal`: what was said since the conversation was opened, a line for each step.
//!
//! ```text
//! {"journal":"6f1c…"}                    which journal this is
//! {"seq":1,"from":0,"messages":[…]}      messages from number 0 on are these
//! {"seq":2,"pending":{…}}                the tools of this message of the model are being used
//! {"seq":3,"from":1,"messages":[…,…]}    they were used
//! {"seq":4,"turn":{…}}                   the turn was answered
//! ```
//!
//! A line is appended by one write. The last line may be torn, because whoever wrote it was killed:
//! nobody was told that it is saved. What is torn in the middle is damage, and is told.

#![expect(clippy::disallowed_types, reason = "the journal is an open file")]

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use ic_home::file::Doing;
use ic_home::{FileError, file, random};
use ic_model::Message;
use ic_types::{Json, JsonLimits, Object};
use serde::Deserialize as _;

use crate::turn::Turn;

/// The longest journal that is read.
const BYTES_MAX: u64 = 1 << 30;
/// What a line, or a conversation, may cost.
pub(crate) const LIMITS: JsonLimits =
    JsonLimits { bytes_max: 1 << 30, depth_max: 128, values_max: 64 << 20 };

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// From number `from` on, the messages are these.
    Messages {
        /// How many messages stay as they are.
        from: usize,
        /// Those that follow.
        messages: Vec<Message>,
    },
    /// The tools that this message of the model wants are being used.
    Pending(Message),
    /// A turn was answered.
    Turn(Turn),
}

/// A journal that is written.
#[derive(Debug)]
pub(crate) struct Journal {
    /// What tells it from journals before and after it.
    pub(crate) id: String,
    file: File,
    /// How much of it is whole lines of ours.
    bytes: u64,
    /// Whether a write that failed may have left something after those.
    is_torn: bool,
}

/// What was read of a journal.
#[derive(Debug, Default)]
pub(crate) struct Read {
    /// Which journal it is.
    pub(crate) id: String,
    /// The lines that are whole, from number 1 on.
    pub(crate) entries: Vec<Entry>,
    /// What is wrong with the line after those, if there is one that is damaged.
    pub(crate) damage: Option<String>,
    /// Whether there is a journal.
    pub(crate) is_there: bool,
    /// How long it is.
    pub(crate) bytes: usize,
}

impl Journal {
    /// Makes an empty journal at `path`, where none may be.
    pub(crate) fn create(path: &Path) -> Result<Self, FileError> {
        let failed =
            |source| FileError::System { doing: Doing::Write, path: path.to_owned(), source };
        let chance = random::bytes::<8>().map_err(failed)?;
        let id = format!("{:016x}", u64::from_be_bytes(chance));
        let file = file::open_append(path)?;
        // What an earlier try has left, which found no room.
        let mut journal = Self { id, file, bytes: 0, is_torn: true };
        let header = format!("{{\"journal\":\"{}\"}}\n", journal.id);
        journal.append(header.as_bytes()).map_err(failed)?;
        Ok(journal)
    }

    /// Appends lines by one write, without waiting for the disk; all of them are kept or none is.
    pub(crate) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        if self.is_torn {
            self.file.set_len(self.bytes)?;
            self.is_torn = false;
        }
        self.is_torn = true;
        self.file.write_all(lines)?;
        self.is_torn = false;
        self.bytes += lines.len() as u64;
        Ok(())
    }

    /// Lets the disk catch up, and waits for nothing.
    pub(crate) fn sync_behind(&self) {
        if let Ok(file) = self.file.try_clone() {
            std::thread::spawn(move || file.sync_data());
        }
    }
}

/// Reads the journal at `path`, as far as it is whole.
pub(crate) fn read(path: &Path) -> Result<Read, FileError> {
    let Some(bytes) = file::read(path, BYTES_MAX)? else { return Ok(Read::default()) };
    let mut read = Read { is_there: true, bytes: bytes.len(), ..Read::default() };
    let mut lines =
        bytes.split_inclusive(|byte| *byte == b'\n').map_while(|it| it.strip_suffix(b"\n"));
    match lines.next().map(header) {
        // Whoever made it was killed before anything was saved.
        None => return Ok(read),
        Some(Some(id)) => read.id = id,
        Some(None) => {
            read.damage = Some("its first line was not written by IronCurtain".to_owned());
            return Ok(read);
        }
    }
    for whole in lines {
        let number = read.entries.len() + 1;
        match parse(whole, number) {
            Ok(entry) => read.entries.push(entry),
            Err(reason) => {
                read.damage = Some(format!("line {number}: {reason}"));
                break;
            }
        }
    }
    Ok(read)
}

fn header(line: &[u8]) -> Option<String> {
    let Ok(Json::Object(object)) = Json::parse(line, LIMITS) else { return None };
    object.get("journal").and_then(Json::as_str).map(str::to_owned)
}

/// Writes `entry` as line number `seq`.
pub(crate) fn line(seq: usize, entry: &Entry) -> String {
    let mut out = format!("{{\"seq\":{seq},");
    match entry {
        Entry::Messages { from, messages } => {
            out.extend([format!("\"from\":{from},\"messages\":")]);
            write_messages(&mut out, messages);
        }
        Entry::Pending(message) => {
            out.push_str("\"pending\":");
            message.to_json().write(&mut out);
        }
        Entry::Turn(turn) => {
            out.push_str("\"turn\":");
            turn.to_json().write(&mut out);
        }
    }
    out.push_str("}\n");
    out
}

/// Writes messages as an array.
pub(crate) fn write_messages(out: &mut String, messages: &[Message]) {
    out.push('[');
    for (at, message) in messages.iter().enumerate() {
        if at != 0 {
            out.push(',');
        }
        message.to_json().write(out);
    }
    out.push(']');
}

fn parse(line: &[u8], number: usize) -> Result<Entry, String> {
    let json = Json::parse(line, LIMITS).map_err(|error| error.to_string())?;
    let Json::Object(object) = json else { return Err("it is not an object".to_owned()) };
    if natural(&object, "seq") != Some(number) {
        return Err(format!("it is not number {number}"));
    }
    if let Some(json) = object.get("messages") {
        let from = natural(&object, "from").ok_or("`from` is not a number")?;
        return Ok(Entry::Messages { from, messages: read_messages(json)? });
    }
    if let Some(json) = object.get("pending") {
        return Message::from_json(json).map(Entry::Pending).map_err(|fault| fault.to_string());
    }
    match object.get("turn") {
        Some(json) => Turn::deserialize(json).map(Entry::Turn).map_err(|fault| fault.to_string()),
        None => Err("it is not a line that IronCurtain writes".to_owned()),
    }
}

/// Reads an array of messages.
pub(crate) fn read_messages(json: &Json) -> Result<Vec<Message>, String> {
    let Json::Array(items) = json else { return Err("the messages are not an array".to_owned()) };
    let read = items.iter().enumerate().map(|(at, item)| {
        Message::from_json(item).map_err(|fault| format!("message {at}: {fault}"))
    });
    read.collect()
}

/// Returns a number that counts something.
pub(crate) fn natural(object: &Object, key: &str) -> Option<usize> {
    match object.get(key) {
        Some(Json::Number(number)) => number.as_str().parse().ok(),
        _ => None,
    }
}
