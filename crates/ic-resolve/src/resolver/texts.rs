//! Texts without a role, taken as paths: a protected one must not slip by as something else.
//!
//! Finds out where each would lead; whether that is protected is the policy's business.

use std::collections::HashSet;

use ic_policy::{PathValue, UnannotatedPath};
use ic_types::{AbsolutePath, Json};

use super::{Resolving, TEXTS_MAX};
use crate::path::{self, Last};

/// The texts of arguments without a role, each looked at once.
pub(super) struct Texts<'t> {
    seen: HashSet<&'t str>,
    pub(super) found: Vec<UnannotatedPath>,
}

impl Texts<'_> {
    pub(super) fn new() -> Self {
        Self { seen: HashSet::new(), found: Vec::new() }
    }

    pub(super) fn is_full(&self) -> bool {
        TEXTS_MAX <= self.seen.len()
    }
}

impl Resolving<'_> {
    /// Notes what the strings of an argument without a role would be as paths, keys included.
    pub(super) fn find_paths<'t>(&self, argument: &str, value: &'t Json, texts: &mut Texts<'t>) {
        match value {
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
            Json::String(text) => self.note_path(argument, text, texts),
            Json::Array(items) => {
                for item in items {
                    self.find_paths(argument, item, texts);
                }
            }
            Json::Object(object) => {
                for (key, value) in object.iter() {
                    self.note_path(argument, key, texts);
                    self.find_paths(argument, value, texts);
                }
            }
        }
    }

    fn note_path<'t>(&self, argument: &str, text: &'t str, texts: &mut Texts<'t>) {
        if !texts.is_full() && texts.seen.insert(text) {
            let path = file_url_path(text)
                .map_or_else(|| self.as_path(text.as_bytes()), |path| self.as_path(&path));
            let argument = argument.to_owned();
            texts.found.extend(path.map(|path| UnannotatedPath { argument, path }));
        }
    }

    /// Takes any text as a path: by the disk where that can be asked, else by how it is written.
    fn as_path(&self, text: &[u8]) -> Option<PathValue> {
        let base = self.sandbox.map(|sandbox| &sandbox.path);
        let here = std::str::from_utf8(text).ok().map(|text| self.here(text));
        let text = here.as_deref().map_or(text, str::as_bytes);
        let written = path::lexical(text, self.home, base)?;
        // Not from the normal form: `..` after a link leads elsewhere.
        let as_it_stands = std::str::from_utf8(text).ok().and_then(|text| {
            let path = path::absolute(text, self.home, base).ok()?;
            path::follow(self.disk, &path, Last::Follow).ok()
        });
        let found = as_it_stands.or_else(|| {
            let path = AbsolutePath::new(written.as_path()).ok()?;
            path::follow(self.disk, &path, Last::Follow).ok()
        });
        Some(match found {
            Some(found) => found.into_value(),
            None => PathValue { path: written, also: Vec::new(), state: None },
        })
    }
}

/// Returns the path of a `file:` URL, its percent escapes undone.
fn file_url_path(text: &str) -> Option<Vec<u8>> {
    let (scheme, rest) = text.split_once(':')?;
    if !scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    let path = match rest.strip_prefix("//") {
        Some(rest) => rest.find('/').and_then(|slash| rest.get(slash..))?,
        None => rest,
    };
    let mut decoded = Vec::new();
    let mut bytes = path.bytes();
    while let Some(byte) = bytes.next() {
        let mut ahead = bytes.clone();
        let digits = (byte == b'%').then(|| (ahead.next(), ahead.next()));
        let value = |digit: Option<u8>| digit.and_then(|digit| char::from(digit).to_digit(16));
        match digits.map(|(high, low)| (value(high), value(low))) {
            Some((Some(high), Some(low))) => {
                decoded.push(u8::try_from(high << 4 | low).unwrap_or(b'%'));
                bytes = ahead;
            }
            Some(_) | None => decoded.push(byte),
        }
    }
    Some(decoded)
}
