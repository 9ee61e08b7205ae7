//! A client of `ironcurtain proxy --socket`: one of several, on a connection of its own.
//!
//! It reads only when it waits for something, so a test decides how slow it is.
//! What it says and waits for is in [`Client`].

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "test support: a failure is a failed test"
)]

use std::io::{self, BufRead as _, BufReader, ErrorKind, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Client, DEADLINE, Wire};

/// A client that is connected.
pub type Caller = Client<Connection>;

/// A connection to the proxy's socket.
#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
    lines: BufReader<UnixStream>,
}

impl Caller {
    /// Connects; waits until somebody listens at `path`.
    #[track_caller]
    pub fn connect(path: &Path) -> Self {
        let deadline = Instant::now() + DEADLINE;
        let stream = loop {
            match UnixStream::connect(path) {
                Ok(stream) => break stream,
                Err(error) => assert!(Instant::now() < deadline, "{}: {error}", path.display()),
            }
            std::thread::park_timeout(Duration::from_millis(5));
        };
        stream.set_write_timeout(Some(DEADLINE)).expect("a time limit");
        let lines = BufReader::new(stream.try_clone().expect("a descriptor"));
        Self::new(Connection { stream, lines })
    }

    /// Connects, and begins the conversation as clients of the older revisions do.
    #[track_caller]
    pub fn begin(path: &Path, name: &str) -> Self {
        Self::begin_as(path, name, &json!({}))
    }

    /// Connects and begins the conversation as a client with these capabilities.
    #[track_caller]
    pub fn begin_as(path: &Path, name: &str, capabilities: &Value) -> Self {
        let mut caller = Self::connect(path);
        caller.introduce(name, capabilities);
        caller
    }

    /// Sends a line, if the proxy still listens.
    pub fn try_send_line(&mut self, line: &str) -> io::Result<()> {
        self.wire.send([line, "\n"].concat().as_bytes())
    }

    /// Says that it has nothing more to say, and goes on reading.
    pub fn say_no_more(&self) {
        self.wire.stream.shutdown(Shutdown::Write).expect("connected");
    }

    /// Reads to the end, and returns whether the proxy ended the connection.
    pub fn is_dropped(&mut self) -> bool {
        let end = loop {
            if let Err(error) = self.wire.next_line(DEADLINE) {
                break error.kind();
            }
        };
        matches!(end, ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset)
    }
}

impl Wire for Connection {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    fn next_line(&mut self, limit: Duration) -> io::Result<String> {
        // A limit of nothing is refused, and a deadline that has passed is one.
        self.stream.set_read_timeout(Some(limit.max(Duration::from_millis(1))))?;
        let mut line = String::new();
        if self.lines.read_line(&mut line)? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        line.truncate(line.trim_end_matches('\n').len());
        Ok(line)
    }

    fn line_read_ahead(&mut self) -> Option<String> {
        None
    }

    fn circumstances(&self) -> String {
        "on a socket".to_owned()
    }
}
