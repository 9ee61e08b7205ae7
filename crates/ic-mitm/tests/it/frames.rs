//! HTTP/2 by hand: heads that no client library writes, and streams that are reset as soon as they are open.

use hyper::body::Bytes;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::stage::{DEADLINE, KEY, Says, Setting, Stage};

const BODY: &str = r#"{"model":"claude-sonnet-4-6"}"#;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// What is done to a head.
type Change = Box<dyn Fn(&mut Head)>;

/// Header fields, in order.
type Head = Vec<(Vec<u8>, Vec<u8>)>;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// Writes fields one by one, without a table and without compression.
fn packed(head: &Head) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in head {
        block.push(0);
        for text in [name, value] {
            assert!(text.len() < 127);
            block.push(u8::try_from(text.len()).unwrap());
            block.extend(text);
        }
    }
    block
}

async fn connect(stage: &Stage) -> TlsStream<TcpStream> {
    let mut stream = stage.tls(&["h2"], stage.host()).await.unwrap();
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    stream.write_all(&frame(SETTINGS, 0, 0, &[])).await.unwrap();
    stream
}

/// Reads until the stream, or the connection, is over; returns what was said in it.
async fn answer(stream: &mut TlsStream<TcpStream>) -> String {
    let reading = async {
        let mut said = Vec::new();
        loop {
            let mut head = [0; 9];
            if stream.read_exact(&mut head).await.is_err() {
                return said;
            }
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let mut payload = vec![0; usize::try_from(length).unwrap()];
            if stream.read_exact(&mut payload).await.is_err() {
                return said;
            }
            match head[3] {
                DATA => said.extend(payload),
                RESET | GOAWAY => return said,
                _ => {}
            }
            if matches!(head[3], DATA | HEADERS) && head[4] & END_STREAM != 0 {
                return said;
            }
        }
    };
    let said = tokio::time::timeout(DEADLINE, reading).await.expect("an end");
    String::from_utf8_lossy(&said).into_owned()
}

fn head(stage: &Stage) -> Head {
    let fields = [
        (":method", "POST"),
        (":scheme", "https"),
        (":authority", "api.anthropic.com"),
        (":path", "/v1/messages"),
        ("content-type", "application/json"),
        ("x-api-key", stage.gate.fake().as_str()),
    ];
    fields.map(|(name, value)| (name.into(), value.into())).into()
}

async fn stage() -> Stage {
    // What is smuggled out of HTTP/2 would be seen in HTTP/1.1.
    Stage::set(Setting { protocols: &["http/1.1"], ..Setting::default() }, |_| {
        Says::Answer(200, Vec::new(), vec![Bytes::from("fine")])
    })
    .await
}

async fn ask(stage: &Stage, head: &Head, body: &[u8]) -> String {
    let mut stream = connect(stage).await;
    let block = frame(HEADERS, END_HEADERS, 1, &packed(head));
    // A gate that does not like the head may close while the body is written.
    stream.write_all(&block).await.ok();
    stream.write_all(&frame(DATA, END_STREAM, 1, body)).await.ok();
    answer(&mut stream).await
}

#[tokio::test]
async fn heads_that_lie_reach_nobody() {
    let stage = stage().await;
    // As it should be, it does.
    assert_eq!(ask(&stage, &head(&stage), BODY.as_bytes()).await, "fine");
    assert_eq!(stage.got.lock().unwrap().drain(..).count(), 1);
    let set = |name: &'static str, value: &'static [u8]| {
        move |head: &mut Head| {
            let slot = head.iter_mut().find(|it| it.0 == name.as_bytes()).unwrap();
            slot.1 = value.to_vec();
        }
    };
    let add = |at: usize, name: &'static [u8], value: &'static [u8]| {
        move |head: &mut Head| head.insert(at, (name.to_vec(), value.to_vec()))
    };
    let remove =
        |name: &'static str| move |head: &mut Head| head.retain(|it| it.0 != name.as_bytes());
    let changes: Vec<(&str, Change)> = vec![
        ("another authority", Box::new(set(":authority", b"evil.example"))),
        ("authority with a user", Box::new(set(":authority", b"x@api.anthropic.com"))),
        ("authority with another port", Box::new(set(":authority", b"api.anthropic.com:80"))),
        ("no authority", Box::new(remove(":authority"))),
        ("host beside authority", Box::new(add(6, b"host", b"evil.example"))),
        ("two authorities", Box::new(add(3, b":authority", b"evil.example"))),
        ("two paths", Box::new(add(4, b":path", b"/v1/files"))),
        ("two methods", Box::new(add(1, b":method", b"DELETE"))),
        ("no path", Box::new(remove(":path"))),
        ("empty path", Box::new(set(":path", b""))),
        ("path that is none", Box::new(set(":path", b"v1/messages"))),
        ("path that is an address", Box::new(set(":path", b"https://evil.example/v1/messages"))),
        ("line in a path", Box::new(set(":path", b"/v1/messages HTTP/1.1\r\nx: y"))),
        ("another scheme", Box::new(set(":scheme", b"http"))),
        ("no method", Box::new(remove(":method"))),
        ("connect", Box::new(set(":method", b"CONNECT"))),
        ("line in a method", Box::new(set(":method", b"POST /v1/files HTTP/1.1\r\n"))),
        ("unknown pseudo-header", Box::new(add(4, b":protocol2", b"x"))),
        ("websocket", Box::new(add(4, b":protocol", b"websocket"))),
        ("status in a request", Box::new(add(4, b":status", b"200"))),
        ("pseudo-header behind others", Box::new(add(6, b":path", b"/v1/files"))),
        ("upper case", Box::new(add(6, b"X-Api-Key", b"x"))),
        ("connection header", Box::new(add(6, b"connection", b"x-api-key"))),
        ("transfer encoding", Box::new(add(6, b"transfer-encoding", b"chunked"))),
        ("line in a value", Box::new(add(6, b"user-agent", b"a\r\nx-api-key: b"))),
        ("NUL in a value", Box::new(add(6, b"user-agent", b"a\0b"))),
        ("line in a name", Box::new(add(6, b"a\r\nb", b"c"))),
        ("too short a length", Box::new(add(6, b"content-length", b"3"))),
        ("too long a length", Box::new(add(6, b"content-length", b"300"))),
        ("second key", Box::new(add(6, b"x-api-key", b"sk-ant-somebody-else"))),
        ("key of another kind", Box::new(add(6, b"authorization", b"Bearer sk-ant-somebody"))),
    ];
    for (what, change) in changes {
        let mut head = head(&stage);
        change(&mut head);
        let said = ask(&stage, &head, BODY.as_bytes()).await;
        assert!(!said.contains("fine") && !said.contains(KEY), "{what}: {said}");
        assert!(stage.got().is_empty(), "{what} reached the provider: {:?}", stage.got());
    }
    // It still serves.
    assert_eq!(ask(&stage, &head(&stage), BODY.as_bytes()).await, "fine");
}

#[tokio::test]
async fn streams_that_are_reset_at_once_do_not_tire_the_gate() {
    let stage = stage().await;
    let block = packed(&head(&stage));
    let mut stream = connect(&stage).await;
    let mut n_sent = 0;
    for number in 0..4_000_u32 {
        let id = 2 * number + 1;
        let mut both = frame(HEADERS, END_HEADERS, id, &block);
        both.extend(frame(RESET, 0, id, &[0, 0, 0, 8]));
        if stream.write_all(&both).await.is_err() {
            break;
        }
        n_sent += 1;
    }
    // Whoever does that is sent away, and nothing of it was a whole request.
    let ended = answer(&mut stream).await;
    assert!(ended.is_empty(), "{ended}");
    assert!(stage.got().is_empty(), "{n_sent} {:?}", stage.got().len());
    assert_eq!(ask(&stage, &head(&stage), BODY.as_bytes()).await, "fine");
    stage.book.until_ended(1).await;
}

#[tokio::test]
async fn a_connection_that_asks_for_too_much_at_once_is_bounded() {
    let stage = stage().await;
    let mut stream = connect(&stage).await;
    // Heads without an end, as continuation frames are used for.
    let long = vec![0x7f_u8; 16_000];
    stream.write_all(&frame(HEADERS, 0, 1, &long)).await.ok();
    for _ in 0..64 {
        if stream.write_all(&frame(9, 0, 1, &long)).await.is_err() {
            break;
        }
    }
    answer(&mut stream).await;
    assert!(stage.got().is_empty());
    assert_eq!(ask(&stage, &head(&stage), BODY.as_bytes()).await, "fine");
}
