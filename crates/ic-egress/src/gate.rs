//! What the first bytes of a client must show before any of them is passed on.
//!
//! Pure: bytes in, a decision out. It holds TLS and HTTP to the host that the connection was
//! admitted for; what is neither passes on ports that are not the web's. What is said inside of TLS
//! it does not see.

use ic_policy::Scheme;

use crate::allowed::Allowed;
use crate::head::{self, HEAD_MAX};
use crate::hello;
use crate::refusal::Refusal;
use crate::request::Request;
use crate::target::Target;

/// The most bytes that are held back until it is clear what they are.
pub(crate) const HELD_MAX: usize = HEAD_MAX;

/// The gate of one connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gate<'a> {
    pub(crate) allowed: &'a Allowed,
    pub(crate) target: &'a Target,
}

/// What may pass.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Passed {
    /// The bytes as they are, and all that follow.
    Raw,
    /// This request and its body, and nothing that follows; the head was so long.
    Http(Request, usize),
}

/// Why nothing passes, and in which manner that can be said to the client.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Turned {
    pub(crate) why: Refusal,
    pub(crate) manner: Manner,
}

/// What a client understands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Manner {
    Tls,
    Http,
    Unknown,
}

/// What bytes that are not TLS look like.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Looks {
    Unclear,
    Http,
    Other,
}

impl Gate<'_> {
    /// Inspects the first bytes; `None` asks for more of them.
    pub(crate) fn inspect(&self, bytes: &[u8]) -> Result<Option<Passed>, Turned> {
        let inspected = match hello::is_tls(bytes) {
            None => Ok(None),
            Some(true) => self.tls(bytes).map_err(|why| Turned { why, manner: Manner::Tls }),
            Some(false) => self.in_the_clear(bytes),
        }?;
        if inspected.is_none() && HELD_MAX <= bytes.len() {
            return Err(Turned { why: Refusal::Undecided, manner: Manner::Unknown });
        }
        Ok(inspected)
    }

    /// Judges whether plain HTTP may be spoken with the target at all.
    pub(crate) fn admit_http(&self) -> Result<(), Refusal> {
        match self.target.port() {
            443 => Err(Refusal::NotTls),
            _ => self.allowed.admit_speech(self.target, Some(Scheme::Http)),
        }
    }

    fn tls(&self, bytes: &[u8]) -> Result<Option<Passed>, Refusal> {
        match hello::read(bytes)? {
            hello::Read::More => Ok(None),
            hello::Read::Whole(hello) => {
                hello.require(self.target)?;
                self.allowed.admit_speech(self.target, Some(Scheme::Https))?;
                Ok(Some(Passed::Raw))
            }
        }
    }

    fn in_the_clear(&self, bytes: &[u8]) -> Result<Option<Passed>, Turned> {
        let looks = looks(bytes);
        let manner = match looks {
            Looks::Http => Manner::Http,
            Looks::Unclear | Looks::Other => Manner::Unknown,
        };
        let turned = |why| Turned { why, manner };
        match (self.target.port(), looks) {
            (443, _) => Err(turned(Refusal::NotTls)),
            (_, Looks::Unclear) => Ok(None),
            (_, Looks::Http) => self.http(bytes).map_err(turned),
            (80, Looks::Other) => Err(turned(Refusal::NotWeb)),
            (_, Looks::Other) => {
                let spoken = bytes.starts_with(b"SSH-").then_some(Scheme::Ssh);
                self.allowed.admit_speech(self.target, spoken).map_err(turned)?;
                Ok(Some(Passed::Raw))
            }
        }
    }

    fn http(&self, bytes: &[u8]) -> Result<Option<Passed>, Refusal> {
        if bytes.starts_with(b"PRI * HTTP/2") {
            return Err(Refusal::Http2);
        }
        match head::read(bytes).map_err(Refusal::Malformed)? {
            head::Read::More => Ok(None),
            head::Read::Whole(head, n) => {
                let request = Request::on_connection(&head, self.target)?;
                self.admit_http()?;
                Ok(Some(Passed::Http(request, n)))
            }
        }
    }
}

/// Tells whether a server could take `bytes` for an HTTP request.
///
/// SECURITY: this must find more than our own reader accepts. Servers skip empty lines, take tabs
/// for spaces and line feeds for line ends; what is found here and not accepted there is refused.
fn looks(bytes: &[u8]) -> Looks {
    let is_blank = |byte: &u8| matches!(byte, b'\r' | b'\n' | b' ' | b'\t');
    let Some(start) = bytes.iter().position(|byte| !is_blank(byte)) else { return Looks::Unclear };
    let bytes = bytes.get(start..).unwrap_or_default();
    let (line, is_whole) = match bytes.iter().position(|byte| *byte == b'\n') {
        Some(end) => (bytes.get(..end).unwrap_or_default(), true),
        None => (bytes, false),
    };
    let method_end = line.iter().position(is_blank);
    let method = line.get(..method_end.unwrap_or(line.len())).unwrap_or_default();
    let is_method = str::from_utf8(method).is_ok_and(head::is_token);
    if !is_method || line.contains(&0) {
        return Looks::Other;
    }
    let has_version = line.windows(5).any(|window| window.eq_ignore_ascii_case(b"HTTP/"));
    match (has_version && method_end.is_some(), is_whole) {
        (true, _) => Looks::Http,
        (false, true) => Looks::Other,
        (false, false) => Looks::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use ic_policy::DomainSet;
    use proptest::prelude::*;

    use super::*;
    use crate::hello::tests::{hello_for, nameless_hello};

    fn inspect(pattern: &str, to: &str, bytes: &[u8]) -> Result<Option<Passed>, Turned> {
        let set = |patterns: &[&str]| DomainSet::parse(patterns.iter().copied()).unwrap();
        let allowed = Allowed::new(vec![set(&[pattern])], set(&[])).unwrap();
        let (host, port) = to.rsplit_once(':').unwrap();
        let target = Target::new(host.parse().unwrap(), port.parse().unwrap()).unwrap();
        Gate { allowed: &allowed, target: &target }.inspect(bytes)
    }

    /// Says what becomes of `bytes`: `more`, `raw`, `http`, or the refusal.
    #[track_caller]
    fn check(pattern: &str, to: &str, bytes: &[u8], expected: &str) {
        let became = match inspect(pattern, to, bytes) {
            Ok(None) => "more".to_owned(),
            Ok(Some(Passed::Raw)) => "raw".to_owned(),
            Ok(Some(Passed::Http(..))) => "http".to_owned(),
            Err(turned) => turned.why.to_string(),
        };
        assert_eq!(became, expected, "{} on {to}", bytes.escape_ascii());
    }

    const NOT_TLS: &str = "only TLS may be spoken on port 443";
    const NOT_WEB: &str = "only HTTP and TLS may be spoken on port 80";
    const SPEECH: &str = "the allowed domains require another protocol there";

    #[test]
    fn tls_is_held_to_the_host() {
        let hello = hello_for("a.example");
        for to in ["a.example:443", "a.example:80", "a.example:5000"] {
            let pattern = to.replace(":443", "");
            check(&pattern, to, &hello, "raw");
            check(&pattern, to, &hello[..hello.len() - 1], "more");
            check(&pattern, to, &hello[..1], "more");
            let other = hello_for("b.example");
            check(&pattern, to, &other, "the TLS handshake is for `b.example`");
            check(&pattern, to, &nameless_hello(), "the TLS handshake names no server (SNI)");
        }
    }

    #[test]
    fn port_443_speaks_tls_only() {
        for bytes in [
            &b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"[..],
            b"G",
            b"\n",
            b"SSH-2.0-x\r\n",
            b"\0",
            &[0x80, 0x2e, 1, 3, 1],
            &[22, 2],
            &[23, 3, 3, 0, 1, 0],
        ] {
            check("a.example", "a.example:443", bytes, NOT_TLS);
        }
    }

    #[test]
    fn port_80_speaks_http_only() {
        check("a.example", "a.example:80", b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", "http");
        for bytes in [&b"SSH-2.0-x\r\n"[..], b"\0", b"GET /\r\n", b"hello\n", b"*1\r\n"] {
            check("a.example", "a.example:80", bytes, NOT_WEB);
        }
        // Old servers answer this one; it names no host.
        check("a.example", "a.example:80", b"GET /", "more");
    }

    #[test]
    fn http_is_held_to_the_host_on_any_port() {
        for port in [80, 8080] {
            let (pattern, to) = (format!("a.example:{port}"), format!("a.example:{port}"));
            let check = |text: &str, expected: &str| {
                check(&pattern, &to, text.as_bytes(), expected);
            };
            check("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", "http");
            check("GET / HTTP/1.1\r\nHost: a.example\r\n", "more");
            check("GET / HTTP/1.1\r\nHost: b.example\r\n\r\n", "the request is for `b.example`");
            check("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/2 is passed on only in TLS");
            check(
                "CONNECT b.example:443 HTTP/1.1\r\n\r\n",
                "the request cannot be read: CONNECT is for the proxy",
            );
            for evasion in [
                "\r\nGET / HTTP/1.1\r\nHost: b.example\r\n\r\n",
                "\nGET / HTTP/1.1\nHost: b.example\n\n",
                " \tGET / HTTP/1.1\r\nHost: b.example\r\n\r\n",
                "GET\t/\thttp/1.1\r\nHost: b.example\r\n\r\n",
                "get  /  HTTP/1.1\r\nHost: b.example\r\n\r\n",
                "GET / HTTP/1.1\nHost: b.example\n\n",
                "GET /\u{e4} HTTP/1.1\r\nHost: b.example\r\n\r\n",
                "GET / HTTP/1.9\r\nHost: b.example\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: a.example\r\n Host: b.example\r\n\r\n",
            ] {
                let turned = inspect(&pattern, &to, evasion.as_bytes()).unwrap_err();
                assert!(matches!(turned.why, Refusal::Malformed(_)), "{evasion:?}: {turned:?}");
            }
        }
    }

    #[test]
    fn other_protocols_pass_on_other_ports() {
        for bytes in [
            &b"SSH-2.0-OpenSSH_9.6\r\n"[..],
            b"\0\0\0\x08\x04\xd2\x16\x2f",
            b"*1\r\n$4\r\nPING\r\n",
            b"\x10\x0c\0\x04MQTT",
            b"EHLO x\r\n",
            b"003egit-upload-pack /x\0host=a.example\0",
            &[22, 2],
        ] {
            check("a.example:5000", "a.example:5000", bytes, "raw");
        }
        check("a.example:5000", "a.example:5000", b"EHLO x", "more");
        check(
            "a.example:5000",
            "a.example:5000",
            &[b'a'; HELD_MAX],
            "its protocol was not recognised in time",
        );
    }

    #[test]
    fn a_pattern_with_a_scheme_wants_that_scheme() {
        let http = b"GET / HTTP/1.1\r\nHost: a.example:5000\r\n\r\n";
        for (pattern, bytes, expected) in [
            ("https://a.example:5000", &hello_for("a.example")[..], "raw"),
            ("https://a.example:5000", http, SPEECH),
            ("https://a.example:5000", b"SSH-2.0-x\r\n", SPEECH),
            ("http://a.example:5000", http, "http"),
            ("http://a.example:5000", &hello_for("a.example"), SPEECH),
            ("ssh://a.example:5000", b"SSH-2.0-x\r\n", "raw"),
            ("ssh://a.example:5000", b"HELP\r\n", SPEECH),
            ("ssh://a.example:5000", http, SPEECH),
        ] {
            check(pattern, "a.example:5000", bytes, expected);
        }
    }

    proptest! {
        /// What passes passes as late as it can be known, and junk is read to an end.
        #[test]
        fn no_beginning_passes_that_its_whole_does_not(junk: Vec<u8>, cut in 0_usize..200) {
            let request = b"GET / HTTP/1.1\r\nHost: b.example\r\n\r\n";
            for bytes in [&request[..], &hello_for("b.example")[..], &junk] {
                let bytes = bytes.get(..cut).unwrap_or(bytes);
                let passed = inspect("a.example", "a.example:80", bytes);
                prop_assert!(!matches!(passed, Ok(Some(_))), "{:?}", passed);
                inspect("a.example:99", "a.example:99", bytes).ok();
            }
        }
    }
}
