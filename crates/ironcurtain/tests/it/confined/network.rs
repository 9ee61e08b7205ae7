//! What leaves a cage: connections to hosts that the entry names, made by the host and recorded.
//!
//! The host that is reached is this machine, named with its port, which alone opens it.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use ic_testkit::Proxy;
use serde_json::{Value, json};

use super::Rig;

/// Answers every request with `answer`; returns the port.
fn web_server(answer: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut request = [0; 4096];
            // Whoever goes away without a word gets no answer.
            if !matches!(stream.read(&mut request), Ok(1..)) {
                continue;
            }
            let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length:";
            stream.write_all(format!("{head} {}\r\n\r\n{answer}", answer.len()).as_bytes()).ok();
        }
    });
    port
}

fn fetch(proxy: &mut Proxy, url: &str) -> Result<String, String> {
    let answer = proxy.call("peeker__fetch", &json!({"url": url}));
    match answer.result()["isError"] == json!(true) {
        true => Err(answer.text()),
        false => Ok(answer.text()),
    }
}

/// Returns what is recorded of connections, oldest first.
fn egress(rig: &Rig) -> Vec<Value> {
    rig.records("egress")
}

#[test]
fn a_server_reaches_the_hosts_that_its_entry_names_and_each_connection_is_recorded() {
    let (named, other) = (web_server("hello"), web_server("not for you"));
    let rig = Rig::new().peeker(&json!({"allowedDomains": [format!("127.0.0.1:{named}")]}));
    let mut proxy = rig.start();
    let url = format!("http://127.0.0.1:{named}/");
    assert_eq!(fetch(&mut proxy, &url), Ok("hello".to_owned()), "{}", proxy.stderr());
    for url in [format!("http://127.0.0.1:{other}/"), "http://example.com/".to_owned()] {
        let fetched = fetch(&mut proxy, &url);
        assert!(fetched.is_err(), "{url}: {fetched:?}");
    }
    proxy.finish();
    let records = egress(&rig);
    let events = |event: &str| -> Vec<Value> {
        let of = records.iter().filter(|it| it["arguments"]["event"] == event);
        of.cloned().collect()
    };
    let opened = events("opened");
    assert_eq!(opened.len(), 1, "{records:?}");
    assert_eq!(opened[0]["server"], "peeker");
    assert_eq!(opened[0]["verdict"], "allow");
    assert_eq!(opened[0]["arguments"]["host"], "127.0.0.1");
    assert_eq!(opened[0]["arguments"]["port"], named);
    assert_eq!(events("closed").len(), 1, "{records:?}");
    let refused = events("refused");
    assert!(refused.iter().any(|it| it["arguments"]["host"] == "example.com"), "{records:?}");
    assert!(refused.iter().all(|it| it["verdict"] == "deny" && it["reason"].is_string()));
    assert_eq!(rig.place.run(["audit", "verify"]).code, 0);
}

/// There is no log when a server is only looked at, and so no connection.
#[test]
fn a_server_that_is_tried_reaches_nobody_and_works_all_the_same() {
    let rig = Rig::new().peeker(&json!({"allowedDomains": ["example.com"]}));
    drop(rig.start_silent());
    let tested =
        rig.place.run(["servers", "test", "peeker", "--servers", &rig.text("servers.json")]);
    assert!(tested.code == 0 && tested.stdout.starts_with("peeker: works"), "{tested:?}");
}

#[test]
fn a_server_whose_entry_names_nobody_reaches_nobody() {
    let port = web_server("not for you");
    let named = format!("127.0.0.1:{port}");
    for entry in [
        json!({}),
        json!({"allowedDomains": [named], "sandbox": {"network": false}}),
        json!({"allowedDomains": [named], "sandbox": {"network": {"allowedDomains": []}}}),
        json!({"allowedDomains": [named],
            "sandbox": {"network": {"deniedDomains": [format!("127.0.0.1:{port}")]}}}),
        json!({"allowedDomains": [named],
            "sandbox": {"network": {"allowedDomains": ["example.com"]}}}),
    ] {
        let rig = Rig::new().peeker(&entry);
        let mut proxy = rig.start();
        let fetched = fetch(&mut proxy, &format!("http://127.0.0.1:{port}/"));
        assert!(fetched.is_err(), "{entry}: {fetched:?}");
        proxy.finish();
        let opened = egress(&rig).into_iter().filter(|it| it["verdict"] == "allow");
        assert_eq!(opened.count(), 0, "{entry}");
    }
}
