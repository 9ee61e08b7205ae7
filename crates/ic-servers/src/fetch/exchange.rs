//! One request and its answer over one connection, in HTTP/1.1.
//!
//! Strict where two readers could disagree: a length that is not one number, an unknown transfer coding
//! or a broken chunk ends the exchange. What is unpacked or decoded is the business of others.

use std::io::{self, Read, Write};

use super::answer::{Answer, BODY_BYTES_MAX};
use super::fault::Fault;
use super::order::Order;

/// The longest head of an answer, and the most headers in it.
const HEAD_BYTES_MAX: usize = 64 << 10;
const HEADERS_MAX: usize = 128;
/// How many answers that only announce the answer are read over.
const INTERIM_MAX: usize = 8;
/// The longest line that says how long a chunk is.
const CHUNK_LINE_BYTES_MAX: usize = 4 << 10;

/// How the end of a body is known.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Framing {
    None,
    Length(u64),
    Chunked,
    UntilClosed,
}

/// Sends the request and reads the answer.
pub(super) fn exchange(stream: &mut (impl Read + Write), order: &Order) -> Result<Answer, Fault> {
    stream.write_all(order.request().as_bytes()).map_err(Fault::of_io)?;
    stream.flush().map_err(Fault::of_io)?;
    let mut input = Input { stream, held: Vec::new(), at: 0 };
    let mut answer = read_head(&mut input)?;
    let mut n_interim = 0;
    while (100..200).contains(&answer.status) {
        n_interim += 1;
        if INTERIM_MAX < n_interim || answer.status == 101 {
            return Err(Fault::Answer("it never gets to the answer"));
        }
        answer = read_head(&mut input)?;
    }
    if answer.location().is_some() {
        // Nobody reads what a redirect says besides.
        return Ok(answer);
    }
    match framing(&answer)? {
        Framing::None => {}
        Framing::Length(length) => {
            let held = usize::try_from(length).unwrap_or(usize::MAX).min(BODY_BYTES_MAX);
            answer.body = input.take(held)?;
            answer.is_cut = (held as u64) < length;
        }
        Framing::Chunked => (answer.body, answer.is_cut) = chunked(&mut input)?,
        Framing::UntilClosed => (answer.body, answer.is_cut) = until_closed(&mut input)?,
    }
    Ok(answer)
}

/// What is read, with what was read too far.
struct Input<'a, S> {
    stream: &'a mut S,
    held: Vec<u8>,
    at: usize,
}

impl<S: Read> Input<'_, S> {
    fn rest(&self) -> &[u8] {
        self.held.get(self.at..).unwrap_or_default()
    }

    /// Reads more; returns whether there was more.
    fn more(&mut self) -> Result<bool, Fault> {
        if self.at == self.held.len() {
            self.held.clear();
            self.at = 0;
        }
        let mut bytes = [0; 16 << 10];
        let n_bytes = loop {
            match self.stream.read(&mut bytes) {
                Ok(n_bytes) => break n_bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Many hosts end TLS without a word; whether something is missing shows in the framing.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break 0,
                Err(error) => return Err(Fault::of_io(error)),
            }
        };
        self.held.extend_from_slice(bytes.get(..n_bytes).unwrap_or_default());
        Ok(n_bytes != 0)
    }

    fn need(&mut self) -> Result<(), Fault> {
        match self.more()? {
            true => Ok(()),
            false => Err(Fault::Answer("it ends in the middle")),
        }
    }

    /// Takes exactly so many bytes.
    fn take(&mut self, n_bytes: usize) -> Result<Vec<u8>, Fault> {
        let mut taken = Vec::new();
        while taken.len() < n_bytes {
            if self.rest().is_empty() {
                self.need()?;
            }
            let n_now = self.rest().len().min(n_bytes - taken.len());
            taken.extend_from_slice(self.rest().get(..n_now).unwrap_or_default());
            self.at += n_now;
        }
        Ok(taken)
    }

    /// Takes a line, without its end.
    fn line(&mut self, bytes_max: usize) -> Result<Vec<u8>, Fault> {
        loop {
            if let Some(end) = self.rest().iter().position(|byte| *byte == b'\n') {
                let line = self.take(end + 1)?;
                let line = line.strip_suffix(b"\r\n").ok_or(Fault::Answer("a line ends badly"))?;
                return Ok(line.to_vec());
            }
            if bytes_max < self.rest().len() {
                return Err(Fault::Answer("a line is too long"));
            }
            self.need()?;
        }
    }
}

fn read_head<S: Read>(input: &mut Input<'_, S>) -> Result<Answer, Fault> {
    // Parsed once, when it is whole: whoever sends it byte by byte must not make it cost more.
    let mut n_seen = 0;
    while !input.rest().get(n_seen..).is_some_and(has_empty_line) {
        if HEAD_BYTES_MAX < input.rest().len() {
            return Err(Fault::Answer("its head is too long"));
        }
        n_seen = input.rest().len().saturating_sub(2);
        input.need()?;
    }
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut headers);
    match response.parse(input.rest()) {
        Ok(httparse::Status::Complete(n_bytes)) => {
            let text = |bytes: &[u8]| match str::from_utf8(bytes) {
                Ok(text) => text.to_owned(),
                Err(_) => bytes.iter().copied().map(char::from).collect(),
            };
            let headers = response.headers.iter();
            let headers =
                headers.map(|it| (it.name.to_ascii_lowercase(), text(it.value))).collect();
            let answer = Answer {
                status: response.code.unwrap_or_default(),
                reason: response.reason.unwrap_or_default().to_owned(),
                headers,
                body: Vec::new(),
                is_cut: false,
            };
            input.at += n_bytes;
            Ok(answer)
        }
        Err(httparse::Error::TooManyHeaders) => Err(Fault::Answer("it has too many headers")),
        Ok(httparse::Status::Partial) | Err(_) => Err(Fault::Answer("it is not HTTP/1.1")),
    }
}

fn has_empty_line(bytes: &[u8]) -> bool {
    bytes.windows(3).any(|it| it == b"\n\r\n") || bytes.windows(2).any(|it| it == b"\n\n")
}

fn framing(answer: &Answer) -> Result<Framing, Fault> {
    if matches!(answer.status, 204 | 304) {
        return Ok(Framing::None);
    }
    let values = |name: &str| {
        let of_name = answer.headers.iter().filter(move |(known, _)| known == name);
        of_name.flat_map(|(_, value)| value.split(',')).map(str::trim).collect::<Vec<_>>()
    };
    let codings = values("transfer-encoding");
    match codings.as_slice() {
        [] => {}
        [one] if one.eq_ignore_ascii_case("chunked") => return Ok(Framing::Chunked),
        [one] if one.eq_ignore_ascii_case("identity") => {}
        _ => return Err(Fault::Answer("its transfer coding is not known")),
    }
    let lengths = values("content-length");
    let Some(first) = lengths.first() else { return Ok(Framing::UntilClosed) };
    let is_number = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || lengths.iter().any(|it| it != first) {
        return Err(Fault::Answer("its length is not one number"));
    }
    first.parse().map(Framing::Length).map_err(|_| Fault::Answer("its length is not one number"))
}

fn chunked<S: Read>(input: &mut Input<'_, S>) -> Result<(Vec<u8>, bool), Fault> {
    let mut body = Vec::new();
    loop {
        let line = input.line(CHUNK_LINE_BYTES_MAX)?;
        let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
        let length = str::from_utf8(digits).ok().filter(|_| is_number);
        let length = length.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let length = length.ok_or(Fault::Answer("the length of a chunk cannot be read"))?;
        if length == 0 {
            // What may follow are headers that nobody waits for.
            return Ok((body, false));
        }
        let room = BODY_BYTES_MAX - body.len();
        let held = usize::try_from(length).unwrap_or(usize::MAX).min(room);
        body.append(&mut input.take(held)?);
        if (held as u64) < length {
            return Ok((body, true));
        }
        if input.take(2)? != b"\r\n" {
            return Err(Fault::Answer("a chunk does not end where it should"));
        }
    }
}

fn until_closed<S: Read>(input: &mut Input<'_, S>) -> Result<(Vec<u8>, bool), Fault> {
    let mut body = Vec::new();
    loop {
        let room = BODY_BYTES_MAX - body.len();
        let n_now = input.rest().len().min(room);
        body.append(&mut input.take(n_now)?);
        if !input.rest().is_empty() {
            return Ok((body, true));
        }
        if !input.more()? {
            return Ok((body, false));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ic_types::Object;

    /// A stream that gives its bytes in small pieces.
    struct Scripted<'a>(&'a [u8], usize);

    impl Read for Scripted<'_> {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            let n_bytes = self.0.len().min(self.1).min(bytes.len());
            let (now, later) = self.0.split_at(n_bytes);
            bytes[..n_bytes].copy_from_slice(now);
            self.0 = later;
            Ok(n_bytes)
        }
    }

    impl Write for Scripted<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn answer(bytes: &[u8], piece: usize) -> Result<Answer, String> {
        let mut arguments = Object::new();
        arguments.insert("url", "http://a.example/");
        let order = Order::read(&arguments).unwrap();
        exchange(&mut Scripted(bytes, piece), &order).map_err(|fault| fault.to_string())
    }

    #[track_caller]
    fn check(bytes: &str, expected: Result<&str, &str>) {
        for piece in [1, 3, 1 << 20] {
            let body = answer(bytes.as_bytes(), piece).map(|answer| answer.body);
            let body = body.map(|body| String::from_utf8(body).unwrap());
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            match (&body, &expected) {
                (Err(fault), Err(part)) => assert!(fault.contains(part), "{bytes}: {fault}"),
                _ => assert_eq!(body, expected, "{bytes} in pieces of {piece}"),
            }
        }
    }

    #[test]
    fn the_end_of_a_body_is_where_its_framing_says() {
        check("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef", Ok("abc"));
        check("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nabc", Ok(""));
        check("HTTP/1.0 200 OK\r\n\r\nabcdef", Ok("abcdef"));
        check("HTTP/1.1 204 No Content\r\n\r\nabc", Ok(""));
        check(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n",
            Ok("abc0123456789"),
        );
        check(
            "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
            Ok("hi"),
        );
    }

    #[test]
    fn what_two_readers_could_read_differently_is_no_answer() {
        let ok = "HTTP/1.1 200 OK\r\n";
        let many: String = "X-Y: z\r\n".repeat(200) + "\r\n";
        let long = format!("X: {}\r\n", "y".repeat(HEAD_BYTES_MAX));
        for (rest, part) in [
            ("Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", "not one number"),
            ("Content-Length: -1\r\n\r\nabcd", "not one number"),
            ("Content-Length: +3\r\n\r\nabcd", "not one number"),
            ("Content-Length: 99999999999999999999\r\n\r\nabcd", "not one number"),
            ("Content-Length: 5\r\n\r\nabc", "ends in the middle"),
            ("Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "not known"),
            ("Transfer-Encoding: chunked\r\n\r\nx\r\n", "length of a chunk"),
            ("Transfer-Encoding: chunked\r\n\r\n-3\r\nabc\r\n", "length of a chunk"),
            ("Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n", "does not end"),
            ("Transfer-Encoding: chunked\r\n\r\n3\nabc\r\n", "ends badly"),
            ("Transfer-Encoding: chunked\r\n\r\n3\r\nab", "ends in the middle"),
            ("X", "ends in the middle"),
            (&many, "too many headers"),
            (&long, "too long"),
        ] {
            check(&format!("{ok}{rest}"), Err(part));
        }
        check("SSH-2.0-x\r\n\r\n", Err("not HTTP"));
        check("HTTP/2.0 200 OK\r\n\r\n", Err("not HTTP"));
        check(&"HTTP/1.1 100 Continue\r\n\r\n".repeat(20), Err("never gets to"));
        check("HTTP/1.1 101 Switching\r\n\r\n", Err("never gets to"));
        check("", Err("ends in the middle"));
    }

    #[test]
    fn of_a_body_without_end_only_the_beginning_is_held() {
        let body = "x".repeat(BODY_BYTES_MAX + 100);
        for head in ["Content-Length: 999999999999", "X: y"] {
            let bytes = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}");
            let answer = answer(bytes.as_bytes(), 1 << 20).unwrap();
            assert!(answer.is_cut && answer.body.len() == BODY_BYTES_MAX, "{head}");
        }
        let chunk = format!("{:x}\r\n{body}", body.len() * 1000);
        let bytes = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}");
        let answer = answer(bytes.as_bytes(), 1 << 20).unwrap();
        assert!(answer.is_cut && answer.body.len() == BODY_BYTES_MAX);
    }

    #[test]
    fn a_redirect_is_an_answer_whatever_follows_it() {
        let answer = answer(
            b"HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 99999\r\n\r\nmo",
            1 << 20,
        );
        assert_eq!(answer.unwrap().location(), Some("/next"));
    }
}
