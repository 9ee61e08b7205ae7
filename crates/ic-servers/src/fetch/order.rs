//! What a call asks for, checked before anything is sent.
//!
//! A URL is parsed by the one parser that also the policy's values went through, and is sent in the form
//! that the parser writes; nothing that a caller says becomes a second line of the request.

use std::time::Duration;

use ic_types::{Json, Object};
use url::{Position, Url};

use super::fault::Fault;
use super::way::Target;

/// How many characters of text are returned if nothing is said.
const LENGTH: usize = 5000;
/// The most characters that are returned; a result has to fit a line to the client.
pub(super) const LENGTH_MAX: usize = 500_000;
/// How long a host may take if nothing is said, and at most.
const TIMEOUT_S: u64 = 30;
const TIMEOUT_S_MAX: u64 = 60;
/// The longest URL, and the most that is said in further headers.
const URL_BYTES_MAX: usize = 8 << 10;
const HEADERS_MAX: usize = 32;
const HEADER_BYTES_MAX: usize = 8 << 10;

/// Headers that say how this one connection is used; whoever sets them could make two requests of one,
/// or get an answer that is read in another way than it was written.
const OURS: [&str; 14] = [
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "range",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// What a call asks for.
#[derive(Debug)]
pub(super) struct Order {
    url: Url,
    headers: Vec<(String, String)>,
    pub(super) form: Form,
    pub(super) length: usize,
    pub(super) timeout: Duration,
}

/// How HTML is returned.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Form {
    Markdown,
    Text,
    Html,
}

impl Order {
    pub(super) fn read(arguments: &Object) -> Result<Self, Fault> {
        let text = arguments.get("url").and_then(Json::as_str).unwrap_or_default();
        let form = match arguments.get("format").and_then(Json::as_str) {
            None | Some("markdown") => Form::Markdown,
            Some("text") => Form::Text,
            Some(_) => Form::Html,
        };
        let length = whole(arguments, "max_length", (1, LENGTH_MAX as u64), LENGTH as u64)?;
        let timeout = whole(arguments, "timeout", (1, TIMEOUT_S_MAX), TIMEOUT_S)?;
        Ok(Self {
            url: url(text)?,
            headers: headers(arguments)?,
            form,
            length: usize::try_from(length).unwrap_or(LENGTH_MAX),
            timeout: Duration::from_secs(timeout),
        })
    }

    /// Returns where the page is.
    pub(super) fn url(&self) -> &Url {
        &self.url
    }

    pub(super) fn is_tls(&self) -> bool {
        self.url.scheme() == "https"
    }

    pub(super) fn target(&self) -> Target {
        let host = self.url.host_str().unwrap_or_default().to_owned();
        Target { host, port: self.url.port_or_known_default().unwrap_or_default() }
    }

    /// Returns the request as it is sent.
    pub(super) fn request(&self) -> String {
        let path = &self.url[Position::BeforePath..Position::AfterQuery];
        let host = &self.url[Position::BeforeHost..Position::AfterPort];
        let mut request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n");
        let mut line = |name: &str, value: &str| {
            request.extend([name, ": ", value, "\r\n"]);
        };
        let is_said =
            |name: &str| self.headers.iter().any(|(said, _)| said.eq_ignore_ascii_case(name));
        for (name, value) in [
            ("User-Agent", concat!("IronCurtain/", env!("CARGO_PKG_VERSION"))),
            ("Accept", "text/html, text/plain;q=0.9, application/json;q=0.9, */*;q=0.5"),
        ] {
            if !is_said(name) {
                line(name, value);
            }
        }
        for (name, value) in &self.headers {
            line(name, value);
        }
        line("Accept-Encoding", "gzip, deflate, br");
        // One request for each connection, so that no answer is taken for that of another.
        line("Connection", "close");
        request.push_str("\r\n");
        request
    }
}

fn url(text: &str) -> Result<Url, Fault> {
    let fault = |reason: &str| Fault::Asked(format!("`url` cannot be fetched: {reason}"));
    if URL_BYTES_MAX < text.len() {
        return Err(fault("it is too long"));
    }
    // The parser would take them out; a URL that needs that is not what it seems.
    if text.chars().any(char::is_control) || text.trim() != text {
        return Err(fault("it contains control characters, or white space around it"));
    }
    let url = Url::parse(text).map_err(|error| fault(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(fault("only https and http are fetched"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(fault("it contains a user name or password"));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(fault("it names no host"));
    }
    if !url.as_str().bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(fault("it cannot be written in ASCII"));
    }
    Ok(url)
}

fn headers(arguments: &Object) -> Result<Vec<(String, String)>, Fault> {
    let Some(Json::Object(said)) = arguments.get("headers") else { return Ok(Vec::new()) };
    let fault = |name: &str, reason: &str| {
        let name: String = name.chars().take(64).collect();
        Fault::Asked(format!("the header `{}` cannot be sent: {reason}", name.escape_debug()))
    };
    let mut headers: Vec<(String, String)> = Vec::new();
    let mut n_bytes = 0;
    for (name, value) in said.iter() {
        let value = value.as_str().ok_or_else(|| fault(name, "its value is not text"))?;
        if !is_token(name) {
            return Err(fault(name, "that is not a valid header name"));
        }
        let lower = name.to_ascii_lowercase();
        if OURS.contains(&lower.as_str()) || lower.starts_with("proxy-") {
            return Err(fault(name, "how the connection is used is not for callers to say"));
        }
        // SECURITY: a line break would make a header of our caller's, or a second request.
        if !value.bytes().all(|byte| matches!(byte, b' '..=b'~')) || value.trim() != value {
            return Err(fault(name, "its value is not printable ASCII on one line"));
        }
        if headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
            return Err(fault(name, "it is there twice"));
        }
        n_bytes += name.len() + value.len();
        headers.push((name.to_owned(), value.to_owned()));
    }
    if HEADERS_MAX < headers.len() || HEADER_BYTES_MAX < n_bytes {
        return Err(Fault::Asked(format!(
            "at most {HEADERS_MAX} headers with {HEADER_BYTES_MAX} bytes are sent"
        )));
    }
    Ok(headers)
}

fn is_token(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.len() <= 64 && name.bytes().all(is_part)
}

/// Returns a whole number within `min` and `max`, or what is meant if nothing is said.
fn whole(
    arguments: &Object,
    name: &str,
    (min, max): (u64, u64),
    unsaid: u64,
) -> Result<u64, Fault> {
    let Some(Json::Number(number)) = arguments.get(name) else { return Ok(unsaid) };
    let number: Option<u64> = number.as_str().parse().ok().or_else(|| {
        let number: f64 = number.as_str().parse().ok()?;
        // Also 5.0 and 5e0 are five.
        format!("{number}").parse().ok()
    });
    match number {
        Some(number) if (min..=max).contains(&number) => Ok(number),
        Some(_) | None => {
            Err(Fault::Asked(format!("`{name}` must be a whole number from {min} to {max}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ic_types::JsonLimits;

    fn read(json: &str) -> Result<Order, String> {
        let Json::Object(arguments) = Json::parse(json.as_bytes(), JsonLimits::CALL).unwrap()
        else {
            panic!("no object")
        };
        Order::read(&arguments).map_err(|fault| fault.to_string())
    }

    #[test]
    fn a_request_says_what_was_asked_and_nothing_else() {
        let order = read(
            r#"{"url":"https://Bücher.example:8443/a b?q=ä#part","headers":{"X-Y":"z"},"timeout":5.0}"#,
        )
        .unwrap();
        assert_eq!(
            order.request(),
            "GET /a%20b?q=%C3%A4 HTTP/1.1\r\nHost: xn--bcher-kva.example:8443\r\n\
             User-Agent: IronCurtain/0.1.0\r\n\
             Accept: text/html, text/plain;q=0.9, application/json;q=0.9, */*;q=0.5\r\n\
             X-Y: z\r\nAccept-Encoding: gzip, deflate, br\r\nConnection: close\r\n\r\n"
        );
        assert_eq!(order.target().to_string(), "xn--bcher-kva.example:8443");
        assert_eq!((order.length, order.timeout), (LENGTH, Duration::from_secs(5)));
        let order = read(r#"{"url":"http://[::1]/","headers":{"user-agent":"x"}}"#).unwrap();
        assert!(order.request().starts_with("GET / HTTP/1.1\r\nHost: [::1]\r\nAccept: "));
        assert_eq!(order.target().to_string(), "[::1]:80");
    }

    #[test]
    fn an_order_is_of_a_bounded_size() {
        let asked = |url: &str, headers: &str| {
            read(&format!(r#"{{"url":"{url}","headers":{{{headers}}}}}"#))
        };
        let url = |n_bytes: usize| {
            let start = "https://a.example/";
            format!("{start}{}", "x".repeat(n_bytes - start.len()))
        };
        assert!(asked(&url(URL_BYTES_MAX), "").is_ok());
        assert!(asked(&url(URL_BYTES_MAX + 1), "").is_err_and(|it| it.contains("too long")));
        let many =
            |n: usize| (0..n).map(|n| format!(r#""X{n}":"y""#)).collect::<Vec<_>>().join(",");
        assert!(asked("https://a.example/", &many(HEADERS_MAX)).is_ok());
        let long = |n_bytes: usize| format!(r#""X":"{}""#, "y".repeat(n_bytes));
        assert!(asked("https://a.example/", &long(HEADER_BYTES_MAX - 1)).is_ok());
        for headers in [many(HEADERS_MAX + 1), long(HEADER_BYTES_MAX)] {
            let refused = asked("https://a.example/", &headers).unwrap_err();
            assert!(refused.contains("at most 32 headers"), "{refused}");
        }
    }

    #[test]
    fn what_could_be_more_than_one_request_is_refused() {
        for (json, part) in [
            (r#"{"url":"https://a.example/\r\nX: y"}"#, "control characters"),
            (r#"{"url":"https://a.example/\tx"}"#, "control characters"),
            (r#"{"url":" https://a.example/"}"#, "white space around it"),
            (r#"{"url":"https://u:p@a.example/"}"#, "user name or password"),
            (r#"{"url":"https://u@a.example/"}"#, "user name or password"),
            (r#"{"url":"file:///etc/passwd"}"#, "only https and http"),
            (r#"{"url":"javascript:alert(1)"}"#, "only https and http"),
            (r#"{"url":"//a.example"}"#, "cannot be fetched"),
            (r#"{"url":"https://"}"#, "cannot be fetched"),
            (r#"{"url":"https://a.example/","headers":{"X":"a\r\nY: b"}}"#, "one line"),
            (r#"{"url":"https://a.example/","headers":{"X":"a\nb"}}"#, "one line"),
            (r#"{"url":"https://a.example/","headers":{"X\r\nY":"b"}}"#, "not a valid header name"),
            (r#"{"url":"https://a.example/","headers":{"X Y":"b"}}"#, "not a valid header name"),
            (r#"{"url":"https://a.example/","headers":{"":"b"}}"#, "not a valid header name"),
            (r#"{"url":"https://a.example/","headers":{"Host":"b.example"}}"#, "not for callers"),
            (r#"{"url":"https://a.example/","headers":{"hOST":"b.example"}}"#, "not for callers"),
            (r#"{"url":"https://a.example/","headers":{"Content-Length":"9"}}"#, "not for callers"),
            (
                r#"{"url":"https://a.example/","headers":{"Transfer-Encoding":"chunked"}}"#,
                "not for callers",
            ),
            (
                r#"{"url":"https://a.example/","headers":{"Proxy-Authorization":"x"}}"#,
                "not for callers",
            ),
            (r#"{"url":"https://a.example/","headers":{"Accept":"a","accept":"b"}}"#, "twice"),
            (r#"{"url":"https://a.example/","headers":{"X":"ä"}}"#, "printable ASCII"),
            (r#"{"url":"https://a.example/","max_length":0}"#, "from 1 to 500000"),
            (r#"{"url":"https://a.example/","max_length":1e9}"#, "from 1 to 500000"),
            (r#"{"url":"https://a.example/","max_length":1.5}"#, "whole number"),
            (r#"{"url":"https://a.example/","timeout":0}"#, "from 1 to 60"),
            (r#"{"url":"https://a.example/","timeout":61}"#, "from 1 to 60"),
        ] {
            let fault = read(json).expect_err(json);
            assert!(fault.contains(part), "{json}: {fault}");
        }
    }
}
