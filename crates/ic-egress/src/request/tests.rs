//! Requests to the proxy and on connections, and the heads that come of them.

use super::*;
use crate::head::{self, Read};

fn head(text: &str) -> Head<'_> {
    match head::read(text.as_bytes()) {
        Ok(Read::Whole(head, _)) => head,
        other => panic!("{text:?}: {other:?}"),
    }
}

fn asked(text: &str) -> Result<(String, Option<String>), String> {
    match Asked::read(&head(text)) {
        Ok(Asked::Connect(target)) => Ok((target.to_string(), None)),
        Ok(Asked::Forward(target, request)) => {
            Ok((target.to_string(), Some(String::from_utf8(request.head).unwrap())))
        }
        Err(refusal) => Err(refusal.to_string()),
    }
}

#[track_caller]
fn check_connect(target: &str, expected: Option<&str>) {
    let text = format!("CONNECT {target} HTTP/1.1\r\n\r\n");
    let asked = asked(&text).ok().map(|(target, _)| target);
    assert_eq!(asked.as_deref(), expected, "{target}");
}

#[test]
fn connect_takes_a_host_and_a_port() {
    check_connect("a.example:443", Some("a.example:443"));
    check_connect("A.example.:443", Some("a.example:443"));
    check_connect("[::1]:443", Some("[::1]:443"));
    check_connect("0x7f.1:443", Some("127.0.0.1:443"));
    check_connect("[::ffff:7f00:1]:443", Some("127.0.0.1:443"));
    for bad in [
        "a.example",
        "a.example:",
        "a.example:0",
        "a.example:0443",
        "a.example:99999",
        "a.example:https",
        "http://a.example:443",
        "a.example:443/",
        "user@a.example:443",
        "a.example@b.example:443",
        "::1:443",
        "[::1%25lo]:443",
        "[::1%lo]:443",
        "*:443",
        ":443",
        "/",
    ] {
        check_connect(bad, None);
    }
}

#[test]
fn a_connect_that_says_two_things_is_refused() {
    let check = |fields: &str, expected: Result<(), &str>| {
        let asked = asked(&format!("CONNECT a.example:443 HTTP/1.1\r\n{fields}\r\n"));
        assert_eq!(asked.map(drop), expected.map_err(str::to_owned), "{fields:?}");
    };
    check("Host: a.example:443\r\n", Ok(()));
    check("Host: a.example\r\nContent-Length: 0\r\n", Ok(()));
    check("Host: b.example:443\r\n", Err("the request is for `b.example:443`"));
    check("Host: a.example:80\r\n", Err("the request is for `a.example:80`"));
    check(
        "Host: a.example\r\nHost: a.example\r\n",
        Err("the request cannot be read: there is more than one Host"),
    );
    check("Content-Length: 5\r\n", Err("the request cannot be read: CONNECT has no body"));
    check("Transfer-Encoding: chunked\r\n", Err("the request cannot be read: CONNECT has no body"));
}

#[test]
fn an_absolute_request_is_written_anew() {
    let (target, head) = asked(
        "POST HTTP://A.example:8080?q HTTP/1.1\r\nhost: a.example:8080\r\nX-A: 1\r\n\
         Proxy-Authorization: secret\r\nproxy-connection: keep-alive\r\nConnection: X-B, keep-alive\r\n\
         X-B: gone\r\nKeep-Alive: 5\r\nTE: trailers\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n\
         Trailer: x\r\ncontent-length: 3\r\nExpect: 100-continue\r\n\r\n",
    )
    .unwrap();
    assert_eq!(target, "a.example:8080");
    assert_eq!(
        head.unwrap(),
        "POST /?q HTTP/1.1\r\nHost: a.example:8080\r\nX-A: 1\r\nExpect: 100-continue\r\n\
         Content-Length: 3\r\nConnection: close\r\n\r\n"
    );
    let (target, head) = asked("GET http://a.example HTTP/1.0\r\nHost: a.example\r\n\r\n").unwrap();
    assert_eq!(target, "a.example:80");
    assert_eq!(head.unwrap(), "GET / HTTP/1.0\r\nHost: a.example\r\nConnection: close\r\n\r\n");
    let (_, head) = asked("OPTIONS http://[::1]:80 HTTP/1.1\r\nHost: [::1]\r\n\r\n").unwrap();
    assert!(head.unwrap().starts_with("OPTIONS * HTTP/1.1\r\nHost: [::1]\r\n"));
}

#[test]
fn requests_that_are_not_for_a_proxy_are_refused() {
    for target in [
        "/",
        "*",
        "a.example",
        "https://a.example/",
        "ftp://a.example/",
        "file:///etc/passwd",
        "http:/a.example/",
        "http:///x",
        "http://user@a.example/",
        "http://user:pw@a.example/",
        "http://a.example:0/",
        "http://a.example:080/",
        "http://a.example#/",
        "http://a.example/#x",
        "http://a.example\\@b.example/",
        "http://b.example/",
    ] {
        let asked = asked(&format!("GET {target} HTTP/1.1\r\nHost: a.example\r\n\r\n"));
        assert!(asked.is_err(), "accepted {target}: {asked:?}");
    }
}

#[test]
fn host_must_be_the_one_authority() {
    let check = |fields: &str| {
        asked(&format!("GET http://a.example/ HTTP/1.1\r\n{fields}\r\n")).map(drop).unwrap_err()
    };
    assert_eq!(check(""), "the request cannot be read: there is no Host");
    assert_eq!(check("Host: b.example\r\n"), "the request is for `b.example`");
    assert_eq!(check("Host: a.example:8080\r\n"), "the request is for `a.example:8080`");
    assert_eq!(check("Host:\r\n"), "the request is for ``");
    assert_eq!(
        check("Host: a.example, b.example\r\n"),
        "the request is for `a.example, b.example`"
    );
    assert_eq!(check("Host: \u{e4}\r\n"), "the request is for `\\xc3\\xa4`");
    assert_eq!(
        check("Host: a.example\r\nhOST: a.example\r\n"),
        "the request cannot be read: there is more than one Host"
    );
}

#[test]
fn a_body_ends_in_one_way() {
    let framing = |fields: &str, version: &str| {
        let text = format!("POST / {version}\r\nHost: a.example\r\n{fields}\r\n");
        let target = Target::new("a.example".parse().unwrap(), 80).unwrap();
        Request::on_connection(&head(&text), &target).map(|it| it.framing).ok()
    };
    let http11 = |fields: &str| framing(fields, "HTTP/1.1");
    assert_eq!(http11(""), Some(Framing::Length(0)));
    assert_eq!(http11("Content-Length: 5\r\n"), Some(Framing::Length(5)));
    assert_eq!(http11("Transfer-Encoding: Chunked\r\n"), Some(Framing::Chunked));
    for bad in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: 5, 5\r\n",
        "Content-Length: +5\r\n",
        "Content-Length: -5\r\n",
        "Content-Length: 0x5\r\n",
        "Content-Length:\r\n",
        "Content-Length: 99999999999999999999\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked, chunked\r\n",
        "Transfer-Encoding: identity\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    ] {
        assert_eq!(http11(bad), None, "{bad:?}");
    }
    assert_eq!(framing("Transfer-Encoding: chunked\r\n", "HTTP/1.0"), None);
}

#[test]
fn a_request_on_a_connection_is_for_its_target() {
    let on = |line: &str, host: &str| {
        let text = format!("{line} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        let target = Target::new("a.example".parse().unwrap(), 8080).unwrap();
        Request::on_connection(&head(&text), &target)
            .map(|it| String::from_utf8(it.head).unwrap().lines().next().unwrap().to_owned())
            .map_err(|refusal| refusal.to_string())
    };
    assert_eq!(on("GET /x", "a.example"), Ok("GET /x HTTP/1.1".to_owned()));
    assert_eq!(on("GET /x", "A.example.:8080"), Ok("GET /x HTTP/1.1".to_owned()));
    assert_eq!(on("OPTIONS *", "a.example"), Ok("OPTIONS * HTTP/1.1".to_owned()));
    assert_eq!(on("GET http://a.example:8080/y", "a.example"), Ok("GET /y HTTP/1.1".to_owned()));
    for (line, host) in [
        ("GET /x", "b.example"),
        ("GET /x", "a.example:80"),
        ("GET http://b.example/y", "a.example"),
        ("GET http://a.example/y", "a.example"),
        ("GET *", "a.example"),
        ("GET x", "a.example"),
        ("CONNECT a.example:8080", "a.example"),
        ("CONNECT b.example:443", "a.example"),
    ] {
        assert!(on(line, host).is_err(), "{line} {host}");
    }
}
