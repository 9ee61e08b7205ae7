//! Entries of directories as such: removed, or given another name.
//!
//! A link is removed or moved itself, never what it leads to, and nothing is ever replaced.

use ic_resolve::Kind;
use ic_types::CanonicalPath;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, Stat, Timespec, Timestamps};
use rustix::io::Errno;

use super::arguments::Arguments;
use super::beneath;
use super::deed::{Deed, Hands, MOVING};
use super::fault::Fault;
use super::lanes::Lanes;
use super::reach::{Place, Reach};
use super::show;
use super::view::Rights;
use super::write::{self, Existing};
use crate::tools::{Caller, Cancel, ToolResult};

/// How much is copied at once.
const CHUNK_BYTES: usize = 256 << 10;

/// Removes a file, or a link.
pub(super) fn delete(
    reach: &Reach,
    hands: Hands,
    arguments: Arguments<'_>,
    caller: Caller<'_>,
) -> Result<ToolResult, Fault> {
    let path = reach.find_entry(arguments.text("path")?, Rights::DELETE)?;
    let shown = show::path(path.as_path());
    hands.carry_out(&Deed::Remove { path }, reach, caller)?;
    Ok(ToolResult::text(format!("Removed {shown}")))
}

/// Gives a file or directory another name; what has that name already stays.
pub(super) fn change_name(
    reach: &Reach,
    (hands, lanes): (Hands, &Lanes),
    arguments: Arguments<'_>,
    caller: Caller<'_>,
) -> Result<ToolResult, Fault> {
    let (from, to) = (arguments.text("source")?, arguments.text("destination")?);
    let (from, to) = (reach.find_entry(from, MOVING)?, reach.find_entry(to, Rights::WRITE)?);
    let _lane = lanes.enter(&from);
    let shown = (show::path(from.as_path()), show::path(to.as_path()));
    hands.carry_out(&Deed::Move { from, to }, reach, caller)?;
    Ok(ToolResult::text(format!("Moved {} to {}", shown.0, shown.1)))
}

/// Removes the entry at `path`.
pub(super) fn remove(reach: &Reach, path: &CanonicalPath) -> Result<(), Fault> {
    let place = reach.place(path, Rights::DELETE)?;
    match place.look()?.as_ref().map(beneath::kind) {
        None => return Err(Fault::Missing { path: place.path }),
        Some(is @ Kind::Directory) => {
            let wanted = "only files and links are removed";
            return Err(Fault::WrongKind { path: place.path, is, wanted });
        }
        Some(Kind::File | Kind::Link | Kind::Other) => {}
    }
    rustix::fs::unlinkat(&place.parent, &place.name, AtFlags::empty())
        .map_err(|error| place.fault("remove", error))
}

/// Gives the entry at `from` the name `to`.
pub(super) fn rename(
    reach: &Reach,
    from: &CanonicalPath,
    to: &CanonicalPath,
    cancel: &Cancel,
) -> Result<(), Fault> {
    let from = reach.place(from, MOVING)?;
    let to = reach.place(to, Rights::WRITE)?;
    let Some(stat) = from.look()? else { return Err(Fault::Missing { path: from.path }) };
    if to.path != from.path && to.path.is_within(&from.path) {
        return Err(Fault::argument("destination", "lies in what is to be moved"));
    }
    // SECURITY: without this a move would remove whatever is at the destination.
    let flags = RenameFlags::NOREPLACE;
    match rustix::fs::renameat_with(&from.parent, &from.name, &to.parent, &to.name, flags) {
        Ok(()) => Ok(()),
        Err(Errno::XDEV) => carry(&from, &to, &stat, cancel),
        Err(error @ Errno::EXIST) => Err(to.fault("move to", error)),
        Err(error) => Err(from.fault("move", error)),
    }
}

/// Moves a file to another file system: copies it, then removes it.
///
/// Two directories of one disk can be two file systems to us, when each was mounted for us alone.
fn carry(from: &Place, to: &Place, stat: &Stat, cancel: &Cancel) -> Result<(), Fault> {
    if beneath::kind(stat) != Kind::File {
        let reason = "only files are moved from one file system to another";
        return Err(Fault::OtherDisk { reason });
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let failed = |error| from.fault("move", error);
    let source = beneath::open(&from.parent, from.name.as_ref(), flags, Mode::empty());
    let source = source.map_err(failed)?;
    let opened = rustix::fs::fstat(&source).map_err(failed)?;
    if beneath::kind(&opened) != Kind::File {
        return Err(from.is_link_now());
    }
    let mut is_cancelled = false;
    let copied = write::put_with(to, Some(&opened), Existing::Keep, |file| {
        is_cancelled = !copy(&source, file, cancel)?;
        if is_cancelled { Err(Errno::CANCELED) } else { keep_times(file, &opened) }
    });
    if is_cancelled {
        return Err(Fault::Cancelled);
    }
    copied?;
    // What came to this name meanwhile was not copied, and stays.
    match from.look()? {
        Some(now) if (now.st_dev, now.st_ino) == (opened.st_dev, opened.st_ino) => {
            rustix::fs::unlinkat(&from.parent, &from.name, AtFlags::empty()).map_err(failed)
        }
        Some(_) | None => Ok(()),
    }
}

/// Copies all that follows; returns whether nobody cancelled it.
fn copy(source: &OwnedFd, file: &OwnedFd, cancel: &Cancel) -> Result<bool, Errno> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        if cancel.is_cancelled() {
            return Ok(false);
        }
        match rustix::io::read(source, chunk.as_mut_slice()) {
            Ok(0) => return Ok(true),
            Ok(n_bytes) => write::write_all(file, chunk.get(..n_bytes).unwrap_or_default())?,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
}

fn keep_times(file: &OwnedFd, stat: &Stat) -> Result<(), Errno> {
    let time = |seconds: i64, nanoseconds: u64| Timespec {
        tv_sec: seconds,
        tv_nsec: i64::try_from(nanoseconds).unwrap_or(0),
    };
    let times = Timestamps {
        last_access: time(stat.st_atime, stat.st_atime_nsec),
        last_modification: time(stat.st_mtime, stat.st_mtime_nsec),
    };
    match rustix::fs::futimens(file, &times) {
        // Some cages let nobody change times; it is the file that was to be moved.
        Ok(()) | Err(Errno::PERM) => Ok(()),
        Err(error) => Err(error),
    }
}
