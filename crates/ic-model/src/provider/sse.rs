//! Server-sent events of providers, which are text.
//!
//! How a stream is taken apart is in `ic_types::sse`. What an event means is not known here.

use ic_types::sse::{Events, TooLong};

/// One event.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Event {
    /// What it is called; empty if it has no name.
    pub name: String,
    /// What it says.
    pub data: String,
}

/// A stream that is no stream of events.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum SseFault {
    /// An event does not come to its end.
    #[error("an event is longer than {EVENT_BYTES_MAX} bytes")]
    TooLong,
    /// An event is not text.
    #[error("an event is not UTF-8")]
    Utf8,
}

/// The longest event; a model's whole message fits.
const EVENT_BYTES_MAX: usize = 16 << 20;

/// Takes a stream apart.
#[derive(Debug)]
pub struct Parser(Events);

impl Default for Parser {
    fn default() -> Self {
        Self(Events::new(EVENT_BYTES_MAX))
    }
}

impl Parser {
    /// Takes the next bytes, and returns the events that end in them.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Event>, SseFault> {
        let mut events = Vec::new();
        let fed = self.0.feed(bytes, |event| {
            let event = text(event.name).zip(text(event.data));
            let is_text = event.is_some();
            events.extend(event.map(|(name, data)| Event { name, data }));
            is_text
        });
        match fed {
            Ok(true) => Ok(events),
            Ok(false) => Err(SseFault::Utf8),
            Err(TooLong) => Err(SseFault::TooLong),
        }
    }
}

fn text(bytes: &[u8]) -> Option<String> {
    std::str::from_utf8(bytes).ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(text: &str) -> Vec<(String, String)> {
        let events = Parser::default().feed(text.as_bytes()).unwrap();
        events.into_iter().map(|it| (it.name, it.data)).collect()
    }

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)]) {
        let events = whole(text);
        let events: Vec<_> = events.iter().map(|(n, d)| (n.as_str(), d.as_str())).collect();
        assert_eq!(events, expected, "{text:?}");
    }

    #[test]
    fn events_are_what_stands_between_empty_lines() {
        check("data: a\n\n", &[("", "a")]);
        check("data:a\n\ndata:  b\n\n", &[("", "a"), ("", " b")]);
        check("event: ping\ndata: {}\n\n", &[("ping", "{}")]);
        check("data: a\ndata: b\n\n", &[("", "a\nb")]);
        check("data\n\n", &[("", "")]);
        check(": a comment\n\nretry: 3\nid: 4\n\n", &[]);
        check("event: only a name\n\ndata: x\n\n", &[("", "x")]);
        check("data: a\r\n\r\ndata: b\r\rdata: c\n\r\n", &[("", "a"), ("", "b"), ("", "c")]);
        check("\u{feff}data: a\n\n", &[("", "a")]);
        check("data: ä€😀\n\n", &[("", "ä€😀")]);
        check("data: not ended\n", &[]);
        check("", &[]);
    }

    #[test]
    fn what_is_no_text_or_has_no_end_is_refused() {
        assert_eq!(Parser::default().feed(b"data: \xff\n\n"), Err(SseFault::Utf8));
        let long = vec![b'x'; EVENT_BYTES_MAX + 1];
        assert_eq!(Parser::default().feed(&long), Err(SseFault::TooLong));
        let mut parser = Parser::default();
        let line = [b"data: ", vec![b'x'; 1 << 20].as_slice(), b"\n"].concat();
        let ended = (0..20).find_map(|_| parser.feed(&line).err());
        assert_eq!(ended, Some(SseFault::TooLong));
    }

    proptest! {
        #[test]
        fn a_stream_may_be_split_anywhere(
            text in "(data: ?[a-zä😀]{0,5}|event: ?[a-z]{0,3}|:[a-z]{0,2}|\r\n|\n|\r){0,30}",
            sizes in prop::collection::vec(1_usize..5, 1..40),
        ) {
            let mut parser = Parser::default();
            let (mut events, mut rest, mut sizes) = (Vec::new(), text.as_bytes(), sizes.into_iter().cycle());
            while !rest.is_empty() {
                let (piece, after) = rest.split_at(sizes.next().unwrap().min(rest.len()));
                events.extend(parser.feed(piece).unwrap().into_iter().map(|it| (it.name, it.data)));
                rest = after;
            }
            prop_assert_eq!(events, whole(&text));
        }
    }
}
