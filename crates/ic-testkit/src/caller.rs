//! A client of `ironcurtain proxy --socket`: one of several, on a connection of its own.
//!
//! It reads only when it waits for something, so a test decides how slow it is.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    reason = "test support: a failure is a failed test"
)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::proxy::{DEADLINE, Message};

/// A client that is connected.
#[derive(Debug)]
pub struct Caller {
    stream: UnixStream,
    lines: BufReader<UnixStream>,
    /// Messages that came while another one was waited for.
    heard: Vec<Message>,
    next_id: u64,
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
        for limited in
            [stream.set_read_timeout(Some(DEADLINE)), stream.set_write_timeout(Some(DEADLINE))]
        {
            limited.expect("a time limit");
        }
        let lines = BufReader::new(stream.try_clone().expect("a descriptor"));
        Self { stream, lines, heard: Vec::new(), next_id: 1 }
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
        caller.request(
            "initialize",
            &json!({"protocolVersion": "2025-11-25", "capabilities": capabilities,
                "clientInfo": {"name": name, "version": "1"}}),
        );
        caller.notify("notifications/initialized", &json!({}));
        caller
    }

    /// Sends a line.
    #[track_caller]
    pub fn send_line(&mut self, line: &str) {
        self.try_send_line(line).expect("the proxy reads");
    }

    /// Sends a line, if the proxy still listens.
    pub fn try_send_line(&mut self, line: &str) -> std::io::Result<()> {
        self.stream.write_all([line, "\n"].concat().as_bytes())
    }

    /// Sends a request under an id of our own, and returns the id.
    #[track_caller]
    pub fn ask(&mut self, method: &str, params: &Value) -> String {
        let id = self.next_id;
        self.next_id += 1;
        self.send_line(
            &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string(),
        );
        id.to_string()
    }

    /// Sends a notification.
    #[track_caller]
    pub fn notify(&mut self, method: &str, params: &Value) {
        self.send_line(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
    }

    /// Calls a tool, and returns the id of the call.
    #[track_caller]
    pub fn ask_call(&mut self, tool: &str, arguments: &Value) -> String {
        self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// Sends a request and waits for the answer.
    #[track_caller]
    pub fn request(&mut self, method: &str, params: &Value) -> Message {
        let id = self.ask(method, params);
        self.answer(&id)
    }

    /// Calls a tool and waits for the answer.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Message {
        let id = self.ask_call(tool, arguments);
        self.answer(&id)
    }

    /// Waits for the answer to the request `id`.
    #[track_caller]
    pub fn answer(&mut self, id: &str) -> Message {
        self.wait_for(&format!("answer to {id}"), |it| it.answers(id))
    }

    /// Waits for a notification of `method` in which `text` stands.
    #[track_caller]
    pub fn notification(&mut self, method: &str, text: &str) -> Message {
        self.wait_for(&format!("{method} with `{text}`"), |it| {
            it.method() == Some(method) && it.line.contains(text)
        })
    }

    /// Returns the messages that came while others were waited for.
    pub fn unread(&mut self) -> Vec<Message> {
        std::mem::take(&mut self.heard)
    }

    /// Says that it has nothing more to say, and goes on reading.
    pub fn say_no_more(&self) {
        self.stream.shutdown(Shutdown::Write).expect("connected");
    }

    /// Reads to the end, and returns whether the proxy ended the connection.
    pub fn is_dropped(&mut self) -> bool {
        let mut line = String::new();
        loop {
            line.clear();
            match self.lines.read_line(&mut line) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
            }
        }
    }

    #[track_caller]
    fn wait_for(&mut self, what: &str, is_it: impl Fn(&Message) -> bool) -> Message {
        if let Some(at) = self.heard.iter().position(&is_it) {
            return self.heard.remove(at);
        }
        loop {
            let mut line = String::new();
            match self.lines.read_line(&mut line) {
                Ok(0) => {
                    panic!("no {what}: the proxy ended the connection; heard: {:#?}", self.heard)
                }
                Ok(_) => {}
                Err(error) => panic!("no {what}: {error}; heard: {:#?}", self.heard),
            }
            line.truncate(line.trim_end_matches('\n').len());
            match Message::of(line) {
                message if is_it(&message) => return message,
                other => self.heard.push(other),
            }
        }
    }
}
