//! A client of `ironcurtain proxy`: the real binary on pipes, with every message as it was written.
//!
//! It sends whatever bytes a test wants, well-formed or not, and waits for answers with a deadline.
//! It knows JSON-RPC as far as ids go; what a message means is the test's business.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    reason = "test support: it runs the binary, and a failure is a failed test"
)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, Signal};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::Place;

/// After this, an event will not come any more.
pub const DEADLINE: Duration = Duration::from_mins(3);

/// A proxy that runs, and the client's side of its pipes.
#[derive(Debug)]
pub struct Proxy {
    child: Child,
    process: Process,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Messages that came while another one was waited for.
    heard: Vec<Message>,
    /// Dropped when the client begins to read.
    not_reading: Option<Sender<()>>,
    stderr: Arc<Mutex<String>>,
    reading_stderr: Option<JoinHandle<()>>,
    next_id: u64,
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

/// A message of the proxy's, as it was written.
#[derive(Clone, Debug)]
pub struct Message {
    /// The line, without its end.
    pub line: String,
    id: Option<String>,
    method: Option<String>,
}

/// A process, held so that nobody else is taken for it.
#[derive(Debug)]
pub struct Process {
    pid: Pid,
    held: OwnedFd,
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
        let mut proxy = Self {
            child,
            process,
            stdin,
            lines,
            heard: Vec::new(),
            not_reading: Some(not_reading),
            stderr,
            reading_stderr: Some(reading_stderr),
            next_id: 1,
        };
        if reads != Reads::NotStdout {
            proxy.begin_to_read();
        }
        proxy
    }

    /// Begins to read standard output.
    pub fn begin_to_read(&mut self) {
        self.not_reading = None;
    }

    /// Returns the proxy's process.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Returns what the proxy wrote to its standard error so far.
    pub fn stderr(&self) -> String {
        self.stderr.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns all that the proxy wrote to its standard error, once it has ended.
    #[track_caller]
    pub fn all_stderr(&mut self) -> String {
        if let Some(reading) = self.reading_stderr.take() {
            reading.join().expect("it reads to the end");
        }
        self.stderr()
    }

    /// Sends bytes as they are.
    #[track_caller]
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let stdin = self.stdin.as_mut().expect("standard input is open");
        let sent = stdin.write_all(bytes.as_ref()).and_then(|()| stdin.flush());
        sent.unwrap_or_else(|error| panic!("{error}; stderr: {}", self.stderr()));
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

    /// Calls a tool and waits for the answer.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Message {
        let id = self.ask_call(tool, arguments);
        self.answer(&id)
    }

    /// Calls a tool, and returns the id of the call.
    #[track_caller]
    pub fn ask_call(&mut self, tool: &str, arguments: &Value) -> String {
        self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// Begins the conversation as clients of the older revisions do.
    #[track_caller]
    pub fn initialize(&mut self) -> Message {
        let answer = self.request(
            "initialize",
            &json!({"protocolVersion": "2025-11-25", "capabilities": {"roots": {}, "sampling": {},
                "elicitation": {}}, "clientInfo": {"name": "test", "version": "1"}}),
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
        self.wait_for(&format!("answer to {ids:?}"), |it| {
            it.method.is_none() && it.id.as_deref().is_some_and(|id| ids.contains(&id))
        })
    }

    /// Waits for a notification of `method` in which `text` stands.
    #[track_caller]
    pub fn notification(&mut self, method: &str, text: &str) -> Message {
        self.wait_for(&format!("{method} with `{text}`"), |it| {
            it.method.as_deref() == Some(method) && it.line.contains(text)
        })
    }

    /// Returns the messages that came and were not waited for, without waiting for more.
    pub fn unread(&mut self) -> Vec<Message> {
        while let Ok(line) = self.lines.try_recv() {
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
            match self.lines.recv_timeout(left) {
                Ok(line) => match Message::of(line) {
                    message if is_it(&message) => return message,
                    other => self.heard.push(other),
                },
                Err(error) => self.fail(what, error),
            }
        }
    }

    #[track_caller]
    fn fail(&self, what: &str, error: RecvTimeoutError) -> ! {
        let shown = |it: &Message| it.line.chars().take(300).collect::<String>();
        let heard: Vec<String> = self.heard.iter().map(shown).collect();
        panic!("no {what}: {error}\nheard: {heard:#?}\nstderr: {}", self.stderr());
    }

    /// Hands out the proxy's standard input, for a test that writes more than the proxy takes in.
    #[track_caller]
    pub fn take_stdin(&mut self) -> ChildStdin {
        self.stdin.take().expect("standard input is open")
    }

    /// Sets a limit of the system's for the proxy.
    pub fn limit(&self, resource: Resource, limit: Rlimit) {
        rustix::process::prlimit(Some(self.process.pid), resource, limit).expect("ours");
    }

    /// Closes the proxy's standard input.
    pub fn close(&mut self) {
        self.stdin = None;
    }

    /// Sends a signal to the proxy.
    pub fn signal(&self, signal: Signal) {
        self.process.send(signal);
    }

    /// Waits for the proxy to end, and returns its exit code.
    #[track_caller]
    pub fn end(&mut self) -> i32 {
        self.end_within(DEADLINE)
    }

    /// Waits for the proxy to end within `limit`, and returns its exit code.
    #[track_caller]
    pub fn end_within(&mut self, limit: Duration) -> i32 {
        assert!(self.process.is_gone_within(limit), "it still runs; stderr: {}", self.stderr());
        let status = self.child.wait().expect("ours");
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
        self.child.kill().expect("ours");
        self.child.wait().expect("ours");
    }
}

/// No test leaves a proxy behind, also if it fails.
impl Drop for Proxy {
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

// === impl Message ===

/// What tells messages apart; numbers of any size stay as they are.
#[derive(Deserialize)]
struct Envelope {
    id: Option<Box<RawValue>>,
    method: Option<String>,
}

impl Message {
    #[track_caller]
    pub(crate) fn of(line: String) -> Self {
        let envelope: Envelope = serde_json::from_str(&line)
            .unwrap_or_else(|error| panic!("{error} in what the proxy wrote: {line}"));
        // A `null` is read as an absent one.
        let is_null = line.contains("\"id\":null");
        let id = envelope.id.map(|id| id.get().to_owned()).or(is_null.then(|| "null".to_owned()));
        Self { id, method: envelope.method, line }
    }

    /// Returns the message as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.line).unwrap_or_else(|error| panic!("{error}: {}", self.line))
    }

    /// Returns whether it is the answer to the request `id`, which is written as in JSON.
    pub fn answers(&self, id: &str) -> bool {
        self.method.is_none() && self.id.as_deref() == Some(id)
    }

    /// Returns the method of a notification.
    pub fn method(&self) -> Option<&str> {
        self.method.as_deref()
    }

    /// Returns the result of a call that was answered with one.
    #[track_caller]
    pub fn result(&self) -> Value {
        let mut json = self.json();
        assert!(json.get("result").is_some(), "no result: {}", self.shown());
        json.get_mut("result").map(Value::take).unwrap_or_default()
    }

    /// Returns the code and the message of an error.
    #[track_caller]
    pub fn error(&self) -> (i64, String) {
        let json = self.json();
        let field =
            |name: &str| json.pointer(&format!("/error/{name}")).cloned().unwrap_or_default();
        match (field("code").as_i64(), field("message").as_str()) {
            (Some(code), Some(message)) => (code, message.to_owned()),
            _ => panic!("no error: {}", self.shown()),
        }
    }

    /// Returns the text of a result's first part.
    #[track_caller]
    pub fn text(&self) -> String {
        let result = self.result();
        let text = result.pointer("/content/0/text").and_then(Value::as_str);
        text.unwrap_or_else(|| panic!("no text: {}", self.shown())).to_owned()
    }

    /// Returns the text of a result that says that something went well.
    #[track_caller]
    pub fn good(&self) -> String {
        assert_ne!(self.result().get("isError"), Some(&json!(true)), "{}", self.shown());
        self.text()
    }

    /// Returns the text of a result that says that something went wrong.
    #[track_caller]
    pub fn bad(&self) -> String {
        assert_eq!(self.result().get("isError"), Some(&json!(true)), "{}", self.shown());
        self.text()
    }

    fn shown(&self) -> String {
        self.line.chars().take(1000).collect()
    }
}

// === impl Process ===

impl Process {
    /// Holds the process `pid`, which must run.
    #[track_caller]
    pub fn hold(pid: u32) -> Self {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a number");
        let held = rustix::process::pidfd_open(pid, PidfdFlags::empty()).expect("it runs");
        Self { pid, held }
    }

    /// Sends a signal.
    #[track_caller]
    pub fn send(&self, signal: Signal) {
        rustix::process::pidfd_send_signal(&self.held, signal).expect("it runs");
    }

    /// Sends a signal to a process that may have ended.
    #[track_caller]
    pub fn send_if_it_runs(&self, signal: Signal) {
        match rustix::process::pidfd_send_signal(&self.held, signal) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => panic!("{error}"),
        }
    }

    /// Waits for the process to end.
    pub fn is_gone_within(&self, limit: Duration) -> bool {
        let limit = Timespec::try_from(limit).expect("small");
        let mut events = [PollFd::new(&self.held, PollFlags::IN)];
        rustix::event::poll(&mut events, Some(&limit)) == Ok(1)
    }

    /// Returns the most memory that the process ever had, in MiB.
    pub fn peak_mib(&self) -> u64 {
        let path = format!("/proc/{}/status", self.pid);
        let status = std::fs::read_to_string(path).expect("it runs");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = peak.and_then(|it| it.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
        kib.expect("a number of kB") / 1024
    }

    /// Returns the memory that the process has now, in KiB.
    pub fn resident_kib(&self) -> u64 {
        let path = format!("/proc/{}/status", self.pid);
        let status = std::fs::read_to_string(path).expect("it runs");
        let now = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = now.and_then(|it| it.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
        kib.expect("a number of kB")
    }

    /// Returns how many descriptors the process has open.
    pub fn n_descriptors(&self) -> usize {
        let entries = std::fs::read_dir(format!("/proc/{}/fd", self.pid)).expect("it runs");
        entries.count()
    }

    /// Returns the environment that the process was started with.
    pub fn environment(&self) -> String {
        let bytes = std::fs::read(format!("/proc/{}/environ", self.pid)).expect("it runs");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Returns all processes that were started with `text` in their environment.
    pub fn with_environment(text: &str) -> Vec<Self> {
        let entries = std::fs::read_dir("/proc").expect("a list of processes");
        let pids = entries.filter_map(|it| it.ok()?.file_name().to_str()?.parse().ok());
        pids.filter_map(|pid: i32| {
            let held =
                rustix::process::pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
            let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
            let is_marked = environment.windows(text.len()).any(|it| it == text.as_bytes());
            is_marked.then(|| Self { pid: Pid::from_raw(pid).expect("a number"), held })
        })
        .collect()
    }
}

// === the session ===

/// Returns the audit log of the newest session of `place`.
#[track_caller]
pub fn audit_log(place: &Place) -> PathBuf {
    audit_logs(place).pop().expect("a session")
}

/// Returns the records of all sessions of `place`, oldest first.
#[track_caller]
pub fn records(place: &Place) -> Vec<Value> {
    let record = |line: &str| serde_json::from_str(line).expect("a record on each line");
    let logs = audit_logs(place).into_iter();
    let texts = logs.map(|log| std::fs::read_to_string(log).expect("a log in UTF-8"));
    texts.flat_map(|text| text.lines().map(record).collect::<Vec<Value>>()).collect()
}

fn audit_logs(place: &Place) -> Vec<PathBuf> {
    place.sessions().into_iter().map(|it| it.join("audit.jsonl")).collect()
}
