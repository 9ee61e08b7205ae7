//! HTTP heads, `CONNECT`, chunked bodies, DNS questions and TLS hellos.

use std::net::Ipv4Addr;

use ic_fuzz::{Outcome, Target, splits};

use crate::body::{Body, Framing};
use crate::head::{self, HEAD_MAX, Head};
use crate::hello;
use crate::hello::tests::{hello_for, nameless_hello};
use crate::question::{self, Answer, Packet};
use crate::request::{Asked, Request};

const HEADS: [&str; 6] = [
    "GET /x?y HTTP/1.1\r\nHost: a.example\r\nX:\t y \t\r\nE:\r\n\r\nbody",
    "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\nProxy-Authorization: Basic x\r\n\r\n",
    "POST http://a.example/p HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3\r\nConnection: keep-alive, X-Own\r\nX-Own: 1\r\n\r\nabc",
    "PUT http://[::1]:8080 HTTP/1.0\r\nHost: [::1]:8080\r\nContent-Length: 0\r\n\r\n",
    "POST http://A.example:80/ HTTP/1.1\r\nhost: a.EXAMPLE\r\nTransfer-Encoding: chunked\r\nUpgrade: websocket\r\nTE: x\r\n\r\n0\r\n\r\n",
    "OPTIONS http://a.example HTTP/1.1\r\nHost: a.example\r\n\r\n",
];

const HEAD_WORDS: [&str; 36] = [
    "\r\n",
    "\n",
    "\r",
    " ",
    "\t",
    ":",
    "Host: ",
    "Host: b.example\r\n",
    "Content-Length: ",
    "Content-Length: 5\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding: identity\r\n",
    "chunked",
    "Connection: ",
    "close",
    "HTTP/1.1",
    "HTTP/1.0",
    "GET",
    "CONNECT",
    "OPTIONS",
    "*",
    "http://",
    "https://",
    "a.example",
    "b.example",
    "user@",
    "#",
    "?",
    "//",
    "%2e",
    "[::1]",
    "127.0.0.1",
    "0x7f.1",
    ":443",
    "\0",
    "+1",
];

#[test]
fn fuzz_http_head() {
    Target::new("http-head").seeds(HEADS).words(HEAD_WORDS).run(|bytes| {
        let read = head::read(bytes);
        for pieces in splits(bytes).filter(|pieces| pieces.len() == 2) {
            // What is not complete is asked for again with more; what is wrong stays wrong.
            match (head::read(pieces[0]), &read) {
                (Ok(head::Read::More), _) => {}
                (Err(_), whole) => assert!(whole.is_err(), "wrong at first, and right with more"),
                (Ok(found), whole) => assert_eq!(whole.as_ref(), Ok(&found)),
            }
        }
        match read {
            Ok(head::Read::Whole(head, n)) => {
                assert!(n <= HEAD_MAX);
                is_read_the_same_elsewhere(&head, &bytes[..n]);
                Outcome::accepted((head.version == head::Version::Http11, head.fields.len().min(8)))
            }
            Ok(head::Read::More) => Outcome::refused("more"),
            Err(why) => Outcome::refused(why),
        }
    });
}

/// Holds a head against another parser of HTTP.
fn is_read_the_same_elsewhere(head: &Head<'_>, bytes: &[u8]) {
    let mut fields = [httparse::EMPTY_HEADER; 128];
    let mut theirs = httparse::Request::new(&mut fields);
    let status = theirs.parse(bytes).expect("what we take, others take");
    assert_eq!(status, httparse::Status::Complete(bytes.len()));
    assert_eq!((theirs.method, theirs.path), (Some(head.method), Some(head.target)));
    let ours: Vec<(&str, &[u8])> = head.fields.iter().map(|it| (it.name, it.value)).collect();
    let theirs: Vec<(&str, &[u8])> =
        theirs.headers.iter().map(|it| (it.name, it.value.trim_ascii())).collect();
    assert_eq!(ours, theirs);
}

#[test]
fn fuzz_connect_head() {
    Target::new("connect-head")
        .seeds(HEADS)
        .words(HEAD_WORDS)
        .corpus("url_allowlist_confusion")
        .run(|bytes| {
            let Ok(head::Read::Whole(head, _)) = head::read(bytes) else {
                return Outcome::refused("no head");
            };
            match Asked::read(&head) {
                Ok(Asked::Connect(target)) => {
                    assert_eq!(head.method, "CONNECT");
                    let again = format!("CONNECT {target} HTTP/1.1\r\n\r\n");
                    let Ok(head::Read::Whole(again, _)) = head::read(again.as_bytes()) else {
                        panic!("`{target}` cannot be asked for");
                    };
                    let Ok(Asked::Connect(same)) = Asked::read(&again) else {
                        panic!("`{target}` is refused")
                    };
                    assert_eq!(same, target, "a target is not its own name");
                    Outcome::accepted("connect")
                }
                Ok(Asked::Forward(target, request)) => {
                    is_one_plain_request(&request, &target);
                    Outcome::accepted(("forward", request.framing == Framing::Chunked))
                }
                Err(refusal) => {
                    let said = refusal.to_string();
                    // What was asked for may stand in the sentence.
                    Outcome::refused(said.split('`').next().map(str::to_owned))
                }
            }
        });
}

/// What is sent on is one request that everybody reads in the same way, to the judged target.
fn is_one_plain_request(request: &Request, target: &crate::Target) {
    let Ok(head::Read::Whole(head, n)) = head::read(&request.head) else {
        panic!("what is sent on is not a head");
    };
    assert_eq!(n, request.head.len(), "something stands behind the head");
    is_read_the_same_elsewhere(&head, &request.head);
    let count = |name: &str| head.values(name).count();
    assert_eq!((count("host"), count("connection")), (1, 1));
    assert!(count("content-length") + count("transfer-encoding") <= 1, "it has two ends");
    assert_eq!(head.values("connection").next(), Some(&b"close"[..]));
    for name in
        ["upgrade", "te", "trailer", "keep-alive", "proxy-authorization", "proxy-connection"]
    {
        assert_eq!(count(name), 0, "`{name}` is passed on");
    }
    let again = Request::on_connection(&head, target).expect("it leads to its own target");
    assert_eq!(again.framing, request.framing, "its end is read in two ways");
}

#[test]
fn fuzz_chunked() {
    Target::new("chunked")
        .seeds([
            "3\r\nabc\r\n0\r\n\r\n",
            "0\r\n\r\nGET / HTTP/1.1\r\n",
            "A\r\n0123456789\r\n01\r\nx\r\n0\r\n\r\n",
        ])
        .words([
            "\r\n",
            "0\r\n\r\n",
            "1",
            "a",
            "F",
            "fffffffffffffff",
            ";x=y",
            "-1",
            "+",
            " ",
            "\n",
            "0x",
        ])
        .run(|bytes| {
            let sent = |pieces: &[&[u8]]| {
                let (mut body, mut out) = (Body::new(Framing::Chunked), Vec::new());
                let ended = pieces.iter().try_for_each(|piece| body.take(piece, &mut out));
                (ended.map(|()| body.is_done()), out)
            };
            let (ended, out) = sent(&[bytes]);
            for pieces in splits(bytes) {
                assert_eq!(sent(&pieces), (ended, out.clone()), "a cut makes a difference");
            }
            assert!(out.len() <= bytes.len() + 16, "it grows");
            match ended {
                Ok(true) => {
                    assert_eq!(unchunked(&out), unchunked(bytes), "other data is sent on");
                    let (again, same) = sent(&[&out]);
                    assert_eq!(
                        (again, same),
                        (Ok(true), out),
                        "what is sent on is not its own form"
                    );
                    Outcome::accepted(bytes.len().ilog2())
                }
                Ok(false) => Outcome::refused("more"),
                Err(why) => Outcome::refused(why),
            }
        });
}

/// The data of a body of chunks, read in the plainest way.
fn unchunked(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let mut data = Vec::new();
    loop {
        let end = bytes.windows(2).position(|it| it == b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).ok()?, 16).ok()?;
        let rest = &bytes[end + 2..];
        if size == 0 {
            return rest.starts_with(b"\r\n").then_some(data);
        }
        data.extend(rest.get(..size)?);
        bytes = rest.get(size..)?.strip_prefix(b"\r\n")?;
    }
}

#[test]
fn fuzz_dns() {
    let name = b"\x03Api\x07example\x03com\0";
    let packet = |flags: [u8; 2], more: u8, rest: &[u8]| {
        [&[0x12, 0x34], &flags[..], &[0, 1, 0, 0, 0, 0, 0, more], name, rest].concat()
    };
    Target::new("dns")
        .seeds([
            packet([1, 0], 0, &[0, 1, 0, 1]),
            packet([1, 0], 1, &[0, 28, 0, 1, 0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]),
            packet([0x81, 0x80], 0, &[0, 1, 0, 1]),
        ])
        .words([
            &[0xc0, 0x0c][..],
            &[0],
            &[63],
            &[64],
            b"\x01.",
            b"\x09localhost",
            &[0, 1, 0, 1],
            &[0, 255],
            b"xn--",
        ])
        .bytes_max(600)
        .run(|bytes| match question::read(bytes) {
            Packet::Question(question) => {
                if let Some(name) = &question.name {
                    let wire = on_the_wire(name.as_str());
                    let asked = bytes[12..].get(..wire.len()).expect("the name is in the packet");
                    // A last dot does not belong to a name, and no label of a name is empty.
                    assert!(asked.eq_ignore_ascii_case(&wire), "another name was read: {name:?}");
                }
                for answer in
                    [Answer::Address(Ipv4Addr::LOCALHOST), Answer::NoSuchName, Answer::Failed]
                {
                    let reply = question.answer(answer);
                    assert_eq!(reply[..2], bytes[..2], "the number is another one");
                    assert!(
                        reply.len() <= bytes.len() + 16,
                        "the answer is much longer than the question"
                    );
                    assert!(
                        matches!(question::read(&reply), Packet::Silence),
                        "an answer is answered"
                    );
                }
                Outcome::accepted(question.name.is_some())
            }
            Packet::Fault(reply) => {
                assert_eq!((reply.len(), &reply[..2]), (12, &bytes[..2]));
                assert!(matches!(question::read(&reply), Packet::Silence), "an answer is answered");
                Outcome::refused(reply[3])
            }
            Packet::Silence => Outcome::refused("silence"),
        });
}

fn on_the_wire(name: &str) -> Vec<u8> {
    let label = |label: &str| [&[u8::try_from(label.len()).unwrap()], label.as_bytes()].concat();
    let mut wire: Vec<u8> = name.split('.').flat_map(label).collect();
    wire.push(0);
    wire
}

#[test]
fn fuzz_tls_hello() {
    let host = "a.example".parse().unwrap();
    let target = crate::Target::new(host, 443).unwrap();
    let cut = |hello: &[u8], n: usize| -> Vec<u8> {
        let record =
            |part: &[u8]| [&[22, 3, 1, 0, u8::try_from(part.len()).unwrap()], part].concat();
        hello[5..].chunks(n).flat_map(record).collect()
    };
    Target::new("tls-hello")
        .seeds([
            hello_for("a.example"),
            hello_for("b.example"),
            nameless_hello(),
            cut(&hello_for("a.example"), 40),
        ])
        .words([
            &[22, 3, 1][..],
            &[0, 0],
            &[0xfe, 0x0d],
            b"a.example",
            b"b.example",
            b"\0\0\x09a.example",
            &[0],
            &[1],
        ])
        .bytes_max(1200)
        .run(|bytes| {
            let read = hello::read(bytes);
            for pieces in splits(bytes).filter(|pieces| pieces.len() == 2) {
                match (hello::read(pieces[0]), &read) {
                    (Ok(hello::Read::More), _) => {}
                    (Err(_), whole) => {
                        assert!(whole.is_err(), "wrong at first, and right with more");
                    }
                    (Ok(found), Ok(whole)) => assert_eq!(&found, whole),
                    (Ok(_), Err(why)) => panic!("right at first, and wrong with more: {why}"),
                }
            }
            match read {
                Ok(hello::Read::Whole(hello)) => {
                    let is_for_it = hello.require(&target).is_ok();
                    if is_for_it {
                        let plain: Vec<u8> = bytes.to_ascii_lowercase();
                        let is_there = |name: &[u8]| plain.windows(name.len()).any(|it| it == name);
                        // Records may lie within the name, so only its letters are looked for then.
                        assert!(
                            is_there(b"a.example")
                                || 1 < plain.iter().filter(|it| **it == 22).count()
                        );
                    }
                    Outcome::accepted(is_for_it)
                }
                Ok(hello::Read::More) => Outcome::refused("more"),
                Err(why) => Outcome::refused(why.to_string()),
            }
        });
}
