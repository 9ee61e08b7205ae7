//! Mutated heads: what asks for a connection, and what comes in one, as HTTP/1.1 and as frames of HTTP/2.
//!
//! The bytes go through the same readers as those of agents. `httparse` reads what was let in once more.

use std::sync::Mutex;

use http_body_util::BodyExt as _;
use hyper::HeaderMap;
use ic_fuzz::{Outcome, Target};
use ic_home::{Home, SystemClock};
use ic_types::{AbsolutePath, locked};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::runtime::Runtime;

use super::*;

/// What stands for the session's key in inputs, which do not know it.
const KEY: &[u8] = b"FAKE";
const HOST: &str = "api.anthropic.com";

struct Stage {
    runtime: Runtime,
    gate: Arc<Gate>,
    _directory: tempfile::TempDir,
}

/// A request as the gate read it.
struct Seen {
    /// What it becomes; nothing if it is refused.
    becomes: Option<(String, HeaderMap)>,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
}

impl Stage {
    fn set() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let home = Home::new(AbsolutePath::new(directory.path()).unwrap());
        let nowhere = "127.0.0.1:9".parse().unwrap();
        let gate = crate::trial::open(&home, Arc::new(SystemClock), nowhere).unwrap();
        Self { runtime, gate, _directory: directory }
    }

    /// Puts the key of the session where an input wants it.
    fn with_key(&self, bytes: &[u8]) -> Vec<u8> {
        let key = self.gate.fake().as_str().as_bytes();
        let mut out = Vec::with_capacity(bytes.len() + key.len());
        let mut rest = bytes;
        while let Some((first, after)) = rest.split_first() {
            if let Some(behind) = rest.strip_prefix(KEY) {
                out.extend(key);
                rest = behind;
            } else {
                out.push(*first);
                rest = after;
            }
        }
        out
    }

    /// Says `bytes` as an agent that has just connected, and returns the answer.
    fn connect(&self, bytes: &[u8]) -> Vec<u8> {
        self.runtime.block_on(async {
            let (ours, theirs) = UnixStream::pair().unwrap();
            let tasks = Tasks {
                tracker: TaskTracker::new(),
                stop: CancellationToken::new(),
                cut: CancellationToken::new(),
            };
            let welcome =
                welcome(Arc::clone(&self.gate), Either::Right(theirs), Arc::new(()), tasks.clone());
            let asking = async {
                let (mut reading, mut writing) = ours.into_split();
                writing.write_all(bytes).await.ok();
                writing.shutdown().await.ok();
                let mut answer = Vec::new();
                reading.read_to_end(&mut answer).await.ok();
                answer
            };
            let ((), answer) = tokio::join!(welcome, asking);
            tasks.tracker.close();
            tasks.tracker.wait().await;
            answer
        })
    }

    /// Says `bytes` inside of a connection, and returns the requests that were read.
    fn ask(&self, bytes: &[u8], is_http2: bool) -> Vec<Seen> {
        let seen = Arc::new(Mutex::new(Vec::new()));
        self.runtime.block_on(async {
            let (ours, theirs) = tokio::io::duplex(64 << 10);
            let (gate, kept) = (Arc::clone(&self.gate), Arc::clone(&seen));
            let service = service_fn(move |request: Request<Incoming>| {
                let (gate, kept) = (Arc::clone(&gate), Arc::clone(&kept));
                async move {
                    let (parts, body) = request.into_parts();
                    let line = Line { host: HOST.into(), is_same_host: true };
                    let headers = parts.headers.clone();
                    let becomes = exchange::head(&gate, &line, parts).ok();
                    let body = body.collect().await.ok().map(|it| it.to_bytes().to_vec());
                    locked(&kept).push(Seen { becomes, headers, body });
                    Ok::<_, Infallible>(Response::new(Full::<hyper::body::Bytes>::default()))
                }
            });
            let serving = async {
                let io = TokioIo::new(theirs);
                if is_http2 {
                    http2_builder().serve_connection(io, service).await.ok();
                } else {
                    http1_builder().serve_connection(io, service).await.ok();
                }
            };
            let asking = async {
                let (mut reading, mut writing) = tokio::io::split(ours);
                let said = async {
                    writing.write_all(bytes).await.ok();
                    // Frames that nobody has answered yet are forgotten with their connection.
                    for _ in 0..64 {
                        tokio::task::yield_now().await;
                    }
                    writing.shutdown().await.ok();
                };
                let mut answer = Vec::new();
                tokio::join!(said, async { reading.read_to_end(&mut answer).await.ok() });
            };
            tokio::join!(serving, asking);
        });
        std::mem::take(&mut *locked(&seen))
    }

    /// Checks what holds for every request that was let in, however it was written.
    fn check(&self, seen: &Seen) {
        let Some((target, out)) = &seen.becomes else { return };
        let key = self.gate.fake().as_str();
        let is_key = |value: &hyper::header::HeaderValue| {
            value.as_bytes() == key.as_bytes()
                || value.to_str().is_ok_and(|it| it.get(7..) == Some(key))
        };
        let credentials = seen.headers.iter().filter(|(name, _)| {
            matches!(name.as_str(), "x-api-key" | "authorization" | "cookie" | "x-goog-api-key")
        });
        let credentials: Vec<_> = credentials.collect();
        assert!(matches!(credentials[..], [(_, value)] if is_key(value)), "{credentials:?}");
        assert!(!seen.headers.contains_key("upgrade") && !out.values().any(is_key));
        assert!(
            ["/v1/messages", "/v1/messages/count_tokens", "/v1/models"]
                .into_iter()
                .any(|it| target.split('?').next().is_some_and(|path| path.starts_with(it))),
            "{target}"
        );
        // Written down, it is one head.
        let mut text = format!("POST {target} HTTP/1.1\r\n").into_bytes();
        for (name, value) in out {
            text.extend_from_slice(name.as_str().as_bytes());
            text.extend_from_slice(b": ");
            text.extend_from_slice(value.as_bytes());
            text.extend_from_slice(b"\r\n");
        }
        text.extend_from_slice(b"\r\n");
        let mut fields = [httparse::EMPTY_HEADER; 128];
        let mut again = httparse::Request::new(&mut fields);
        assert_eq!(again.parse(&text), Ok(httparse::Status::Complete(text.len())));
        assert_eq!((again.path, again.headers.len()), (Some(target.as_str()), out.len()));
    }
}

fn n_times(bytes: &[u8], word: &[u8]) -> usize {
    bytes.windows(word.len()).filter(|it| it.eq_ignore_ascii_case(word)).count()
}

#[test]
fn fuzz_gate_connect() {
    let stage = Stage::set();
    Target::new("gate-connect")
        .seeds([
            "CONNECT api.anthropic.com:443 HTTP/1.1\r\nHost: api.anthropic.com:443\r\n\r\n",
            "GET http://api.anthropic.com/ HTTP/1.1\r\nHost: x\r\n\r\nCONNECT evil.example:443 HTTP/1.1\r\n\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
        ])
        .words(["CONNECT ", "api.anthropic.com", ":443", ":80", ".", "\0", "%00", "@", "\r\n", "\n", " "])
        .words([" HTTP/1.1\r\n", "HTTP/1.0", "Host: ", "\r\n\r\n", "evil.example", "[::1]", "Upgrade: h2c\r\n"])
        .words(["Content-Length: 3\r\n", "Transfer-Encoding: chunked\r\n", "\t", "API.ANTHROPIC.COM"])
        .runs(1_500)
        .run(|bytes| {
            let answer = stage.connect(bytes);
            let n_open = n_times(&answer, b"HTTP/1.1 200") + n_times(&answer, b"HTTP/1.0 200");
            let n_right = n_times(bytes, b"CONNECT api.anthropic.com:443 HTTP/1.");
            assert!(n_open <= n_right, "{}", String::from_utf8_lossy(&answer));
            let mut fields = [httparse::EMPTY_HEADER; 128];
            let mut head = httparse::Request::new(&mut fields);
            let read = head.parse(bytes);
            if answer.starts_with(b"HTTP/1.1 200") || answer.starts_with(b"HTTP/1.0 200") {
                assert!(matches!(read, Ok(httparse::Status::Complete(_))), "{read:?}");
                assert_eq!(head.method, Some("CONNECT"));
                assert!(head.path.is_some_and(|it| it.eq_ignore_ascii_case("api.anthropic.com:443")));
                return Outcome::accepted(n_times(&answer, b"HTTP/1.1").min(4));
            }
            // A refusal is none that agents answer with another try.
            let status = answer.get(9..12).unwrap_or_default().to_vec();
            assert!(!status.starts_with(b"5") && !matches!(&status[..], b"401" | b"429"));
            Outcome::refused((status, read.is_ok()))
        });
}

#[test]
fn fuzz_gate_head() {
    let stage = Stage::set();
    let head = "POST /v1/messages?beta=true HTTP/1.1\r\nHost: api.anthropic.com\r\nx-api-key: FAKE\r\n\
                Content-Type: application/json\r\n";
    Target::new("gate-head")
        .seeds([
            format!("{head}Content-Length: 2\r\n\r\n{{}}"),
            format!("{head}Transfer-Encoding: chunked\r\n\r\n1\r\n{{\r\n1;x=y\r\n}}\r\n0\r\nx: y\r\n\r\n"),
            format!("{head}Content-Length: 2\r\n\r\n{{}}{head}Content-Length: 2\r\n\r\n{{}}"),
            "GET /v1/models HTTP/1.1\r\nHost: api.anthropic.com:443\r\nAuthorization: Bearer FAKE\r\n\r\n"
                .to_owned(),
        ])
        .words(["\r\n", "\n", "\r", " ", "\t", "\0", ":", ";", "FAKE", "x-api-key: ", "Cookie: a=b\r\n"])
        .words(["Authorization: Bearer ", "Host: evil.example\r\n", "Content-Length: 2\r\n", "?key=x", "&"])
        .words(["Transfer-Encoding: chunked\r\n", "Upgrade: websocket\r\n", "/v1/files", "/../", "%2e", "GET "])
        .runs(1_500)
        .run(|bytes| {
            let bytes = stage.with_key(bytes);
            let seen = stage.ask(&bytes, false);
            for it in &seen {
 stage.check(it);
 }
            let n_in = seen.iter().filter(|it| it.becomes.is_some()).count();
            // Each brought a key, a host and an end of its own.
            assert!(n_in <= n_times(&bytes, stage.gate.fake().as_str().as_bytes()));
            assert!(n_in <= n_times(&bytes, b"api.anthropic.com"));
            if let Some(Seen { becomes: Some(_), headers, .. }) = seen.first() {
                let mut fields = [httparse::EMPTY_HEADER; 128];
                let mut head = httparse::Request::new(&mut fields);
                let read = head.parse(&bytes);
                assert!(matches!(read, Ok(httparse::Status::Complete(_))), "{read:?}");
                // A length that is said twice is one length.
                let is_length = |name: &str| name.eq_ignore_ascii_case("content-length");
                let n_read = head.headers.iter().filter(|it| !is_length(it.name)).count();
                let n_seen = headers.len() - headers.get_all("content-length").iter().count();
                assert_eq!(n_read, n_seen, "it is read differently");
            }
            let bodies = seen.iter().map(|it| it.body.as_ref().map(|it| it.len().min(4)));
            let kind = (seen.len().min(4), bodies.take(4).collect::<Vec<_>>());
            if 0 < n_in { Outcome::accepted(kind) } else { Outcome::refused(kind) }
        });
}

fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags, 0, 0, 0, stream], payload].concat()
}

fn packed(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            block.push(u8::try_from(text.len()).unwrap());
            block.extend(text.as_bytes());
        }
    }
    block
}

#[test]
fn fuzz_gate_frames() {
    let stage = Stage::set();
    // Lengths in a block are those of the real key, so it is in the seeds as it is.
    let key = stage.gate.fake().as_str();
    let fields = [
        (":method", "POST"),
        (":scheme", "https"),
        (":authority", HOST),
        (":path", "/v1/messages"),
        ("content-type", "application/json"),
        ("x-api-key", key),
    ];
    let begin = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".as_slice(), &frame(4, 0, 0, &[])].concat();
    let block = packed(&fields);
    let (first, second) = block.split_at(40);
    let whole = [&begin[..], &frame(1, 4, 1, &block), &frame(0, 1, 1, b"{}")].concat();
    let parted = [
        &begin[..],
        &frame(1, 1, 1, first),
        &frame(9, 4, 1, second),
        &frame(8, 0, 0, &[0, 0, 1, 0]),
    ]
    .concat();
    let twice = [
        &whole[..],
        &frame(1, 5, 3, &block),
        &frame(3, 0, 3, &[0, 0, 0, 8]),
        &frame(6, 0, 0, &[0; 8]),
    ]
    .concat();
    Target::new("gate-frames")
        .seeds([whole, parted, twice])
        .words([frame(0, 1, 1, b""), frame(3, 0, 1, &[0, 0, 0, 8]), frame(7, 0, 0, &[0; 8])])
        .words([
            packed(&[("host", "evil.example")]),
            packed(&[("x-api-key", "other")]),
            frame(5, 4, 1, b""),
        ])
        .words([
            packed(&[(":path", "/v1/files")]),
            packed(&[(":authority", "x@evil")]),
            vec![0x80, 0, 0, 1],
        ])
        .words([
            packed(&[("cookie", "a")]),
            packed(&[(":protocol", "websocket")]),
            frame(1, 5, 5, &block),
        ])
        .runs(1_500)
        .run(|bytes| {
            let seen = stage.ask(bytes, true);
            for it in &seen {
                stage.check(it);
            }
            let n_in = seen.iter().filter(|it| it.becomes.is_some()).count();
            let bodies = seen.iter().map(|it| it.body.as_ref().map(|it| it.len().min(4)));
            let kind = (n_in.min(4), bodies.take(4).collect::<Vec<_>>());
            if 0 < n_in { Outcome::accepted(kind) } else { Outcome::refused(kind) }
        });
}
