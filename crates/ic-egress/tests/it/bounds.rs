//! Times, counts and ends.
//!
//! Clocks are stopped once everything that is to be waited for is in place; from then on, time
//! passes only where nothing else happens.

use std::sync::atomic::Ordering;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::scene::{PLAIN, read_exactly, read_head, read_rest, read_text, within};

#[tokio::test]
async fn a_resolver_that_never_answers_is_a_timeout() {
    let scene = PLAIN.serve();
    scene.script.is_silent.store(true, Ordering::Relaxed);
    let mut client = scene.ask_proxy("CONNECT a.example:PORT HTTP/1.1\r\n\r\n").await;
    tokio::time::pause();
    let answer = read_text(&mut client).await;
    assert!(answer.starts_with("HTTP/1.1 504 "), "{answer}");
    let lines = scene.end_unreached().await;
    assert_eq!(lines, ["refused a.example by proxy, 1: its address was not found"]);
}

#[tokio::test]
async fn a_slow_head_is_given_up() {
    let scene = PLAIN.serve();
    let mut client = scene.ask_proxy("CONNECT a.example:PORT HTTP/1.1\r\n").await;
    tokio::time::pause();
    assert!(read_text(&mut client).await.starts_with("HTTP/1.1 408 "));
    let lines = scene.end_unreached().await;
    assert_eq!(lines, ["refused ? by proxy, 1: its protocol was not recognised in time"]);
}

#[tokio::test]
async fn a_client_that_does_not_show_what_it_speaks_is_given_up() {
    for sent in [&b"GET /"[..], b"\x16\x03\x01\x02\0\x01", b"\r\n"] {
        let scene = PLAIN.serve();
        let (mut client, mut server) = scene.tunnel().await;
        client.write_all(sent).await.unwrap();
        tokio::time::pause();
        assert!(read_rest(&mut server).await.is_empty());
        let lines = scene.end().await;
        assert_eq!(
            lines[1],
            "refused a.example by proxy, 1: its protocol was not recognised in time"
        );
        tokio::time::resume();
    }
}

#[tokio::test]
async fn a_client_that_leaves_in_the_middle_sent_nothing() {
    let scene = PLAIN.serve();
    let (mut client, mut server) = scene.tunnel().await;
    client.write_all(b"GET / HTTP/1.1\r\nHost: a.exam").await.unwrap();
    drop(client);
    assert!(read_rest(&mut server).await.is_empty());
    scene.book.line("closed a.example at 127.0.0.9, 0 sent, 0 received: refused").await;
}

#[tokio::test]
async fn a_silent_connection_ends() {
    let scene = PLAIN.serve();
    let (mut client, mut server) = scene.tunnel().await;
    client.write_all(b"SSH-2.0-x\r\n").await.unwrap();
    read_exactly(&mut server, 11).await;
    tokio::time::pause();
    // This takes longer than other tests are patient.
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).await.unwrap();
    server.read_to_end(&mut rest).await.unwrap();
    assert!(rest.is_empty());
    let lines = scene.end().await;
    assert_eq!(lines[1], "closed a.example at 127.0.0.9, 11 sent, 0 received: idle");
}

#[tokio::test]
async fn repeated_refusals_are_recorded_when_a_window_ends() {
    let scene = PLAIN.serve();
    for _ in 0..5 {
        assert_eq!(scene.look_up("evil.example").await, None);
    }
    tokio::time::pause();
    let line = scene.book.line("refused evil.example by dns, 4: ").await;
    assert!(line.ends_with("it is not among the allowed domains"));
}

#[tokio::test]
async fn everything_ends_with_the_session() {
    let scene = PLAIN.serve();
    let (mut client, mut server) = scene.tunnel().await;
    client.write_all(b"SSH-2.0-x\r\n").await.unwrap();
    read_exactly(&mut server, 11).await;
    // In the middle of a head, of a gate and of a DNS message.
    let mut others = vec![scene.ask_proxy("CONNECT").await, scene.tunnel().await.0];
    others.push(TcpStream::connect(scene.dns_tcp).await.unwrap());
    let lines = scene.end().await;
    for mut stream in others.into_iter().chain([client, server]) {
        assert!(read_rest(&mut stream).await.is_empty());
    }
    assert!(lines.contains(&"closed a.example at 127.0.0.9, 11 sent, 0 received: over".to_owned()));
    assert_eq!(lines.iter().filter(|line| line.starts_with("closed")).count(), 2);
    let refused = TcpStream::connect(scene.proxy).await.unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
}

#[tokio::test]
async fn a_cage_has_only_so_many_connections_at_once() {
    let scene = PLAIN.serve();
    let mut tunnels = Vec::new();
    for _ in 0..64 {
        tunnels.push(scene.tunnel().await);
    }
    let mut waiting = scene.ask_proxy("CONNECT a.example:PORT HTTP/1.1\r\n\r\n").await;
    // Names are still answered.
    assert!(scene.look_up("a.example").await.is_some());
    let n_opened = || scene.book.lines().iter().filter(|it| it.starts_with("opened")).count();
    assert_eq!(n_opened(), 64);
    tunnels.pop();
    assert!(read_head(&mut waiting).await.starts_with("HTTP/1.1 200 "));
    assert_eq!(n_opened(), 65);
}

#[tokio::test]
async fn large_transfers_are_counted_in_both_directions() {
    const N: usize = 3_000_000;
    let scene = PLAIN.serve();
    let (client, server) = scene.tunnel().await;
    let (mut client_reader, mut client_writer) = client.into_split();
    let (mut server_reader, mut server_writer) = server.into_split();
    let up = async {
        client_writer.write_all(b"SSH-2.0-x\r\n").await.unwrap();
        client_writer.write_all(&vec![1; N]).await.unwrap();
        client_writer.shutdown().await.unwrap();
    };
    let down = async {
        server_writer.write_all(&vec![2; 2 * N]).await.unwrap();
        server_writer.shutdown().await.unwrap();
    };
    let (mut at_server, mut at_client) = (Vec::new(), Vec::new());
    let reading = async {
        let both =
            (server_reader.read_to_end(&mut at_server), client_reader.read_to_end(&mut at_client));
        tokio::try_join!(both.0, both.1).unwrap();
    };
    within(async { tokio::join!(up, down, reading) }).await;
    assert_eq!((at_server.len(), at_client.len()), (N + 11, 2 * N));
    let closed = scene.book.line("closed").await;
    let expected = format!("{} sent, {} received: finished", N + 11, 2 * N);
    assert!(closed.ends_with(&expected), "{closed}");
}
