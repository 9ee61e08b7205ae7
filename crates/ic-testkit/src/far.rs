//! An MCP server on loopback that speaks streamable HTTP in TLS, and does what a test wants with it.
//!
//! The test answers each request, well or badly; whatever is said is written in pieces of awkward sizes.
//! It keeps every request, so that a test can see what reached it and what did not.

#![expect(clippy::expect_used, reason = "test support: a failure is a failed test")]

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::{ServerConnection, StreamOwned};
use serde_json::{Value, json};

use crate::web::Identity;

/// The sizes of the pieces in which answers are written, again and again.
const SIZES: [usize; 8] = [1, 7, 2, 33, 3, 1500, 5, 64];
/// What it calls a session.
pub const SESSION: &str = "session-of-a-test";

/// A server that runs until the test ends.
#[derive(Debug)]
pub struct Far {
    port: u16,
    identity: Identity,
    asked: Arc<Mutex<Vec<FarRequest>>>,
    /// How many clients went away while something was still to be said.
    abandoned: Arc<Mutex<usize>>,
}

/// A request, as it came.
#[derive(Clone, Debug)]
pub struct FarRequest {
    /// The method of HTTP.
    pub verb: String,
    /// The path.
    pub path: String,
    /// The headers, with their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The message; null if there is none.
    pub message: Value,
}

/// What is said to a request.
#[derive(Clone, Debug)]
pub enum FarSays {
    /// These bytes, and then the connection ends.
    Bytes(Vec<u8>),
    /// These bytes, and then nothing until the client goes away.
    Hang(Vec<u8>),
    /// These bytes, and then these others without end.
    Endless(Vec<u8>, Vec<u8>),
}

type Answers = Arc<dyn Fn(&FarRequest) -> FarSays + Send + Sync>;

impl Far {
    /// Starts a server that answers in this way.
    pub fn start(answers: impl Fn(&FarRequest) -> FarSays + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let identity = Identity::new();
        let (asked, abandoned) = (Arc::default(), Arc::default());
        let far = Self { port, identity, asked, abandoned };
        let (tls, answers): (_, Answers) = (far.identity.tls(), Arc::new(answers));
        let (kept, gone) = (Arc::clone(&far.asked), Arc::clone(&far.abandoned));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let (tls, answers) = (Arc::clone(&tls), Arc::clone(&answers));
                let (kept, gone) = (Arc::clone(&kept), Arc::clone(&gone));
                std::thread::spawn(move || {
                    stream.set_read_timeout(Some(Duration::from_mins(2))).ok();
                    let connection = ServerConnection::new(tls).expect("a connection");
                    serve(StreamOwned::new(connection, stream), &answers, &kept, &gone);
                });
            }
        });
        far
    }

    /// Returns its address.
    pub fn url(&self) -> String {
        format!("https://localhost:{}/mcp", self.port)
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the certificate that has to be believed, in PEM.
    pub fn authority(&self) -> &str {
        &self.identity.authority
    }

    /// Returns the requests that came, oldest first.
    pub fn asked(&self) -> Vec<FarRequest> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the methods of the protocol that were asked for, oldest first; in brackets what came
    /// without one.
    pub fn methods(&self) -> Vec<String> {
        self.asked().iter().map(FarRequest::method).collect()
    }

    /// Returns how many clients went away while something was still to be said.
    pub fn n_abandoned(&self) -> usize {
        *self.abandoned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FarRequest {
    /// Returns the method of the protocol.
    pub fn method(&self) -> String {
        match self.message.get("method").and_then(Value::as_str) {
            Some(method) => method.to_owned(),
            None => format!("[{}]", self.verb),
        }
    }

    /// Returns a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }

    /// Returns the tool that is called.
    pub fn tool(&self) -> &str {
        self.message.pointer("/params/name").and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns the answer to this request.
    pub fn result(&self, result: &Value) -> Value {
        let id = self.message.get("id").cloned().unwrap_or_default();
        json!({"jsonrpc": "2.0", "id": id, "result": result})
    }

    /// Returns the answer to this call: a text.
    pub fn text(&self, text: &str) -> Value {
        self.result(&json!({"content": [{"type": "text", "text": text}]}))
    }

    /// Answers as a server does that behaves, with these tools; `None` for a call.
    pub fn usual(&self, tools: &Value) -> Option<FarSays> {
        let session = format!("Mcp-Session-Id: {SESSION}\r\n");
        Some(match self.method().as_str() {
            "initialize" => {
                let result = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "far", "version": "1"}});
                FarSays::json(200, &session, &self.result(&result))
            }
            "tools/list" => FarSays::json(200, "", &self.result(&json!({"tools": tools}))),
            "tools/call" => return None,
            "[GET]" => FarSays::status(405),
            "[DELETE]" => FarSays::status(200),
            _ => FarSays::status(202),
        })
    }
}

impl FarSays {
    /// An answer with nothing in it.
    pub fn status(status: u16) -> Self {
        Self::with(status, "", b"")
    }

    /// An answer with these header lines.
    pub fn with(status: u16, headers: &str, body: &[u8]) -> Self {
        let head =
            format!("HTTP/1.1 {status} x\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
        Self::Bytes([head.as_bytes(), body].concat())
    }

    /// A message as JSON.
    pub fn json(status: u16, headers: &str, message: &Value) -> Self {
        let headers = format!("Content-Type: application/json\r\n{headers}");
        Self::with(status, &headers, message.to_string().as_bytes())
    }

    /// A stream that ends after `events`, each with its id if it has one; its end is no error.
    pub fn events(events: &[(Option<&str>, Value)]) -> Self {
        Self::Bytes([events_of(events), b"0\r\n\r\n".to_vec()].concat())
    }

    /// A stream that breaks off after `events`.
    pub fn cut(events: &[(Option<&str>, Value)]) -> Self {
        Self::Bytes(events_of(events))
    }

    /// A stream that goes on without a word after `events`.
    pub fn hang(events: &[(Option<&str>, Value)]) -> Self {
        Self::Hang(events_of(events))
    }
}

/// Returns the head of a stream and its first events, each as one chunk.
fn events_of(events: &[(Option<&str>, Value)]) -> Vec<u8> {
    let mut text = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\
                    Transfer-Encoding: chunked\r\n\r\n"
        .to_owned();
    for (id, message) in events {
        let id = id.map(|id| format!("id: {id}\r\n")).unwrap_or_default();
        // A server may break the data wherever a line may be broken.
        let data = message.to_string().replacen(",\"", ",\ndata: \"", 1);
        let event = format!(": a comment\nretry: 10\n{id}event: message\ndata: {data}\n\n");
        write!(text, "{:x}\r\n{event}\r\n", event.len()).expect("a string");
    }
    text.into_bytes()
}

/// Whoever goes away is not told anything more.
fn serve(
    mut stream: impl Read + Write,
    answers: &Answers,
    asked: &Mutex<Vec<FarRequest>>,
    abandoned: &Mutex<usize>,
) {
    let Some(request) = read(&mut stream) else { return };
    asked.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
    let gone = || *abandoned.lock().unwrap_or_else(PoisonError::into_inner) += 1;
    match answers(&request) {
        FarSays::Bytes(bytes) => {
            say(&mut stream, &bytes).ok();
        }
        FarSays::Hang(bytes) => {
            if say(&mut stream, &bytes).is_ok() {
                stream.read_exact(&mut [0]).ok();
            }
            gone();
        }
        FarSays::Endless(first, then) => {
            let mut said = say(&mut stream, &first);
            while said.is_ok() {
                said = stream.write_all(&then);
            }
            gone();
        }
    }
}

fn read(stream: &mut impl Read) -> Option<FarRequest> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        head.extend(byte);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let mut lines = head.lines();
    let mut words = lines.next()?.split(' ').map(str::to_owned);
    let (verb, path) = (words.next()?, words.next()?);
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_lowercase(), value.trim().to_owned()))
    };
    let headers: Vec<(String, String)> = lines.filter_map(header).collect();
    let mut request = FarRequest { verb, path, headers, message: Value::Null };
    let length = request.header("content-length").and_then(|it| it.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    request.message = serde_json::from_slice(&body).unwrap_or_default();
    Some(request)
}

fn say(stream: &mut impl Write, bytes: &[u8]) -> std::io::Result<()> {
    let (mut rest, mut sizes) = (bytes, SIZES.into_iter().cycle());
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(sizes.next().unwrap_or(1).min(rest.len()));
        stream.write_all(piece)?;
        stream.flush()?;
        rest = after;
    }
    Ok(())
}
