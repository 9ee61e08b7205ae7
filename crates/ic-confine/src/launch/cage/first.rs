//! The first process of a cage: arranges it, starts the server, and is the end of it all.
//!
//! ```text
//! the guard is still there ─▶ who we are ─▶ doors ─▶ root ─▶ start the server ─▶ give up everything
//!      ─▶ collect the dead, pass on the wish that the server may end ─▶ end as the server ended
//! ```
//!
//! When the first process of a PID namespace ends, the kernel kills all others. It cannot be signalled
//! from inside, and is no use to anybody there: it has no capabilities and no descriptors left.

use std::os::fd::AsFd as _;

use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Gid, Pid, Signal, Uid, WaitOptions, WaitStatus, set_dumpable_behavior,
};
use rustix::thread::UnshareFlags;

use super::super::{LaunchError, become_server, cannot, guard, is_alive, report};
use super::lending::Lent;
use super::namespaces::Inmate;
use super::{open_doors, privileges, restrict, root, system};
use crate::cage::CageSpec;
use crate::sys::{self, Awaited, Launching};
use crate::terminal;

/// Who the processes of a cage are.
#[derive(Clone, Copy, Debug)]
pub(super) enum User {
    /// The user, in a user namespace that knows nobody else.
    Mapped(Uid, Gid),
    /// The user, without such a namespace.
    Ours,
}

/// What the first process waits for: the end of others, and the wish that the server may end.
pub(super) const AWAITED: [Signal; 4] = [Signal::CHILD, Signal::TERM, Signal::INT, Signal::HUP];

/// What the first process has from outside.
pub(super) struct Outside<'a> {
    /// What lets it make the server.
    pub(super) launching: &'a Launching,
    /// The end of a pipe on which the guard says that it may begin.
    pub(super) go: OwnedFd,
    /// The signals that are held back already.
    pub(super) awaited: Awaited,
    /// The guard, held.
    pub(super) guard: OwnedFd,
    /// What takes the place of the standard streams.
    pub(super) nothing: &'a OwnedFd,
    /// What the user of the cage has as its own.
    pub(super) lent: Lent,
}

/// Runs the cage until the server has ended; returns how it ended.
pub(super) fn run(
    inmate: Inmate<'_>,
    user: User,
    outside: &Outside<'_>,
) -> Result<u8, LaunchError> {
    // SECURITY: everything in the cage dies with the guard, and so with the host.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(cannot("die with the guard"))?;
    match rustix::io::retry_on_intr(|| rustix::io::read(&outside.go, &mut [0_u8])) {
        // It may have died between its word and our request to die with it.
        Ok(1) if is_alive(&outside.guard) => {}
        Ok(_) | Err(_) => return Err(LaunchError::Orphaned),
    }
    sys::forget_handlers();
    let spec = &inmate.order.spec;
    settle(user, spec)?;
    open_doors(outside.launching, inmate.order)?;
    rustix::system::sethostname(system::HOST_NAME.as_bytes()).map_err(cannot("name the cage"))?;
    let ourselves = root::hold_ourselves()?;
    root::assemble(spec, &outside.lent)?;

    let none = UnshareFlags::empty();
    let Some(server) = outside.launching.fork_into(none).map_err(cannot("start the server"))?
    else {
        let error = serve(inmate, &ourselves);
        sys::leave(report(&error));
    };
    drop(ourselves);
    guard::let_go(outside.nothing).map_err(cannot("let go of the streams"))?;
    privileges::become_user(spec)?;
    privileges::drop_all()?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(cannot("hide"))?;
    wait(server, &outside.awaited).map_err(cannot("wait for the server"))
}

/// Makes the user namespace know the one user that we are.
fn settle(user: User, spec: &CageSpec) -> Result<(), LaunchError> {
    if spec.user.is_some() {
        // The guard has done so.
        return Ok(());
    }
    let User::Mapped(uid, gid) = user else { return Ok(()) };
    let (uid, gid) = (uid.as_raw(), gid.as_raw());
    for (name, text) in [
        // The kernel wants this first.
        ("setgroups", "deny".to_owned()),
        ("uid_map", format!("{uid} {uid} 1")),
        ("gid_map", format!("{gid} {gid} 1")),
    ] {
        let path = format!("/proc/self/{name}");
        let file = rustix::fs::openat(CWD, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty());
        file.and_then(|file| rustix::io::write(file.as_fd(), text.as_bytes()))
            .map_err(cannot("settle who the server is"))?;
    }
    Ok(())
}

/// Becomes the server; returns only if that failed.
fn serve(inmate: Inmate<'_>, ourselves: &OwnedFd) -> LaunchError {
    sys::forget_signals();
    let prepare = || -> Result<(), LaunchError> {
        // A group of its own, so that it can be asked to end with all that it started.
        rustix::process::setsid().map_err(cannot("begin a session"))?;
        terminal::take_as_own().map_err(cannot("take the terminal"))?;
        become_server::give_back_huge_pages();
        privileges::become_user(&inmate.order.spec)?;
        restrict(inmate.order, Some(ourselves))
    };
    match prepare() {
        Ok(()) => become_server::exec(inmate.invocation, inmate.environment, Some(ourselves)),
        Err(error) => error,
    }
}

/// Waits for the end of the server; returns how it ended.
fn wait(server: Pid, awaited: &Awaited) -> Result<u8, std::io::Error> {
    loop {
        let signal = awaited.next();
        while let Some((pid, status)) = next_dead()? {
            if pid == server {
                return Ok(guard::exit_code(status));
            }
        }
        match signal {
            Ok(number) if number == Signal::CHILD.as_raw() => {}
            // The guard was asked to end the server; what it does not end, the guard will.
            Ok(_) => drop(rustix::process::kill_process_group(server, Signal::TERM)),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn next_dead() -> Result<Option<(Pid, WaitStatus)>, Errno> {
    rustix::io::retry_on_intr(|| rustix::process::wait(WaitOptions::NOHANG))
}
