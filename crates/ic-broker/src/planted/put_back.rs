//! Compares two surveys of a ground, and puts back what was changed in between.
//!
//! What appeared is moved to the session's quarantine, and what was moved is moved back. Everything is
//! named beneath a handle on the ground, and no link is followed. What vanished altogether was not taken
//! by a caged server, which cannot remove what is mounted; it is told of and left.

use std::ffi::OsStr;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

use ic_home::tree::{TreeLimits, TreeLinks, copy_tree};
use ic_home::{file, scratch};
use ic_resolve::{Disk as _, Kind, RealDisk};
use ic_types::CanonicalPath;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, ResolveFlags};
use rustix::io::Errno;

use super::survey::Survey;
use super::{Ground, Kept};
use crate::judge::Judge;

/// How often a ground is looked at again, since one change can hide another.
const ROUNDS_MAX: usize = 8;
/// How many names an answer or a record lists.
const LISTED_MAX: usize = 20;
/// How many names for one thing in the quarantine are tried.
const NAMES_MAX: usize = 10_000;
/// What is kept of something that cannot be moved to the quarantine, but has to be copied.
const COPIED: TreeLimits = TreeLimits {
    entries_max: 20_000,
    bytes_max: 256 << 20,
    file_bytes_max: 64 << 20,
    depth_max: 64,
};

/// What was put back.
#[derive(Debug, Default)]
pub(crate) struct PutBack {
    /// What appeared, and where it is kept now, if it could be.
    pub(crate) away: Vec<(CanonicalPath, Option<PathBuf>)>,
    /// What was moved, and is where it was.
    pub(crate) back: Vec<CanonicalPath>,
    /// What is not there any more.
    pub(crate) gone: Vec<CanonicalPath>,
    /// What could not be done.
    pub(crate) failed: Vec<String>,
}

impl PutBack {
    /// Says what was put back.
    pub(crate) fn told(&self, server: &str) -> String {
        let mut text = format!(
            "host_executes_put_back: while the server `{server}` ran, files changed that programs on this \
             machine run or take orders from"
        );
        for (what, paths) in [
            ("moved to the quarantine", self.away.iter().map(|(path, _)| path).collect::<Vec<_>>()),
            ("moved back", self.back.iter().collect()),
            ("no longer there", self.gone.iter().collect()),
        ] {
            if !paths.is_empty() {
                text = format!("{text}; {what}: {}", names(&paths));
            }
        }
        if !self.failed.is_empty() {
            text = format!("{text}; NOT put back: {}", self.failed.join("; "));
        }
        format!(
            "{text}. The server was ended. To write such files, use the built-in filesystem server, which \
             asks for approval"
        )
    }

    /// Says where it is kept as well.
    pub(crate) fn told_in_full(&self, server: &str) -> String {
        let kept = self.away.iter().filter_map(|(path, place)| Some((path, place.as_ref()?)));
        let kept = kept.map(|(path, place)| format!("`{path}` is `{}`", place.display()));
        let kept: Vec<String> = kept.take(LISTED_MAX).collect();
        match kept.is_empty() {
            true => self.told(server),
            false => format!("{}; in the quarantine {}", self.told(server), kept.join(", ")),
        }
    }
}

fn names(paths: &[&CanonicalPath]) -> String {
    let shown: Vec<String> = paths.iter().take(LISTED_MAX).map(|it| format!("`{it}`")).collect();
    match paths.len().saturating_sub(LISTED_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Difference {
    Appeared(CanonicalPath),
    Moved { from: CanonicalPath, to: CanonicalPath },
    Gone(CanonicalPath),
}

impl Survey {
    /// Returns whether something has to be put back.
    pub(crate) fn differs(&self, after: &Self) -> bool {
        differences(self, after).iter().any(|it| !matches!(it, Difference::Gone(_)))
    }
}

/// Puts the ground back to what it was; nobody may be writing there any more.
pub(crate) fn put_back(kept: &Kept, before: &Survey, judge: &Judge, quarantine: &Path) -> PutBack {
    let mut done = PutBack::default();
    for _ in 0..ROUNDS_MAX {
        let after = match Survey::of(&kept.ground, judge, &RealDisk) {
            Ok(after) => after,
            Err(fault) => {
                done.failed.push(fault.to_string());
                return done;
            }
        };
        let mut differences = differences(before, &after);
        if differences.iter().all(|it| matches!(it, Difference::Gone(_))) {
            done.gone = differences
                .drain(..)
                .filter_map(|it| match it {
                    Difference::Gone(path) => Some(path),
                    Difference::Appeared(..) | Difference::Moved { .. } => None,
                })
                .collect();
            return done;
        }
        // What appeared may stand where something has to be moved back to.
        differences.sort_by_key(|it| matches!(it, Difference::Moved { .. }));
        for difference in differences {
            let result = match difference {
                Difference::Appeared(path) => away(&kept.ground, &path, quarantine)
                    .map(|place| done.away.push((path.clone(), place)))
                    .map_err(|error| format!("`{path}` cannot be moved away: {error}")),
                Difference::Moved { from, to } => back(&kept.ground, &from, &to)
                    .map(|()| done.back.push(to.clone()))
                    .map_err(|error| format!("`{from}` cannot be moved back to `{to}`: {error}")),
                Difference::Gone(_) => Ok(()),
            };
            if let Err(failed) = result {
                done.failed.push(failed);
                return done;
            }
        }
    }
    done.failed.push("it changes faster than it can be put back".to_owned());
    done
}

fn differences(before: &Survey, after: &Survey) -> Vec<Difference> {
    let mut found = Vec::new();
    let was = |path: &CanonicalPath| before.counted().get(path).map(|it| it.identity);
    for (path, now) in after.counted() {
        if was(path) == Some(now.identity) || after.is_newly_led(path, before) {
            continue;
        }
        let origin = before.counted().iter().find(|(_, then)| then.identity == now.identity);
        if let Some((to, _)) = origin {
            found.push(Difference::Moved { from: path.clone(), to: to.clone() });
            continue;
        }
        // SECURITY: of a directory that became a repository only what makes it one is new; the rest is
        // the user's.
        let parts = after.parts().iter().filter(|(part, _)| part.parent().as_ref() == Some(path));
        let new = parts.filter(|(part, identity)| before.parts().get(part) != Some(identity));
        let new: Vec<_> = new.map(|(part, _)| Difference::Appeared(part.clone())).collect();
        match new.is_empty() {
            true => found.push(Difference::Appeared(path.clone())),
            false => found.extend(new),
        }
    }
    for (path, then) in before.counted() {
        let is_there = after.counted().values().any(|now| now.identity == then.identity);
        if !is_there {
            found.push(Difference::Gone(path.clone()));
        }
    }
    found
}

/// Moves what is at `path` to the quarantine; returns where it is, if it could be kept.
fn away(
    ground: &Ground,
    path: &CanonicalPath,
    quarantine: &Path,
) -> Result<Option<PathBuf>, String> {
    let (parent, name) = hold(ground, path)?;
    file::create_dir(quarantine).map_err(|error| error.to_string())?;
    let shown = name.to_string_lossy();
    for n in 0..NAMES_MAX {
        let place = quarantine.join(format!("{n}-{shown}"));
        let flags = RenameFlags::NOREPLACE;
        match rustix::fs::renameat_with(&parent, name, CWD, &place, flags) {
            Ok(()) => return Ok(Some(place)),
            Err(Errno::EXIST) => {}
            // The quarantine is on another file system.
            Err(Errno::XDEV) => return copied(path, (&parent, name), &place),
            Err(errno) => return Err(errno.to_string()),
        }
    }
    Err("the quarantine is full".to_owned())
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
            let held = PathBuf::from(format!("/proc/self/fd/{}", parent.as_raw_fd()));
            scratch::remove_tree(held.join(name)).map_err(|error| error.to_string())?;
        }
        Some(Kind::File | Kind::Link | Kind::Other) | None => {
            rustix::fs::unlinkat(parent, name, AtFlags::empty()).map_err(|it| it.to_string())?;
        }
    }
    Ok(is_kept.then(|| place.to_owned()))
}

/// Moves what is at `from` to where it was.
fn back(ground: &Ground, from: &CanonicalPath, to: &CanonicalPath) -> Result<(), String> {
    let (source, name) = hold(ground, from)?;
    make_way(ground, to)?;
    let (target, old_name) = hold(ground, to)?;
    rustix::fs::renameat_with(&source, name, &target, old_name, RenameFlags::NOREPLACE)
        .map_err(|errno| errno.to_string())
}

const RESOLVE: ResolveFlags = ResolveFlags::NO_SYMLINKS.union(ResolveFlags::NO_MAGICLINKS);
const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Holds the directory that `path` stands in, and returns its name there.
fn hold<'p>(ground: &Ground, path: &'p CanonicalPath) -> Result<(OwnedFd, &'p OsStr), String> {
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
