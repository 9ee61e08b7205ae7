//! A text as it reads without its breaks: white space, escaped line breaks, and what git puts before a line.
//!
//! Says where each byte came from. What stands in it is not known here.

use super::scan::Span;

/// What is left out, longest first.
const BREAKS: [&[u8]; 8] = [b"remote:", b"\\n", b"\\r", b"\\t", b"\n", b"\r", b"\t", b" "];

/// A text without its breaks.
pub(super) struct Whole {
    pub(super) bytes: Vec<u8>,
    /// Where each of them stands in the text.
    positions: Vec<usize>,
}

impl Whole {
    pub(super) fn of(text: &[u8]) -> Self {
        let mut whole = Self { bytes: Vec::with_capacity(text.len()), positions: Vec::new() };
        let mut at = 0;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            if let Some(it) = BREAKS.iter().find(|it| rest.starts_with(it)) {
                at += it.len();
                continue;
            }
            whole.bytes.extend(rest.first());
            whole.positions.push(at);
            at += 1;
        }
        whole
    }

    /// Returns the span in the text itself.
    pub(super) fn to_original(&self, span: Span) -> Span {
        let position = |at: usize| self.positions.get(at).copied().unwrap_or_default();
        let end = position(span.end.saturating_sub(1)) + 1;
        Span { start: position(span.start), end, ..span }
    }
}
