//! From the script to the host: calls that wait for their replies, and what is printed.
//!
//! The limits that are kept here are a courtesy to the script, which gets an error instead of its end.

use std::io;

use ic_types::{Json, JsonLimits, Object, ToolCall};

use super::help;
use crate::catalogue::Catalogue;
use crate::frame;
use crate::limits::{FRAME_BYTES_MAX, PRINT_BYTES_MAX, PRINT_HEAP_BYTES, PROMPT_PRINTS_MAX};
use crate::output::{as_u64, ceil};
use crate::wire::{Reply, Said, denial_to_json};

/// The script's way to the host.
#[derive(Debug)]
pub(super) struct Bridge {
    catalogue: Catalogue,
    calls_max: u64,
    n_calls: u64,
    /// What was printed and not sent yet.
    heap: String,
    n_prints: u64,
    n_sent: usize,
    /// Bytes that were printed and are never sent.
    n_missing: u64,
}

impl Bridge {
    pub(super) fn new(catalogue: Catalogue, calls_max: u64) -> Self {
        Self {
            catalogue,
            calls_max,
            n_calls: 0,
            heap: String::new(),
            n_prints: 0,
            n_sent: 0,
            n_missing: 0,
        }
    }

    /// Makes a call, and returns what came of it as a JSON array: a word, and what goes with it.
    pub(super) fn call(&mut self, server: &str, tool: &str, arguments: &str) -> String {
        let (word, value) = match self.try_call(server, tool, arguments) {
            Ok(Reply::Value(value)) => ("value", value),
            Ok(Reply::Failed(message)) => ("failed", message.into()),
            Ok(Reply::Denied(denial)) => ("denied", denial_to_json(&denial).into()),
            Err(Refusal::Limit(message)) => ("limit", message.into()),
            Err(Refusal::Arguments(message)) => ("arguments", message.into()),
        };
        Json::Array(vec![word.into(), value]).to_string()
    }

    fn try_call(&mut self, server: &str, tool: &str, arguments: &str) -> Result<Reply, Refusal> {
        let arguments = match Json::parse(arguments.as_bytes(), JsonLimits::CALL) {
            Ok(Json::Object(arguments)) => arguments,
            Ok(_) => return Err(Refusal::Arguments("the arguments are not an object".to_owned())),
            Err(error) => {
                return Err(Refusal::Arguments(format!("the arguments cannot be sent: {error}")));
            }
        };
        if self.calls_max <= self.n_calls {
            let message = format!("a script makes at most {} calls", self.calls_max);
            return Err(Refusal::Limit(message));
        }
        let call = self.named(server, tool, arguments)?;
        self.flush();
        self.n_calls += 1;
        let id = self.n_calls;
        say(&Said::Call { id, call });
        let frame = frame::read(&mut io::stdin().lock(), FRAME_BYTES_MAX);
        match frame.map(|frame| Reply::read(&frame, id)) {
            Ok(Ok(reply)) => Ok(reply),
            // Without the host there is nothing left to do.
            Ok(Err(_)) | Err(_) => leave(),
        }
    }

    fn named(&self, server: &str, tool: &str, arguments: Object) -> Result<ToolCall, Refusal> {
        let Some((server, tool)) = self.catalogue.tool(server, tool) else {
            return Err(Refusal::Arguments("there is no such tool".to_owned()));
        };
        Ok(ToolCall { server: server.name.clone(), tool: tool.name.clone(), arguments })
    }

    /// Takes a line that was printed.
    pub(super) fn print(&mut self, line: &str) {
        self.n_prints += 1;
        self.heap.push_str(line);
        self.heap.push('\n');
        if PRINT_BYTES_MAX <= self.n_sent {
            // From here on only the end is kept, and sent at the end.
            if PRINT_HEAP_BYTES * 4 < self.heap.len() {
                let at = ceil(&self.heap, self.heap.len() - PRINT_HEAP_BYTES * 2);
                self.heap.drain(..at);
                self.n_missing += as_u64(at);
            }
        } else if self.n_prints <= PROMPT_PRINTS_MAX || PRINT_HEAP_BYTES <= self.heap.len() {
            self.flush();
        }
    }

    /// Sends what was printed.
    pub(super) fn flush(&mut self) {
        if self.heap.is_empty() {
            return;
        }
        if PRINT_BYTES_MAX <= self.n_sent {
            return;
        }
        self.send();
    }

    /// Sends what was printed, also the end of what was too much.
    pub(super) fn finish(&mut self) {
        if !self.heap.is_empty() {
            self.send();
        }
    }

    fn send(&mut self) {
        let text = std::mem::take(&mut self.heap);
        let n_missing = std::mem::take(&mut self.n_missing);
        let room = PRINT_BYTES_MAX.saturating_sub(self.n_sent).max(PRINT_HEAP_BYTES * 2);
        self.n_sent = self.n_sent.saturating_add(text.len());
        if text.len() <= room {
            return say(&Said::Print { text, n_missing });
        }
        // One line can be longer than all that is sent.
        let (first, rest) = text.split_at(ceil(&text, room / 2));
        let cut = ceil(rest, rest.len().saturating_sub(room / 2));
        let (_, last) = rest.split_at(cut);
        say(&Said::Print { text: first.to_owned(), n_missing });
        say(&Said::Print { text: last.to_owned(), n_missing: as_u64(cut) });
    }

    /// Returns what there is to say about a server or a tool, or about all of them.
    pub(super) fn help(&self, topic: &str) -> String {
        help::about(&self.catalogue, topic)
    }
}

/// Why a call is not sent.
enum Refusal {
    Arguments(String),
    Limit(String),
}

fn say(said: &Said) {
    if frame::write(&mut io::stdout().lock(), said.write().as_bytes()).is_err() {
        leave();
    }
}

/// Ends the process: the host is gone, or is not ours.
#[expect(clippy::exit, reason = "the script that called us must not go on, whatever it catches")]
fn leave() -> ! {
    std::process::exit(1)
}
