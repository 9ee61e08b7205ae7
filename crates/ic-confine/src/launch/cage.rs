//! Cages: what is done between the guard and the program, so that the program can do little.
//!
//! ```text
//! namespaces   guard ─▶ first process of new namespaces ─▶ restrict ─▶ the server
//! bubblewrap   guard ─▶ bwrap ──────▶ this program again ─▶ restrict ─▶ the server
//! landlock     guard ─▶ a copy of it ───────────────────▶ restrict ─▶ the server
//! ```
//!
//! Everything that can fail is an error, and then nothing is run. Which rung is used was decided
//! before; nothing here falls back to a weaker one.

pub(crate) mod bubblewrap;
mod doors;
mod first;
mod kernel;
mod landlock;
mod lending;
mod limits;
pub(super) mod namespaces;
mod privileges;
pub(super) mod renewal;
mod root;
mod seccomp;
pub(crate) mod system;

use std::ffi::{CStr, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::{LaunchError, cannot};
use crate::cage::CageSpec;
use crate::orders::CageOrder;
use crate::rung::Rung;
use crate::sys::Launching;

/// Gives up, for this process and all that it will start, whatever the cage does not have.
///
/// What can be seen was arranged before, where the rung can arrange that. `program` is the file that
/// is going to be run, if no name in the cage leads to it.
pub(super) fn restrict(order: &CageOrder, program: Option<&OwnedFd>) -> Result<(), LaunchError> {
    rustix::process::chdir(&order.directory).map_err(|errno| LaunchError::NotInView {
        path: order.directory.clone(),
        source: errno.into(),
    })?;
    if order.rung == Rung::Bubblewrap {
        bubblewrap::check_shown(order)?;
        bubblewrap::forbid_running(order)?;
    }
    limits::set(&order.spec)?;
    privileges::drop_all()?;
    landlock::restrict(order, program)?;
    // Last of all: what comes before needs calls that are refused from here on.
    seccomp::restrict(order)
}

/// Takes from this process the system calls that a cage does not have, where something else makes the cage.
pub(crate) fn restrict_alone(spec: &CageSpec) -> io::Result<()> {
    seccomp::restrict_alone(spec).map_err(io::Error::other)
}

/// Makes a socket of the cage's network and sends them to the host, if there are to be any.
pub(super) fn open_doors(launching: &Launching, order: &CageOrder) -> Result<(), LaunchError> {
    let Some(number) = order.doors else { return Ok(()) };
    let channel = launching.inherited(number).map_err(cannot("reach the host"))?;
    doors::open(&order.spec.network, &channel)
}

/// Returns whether the rung gives the child a home of its own making.
fn has_own_places(rung: Rung) -> bool {
    match rung {
        Rung::Namespaces | Rung::Bubblewrap => true,
        Rung::Landlock => false,
    }
}

/// Holds what is at a path that is seen, and returns what it is: a file or a directory.
///
/// SECURITY: what was judged had no links on the way. One that is there now was put there since, and
/// leads somewhere else; a socket leads to whoever listens, and a device to the machine.
fn hold_seen(path: &Path) -> Result<(OwnedFd, FileType), LaunchError> {
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let held =
        rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve).map_err(not_in_view(path))?;
    let stat = rustix::fs::fstat(&held).map_err(not_in_view(path))?;
    match FileType::from_raw_mode(stat.st_mode) {
        kind @ (FileType::RegularFile | FileType::Directory) => Ok((held, kind)),
        _ => Err(not_in_view(path)(Errno::NOTSUP)),
    }
}

fn not_in_view(path: &Path) -> impl FnOnce(Errno) -> LaunchError {
    let path = path.to_owned();
    move |errno| LaunchError::NotInView { path, source: errno.into() }
}

/// Returns whether `path` lies in something of the host that the cage shows.
fn is_in_view(spec: &CageSpec, path: &Path) -> bool {
    system::is_shown(path) || spec.seen.iter().any(|seen| path.starts_with(&seen.path))
}

/// Returns what a link leads to.
fn path_of(target: &CStr) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(target.to_bytes()))
}

/// Returns the path as the rest of a way that starts at the root.
fn below_root(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}
