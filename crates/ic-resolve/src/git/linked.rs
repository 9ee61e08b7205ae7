//! Linked working trees: the three small files by which git ties one to its repository.
//!
//! ```text
//! <tree>/.git                              a file:  gitdir: <repository>/.git/worktrees/<name>
//! <repository>/.git/worktrees/<name>/      gitdir:     <tree>/.git
//!                                          commondir:  ../..
//! ```
//!
//! An agent can write any of them. So a tree is believed only if all three say exactly what git writes,
//! absolute and through no link, and agree with each other; anything else leads elsewhere. Whether the
//! repository may be used is not known here.

use std::path::{Path, PathBuf};

use ic_types::path::PATH_BYTES_MAX;
use ic_types::{AbsolutePath, CanonicalPath};

use super::is_branch;
use crate::disk::{Disk, Kind};
use crate::path::{Last, follow};

/// The longest of the three files that is read.
pub const POINTER_BYTES_MAX: usize = PATH_BYTES_MAX + 16;

/// What `commondir` says.
pub const COMMON: &str = "../..\n";

/// Where the `.git` of a linked working tree leads.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Pointer {
    /// The directory that holds the repository's own `.git`.
    pub repository: CanonicalPath,
    /// What the tree is called in the repository.
    ///
    /// Invariant: one component, as [`is_tree_name`] takes it.
    pub name: String,
}

impl Pointer {
    /// Reads a `.git` that is a file.
    pub fn parse(bytes: &[u8]) -> Result<Self, &'static str> {
        const ODD: &str = "its `.git` is not a directory but leads elsewhere, and is not what git writes \
                           for a linked working tree";
        let text = str::from_utf8(bytes).map_err(|_| ODD)?;
        let path = text.strip_prefix("gitdir: ").and_then(|rest| rest.strip_suffix('\n'));
        let path = path.filter(|path| !path.contains(char::is_control)).ok_or(ODD)?;
        // SECURITY: in normal form, so that neither `..` nor a repeated slash hides where it leads.
        let path = CanonicalPath::new(path).map_err(|_| ODD)?;
        let name = path.as_path().file_name().and_then(|name| name.to_str()).ok_or(ODD)?;
        let trees = path.parent().ok_or(ODD)?;
        let git = trees.parent().ok_or(ODD)?;
        let repository = git.parent().ok_or(ODD)?;
        let is_called = |path: &CanonicalPath, name: &str| {
            path.as_path().file_name().is_some_and(|last| last == name)
        };
        match is_called(&trees, "worktrees") && is_called(&git, ".git") && is_tree_name(name) {
            true => Ok(Self { repository, name: name.to_owned() }),
            false => Err(ODD),
        }
    }

    /// Returns what stands in the `.git` of the tree.
    pub fn text(&self) -> String {
        format!("gitdir: {}\n", self.directory().display())
    }

    /// Returns the part of the repository that is the tree's own.
    pub fn directory(&self) -> PathBuf {
        self.repository.as_path().join(".git/worktrees").join(&self.name)
    }
}

/// Returns what stands in `gitdir`, which leads back to `tree`.
pub fn back_pointer(tree: &CanonicalPath) -> String {
    format!("{}\n", tree.as_path().join(".git").display())
}

/// Returns which tree the text of a `gitdir` leads back to.
pub fn tree_of(bytes: &[u8]) -> Option<CanonicalPath> {
    let text = str::from_utf8(bytes).ok()?;
    let tree = CanonicalPath::new(text.strip_suffix("/.git\n")?).ok()?;
    (back_pointer(&tree) == text).then_some(tree)
}

/// Checks the two files in the part of the repository that is the own one of `tree`.
pub fn check(
    tree: &CanonicalPath,
    gitdir: Option<&[u8]>,
    commondir: Option<&[u8]>,
) -> Result<(), &'static str> {
    // SECURITY: without the way back any directory could pass for a tree of any repository.
    if gitdir != Some(back_pointer(tree).as_bytes()) {
        return Err("the repository that its `.git` leads to knows of no working tree here");
    }
    if commondir != Some(COMMON.as_bytes()) {
        return Err("`commondir` says that its common part is elsewhere");
    }
    Ok(())
}

/// Returns whether git would call a tree so; never an option, a path or a hidden file.
pub fn is_tree_name(name: &str) -> bool {
    is_branch(name) && !name.contains('/') && !name.starts_with('-') && name.len() <= 255
}

/// Finds the repository of the linked working tree at `tree`; `None` if it has no `.git` that is a file.
pub fn find(disk: &dyn Disk, tree: &CanonicalPath) -> Result<Option<Pointer>, String> {
    let at = tree.as_path().join(".git");
    match disk.look(&at).map_err(|error| format!("`.git`: {error}"))? {
        Some(entry) if entry.kind == Kind::File => {}
        Some(_) | None => return Ok(None),
    }
    let read = |path: &Path| {
        let name = path.file_name().unwrap_or_default().display();
        disk.read_file(path, POINTER_BYTES_MAX).map_err(|error| format!("`{name}`: {error}"))
    };
    let pointer = Pointer::parse(&read(&at)?.unwrap_or_default())?;
    let directory = pointer.directory();
    let found = AbsolutePath::new(&directory)
        .map_err(|fault| fault.to_string())
        .and_then(|path| follow(disk, &path, Last::Follow).map_err(|fault| fault.to_string()))?;
    // SECURITY: through a link the names lead to a repository that is not the one that is judged.
    if found.path.as_path() != directory
        || found.entry.is_none_or(|entry| entry.kind != Kind::Directory)
    {
        return Err("its `.git` leads to no part of a repository".to_owned());
    }
    let (gitdir, commondir) =
        (read(&directory.join("gitdir"))?, read(&directory.join("commondir"))?);
    check(tree, gitdir.as_deref(), commondir.as_deref())?;
    Ok(Some(pointer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_git_writes_is_a_pointer() {
        let pointer = Pointer::parse(b"gitdir: /r/top/.git/worktrees/x\n").unwrap();
        assert_eq!(pointer.repository.as_path(), Path::new("/r/top"));
        assert_eq!(pointer.name, "x");
        assert_eq!(pointer.text(), "gitdir: /r/top/.git/worktrees/x\n");
        for text in [
            "",
            "gitdir: ",
            "gitdir: /r/.git/worktrees/x",
            "gitdir:/r/.git/worktrees/x\n",
            "gitdir: /r/.git/worktrees/x\n\n",
            "gitdir: /r/.git/worktrees/x\r\n",
            "gitdir: /r/.git/worktrees/x\ngitdir: /o/.git/worktrees/x\n",
            "gitdir: r/.git/worktrees/x\n",
            "gitdir: ../.git/worktrees/x\n",
            "gitdir: /r/../o/.git/worktrees/x\n",
            "gitdir: /r/.git/worktrees/x/..\n",
            "gitdir: /r/.git/worktrees/..\n",
            "gitdir: /r//.git/worktrees/x\n",
            "gitdir: /r/.git/worktrees/x/\n",
            "gitdir: /r/.git/worktrees/-x\n",
            "gitdir: /r/.git/worktrees/.x\n",
            "gitdir: /r/.git/worktrees/x.lock\n",
            "gitdir: /r/.git/worktrees/a b\n",
            "gitdir: /r/.git/worktrees\n",
            "gitdir: /r/.git/modules/x\n",
            "gitdir: /r/.git/modules/m/worktrees/x\n",
            "gitdir: /r.git/worktrees/x\n",
            "gitdir: /r/.git\n",
            "gitdir: /r/.git/worktrees/x/y\n",
            "\u{feff}gitdir: /r/.git/worktrees/x\n",
        ] {
            assert!(Pointer::parse(text.as_bytes()).is_err(), "{text:?}");
        }
    }

    #[test]
    fn the_way_back_names_one_tree() {
        let tree = CanonicalPath::new("/w").unwrap();
        assert_eq!(tree_of(b"/w/.git\n"), Some(tree.clone()));
        for text in ["/w/.git", "w/.git\n", "/w/../x/.git\n", "/w\n", "/w//.git\n", "/.git\n"] {
            assert_eq!(tree_of(text.as_bytes()), None, "{text:?}");
        }
        let ok = |gitdir: &str, commondir: &str| {
            check(&tree, Some(gitdir.as_bytes()), Some(commondir.as_bytes())).is_ok()
        };
        assert!(ok("/w/.git\n", "../..\n"));
        assert!(!ok("/x/.git\n", "../..\n") && !ok("/w/.git", "../..\n"));
        for common in ["../..", "../../\n", "../../..\n", "/r/.git\n", "", "../../../o/.git\n"] {
            assert!(!ok("/w/.git\n", common), "{common:?}");
        }
        assert!(check(&tree, None, Some(b"../..\n")).is_err());
        assert!(check(&tree, Some(b"/w/.git\n"), None).is_err());
    }
}
