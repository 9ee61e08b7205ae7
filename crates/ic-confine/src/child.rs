//! The host's hold on a child: its pipes, how it ended, and how to end it.
//!
//! What goes through the pipes is not looked at. The process that is held is the guard; the server
//! is behind it, and what the guard does about it is in `launch`.

use std::fmt;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use crate::covers::Renewals;
use crate::doors::DoorsToCome;
use crate::launch::{EXIT_LAUNCHER, SWEEP_MAX};
use crate::rung::Rung;
use crate::table::{self, Asleep, Kinship, Wanted};
use crate::terminal::HostTerminal;

/// What a guard may take beyond the grace before it is killed itself.
const MARGIN: Duration = Duration::from_secs(1);
/// How often we look for what a killed guard left behind.
const ROUNDS_MAX: usize = 16;

/// A child that was started, in parts that can go to different tasks.
#[derive(Debug)]
pub struct Child {
    /// What it reads.
    pub stdin: ChildStdin,
    /// What it writes; ends when the server and those to whom it passed it have closed it.
    pub stdout: ChildStdout,
    /// What it complains about.
    pub stderr: ChildStderr,
    /// The hold on its processes.
    pub process: ChildHandle,
    /// The doors of its cage, if it has any.
    pub doors: Option<DoorsToCome>,
    /// What its guard tells of covers, if it renews them.
    pub renewals: Option<Renewals>,
}

/// A child that was started at a terminal of its own, in parts that can go to different tasks.
#[derive(Debug)]
pub struct AtTerminal {
    /// The host's side of its terminal.
    pub terminal: HostTerminal,
    /// The hold on its processes.
    pub process: ChildHandle,
    /// The doors of its cage, if it has any.
    pub doors: Option<DoorsToCome>,
    /// What its guard tells of covers, if it renews them.
    pub renewals: Option<Renewals>,
}

/// The hold on a child and all that it starts.
///
/// A child whose handle is dropped is asked to end, and is killed after its grace.
#[derive(Debug)]
#[must_use = "a child whose handle is dropped ends"]
pub struct ChildHandle {
    guard: tokio::process::Child,
    /// The guard too: what is sent here reaches nobody else, whoever has its number by then.
    held: OwnedFd,
    pid: Pid,
    grace: Duration,
    confinement: Confinement,
    end: End,
}

/// What we know about the end of a guard.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum End {
    Ahead,
    Seen,
}

/// What keeps a child from doing harm.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Confinement {
    /// Nothing: the child may do whatever the user may do.
    None,
    /// A cage.
    Cage(Rung),
}

impl fmt::Display for Confinement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Cage(rung) => rung.as_str(),
        })
    }
}

impl ChildHandle {
    pub(crate) fn hold(
        guard: tokio::process::Child,
        grace: Duration,
        confinement: Confinement,
    ) -> io::Result<Self> {
        let pid = guard.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::other("the guard has no number"))?;
        // Nobody has waited for the guard, so the number is its own.
        match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
            Ok(held) => Ok(Self { guard, held, pid, grace, confinement, end: End::Ahead }),
            Err(errno) => {
                rustix::process::kill_process(pid, Signal::TERM).ok();
                Err(errno.into())
            }
        }
    }

    /// Returns the number of the guard, for people who look at lists of processes.
    pub fn id(&self) -> u32 {
        self.pid.as_raw_nonzero().get().cast_unsigned()
    }

    /// Returns a look at whether anything of the child runs.
    pub fn sleep(&self) -> io::Result<Sleep> {
        Ok(Sleep { guard: self.pid, held: Arc::new(self.held.try_clone()?) })
    }

    /// Returns what keeps the child from doing harm.
    pub fn confinement(&self) -> Confinement {
        self.confinement
    }

    /// Waits until the child has ended and nothing of it is left.
    ///
    /// A child that was killed by a signal has ended with code 128 and the number of the signal; a
    /// guard that could not end everything ends with [`EXIT_LAUNCHER`](crate::EXIT_LAUNCHER), and
    /// one that was killed itself with a signal. May be dropped and called again, also after the end.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.guard.wait().await?;
        // A guard catches what can be caught, and then ends with a code of its own if it left anything.
        let has_failed = status.code() == Some(EXIT_LAUNCHER.into());
        if self.end == End::Ahead && (has_failed || status.signal().is_some()) {
            self.sweep();
        }
        self.end = End::Seen;
        Ok(status)
    }

    /// Asks the child to end, kills it after its grace, and returns how it ended.
    ///
    /// May be dropped and called again, also after the end.
    pub async fn stop(&mut self) -> io::Result<ExitStatus> {
        self.send(Signal::TERM)?;
        if let Ok(ended) = tokio::time::timeout(self.grace + SWEEP_MAX + MARGIN, self.wait()).await
        {
            return ended;
        }
        // Somebody has stopped the guard, or the machine is very busy. The server dies with its
        // guard, and `wait` looks for the rest.
        self.send(Signal::KILL)?;
        tokio::time::timeout(MARGIN, self.wait()).await?
    }

    fn send(&self, signal: Signal) -> io::Result<()> {
        match rustix::process::pidfd_send_signal(&self.held, signal) {
            // It has ended.
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Kills what a killed guard left behind, as far as it is still in the guard's session.
    fn sweep(&self) {
        for _ in 0..ROUNDS_MAX {
            if table::kill_session(self.pid) == 0 {
                return;
            }
        }
    }
}

/// Tells whether anything of a child ran between two looks.
///
/// Once its guard has ended there is nothing to look at: the number may be somebody else's.
#[derive(Clone, Debug)]
pub struct Sleep {
    guard: Pid,
    held: Arc<OwnedFd>,
}

impl Sleep {
    /// Looks now; `None` if something runs, or cannot be looked at.
    ///
    /// If two looks are equal, nothing of the child ran between the end of the first and the beginning of
    /// the second.
    pub fn look(&self) -> Option<Asleep> {
        let asleep = table::asleep_below(self.guard);
        asleep.filter(|_| self.is_there())
    }

    /// Stops everything of the child until what is returned is dropped; `None` if it does not stand still.
    pub fn hold(&self) -> Option<StandingStill> {
        if !self.is_there() {
            return None;
        }
        let still = StandingStill(self.clone());
        // Even if not everything stopped, what did goes on.
        table::stop_below(self.guard).then_some(still)
    }

    /// Returns whether the guard has not ended, so that its number is its own.
    fn is_there(&self) -> bool {
        let mut events = [PollFd::new(&self.held, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        matches!(poll(&mut events, Some(&now)), Ok(0))
    }
}

/// A child that is stopped; it goes on when this is dropped.
#[derive(Debug)]
#[must_use = "a child goes on when this is dropped"]
pub struct StandingStill(Sleep);

impl StandingStill {
    /// Returns whether anything of the child holds the file or directory at `path`, with this device and number, so
    /// that it could write it although its name is covered; also if that cannot be told.
    pub fn holds(&self, path: &Path, (device, file): (u64, u64)) -> bool {
        table::is_held_below(self.0.guard, Wanted { path, device, file })
    }

    /// Ends everything of the child, which does not run again.
    pub fn kill(self) {
        if self.0.is_there() {
            table::kill_below(self.0.guard, &Kinship::now());
        }
    }
}

impl Drop for StandingStill {
    fn drop(&mut self) {
        // A guard that has ended took everything with it.
        if self.0.is_there() {
            table::continue_below(self.0.guard);
        }
    }
}

impl Drop for ChildHandle {
    fn drop(&mut self) {
        // SECURITY: never SIGKILL here. It would take the guard, and leave what the guard guards.
        // The runtime waits for the guard when it has ended.
        self.send(Signal::TERM).ok();
    }
}
