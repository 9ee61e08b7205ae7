//! A client for measurements: talks MCP to a child process, and keeps a number of calls in flight.
//!
//! One thread and no runtime, so that what is measured is the other side.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

/// A server, and the connection to it.
#[derive(Debug)]
pub struct Peer {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    next_id: u64,
    /// From the start of the process to the answer to `initialize`.
    pub ready_after: Duration,
}

/// What of a message tells whose answer it is, and whether it is a good one.
#[derive(Deserialize)]
struct Envelope {
    id: Option<u64>,
    result: Option<Shown>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Shown {
    #[serde(default, rename = "isError")]
    is_error: bool,
}

impl Peer {
    /// Starts a server and introduces itself.
    pub fn start(command: &mut Command) -> anyhow::Result<Self> {
        let start = Instant::now();
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let stdin = child.stdin.take().context("piped")?;
        let stdout = BufReader::with_capacity(1 << 16, child.stdout.take().context("piped")?);
        let mut peer = Self { child, stdin, stdout, next_id: 1, ready_after: Duration::ZERO };
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        });
        peer.ask("initialize", &hello)?;
        peer.ready_after = start.elapsed();
        writeln!(peer.stdin, r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#)?;
        Ok(peer)
    }

    /// Returns the process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Makes one request and returns the answer.
    pub fn ask(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        let id = self.send(method, params)?;
        loop {
            let mut line = String::new();
            ensure!(self.stdout.read_line(&mut line)? != 0, "the server ended");
            let message: Value = serde_json::from_str(&line)?;
            if message.get("id") == Some(&json!(id)) {
                return match message.get("error") {
                    Some(error) => bail!("{method}: {error}"),
                    None => Ok(message.get("result").cloned().unwrap_or_default()),
                };
            }
        }
    }

    /// Makes `n_calls` calls, up to `n_flying` at a time; returns the time that each took.
    pub fn fly(
        &mut self,
        n_calls: usize,
        n_flying: usize,
        call: &mut dyn FnMut() -> Value,
    ) -> anyhow::Result<Vec<Duration>> {
        let mut flying: HashMap<u64, Instant> = HashMap::with_capacity(n_flying);
        let mut times = Vec::with_capacity(n_calls);
        let (mut n_sent, mut line) = (0, String::new());
        while times.len() < n_calls {
            while n_sent < n_calls && flying.len() < n_flying {
                let params = call();
                let sent = Instant::now();
                flying.insert(self.send("tools/call", &params)?, sent);
                n_sent += 1;
            }
            line.clear();
            ensure!(self.stdout.read_line(&mut line)? != 0, "the server ended");
            let Envelope { id, result, error } = serde_json::from_str(&line)?;
            let Some(sent) = id.and_then(|id| flying.remove(&id)) else { continue };
            times.push(sent.elapsed());
            let is_good = error.is_none() && result.is_some_and(|result| !result.is_error);
            ensure!(is_good, "a call failed: {line}");
        }
        Ok(times)
    }

    /// Waits for the next answer, which must be a good one, and returns whose it is.
    pub fn next_answer(&mut self) -> anyhow::Result<u64> {
        loop {
            let mut line = String::new();
            ensure!(self.stdout.read_line(&mut line)? != 0, "the server ended");
            let Envelope { id, result, error } = serde_json::from_str(&line)?;
            let Some(id) = id else { continue };
            let is_good = error.is_none() && result.is_some_and(|result| !result.is_error);
            ensure!(is_good, "a call failed: {line}");
            return Ok(id);
        }
    }

    /// Makes a request, and returns its id.
    pub fn send(&mut self, method: &str, params: &Value) -> anyhow::Result<u64> {
        let id = self.next_id;
        self.next_id += 1;
        let mut line =
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
        line.push('\n');
        self.stdin.write_all(line.as_bytes())?;
        Ok(id)
    }

    /// Closes the connection and waits for the process to end.
    pub fn close(self) -> anyhow::Result<()> {
        let Self { mut child, stdin, .. } = self;
        drop(stdin);
        ensure!(child.wait()?.success(), "the server ended badly");
        Ok(())
    }
}

/// Reads a size of the process `pid` in KiB, such as `VmRSS`.
pub fn memory_kib(pid: u32, what: &str) -> anyhow::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find(|line| line.starts_with(what)).context("a line of status")?;
    let kib = line.split_whitespace().nth(1).context("a figure")?;
    Ok(kib.parse()?)
}

/// Counts the open descriptors of the process `pid`.
pub fn descriptors(pid: u32) -> anyhow::Result<usize> {
    Ok(std::fs::read_dir(format!("/proc/{pid}/fd"))?.count())
}
