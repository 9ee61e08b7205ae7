//! The first rung: namespaces of our own making.
//!
//! The guard stays outside and is the parent of the first process inside; when either dies, so does
//! everything in the cage. What the first process does is in `first`.

use std::ffi::OsString;
use std::io;

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;
use rustix::thread::UnshareFlags;

use super::super::{LaunchError, cannot, hold_ourselves, report};
use super::first::{self, Outside, User};
use super::lending;
use super::renewal::Inside;
use crate::orders::{CageOrder, Invocation};
use crate::sys::{self, Awaited, Launching};

/// What every cage has for itself.
const NAMESPACES: UnshareFlags = UnshareFlags::NEWNS
    .union(UnshareFlags::NEWPID)
    .union(UnshareFlags::NEWNET)
    .union(UnshareFlags::NEWIPC)
    .union(UnshareFlags::NEWUTS)
    .union(UnshareFlags::NEWCGROUP);

/// What becomes of the server in the cage.
pub(in super::super) struct Inmate<'a> {
    pub(in super::super) order: &'a CageOrder,
    pub(in super::super) invocation: &'a Invocation,
    pub(in super::super) environment: Vec<(OsString, OsString)>,
}

/// Starts the server in new namespaces; returns the first process there, and a hold on the namespaces if there can
/// be one.
pub(in super::super) fn start(
    launching: &Launching,
    inmate: Inmate<'_>,
    nothing: &OwnedFd,
) -> Result<(Pid, Option<Inside>), LaunchError> {
    let (go, say_go) = pipe_with(PipeFlags::CLOEXEC).map_err(cannot("make a pipe"))?;
    // Held back here already, since a signal that the first process of a namespace neither awaits
    // nor handles is lost.
    let awaited = Awaited::hold_back(&first::AWAITED).map_err(cannot("wait for signals"))?;
    let guard = hold_ourselves()?;
    let spec = &inmate.order.spec;
    let lent = lending::lend(launching, spec)?;
    let (user, first) = fork(launching).map_err(cannot("make namespaces"))?;
    let Some(first) = first else {
        drop(say_go);
        let outside = Outside { launching, go, awaited, guard, nothing, lent };
        let run = first::run(inmate, user, &outside);
        sys::leave(run.unwrap_or_else(|error| report(&error)))
    };
    awaited.release().map_err(cannot("wait for signals"))?;
    // Its own, so that what is sent to the group does not come back to us.
    rustix::process::setpgid(Some(first), Some(first)).map_err(cannot("part from the cage"))?;
    if let (Some(chosen), User::Mapped(..)) = (&spec.user, user) {
        lending::map_cage(first, chosen)?;
    }
    // Now, because it hides before it runs anything.
    let inside = Inside::hold(first).ok();
    // It waits for this, so that nothing happens in the cage before we are ready for its end.
    rustix::io::write(&say_go, b"g").map_err(cannot("start the cage"))?;
    Ok((first, inside))
}

fn fork(launching: &Launching) -> io::Result<(User, Option<Pid>)> {
    let identity = (rustix::process::geteuid(), rustix::process::getegid());
    match launching.fork_into(NAMESPACES | UnshareFlags::NEWUSER) {
        Ok(first) => Ok((User::Mapped(identity.0, identity.1), first)),
        // Root may make the others without one of users, where nobody may have those.
        Err(error) if identity.0.is_root() && is_refusal(&error) => {
            Ok((User::Ours, launching.fork_into(NAMESPACES)?))
        }
        Err(error) => Err(error),
    }
}

fn is_refusal(error: &io::Error) -> bool {
    let refusals = [Errno::PERM, Errno::NOSPC, Errno::USERS, Errno::INVAL, Errno::ACCESS];
    refusals.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}
