//! The HTTP proxy of a cage.

use std::sync::atomic::Ordering;

use tokio::io::AsyncWriteExt;

use crate::hello::hello;
use crate::scene::{PLAIN, Plan, Scene, read_exactly, read_head, read_rest, read_text};

/// Sends `head` and returns the status and the text of the answer.
async fn refused(scene: &Scene, head: &str) -> (String, String) {
    let answer = read_text(&mut scene.ask_proxy(head).await).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer:?}"));
    (head.get(9..12).unwrap().to_owned(), body.to_owned())
}

#[tokio::test]
async fn a_tunnel_carries_what_the_gate_lets_through() {
    let scene = PLAIN.serve();
    let (mut client, mut server) = scene.tunnel().await;
    let hello = hello(Some("a.example"), 9999);
    client.write_all(&hello).await.unwrap();
    client.shutdown().await.unwrap();
    assert_eq!(read_rest(&mut server).await, hello);
    drop(server);
    assert!(read_rest(&mut client).await.is_empty());
    let closed = scene.book.line("closed").await;
    let n = hello.len();
    assert_eq!(closed, format!("closed a.example at 127.0.0.9, {n} sent, 0 received: finished"));
    assert_eq!(scene.end().await[0], "opened a.example for fetch by proxy at 127.0.0.9");
}

#[tokio::test]
async fn a_client_in_a_hurry_is_held_at_the_gate_too() {
    let scene = PLAIN.serve();
    let mut client = scene.ask_proxy("CONNECT a.example:PORT HTTP/1.1\r\n\r\nSSH-2.0-x\r\n").await;
    let mut server = scene.accept().await;
    assert_eq!(read_exactly(&mut server, 11).await, "SSH-2.0-x\r\n");
    drop((client, server));

    let hasty = "CONNECT a.example:PORT HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nHost: b.example\r\n\r\n";
    client = scene.ask_proxy(hasty).await;
    let mut server = scene.accept().await;
    assert!(read_rest(&mut server).await.is_empty());
    assert!(read_text(&mut client).await.contains("403 Forbidden"));
}

#[tokio::test]
async fn tricks_inside_of_a_tunnel_are_refused() {
    for (sent, why) in [
        (hello(Some("b.example"), 5), "the TLS handshake is for `b.example`"),
        (hello(None, 5), "the TLS handshake names no server (SNI)"),
        (b"CONNECT b.example:443 HTTP/1.1\r\n\r\n".to_vec(), "CONNECT is for the proxy"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), "HTTP/2 is passed on only in TLS"),
        (b"\nGET / HTTP/1.1\nHost: b.example\n\n".to_vec(), "cannot be read"),
    ] {
        let scene = PLAIN.serve();
        let (mut client, mut server) = scene.tunnel().await;
        client.write_all(&sent).await.unwrap();
        assert!(read_rest(&mut server).await.is_empty(), "{why}");
        let line = scene.book.line("refused a.example by proxy, 1: ").await;
        assert!(line.contains(why), "{line}");
        assert!(scene.end().await[2].ends_with("0 sent, 0 received: refused"));
    }
}

#[tokio::test]
async fn a_refusal_says_what_why_and_what_would_help() {
    let scene = PLAIN.serve();
    let (status, text) = refused(&scene, "CONNECT evil.example:443 HTTP/1.1\r\n\r\n").await;
    assert_eq!(status, "403");
    assert_eq!(
        text,
        "IronCurtain refused `evil.example:443`: it is not among the allowed domains.\n\
         To allow it, the user can add \"evil.example\" to `allowedDomains` of the server `fetch`.\n"
    );
    let lines = scene.end_unreached().await;
    assert_eq!(lines, ["refused evil.example by proxy, 1: it is not among the allowed domains"]);
}

#[tokio::test]
async fn no_spelling_of_an_address_gets_past_the_check() {
    let scene = Plan { allowed: &["*", "*:PORT", "a.example:PORT"], ..PLAIN }.serve();
    for host in [
        "127.0.0.9",
        "127.0.0.9.",
        "0x7f.9",
        "0x7f000009",
        "2130706441",
        "017700000011",
        "127.9",
        "[::ffff:127.0.0.9]",
        "[::ffff:7f00:9]",
        "[::127.0.0.9]",
        "[::1]",
        "[64:ff9b::7f00:9]",
        "localhost",
        "LOCALHOST.",
        "169.254.169.254",
        "0",
        "0.0.0.0",
        "[::]",
    ] {
        let (status, text) =
            refused(&scene, &format!("CONNECT {host}:PORT HTTP/1.1\r\n\r\n")).await;
        assert_eq!(status, "403", "{host}: {text}");
        let head = format!("GET http://{host}:PORT/ HTTP/1.1\r\nHost: {host}:PORT\r\n\r\n");
        let (status, text) = refused(&scene, &head).await;
        assert_eq!(status, "403", "{host}: {text}");
    }
    for host in ["127.0.0.9%25lo", "[fe80::1%25lo]", "１２７.0.0.9", "127。0。0。9", "a.example\0"]
    {
        let (status, text) =
            refused(&scene, &format!("CONNECT {host}:PORT HTTP/1.1\r\n\r\n")).await;
        assert_eq!(status, "400", "{host}: {text}");
    }
    scene.end_unreached().await;
}

#[tokio::test]
async fn a_named_address_is_reached_in_any_spelling() {
    for host in ["127.0.0.9", "0x7f000009", "[::ffff:127.0.0.9]"] {
        let scene = Plan { allowed: &["127.0.0.9:PORT"], ..PLAIN }.serve();
        let head = format!("CONNECT {host}:PORT HTTP/1.1\r\n\r\n");
        let mut client = scene.ask_proxy(&head).await;
        scene.accept().await;
        assert!(read_head(&mut client).await.starts_with("HTTP/1.1 200 "));
        assert_eq!(scene.end().await[0], "opened 127.0.0.9 for fetch by proxy at 127.0.0.9");
    }
}

#[tokio::test]
async fn requests_that_could_be_read_in_two_ways_are_bad() {
    let scene = PLAIN.serve();
    for head in [
        "CONNECT a.example HTTP/1.1\r\n\r\n",
        "CONNECT user@a.example:PORT HTTP/1.1\r\n\r\n",
        "CONNECT a.example:PORT/ HTTP/1.1\r\n\r\n",
        "CONNECT a.example:PORT HTTP/2.0\r\n\r\n",
        "CONNECT a.example:PORT\r\n\r\n",
        "CONNECT a.example:PORT HTTP/1.1\n\n",
        "CONNECT a.example:PORT HTTP/1.1\r\nX: a\r\n b\r\n\r\n",
        "CONNECT a.example:PORT HTTP/1.1\r\nX: a\rb\r\n\r\n",
        "CONNECT a.example:PORT HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
        "\r\nCONNECT a.example:PORT HTTP/1.1\r\n\r\n",
        "CONNECT  a.example:PORT HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET https://a.example:PORT/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET http://a.example:PORT/ HTTP/1.1\r\n\r\n",
        "POST http://a.example:PORT/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3\r\n\
         Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST http://a.example:PORT/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3\r\n\
         Content-Length: 4\r\n\r\nabcd",
    ] {
        let (status, text) = refused(&scene, head).await;
        assert_eq!(status, "400", "{head:?}: {text}");
    }
    let long = format!("CONNECT a.example:PORT HTTP/1.1\r\nX: {}", "x".repeat(20_000));
    assert_eq!(refused(&scene, &long).await.0, "400");
    let other = "GET http://a.example:PORT/ HTTP/1.1\r\nHost: b.example\r\n\r\n";
    assert_eq!(refused(&scene, other).await.0, "403");
    scene.end_unreached().await;
}

#[tokio::test]
async fn a_plain_request_is_forwarded_in_our_own_words() {
    let scene = PLAIN.serve();
    let mut client = scene
        .ask_proxy(
            "POST http://a.example:PORT/up?q=1 HTTP/1.1\r\nHost: a.example:PORT\r\n\
             Proxy-Authorization: Basic c2VjcmV0\r\nProxy-Connection: keep-alive\r\n\
             Accept: */*\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        )
        .await;
    let mut server = scene.accept().await;
    assert_eq!(
        read_head(&mut server).await,
        scene.with_port(
            "POST /up?q=1 HTTP/1.1\r\nHost: a.example:PORT\r\nAccept: */*\r\n\
             Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        )
    );
    assert_eq!(read_exactly(&mut server, 8).await, "3\r\nabc\r\n");
    // The rest of the body, and a request that nobody judged.
    client.write_all(b"0\r\n\r\nGET http://evil.example/ HTTP/1.1\r\n\r\n").await.unwrap();
    assert_eq!(read_exactly(&mut server, 5).await, "0\r\n\r\n");
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
    server.write_all(answer.as_bytes()).await.unwrap();
    server.shutdown().await.unwrap();
    assert_eq!(read_text(&mut client).await, answer);
    drop(client);
    assert!(read_rest(&mut server).await.is_empty(), "a second request was passed on");
}

#[tokio::test]
async fn a_body_that_does_not_add_up_is_cut_off() {
    let scene = PLAIN.serve();
    let mut client = scene
        .ask_proxy(
            "POST http://a.example:PORT/ HTTP/1.1\r\nHost: a.example\r\n\
             Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        )
        .await;
    let mut server = scene.accept().await;
    read_head(&mut server).await;
    assert_eq!(read_exactly(&mut server, 8).await, "3\r\nabc\r\n");
    client.write_all(b"5;trick\r\n").await.unwrap();
    assert!(read_rest(&mut server).await.is_empty());
    assert!(read_text(&mut client).await.starts_with("HTTP/1.1 400 "));
}

#[tokio::test]
async fn a_redirect_is_another_connection() {
    let scene = PLAIN.serve();
    let mut client = scene
        .ask_proxy("GET http://a.example:PORT/ HTTP/1.1\r\nHost: a.example:PORT\r\n\r\n")
        .await;
    let mut server = scene.accept().await;
    read_head(&mut server).await;
    let moved = b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest/\r\n\r\n";
    server.write_all(moved).await.unwrap();
    drop(server);
    assert!(read_text(&mut client).await.contains("Location: http://169.254.169.254/"));
    let head = "GET http://169.254.169.254/latest/ HTTP/1.1\r\nHost: 169.254.169.254\r\n\r\n";
    let (status, text) = refused(&scene, head).await;
    assert_eq!(status, "403", "{text}");
    let line = scene.book.line("refused 169.254.169.254 by proxy, 1: ").await;
    assert!(line.ends_with("it is not among the allowed domains"), "{line}");
}

#[tokio::test]
async fn plain_http_where_tls_is_wanted_never_leaves() {
    let scene = Plan { allowed: &["a.example", "https://a.example:PORT"], ..PLAIN }.serve();
    for (authority, why) in [
        ("a.example:443", "only TLS may be spoken on port 443"),
        ("a.example:PORT", "the allowed domains require another protocol there"),
    ] {
        let head = format!("GET http://{authority}/ HTTP/1.1\r\nHost: {authority}\r\n\r\n");
        let (status, text) = refused(&scene, &head).await;
        assert_eq!(status, "403");
        assert!(text.contains(why), "{text}");
    }
    assert!(scene.script.asked.lock().unwrap().is_empty());
    scene.end_unreached().await;
}

#[tokio::test]
async fn hosts_that_cannot_be_reached_are_bad_gateways() {
    let plan = Plan { allowed: &["a.example:PORT", "b.example:PORT", "c.example:PORT"], ..PLAIN };
    let plan = Plan {
        answers: &[("a.example", &[&[crate::scene::OTHER]]), ("b.example", &[&[]])],
        ..plan
    };
    let scene = plan.serve();
    for (host, why) in [
        ("a.example", "cannot connect: "),
        ("b.example", "the host has no address"),
        ("c.example", "cannot find the address of the host: no such host"),
    ] {
        let (status, text) =
            refused(&scene, &format!("CONNECT {host}:PORT HTTP/1.1\r\n\r\n")).await;
        assert_eq!(status, "502");
        assert!(text.contains(why), "{text}");
    }
    assert_eq!(
        scene.end_unreached().await,
        [
            "opened a.example for fetch by proxy at 127.0.0.8",
            "closed a.example at nobody, 0 sent, 0 received: unreachable",
            "refused b.example by proxy, 1: its address was not found",
            "refused c.example by proxy, 1: its address was not found",
        ]
    );
}

#[tokio::test]
async fn what_cannot_be_recorded_is_not_connected() {
    let scene = PLAIN.serve();
    scene.book.is_broken.store(true, Ordering::Relaxed);
    for head in [
        "CONNECT a.example:PORT HTTP/1.1\r\n\r\nSSH-2.0-x\r\n",
        "GET http://a.example:PORT/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
    ] {
        let (status, text) = refused(&scene, head).await;
        assert_eq!(status, "503");
        assert!(text.contains("could not be recorded, so it was not made"), "{text}");
    }
    assert!(scene.end_unreached().await.is_empty());
}
