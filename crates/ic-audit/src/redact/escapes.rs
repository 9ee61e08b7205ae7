//! Text with its escapes taken out, and the way back to where each byte stood.
//!
//! A key in JSON inside JSON, or in a URL, is spelled with escapes. Looking for secrets in the
//! decoded text as well finds them however they are spelled. Only escapes that stand for ASCII are
//! decoded, because secrets are ASCII; others stay as they are.

use super::scan::Span;

/// A text with one layer of escapes decoded.
pub(super) struct Decoded {
    pub(super) bytes: Vec<u8>,
    /// Where decoded and original text run in step again: offset here, offset there.
    ///
    /// Invariant: begins with `(0, 0)`, and both offsets rise.
    steps: Vec<(usize, usize)>,
}

impl Decoded {
    /// Decodes one layer of `bytes`, if there is anything to decode.
    pub(super) fn new(bytes: &[u8]) -> Option<Self> {
        let is_mark = |byte: &u8| matches!(byte, b'\\' | b'%');
        if !bytes.contains(&b'\\') && !bytes.contains(&b'%') {
            return None;
        }
        let mut decoded = Self { bytes: Vec::with_capacity(bytes.len()), steps: vec![(0, 0)] };
        let mut rest = bytes;
        while let Some(n_plain) = rest.iter().position(is_mark) {
            let (plain, marked) = rest.split_at(n_plain);
            decoded.bytes.extend_from_slice(plain);
            let (byte, n_taken) = decode_first(marked);
            decoded.bytes.push(byte);
            rest = marked.get(n_taken..).unwrap_or_default();
            if 1 < n_taken {
                decoded.steps.push((decoded.bytes.len(), bytes.len() - rest.len()));
            }
        }
        decoded.bytes.extend_from_slice(rest);
        (1 < decoded.steps.len()).then_some(decoded)
    }

    /// Moves `span` to where it stands in the original text.
    pub(super) fn to_original(&self, span: Span) -> Span {
        Span { start: self.original(span.start), end: self.original(span.end), ..span }
    }

    fn original(&self, at: usize) -> usize {
        let n_before = self.steps.partition_point(|(here, _)| *here <= at);
        let step = n_before.checked_sub(1).and_then(|last| self.steps.get(last));
        step.map_or(at, |(here, there)| there + (at - here))
    }
}

/// Decodes the escape at the start of `marked`; a mark that begins none stands for itself.
///
/// Returns the byte, and how many bytes spell it.
fn decode_first(marked: &[u8]) -> (u8, usize) {
    let hex = |digits: [u8; 2]| {
        let [high, low] = digits.map(|digit| char::from(digit).to_digit(16));
        u8::try_from(high? << 4 | low?).ok().filter(u8::is_ascii)
    };
    let (byte, n_taken) = match *marked {
        [b'%', high, low, ..] => (hex([high, low]), 3),
        [b'\\', b'u', b'0', b'0', high, low, ..] => (hex([high, low]), 6),
        [b'\\', b'x', high, low, ..] => (hex([high, low]), 4),
        [b'\\', escaped, ..] => (simple_escape(escaped), 2),
        _ => (None, 1),
    };
    match (byte, marked) {
        (Some(byte), _) => (byte, n_taken),
        (None, [mark, ..]) => (*mark, 1),
        (None, []) => (0, 0),
    }
}

/// Returns what a backslash and `byte` stand for.
const fn simple_escape(byte: u8) -> Option<u8> {
    match byte {
        b'n' => Some(b'\n'),
        b'r' => Some(b'\r'),
        b't' => Some(b'\t'),
        b'b' => Some(0x08),
        b'f' => Some(0x0c),
        b'"' | b'\'' | b'\\' | b'/' => Some(byte),
        _ => None,
    }
}
