//! How records hold each other: each line carries the hash of the one before it.
//!
//! `hash` = SHA-256 over the text of `prevHash` followed by the record's canonical JSON without
//! `hash`. Lines are canonical as they stand, so checking one needs no parser for its contents: the
//! `hash` field is cut out of the text and the rest is hashed.

use ic_types::Digest;
use sha2::{Digest as _, Sha256};

use crate::entry::Body;

/// The end of a chain: the hash and number that the next record goes by.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Tip {
    /// The number of the next record.
    pub next_seq: u64,
    /// The hash of the last record, or the keyed beginning.
    pub hash: Digest,
}

/// What the chain needs to know of a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Link {
    pub(crate) seq: u64,
    pub(crate) prev: Digest,
    pub(crate) hash: Digest,
    /// Whether `hash` is the hash of the line.
    pub(crate) is_sound: bool,
}

/// What the chain adds to a record's own text.
const LINE_EXTRA: usize = 256;

impl Tip {
    /// Writes the record that comes next, newline included, and moves on.
    pub(crate) fn extend(&mut self, body: &Body) -> String {
        let Body { before_hash, before_prev, before_seq, rest } = body;
        let (prev, seq) = (self.hash.to_string(), self.next_seq.to_string());
        let after_hash = [
            before_prev,
            "\"prevHash\":\"",
            &prev,
            "\",",
            before_seq,
            "\"seq\":",
            &seq,
            ",",
            rest,
            "}",
        ];
        let mut hasher = Sha256::new();
        for part in [&prev, "{", before_hash].into_iter().chain(after_hash) {
            hasher.update(part);
        }
        self.hash = Digest::from_bytes(hasher.finalize().into());
        self.next_seq += 1;
        let hash = self.hash.to_string();
        let before = ["{", before_hash, "\"hash\":\"", &hash, "\","];
        before
            .into_iter()
            .chain(after_hash)
            .chain(["\n"])
            .fold(String::with_capacity(body.len() + LINE_EXTRA), |line, part| line + part)
    }
}

impl Link {
    /// Reads a line without its newline; `None` if it is no record at all.
    pub(crate) fn read(line: &[u8]) -> Option<Self> {
        let (mut hash, mut prev, mut seq) = (None, None, None);
        let mut hash_field = None;
        for field in Fields::of(line)? {
            let field = field?;
            match field.key {
                b"hash" => {
                    hash = Some(digest(field.value)?);
                    // The comma after the field goes with it; `kind` always follows.
                    hash_field = Some((field.start, field.end.checked_add(1)?));
                }
                b"prevHash" => prev = Some(digest(field.value)?),
                b"seq" => seq = std::str::from_utf8(field.value).ok()?.parse().ok(),
                _ => {}
            }
        }
        let (hash, prev, (start, end)) = (hash?, prev?, hash_field?);
        let mut hasher = Sha256::new();
        hasher.update(prev.to_string());
        hasher.update(line.get(..start)?);
        hasher.update(line.get(end..)?);
        let is_sound = Digest::from_bytes(hasher.finalize().into()) == hash;
        Some(Self { seq: seq?, prev, hash, is_sound })
    }
}

fn digest(value: &[u8]) -> Option<Digest> {
    let text = std::str::from_utf8(value).ok()?;
    text.strip_prefix('"')?.strip_suffix('"')?.parse().ok()
}

/// One field of the outermost object.
struct Field<'a> {
    key: &'a [u8],
    value: &'a [u8],
    /// Where the field begins and ends in the line.
    start: usize,
    end: usize,
}

/// Walks over the fields of the outermost object, without looking into them.
struct Fields<'a> {
    line: &'a [u8],
    at: usize,
    last_key: Option<&'a [u8]>,
}

impl<'a> Fields<'a> {
    fn of(line: &'a [u8]) -> Option<Self> {
        (line.first() == Some(&b'{') && line.last() == Some(&b'}')).then_some(Self {
            line,
            at: 1,
            last_key: None,
        })
    }

    /// Returns where the string that begins at `at` ends, its quote included.
    fn string_end(&self, at: usize) -> Option<usize> {
        let mut at = at.checked_add(1)?;
        loop {
            match self.line.get(at)? {
                b'"' => return at.checked_add(1),
                b'\\' => at = at.checked_add(2)?,
                _ => at = at.checked_add(1)?,
            }
        }
    }

    /// Returns where the value that begins at `at` ends.
    fn value_end(&self, mut at: usize) -> Option<usize> {
        let mut depth = 0_usize;
        loop {
            match self.line.get(at)? {
                b'"' => {
                    at = self.string_end(at)?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' | b',' if depth == 0 => return Some(at),
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            at = at.checked_add(1)?;
        }
    }

    fn field(&mut self) -> Option<Field<'a>> {
        let start = self.at;
        if self.line.get(start) != Some(&b'"') {
            return None;
        }
        let key_end = self.string_end(start)?;
        let key = self.line.get(start + 1..key_end - 1)?;
        if self.line.get(key_end) != Some(&b':') {
            return None;
        }
        let end = self.value_end(key_end + 1)?;
        let value = self.line.get(key_end + 1..end)?;
        // SECURITY: whatever is cut out with the hash must be what we wrote, to the byte: a comma
        // between fields, the brace at the end, and keys that only rise.
        let is_last = end + 1 == self.line.len();
        let separator = if is_last { b'}' } else { b',' };
        let rises = self.last_key.is_none_or(|last| last < key);
        if self.line.get(end) != Some(&separator) || !rises {
            return None;
        }
        self.last_key = Some(key);
        self.at = end + 1;
        Some(Field { key, value, start, end })
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Option<Field<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.line.len() <= self.at {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.at = self.line.len();
        }
        Some(field)
    }
}
