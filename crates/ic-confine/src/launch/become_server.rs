//! The last step: a process of ours takes on what the server is to have, and becomes it.
//!
//! It makes sure that the server dies with its guard, is caged if that is wanted, and gets the
//! environment that was written out for it. How a cage is made is not known here.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::process::Signal;

use super::signals::HEARD;
use super::{LaunchError, cage, cannot, check_parent, is_alive};
use crate::orders::{BecomeOrder, HoldOrder, Invocation, unmarked};
use crate::start::OURSELVES;
use crate::sys::{self, Awaited, Launching};
use crate::{proc, program, terminal};

/// More than the system lets a program be started with.
const ENVIRONMENT_BYTES_MAX: usize = 8 << 20;

/// Becomes the server; returns only if that failed.
pub(super) fn run(launching: &Launching, order: &BecomeOrder) -> LaunchError {
    match prepare(launching, order) {
        Ok((environment, ourselves)) => exec(&order.invocation, environment, ourselves.as_ref()),
        Err(error) => error,
    }
}

/// Becomes the server in a copy of the guard; returns only if that failed.
pub(super) fn of_copy(launching: &Launching, order: &BecomeOrder, awaited: Awaited) -> LaunchError {
    let part = || -> Result<(), LaunchError> {
        // Its own, so that what is sent to the group does not come back to the guard.
        rustix::process::setpgid(None, None).map_err(cannot("part from the guard"))?;
        // The handlers are the guard's; what came meanwhile is for us.
        sys::forget_handlers_of(&HEARD);
        awaited.release().map_err(cannot("hear signals"))
    };
    match part() {
        Ok(()) => run(launching, order),
        Err(error) => error,
    }
}

type Prepared = (Vec<(OsString, OsString)>, Option<OwnedFd>);

fn prepare(launching: &Launching, order: &BecomeOrder) -> Result<Prepared, LaunchError> {
    // SECURITY: without this a server would live on when somebody kills its guard with `kill -9`.
    // The signal comes when the thread that forked us ends, and the guard has only one.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(cannot("die with the guard"))?;
    if let Some(guard) = order.guard {
        check_parent(guard)?;
    }
    give_back_huge_pages();
    let environment = environment()?;
    let HoldOrder::Caged(cage) = &order.hold else {
        program::check(&order.invocation.program)?;
        return Ok((environment, None));
    };
    if let Some(number) = cage.guard {
        // It may have died before whoever stands between us asked to die with it.
        let guard = launching.inherited(number).map_err(cannot("find the guard"))?;
        if !is_alive(&guard) {
            return Err(LaunchError::Orphaned);
        }
    }
    // Whoever started us may have kept signals from us that the server should hear.
    sys::forget_signals();
    if terminal::is_given() {
        // The session that we are in is that of the guard, which needs no terminal.
        rustix::process::setsid().map_err(cannot("begin a session"))?;
        terminal::take_as_own().map_err(cannot("take the terminal"))?;
    }
    let ourselves = ourselves()?;
    cage::open_doors(launching, cage)?;
    cage::restrict(cage, Some(&ourselves))?;
    Ok((environment, Some(ourselves)))
}

/// Lets the server have huge pages, which our allocator does without, and which it would do without too
/// because we did.
pub(super) fn give_back_huge_pages() {
    // It is about speed alone, and nothing of ours depends on it.
    rustix::thread::disable_transparent_huge_pages(false).ok();
}

/// Returns the environment that was written out for the server.
pub(super) fn environment() -> Result<Vec<(OsString, OsString)>, LaunchError> {
    let block = proc::read(Path::new("/proc/self/environ"), ENVIRONMENT_BYTES_MAX)
        .map_err(cannot("read the environment of the server"))?;
    Ok(unmarked(&block))
}

/// Holds this program, to which no name in a cage may lead.
pub(super) fn ourselves() -> Result<OwnedFd, LaunchError> {
    rustix::fs::openat(CWD, OURSELVES, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
        .map_err(cannot("find this program"))
}

/// Runs the server in our place; returns only if that failed. If the server is this program, it is
/// the one that is held as `ourselves`.
pub(super) fn exec(
    invocation: &Invocation,
    environment: Vec<(OsString, OsString)>,
    ourselves: Option<&OwnedFd>,
) -> LaunchError {
    let program = invocation.program.clone();
    let path = match ourselves {
        Some(held) if program == Path::new(OURSELVES) => {
            PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()))
        }
        Some(_) | None => program.clone(),
    };
    #[expect(clippy::disallowed_methods, reason = "this is where servers come from")]
    let mut server = std::process::Command::new(path);
    server.arg0(&invocation.name).args(&invocation.arguments).env_clear().envs(environment);
    let source = server.exec();
    // The file itself was there a moment ago.
    match source.kind() {
        io::ErrorKind::NotFound => LaunchError::NoInterpreter { program },
        _ => LaunchError::Run { program, source },
    }
}
