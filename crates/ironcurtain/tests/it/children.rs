//! Servers as the binary starts them: what they are given, how they end, and that nothing is left.
//!
//! All processes are real. Nothing waits for a while: tests wait for an event, with a deadline.

mod ended;
mod given;
mod host;
mod killed;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use ic_confine::{Child, ChildSpec, Hold, Launcher};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use tokio::process::ChildStdout;

/// After this an event will not come any more.
const DEADLINE: Duration = Duration::from_secs(20);

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Tells of itself, a child, a grandchild, and of a daemon and its child, which forked twice and are
/// in a session of their own; then does what `then` says.
fn family(then: &str) -> String {
    let family = "echo $$; sleep 600 & echo $!; sh -c 'sleep 600 & echo $!; wait' & \
         (setsid sh -c 'echo $$; sleep 600 & echo $!; wait' &)";
    format!("{family}; {then}")
}

/// How many `family` tells of.
const N_FAMILY: usize = 5;

fn launcher() -> Launcher {
    Launcher::at(env!("CARGO_BIN_EXE_ironcurtain"))
}

fn spec(program: impl Into<PathBuf>, arguments: &[&str]) -> ChildSpec {
    ChildSpec {
        program: program.into(),
        arguments: arguments.iter().map(OsString::from).collect(),
        environment: vec![("PATH".into(), PATH.into())],
        directory: Some("/".into()),
        grace: Duration::from_secs(10),
        hold: Hold::Free,
    }
}

/// A server that is a script; the product never does this.
fn script(text: &str) -> ChildSpec {
    spec("sh", &["-c", text])
}

#[track_caller]
fn start(spec: &ChildSpec) -> Child {
    launcher().start(spec).expect("it starts")
}

/// What a server wrote to its two outputs until it closed them, and its exit code.
async fn run(spec: &ChildSpec) -> (String, String, Option<i32>) {
    let Child { stdin, stdout, stderr, mut process, .. } = start(spec);
    drop(stdin);
    let (stdout, stderr) = tokio::join!(text(stdout), text(stderr));
    (stdout, stderr, soon(process.wait()).await.expect("a child of ours").code())
}

async fn text(stream: impl AsyncRead + Unpin) -> String {
    let mut bytes = Vec::new();
    let mut stream = stream;
    soon(stream.read_to_end(&mut bytes)).await.expect("output");
    String::from_utf8(bytes).expect("UTF-8")
}

/// The lines of a server, each within the deadline.
struct Lines(tokio::io::Lines<BufReader<ChildStdout>>);

impl Lines {
    fn of(stdout: ChildStdout) -> Self {
        Self(BufReader::new(stdout).lines())
    }

    async fn next(&mut self) -> Option<String> {
        soon(self.0.next_line()).await.expect("output")
    }

    /// The processes that the next lines tell of.
    async fn processes(&mut self, n_lines: usize) -> Vec<Process> {
        let mut processes = Vec::new();
        for _ in 0..n_lines {
            processes.push(Process::hold(&self.next().await.expect("a line")));
        }
        processes
    }
}

async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(DEADLINE, future).await.expect("it happens before the deadline")
}

/// A process, held so that nobody else is taken for it.
struct Process {
    pid: Pid,
    held: OwnedFd,
}

impl Process {
    #[track_caller]
    fn hold(pid: &str) -> Self {
        let pid = pid.trim().parse().ok().and_then(Pid::from_raw).expect("a number");
        let held = rustix::process::pidfd_open(pid, PidfdFlags::empty()).expect("it runs");
        Self { pid, held }
    }

    fn send(&self, signal: Signal) {
        rustix::process::pidfd_send_signal(&self.held, signal).expect("it runs");
    }

    fn is_gone_within(&self, limit: Duration) -> bool {
        let limit = Timespec::try_from(limit).expect("small");
        let mut events = [PollFd::new(&self.held, PollFlags::IN)];
        rustix::event::poll(&mut events, Some(&limit)) == Ok(1)
    }

    fn is_running(&self) -> bool {
        !self.is_gone_within(Duration::ZERO)
    }

    /// The words behind the name in `/proc/PID/stat`: state, parent, group, session, terminal.
    fn status(&self) -> Vec<String> {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.pid)).expect("it runs");
        let (_, rest) = text.rsplit_once(')').expect("a name");
        rest.split_ascii_whitespace().map(str::to_owned).collect()
    }
}

/// Nobody is left, at this very moment.
#[track_caller]
fn assert_all_gone(processes: &[Process]) {
    for process in processes {
        assert!(!process.is_running(), "{} is still running", process.pid);
    }
}

/// Nobody is left before the deadline.
#[track_caller]
fn assert_all_go(processes: &[Process]) {
    for process in processes {
        assert!(process.is_gone_within(DEADLINE), "{} is still running", process.pid);
    }
}

#[track_caller]
fn assert_all_run(processes: &[Process]) {
    for process in processes {
        assert!(process.is_running(), "{} is gone", process.pid);
    }
}
