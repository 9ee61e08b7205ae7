//! A client of `ironcurtain proxy`: the real binary on pipes, its streams, its process and its log.
//!
//! What it says and waits for is in [`Client`]; here are only the pipes, and the ends of a process.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    reason = "test support: it runs the binary, and a failure is a failed test"
)]

mod process;

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, Signal};
use serde_json::{Value, json};

use crate::Place;
use crate::client::{Client, Wire};

pub use crate::client::{DEADLINE, Message};
pub use process::Process;

/// A proxy that runs, and a client that has its pipes.
pub type Proxy = Client<Pipes>;

/// The other ends of the proxy's standard streams, and its process.
#[derive(Debug)]
pub struct Pipes {
    child: Child,
    process: Process,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Dropped when the client begins to read.
    not_reading: Option<Sender<()>>,
    stderr: Arc<Mutex<String>>,
    reading_stderr: Option<JoinHandle<()>>,
}

/// What a client reads of the proxy's output.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reads {
    /// Both streams.
    Everything,
    /// Standard error alone, until [`Proxy::begin_to_read`].
    NotStdout,
    /// Standard output alone, for ever.
    NotStderr,
}

impl Proxy {
    /// Starts `ironcurtain proxy` with `arguments`.
    pub fn start(place: &Place, arguments: &[&str]) -> Self {
        Self::start_reading(place, arguments, Reads::Everything)
    }

    /// Starts `ironcurtain proxy` for a client that does not read all that it is told.
    pub fn start_reading(place: &Place, arguments: &[&str], reads: Reads) -> Self {
        let words = [&["proxy"], arguments].concat();
        let mut child = place.command(words).spawn().expect("the proxy starts");
        let stdin = child.stdin.take();
        let (line, lines) = channel();
        let (not_reading, begin) = channel();
        let stdout = child.stdout.take().expect("piped");
        std::thread::spawn(move || {
            // An error means that the other end was dropped, which is what is waited for.
            begin.recv().ok();
            read_lines(stdout, &line);
        });
        let stderr = Arc::new(Mutex::new(String::new()));
        let words = child.stderr.take().expect("piped");
        let (into, reads_stderr) = (Arc::clone(&stderr), reads != Reads::NotStderr);
        let reading_stderr = std::thread::spawn(move || read_words(words, &into, reads_stderr));
        let process = Process::hold(child.id());
        let mut proxy = Self::new(Pipes {
            child,
            process,
            stdin,
            lines,
            not_reading: Some(not_reading),
            stderr,
            reading_stderr: Some(reading_stderr),
        });
        if reads != Reads::NotStdout {
            proxy.begin_to_read();
        }
        proxy
    }

    /// Begins to read standard output.
    pub fn begin_to_read(&mut self) {
        self.wire.not_reading = None;
    }

    /// Returns the proxy's process.
    pub fn process(&self) -> &Process {
        &self.wire.process
    }

    /// Returns what the proxy wrote to its standard error so far.
    pub fn stderr(&self) -> String {
        self.wire.stderr()
    }

    /// Returns all that the proxy wrote to its standard error, once it has ended.
    #[track_caller]
    pub fn all_stderr(&mut self) -> String {
        if let Some(reading) = self.wire.reading_stderr.take() {
            reading.join().expect("it reads to the end");
        }
        self.stderr()
    }

    /// Begins the conversation as clients of the older revisions do.
    #[track_caller]
    pub fn initialize(&mut self) -> Message {
        self.introduce("test", &json!({"roots": {}, "sampling": {}, "elicitation": {}}))
    }

    /// Hands out the proxy's standard input, for a test that writes more than the proxy takes in.
    #[track_caller]
    pub fn take_stdin(&mut self) -> ChildStdin {
        self.wire.stdin.take().expect("standard input is open")
    }

    /// Sets a limit of the system's for the proxy.
    pub fn limit(&self, resource: Resource, limit: Rlimit) {
        self.wire.process.limit(resource, limit);
    }

    /// Closes the proxy's standard input.
    pub fn close(&mut self) {
        self.wire.stdin = None;
    }

    /// Sends a signal to the proxy.
    pub fn signal(&self, signal: Signal) {
        self.wire.process.send(signal);
    }

    /// Waits for the proxy to end, and returns its exit code.
    #[track_caller]
    pub fn end(&mut self) -> i32 {
        self.end_within(DEADLINE)
    }

    /// Waits for the proxy to end within `limit`, and returns its exit code.
    #[track_caller]
    pub fn end_within(&mut self, limit: Duration) -> i32 {
        assert!(
            self.wire.process.is_gone_within(limit),
            "it still runs; stderr: {}",
            self.stderr()
        );
        let status = self.wire.child.wait().expect("ours");
        status.code().unwrap_or_else(|| panic!("killed: {status}"))
    }

    /// Closes standard input and waits for the proxy to end well.
    #[track_caller]
    pub fn finish(&mut self) {
        self.close();
        assert_eq!(self.end(), 0, "stderr: {}", self.stderr());
    }

    /// Ends the proxy like `kill -9`.
    pub fn kill(&mut self) {
        self.wire.child.kill().expect("ours");
        self.wire.child.wait().expect("ours");
    }
}

impl Pipes {
    fn stderr(&self) -> String {
        self.stderr.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Wire for Pipes {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let stdin = self.stdin.as_mut().expect("standard input is open");
        stdin.write_all(bytes).and_then(|()| stdin.flush())
    }

    fn next_line(&mut self, limit: Duration) -> io::Result<String> {
        self.lines.recv_timeout(limit).map_err(io::Error::other)
    }

    fn line_read_ahead(&mut self) -> Option<String> {
        self.lines.try_recv().ok()
    }

    fn circumstances(&self) -> String {
        format!("stderr: {}", self.stderr())
    }
}

/// No test leaves a proxy behind, also if it fails.
impl Drop for Pipes {
    fn drop(&mut self) {
        // It may have ended by itself.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn read_lines(stdout: ChildStdout, lines: &Sender<String>) {
    for line in BufReader::new(stdout).lines() {
        // Whoever wanted to know may be gone.
        let Ok(line) = line else { return };
        if lines.send(line).is_err() {
            return;
        }
    }
}

fn read_words(mut stderr: ChildStderr, into: &Mutex<String>, is_reading: bool) {
    let mut bytes = [0; 4096];
    if !is_reading {
        // Held open and never read.
        std::mem::forget(stderr);
        return;
    }
    while let Ok(n_bytes @ 1..) = stderr.read(&mut bytes) {
        let text = String::from_utf8_lossy(bytes.get(..n_bytes).unwrap_or_default()).into_owned();
        into.lock().unwrap_or_else(PoisonError::into_inner).push_str(&text);
    }
}

// === the session ===

/// Returns the audit log of the newest session of `place`.
#[track_caller]
pub fn audit_log(place: &Place) -> PathBuf {
    audit_logs(place).pop().expect("a session")
}

/// Returns the records of all sessions of `place`, oldest first; none of one that is just beginning.
#[track_caller]
pub fn records(place: &Place) -> Vec<Value> {
    let record = |line: &str| serde_json::from_str(line).expect("a record on each line");
    let logs = audit_logs(place).into_iter().filter(|log| log.exists());
    let texts = logs.map(|log| std::fs::read_to_string(log).expect("a log in UTF-8"));
    texts.flat_map(|text| text.lines().map(record).collect::<Vec<Value>>()).collect()
}

fn audit_logs(place: &Place) -> Vec<PathBuf> {
    place.sessions().into_iter().map(|it| it.join("audit.jsonl")).collect()
}
