//! The binary while it runs: what it says on standard error is read line by line.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use ic_testkit::proxy::Process;
use ic_testkit::{Output, Place};
use rustix::process::Signal;

/// After this a line will not come any more.
pub(crate) const DEADLINE: Duration = Duration::from_mins(1);

/// A command that runs.
pub(crate) struct Started {
    child: Child,
    pub(crate) process: Process,
    stderr: Receiver<String>,
    stdout: JoinHandle<String>,
    /// What was read of standard error.
    pub(crate) seen: String,
}

impl Started {
    pub(crate) fn new(place: &Place, words: &[&str]) -> Self {
        let mut child = place.command(words).stdin(Stdio::null()).spawn().unwrap();
        let process = Process::hold(child.id());
        let (sender, stderr) = channel();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                sender.send(line).ok();
            }
        });
        let mut out = child.stdout.take().unwrap();
        let stdout = std::thread::spawn(move || {
            let mut text = String::new();
            out.read_to_string(&mut text).unwrap();
            text
        });
        Self { child, process, stderr, stdout, seen: String::new() }
    }

    /// Waits for a line of standard error with `text` in it.
    #[track_caller]
    pub(crate) fn expect(&mut self, text: &str) -> String {
        loop {
            let Ok(line) = self.stderr.recv_timeout(DEADLINE) else {
                panic!("no {text:?} in {}", self.seen)
            };
            self.seen.push_str(&line);
            self.seen.push('\n');
            if line.contains(text) {
                return line;
            }
        }
    }

    pub(crate) fn send(&self, signal: Signal) {
        self.process.send(signal);
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the processes that it has started, and those that these have.
    pub(crate) fn descendants(&self) -> Vec<u32> {
        crate::session::descendants(self.child.id())
    }

    /// Waits for the end; a signal that ended it counts as 128 and its number.
    #[track_caller]
    pub(crate) fn end(mut self) -> Output {
        assert!(self.process.is_gone_within(DEADLINE), "it still runs: {}", self.seen);
        let status = self.child.wait().unwrap();
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        let code = status.code().or(signal.map(|it| 128 + it)).unwrap();
        let stdout = self.stdout.join().unwrap();
        self.seen.extend(self.stderr.iter().flat_map(|line| [line, "\n".to_owned()]));
        Output { code, stdout, stderr: self.seen }
    }
}
