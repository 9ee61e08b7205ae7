//! A client for measurements: talks MCP to a child process or on a socket, and keeps a number of calls
//! in flight.
//!
//! One thread and no runtime, so that what is measured is the other side.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::ops::{Deref, DerefMut};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

/// How long an answer on a socket may take.
const ANSWER_MAX: Duration = Duration::from_mins(2);

/// A server of our own, and the connection to it.
#[derive(Debug)]
pub struct Peer {
    child: Child,
    connection: Connection,
    /// From the start of the process to the answer to `initialize`.
    pub ready_after: Duration,
}

/// A connection to a server.
pub struct Connection {
    to: Box<dyn Write + Send>,
    from: BufReader<Box<dyn Read + Send>>,
    next_id: u64,
}

/// An answer to a request.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// Which request.
    pub id: u64,
    /// Whether the call was made and succeeded.
    pub is_good: bool,
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
        let to = Box::new(child.stdin.take().context("piped")?);
        let from = Box::new(child.stdout.take().context("piped")?);
        let connection = Connection::over(to, from)?;
        Ok(Self { child, connection, ready_after: start.elapsed() })
    }

    /// Returns the process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Closes the connection and waits for the process to end.
    pub fn close(self) -> anyhow::Result<()> {
        let Self { mut child, connection, .. } = self;
        drop(connection);
        ensure!(child.wait()?.success(), "the server ended badly");
        Ok(())
    }
}

impl Deref for Peer {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl DerefMut for Peer {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("next_id", &self.next_id).finish_non_exhaustive()
    }
}

/// A request that was answered with an error.
#[derive(Debug)]
pub struct Refused(String);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

impl Connection {
    /// Connects to a socket and introduces itself; there, an answer that does not come is an error.
    pub fn connect(socket: &Path) -> anyhow::Result<Self> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(ANSWER_MAX))?;
        Self::over(Box::new(stream.try_clone()?), Box::new(stream))
    }

    /// Introduces itself.
    fn over(to: Box<dyn Write + Send>, from: Box<dyn Read + Send>) -> anyhow::Result<Self> {
        let mut connection = Self { to, from: BufReader::with_capacity(1 << 16, from), next_id: 1 };
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        });
        connection.ask("initialize", &hello)?;
        connection.send_raw(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)?;
        Ok(connection)
    }

    /// Makes one request and returns the answer.
    pub fn ask(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        self.ask_timed(method, params).map(|(_, result)| result)
    }

    /// The same, with the time until the answer was there; reading it is the client's own affair.
    pub fn ask_timed(&mut self, method: &str, params: &Value) -> anyhow::Result<(Duration, Value)> {
        let began = Instant::now();
        let id = self.send(method, params)?;
        loop {
            let mut line = String::new();
            ensure!(self.from.read_line(&mut line)? != 0, "the server ended");
            let took = began.elapsed();
            let message: Value = serde_json::from_str(&line)?;
            if message.get("id") == Some(&json!(id)) {
                return match message.get("error") {
                    Some(error) => bail!(Refused(format!("{method}: {error}"))),
                    None => Ok((took, message.get("result").cloned().unwrap_or_default())),
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
            let Answer { id, is_good } = self.read_answer(&mut line)?;
            let Some(sent) = flying.remove(&id) else { continue };
            times.push(sent.elapsed());
            ensure!(is_good, "a call failed: {line}");
        }
        Ok(times)
    }

    /// Waits for the next answer, which must be a good one, and returns whose it is.
    pub fn next_answer(&mut self) -> anyhow::Result<u64> {
        let mut line = String::new();
        let Answer { id, is_good } = self.read_answer(&mut line)?;
        ensure!(is_good, "a call failed: {line}");
        Ok(id)
    }

    /// Makes one call, and says whether it was served.
    pub fn is_served(&mut self, call: &Value) -> anyhow::Result<bool> {
        self.send("tools/call", call)?;
        Ok(self.read_answer(&mut String::new())?.is_good)
    }

    /// Waits for the next answer, good or bad, which is read into `line`.
    pub fn read_answer(&mut self, line: &mut String) -> anyhow::Result<Answer> {
        loop {
            line.clear();
            let n_bytes = self.from.read_line(line).context("no answer comes")?;
            ensure!(n_bytes != 0, "the server ended");
            let Envelope { id, result, error } = serde_json::from_str(line)?;
            let Some(id) = id else { continue };
            let is_good = error.is_none() && result.is_some_and(|result| !result.is_error);
            return Ok(Answer { id, is_good });
        }
    }

    /// Returns the id of the next request.
    pub fn next_id(&self) -> u64 {
        self.next_id
    }

    /// Makes a request, and returns its id.
    pub fn send(&mut self, method: &str, params: &Value) -> anyhow::Result<u64> {
        let id = self.next_id;
        self.next_id += 1;
        self.send_raw(
            &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string(),
        )?;
        Ok(id)
    }

    /// Sends a line as it is.
    pub fn send_raw(&mut self, line: &str) -> anyhow::Result<()> {
        self.to.write_all([line, "\n"].concat().as_bytes())?;
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

/// Counts the threads of the process `pid`.
pub fn threads(pid: u32) -> anyhow::Result<usize> {
    Ok(std::fs::read_dir(format!("/proc/{pid}/task"))?.count())
}

/// Counts the open descriptors of the process `pid`.
pub fn descriptors(pid: u32) -> anyhow::Result<usize> {
    Ok(std::fs::read_dir(format!("/proc/{pid}/fd"))?.count())
}
