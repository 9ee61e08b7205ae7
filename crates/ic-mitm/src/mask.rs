//! Takes the real key out of what comes back, wherever the stream is split.
//!
//! Bytes are held back only while they could be the beginning of the key, so an event is not delayed.

use std::sync::Arc;

use ic_types::Secret;

use crate::key::{RealKey, shown};

/// What stands in place of the key.
const MASK: &[u8] = b"<redacted:key>";

/// How many keys are looked for.
const KEYS_MAX: usize = 16;

/// What is looked for.
#[derive(Debug)]
pub struct Needles {
    keys: Vec<RealKey>,
    spellings: Vec<Secret<Vec<u8>>>,
    /// The bytes with which one of them begins.
    firsts: [bool; 256],
}

/// Masks one stream.
#[derive(Debug)]
pub struct Mask {
    needles: Arc<Needles>,
    held: Vec<u8>,
}

/// What a place in a stream is.
enum At {
    Key(usize),
    MayBecomeKey,
    Nothing,
}

impl Needles {
    /// Looks for nothing yet.
    pub fn none() -> Self {
        Self { keys: Vec::new(), spellings: Vec::new(), firsts: [false; 256] }
    }

    /// Looks for `key` in all its spellings.
    pub fn of(key: &RealKey) -> Self {
        Self::none().with(key)
    }

    /// Returns whether `key` is looked for.
    pub fn cover(&self, key: &RealKey) -> bool {
        self.keys.iter().any(|it| it.is(key))
    }

    /// Looks for `key` as well.
    #[must_use]
    pub fn with(&self, key: &RealKey) -> Self {
        let mut keys = self.keys.clone();
        keys.push(key.clone());
        // A session that renews its login for days drops the oldest.
        let n_old = keys.len().saturating_sub(KEYS_MAX);
        keys.drain(..n_old);
        let mut spellings: Vec<_> = keys.iter().flat_map(RealKey::spellings).collect();
        // The longest first: one that is a part of another leaves half of it.
        spellings.sort_by_key(|it| std::cmp::Reverse(shown(it).len()));
        let mut firsts = [false; 256];
        for first in spellings.iter().filter_map(|it| shown(it).first()) {
            if let Some(slot) = firsts.get_mut(usize::from(*first)) {
                *slot = true;
            }
        }
        Self { keys, spellings, firsts }
    }

    /// Masks a whole text.
    pub fn masked(self: &Arc<Self>, bytes: &[u8]) -> Vec<u8> {
        let mut mask = Mask::new(Arc::clone(self));
        let mut out = mask.feed(bytes);
        out.extend(mask.finish());
        out
    }

    fn look(&self, text: &[u8]) -> At {
        let Some(first) = text.first() else { return At::Nothing };
        if !self.firsts.get(usize::from(*first)).copied().unwrap_or(true) {
            return At::Nothing;
        }
        let mut found = At::Nothing;
        for needle in self.spellings.iter().map(shown) {
            if text.starts_with(needle) {
                return At::Key(needle.len());
            }
            if needle.starts_with(text) {
                found = At::MayBecomeKey;
            }
        }
        found
    }
}

impl Mask {
    /// Begins a stream.
    pub fn new(needles: Arc<Needles>) -> Self {
        Self { needles, held: Vec::new() }
    }

    /// Takes the next bytes, and returns what may go on.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut text = std::mem::take(&mut self.held);
        text.extend_from_slice(bytes);
        let mut out = Vec::with_capacity(text.len());
        let mut rest = text.as_slice();
        while let Some((first, after)) = rest.split_first() {
            match self.needles.look(rest) {
                At::Key(len) => {
                    out.extend_from_slice(MASK);
                    rest = rest.get(len..).unwrap_or_default();
                }
                At::MayBecomeKey => {
                    self.held = rest.to_vec();
                    return out;
                }
                At::Nothing => {
                    out.push(*first);
                    rest = after;
                }
            }
        }
        out
    }

    /// Returns what was held back, once nothing more comes.
    pub fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::key::tests::key;

    const KEY: &str = "sk-real-0123456789";

    fn needles() -> Arc<Needles> {
        Arc::new(Needles::of(&key(KEY)))
    }

    #[test]
    fn every_spelling_is_masked() {
        for echoed in [
            KEY.to_owned(),
            format!("a{KEY}{KEY}b"),
            "sk-sk-real-0123456789".to_owned(),
            "c2stcmVhbC0wMTIzNDU2Nzg5".to_owned(),
            "736b2d7265616c2d30313233343536373839".to_owned(),
        ] {
            let masked = String::from_utf8(needles().masked(echoed.as_bytes())).unwrap();
            assert!(masked.contains("<redacted:key>"), "{echoed}");
            assert!(!masked.contains("0123456789") && !masked.contains("c2stcmVhbC0"), "{masked}");
        }
        assert_eq!(needles().masked(b"sk-real-012345678"), b"sk-real-012345678");
    }

    #[test]
    fn nothing_else_is_held_back() {
        let mut mask = Mask::new(needles());
        assert_eq!(mask.feed(b"data: {\"text\":\"hello\"}\n\n"), b"data: {\"text\":\"hello\"}\n\n");
        assert_eq!(mask.feed(b"data: sk-re"), b"data: ");
        assert_eq!(mask.feed(b"ally\n\n"), b"sk-really\n\n");
        assert_eq!(mask.feed(b"sk-r"), b"");
        assert_eq!(mask.finish(), b"sk-r");
    }

    proptest! {
        /// However a stream is split, the same comes out, and never the key.
        #[test]
        fn a_stream_may_be_split_anywhere(
            text in "(sk-real-0123456789|sk-real-|0123|s|k|-|[a-c]){0,12}",
            sizes in prop::collection::vec(1_usize..9, 1..30),
        ) {
            let mut mask = Mask::new(needles());
            let (mut out, mut rest, mut sizes) = (Vec::new(), text.as_bytes(), sizes.into_iter().cycle());
            while !rest.is_empty() {
                let (piece, after) = rest.split_at(sizes.next().unwrap().min(rest.len()));
                out.extend(mask.feed(piece));
                rest = after;
            }
            out.extend(mask.finish());
            let expected = text.replace(KEY, "<redacted:key>");
            prop_assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}

#[cfg(test)]
mod fuzz;
