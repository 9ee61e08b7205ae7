//! The working trees that a repository knows of: an entry in `.git/worktrees` for each.
//!
//! Made, changed and removed by our own hand, beneath handles. The trees themselves are not touched
//! here, and git is not run.

use std::path::Path;

use ic_resolve::git::linked::{COMMON, Pointer, back_pointer, is_tree_name, tree_of};
use ic_types::CanonicalPath;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;

use super::fault::Fault;
use super::linked;
use super::private::{remove, write_new};
use super::repository::Repository;
use crate::filesystem::{beneath, show};

/// How many names are tried for a new entry.
const NAMES_MAX: usize = 100;
/// How deep an entry is when it is removed.
const DEPTH_MAX: usize = 32;

/// A working tree that a repository knows of.
#[derive(Debug)]
pub(super) struct Tree {
    /// What it is called in the repository.
    pub(super) name: String,
    /// Where it is, if that is written as git does.
    pub(super) place: Option<CanonicalPath>,
    /// What is checked out there, as far as it is a branch.
    pub(super) branch: Option<String>,
    /// Whether somebody wants it kept.
    pub(super) is_locked: bool,
}

/// Returns the linked working trees of a repository.
pub(super) fn all(repository: &Repository) -> Result<Vec<Tree>, Fault> {
    let refused = |reason| Fault::Refused { path: repository.main().clone(), reason };
    let names = linked::names(repository.common()).map_err(refused)?;
    let trees = names.into_iter().map(|name| {
        let read = |part: &str| repository.read_common(&format!("worktrees/{name}/{part}"));
        let (place, head) = (read("gitdir")?, read("HEAD")?);
        let is_locked = repository.look_common(&format!("worktrees/{name}/locked"))?.is_some();
        let place = place.and_then(|bytes| tree_of(&bytes));
        let branch = head.as_deref().and_then(branch_of);
        Ok(Tree { name, place, branch, is_locked })
    });
    trees.collect()
}

/// Returns the branch that a HEAD names.
pub(super) fn branch_of(head: &[u8]) -> Option<String> {
    let text = str::from_utf8(head).ok()?.trim_end();
    text.strip_prefix("ref: refs/heads/").map(str::to_owned)
}

/// Returns where `branch` is checked out, or being rebased, if it is.
pub(super) fn holder(repository: &Repository, branch: &str) -> Result<Option<String>, Fault> {
    let holds = |own: &str| -> Result<bool, Fault> {
        let head = repository.read_common(&format!("{own}HEAD"))?;
        let rebased = repository.read_common(&format!("{own}rebase-merge/head-name"))?;
        let rebased = rebased.map(|name| [b"ref: ".as_slice(), &name].concat());
        let branches = [head, rebased].into_iter().flatten();
        Ok(branches.filter_map(|it| branch_of(&it)).any(|it| it == branch))
    };
    if holds("")? {
        return Ok(Some(show::path(repository.main().as_path())));
    }
    for tree in all(repository)? {
        if holds(&format!("worktrees/{}/", tree.name))? {
            return Ok(Some(tree.shown()));
        }
    }
    Ok(None)
}

impl Tree {
    /// Returns where it is, for people.
    pub(super) fn shown(&self) -> String {
        match &self.place {
            Some(place) => show::path(place.as_path()),
            None => format!(".git/worktrees/{}", self.name),
        }
    }
}

/// Makes the entry of a new tree at `place`, with `head` checked out.
pub(super) fn enter(
    repository: &Repository,
    place: &CanonicalPath,
    head: &str,
) -> Result<Pointer, Fault> {
    let fault = Fault::system("note the working tree");
    match rustix::fs::mkdirat(repository.common(), "worktrees", Mode::from_raw_mode(0o777)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(fault(errno)),
    }
    let trees = hold_trees(repository)?;
    let stem = name_for(place);
    let names = (0..NAMES_MAX).map(|n| if n == 0 { stem.clone() } else { format!("{stem}{n}") });
    for name in names {
        match rustix::fs::mkdirat(&trees, &name, Mode::from_raw_mode(0o777)) {
            Ok(()) => {}
            Err(Errno::EXIST) => continue,
            Err(errno) => return Err(fault(errno)),
        }
        let pointer = Pointer { repository: repository.main().clone(), name };
        let made = beneath::hold_directory(&trees, Path::new(&pointer.name)).map_err(&fault)?;
        let parts = [("commondir", COMMON), ("gitdir", &back_pointer(place)), ("HEAD", head)];
        for (part, text) in parts {
            write_new(&made, part, text.as_bytes()).map_err(&fault)?;
        }
        return Ok(pointer);
    }
    Err(Fault::Not(format!("the repository has {NAMES_MAX} working trees called `{stem}`")))
}

/// Notes that a tree is at `place` now.
pub(super) fn lead_to(
    repository: &Repository,
    name: &str,
    place: &CanonicalPath,
) -> Result<(), Fault> {
    let fault = Fault::system("note where the working tree is");
    let entry =
        beneath::hold_directory(hold_trees(repository)?, Path::new(name)).map_err(&fault)?;
    rustix::fs::unlinkat(&entry, "gitdir.new", AtFlags::empty()).ok();
    write_new(&entry, "gitdir.new", back_pointer(place).as_bytes()).map_err(&fault)?;
    rustix::fs::renameat(&entry, "gitdir.new", &entry, "gitdir").map_err(&fault)
}

/// Removes the entry of a tree.
pub(super) fn forget(repository: &Repository, name: &str) -> Result<(), Fault> {
    remove(hold_trees(repository)?, Path::new(name), DEPTH_MAX)
        .map_err(Fault::system("forget the working tree"))?;
    // As git does, if it was the last one.
    rustix::fs::unlinkat(repository.common(), "worktrees", AtFlags::REMOVEDIR).ok();
    Ok(())
}

fn hold_trees(repository: &Repository) -> Result<OwnedFd, Fault> {
    beneath::hold_directory(repository.common(), Path::new("worktrees"))
        .map_err(Fault::system("open `.git/worktrees`"))
}

/// Returns what a tree at `place` is called in its repository.
fn name_for(place: &CanonicalPath) -> String {
    const LEN_MAX: usize = 64;
    let last = place.as_path().file_name().unwrap_or_default().to_string_lossy();
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let name: String = last.chars().take(LEN_MAX).map(plain).collect();
    let name = name.trim_matches('-');
    if is_tree_name(name) { name.to_owned() } else { "tree".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_called_by_a_name_that_git_would_take() {
        for (place, expected) in [
            ("/w/fix", "fix"),
            ("/w/a b.c", "a-b-c"),
            ("/w/-x", "x"),
            ("/w/--upload-pack=x", "upload-pack-x"),
            ("/w/...", "tree"),
            ("/w/ä", "tree"),
            ("/", "tree"),
            ("/w/x.lock", "x-lock"),
            ("/w/a\nb", "a-b"),
        ] {
            let name = name_for(&CanonicalPath::new(place).unwrap());
            assert_eq!(name, expected, "{place}");
            assert!(is_tree_name(&name), "{place}");
        }
        assert!(name_for(&CanonicalPath::new(format!("/{}", "x".repeat(200))).unwrap()).len() < 70);
    }

    #[test]
    fn a_head_names_a_branch_or_none() {
        assert_eq!(branch_of(b"ref: refs/heads/a/b\n").as_deref(), Some("a/b"));
        for head in ["", "0123456789012345678901234567890123456789\n", "ref: refs/tags/x\n"] {
            assert_eq!(branch_of(head.as_bytes()), None, "{head}");
        }
    }
}
