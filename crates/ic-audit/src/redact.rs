//! Redaction: what looks like a secret is replaced before it can reach a log.
//!
//! ```text
//! text ─┬───────────────────────────▶ scan ─┐
//!       └─ decode escapes, layer by layer ─▶ scan ─┴─▶ spans ─▶ join ─▶ text with marks
//! ```
//!
//! A secret is known by its shape (`shapes`, `forms`), by the name it is given (`names`,
//! `assignment`), or because it is ours (`own_keys`). All of them are found in one pass over the
//! bytes (`index`, `scan`), in time that is linear in the length of the text (`runs`).
//!
//! It does not find a secret that is split over two strings, nor one that is encrypted, compressed,
//! or, unless it is our own, encoded. It judges nothing and logs nothing.

mod assignment;
mod escapes;
mod forms;
mod index;
mod json;
mod names;
mod own_keys;
mod runs;
mod scan;
mod shapes;
mod split;
mod value;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use ic_types::{Json, Secret};

use escapes::Decoded;
use index::Index;
use own_keys::OwnKeys;
use scan::{Evidence, MARK, Span};

/// How many layers of escapes are looked through: JSON in JSON in JSON.
const N_LAYERS_MAX: usize = 3;

/// How often a text is looked at again after something in it was replaced.
const N_PASSES_MAX: usize = 4;

/// Finds secrets in text and JSON, and replaces each by `<redacted:kind>`.
///
/// Redacting twice is redacting once.
pub struct Redactor {
    own_keys: OwnKeys,
    index: Index,
}

impl Redactor {
    /// Makes a redactor that also knows our `own` keys, and finds them wherever they stand.
    ///
    /// A key of fewer than eight bytes is not looked for, because it would be found in words.
    pub fn new(own: impl IntoIterator<Item = Arc<Secret<String>>>) -> Self {
        let own_keys = OwnKeys::new(own);
        let index = Index::new(&own_keys);
        Self { own_keys, index }
    }

    /// Replaces every secret in `text`.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        // A replacement can only join or separate what stands beside it, so the second pass finds
        // nothing, or nearly so; it is what makes redaction idempotent.
        for _ in 0..N_PASSES_MAX {
            match replace(&text, self.spans(text.as_bytes())) {
                Some(replaced) => text = Cow::Owned(replaced),
                None => break,
            }
        }
        text
    }

    /// Replaces every secret in the strings and keys of `value`, and says whether there was one.
    ///
    /// The string under a key that names a secret is replaced as a whole. Keys that become equal
    /// are numbered.
    pub fn json(&self, value: &Json) -> (Json, bool) {
        match json::redacted(self, value, None) {
            Some(redacted) => (redacted, true),
            None => (value.clone(), false),
        }
    }

    /// Replaces every secret in `value`, like [`json`](Self::json), and keeps it if there is none.
    pub(crate) fn json_owned(&self, value: Json) -> (Json, bool) {
        match json::redacted(self, &value, None) {
            Some(redacted) => (redacted, true),
            None => (value, false),
        }
    }

    /// Replaces our own keys in `text`, and nothing else.
    ///
    /// For what goes to an agent: it may read a stranger's secret that policy lets it read, but ours
    /// are never its business.
    pub fn mask_own_keys(&self, text: String) -> String {
        if self.own_keys.is_empty() {
            return text;
        }
        let mut spans = self.spans(text.as_bytes());
        spans.retain(|span| span.evidence == Evidence::Exact);
        replace(&text, spans).unwrap_or(text)
    }

    /// Replaces our own keys in `text`, those too that are broken by white space and line breaks.
    ///
    /// For what a host says that was lent a key.
    pub fn mask_split_keys(&self, text: String) -> String {
        let text = self.mask_own_keys(text);
        if self.own_keys.is_empty() {
            return text;
        }
        let whole = split::Whole::of(text.as_bytes());
        let spans = scan::spans(&self.index, &self.own_keys, &whole.bytes).into_iter();
        let spans = spans.filter(|span| span.evidence == Evidence::Exact);
        let spans = spans.map(|span| whole.to_original(span)).collect();
        replace(&text, spans).unwrap_or(text)
    }

    /// Returns the secrets in `bytes`, however they are escaped.
    fn spans(&self, bytes: &[u8]) -> Vec<Span> {
        let mut spans = scan::spans(&self.index, &self.own_keys, bytes);
        let mut layers: Vec<Decoded> = Vec::new();
        while layers.len() < N_LAYERS_MAX {
            let outer = layers.last().map_or(bytes, |layer| &layer.bytes);
            let Some(layer) = Decoded::new(outer) else { break };
            let found = scan::spans(&self.index, &self.own_keys, &layer.bytes);
            layers.push(layer);
            spans.extend(
                found.into_iter().map(|span| {
                    layers.iter().rev().fold(span, |span, layer| layer.to_original(span))
                }),
            );
        }
        spans
    }
}

/// Says nothing, because what it holds is secret.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").finish_non_exhaustive()
    }
}

/// Writes `text` with a mark in place of each span, if there are spans that are no marks yet.
fn replace(text: &str, spans: Vec<Span>) -> Option<String> {
    if spans.is_empty() {
        return None;
    }
    let spans = joined(spans);
    if spans.iter().all(|span| span.evidence == Evidence::Mark) {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut written = 0;
    for span in spans {
        let start = text.floor_char_boundary(span.start).max(written);
        out.push_str(text.get(written..start).unwrap_or_default());
        out.push_str(&mark(span.kind));
        written = text.ceil_char_boundary(span.end);
    }
    out.push_str(text.get(written..).unwrap_or_default());
    Some(out)
}

/// Returns `spans` in order, with those that overlap made one.
///
/// A mark is never torn: what lies inside one is dropped, and what reaches into one swallows it.
fn joined(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| (span.start, span.evidence));
    let mut joined: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match joined.last_mut() {
            Some(last) if span.start < last.end => {
                if last.evidence == Evidence::Mark && span.end <= last.end {
                    continue;
                }
                last.end = last.end.max(span.end);
                if last.evidence < span.evidence {
                    (last.kind, last.evidence) = (span.kind, span.evidence);
                }
            }
            Some(_) | None => joined.push(span),
        }
    }
    joined
}

/// Returns what stands in place of a secret.
fn mark(kind: &str) -> String {
    format!("{MARK}{kind}>")
}

#[cfg(test)]
mod tests;
