//! Moves, makes and removes things on a ground, beneath a handle and through no link.
//!
//! What is to be done is decided elsewhere.

use std::ffi::OsStr;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

use ic_home::tree::{TreeLimits, TreeLinks, copy_tree};
use ic_home::{file, scratch};
use ic_resolve::{Disk as _, Kind, RealDisk};
use ic_types::CanonicalPath;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, ResolveFlags};
use rustix::io::Errno;

use super::Ground;
use super::survey::Former;

/// How many names for one thing in the quarantine are tried.
const NAMES_MAX: usize = 10_000;
/// How much of its name is in the name of what is kept.
const NAME_CHARS_MAX: usize = 60;
/// What is kept of something that cannot be moved to the quarantine, but has to be copied.
const COPIED: TreeLimits = TreeLimits {
    entries_max: 20_000,
    bytes_max: 256 << 20,
    file_bytes_max: 64 << 20,
    depth_max: 64,
};

/// Moves what is at `path` to the quarantine; returns where it is, if it could be kept.
pub(super) fn away(
    ground: &Ground,
    path: &CanonicalPath,
    (quarantine, from): (&Path, usize),
) -> Result<Option<PathBuf>, String> {
    let (parent, name) = hold(ground, path)?;
    file::create_dir(quarantine).map_err(|error| error.to_string())?;
    let shown: String = name.to_string_lossy().chars().take(NAME_CHARS_MAX).collect();
    let mut is_opened = false;
    for n in (from..).take(NAMES_MAX) {
        let place = quarantine.join(format!("{n}-{shown}"));
        if rustix::fs::lstat(&place).is_ok() {
            continue;
        }
        // SECURITY: a file with another name can be written by that name, and what is kept must not be.
        if has_other_names(&parent, name) {
            return copied(path, (&parent, name), &place);
        }
        let mut moved =
            rustix::fs::renameat_with(&parent, name, CWD, &place, RenameFlags::NOREPLACE);
        if moved == Err(Errno::ACCESS) && !std::mem::replace(&mut is_opened, true) {
            // Whoever put it there may have closed the directory.
            allow_all(&parent).map_err(|errno| errno.to_string())?;
            moved = rustix::fs::renameat_with(&parent, name, CWD, &place, RenameFlags::NOREPLACE);
        }
        match moved {
            Ok(()) => return Ok(Some(place)),
            Err(Errno::EXIST) => {}
            // The quarantine is on another file system.
            Err(Errno::XDEV) => return copied(path, (&parent, name), &place),
            Err(errno) => return Err(errno.to_string()),
        }
    }
    Err("the quarantine is full".to_owned())
}

fn has_other_names(parent: &OwnedFd, name: &OsStr) -> bool {
    let stat = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW);
    stat.is_ok_and(|stat| {
        FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && 1 < stat.st_nlink
    })
}

/// Copies what is at `path` to the quarantine as far as that is possible, and removes it.
fn copied(
    path: &CanonicalPath,
    (parent, name): (&OwnedFd, &OsStr),
    place: &Path,
) -> Result<Option<PathBuf>, String> {
    let kind = RealDisk.look(path.as_path()).ok().flatten().map(|entry| entry.kind);
    let is_kept = match kind {
        Some(Kind::Directory) => {
            let how = (COPIED, TreeLinks::KeepInside);
            copy_tree(path.as_path(), place, how, &|_| false).is_ok()
        }
        Some(Kind::File) => {
            let bytes = RealDisk.read_file(path.as_path(), 64 << 20).ok().flatten();
            bytes.is_some_and(|bytes| file::create_new(place, &bytes).is_ok())
        }
        Some(Kind::Link | Kind::Other) | None => false,
    };
    // SECURITY: it does not stay, even if it could not be kept.
    match kind {
        Some(Kind::Directory) => {
            scratch::remove_tree(held_path(parent).join(name))
                .map_err(|error| error.to_string())?;
        }
        Some(Kind::File | Kind::Link | Kind::Other) | None => {
            rustix::fs::unlinkat(parent, name, AtFlags::empty()).map_err(|it| it.to_string())?;
        }
    }
    Ok(is_kept.then(|| place.to_owned()))
}

/// Returns what stands at `path`, or where a directory above it has to be.
pub(super) fn at_or_in_the_way(ground: &Ground, path: &CanonicalPath) -> Option<CanonicalPath> {
    let is_there = || RealDisk.look(path.as_path()).is_ok_and(|entry| entry.is_some());
    in_the_way(ground, path).or_else(|| is_there().then(|| path.clone()))
}

/// Returns what stands where a directory above `path` has to be, and is none.
pub(super) fn in_the_way(ground: &Ground, path: &CanonicalPath) -> Option<CanonicalPath> {
    let (root, below) = on_ground(ground, path)?;
    let mut at = root.clone();
    for name in below.parent()? {
        at = at.join(name).ok()?;
        match RealDisk.look(at.as_path()).ok().flatten().map(|entry| entry.kind) {
            Some(Kind::Directory) => {}
            Some(Kind::File | Kind::Link | Kind::Other) => return Some(at),
            None => return None,
        }
    }
    None
}

/// Moves what is at `from` to where it was.
pub(super) fn back(
    ground: &Ground,
    from: &CanonicalPath,
    to: &CanonicalPath,
) -> Result<(), String> {
    let (source, name) = hold(ground, from)?;
    make_way(ground, to)?;
    let (target, old_name) = hold(ground, to)?;
    rustix::fs::renameat_with(&source, name, &target, old_name, RenameFlags::NOREPLACE)
        .map_err(|errno| errno.to_string())
}

/// Makes the file or the link anew that was at `path`; nothing may be there.
pub(super) fn restore(
    ground: &Ground,
    path: &CanonicalPath,
    former: &Former,
) -> Result<(), String> {
    make_way(ground, path)?;
    let (parent, name) = hold(ground, path)?;
    let made = match former {
        Former::File(text) => write_new(&parent, name, (&text.bytes, text.is_executable)),
        Former::Link(target) => rustix::fs::symlinkat(&**target, &parent, name),
    };
    made.map_err(|errno| errno.to_string())
}

/// Makes a file with these bytes.
pub(super) fn write_new(
    parent: &OwnedFd,
    name: &OsStr,
    (bytes, is_executable): (&[u8], bool),
) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(if is_executable { 0o755 } else { 0o644 });
    let file = rustix::fs::openat(parent, name, flags, mode)?;
    let mut rest = bytes;
    while !rest.is_empty() {
        let n_written = rustix::io::retry_on_intr(|| rustix::io::write(&file, rest))?;
        rest = rest.get(n_written..).unwrap_or_default();
    }
    Ok(())
}

/// Lets the user look into a directory again.
pub(super) fn open_up(ground: &Ground, path: &CanonicalPath) -> Result<(), String> {
    let (parent, name) = hold(ground, path)?;
    let resolve = RESOLVE | ResolveFlags::BENEATH;
    let directory = rustix::fs::openat2(&parent, name, DIRECTORY, Mode::empty(), resolve);
    directory.and_then(|it| allow_all(&it)).map_err(|errno| errno.to_string())
}

/// Returns a path to a directory that is held.
pub(super) fn held_path(directory: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()))
}

/// Gives its owner all rights to a directory that is held.
fn allow_all(directory: &OwnedFd) -> Result<(), Errno> {
    let held = held_path(directory);
    let mode = Mode::from_raw_mode(rustix::fs::fstat(directory)?.st_mode & 0o777);
    rustix::fs::chmod(held, mode | Mode::RWXU)
}

const RESOLVE: ResolveFlags = ResolveFlags::NO_SYMLINKS.union(ResolveFlags::NO_MAGICLINKS);
pub(super) const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Holds the directory that `path` stands in, and returns its name there.
pub(super) fn hold<'p>(
    ground: &Ground,
    path: &'p CanonicalPath,
) -> Result<(OwnedFd, &'p OsStr), String> {
    let outside = || "it is not where the server may write".to_owned();
    let (root, below) = on_ground(ground, path).ok_or_else(outside)?;
    let name = path.as_path().file_name().ok_or_else(outside)?;
    let root = hold_root(root)?;
    let parent = match below.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => {
            let resolve = RESOLVE | ResolveFlags::BENEATH;
            rustix::fs::openat2(&root, parent, DIRECTORY, Mode::empty(), resolve)
                .map_err(|errno| errno.to_string())?
        }
        Some(_) | None => root,
    };
    Ok((parent, name))
}

/// Makes the directories above `path` that are gone.
fn make_way(ground: &Ground, path: &CanonicalPath) -> Result<(), String> {
    let Some((root, below)) = on_ground(ground, path) else { return Ok(()) };
    let mut directory = hold_root(root)?;
    let above = below.parent().unwrap_or(Path::new(""));
    for name in above {
        match rustix::fs::mkdirat(&directory, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.to_string()),
        }
        let resolve = RESOLVE | ResolveFlags::BENEATH;
        directory = rustix::fs::openat2(&directory, name, DIRECTORY, Mode::empty(), resolve)
            .map_err(|errno| errno.to_string())?;
    }
    Ok(())
}

fn hold_root(root: &CanonicalPath) -> Result<OwnedFd, String> {
    rustix::fs::openat2(CWD, root.as_path(), DIRECTORY, Mode::empty(), RESOLVE)
        .map_err(|errno| errno.to_string())
}

/// Returns the deepest root above `path`, and the way from there.
fn on_ground<'a>(
    ground: &'a Ground,
    path: &'a CanonicalPath,
) -> Option<(&'a CanonicalPath, &'a Path)> {
    let above = ground.roots().iter().filter(|root| *root != path && path.is_within(root));
    let root = above.max_by_key(|root| root.components().count())?;
    Some((root, path.as_path().strip_prefix(root.as_path()).ok()?))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make files")]

    use super::*;

    /// A quarantine on another file system gets a copy, and the original goes all the same.
    #[test]
    fn what_cannot_be_moved_is_copied_and_removed() {
        let place = tempfile::tempdir().unwrap();
        let root = CanonicalPath::new(place.path().canonicalize().unwrap()).unwrap();
        let at = |name: &str| root.join(OsStr::new(name)).unwrap();
        std::fs::create_dir_all(at(".vscode").as_path().join("deep")).unwrap();
        std::fs::write(at(".vscode").as_path().join("deep/tasks.json"), "planted").unwrap();
        std::fs::write(at(".envrc").as_path(), "planted").unwrap();
        std::fs::write(at("mine").as_path(), "mine").unwrap();
        std::os::unix::fs::symlink("mine", at(".npmrc").as_path()).unwrap();
        let held = hold_root(&root).unwrap();
        for (name, kept) in
            [(".vscode", Some("0/deep/tasks.json")), (".envrc", Some("1")), (".npmrc", None)]
        {
            let to = root.as_path().join(if name == ".vscode" { "0" } else { "1" });
            let place = copied(&at(name), (&held, OsStr::new(name)), &to).unwrap();
            assert_eq!(place.is_some(), kept.is_some(), "{name}");
            assert!(std::fs::symlink_metadata(at(name).as_path()).is_err(), "{name} is gone");
            if let Some(kept) = kept {
                let text = std::fs::read_to_string(root.as_path().join(kept)).unwrap();
                assert_eq!(text, "planted");
            }
        }
        assert_eq!(std::fs::read_to_string(at("mine").as_path()).unwrap(), "mine");
    }
}
