//! What comes back: streams, echoes of the key, and a provider that does not behave.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use http_body_util::BodyExt as _;
use hyper::body::Bytes;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::stage::{DEADLINE, KEY, Says, Setting, Stage, whole};

/// What the provider plays.
type Play = fn() -> Says;

const BODY: &str = r#"{"model":"claude-sonnet-4-6","stream":true}"#;

fn pieces(pieces: &[&str]) -> Vec<Bytes> {
    pieces.iter().map(|it| Bytes::from((*it).to_owned())).collect()
}

#[tokio::test]
async fn events_are_passed_on_one_by_one_and_counted() {
    for (ours, theirs) in [("http/1.1", "http/1.1"), ("h2", "h2"), ("h2", "http/1.1")] {
        let protocols: &'static [&'static str] =
            if theirs == "h2" { &["h2"] } else { &["http/1.1"] };
        let (sender, receiver) = mpsc::unbounded_channel();
        let (gone, receiver) = (Arc::new(CancellationToken::new()), Mutex::new(Some(receiver)));
        let told = Arc::clone(&gone);
        let stage = Stage::set(Setting { protocols, ..Setting::default() }, move |_| {
            Says::Piecewise(receiver.lock().unwrap().take().unwrap(), Arc::clone(&told))
        })
        .await;
        let response = stage.send(ours, stage.request(ours, "/v1/messages", BODY)).await;
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let mut body = response.into_body();
        for event in [
            "event: message_start\ndata: {\"message\":{\"usage\":{\"input_tokens\":7}}}\n\n",
            "data: {\"delta\":{\"text\":\"a\"}}\n\n",
            "event: message_delta\ndata: {\"usage\":{\"output_tokens\":9}}\n\n",
        ] {
            // The next one is sent only when this one has come.
            sender.send(Bytes::from(event)).unwrap();
            let frame = tokio::time::timeout(DEADLINE, body.frame()).await.expect("no buffering");
            assert_eq!(frame.unwrap().unwrap().into_data().unwrap(), event);
        }
        drop(sender);
        let rest = body.collect().await.unwrap().to_bytes();
        assert!(rest.is_empty(), "{ours} {theirs}: {rest:?}");
        let ended = stage.book.until_ended(1).await;
        let usage = ended[0].1.usage.unwrap();
        assert_eq!((usage.prompt, usage.completion), (7, 9), "{ours} {theirs}");
        assert!(!ended[0].1.is_estimated);
    }
}

#[tokio::test]
async fn an_agent_that_leaves_ends_the_request_at_the_provider() {
    for (ours, theirs) in [("http/1.1", "http/1.1"), ("h2", "h2"), ("http/1.1", "h2")] {
        let protocols: &'static [&'static str] =
            if theirs == "h2" { &["h2"] } else { &["http/1.1"] };
        // While the answer comes.
        let (sender, receiver) = mpsc::unbounded_channel();
        let (gone, receiver) = (Arc::new(CancellationToken::new()), Mutex::new(Some(receiver)));
        let told = Arc::clone(&gone);
        let stage = Stage::set(Setting { protocols, ..Setting::default() }, move |_| {
            Says::Piecewise(receiver.lock().unwrap().take().unwrap(), Arc::clone(&told))
        })
        .await;
        let response = stage.send(ours, stage.request(ours, "/v1/messages", BODY)).await;
        let mut body = response.into_body();
        sender.send(Bytes::from("data: 1\n\n")).unwrap();
        body.frame().await.unwrap().unwrap();
        drop(body);
        tokio::time::timeout(DEADLINE, gone.cancelled()).await.expect("the provider is told");
        let ended = stage.book.until_ended(1).await;
        assert!(ended[0].1.is_estimated && ended[0].1.failed.is_some());
        // Before it comes.
        let gone = Arc::new(CancellationToken::new());
        let told = Arc::clone(&gone);
        let stage = Stage::set(Setting { protocols, ..Setting::default() }, move |_| {
            Says::Silence(Arc::clone(&told))
        })
        .await;
        let asking = stage.send(ours, stage.request(ours, "/v1/messages", BODY));
        let asked = async {
            while stage.got().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! { _ = asking => panic!("there is no answer"), () = asked => {} }
        tokio::time::timeout(DEADLINE, gone.cancelled()).await.expect("the provider is told");
        stage.book.until_ended(1).await;
    }
}

#[tokio::test]
async fn an_echoed_key_is_masked_however_it_comes() {
    let encoded = base64::engine::general_purpose::STANDARD.encode(format!("x:{KEY}"));
    let (first, second) = KEY.split_at(9);
    let bytewise: Vec<Bytes> = KEY.bytes().map(|it| Bytes::from(vec![it])).collect();
    let echoes: Vec<Vec<Bytes>> = vec![
        pieces(&[&format!("{{\"key\":\"{KEY}\"}}")]),
        pieces(&["{\"key\":\"", first, second, "\"}"]),
        pieces(&[&format!("a{KEY}"), KEY, KEY]),
        pieces(&[&encoded]),
        bytewise,
    ];
    for protocols in [&["h2"] as &'static [&'static str], &["http/1.1"]] {
        for echo in &echoes {
            let echo = echo.clone();
            let stage = Stage::set(Setting { protocols, ..Setting::default() }, move |got| {
                let key = got.headers["x-api-key"].to_str().unwrap().to_owned();
                Says::Answer(
                    200,
                    vec![("request-id", format!("req-{key}")), ("x-key", key)],
                    echo.clone(),
                )
            })
            .await;
            let response = stage.send("h2", stage.request("h2", "/v1/messages", BODY)).await;
            let headers = format!("{:?}", response.headers());
            let (_, body) = whole(response).await;
            assert!(!headers.contains(KEY) && headers.contains("<redacted:key>"), "{headers}");
            assert!(body.contains("<redacted:key>"), "{body}");
            for spelling in [KEY, KEY.get(..20).unwrap(), encoded.get(4..30).unwrap()] {
                assert!(!body.contains(spelling), "{body}");
            }
        }
    }
}

#[tokio::test]
async fn a_provider_that_does_not_behave_is_told_from_a_refusal() {
    let unusual: Vec<(&str, u16, Play)> = vec![
        ("redirect", 403, || {
            Says::Answer(302, vec![("location", "https://evil.example/".to_owned())], Vec::new())
        }),
        ("redirect", 403, || {
            Says::Answer(308, vec![("location", "https://evil.example/".to_owned())], Vec::new())
        }),
        ("compressed", 502, || {
            Says::Answer(200, vec![("content-encoding", "gzip".to_owned())], pieces(&["x"]))
        }),
        ("error", 529, || Says::Answer(529, Vec::new(), pieces(&["{}"]))),
        ("limit", 429, || {
            Says::Answer(429, vec![("retry-after", "3".to_owned())], pieces(&["{}"]))
        }),
        ("key", 401, || Says::Answer(401, Vec::new(), pieces(&["{}"]))),
    ];
    for (what, expected, says) in unusual {
        let stage = Stage::set(Setting::default(), move |_| says()).await;
        let response = stage.send("h2", stage.request("h2", "/v1/messages", BODY)).await;
        assert!(!response.headers().contains_key("location"), "{what}");
        assert_eq!(response.status(), expected, "{what}");
        whole(response).await;
        let ended = stage.book.until_ended(1).await;
        assert_eq!(ended[0].1.cost.billionths(), 0, "{what}");
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_breaks_off() {
    for protocols in [&["h2"] as &'static [&'static str], &["http/1.1"]] {
        let stage = Stage::set(Setting { protocols, ..Setting::default() }, |_| {
            Says::Breaks("data: 1\n\n".into())
        })
        .await;
        let response =
            stage.send("http/1.1", stage.request("http/1.1", "/v1/messages", BODY)).await;
        // Over HTTP/2 the break may come before the head; then there is an answer of the gate's own.
        let status = response.status();
        let came = response.into_body().collect().await;
        assert!(came.is_err() || status == 502, "{protocols:?} {status} {came:?}");
        let ended = stage.book.until_ended(1).await;
        assert!(ended[0].1.failed.is_some());
        assert!(ended[0].1.is_estimated || status == 502);
    }
}

#[tokio::test]
async fn too_many_headers_of_the_provider_are_not_passed_on() {
    let stage = Stage::set(Setting { protocols: &["http/1.1"], ..Setting::default() }, |_| {
        let headers = (0..10_000).map(|_| ("x-many", "y".to_owned())).collect();
        Says::Answer(200, headers, Vec::new())
    })
    .await;
    assert_eq!(stage.complete("h2", BODY).await.0, 502);
}

#[tokio::test]
async fn a_provider_with_a_wrong_certificate_gets_no_request() {
    let stage = Stage::set(Setting { is_trusted: false, ..Setting::default() }, |_| {
        Says::Answer(200, Vec::new(), Vec::new())
    })
    .await;
    let (status, answer) = stage.complete("h2", BODY).await;
    assert_eq!(status, 502);
    assert!(answer.contains("cannot reach the provider"), "{answer}");
    assert!(stage.got().is_empty());
    assert!(!answer.contains(KEY));
}

#[tokio::test]
async fn a_stream_that_is_silent_for_half_an_hour_stays_open() {
    let (sender, receiver) = mpsc::unbounded_channel();
    let (gone, receiver) = (Arc::new(CancellationToken::new()), Mutex::new(Some(receiver)));
    let stage = Stage::set(Setting { protocols: &["http/1.1"], ..Setting::default() }, move |_| {
        Says::Piecewise(receiver.lock().unwrap().take().unwrap(), Arc::clone(&gone))
    })
    .await;
    let response = stage.send("http/1.1", stage.request("http/1.1", "/v1/messages", BODY)).await;
    let mut body = response.into_body();
    for _ in 0..3 {
        tokio::time::pause();
        tokio::time::advance(std::time::Duration::from_mins(31)).await;
        tokio::time::resume();
        sender.send(Bytes::from("data: 1\n\n")).unwrap();
        assert!(body.frame().await.unwrap().is_ok());
    }
}
