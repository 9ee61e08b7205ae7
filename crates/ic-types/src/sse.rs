//! Server-sent events, taken apart as their bytes come, with what is needed to go on where a stream broke off.
//!
//! Wherever a stream is split, the same events come out. What an event means is not known here.

use std::time::Duration;

/// The longest id of an event that is remembered: it is sent back in a header.
const ID_BYTES_MAX: usize = 1024;

/// Takes a stream apart.
#[derive(Debug)]
pub struct Events {
    /// The most that a line, or the data of an event, may have.
    bytes_max: usize,
    /// The line that has begun.
    line: Vec<u8>,
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// Whether the last byte was a carriage return, which a line feed belongs to.
    after_return: bool,
    /// Whether a line has ended; before that there may be a byte order mark.
    has_begun: bool,
    last_id: Option<String>,
    retry: Option<Duration>,
}

/// One event, as bytes; whether it has to be text is for its reader to check.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Event<'a> {
    /// What it is called; empty if it has no name.
    pub name: &'a [u8],
    /// What it says.
    pub data: &'a [u8],
}

/// A stream with an event that is longer than anybody reads.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TooLong;

impl Events {
    /// Makes a parser for events of at most `bytes_max` bytes.
    pub fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            line: Vec::new(),
            name: Vec::new(),
            data: Vec::new(),
            has_data: false,
            after_return: false,
            has_begun: false,
            last_id: None,
            retry: None,
        }
    }

    /// Begins another stream that goes on where this one broke off.
    pub fn begin_again(&mut self) {
        self.line.clear();
        self.name.clear();
        self.data.clear();
        (self.has_data, self.after_return, self.has_begun) = (false, false, false);
    }

    /// Returns the id of the last event that had one.
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// Returns how long the server wants us to wait before we ask again.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Takes the next bytes, and hands each event that ends in them to `take`, until that has
    /// enough.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        mut take: impl FnMut(Event<'_>) -> bool,
    ) -> Result<bool, TooLong> {
        let mut rest = bytes;
        while let Some((&first, after)) = rest.split_first() {
            let follows_return = std::mem::replace(&mut self.after_return, false);
            if first == b'\n' && follows_return {
                rest = after;
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (piece, end) = rest.split_at(end.unwrap_or(rest.len()));
            if self.bytes_max < self.line.len() + piece.len() + self.data.len() {
                return Err(TooLong);
            }
            self.line.extend_from_slice(piece);
            let Some((&end, after)) = end.split_first() else { return Ok(true) };
            self.after_return = end == b'\r';
            rest = after;
            if self.end_line() {
                let is_more_wanted = take(Event { name: &self.name, data: &self.data });
                self.name.clear();
                self.data.clear();
                if !is_more_wanted {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Takes in the line that has ended; returns whether an event with data ended with it.
    fn end_line(&mut self) -> bool {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if !std::mem::replace(&mut self.has_begun, true) {
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        }
        if line.is_empty() {
            // What ends without data is no event, and its name is not that of the next one.
            if !self.has_data {
                self.name.clear();
            }
            return std::mem::take(&mut self.has_data);
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (field, value) = line.split_at(colon.unwrap_or(line.len()));
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
            }
            b"id" => {
                // What could not be sent back is not remembered.
                let is_plain = |byte: &u8| matches!(byte, b' '..=b'~');
                let id = str::from_utf8(value).ok().filter(|it| it.bytes().all(|b| is_plain(&b)));
                if let Some(id) = id.filter(|it| it.len() <= ID_BYTES_MAX) {
                    self.last_id = (!id.is_empty()).then(|| id.to_owned());
                }
            }
            b"retry" => {
                let number = str::from_utf8(value).ok().and_then(|it| it.parse().ok());
                self.retry = number.map(Duration::from_millis).or(self.retry);
            }
            b"event" => value.clone_into(&mut self.name),
            // A comment.
            _ => {}
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fed(pieces: &[&[u8]]) -> (Vec<String>, Option<String>, Option<Duration>) {
        let (mut events, mut heard) = (Events::new(1 << 20), Vec::new());
        for piece in pieces {
            let fed = events.feed(piece, |event| {
                heard.push(String::from_utf8_lossy(event.data).into_owned());
                true
            });
            assert_eq!(fed, Ok(true));
        }
        (heard, events.last_id().map(str::to_owned), events.retry())
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str], id: Option<&str>) {
        let (heard, last, _) = fed(&[text.as_bytes()]);
        assert_eq!(
            (heard.as_slice(), last.as_deref()),
            (&expected.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>()[..], id),
            "{text:?}"
        );
    }

    #[test]
    fn events_are_what_stands_between_empty_lines() {
        check("data: a\n\n", &["a"], None);
        check("event: message\nid: 7\ndata:a\n\ndata:  b\n\n", &["a", " b"], Some("7"));
        check("data: a\r\n\r\ndata: b\r\rdata: c\n\r\n", &["a", "b", "c"], None);
        check("data: a\ndata: b\n\n", &["a\nb"], None);
        check("id: 1\ndata:\n\n", &[""], Some("1"));
        check("id: 1\n\nid:\n\n", &[], None);
        check(": a comment\n\nid: 4\n\n", &[], Some("4"));
        check("\u{feff}data: a\n\n", &["a"], None);
        check("data: not ended\n", &[], None);
        check("id: a\u{e4}\nid: b\u{7}\n\n", &[], None);
    }

    #[test]
    fn the_time_to_wait_is_read_and_nonsense_is_not() {
        assert_eq!(fed(&[b"retry: 250\n\n"]).2, Some(Duration::from_millis(250)));
        assert_eq!(
            fed(&[b"retry: 250\nretry: soon\nretry: -1\n\n"]).2,
            Some(Duration::from_millis(250))
        );
    }

    #[test]
    fn an_event_without_end_is_refused() {
        let mut events = Events::new(1000);
        assert_eq!(events.feed(&[b'x'; 1001], |_| true), Err(TooLong));
        let mut events = Events::new(1000);
        let ended = (0..100).find_map(|_| events.feed(b"data: 0123456789\n", |_| true).err());
        assert_eq!(ended, Some(TooLong));
    }

    #[test]
    fn whoever_has_enough_hears_no_more_and_a_new_stream_begins_at_its_beginning() {
        let mut events = Events::new(1000);
        assert_eq!(events.feed(b"id: 1\ndata: a\n\ndata: b\n\n", |_| false), Ok(false));
        assert_eq!(events.feed(b"data: half", |_| true), Ok(true));
        events.begin_again();
        let mut heard = Vec::new();
        let fed = events.feed(b"data: c\n\n", |event| {
            heard.extend_from_slice(event.data);
            true
        });
        assert_eq!((fed, heard.as_slice(), events.last_id()), (Ok(true), &b"c"[..], Some("1")));
    }

    #[test]
    fn a_name_is_that_of_its_own_event() {
        let (mut events, mut names) = (Events::new(100), Vec::new());
        let text = b"event: a\n\ndata: 1\n\nevent: b\ndata: 2\n\ndata: 3\n\n";
        let fed = events.feed(text, |event| {
            names.push(String::from_utf8_lossy(event.name).into_owned());
            true
        });
        assert_eq!((fed, names), (Ok(true), vec![String::new(), "b".to_owned(), String::new()]));
    }

    proptest! {
        #[test]
        fn a_stream_may_be_split_anywhere(
            text in "(data: ?[a-zä😀]{0,5}|id: ?[a-z]{0,3}|:[a-z]{0,2}|\r\n|\n|\r){0,30}",
            sizes in prop::collection::vec(1_usize..5, 1..40),
        ) {
            let (mut pieces, mut rest, mut sizes) = (Vec::new(), text.as_bytes(), sizes.into_iter().cycle());
            while !rest.is_empty() {
                let (piece, after) = rest.split_at(sizes.next().unwrap().min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            prop_assert_eq!(fed(&pieces), fed(&[text.as_bytes()]));
        }
    }
}
