//! What this program does when it is started as a launcher: it guards a server, or becomes one.
//!
//! This runs before anything else in the program, so it reads no configuration and knows no policy.
//! What goes wrong is written to the standard error that the server would have had.

mod afterwards;
mod become_server;
pub(crate) mod cage;
pub(crate) mod check;
mod covers;
mod descriptors;
mod excess;
mod guard;
mod signals;
mod weight;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use ic_types::chain;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags};

use crate::orders::Order;
use crate::program::FindError;
use crate::sys::Launching;

pub use afterwards::GUARD_SUFFIX;
pub(crate) use cage::restrict_alone;
pub(crate) use guard::SWEEP_MAX;

/// The exit code of a launcher that ended its program because the cage used too much memory.
pub const EXIT_EXCESS: u8 = 124;
/// The exit code of a launcher that ended its program because the cage had too many processes and threads.
pub const EXIT_TOO_MANY: u8 = 121;
/// The exit code of a launcher that ended its program because a disk that the cage may write was nearly full.
pub const EXIT_FULL: u8 = 120;
/// The exit code of a launcher that ended its program because somebody replaced, outside, a file or
/// directory that the cage hides or keeps from being written.
pub const EXIT_SHIFTED: u8 = 123;
/// The exit code of a launcher that ended its program for the same reason, and saw that everything in the
/// cage slept since before that: whatever is there by now, the program did not write it.
pub const EXIT_SHIFTED_ASLEEP: u8 = 122;
/// The exit code of a launcher that failed itself, or left something running.
pub const EXIT_LAUNCHER: u8 = 125;
/// The exit code of a launcher whose program could not be run.
pub const EXIT_CANNOT_RUN: u8 = 126;
/// The exit code of a launcher whose program, or the program's interpreter, is not there.
pub const EXIT_NO_PROGRAM: u8 = 127;

/// Runs a launcher with the `words` that follow [`LAUNCH`] on the command line.
///
/// It ends as the server ended, with 128 and the signal's number if a signal killed it; the codes of
/// a launcher's own troubles are [`EXIT_FULL`], [`EXIT_TOO_MANY`], [`EXIT_SHIFTED`], [`EXIT_SHIFTED_ASLEEP`], [`EXIT_EXCESS`], [`EXIT_LAUNCHER`], [`EXIT_CANNOT_RUN`] and
/// [`EXIT_NO_PROGRAM`].
///
/// [`LAUNCH`]: crate::LAUNCH
pub fn run_launcher(words: impl Iterator<Item = OsString>) -> ExitCode {
    let mut words = words.peekable();
    if words.next_if(|word| word == check::CHECK).is_some() {
        return ExitCode::from(check::run(words));
    }
    let ended = match (Launching::begin(), Order::read(words)) {
        (Ok(launching), Some(Order::Guard(order))) => guard::run(&launching, &order),
        (Ok(launching), Some(Order::Become(order))) => Err(become_server::run(&launching, &order)),
        (Err(source), Some(_)) => Err(LaunchError::System { doing: "be a launcher", source }),
        (_, None) => Err(LaunchError::Order),
    };
    ended.unwrap_or_else(|error| ExitCode::from(report(&error)))
}

/// Says what went wrong, and returns the code to end with.
fn report(error: &LaunchError) -> u8 {
    // There may be nobody left who reads this.
    writeln!(io::stderr(), "ironcurtain: {}", chain(error)).ok();
    error.exit_code()
}

/// Why a launcher could not do its work.
#[derive(Debug, thiserror::Error)]
enum LaunchError {
    #[error("this command is for IronCurtain's own use")]
    Order,
    #[error("the process that asked for a server is gone")]
    Orphaned,
    #[error("cannot {doing}")]
    System { doing: &'static str, source: io::Error },
    #[error("descriptor {number} would reach the server")]
    Descriptor { number: i32 },
    #[error("there are more open descriptors than can be checked")]
    TooManyDescriptors,
    #[error(
        "cannot run `{}`: the file is there, but the interpreter that its first line names is not, \
         or its loader, or its cage does not show them", program.display()
    )]
    NoInterpreter { program: PathBuf },
    #[error("cannot run `{}`", program.display())]
    Run { program: PathBuf, source: io::Error },
    #[error(transparent)]
    Program(#[from] FindError),
    #[error("some of what the server started is still running")]
    Leftovers,
    #[error("cannot make the cage: cannot {doing} `{}`", path.display())]
    Cage { doing: &'static str, path: PathBuf, source: io::Error },
    #[error("`{}` cannot be in the cage", path.display())]
    NotInView { path: PathBuf, source: io::Error },
    #[error("cannot make the cage: the capabilities cannot be dropped")]
    Privileged,
    #[error("cannot make the cage: it takes Landlock {needed}, and this kernel has {version}")]
    Landlock { version: i32, needed: i32 },
    #[error("cannot make the cage: Landlock refuses the rules")]
    Ruleset(#[source] landlock::RulesetError),
    #[error("cannot make the cage: seccomp refuses the filter")]
    Filter(#[source] seccompiler::Error),
    #[error("cannot make the cage: the filter of system calls cannot be built")]
    Unbuildable,
    #[error("there is no `bwrap`")]
    NoBubblewrap,
}

impl LaunchError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Order
            | Self::Orphaned
            | Self::System { .. }
            | Self::Descriptor { .. }
            | Self::TooManyDescriptors
            | Self::Leftovers
            | Self::Cage { .. }
            | Self::NotInView { .. }
            | Self::Privileged
            | Self::Landlock { .. }
            | Self::Ruleset(_)
            | Self::Filter(_)
            | Self::Unbuildable
            | Self::NoBubblewrap => EXIT_LAUNCHER,
            Self::NoInterpreter { .. } | Self::Program(FindError::Absent { .. }) => EXIT_NO_PROGRAM,
            Self::Run { .. } | Self::Program(_) => EXIT_CANNOT_RUN,
        }
    }
}

/// Names what was being done when the system said no.
fn cannot<E: Into<io::Error>>(doing: &'static str) -> impl FnOnce(E) -> LaunchError {
    move |source| LaunchError::System { doing, source: source.into() }
}

/// Holds this process, so that others can tell whether it lives.
fn hold_ourselves() -> Result<OwnedFd, LaunchError> {
    rustix::process::pidfd_open(rustix::process::getpid(), PidfdFlags::empty())
        .map_err(cannot("hold ourselves"))
}

/// Returns whether the process that is held lives.
fn is_alive(held: &OwnedFd) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(held, PollFlags::IN)], Some(&now)) == Ok(0)
}

/// Checks that `parent` still is the parent of this process.
fn check_parent(parent: Pid) -> Result<(), LaunchError> {
    match rustix::process::getppid() {
        Some(pid) if pid == parent => Ok(()),
        Some(_) | None => Err(LaunchError::Orphaned),
    }
}
