//! What an HTTP/1 request asks for, and its head as we send it on.
//!
//! Pure. Nothing of a head is passed on as it came: it is read, judged and written again, so that
//! what was judged is what the server reads. One connection carries one request.

use std::io::Write as _;

use ic_types::Host;

use crate::body::Framing;
use crate::head::{Head, MoreThanOne, Version};
use crate::refusal::Refusal;
use crate::target::{Authority, Target};

/// What a request to the proxy asks for.
#[derive(Debug)]
pub(crate) enum Asked {
    /// A connection to this target.
    Connect(Target),
    /// An answer of this target.
    Forward(Target, Request),
}

/// A request as it is sent on.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Request {
    pub(crate) head: Vec<u8>,
    pub(crate) framing: Framing,
}

/// Fields between two machines, and fields that we write ourselves.
///
/// Without `Upgrade` no connection becomes one of another protocol (a web socket in the clear, say),
/// on which nothing could be looked at.
const NOT_PASSED: [&str; 9] = [
    "connection",
    "content-length",
    "host",
    "http2-settings",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

// === impl Asked ===

impl Asked {
    /// Reads a request to the proxy.
    pub(crate) fn read(head: &Head<'_>) -> Result<Self, Refusal> {
        if head.method == "CONNECT" {
            return connect(head);
        }
        let (authority, path) = absolute(head.target).ok_or(Refusal::Malformed(
            "a request to a proxy begins with `http://`; for `https://` use CONNECT",
        ))?;
        let port = authority.port.unwrap_or(80);
        let target = target(authority.host, port)?;
        let request = Request::read(head, path.as_deref(), &target)?;
        Ok(Self::Forward(target, request))
    }
}

fn connect(head: &Head<'_>) -> Result<Asked, Refusal> {
    let authority = Authority::parse(head.target);
    let (Some(host), Some(port)) = authority.map_or((None, None), |it| (Some(it.host), it.port))
    else {
        return Err(Refusal::Malformed("CONNECT takes `host:port` and nothing else"));
    };
    let target = target(host, port)?;
    // It may be absent, since old clients leave it out; what says something else is a trick.
    if head.values("host").next().is_some() {
        named(head, &target)?;
    }
    let has_body = ["content-length", "transfer-encoding"]
        .iter()
        .any(|name| head.values(name).any(|value| value != b"0"));
    if has_body {
        return Err(Refusal::Malformed("CONNECT has no body"));
    }
    Ok(Asked::Connect(target))
}

fn target(host: Host, port: u16) -> Result<Target, Refusal> {
    Target::new(host, port).ok_or(Refusal::Malformed("port 0 cannot be used"))
}

/// Splits `http://authority/path?query`; the path of `http://authority` is absent.
fn absolute(text: &str) -> Option<(Authority, Option<String>)> {
    let (scheme, rest) = text.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") || rest.contains('#') {
        return None;
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end)?;
    let path = match path {
        "" => None,
        path if path.starts_with('/') => Some(path.to_owned()),
        query => Some(format!("/{query}")),
    };
    Some((Authority::parse(authority)?, path))
}

/// Requires that the one `Host` field names `target`, and returns the host as it names it.
fn named(head: &Head<'_>, target: &Target) -> Result<Host, Refusal> {
    let field = head
        .only("host")
        .map_err(|MoreThanOne| Refusal::Malformed("there is more than one Host"))?;
    let field = field.ok_or(Refusal::Malformed("there is no Host"))?;
    let authority = str::from_utf8(field).ok().and_then(Authority::parse);
    match authority {
        Some(Authority { host, port })
            if target.is_named_by(&host) && port.is_none_or(|port| port == target.port()) =>
        {
            Ok(host)
        }
        _ => Err(Refusal::other_host(field)),
    }
}

// === impl Request ===

impl Request {
    /// Reads a request on a connection that leads to `target` already.
    pub(crate) fn on_connection(head: &Head<'_>, target: &Target) -> Result<Self, Refusal> {
        if head.method == "CONNECT" {
            return Err(Refusal::Malformed("CONNECT is for the proxy"));
        }
        let is_origin = head.target.starts_with('/') && !head.target.contains('#');
        let is_asterisk = head.target == "*" && head.method == "OPTIONS";
        if is_origin || is_asterisk {
            return Self::read(head, Some(head.target), target);
        }
        let (authority, path) =
            absolute(head.target).ok_or(Refusal::Malformed("it asks for no path"))?;
        let is_same =
            target.is_named_by(&authority.host) && authority.port.unwrap_or(80) == target.port();
        if !is_same {
            return Err(Refusal::other_host(head.target.as_bytes()));
        }
        Self::read(head, path.as_deref(), target)
    }

    fn read(head: &Head<'_>, path: Option<&str>, target: &Target) -> Result<Self, Refusal> {
        let host = named(head, target)?;
        let framing = framing(head).map_err(Refusal::Malformed)?;
        let path = path.unwrap_or(if head.method == "OPTIONS" { "*" } else { "/" });
        Ok(Self { head: write(head, path, &host, target.port(), framing), framing })
    }
}

/// Returns how the body ends, if there is exactly one way to read that.
fn framing(head: &Head<'_>) -> Result<Framing, &'static str> {
    let length = head.only("content-length").map_err(|MoreThanOne| "it has two lengths")?;
    let encoding = head.only("transfer-encoding").map_err(|MoreThanOne| "it has two encodings")?;
    match (length, encoding) {
        (None, None) => Ok(Framing::Length(0)),
        (Some(_), Some(_)) => Err("it has both a length and an encoding"),
        (Some(length), None) => {
            let digits = length.iter().all(u8::is_ascii_digit);
            let text = str::from_utf8(length).ok().filter(|it| digits && !it.is_empty());
            let n = text.and_then(|it| it.parse().ok()).ok_or("its length is not a number")?;
            Ok(Framing::Length(n))
        }
        (None, Some(encoding)) => {
            let is_chunked = encoding.eq_ignore_ascii_case(b"chunked");
            let is_known = is_chunked && head.version == Version::Http11;
            if is_known { Ok(Framing::Chunked) } else { Err("its encoding is not `chunked`") }
        }
    }
}

/// Writes the head anew.
fn write(head: &Head<'_>, path: &str, host: &Host, port: u16, framing: Framing) -> Vec<u8> {
    let version = match head.version {
        Version::Http10 => "HTTP/1.0",
        Version::Http11 => "HTTP/1.1",
    };
    let mut out = Vec::new();
    // Writing to a vector cannot fail.
    write!(out, "{} {path} {version}\r\nHost: {host}", head.method).ok();
    if port != 80 {
        write!(out, ":{port}").ok();
    }
    out.extend(b"\r\n");
    let nominated: Vec<&[u8]> = head
        .values("connection")
        .flat_map(|value| value.split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
        .collect();
    for field in &head.fields {
        let name = field.name.to_ascii_lowercase();
        let is_nominated = nominated.iter().any(|it| it.eq_ignore_ascii_case(name.as_bytes()));
        if is_nominated || name.starts_with("proxy-") || NOT_PASSED.contains(&name.as_str()) {
            continue;
        }
        write!(out, "{}: ", field.name).ok();
        out.extend(field.value);
        out.extend(b"\r\n");
    }
    match framing {
        // Without a length a server may wait for a body; with one it may mind.
        Framing::Length(0) if head.values("content-length").next().is_none() => {}
        Framing::Length(n) => drop(write!(out, "Content-Length: {n}\r\n")),
        Framing::Chunked => out.extend(b"Transfer-Encoding: chunked\r\n"),
    }
    out.extend(b"Connection: close\r\n\r\n");
    out
}

#[cfg(test)]
mod tests;
