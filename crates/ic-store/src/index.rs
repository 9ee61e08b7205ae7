//! `index.json`: what all `meta.json` files say, in one file that is read at once.
//!
//! It is a cache. Each time it is used, the directories of sessions are compared with it by name, and
//! their `meta.json` files by inode, time and length: what differs is read again, whatever the clock
//! says. Nothing is lost when it is lost, and no session writes it while it runs.

use std::borrow::Cow;
use std::fmt;

use ic_home::file::{self, Stamp};
use ic_home::{Clock as _, Home, Lock, SystemClock};
use ic_types::SessionId;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::error::StoreError;
use crate::metadata::{META_BYTES_MAX, Metadata};
use crate::places::{META, Places};
use crate::stored::metadata_within;

/// The largest index that is read; a larger one is made anew each time.
const INDEX_BYTES_MAX: u64 = 256 << 20;
const VERSION: &str = "1.0";

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

/// The index as a file.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    #[serde(borrow)]
    version: Cow<'a, str>,
    #[serde(borrow)]
    sessions: Pairs<&'a RawValue>,
    stamps: Pairs<(u64, u64, u64)>,
}

/// An object, in order.
struct Pairs<T>(Vec<(String, T)>);

/// What is to be in the index.
struct Wanted<'a> {
    id: String,
    text: Cow<'a, str>,
    stamp: Stamp,
}

/// Hands all sessions to `read`, by id, and what cannot be read.
pub fn with<T>(
    home: &Home,
    read: impl FnOnce(&[Entry<'_>], &[Unreadable]) -> T,
) -> Result<T, StoreError> {
    // What cannot be read of a cache is made again.
    let bytes = file::read(home.index(), INDEX_BYTES_MAX).ok().flatten().unwrap_or_default();
    let document = Document::parse(&bytes);
    let known = document.as_ref().map(Document::entries).unwrap_or_default();
    let mut unreadable = Vec::new();
    let (wanted, is_same) = compare(home, &known, &mut unreadable)?;
    if is_same && document.is_some() {
        return Ok(read(&known, &unreadable));
    }
    let text = write(&wanted);
    // Whoever else is at it writes the same; and where nothing can be written, it is made each time.
    if let Ok(Some(_lock)) = Lock::try_acquire(home.index_lock()) {
        file::replace_unsynced(home.index(), text.as_bytes()).ok();
    }
    let entries: Vec<Entry<'_>> =
        wanted.iter().map(|it| Entry { id: &it.id, text: &it.text, stamp: it.stamp }).collect();
    Ok(read(&entries, &unreadable))
}

/// Compares what is known with what is there; returns what should be known, and whether it is.
fn compare<'a>(
    home: &Home,
    known: &[Entry<'a>],
    unreadable: &mut Vec<Unreadable>,
) -> Result<(Vec<Wanted<'a>>, bool), StoreError> {
    let there = file::stamps(home.sessions(), META)?;
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
            wanted.push(Wanted { id: name.to_owned(), text: Cow::Borrowed(entry.text), stamp });
            continue;
        }
        is_same &= before.is_none();
        let Ok(id) = name.parse::<SessionId>() else { continue };
        match look(&Places::of(home, &id), &id, stamp.is_some()) {
            Ok(Some(metadata)) => {
                is_same = false;
                // One that was restored has a stamp from now on, and is read again until then.
                let stamp = stamp.unwrap_or(Stamp { inode: 0, changed_ns: 0, bytes: 0 });
                wanted.push(Wanted { id: name.to_owned(), text: metadata.to_text().into(), stamp });
            }
            Ok(None) => {}
            Err(reason) => unreadable.push(Unreadable { id: name.to_owned(), reason }),
        }
    }
    is_same &= left.next().is_none();
    Ok((wanted, is_same))
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
    let now = SystemClock.now();
    let mut out = format!("{{\"version\":\"{VERSION}\",\"updatedAt\":\"{now}\",\"sessions\":{{");
    // Ids need no escaping.
    for (at, Wanted { id, text, .. }) in wanted.iter().enumerate() {
        out.push_str(if at == 0 { "\n\"" } else { ",\n\"" });
        out.push_str(id);
        out.push_str("\":");
        out.push_str(text);
    }
    out.push_str("},\"stamps\":{");
    for (at, Wanted { id, stamp, .. }) in wanted.iter().enumerate() {
        let Stamp { inode, changed_ns, bytes } = stamp;
        let comma = if at == 0 { "" } else { "," };
        out.extend([format!("{comma}\n\"{id}\":[{inode},{changed_ns},{bytes}]")]);
    }
    out.push_str("}}\n");
    out
}

impl<'a> Document<'a> {
    /// Reads an index that is whole and ours.
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let document: Self = serde_json::from_slice(bytes).ok()?;
        let Self { version, sessions: Pairs(sessions), stamps: Pairs(stamps) } = &document;
        let is_ordered = sessions.is_sorted_by(|(a, _), (b, _)| a < b);
        let fits = sessions.iter().map(|it| &it.0).eq(stamps.iter().map(|it| &it.0));
        (version == VERSION && is_ordered && fits).then_some(document)
    }

    fn entries(&self) -> Vec<Entry<'_>> {
        let pairs = self.sessions.0.iter().zip(&self.stamps.0);
        pairs
            .map(|((id, text), (_, (inode, changed_ns, bytes)))| Entry {
                id,
                text: text.get(),
                stamp: Stamp { inode: *inode, changed_ns: *changed_ns, bytes: *bytes },
            })
            .collect()
    }
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

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Pairs<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for InOrder<T> {
            type Value = Pairs<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<T>, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(InOrder(std::marker::PhantomData))
    }
}
