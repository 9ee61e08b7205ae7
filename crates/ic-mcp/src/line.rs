//! Lines out of a stream of bytes, none longer than a limit.
//!
//! Knows nothing of what a line holds; whoever reads the stream puts bytes in.

/// Gathers bytes and hands them out line by line.
///
/// Invariant: holds at most one unfinished line of `bytes_max`, plus what was put in last.
#[derive(Debug)]
pub struct Lines {
    buffer: Vec<u8>,
    /// Where the first line that was not handed out begins.
    start: usize,
    /// Up to where there is no line break.
    searched: usize,
    bytes_max: usize,
    /// The line so far was too long; the rest of it is dropped.
    is_skipping: bool,
}

/// One line.
#[derive(Debug, Eq, PartialEq)]
pub enum Line<'a> {
    /// A line without its line break.
    Whole(&'a [u8]),
    /// A line that was longer than the limit, and was dropped.
    TooLong,
}

/// How much room is made before bytes are read.
const ROOM: usize = 64 << 10;

impl Lines {
    /// Makes an empty buffer for lines of at most `bytes_max`.
    pub fn new(bytes_max: usize) -> Self {
        Self { buffer: Vec::new(), start: 0, searched: 0, bytes_max, is_skipping: false }
    }

    /// Returns the buffer, with room at its end to append to.
    ///
    /// Call it once every line that was there has been taken.
    pub fn room(&mut self) -> &mut Vec<u8> {
        if 0 < self.start {
            self.buffer.drain(..self.start);
            self.searched -= self.start;
            self.start = 0;
        }
        if self.buffer.is_empty() && ROOM * 4 < self.buffer.capacity() {
            // One long line must not be paid for until the end.
            self.buffer = Vec::new();
        }
        self.buffer.reserve(ROOM);
        &mut self.buffer
    }

    /// Puts bytes in.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.room().extend_from_slice(bytes);
    }

    /// Takes the next line, if there is a whole one.
    #[expect(clippy::should_implement_trait, reason = "what is handed out borrows from the buffer")]
    pub fn next(&mut self) -> Option<Line<'_>> {
        let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
        let Some(found) = unsearched.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.buffer.len();
            if self.bytes_max < self.buffer.len() - self.start {
                self.is_skipping = true;
                self.buffer.clear();
                (self.start, self.searched) = (0, 0);
            }
            return None;
        };
        let end = self.searched + found;
        let line = self.start..end;
        (self.start, self.searched) = (end + 1, end + 1);
        let was_skipping = std::mem::take(&mut self.is_skipping);
        match self.buffer.get(line) {
            Some(line) if !was_skipping && line.len() <= self.bytes_max => Some(Line::Whole(line)),
            _ => Some(Line::TooLong),
        }
    }

    /// Returns whether the line that is being read is longer than the limit already.
    pub fn is_overlong(&self) -> bool {
        self.is_skipping
    }

    /// Returns whether bytes are left that no line break has ended.
    pub fn has_rest(&self) -> bool {
        self.is_skipping || self.start < self.buffer.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Feeds `chunks` and collects the lines; `None` is one that was too long.
    fn lines(bytes_max: usize, chunks: &[&[u8]]) -> Vec<Option<Vec<u8>>> {
        let mut lines = Lines::new(bytes_max);
        let mut found = Vec::new();
        for chunk in chunks {
            lines.feed(chunk);
            while let Some(line) = lines.next() {
                found.push(match line {
                    Line::Whole(bytes) => Some(bytes.to_vec()),
                    Line::TooLong => None,
                });
            }
        }
        found
    }

    #[test]
    fn a_line_may_be_as_long_as_the_limit_and_no_longer() {
        let some = |text: &str| Some(text.as_bytes().to_vec());
        assert_eq!(lines(3, &[b"abc\nabcd\nx\n"]), [some("abc"), None, some("x")]);
        assert_eq!(
            lines(3, &[b"ab", b"c", b"\n", b"abc", b"d", b"e\nx", b"\n"]),
            [some("abc"), None, some("x")]
        );
        assert_eq!(lines(3, &[b"\n\n"]), [some(""), some("")]);
        assert_eq!(lines(3, &[b"ab"]), []);
    }

    #[test]
    fn a_line_without_end_is_not_held() {
        let mut lines = Lines::new(1024);
        for _ in 0..1000 {
            lines.feed(&[b'x'; 4096]);
            assert_eq!(lines.next(), None);
            assert!(lines.buffer.len() <= 4096);
            assert!(lines.has_rest());
        }
        lines.feed(b"\n{}\n");
        assert_eq!(lines.next(), Some(Line::TooLong));
        assert_eq!(lines.next(), Some(Line::Whole(b"{}")));
        assert!(!lines.has_rest());
    }

    proptest! {
        /// Where a stream is cut makes no difference to its lines.
        #[test]
        fn cuts_do_not_matter(
            text in "[ab\\n]{0,40}",
            cuts in proptest::collection::vec(0_usize..40, 0..6),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut <= text.len()).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> =
                cuts.windows(2).map(|pair| &text.as_bytes()[pair[0]..pair[1]]).collect();
            let expected: Vec<Option<Vec<u8>>> = text
                .split_inclusive('\n')
                .filter_map(|line| line.strip_suffix('\n'))
                .map(|line| (line.len() <= 5).then(|| line.as_bytes().to_vec()))
                .collect();
            prop_assert_eq!(lines(5, &chunks), expected);
        }
    }
}
