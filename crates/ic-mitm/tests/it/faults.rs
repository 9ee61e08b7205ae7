//! A provider that stalls, talks garbage, never ends, or is slow, and sessions by the thousand.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::Bytes;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::stage::{KEY, Says, Setting, Stage, whole};

const BODY: &str = r#"{"model":"claude-sonnet-4-6","stream":true}"#;

/// A provider without TLS that answers each request with these bytes, and closes.
async fn says(bytes: &'static [u8]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = [0; 4096];
                if 0 < stream.read(&mut request).await.unwrap_or(0) {
                    stream.write_all(bytes).await.ok();
                }
            });
        }
    });
    port
}

#[tokio::test]
async fn garbage_of_a_provider_is_not_passed_on() {
    let cases: [&'static [u8]; 8] = [
        b"",
        b"garbage\r\n\r\n",
        b"\x16\x03\x01\x00\x00",
        b"HTTP/1.1 99 x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello!",
        b"HTTP/1.1 200 OK\r\nx: a\r\n folded\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\ncut",
    ];
    for bytes in cases {
        let url = format!("http://127.0.0.1:{}", says(bytes).await);
        let setting = Setting { url: Some(url), ..Setting::default() };
        let stage = Stage::set(setting, |_| Says::Answer(200, Vec::new(), Vec::new())).await;
        let response = stage.send("h2", stage.request("h2", "/v1/messages", BODY)).await;
        let status = response.status();
        let came = response.into_body().collect().await;
        let shown = String::from_utf8_lossy(bytes);
        // A head that can be read is passed on, and then its body breaks off.
        assert!(status == 502 || (status == 200 && came.is_err()), "{shown}: {status} {came:?}");
        let ended = stage.book.until_ended(1).await;
        assert!(ended[0].1.failed.is_some(), "{shown}");
    }
}

#[tokio::test]
async fn an_endless_answer_ends() {
    let (sender, receiver) = mpsc::unbounded_channel();
    let (gone, receiver) =
        (Arc::new(CancellationToken::new()), std::sync::Mutex::new(Some(receiver)));
    let told = Arc::clone(&gone);
    let stage = Stage::set(Setting { protocols: &["http/1.1"], ..Setting::default() }, move |_| {
        Says::Piecewise(receiver.lock().unwrap().take().unwrap(), Arc::clone(&told))
    })
    .await;
    let response = stage.send("http/1.1", stage.request("http/1.1", "/v1/messages", BODY)).await;
    let mut body = response.into_body();
    let piece = Bytes::from(vec![b'x'; 4 << 20]);
    let mut n_bytes = 0_u64;
    let broke = loop {
        if sender.send(piece.clone()).is_err() {
            break true;
        }
        let mut n_piece = 0;
        let read = loop {
            match body.frame().await {
                Some(Ok(frame)) => n_piece += frame.data_ref().map_or(0, Bytes::len),
                Some(Err(_)) | None => break false,
            }
            if piece.len() <= n_piece {
                break true;
            }
        };
        n_bytes += n_piece as u64;
        if !read {
            break true;
        }
        if 600 << 20 < n_bytes {
            break false;
        }
    };
    assert!(broke, "more than 600 MiB were passed on");
    assert!(500 << 20 < n_bytes, "it ended after {n_bytes} bytes");
    tokio::time::timeout(Duration::from_secs(10), gone.cancelled())
        .await
        .expect("the provider is told");
    let ended = stage.book.until_ended(1).await;
    assert!(ended[0].1.failed.as_deref().unwrap().contains("does not come to an end"));
}

/// In virtual time: half an hour is waited for, and two hours are not.
#[tokio::test]
async fn a_provider_that_does_not_answer_is_given_up() {
    let gone = Arc::new(CancellationToken::new());
    let told = Arc::clone(&gone);
    let stage = Stage::set(Setting { protocols: &["http/1.1"], ..Setting::default() }, move |_| {
        Says::Silence(Arc::clone(&told))
    })
    .await;
    let mut asking = Box::pin(stage.complete("http/1.1", BODY));
    let asked = async {
        while stage.got().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! { _ = asking.as_mut() => panic!("there is no answer"), () = asked => {} }
    tokio::time::pause();
    tokio::time::advance(Duration::from_mins(31)).await;
    assert!(!gone.is_cancelled(), "models think for a long time");
    tokio::time::advance(Duration::from_mins(31)).await;
    tokio::time::resume();
    let (status, answer) = asking.await;
    assert_eq!(status, 502, "{answer}");
    assert!(answer.contains("no answer came for too long"), "{answer}");
}

#[tokio::test]
async fn an_agent_that_vanishes_ends_the_request_at_the_provider_within_a_second() {
    for protocol in ["http/1.1", "h2"] {
        let (sender, receiver) = mpsc::unbounded_channel();
        let (gone, receiver) =
            (Arc::new(CancellationToken::new()), std::sync::Mutex::new(Some(receiver)));
        let told = Arc::clone(&gone);
        let stage = Stage::set(Setting::default(), move |_| {
            Says::Piecewise(receiver.lock().unwrap().take().unwrap(), Arc::clone(&told))
        })
        .await;
        let response = stage.send(protocol, stage.request(protocol, "/v1/messages", BODY)).await;
        let mut body = response.into_body();
        sender.send(Bytes::from("data: 1\n\n")).unwrap();
        body.frame().await.unwrap().unwrap();
        drop(body);
        let told = tokio::time::timeout(Duration::from_secs(1), gone.cancelled()).await;
        told.unwrap_or_else(|_| panic!("{protocol}: the provider still sends"));
    }
}

/// The key in every form in which programs write it, wherever the provider puts it.
#[tokio::test]
async fn an_echoed_key_is_masked_in_every_position_and_form() {
    use base64::Engine as _;
    for form in [
        KEY.to_owned(),
        base64::engine::general_purpose::STANDARD.encode(KEY),
        base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(format!("ab{KEY}")),
    ] {
        for (position, status, headers, pieces) in [
            ("body", 200, Vec::new(), vec![form.clone()]),
            ("error", 400, Vec::new(), vec![format!(r#"{{"error":{{"message":"{form}"}}}}"#)]),
            ("event", 200, Vec::new(), vec![format!("data: {{\"x\":\"{form}\"}}\n\n")]),
            ("header", 200, vec![("x-echo", form.clone())], vec!["x".to_owned()]),
            ("end", 200, Vec::new(), vec!["x".to_owned(), form.clone()]),
            ("begin", 200, Vec::new(), vec![form.clone(), "x".to_owned()]),
            ("twice", 200, Vec::new(), vec![format!("{form}{form}")]),
        ] {
            let bytes: Vec<Bytes> = pieces.iter().map(|it| Bytes::from(it.clone())).collect();
            let stage = Stage::set(Setting::default(), move |_| {
                Says::Answer(status, headers.clone(), bytes.clone())
            })
            .await;
            let response = stage.send("h2", stage.request("h2", "/v1/messages", BODY)).await;
            let shown = format!("{:?}", response.headers());
            let (_, body) = whole(response).await;
            let core = form.get(4..form.len() - 4).unwrap();
            assert!(!shown.contains(core) && !body.contains(core), "{position}: {shown} {body}");
            assert!(shown.contains("redacted") || body.contains("redacted"), "{position}");
        }
    }
}

#[tokio::test]
async fn a_thousand_sessions_leave_nothing_behind() {
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let resident = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|it| it.starts_with("VmRSS:")).unwrap().to_owned();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    let n_tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let stage =
        Stage::set(Setting::default(), |_| Says::Answer(200, Vec::new(), vec![Bytes::from("{}")]))
            .await;
    let session = async || {
        let (gate, stop) = stage.another();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = {
            let (gate, stop) = (Arc::clone(&gate), stop.clone());
            tokio::spawn(async move { gate.serve(ic_mitm::Listener::Tcp(listener), &stop).await })
        };
        let (status, _) = stage.complete_at(&gate, address, BODY).await;
        assert_eq!(status, 200);
        stop.cancel();
        serving.await.unwrap().unwrap();
    };
    for _ in 0..20 {
        session().await;
    }
    let before = (open(), n_tasks(), resident());
    for _ in 0..1_000 {
        session().await;
    }
    stage.book.until_ended(1_020).await;
    // What the last sessions held is let go of in a moment.
    let settled = async {
        while before.0 + 8 < open() || before.1 + 8 < n_tasks() {
            tokio::task::yield_now().await;
        }
    };
    let settled = tokio::time::timeout(Duration::from_secs(20), settled).await;
    let after = (open(), n_tasks(), resident());
    assert!(settled.is_ok(), "descriptors, tasks, KiB: {before:?} became {after:?}");
    // The book of the test keeps a few hundred bytes for each request. Beside other tests in one process
    // there is nothing to measure.
    let is_alone = std::env::var_os("NEXTEST").is_some();
    assert!(!is_alone || after.2 < before.2 + 16_000, "KiB: {before:?} became {after:?}");
}
