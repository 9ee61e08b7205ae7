//! Writing: a file is made whole beside the old one and takes its name; directories are made.
//!
//! ```text
//! hold the directory ─▶ new file in it, a name nobody guesses ─▶ write ─▶ mode ─▶ rename
//!                                                     (an error removes the new file)
//! ```
//!
//! So whoever has the old file open, or by another hard link, keeps the old content, and a full disk
//! leaves the old file as it was. Does not read what it replaces.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;

use ic_resolve::Kind;
use ic_types::CanonicalPath;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, Gid, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use super::arguments::Arguments;
use super::beneath;
use super::deed::{Deed, EDITING, Hands, Known};
use super::fault::Fault;
use super::lanes::Lanes;
use super::reach::{Place, Reach};
use super::show;
use super::view::Rights;
use crate::tools::{Caller, ToolResult};

/// How every name of an unfinished file begins.
pub(super) const TEMPORARY_PREFIX: &str = ".ironcurtain-tmp.";
/// How often a new name is tried before we believe that something is wrong.
const NAMES_MAX: usize = 16;
/// What anybody may do with a new file or directory, less what the umask takes.
const NEW_FILE: Mode = Mode::from_raw_mode(0o644);
const NEW_DIRECTORY: Mode = Mode::from_raw_mode(0o755);
/// The bits that are kept of a mode: never those that lend rights.
const KEPT: Mode = Mode::from_raw_mode(0o777);

/// Makes a file, or replaces what is in it.
pub(super) fn file(
    reach: &Reach,
    (hands, lanes): (Hands, &Lanes),
    arguments: Arguments<'_>,
    caller: Caller<'_>,
) -> Result<ToolResult, Fault> {
    let content = arguments.text("content")?;
    let path = reach.find(arguments.text("path")?, Rights::WRITE)?;
    let _lane = lanes.enter(&path);
    let shown = show::path(path.as_path());
    let deed = Deed::Write { path, content: Cow::Borrowed(content) };
    hands.carry_out(&deed, reach, caller)?;
    let unit = if content.len() == 1 { "byte" } else { "bytes" };
    Ok(ToolResult::text(format!("Wrote {} {unit} to {shown}", content.len())))
}

/// Makes a directory, and those above it that are missing.
pub(super) fn directory(
    reach: &Reach,
    hands: Hands,
    arguments: Arguments<'_>,
    caller: Caller<'_>,
) -> Result<ToolResult, Fault> {
    let path = reach.find(arguments.text("path")?, Rights::WRITE)?;
    let shown = show::path(path.as_path());
    hands.carry_out(&Deed::CreateDirectory { path }, reach, caller)?;
    Ok(ToolResult::text(format!("The directory {shown} is there")))
}

/// Replaces what is in the file at `path`, if it is still the `known` one, or makes a file there.
pub(super) fn replace(
    reach: &Reach,
    path: &CanonicalPath,
    content: &[u8],
    known: Option<&Known>,
) -> Result<(), Fault> {
    let needed = if known.is_some() { EDITING } else { Rights::WRITE };
    let place = reach.at(path, needed)?.into_place()?;
    let old = old_file(&place)?;
    if known.is_some() && old.as_ref().map(Known::of).as_ref() != known {
        return Err(Fault::Overtaken { path: place.path });
    }
    put(&place, content, old.as_ref(), Existing::Replace)
}

/// Makes the directory at `path`, and those above it that are missing.
pub(super) fn make_directory(reach: &Reach, path: &CanonicalPath) -> Result<(), Fault> {
    let reached = reach.at(path, Rights::WRITE)?;
    let failed = |error| reached.fault("make the directory", error);
    let (root, steps) = reached.steps();
    let mut at = beneath::hold_directory(root, Path::new("")).map_err(failed)?;
    for name in steps {
        let name = Path::new(name);
        at = match beneath::hold_directory(&at, name) {
            Err(Errno::NOENT) => {
                match rustix::fs::mkdirat(&at, name, NEW_DIRECTORY) {
                    // Somebody else may have been faster.
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(failed(error)),
                }
                beneath::hold_directory(&at, name).map_err(failed)?
            }
            held => held.map_err(failed)?,
        };
    }
    Ok(())
}

/// Looks at the file that is to be replaced; `None` if there is none.
///
/// Renaming asks for no right on the old file, so it is asked for here: what its owner made
/// read-only stays.
fn old_file(place: &Place) -> Result<Option<Stat>, Fault> {
    let Some(stat) = place.look()? else { return Ok(None) };
    match beneath::kind(&stat) {
        Kind::File => {}
        Kind::Link => return Err(place.is_link_now()),
        is @ (Kind::Directory | Kind::Other) => {
            let path = place.path.clone();
            return Err(Fault::WrongKind { path, is, wanted: "only files are replaced" });
        }
    }
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let failed = |error| place.fault("write", error);
    let old = beneath::open(&place.parent, Path::new(&place.name), flags, Mode::empty());
    rustix::fs::fstat(old.map_err(failed)?).map(Some).map_err(failed)
}

/// What to do with something that has the name already.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Existing {
    Replace,
    Keep,
}

/// Puts a file of `content` at `place`, with the mode of the `old` one.
fn put(place: &Place, content: &[u8], old: Option<&Stat>, existing: Existing) -> Result<(), Fault> {
    put_with(place, old, existing, |file| write_all(file, content))
}

/// Puts a file at `place` that `fill` writes.
pub(super) fn put_with(
    place: &Place,
    old: Option<&Stat>,
    existing: Existing,
    fill: impl FnOnce(&OwnedFd) -> Result<(), Errno>,
) -> Result<(), Fault> {
    let failed = |error| place.fault("write", error);
    let temporary = Temporary::make(place, old).map_err(failed)?;
    // SECURITY: only now, since a change of owner or content would take bits of the mode away, and
    // since nobody is to read a private file while it is written.
    let done = fill(&temporary.file).and_then(|()| match (old, temporary.rights) {
        (Some(old), TemporaryRights::ToCome) => take_over(&temporary.file, old),
        (Some(_), TemporaryRights::Final) | (None, _) => Ok(()),
    });
    done.and_then(|()| temporary.publish(place, existing)).map_err(failed)
}

/// Writes all of `bytes`.
pub(super) fn write_all(file: impl AsFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(&file, bytes) {
            Ok(0) => return Err(Errno::IO),
            Ok(n_bytes) => bytes = bytes.get(n_bytes..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Gives the new file group and mode of the old one.
fn take_over(file: &OwnedFd, old: &Stat) -> Result<(), Errno> {
    let new = rustix::fs::fstat(file)?;
    let mut mode = Mode::from_raw_mode(old.st_mode) & KEPT;
    if new.st_gid != old.st_gid
        && rustix::fs::fchown(file, None, Some(Gid::from_raw(old.st_gid))).is_err()
    {
        // What was meant for one group is not for another.
        mode -= Mode::RWXG;
    }
    rustix::fs::fchmod(file, mode)
}

/// An unfinished file; removed when it is dropped before it has got its name.
struct Temporary<'a> {
    parent: &'a OwnedFd,
    name: OsString,
    file: OwnedFd,
    rights: TemporaryRights,
    is_published: bool,
}

/// Whether an unfinished file has the mode that it will have.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum TemporaryRights {
    /// It is private until it gets it.
    ToCome,
    /// It does.
    Final,
}

impl<'a> Temporary<'a> {
    fn make(place: &'a Place, old: Option<&Stat>) -> Result<Self, Errno> {
        // A new file has from the start what it will have, and the umask is the system's business;
        // the copy of an old one is nobody's until it has the old one's mode.
        let Some(old) = old else {
            return Self::with_mode(place, NEW_FILE, TemporaryRights::Final);
        };
        let private = Mode::RUSR | Mode::WUSR;
        let made = Self::with_mode(place, private, TemporaryRights::ToCome)?;
        // Some cages let nobody change a mode; then it has to have it from the start.
        if rustix::fs::fchmod(&made.file, private) != Err(Errno::PERM) {
            return Ok(made);
        }
        let mut mode = Mode::from_raw_mode(old.st_mode) & KEPT;
        if rustix::fs::fstat(&made.file)?.st_gid != old.st_gid {
            mode -= Mode::RWXG;
        }
        Self::with_mode(place, mode, TemporaryRights::Final)
    }

    fn with_mode(place: &'a Place, mode: Mode, rights: TemporaryRights) -> Result<Self, Errno> {
        // SECURITY: exclusive, so that nothing that was put there first is written to.
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        for _ in 0..NAMES_MAX {
            let name = fresh_name()?;
            match beneath::open(&place.parent, Path::new(&name), flags, mode) {
                Ok(file) => {
                    let parent = &place.parent;
                    return Ok(Self { parent, name, file, rights, is_published: false });
                }
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Errno::EXIST)
    }

    fn publish(mut self, place: &Place, existing: Existing) -> Result<(), Errno> {
        match existing {
            Existing::Replace => {
                rustix::fs::renameat(self.parent, &self.name, &place.parent, &place.name)?;
            }
            Existing::Keep => {
                let flags = RenameFlags::NOREPLACE;
                let (from, to) = (&self.name, &place.name);
                rustix::fs::renameat_with(self.parent, from, &place.parent, to, flags)?;
            }
        }
        self.is_published = true;
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.is_published {
            // If even that fails, a file with a telling name is left.
            rustix::fs::unlinkat(self.parent, &self.name, AtFlags::empty()).ok();
        }
    }
}

fn fresh_name() -> Result<OsString, Errno> {
    let mut random = [0_u8; 16];
    let flags = rustix::rand::GetRandomFlags::empty();
    if rustix::rand::getrandom(&mut random, flags)? != random.len() {
        return Err(Errno::IO);
    }
    let mut name = String::from(TEMPORARY_PREFIX);
    for byte in random {
        // Writing to a string cannot fail.
        write!(name, "{byte:02x}").ok();
    }
    Ok(OsString::from(name))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make files")]

    use super::super::view::{Links, View, ViewDirectory};
    use super::*;

    #[test]
    fn a_file_that_does_not_get_its_name_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::write(root.join("f.txt"), "old").unwrap();
        let path = CanonicalPath::new(&root).unwrap();
        let directories = vec![ViewDirectory { path, rights: Rights::ALL }];
        let view = View { directories, leave_out: Vec::new(), only: None, links: Links::Refuse };
        let reach = Reach::open(&view);
        let path = CanonicalPath::new(root.join("f.txt")).unwrap();
        let place = reach.place(&path, Rights::WRITE).unwrap();
        let kept = put(&place, b"new", None, Existing::Keep);
        assert!(matches!(kept, Err(Fault::Exists { .. })), "{kept:?}");
        let unfilled = put_with(&place, None, Existing::Replace, |_| Err(Errno::NOSPC));
        assert!(matches!(unfilled, Err(Fault::System { .. })), "{unfilled:?}");
        let names: Vec<_> =
            std::fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["f.txt"]);
        assert_eq!(std::fs::read(root.join("f.txt")).unwrap(), b"old");
    }
}
