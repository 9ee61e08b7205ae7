//! Places of root's that the user of a cage has as its own: mounted so that one user stands for the other.
//!
//! ```text
//! on the disk: root ◀── a mount that maps users ──▶ in the cage: the user of the cage
//! ```
//!
//! A process in the cage is never root, and still writes what root owns where it is meant to; what it makes there is
//! root's on the disk. Nothing is given away: no owner of any file is changed. Only root can make such mounts, so the
//! guard makes them, before the cage. What is lent was decided before.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};

use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::mount::{OpenTreeFlags, open_tree};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;
use rustix::thread::UnshareFlags;

use super::super::{LaunchError, cannot};
use super::hold_seen;
use super::root::{at, shown_as};
use crate::cage::{Access, CageSpec, CageUser};
use crate::sys::{self, Launching};

/// What is lent: the places in the cage, and a mount for each that is nowhere yet.
pub(super) type Lent = HashMap<PathBuf, OwnedFd>;

/// User and group of a file.
type Owner = (u32, u32);

/// Makes a mount for each place that is in something that the user of the cage is to own, and does not.
pub(super) fn lend(launching: &Launching, spec: &CageSpec) -> Result<Lent, LaunchError> {
    let mut lent = Lent::new();
    let Some(user) = &spec.user else { return Ok(lent) };
    let is_lent = |path: &Path| user.owns.iter().any(|own| path.starts_with(own));
    let seen = spec.seen.iter().map(|it| (&it.path, &it.path, it.access));
    let placed = spec.placed.iter().map(|it| (&it.from, &it.at, it.access));
    let mut maps: HashMap<Owner, OwnedFd> = HashMap::new();
    for (from, place, access) in seen.chain(placed).filter(|(from, ..)| is_lent(from)) {
        let (held, _) = hold_seen(from)?;
        let stat = rustix::fs::fstat(&held).map_err(at("look at", from))?;
        let owner = (stat.st_uid, stat.st_gid);
        if owner.0 == user.user {
            continue;
        }
        let users = match maps.entry(owner) {
            Entry::Occupied(users) => users.into_mut(),
            Entry::Vacant(place) => place.insert(map(launching, owner, user)?),
        };
        lent.insert(place.clone(), mount((&held, from), users, spec, access)?);
    }
    Ok(lent)
}

fn mount(
    (held, from): (&OwnedFd, &Path),
    users: &OwnedFd,
    spec: &CageSpec,
    access: Access,
) -> Result<OwnedFd, LaunchError> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    let tree = open_tree(held, "", flags).map_err(at("show", from))?;
    sys::map_mount(&tree, shown_as(spec, from, access), users.as_fd())
        .map_err(at("lend to the user of the cage, on this file system,", from))?;
    Ok(tree)
}

/// Makes a namespace of users in which the owner of files stands for the user of the cage; nobody is in it for long.
fn map(launching: &Launching, owner: Owner, user: &CageUser) -> Result<OwnedFd, LaunchError> {
    let failed = "map users";
    let (wait, end) = pipe_with(PipeFlags::CLOEXEC).map_err(cannot(failed))?;
    let Some(child) = launching.fork_into(UnshareFlags::NEWUSER).map_err(cannot(failed))? else {
        drop(end);
        // It ends with the other end of the pipe, so with the guard at the latest.
        rustix::io::retry_on_intr(|| rustix::io::read(&wait, &mut [0_u8])).ok();
        sys::leave(0);
    };
    write_map(child, "uid_map", &format!("{} {} 1\n", owner.0, user.user))?;
    write_map(child, "gid_map", &format!("{} {} 1\n", owner.1, user.group))?;
    let path = format!("/proc/{}/ns/user", child.as_raw_nonzero());
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let users = rustix::fs::openat(CWD, path, flags, Mode::empty()).map_err(cannot(failed))?;
    drop(end);
    Ok(users)
}

/// Lets the cage know root, which makes it, and the user that everything in it becomes.
pub(super) fn map_cage(first: Pid, user: &CageUser) -> Result<(), LaunchError> {
    write_map(first, "uid_map", &format!("0 0 1\n{0} {0} 1\n", user.user))?;
    write_map(first, "gid_map", &format!("0 0 1\n{0} {0} 1\n", user.group))
}

fn write_map(process: Pid, name: &str, text: &str) -> Result<(), LaunchError> {
    let path = format!("/proc/{}/{name}", process.as_raw_nonzero());
    let file = rustix::fs::openat(CWD, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty());
    let written = file.and_then(|file| rustix::io::write(&file, text.as_bytes()));
    written.map(drop).map_err(cannot("settle who the server is"))
}
