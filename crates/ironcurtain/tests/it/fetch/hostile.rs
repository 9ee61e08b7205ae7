//! Hosts that are slow, endless or packed to burst, and URLs that are not what they seem.

use ic_testkit::{Says, Web};
use serde_json::json;

use super::{Rig, fetch, fetch_with};

/// A gzip of this many MiB of zeros, made by concatenation: a member for each MiB.
fn bomb(n_mib: usize) -> Vec<u8> {
    // One MiB of zeros as one gzip member.
    let script = "import gzip,sys; sys.stdout.buffer.write(gzip.compress(bytes(1 << 20)))";
    #[expect(clippy::disallowed_methods, reason = "tests: a program that packs")]
    let packed = std::process::Command::new("python3").args(["-c", script]).output().unwrap();
    assert!(packed.status.success() && packed.stdout.len() < 4096);
    packed.stdout.repeat(n_mib)
}

#[test]
fn slow_endless_and_bursting_answers_end() {
    let web = Web::start(|_| {
        let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n".to_vec();
        let endless_head = b"HTTP/1.1 200 OK\r\n".to_vec();
        vec![
            ("/drip", Says::Drip([&head[..], b"drop by drop"].concat())),
            ("/silent", Says::Drip(Vec::new())),
            ("/endless", Says::Endless(head.clone(), vec![b'x'; 1 << 16])),
            ("/headers", Says::Endless(endless_head, b"X-Y: z\r\n".repeat(100))),
            ("/interim", Says::Endless(Vec::new(), b"HTTP/1.1 103 Early\r\n\r\n".to_vec())),
            (
                "/bomb",
                Says::with("Content-Type: text/plain\r\nContent-Encoding: gzip\r\n", bomb(200)),
            ),
            ("/noise", Says::Bytes(b"\0\x01\x02SSH-2.0-x\r\n\r\n".to_vec())),
            ("/short", Says::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nshort".to_vec())),
            ("/twice", Says::with("Content-Encoding: gzip, gzip\r\n", "x")),
        ]
    });
    let rig = Rig::naming(&[&web]);
    let mut proxy = rig.start(&[]);
    for (path, expected) in [
        ("/drip", Err("did not finish its answer in time")),
        ("/silent", Err("did not finish its answer in time")),
        ("/endless", Ok("longer than 10 MiB")),
        ("/headers", Err("its head is too long")),
        ("/interim", Err("never gets to the answer")),
        ("/bomb", Err("")),
        ("/noise", Err("not HTTP/1.1")),
        ("/short", Err("ends in the middle")),
        ("/twice", Err("packed more than once")),
    ] {
        let timeout = if path == "/drip" || path == "/silent" { 2 } else { 60 };
        let fetched = fetch_with(&mut proxy, &json!({"url": web.url(path), "timeout": timeout}));
        match (path, &fetched, expected) {
            // Zeros are no text, so it is only said what they are.
            ("/bomb", Ok(text), _) => {
                assert!(text.contains("at least 10485760 bytes that are not text"), "{text}");
            }
            (_, Ok(text), Ok(part)) | (_, Err(text), Err(part)) => {
                assert!(text.contains(part), "{path}: {text:.300}");
            }
            _ => panic!("{path}: {fetched:.300?}"),
        }
    }
    // And the proxy is as well as before.
    assert!(proxy.process().peak_mib() < 200, "{} MiB", proxy.process().peak_mib());
    proxy.finish();
}

#[test]
fn urls_and_headers_that_are_not_what_they_seem_reach_nobody() {
    let web = Web::start(|_| Vec::new());
    let (port, named) = (web.port(), format!("127.0.0.1:{}", web.port()));
    let rig = Rig::naming(&[&web]);
    let mut proxy = rig.start(&[]);
    for url in [
        format!("http://{named}/\r\nX-Injected: yes"),
        format!("http://{named}/ HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
        format!("http://user@{named}/"),
        format!("http://user:pw@{named}/"),
        format!("http://{named}@evil.example/"),
        format!("http://evil.example#@{named}/"),
        format!("http://evil.example\\@{named}/"),
        format!("http://127.0.0.1%00.evil.example:{port}/"),
        format!("http://127。0。0。1.evil.example:{port}/"),
        format!("//{named}/"),
        format!("-http://{named}/"),
        format!("\thttp://{named}/"),
        format!("ftp://{named}/"),
        format!("file://{named}/etc/passwd"),
    ] {
        let refused = fetch(&mut proxy, &url).expect_err(&url);
        assert!(refused.starts_with("DENIED"), "{url:?}: {refused}");
    }
    for (name, value) in [
        ("X", "a\r\nX-Injected: yes"),
        ("X", "a\nX-Injected: yes"),
        ("X\r\nX-Injected", "yes"),
        ("Host", "evil.example"),
        ("Content-Length", "5"),
        ("Transfer-Encoding", "chunked"),
        ("Connection", "keep-alive"),
        ("Proxy-Connection", "keep-alive"),
    ] {
        let mut headers = serde_json::Map::new();
        headers.insert(name.to_owned(), json!(value));
        let arguments = json!({"url": format!("http://{named}/"), "headers": headers});
        let refused = fetch_with(&mut proxy, &arguments).expect_err(name);
        assert!(refused.contains("cannot be sent"), "{name:?}: {refused}");
    }
    assert_eq!(web.asked(), Vec::<String>::new());
    // Other spellings of the same address are the same address.
    for url in [
        format!("HTTP://127.1:{port}/x"),
        format!("http://0x7f.0.0.1:{port}/x"),
        format!("http://2130706433:{port}/x#fragment"),
        format!("http://１２７.０.０.１:{port}/x"),
    ] {
        let answered = fetch(&mut proxy, &url).expect_err("there is no such page");
        assert!(answered.contains(&format!("URL: http://{named}/x")), "{url}: {answered}");
    }
    proxy.finish();
    let requests = web.asked();
    assert_eq!(requests.len(), 4);
    for request in requests {
        assert!(request.starts_with(&format!("GET /x HTTP/1.1\r\nHost: {named}\r\n")), "{request}");
    }
}
