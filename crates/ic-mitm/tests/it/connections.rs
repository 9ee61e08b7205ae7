//! Connections: how many, how they end, and what is left of them.

use std::sync::{Arc, Mutex};

use http_body_util::BodyExt as _;
use hyper::body::Bytes;
use ic_home::environment::Network;
use ic_mitm::{Closed, Limits, Listener};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::stage::{DEADLINE, Says, Setting, Stage, whole};

const BODY: &str = r#"{"model":"claude-sonnet-4-6"}"#;

fn fine() -> Says {
    Says::Answer(200, Vec::new(), vec![Bytes::from("{}")])
}

#[tokio::test]
async fn more_requests_at_once_than_allowed_are_refused() {
    let limits = Limits { requests_max: 1, ..Limits::SESSION };
    let (sender, receiver) = mpsc::unbounded_channel();
    let (gone, receiver) = (Arc::new(CancellationToken::new()), Mutex::new(Some(receiver)));
    let stage = Stage::set(Setting { limits, ..Setting::default() }, move |_| {
        receiver
            .lock()
            .unwrap()
            .take()
            .map_or_else(fine, |it| Says::Piecewise(it, Arc::clone(&gone)))
    })
    .await;
    let first = stage.send("h2", stage.request("h2", "/v1/messages", BODY)).await;
    let (status, answer) = stage.complete("h2", BODY).await;
    assert_eq!(status, 403);
    assert!(answer.contains("more than 1 requests at once"), "{answer}");
    drop(sender);
    whole(first).await;
    stage.book.until_ended(1).await;
    assert_eq!(stage.complete("h2", BODY).await.0, 200);
}

#[tokio::test]
async fn bodies_that_do_not_come_to_an_end_hold_a_bounded_room() {
    let limits = Limits { bodies_kib_max: 200, ..Limits::SESSION };
    let stage = Stage::set(Setting { limits, ..Setting::default() }, |_| fine()).await;
    let fake = stage.gate.fake().as_str().to_owned();
    let head = format!(
        "POST /v1/messages HTTP/1.1\r\nHost: api.anthropic.com\r\nx-api-key: {fake}\r\n\
         Content-Type: application/json\r\nContent-Length: 150000\r\n\r\n"
    );
    let mut first = stage.tls(&["http/1.1"], stage.host()).await.unwrap();
    first.write_all(head.as_bytes()).await.unwrap();
    first.write_all(&vec![b' '; 149_000]).await.unwrap();
    let large = format!("{}{BODY}", " ".repeat(100_000));
    let refused = async {
        // Until the gate has read what the first one has sent.
        loop {
            let (status, answer) = stage.complete("http/1.1", &large).await;
            if status == 403 {
                return answer;
            }
        }
    };
    let answer = tokio::time::timeout(DEADLINE, refused).await.expect("a refusal");
    assert!(answer.contains("longer than 200 KiB together"), "{answer}");
    // Small ones still pass, and what is let go of is free again.
    assert_eq!(stage.complete("h2", BODY).await.0, 200);
    drop(first);
    let again = async { while stage.complete("h2", &large).await.0 != 200 {} };
    tokio::time::timeout(DEADLINE, again).await.expect("room");
}

#[tokio::test]
async fn a_gate_that_is_closed_lets_answers_come_to_their_end() {
    let (sender, receiver) = mpsc::unbounded_channel();
    let (gone, receiver) = (Arc::new(CancellationToken::new()), Mutex::new(Some(receiver)));
    let limits = Limits { grace: DEADLINE, ..Limits::SESSION };
    let stage = Stage::set(Setting { limits, ..Setting::default() }, move |_| {
        Says::Piecewise(receiver.lock().unwrap().take().unwrap(), Arc::clone(&gone))
    })
    .await;
    let response = stage.send("http/1.1", stage.request("http/1.1", "/v1/messages", BODY)).await;
    stage.stop.cancel();
    sender.send(Bytes::from("data: 1\n\n")).unwrap();
    drop(sender);
    assert_eq!(whole(response).await.1, "data: 1\n\n");
    assert_eq!(stage.serving.await.unwrap().unwrap(), Closed::Drained);
    assert_eq!(stage.book.ended.lock().unwrap().len(), 1);
    assert!(tokio::net::TcpStream::connect(stage.address).await.is_err());
}

#[tokio::test]
async fn a_gate_that_is_closed_cuts_off_what_does_not_end() {
    let (_sender, receiver) = mpsc::unbounded_channel();
    let (gone, receiver) = (Arc::new(CancellationToken::new()), Mutex::new(Some(receiver)));
    let told = Arc::clone(&gone);
    let limits = Limits { grace: std::time::Duration::ZERO, ..Limits::SESSION };
    let stage = Stage::set(Setting { limits, ..Setting::default() }, move |_| {
        Says::Piecewise(receiver.lock().unwrap().take().unwrap(), Arc::clone(&told))
    })
    .await;
    let response = stage.send("http/1.1", stage.request("http/1.1", "/v1/messages", BODY)).await;
    stage.stop.cancel();
    assert_eq!(stage.serving.await.unwrap().unwrap(), Closed::CutOff);
    assert!(response.into_body().collect().await.is_err());
    tokio::time::timeout(DEADLINE, gone.cancelled()).await.expect("the provider is told");
    assert_eq!(stage.book.ended.lock().unwrap().len(), 1, "written down before the gate is closed");
}

#[tokio::test]
async fn a_log_that_cannot_be_written_stops_requests() {
    let stage = Stage::set(Setting::default(), |_| fine()).await;
    *stage.book.is_full.lock().unwrap() = true;
    let (status, answer) = stage.complete("h2", BODY).await;
    assert_eq!(status, 403);
    assert!(answer.contains("audit log cannot be written"), "{answer}");
    assert!(stage.got().is_empty());
}

#[tokio::test]
async fn a_unix_socket_serves_like_a_port() {
    let stage = Stage::set(Setting::default(), |_| fine()).await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("gate.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let (gate, stop) = (Arc::clone(&stage.gate), stage.stop.clone());
    let serving = tokio::spawn(async move { gate.serve(Listener::Unix(listener), &stop).await });
    let mut stream = UnixStream::connect(&path).await.unwrap();
    stream
        .write_all(b"CONNECT evil.example:443 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        .await
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    let mut stream = UnixStream::connect(&path).await.unwrap();
    stream.write_all(b"CONNECT api.anthropic.com:443 HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut head = [0; 12];
    stream.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
    drop(stream);
    stage.stop.cancel();
    assert_eq!(serving.await.unwrap().unwrap(), Closed::Drained);
}

#[tokio::test]
async fn no_proxy_is_used_to_a_provider_on_this_machine() {
    let proxy = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = proxy.local_addr().unwrap();
    let network =
        Network { https_proxy: Some(format!("http://me:secret@{address}")), ..Network::default() };
    let stage = Stage::set(Setting { network, ..Setting::default() }, |_| fine()).await;
    assert_eq!(stage.complete("h2", BODY).await.0, 200);
    let came = tokio::time::timeout(std::time::Duration::from_millis(1), proxy.accept()).await;
    assert!(came.is_err(), "loopback needs no proxy");
}
