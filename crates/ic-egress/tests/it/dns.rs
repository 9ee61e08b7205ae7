//! The name server of a cage.

use std::net::Ipv4Addr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};

use crate::scene::{PLAIN, Plan, query, read_rest, within};

const NO_SUCH_NAME: u8 = 3;

#[tokio::test]
async fn allowed_names_have_addresses_and_nobody_is_asked() {
    let scene = Plan { allowed: &["*.example", "b.test:22"], ..PLAIN }.serve();
    let first = Some(Ipv4Addr::new(127, 64, 0, 1));
    assert_eq!(scene.look_up("a.example").await, first);
    assert_eq!(scene.look_up("b.test").await, Some(Ipv4Addr::new(127, 64, 0, 2)));
    assert_eq!(scene.look_up("A.EXAMPLE").await, first);
    assert!(scene.script.asked.lock().unwrap().is_empty());
    assert!(scene.end_unreached().await.is_empty());
}

#[tokio::test]
async fn other_kinds_of_records_are_empty() {
    let scene = PLAIN.serve();
    for kind in [28, 65, 16, 15, 33, 12, 255] {
        let reply = scene.ask(&query("a.example", kind)).await;
        assert_eq!((reply[3] & 0xf, reply[7]), (0, 0), "kind {kind}");
    }
}

#[tokio::test]
async fn other_names_do_not_exist_and_are_recorded() {
    let scene = PLAIN.serve();
    for name in ["secret.evil.example", "a.example.evil.example", "localhost", "127.0.0.1", ""] {
        let reply = scene.ask(&query(name, 1)).await;
        assert_eq!((reply[3] & 0xf, reply[7]), (NO_SUCH_NAME, 0), "{name}");
    }
    assert!(scene.script.asked.lock().unwrap().is_empty());
    assert_eq!(
        scene.end_unreached().await,
        [
            "refused secret.evil.example by dns, 1: it is not among the allowed domains",
            "refused a.example.evil.example by dns, 1: it is not among the allowed domains",
            "refused localhost by dns, 1: it is not among the allowed domains",
            "refused ? by dns, 1: the request cannot be read: no host has such a name",
            "refused ? by dns, 1: the request cannot be read: no host has such a name",
        ]
    );
}

#[tokio::test]
async fn hostile_datagrams_are_harmless() {
    let scene = PLAIN.serve();
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let good = query("a.example", 1);
    let mut packets: Vec<Vec<u8>> = (0..good.len()).map(|n| good[..n].to_vec()).collect();
    // A name that points at itself, an answer, huge counts, and more than fits.
    packets.push([&good[..12], &[0xc0, 12, 0, 1, 0, 1]].concat());
    packets.push([&good[..2], &[0x81], &good[3..]].concat());
    packets.push([&good[..4], &[0xff; 8], &good[12..]].concat());
    packets.push([good.clone(), vec![0xff; 60_000]].concat());
    for packet in &packets {
        socket.send_to(packet, scene.dns_udp).await.unwrap();
    }
    assert!(scene.look_up("a.example").await.is_some());
}

#[tokio::test]
async fn a_flood_of_questions_is_a_handful_of_records() {
    let scene = PLAIN.serve();
    for n in 0..300 {
        assert_eq!(scene.look_up("same.evil.example").await, None);
        assert_eq!(scene.look_up(&format!("n{n}.evil.example")).await, None);
    }
    let lines = scene.end_unreached().await;
    let why = "it is not among the allowed domains";
    assert_eq!(lines.len(), 34, "{lines:#?}");
    assert_eq!(lines[0], format!("refused same.evil.example by dns, 1: {why}"));
    assert!(lines.contains(&format!("refused same.evil.example by dns, 299: {why}")));
    let others = "refused ? by dns, 269: there were too many refusals to record each one";
    assert!(lines.contains(&others.to_owned()), "{lines:#?}");
}

#[tokio::test]
async fn a_cage_has_only_so_many_names() {
    let scene = Plan { allowed: &["*.example"], ..PLAIN }.serve();
    for n in 0..4096 {
        assert!(scene.look_up(&format!("n{n}.example")).await.is_some(), "{n}");
    }
    assert_eq!(scene.look_up("one-more.example").await, None);
    assert_eq!(scene.look_up("n0.example").await, Some(Ipv4Addr::new(127, 64, 0, 1)));
    let refused = "refused one-more.example by dns, 1: this cage has asked for too many names";
    assert_eq!(scene.end_unreached().await, [refused]);
}

/// Sends a message over a connection.
async fn send(stream: &mut TcpStream, message: &[u8]) {
    let length = u16::try_from(message.len()).unwrap();
    stream.write_all(&[&length.to_be_bytes()[..], message].concat()).await.unwrap();
}

#[tokio::test]
async fn questions_come_over_connections_too() {
    let scene = PLAIN.serve();
    let mut stream = TcpStream::connect(scene.dns_tcp).await.unwrap();
    for (name, n_answers) in [("a.example", 1), ("b.example", 0), ("a.example", 1)] {
        send(&mut stream, &query(name, 1)).await;
        let mut reply = vec![0; usize::from(within(stream.read_u16()).await.unwrap())];
        within(stream.read_exact(&mut reply)).await.unwrap();
        assert_eq!(reply[7], n_answers, "{name}");
    }
}

#[tokio::test]
async fn a_long_message_ends_its_connection() {
    let scene = PLAIN.serve();
    let mut stream = TcpStream::connect(scene.dns_tcp).await.unwrap();
    let mut message = query("a.example", 1);
    message.resize(usize::from(u16::MAX), 0);
    // It is cut off before it has said everything.
    stream.write_all(&[&[0xff, 0xff][..], &message].concat()).await.ok();
    assert!(read_rest(&mut stream).await.is_empty(), "a message of 64 KiB was answered");
    assert!(scene.look_up("a.example").await.is_some());
}

#[tokio::test]
async fn slow_messages_and_endless_ones_end_their_connections() {
    let scene = PLAIN.serve();
    let mut streams = Vec::new();
    // As many as are served at once, and one that waits.
    for _ in 0..17 {
        let mut stream = TcpStream::connect(scene.dns_tcp).await.unwrap();
        stream.write_all(&[0, 30, 1]).await.unwrap();
        streams.push(stream);
    }
    tokio::time::pause();
    for mut stream in streams {
        assert!(read_rest(&mut stream).await.is_empty());
    }
}
