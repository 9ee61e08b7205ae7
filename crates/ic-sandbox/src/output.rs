//! Text that is kept to a size: its beginning and its end, and a note of what is missing between.
//!
//! What the text says is not looked at.

/// Keeps the beginning and the end of a text that comes in pieces.
#[derive(Debug)]
pub(crate) struct Output {
    half: usize,
    head: String,
    /// At most twice `half`; cut when it is longer, so that each byte is moved a few times only.
    tail: String,
    /// Bytes that came between the two, and are gone.
    n_missing: u64,
}

impl Output {
    /// Keeps at most about `bytes_max`.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { half: bytes_max / 2, head: String::new(), tail: String::new(), n_missing: 0 }
    }

    pub(crate) fn push(&mut self, text: &str) {
        let room = match self.tail.is_empty() && self.n_missing == 0 {
            true => self.half.saturating_sub(self.head.len()),
            false => 0,
        };
        let (first, rest) = text.split_at(floor(text, room));
        self.head.push_str(first);
        self.tail.push_str(rest);
        if self.half.saturating_mul(2) < self.tail.len() {
            self.cut();
        }
    }

    /// Counts what was not even sent.
    pub(crate) fn miss(&mut self, n_bytes: u64) {
        if n_bytes != 0 {
            // What came before it is no longer the end.
            self.n_missing =
                self.n_missing.saturating_add(n_bytes).saturating_add(as_u64(self.tail.len()));
            self.tail.clear();
        }
    }

    /// Returns the text, with a note if something is missing.
    pub(crate) fn finish(mut self) -> String {
        self.cut();
        if self.n_missing == 0 {
            self.head.push_str(&self.tail);
            return self.head;
        }
        format!("{}\n{}{}", self.head, left_out(self.n_missing), self.tail)
    }

    fn cut(&mut self) {
        let excess = self.tail.len().saturating_sub(self.half);
        let at = ceil(&self.tail, excess);
        self.tail.drain(..at);
        self.n_missing = self.n_missing.saturating_add(as_u64(at));
    }
}

/// Says how much is missing, on a line.
pub(crate) fn left_out(n_missing: u64) -> String {
    format!("[... {n_missing} bytes are left out here ...]\n")
}

/// Keeps the beginning and the end of `text`.
pub(crate) fn clip(text: &str, bytes_max: usize) -> String {
    let mut output = Output::new(bytes_max);
    output.push(text);
    output.finish()
}

/// Returns the last place of a character at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Returns the first place of a character at or after `at`.
pub(crate) fn ceil(text: &str, at: usize) -> usize {
    (at..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

pub(crate) fn as_u64(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pieces: &[&str], expected: &str) {
        let mut output = Output::new(8);
        for piece in pieces {
            output.push(piece);
        }
        assert_eq!(output.finish(), expected, "{pieces:?}");
    }

    #[test]
    fn the_beginning_and_the_end_are_kept() {
        check(&[], "");
        check(&["12345678"], "12345678");
        check(&["1", "2345", "678"], "12345678");
        check(&["123456789"], "1234\n[... 1 bytes are left out here ...]\n6789");
        check(
            &["1234", "x".repeat(1000).as_str(), "6789"],
            "1234\n[... 1000 bytes are left out here ...]\n6789",
        );
    }

    #[test]
    fn characters_stay_whole() {
        check(&["äääääää"], "ää\n[... 6 bytes are left out here ...]\nää");
        check(&["1ää", "ä", "äää1"], "1ä\n[... 8 bytes are left out here ...]\nä1");
    }

    #[test]
    fn what_was_not_sent_is_counted() {
        let mut output = Output::new(8);
        output.push("123456");
        output.miss(10);
        output.push("end");
        assert_eq!(output.finish(), "1234\n[... 12 bytes are left out here ...]\nend");
    }

    #[test]
    fn memory_stays_bounded() {
        let mut output = Output::new(1000);
        for _ in 0..10_000 {
            output.push("0123456789");
            assert!(output.head.len() + output.tail.len() <= 1510);
        }
        assert_eq!(
            output.finish().len(),
            500 + 500 + "\n[... 99000 bytes are left out here ...]\n".len()
        );
    }
}
