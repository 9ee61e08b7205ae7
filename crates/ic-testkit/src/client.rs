//! A client of the proxy, over any wire: it numbers its requests, and waits for answers with a deadline.
//!
//! It sends whatever bytes a test wants, well-formed or not; what a message means is the test's business.
//! It opens no wire: [`Proxy`](crate::Proxy) has the pipes of a process, [`Caller`](crate::Caller) a socket.

#![expect(
    clippy::disallowed_methods,
    clippy::panic,
    reason = "test support: it looks at the clock, and a failure is a failed test"
)]

mod message;

use std::io;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub use message::Message;

/// After this, an event will not come any more.
pub const DEADLINE: Duration = Duration::from_mins(3);

/// A client, and the conversation that it has.
#[derive(Debug)]
pub struct Client<W> {
    pub(crate) wire: W,
    /// Messages that came while another one was waited for.
    heard: Vec<Message>,
    next_id: u64,
}

/// What carries the lines of a client and those that it is told.
pub trait Wire {
    /// Sends bytes as they are.
    fn send(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Waits for the next line, and returns it without its end.
    fn next_line(&mut self, limit: Duration) -> io::Result<String>;

    /// Returns the next line that was read ahead; nothing where a client reads only what it waits for.
    fn line_read_ahead(&mut self) -> Option<String>;

    /// Returns what else a person needs who looks into a failure.
    fn circumstances(&self) -> String;
}

impl<W: Wire> Client<W> {
    pub(crate) fn new(wire: W) -> Self {
        Self { wire, heard: Vec::new(), next_id: 1 }
    }

    /// Sends bytes as they are.
    #[track_caller]
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        if let Err(error) = self.wire.send(bytes.as_ref()) {
            panic!("not sent: {error}\n{}", self.wire.circumstances());
        }
    }

    /// Sends a line.
    #[track_caller]
    pub fn send_line(&mut self, line: &str) {
        self.send([line, "\n"].concat());
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

    /// Sends a request and waits for the answer.
    #[track_caller]
    pub fn request(&mut self, method: &str, params: &Value) -> Message {
        let id = self.ask(method, params);
        self.answer(&id)
    }

    /// Calls a tool, and returns the id of the call.
    #[track_caller]
    pub fn ask_call(&mut self, tool: &str, arguments: &Value) -> String {
        self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// Calls a tool and waits for the answer.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Message {
        let id = self.ask_call(tool, arguments);
        self.answer(&id)
    }

    /// Begins the conversation as clients of the older revisions do.
    #[track_caller]
    pub(crate) fn introduce(&mut self, name: &str, capabilities: &Value) -> Message {
        let answer = self.request(
            "initialize",
            &json!({"protocolVersion": "2025-11-25", "capabilities": capabilities,
                "clientInfo": {"name": name, "version": "1"}}),
        );
        self.notify("notifications/initialized", &json!({}));
        answer
    }

    /// Waits for the answer to the request `id`, which is written as in JSON.
    #[track_caller]
    pub fn answer(&mut self, id: &str) -> Message {
        self.answer_to_any(&[id])
    }

    /// Waits for the next answer to one of several requests.
    #[track_caller]
    pub fn answer_to_any(&mut self, ids: &[&str]) -> Message {
        self.wait_for(&format!("answer to {ids:?}"), |it| ids.iter().any(|id| it.answers(id)))
    }

    /// Waits for a notification of `method` in which `text` stands.
    #[track_caller]
    pub fn notification(&mut self, method: &str, text: &str) -> Message {
        self.wait_for(&format!("{method} with `{text}`"), |it| {
            it.method() == Some(method) && it.line.contains(text)
        })
    }

    /// Returns the messages that came and were not waited for, without waiting for more.
    pub fn unread(&mut self) -> Vec<Message> {
        while let Some(line) = self.wire.line_read_ahead() {
            self.heard.push(Message::of(line));
        }
        std::mem::take(&mut self.heard)
    }

    #[track_caller]
    fn wait_for(&mut self, what: &str, is_it: impl Fn(&Message) -> bool) -> Message {
        if let Some(at) = self.heard.iter().position(&is_it) {
            return self.heard.remove(at);
        }
        let deadline = Instant::now() + DEADLINE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.wire.next_line(left) {
                Ok(line) => match Message::of(line) {
                    message if is_it(&message) => return message,
                    other => self.heard.push(other),
                },
                Err(error) => self.fail(what, &error),
            }
        }
    }

    #[track_caller]
    fn fail(&self, what: &str, error: &io::Error) -> ! {
        let shown = |it: &Message| it.line.chars().take(300).collect::<String>();
        let heard: Vec<String> = self.heard.iter().map(shown).collect();
        panic!("no {what}: {error}\nheard: {heard:#?}\n{}", self.wire.circumstances());
    }
}
