//! The head of an HTTP/1 request, read strictly.
//!
//! Pure. It knows lines and fields, and nothing of what they mean. What two programs could read
//! differently is no head: folded lines, bare line feeds, spaces before colons, two spaces.

/// The longest head that is read.
pub(crate) const HEAD_MAX: usize = 16 * 1024;
/// The most fields that a head has.
const FIELDS_MAX: usize = 100;

/// A request's head, as it came.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Head<'a> {
    pub(crate) method: &'a str,
    pub(crate) target: &'a str,
    pub(crate) version: Version,
    pub(crate) fields: Vec<Field<'a>>,
}

/// One field of a head; its value has no white space around it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Field<'a> {
    pub(crate) name: &'a str,
    pub(crate) value: &'a [u8],
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Version {
    Http10,
    Http11,
}

/// A complete head with its length, or the beginning of one.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Read<'a> {
    More,
    Whole(Head<'a>, usize),
}

/// Reads the head that `bytes` begin with, or says what is wrong with it.
pub(crate) fn read(bytes: &[u8]) -> Result<Read<'_>, &'static str> {
    let mut lines = Lines(bytes);
    let mut first = None;
    let mut fields = Vec::new();
    loop {
        let Some(line) = lines.next_line()? else {
            let is_over = HEAD_MAX <= bytes.len();
            return if is_over { Err("the head is too long") } else { Ok(Read::More) };
        };
        match first {
            None => first = Some(request_line(line)?),
            Some((method, target, version)) if line.is_empty() => {
                let n = bytes.len() - lines.0.len();
                if HEAD_MAX < n {
                    return Err("the head is too long");
                }
                return Ok(Read::Whole(Head { method, target, version, fields }, n));
            }
            Some(_) if FIELDS_MAX <= fields.len() => return Err("there are too many fields"),
            Some(_) => fields.push(field(line)?),
        }
    }
}

/// Takes lines off the front of bytes.
struct Lines<'a>(&'a [u8]);

impl<'a> Lines<'a> {
    /// Takes the next line, without its end; `None` if it is not complete.
    fn next_line(&mut self) -> Result<Option<&'a [u8]>, &'static str> {
        let Some(at) = self.0.iter().position(|byte| is_control(*byte)) else { return Ok(None) };
        match self.0.split_at(at) {
            (_, [b'\r']) => Ok(None),
            (line, [b'\r', b'\n', rest @ ..]) => {
                self.0 = rest;
                Ok(Some(line))
            }
            (_, [b'\r', ..]) => Err("it has a bare carriage return"),
            (_, [b'\n', ..]) => Err("it has a bare line feed"),
            _ => Err("it has a control character"),
        }
    }
}

/// Tabs are white space.
fn is_control(byte: u8) -> bool {
    byte.is_ascii_control() && byte != b'\t'
}

fn request_line(line: &[u8]) -> Result<(&str, &str, Version), &'static str> {
    const FAULT: &str = "the request line is not `METHOD target HTTP/1.1`";
    let line = str::from_utf8(line).map_err(|_| FAULT)?;
    let mut parts = line.split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(FAULT);
    };
    let version = match version {
        "HTTP/1.1" => Version::Http11,
        "HTTP/1.0" => Version::Http10,
        _ => return Err("the version is neither HTTP/1.1 nor HTTP/1.0"),
    };
    let is_target = !target.is_empty() && target.bytes().all(|byte| byte.is_ascii_graphic());
    if is_token(method) && is_target { Ok((method, target, version)) } else { Err(FAULT) }
}

fn field(line: &[u8]) -> Result<Field<'_>, &'static str> {
    if matches!(line, [b' ' | b'\t', ..]) {
        return Err("a field is folded over lines");
    }
    let colon = line.iter().position(|byte| *byte == b':').ok_or("a field has no colon")?;
    let (name, value) = line.split_at(colon);
    let name = str::from_utf8(name).ok().filter(|name| is_token(name));
    let name = name.ok_or("a field has no proper name")?;
    let value = value.strip_prefix(b":").unwrap_or(value).trim_ascii();
    Ok(Field { name, value })
}

/// Returns whether `text` is a token (RFC 9110, 5.6.2).
pub(crate) fn is_token(text: &str) -> bool {
    let is_token_byte =
        |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_token_byte)
}

// === impl Head ===

impl<'a> Head<'a> {
    /// Returns the values of the fields called `name`, in lower case.
    pub(crate) fn values(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.fields.iter().filter(move |it| it.name.eq_ignore_ascii_case(name)).map(|it| it.value)
    }

    /// Returns the value of the one field called `name`, if there is one.
    pub(crate) fn only(&self, name: &str) -> Result<Option<&'a [u8]>, MoreThanOne> {
        let mut values = self.values(name);
        let first = values.next();
        if values.next().is_some() { Err(MoreThanOne) } else { Ok(first) }
    }
}

/// A field that may stand once stands more often.
#[derive(Debug)]
pub(crate) struct MoreThanOne;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn whole(bytes: &[u8]) -> (Head<'_>, usize) {
        match read(bytes) {
            Ok(Read::Whole(head, n)) => (head, n),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_head_is_read() {
        let bytes = b"GET /x?y HTTP/1.1\r\nHost: a.example\r\nX:\t y \t\r\nE:\r\n\r\nbody";
        let (head, n) = whole(bytes);
        assert_eq!((head.method, head.target, head.version), ("GET", "/x?y", Version::Http11));
        let fields: Vec<_> = head.fields.iter().map(|it| (it.name, it.value)).collect();
        assert_eq!(fields, [("Host", &b"a.example"[..]), ("X", b"y"), ("E", b"")]);
        assert_eq!(&bytes[n..], b"body");
        assert_eq!(head.only("HOST").unwrap(), Some(&b"a.example"[..]));
    }

    #[test]
    fn tricks_are_no_heads() {
        for bad in [
            "\r\nGET / HTTP/1.1\r\n\r\n",
            " GET / HTTP/1.1\r\n\r\n",
            "GET  / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1 \r\n\r\n",
            "GET\t/\tHTTP/1.1\r\n\r\n",
            "GET / x HTTP/1.1\r\n\r\n",
            "GET /\r\n\r\n",
            "GET / HTTP/1.1\n\n",
            "GET / HTTP/1.1\r\n\n",
            "GET / HTTP/1.1\rHost: x\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\nHost: b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\rHost: b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
            "GET / HTTP/1.1\r\n: a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n",
            "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n",
            "GET / HTTP/1.1\r\nH\u{e4}st: a\r\n\r\n",
            "GET /\u{e4} HTTP/1.1\r\n\r\n",
            "GET / HTTP/0.9\r\n\r\n",
            "GET / HTTP/2.0\r\n\r\n",
            "GET / HTTP/1.2\r\n\r\n",
            "GET / http/1.1\r\n\r\n",
            "G@T / HTTP/1.1\r\n\r\n",
            "\u{16}\u{3}\u{1}",
        ] {
            assert!(read(bad.as_bytes()).is_err(), "accepted {bad:?}");
        }
    }

    #[test]
    fn a_folded_line_is_called_one() {
        let folded = b"GET / HTTP/1.1\r\nX: a\r\n b: c\r\n\r\n";
        assert_eq!(read(folded), Err("a field is folded over lines"));
    }

    #[test]
    fn a_head_has_an_end() {
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(HEAD_MAX));
        assert_eq!(read(long.as_bytes()), Err("the head is too long"));
        assert_eq!(read(&[b'a'; HEAD_MAX]), Err("the head is too long"));
        let head = "GET / HTTP/1.1\r\n";
        let fields = |n: usize| format!("{head}{}\r\n", "a: b\r\n".repeat(n));
        assert!(matches!(read(fields(FIELDS_MAX).as_bytes()), Ok(Read::Whole(..))));
        assert!(read(fields(FIELDS_MAX + 1).as_bytes()).is_err());
    }

    proptest! {
        /// A good head is not good any earlier, and any bytes are read to an end.
        #[test]
        fn only_whole_heads_are_whole(value in "[ -~]{0,40}", cut in 0_usize..80, junk: Vec<u8>) {
            let text = format!("GET / HTTP/1.1\r\nHost: a.example\r\nX: {value}\r\n\r\n");
            prop_assert_eq!(whole(text.as_bytes()).1, text.len());
            let cut = cut.min(text.len() - 1);
            prop_assert_eq!(read(&text.as_bytes()[..cut]), Ok(Read::More));
            read(&junk).ok();
        }
    }
}
