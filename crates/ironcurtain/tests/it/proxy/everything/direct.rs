//! A client of a server without a proxy in between.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// A server that runs, and the client's side of its pipes.
pub(super) struct Direct {
    child: Child,
    lines: BufReader<ChildStdout>,
    /// What came while something else was waited for.
    heard: Vec<Value>,
    next_id: u64,
}

impl Direct {
    /// Starts the server and begins the conversation; returns what it says of itself, too.
    pub(super) fn start(command: &mut Command) -> (Self, Value) {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut direct = Self { child, lines, heard: Vec::new(), next_id: 1 };
        // As the client of the proxy does.
        let introduction = direct.request(
            "initialize",
            &json!({"protocolVersion": "2025-11-25", "capabilities": {"roots": {}, "sampling": {},
                "elicitation": {}}, "clientInfo": {"name": "test", "version": "1"}}),
        );
        direct.notify("notifications/initialized", &json!({}));
        (direct, introduction["result"].clone())
    }

    pub(super) fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request and waits for its answer.
    #[track_caller]
    pub(super) fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send_request(method, params);
        self.wait_for(method, |it| it["id"] == id && it.get("method").is_none())
    }

    /// Sends a request, and returns its id.
    pub(super) fn send_request(&mut self, method: &str, params: &Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Waits for a notification in which this stands.
    #[track_caller]
    pub(super) fn hear(&mut self, text: &str) -> Value {
        self.wait_for(text, |it| it.get("id").is_none() && it.to_string().contains(text))
    }

    /// Returns what came and was not waited for.
    pub(super) fn unread(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.heard)
    }

    #[track_caller]
    fn wait_for(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.heard.iter().position(&is_it) {
            return self.heard.remove(at);
        }
        loop {
            let mut line = String::new();
            assert_ne!(self.lines.read_line(&mut line).unwrap(), 0, "{what}: it ended");
            let message: Value = serde_json::from_str(&line).unwrap();
            match (message.get("id"), message["method"].as_str()) {
                (Some(id), Some("roots/list")) => {
                    let roots = json!([{"uri": "file:///elsewhere", "name": "theirs"}]);
                    self.send(&json!({"jsonrpc": "2.0", "id": id, "result": {"roots": roots}}));
                }
                _ if is_it(&message) => return message,
                _ => self.heard.push(message),
            }
        }
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{message}").unwrap();
    }
}

impl Drop for Direct {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
