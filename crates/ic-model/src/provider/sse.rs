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

    #[test]
    fn fuzz_sse() {
        ic_fuzz::Target::new("sse")
            .seeds([
                "event: message_start\ndata: {\"type\":\"x\"}\n\ndata: [DONE]\n\n",
                "\u{feff}: comment\r\n\r\nid: 1\rretry: 3\rdata\r\rdata:  a\ndata: b\n\r\n",
            ])
            .words([
                "data", "data:", "data: ", "event: ", "id: ", ":", "\n", "\r", "\r\n", "\n\n",
                "\u{feff}", "\0", " ", "é",
            ])
            .words([&b"\xff"[..], b"\xc3"])
            .run(|bytes| {
                let events = |pieces: &[&[u8]]| {
                    let mut parser = Parser::default();
                    let mut all = Vec::new();
                    let fault = pieces.iter().find_map(|piece| match parser.feed(piece) {
                        Ok(events) => {
                            all.extend(events);
                            None
                        }
                        Err(fault) => Some(fault),
                    });
                    // What came with a fault is not handed out, so only whether there is one is compared then.
                    if fault.is_some() { (Vec::new(), fault) } else { (all, None) }
                };
                let whole = events(&[bytes]);
                for pieces in ic_fuzz::splits(bytes) {
                    assert_eq!(events(&pieces), whole, "a cut makes a difference");
                }
                match &whole {
                    (found, None) => {
                        let text = String::from_utf8_lossy(bytes);
                        let told: Vec<_> =
                            found.iter().map(|it| (it.name.clone(), it.data.clone())).collect();
                        assert_eq!(told, plainly(&text), "it is read differently");
                        ic_fuzz::Outcome::accepted((found.len().min(8), text.contains('\r')))
                    }
                    (_, Some(fault)) => ic_fuzz::Outcome::refused(fault.to_string()),
                }
            });
    }

    /// The events of a whole text, read line by line as the standard says.
    fn plainly(text: &str) -> Vec<(String, String)> {
        let text =
            text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n").replace('\r', "\n");
        let (mut found, mut name, mut data) = (Vec::new(), String::new(), Vec::new());
        let ended = text.rsplit_once('\n').map_or("", |(ended, _)| ended);
        let has_lines = text.contains('\n');
        for line in ended.split('\n').filter(|_| has_lines) {
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
            match (line, field) {
                ("", _) => {
                    if !data.is_empty() {
                        found.push((name.clone(), data.join("\n")));
                    }
                    (name, data) = (String::new(), Vec::new());
                }
                (_, "data") => data.push(value),
                (_, "event") => name = value,
                _ => {}
            }
        }
        found
    }
}
