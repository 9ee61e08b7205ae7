//! The process that holds a session while terminals come and go: started by `start --pty`, with the same words.
//!
//! ```text
//! start --pty …              asks what is to be asked, and starts
//!   └▶ __hold PLACE start --pty …    in a session of its own, without a terminal
//! ```
//!
//! Nobody's terminal is its own, so none takes it along when it goes.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Stdio};

use ic_home::Environment;
use rustix::fs::{Mode, OFlags};
use rustix::net::sockopt::socket_peercred;
use tokio::net::UnixStream;

use super::door::Visitor;
use crate::error::Failure;

/// The word that this program is started with to hold a session.
pub(crate) const HOLD: &str = "__hold";
/// This program, whatever became of the file that it was started from.
const OURSELVES: &str = "/proc/self/exe";

/// Where the agent of a session that is held works, if the person was asked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Held {
    /// As the words say.
    AsSaid,
    /// In the directory in which it was started.
    Here,
}

/// The process that holds a session, as whoever started it sees it.
#[derive(Debug)]
pub(crate) struct Holder {
    pub(crate) process: Child,
    pub(crate) line: UnixStream,
}

impl Held {
    const ALL: [(&'static str, Self); 2] = [("as-said", Self::AsSaid), ("here", Self::Here)];

    /// Takes what is for this program itself out of the words that it was started with.
    pub(crate) fn take(words: &mut Vec<OsString>) -> Option<Self> {
        let (first, place) = (words.get(1)?, words.get(2)?);
        let held = Self::ALL.iter().find(|(name, _)| place == OsStr::new(name));
        let (_, held) = held.filter(|_| first == HOLD)?;
        words.drain(1..3);
        Some(*held)
    }

    /// Starts the process that holds the session.
    ///
    /// Must be called within the runtime that is to wait for it.
    pub(crate) fn start(self, environment: &Environment) -> Result<Holder, Failure> {
        self.spawn(environment).map_err(|source| {
            Failure::environment("cannot start the process that is to hold the session")
                .with_source(source)
        })
    }

    fn spawn(self, environment: &Environment) -> io::Result<Holder> {
        let (ours, theirs) = StdStream::pair()?;
        ours.set_nonblocking(true)?;
        #[expect(
            clippy::disallowed_methods,
            reason = "no other program: ourselves, with our words"
        )]
        let mut command = std::process::Command::new(OURSELVES);
        let name = Self::ALL.iter().find(|(_, it)| *it == self).map_or("", |(name, _)| name);
        command.arg0("ironcurtain").args([HOLD, name]).args(std::env::args_os().skip(1));
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::piped());
        let keys = environment.hand_over_to(&mut command)?;
        let process = command.spawn()?;
        // Only now, because the process reads them through what we have open.
        drop(keys);
        Ok(Holder { process, line: UnixStream::from_std(ours)? })
    }
}

/// Leaves the terminal that we were started at, and returns the line to whoever started us.
pub(crate) fn leave_terminal() -> Result<UnixStream, Failure> {
    let unusable = |source: io::Error| {
        Failure::usage(format!("`{HOLD}` is for ironcurtain itself")).with_source(source)
    };
    take_line().map_err(unusable)
}

fn take_line() -> io::Result<UnixStream> {
    let line = rustix::stdio::stdin().as_fd().try_clone_to_owned()?;
    // SECURITY: only whoever runs as the same user may have started us.
    if socket_peercred(&line)?.uid != rustix::process::geteuid() {
        return Err(io::Error::from(io::ErrorKind::PermissionDenied));
    }
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    rustix::stdio::dup2_stdin(rustix::fs::open("/dev/null", flags, Mode::empty())?)?;
    rustix::process::setsid()?;
    let line = StdStream::from(line);
    line.set_nonblocking(true)?;
    UnixStream::from_std(line)
}

/// Waits until whoever started us has handed its terminal over.
pub(crate) async fn first_visitor(line: UnixStream) -> Result<Visitor, Failure> {
    Visitor::hear(line, None)
        .await
        .map_err(|source| Failure::environment("the terminal has gone").with_source(source))
}
