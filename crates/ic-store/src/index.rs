//! `index.json`: what all `meta.json` files say, in one file that is read at once.
//!
//! It is a cache. Each time it is used, the directories of sessions are compared with it by name, and
//! their `meta.json` files by inode, time and length: what differs is read again, whatever the clock
//! says. Nothing is lost when it is lost, and no session writes it while it runs.
//!
//! It is JSON for whoever else wants to read it; we write a session on a line and a checksum over all of
//! them, so that ten thousand are not parsed to know that they are whole. An index that somebody else
//! has written has no such sum, and is made again.

use std::borrow::Cow;

use ic_home::file::{self, Stamp, Stamps};
use ic_home::{Clock as _, Home, Lock, SystemClock};
use ic_types::SessionId;
use serde::Deserialize;

use crate::error::StoreError;
use crate::metadata::{META_BYTES_MAX, Metadata};
use crate::places::{META, Places};
use crate::stored::metadata_within;

/// The largest index that is read; a larger one is made anew each time.
const INDEX_BYTES_MAX: u64 = 256 << 20;
/// What stands in it, in this order: the beginning, the time, and so on, with a session on each line.
const BEGINNING: &str = "{\"version\":\"1.0\",\"updatedAt\":\"";
const CHECK: &str = "\",\"check\":\"";
const CHECK_CHARS: usize = 16;
const SESSIONS: &str = "\",\"sessions\":{\n";
const STAMPS: &str = "\n},\"stamps\":{\n";
const END: &str = "\n}}\n";
/// An odd number with its bits well spread: the golden ratio.
const MIXER: u64 = 0x9e37_79b9_7f4a_7c15;

/// One session in the index.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The session.
    pub id: &'a str,
    /// What is written down about it, as JSON.
    pub text: &'a str,
    stamp: Stamp,
}

/// What a list shows of a session.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Row<'a> {
    /// The session.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// What people call it.
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    /// What it is about.
    #[serde(borrow, default)]
    pub description: Option<Cow<'a, str>>,
    /// What kind of session it is.
    #[serde(borrow, default)]
    pub kind: Cow<'a, str>,
    /// When something was said in it last.
    #[serde(borrow)]
    pub last_activity_at: Cow<'a, str>,
    /// How many messages its conversation has.
    #[serde(default)]
    pub message_count: u64,
    /// The beginning of the first message.
    #[serde(borrow, default)]
    pub first_message: Cow<'a, str>,
    /// Whether its conversation was removed to make room.
    #[serde(default)]
    pub purged: bool,
}

/// A session whose description cannot be read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unreadable {
    /// The session.
    pub id: String,
    /// Why.
    pub reason: String,
}

/// What is to be in the index.
struct Wanted<'a> {
    id: Cow<'a, str>,
    text: Cow<'a, str>,
    stamp: Stamp,
}

/// Hands all sessions to `read`, by id; returns what it makes of them, and what cannot be read.
///
/// While the disk is looked at, what the index knows is handed over already; if that turns out to be
/// old, `read` is done again.
pub fn with<T>(
    home: &Home,
    read: impl Fn(&[Entry<'_>]) -> T,
) -> Result<(T, Vec<Unreadable>), StoreError> {
    // What cannot be read of a cache is made again.
    let bytes = file::read(home.index(), INDEX_BYTES_MAX).ok().flatten().unwrap_or_default();
    let (there, (known, perhaps)) = file::stamps_during(home.sessions(), META, || {
        let known = parse(&bytes);
        let perhaps = known.as_deref().map(&read);
        (known, perhaps)
    });
    let mut unreadable = Vec::new();
    let (wanted, is_same) =
        compare(home, there?, known.as_deref().unwrap_or_default(), &mut unreadable);
    if let (true, Some(made)) = (is_same, perhaps) {
        return Ok((made, unreadable));
    }
    let text = write(&wanted);
    // Whoever else is at it writes the same; and where nothing can be written, it is made each time.
    if let Ok(Some(_lock)) = Lock::try_acquire(home.index_lock()) {
        file::replace_unsynced(home.index(), text.as_bytes()).ok();
    }
    let entries: Vec<Entry<'_>> =
        wanted.iter().map(|it| Entry { id: &it.id, text: &it.text, stamp: it.stamp }).collect();
    Ok((read(&entries), unreadable))
}

/// Compares what is known with what is there; returns what should be known, and whether it is.
fn compare<'a>(
    home: &Home,
    there: Stamps,
    known: &[Entry<'a>],
    unreadable: &mut Vec<Unreadable>,
) -> (Vec<Wanted<'a>>, bool) {
    let mut left = known.iter().peekable();
    let (mut wanted, mut is_same) = (Vec::with_capacity(there.len()), true);
    for (name, stamp) in there {
        // What begins with a dot is for the moment.
        let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
        // Both are in order, so what is passed over is gone.
        while left.next_if(|entry| entry.id < name).is_some() {
            is_same = false;
        }
        let before = left.next_if(|entry| entry.id == name);
        let kept = before.zip(stamp).filter(|(entry, stamp)| entry.stamp == *stamp);
        if let Some((entry, stamp)) = kept {
            let (id, text) = (Cow::Borrowed(entry.id), Cow::Borrowed(entry.text));
            wanted.push(Wanted { id, text, stamp });
            continue;
        }
        is_same &= before.is_none();
        let Ok(id) = name.parse::<SessionId>() else { continue };
        match look(&Places::of(home, &id), &id, stamp.is_some()) {
            Ok(Some(metadata)) => {
                is_same = false;
                // One that was restored has a stamp from now on, and is read again until then.
                let stamp = stamp.unwrap_or(Stamp { inode: 0, changed_ns: 0, bytes: 0 });
                let (id, text) = (name.to_owned().into(), metadata.to_text().into());
                wanted.push(Wanted { id, text, stamp });
            }
            Ok(None) => {}
            Err(reason) => unreadable.push(Unreadable { id: name.to_owned(), reason }),
        }
    }
    is_same &= left.next().is_none();
    (wanted, is_same)
}

/// Looks at what is written down about a session; what is missing or damaged may be in its
/// conversation, too.
fn look(places: &Places, id: &SessionId, is_described: bool) -> Result<Option<Metadata>, String> {
    let described = match is_described {
        true => file::read(places.meta(), META_BYTES_MAX).map_err(|error| error.to_string())?,
        false => None,
    };
    let read = match &described {
        Some(bytes) => Metadata::parse(bytes).map(Some).map_err(|error| error.to_string()),
        None => Ok(None),
    };
    let is_its = |metadata: &Metadata| metadata.id == *id;
    match read {
        Ok(Some(metadata)) if is_its(&metadata) => Ok(Some(metadata)),
        Ok(Some(metadata)) => Err(format!("its meta.json is that of {}", metadata.id)),
        Ok(None) => {
            let found = metadata_within(places).filter(is_its);
            if let Some(metadata) = &found {
                // Somebody may do the same at this moment, or nobody may write here.
                file::create_new_unsynced(places.meta(), metadata.to_text().as_bytes()).ok();
            }
            Ok(found)
        }
        Err(reason) => match metadata_within(places).filter(is_its) {
            Some(metadata) => Ok(Some(metadata)),
            None => Err(format!("its meta.json is damaged: {reason}")),
        },
    }
}

fn write(wanted: &[Wanted<'_>]) -> String {
    let mut lines = String::from(SESSIONS);
    // Ids need no escaping, and there is no line break in JSON that we write.
    for (at, Wanted { id, text, .. }) in wanted.iter().enumerate() {
        let comma = if at == 0 { "" } else { ",\n" };
        lines.extend([comma, "\"", id, "\":", text]);
    }
    lines.push_str(STAMPS);
    for (at, Wanted { id, stamp, .. }) in wanted.iter().enumerate() {
        let Stamp { inode, changed_ns, bytes } = stamp;
        let comma = if at == 0 { "" } else { ",\n" };
        lines.extend([format!("{comma}\"{id}\":[{inode},{changed_ns},{bytes}]")]);
    }
    lines.push_str(END);
    let (now, check) = (SystemClock.now(), checksum(lines.as_bytes()));
    format!("{BEGINNING}{now}{CHECK}{check}{lines}")
}

/// Reads an index that is whole and ours.
fn parse(bytes: &[u8]) -> Option<Vec<Entry<'_>>> {
    let (_, rest) = std::str::from_utf8(bytes).ok()?.strip_prefix(BEGINNING)?.split_once(CHECK)?;
    let (check, lines) = rest.split_at_checked(CHECK_CHARS)?;
    if checksum(lines.as_bytes()) != check {
        return None;
    }
    let mut lines = lines.strip_prefix(SESSIONS)?.strip_suffix(END)?.lines();
    let mut sessions = Vec::new();
    // Not searched for: that would look at every letter once more.
    for line in lines.by_ref().take_while(|line| !line.starts_with('}')) {
        // Without any session there is an empty line.
        if !line.is_empty() {
            sessions.push(pair(line)?);
        }
    }
    let mut stamps = lines.filter(|line| !line.is_empty());
    let mut entries: Vec<Entry<'_>> = Vec::with_capacity(sessions.len());
    for (id, text) in sessions {
        let (id_again, stamp) = pair(stamps.next()?)?;
        let mut numbers = stamp.strip_prefix('[')?.strip_suffix(']')?.split(',');
        let mut number = || numbers.next()?.parse::<u64>().ok();
        let stamp = Stamp { inode: number()?, changed_ns: number()?, bytes: number()? };
        let is_ordered = entries.last().is_none_or(|before| before.id < id);
        if id != id_again || !is_ordered {
            return None;
        }
        entries.push(Entry { id, text, stamp });
    }
    stamps.next().is_none().then_some(entries)
}

/// Reads a line `"id":value`, with or without a comma.
fn pair(line: &str) -> Option<(&str, &str)> {
    let line = line.strip_suffix(',').unwrap_or(line);
    let (id, value) = line.strip_prefix('"')?.split_once('"')?;
    Some((id, value.strip_prefix(':')?))
}

/// Sums up bytes, so that what was cut, mixed up or changed by mistake is noticed; whoever wants to lie
/// to us in our own home can do so anyway.
fn checksum(bytes: &[u8]) -> String {
    let mut sum = bytes.len() as u64;
    let mut add = |word: u64| sum = (sum ^ word).wrapping_mul(MIXER).rotate_left(29);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        add(u64::from_le_bytes(*word));
    }
    for byte in rest {
        add(u64::from(*byte));
    }
    add(0);
    format!("{sum:016x}")
}

impl<'a> Entry<'a> {
    /// Returns what a list shows; `None` if the index holds something else.
    pub fn row(&self) -> Option<Row<'a>> {
        serde_json::from_str(self.text).ok()
    }

    /// Returns all that is written down.
    pub fn metadata(&self) -> Option<Metadata> {
        Metadata::parse(self.text.as_bytes()).ok()
    }
}

impl Row<'_> {
    /// Returns whether there is something in it to go on with.
    pub fn is_conversation(&self) -> bool {
        0 < self.message_count && !self.purged
    }
}
