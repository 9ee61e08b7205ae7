//! A linked working tree: its `.git` is a file that leads into a repository elsewhere.
//!
//! SECURITY: the agent can write that file. So it is read by us, the repository has to be within the
//! same reach and with the same rights as the tree, both ends have to name each other in git's own
//! words, and none of it may be a link. What git reads of it later by name is checked once more after
//! git has run.

use std::path::Path;

use ic_resolve::Kind;
use ic_resolve::git::linked::{COMMON, POINTER_BYTES_MAX, Pointer, check};
use ic_types::CanonicalPath;
use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::io::Errno;

use super::fault::Fault;
use super::repository::{Part, check_part, hold, look_at, read};
use crate::filesystem::reach::Reach;
use crate::filesystem::view::Rights;
use crate::filesystem::{beneath, show};

/// The most working trees of one repository.
const TREES_MAX: usize = 256;

/// What a part of the repository that is a tree's own has to be.
pub(super) const PARTS: [(&str, Part); 11] = [
    ("HEAD", Part::Needed(Kind::File)),
    ("gitdir", Part::Needed(Kind::File)),
    ("commondir", Part::Needed(Kind::File)),
    ("config.worktree", Part::Never("is a configuration of its own")),
    ("index", Part::Perhaps(Kind::File)),
    ("info", Part::Perhaps(Kind::Directory)),
    ("refs", Part::Perhaps(Kind::Directory)),
    ("logs", Part::Perhaps(Kind::Directory)),
    ("logs/HEAD", Part::Perhaps(Kind::File)),
    ("rebase-merge", Part::Perhaps(Kind::Directory)),
    ("sequencer", Part::Perhaps(Kind::Directory)),
];

/// What makes a directory a linked working tree.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) pointer: Pointer,
    /// The `.git` of the repository.
    common: OwnedFd,
}

impl Link {
    /// Opens the repository that the `.git` of the tree `top` leads to.
    pub(super) fn open(
        reach: &Reach,
        handle: BorrowedFd<'_>,
        top: &CanonicalPath,
        needed: Rights,
    ) -> Result<Self, Fault> {
        let refused = |reason: String| Fault::Refused { path: top.clone(), reason };
        let pointer = read_pointer(handle).map_err(refused)?;
        let git = CanonicalPath::new(pointer.repository.as_path().join(".git"))
            .map_err(|fault| refused(fault.to_string()))?;
        // SECURITY: whoever made the view has judged the tree, and has to have judged this as well.
        let (common, _) = hold(reach, &git, needed).map_err(|fault| {
            let repository = show::path(pointer.repository.as_path());
            refused(format!(
                "it is a linked working tree of `{repository}`, which is not within reach of this \
                 call: {fault}"
            ))
        })?;
        if !reach.is_together(top, &git) {
            let repository = show::path(pointer.repository.as_path());
            return Err(refused(format!(
                "it is a linked working tree of `{repository}`, which lies in another directory of \
                 those that are open; name the tree as `path`"
            )));
        }
        Ok(Self { pointer, common })
    }

    pub(super) fn common(&self) -> BorrowedFd<'_> {
        self.common.as_fd()
    }

    /// Holds on to the part of the repository that is the tree's own.
    pub(super) fn hold_own(&self) -> Result<OwnedFd, Errno> {
        beneath::hold_directory(&self.common, &Path::new("worktrees").join(&self.pointer.name))
    }

    /// Checks that the tree and its own part name each other.
    pub(super) fn check(
        &self,
        handle: BorrowedFd<'_>,
        own: BorrowedFd<'_>,
        top: &CanonicalPath,
    ) -> Result<(), String> {
        if read_pointer(handle)? != self.pointer {
            return Err("its `.git` leads elsewhere by now".to_owned());
        }
        let read = |name| read(own, name, POINTER_BYTES_MAX);
        check(top, read("gitdir")?.as_deref(), read("commondir")?.as_deref())
            .map_err(ToOwned::to_owned)
    }
}

fn read_pointer(handle: BorrowedFd<'_>) -> Result<Pointer, String> {
    let bytes = read(handle, ".git", POINTER_BYTES_MAX)?.unwrap_or_default();
    Pointer::parse(&bytes).map_err(ToOwned::to_owned)
}

/// Returns the repository whose turn it is when something is changed at `path`.
pub(super) fn changed_with(reach: &Reach, path: &CanonicalPath) -> CanonicalPath {
    let handle = reach.at(path, Rights::NONE).and_then(|reached| reached.hold_directory());
    let pointer = handle.ok().and_then(|handle| match look_at(handle.as_fd(), ".git") {
        Ok(Some(Kind::File)) => read_pointer(handle.as_fd()).ok(),
        Ok(_) | Err(_) => None,
    });
    pointer.map_or_else(|| path.clone(), |pointer| pointer.repository)
}

/// Checks what git reads of every tree of a repository, whichever it works in.
pub(super) fn check_all(common: BorrowedFd<'_>) -> Result<(), String> {
    for name in names(common)? {
        let at = |part: &str| format!("worktrees/{name}/{part}");
        for part in ["HEAD", "gitdir", "commondir"] {
            check_part(common, &at(part), Part::Perhaps(Kind::File))?;
        }
        // SECURITY: git reads the branch of each tree from where this leads.
        let commondir = read(common, &at("commondir"), POINTER_BYTES_MAX)?;
        if commondir.is_some_and(|bytes| bytes != COMMON.as_bytes()) {
            return Err(format!(
                "`.git/{}` says that its common part is elsewhere",
                at("commondir")
            ));
        }
    }
    Ok(())
}

/// Returns what the trees of a repository are called in it.
pub(super) fn names(common: BorrowedFd<'_>) -> Result<Vec<String>, String> {
    let entries = match beneath::list(common, Path::new("worktrees"), TREES_MAX) {
        Ok((_, entries, beneath::Whole::Complete)) => entries,
        Ok((_, _, beneath::Whole::Cut)) => {
            return Err(format!("it has more than {TREES_MAX} working trees"));
        }
        Err(Errno::NOENT) => return Ok(Vec::new()),
        Err(errno) => return Err(format!("`.git/worktrees`: {}", std::io::Error::from(errno))),
    };
    let names = entries.into_iter().map(|entry| match entry.name.to_str() {
        // Older versions of git called them by any name.
        Some(name) if entry.kind == Kind::Directory => Ok(name.to_owned()),
        Some(_) | None => Err(format!(
            "`.git/worktrees/{}` is not what git makes there, and could lead elsewhere",
            show::name(&entry.name)
        )),
    });
    names.collect()
}
