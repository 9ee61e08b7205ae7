//! A process of a test, its own or another's: its end, its memory, its environment.
//!
//! It starts none, and waits for no child: that is done by whoever started it.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    reason = "test support: it looks at processes, and a failure is a failed test"
)]

use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, Signal};

/// A process, held so that nobody else is taken for it.
#[derive(Debug)]
pub struct Process {
    pid: Pid,
    held: OwnedFd,
}

impl Process {
    /// Holds the process `pid`, which must run.
    #[track_caller]
    pub fn hold(pid: u32) -> Self {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a number");
        let held = rustix::process::pidfd_open(pid, PidfdFlags::empty()).expect("it runs");
        Self { pid, held }
    }

    /// Returns its number.
    pub fn id(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
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

    /// Sets a limit of the system's.
    #[track_caller]
    pub(super) fn limit(&self, resource: Resource, limit: Rlimit) {
        rustix::process::prlimit(Some(self.pid), resource, limit).expect("ours");
    }

    /// Waits for the process to end.
    pub fn is_gone_within(&self, limit: Duration) -> bool {
        let limit = Timespec::try_from(limit).expect("small");
        let mut events = [PollFd::new(&self.held, PollFlags::IN)];
        rustix::event::poll(&mut events, Some(&limit)) == Ok(1)
    }

    /// Returns the most memory that the process ever had, in MiB.
    pub fn peak_mib(&self) -> u64 {
        self.status_kib("VmHWM:") / 1024
    }

    /// Returns the memory that the process has now, in KiB.
    pub fn resident_kib(&self) -> u64 {
        self.status_kib("VmRSS:")
    }

    fn status_kib(&self, field: &str) -> u64 {
        let path = format!("/proc/{}/status", self.pid);
        let status = std::fs::read_to_string(path).expect("it runs");
        let amount = status.lines().find_map(|line| line.strip_prefix(field));
        let kib = amount.and_then(|it| it.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
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
