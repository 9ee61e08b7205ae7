//! Connections that programs make as if the door were the host itself.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::Ordering;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::hello::hello;
use crate::scene::{OTHER, PLAIN, Plan, SERVER, read_exactly, read_head, read_rest, read_text};

const PRIVATE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));

#[tokio::test]
async fn a_name_leads_to_its_host() {
    let scene = PLAIN.serve();
    let mut client = scene.connect("a.example").await;
    let mut server = scene.accept().await;
    client.write_all(b"SSH-2.0-client\r\n").await.unwrap();
    assert_eq!(read_exactly(&mut server, 16).await, "SSH-2.0-client\r\n");
    server.write_all(b"SSH-2.0-server\r\n").await.unwrap();
    assert_eq!(read_exactly(&mut client, 16).await, "SSH-2.0-server\r\n");
    // Anything may follow.
    client.write_all(b"GET / HTTP/1.1\r\nHost: b.example\r\n\r\n").await.unwrap();
    client.shutdown().await.unwrap();
    assert_eq!(read_rest(&mut server).await.len(), 35);
    drop(server);
    assert!(read_rest(&mut client).await.is_empty());
    scene.book.line("closed").await;
    assert_eq!(
        scene.end().await,
        [
            "opened a.example for fetch by port at 127.0.0.9",
            "closed a.example at 127.0.0.9, 51 sent, 16 received: finished",
        ]
    );
}

#[tokio::test]
async fn either_side_may_stop_talking_first() {
    let scene = PLAIN.serve();
    let mut client = scene.connect("a.example").await;
    let mut server = scene.accept().await;
    // The server speaks first and stops; the client still talks.
    server.write_all(b"220 hello\r\n").await.unwrap();
    server.shutdown().await.unwrap();
    assert_eq!(read_text(&mut client).await, "220 hello\r\n");
    client.write_all(b"EHLO me\r\n").await.unwrap();
    client.shutdown().await.unwrap();
    assert_eq!(read_text(&mut server).await, "EHLO me\r\n");
    let closed = scene.book.line("closed").await;
    assert_eq!(closed, "closed a.example at 127.0.0.9, 9 sent, 11 received: finished");
}

#[tokio::test]
async fn a_client_that_says_nothing_still_hears() {
    let scene = PLAIN.serve();
    let mut client = scene.connect("a.example").await;
    let mut server = scene.accept().await;
    client.shutdown().await.unwrap();
    assert!(read_rest(&mut server).await.is_empty());
    server.write_all(b"12:00").await.unwrap();
    drop(server);
    assert_eq!(read_text(&mut client).await, "12:00");
    let closed = scene.book.line("closed").await;
    assert_eq!(closed, "closed a.example at 127.0.0.9, 0 sent, 5 received: finished");
}

#[tokio::test]
async fn http_is_written_anew_and_ends_after_one_request() {
    let scene = PLAIN.serve();
    let mut client = scene.connect("a.example").await;
    let request = scene.with_port(
        "POST /x HTTP/1.1\r\nHost: A.example:PORT\r\nConnection: keep-alive\r\nContent-Length: 4\r\n\
         \r\nbodyGET / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    );
    client.write_all(request.as_bytes()).await.unwrap();
    let mut server = scene.accept().await;
    assert_eq!(
        read_head(&mut server).await,
        scene.with_port(
            "POST /x HTTP/1.1\r\nHost: a.example:PORT\r\nContent-Length: 4\r\n\
             Connection: close\r\n\r\n"
        )
    );
    assert_eq!(read_exactly(&mut server, 4).await, "body");
    server.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n").await.unwrap();
    server.shutdown().await.unwrap();
    assert!(read_text(&mut client).await.starts_with("HTTP/1.1 204"));
    drop(client);
    assert!(read_rest(&mut server).await.is_empty(), "a second request was passed on");
}

#[tokio::test]
async fn a_client_that_has_asked_may_stop_talking_and_is_answered() {
    let scene = PLAIN.serve();
    let mut client = scene.connect("a.example").await;
    client.write_all(b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n").await.unwrap();
    client.shutdown().await.unwrap();
    let mut server = scene.accept().await;
    let n_head = read_head(&mut server).await.len();
    server.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
    drop(server);
    assert_eq!(read_text(&mut client).await, "HTTP/1.1 204 No Content\r\n\r\n");
    let closed = scene.book.line("closed").await;
    let expected = format!("at 127.0.0.9, {n_head} sent, 27 received: finished");
    assert_eq!(closed, format!("closed a.example {expected}"));
}

#[tokio::test]
async fn tls_passes_as_it_is_if_it_is_for_the_host() {
    for n in [1, 7, 16_000] {
        let scene = PLAIN.serve();
        let mut client = scene.connect("a.example").await;
        let mut server = scene.accept().await;
        let sent = [hello(Some("a.example"), n), b"\x14\x03\x03\0\x01\x01more".to_vec()].concat();
        // In as many pieces as there are bytes.
        for byte in &sent {
            client.write_all(&[*byte]).await.unwrap();
        }
        client.shutdown().await.unwrap();
        assert_eq!(read_rest(&mut server).await, sent, "records of {n}");
    }
}

#[tokio::test]
async fn nothing_is_sent_of_what_the_gate_refuses() {
    for (sent, why) in [
        (hello(Some("b.example"), 9999), "the TLS handshake is for `b.example`"),
        (hello(None, 9999), "the TLS handshake names no server (SNI)"),
        (b"GET / HTTP/1.1\r\nHost: b.example\r\n\r\n".to_vec(), "the request is for `b.example`"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), "HTTP/2 is passed on only in TLS"),
    ] {
        let scene = PLAIN.serve();
        let mut client = scene.connect("a.example").await;
        let mut server = scene.accept().await;
        client.write_all(&sent).await.unwrap();
        assert!(read_rest(&mut server).await.is_empty(), "{why}");
        let answer = read_rest(&mut client).await;
        if sent[0] == 22 {
            assert_eq!(answer, [21, 3, 3, 0, 2, 2, 49]);
        } else {
            let answer = String::from_utf8(answer).unwrap();
            assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains(why), "{answer}");
        }
        assert_eq!(
            scene.end().await,
            [
                "opened a.example for fetch by port at 127.0.0.9".to_owned(),
                format!("refused a.example by port, 1: {why}"),
                "closed a.example at 127.0.0.9, 0 sent, 0 received: refused".to_owned(),
            ]
        );
    }
}

#[tokio::test]
async fn an_address_that_stands_for_no_name_leads_nowhere() {
    let scene = PLAIN.serve();
    let mut client = TcpStream::connect((crate::scene::FIRST_NAME, scene.port)).await.unwrap();
    assert!(read_rest(&mut client).await.is_empty());
    let lines = scene.end_unreached().await;
    assert_eq!(lines, ["refused ? by port, 1: no name was looked up for the address"]);
}

#[tokio::test]
async fn localhost_is_known_by_name_and_by_address() {
    let at = |door| Plan {
        allowed: &["localhost:PORT"],
        answers: &[("localhost", &[&[SERVER]])],
        door,
        ..PLAIN
    };
    for door in ["127.0.0.1", "::1"] {
        let scene = at(door.parse().unwrap()).serve();
        let door: IpAddr = door.parse().unwrap();
        let mut client = TcpStream::connect((door, scene.port)).await.unwrap();
        let mut server = scene.accept().await;
        let request = scene.with_port("GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n");
        client.write_all(request.as_bytes()).await.unwrap();
        let head = read_head(&mut server).await;
        assert!(head.contains(&scene.with_port("Host: 127.0.0.1:PORT\r\n")), "{head}");
    }
}

#[tokio::test]
async fn addresses_that_no_pattern_names_are_refused() {
    let scene = Plan { door: OTHER, ..PLAIN }.serve();
    let mut client = TcpStream::connect((OTHER, scene.port)).await.unwrap();
    assert!(read_rest(&mut client).await.is_empty());
    let lines = scene.end_unreached().await;
    assert_eq!(lines, ["refused 127.0.0.8 by port, 1: it is not among the allowed domains"]);
}

#[tokio::test]
async fn a_name_that_changes_its_address_changes_nothing_that_was_checked() {
    let scene = Plan {
        allowed: &["*.example:PORT", "127.0.0.9:PORT"],
        answers: &[("a.example", &[&[SERVER], &[PRIVATE]])],
        ..PLAIN
    }
    .serve();
    let client = scene.connect("a.example").await;
    let server = scene.accept().await;
    assert_eq!(*scene.script.asked.lock().unwrap(), ["a.example"], "resolved more than once");
    drop((client, server));
    scene.book.line("closed").await;
    let mut again = scene.connect("a.example").await;
    assert!(read_rest(&mut again).await.is_empty());
    let lines = scene.end_unreached().await;
    assert_eq!(lines[0], "opened a.example for fetch by port at 127.0.0.9");
    assert_eq!(lines[2], "refused a.example by port, 1: it leads to 10.0.0.1, a private address");
}

#[tokio::test]
async fn one_bad_address_refuses_the_host() {
    for addresses in [&[SERVER, PRIVATE], &[PRIVATE, SERVER]] {
        let scene = Plan {
            allowed: &["*.example:PORT", "127.0.0.9:PORT"],
            answers: &[("a.example", &[addresses])],
            ..PLAIN
        }
        .serve();
        let mut client = scene.connect("a.example").await;
        assert!(read_rest(&mut client).await.is_empty());
        let refused = "refused a.example by port, 1: it leads to 10.0.0.1, a private address";
        assert_eq!(scene.end_unreached().await, [refused]);
    }
}

#[tokio::test]
async fn the_next_checked_address_is_tried() {
    let scene = Plan { answers: &[("a.example", &[&[OTHER, SERVER]])], ..PLAIN }.serve();
    let client = scene.connect("a.example").await;
    drop((scene.accept().await, client));
    scene.book.line("closed a.example at 127.0.0.9").await;
    assert_eq!(scene.end().await[0], "opened a.example for fetch by port at 127.0.0.8 127.0.0.9");
}

#[tokio::test]
async fn what_is_denied_is_refused() {
    for denied in ["a.example", "*.example", "127.0.0.9"] {
        let scene = Plan { denied: &[denied], ..PLAIN }.serve();
        match scene.look_up("a.example").await {
            Some(address) => {
                let mut client = TcpStream::connect((address, scene.port)).await.unwrap();
                assert!(read_rest(&mut client).await.is_empty());
            }
            None => assert_ne!(denied, "127.0.0.9"),
        }
        let lines = scene.end_unreached().await;
        assert!(lines.len() == 1 && lines[0].contains("among the denied domains"), "{lines:?}");
    }
}

#[tokio::test]
async fn what_cannot_be_recorded_is_not_connected() {
    let scene = PLAIN.serve();
    scene.book.is_broken.store(true, Ordering::Relaxed);
    let mut client = scene.connect("a.example").await;
    client.write_all(b"SSH-2.0-client\r\n").await.unwrap();
    assert!(read_rest(&mut client).await.is_empty());
    assert!(scene.end_unreached().await.is_empty());
}
