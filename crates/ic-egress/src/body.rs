//! The body of one HTTP/1 request, from its first byte to its last and not one further.
//!
//! Pure. What comes after the body would be another request, which nobody has looked at; so the end
//! is found by us, and chunks are written again in our own hand.

use std::io::Write as _;

/// How a body says where it ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Framing {
    Length(u64),
    Chunked,
}

/// What is still to come of a body.
#[derive(Debug)]
pub(crate) struct Body(State);

#[derive(Clone, Copy, Debug)]
enum State {
    Plain(u64),
    /// In the size of a chunk, of which so many digits were read.
    Size(u64, u32),
    /// After the size, before the line feed.
    SizeEnd(u64),
    Data(u64),
    /// After the data, before the carriage return, then before the line feed.
    DataEnd,
    DataEndFeed,
    /// After the last chunk; there are no trailers.
    LastEnd,
    LastEndFeed,
    Done,
}

/// More digits than any size needs.
const SIZE_DIGITS_MAX: u32 = 15;

impl Body {
    pub(crate) fn new(framing: Framing) -> Self {
        Self(match framing {
            Framing::Length(0) => State::Done,
            Framing::Length(n) => State::Plain(n),
            Framing::Chunked => State::Size(0, 0),
        })
    }

    pub(crate) fn is_done(&self) -> bool {
        matches!(self.0, State::Done)
    }

    /// Takes what of `input` belongs to the body, and writes to `out` what is to be sent.
    ///
    /// What is left of `input` once the body is done is nobody's.
    pub(crate) fn take(&mut self, mut input: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
        while let (Some((first, rest)), false) = (input.split_first(), self.is_done()) {
            self.0 = match self.0 {
                State::Plain(n) | State::Data(n) => {
                    let n_now = usize::try_from(n).map_or(input.len(), |n| n.min(input.len()));
                    let (now, later) = input.split_at(n_now);
                    out.extend(now);
                    input = later;
                    self.0.after(n - now.len() as u64)
                }
                state => {
                    input = rest;
                    state.step(*first, out)?
                }
            };
        }
        Ok(())
    }
}

impl State {
    /// Returns the state with `n` bytes to go.
    fn after(self, n: u64) -> Self {
        match (self, n) {
            (Self::Plain(_), 0) => Self::Done,
            (Self::Plain(_), n) => Self::Plain(n),
            (_, 0) => Self::DataEnd,
            (_, n) => Self::Data(n),
        }
    }

    /// Takes one byte of what stands between the data of chunks.
    fn step(self, byte: u8, out: &mut Vec<u8>) -> Result<Self, &'static str> {
        Ok(match (self, byte) {
            (Self::Size(n, digits), _) if byte.is_ascii_hexdigit() => {
                if SIZE_DIGITS_MAX <= digits {
                    return Err("a chunk is too large");
                }
                let digit = (byte as char).to_digit(16).ok_or("a chunk's size is not a number")?;
                Self::Size(n * 16 + u64::from(digit), digits + 1)
            }
            (Self::Size(n, 1..), b'\r') => Self::SizeEnd(n),
            (Self::SizeEnd(n), b'\n') => {
                // Writing to a vector cannot fail.
                write!(out, "{n:x}\r\n").ok();
                if n == 0 { Self::LastEnd } else { Self::Data(n) }
            }
            (Self::DataEnd, b'\r') => Self::DataEndFeed,
            (Self::DataEndFeed, b'\n') => {
                out.extend(b"\r\n");
                Self::Size(0, 0)
            }
            (Self::LastEnd, b'\r') => Self::LastEndFeed,
            (Self::LastEndFeed, b'\n') => {
                out.extend(b"\r\n");
                Self::Done
            }
            _ => return Err("the chunks of the body do not add up"),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Feeds `input` in pieces of `n` bytes and returns what would be sent.
    fn sent(framing: Framing, input: &[u8], n: usize) -> Result<(String, bool), &'static str> {
        let mut body = Body::new(framing);
        let mut out = Vec::new();
        for piece in input.chunks(n) {
            body.take(piece, &mut out)?;
        }
        Ok((String::from_utf8(out).unwrap(), body.is_done()))
    }

    #[track_caller]
    fn check(framing: Framing, input: &str, expected: Result<(&str, bool), &str>) {
        for n in [1, 2, 3, 100] {
            let sent = sent(framing, input.as_bytes(), n);
            assert_eq!(
                sent,
                expected.map(|(out, done)| (out.to_owned(), done)),
                "{input:?} by {n}"
            );
        }
    }

    #[test]
    fn nothing_after_the_end_is_sent() {
        check(Framing::Length(0), "", Ok(("", true)));
        check(Framing::Length(0), "GET / HTTP/1.1", Ok(("", true)));
        check(Framing::Length(3), "abcGET / HTTP/1.1", Ok(("abc", true)));
        check(Framing::Length(5), "abc", Ok(("abc", false)));
        check(Framing::Chunked, "3\r\nabc\r\n0\r\n\r\nGET /", Ok(("3\r\nabc\r\n0\r\n\r\n", true)));
        check(Framing::Chunked, "00A\r\n0123456789\r\n", Ok(("a\r\n0123456789\r\n", false)));
    }

    #[test]
    fn chunks_that_could_be_read_in_two_ways_are_refused() {
        let fault = Err("the chunks of the body do not add up");
        for bad in [
            "\r\n",
            "3;x=y\r\nabc\r\n",
            "3 \r\nabc\r\n",
            " 3\r\nabc\r\n",
            "+3\r\nabc\r\n",
            "0x3\r\nabc\r\n",
            "3\nabc\n",
            "3\r\nabcd\r\n",
            "3\r\nabc\n",
            "0\r\nHost: evil.example\r\n\r\n",
            "0\r\n\n",
        ] {
            check(Framing::Chunked, bad, fault);
        }
        check(Framing::Chunked, "1000000000000000\r\n", Err("a chunk is too large"));
    }

    proptest! {
        /// However a body is cut, the same is sent.
        #[test]
        fn cuts_do_not_matter(sizes in proptest::collection::vec(1_usize..30, 0..5), n in 1_usize..50) {
            let chunk = |size: &usize| format!("{size:x}\r\n{}\r\n", "a".repeat(*size));
            let text: String = sizes.iter().map(chunk).collect::<String>() + "0\r\n\r\n";
            let rest = format!("{text}POST /");
            prop_assert_eq!(sent(Framing::Chunked, rest.as_bytes(), n), Ok((text, true)));
        }
    }
}
