//! Where git keeps the repository of a tree: what a `.git` and a `commondir` lead to, and by which ways.
//!
//! However loosely they are written, more is followed than git would follow, and never less.

use std::ffi::OsStr;

use ic_policy::host_executes::GIT_DIRECTORY;
use ic_types::CanonicalPath;

use crate::disk::{Disk, Kind};
use crate::git::linked::POINTER_BYTES_MAX;
use crate::path::{self, Last};

/// The directories in which a repository is kept, and the ways there.
#[derive(Default)]
pub(super) struct Ways {
    pub(super) git: Vec<CanonicalPath>,
    /// Links on the way.
    pub(super) links: Vec<CanonicalPath>,
    /// Directories that are left again on the way: in place of one, a link leads elsewhere.
    pub(super) passed: Vec<CanonicalPath>,
}

impl Ways {
    /// Finds where the repository of the tree at `top` is kept, whose `.git` is of this kind.
    pub(super) fn to(disk: &dyn Disk, top: &CanonicalPath, git: Option<Kind>) -> Self {
        let mut ways = Self::default();
        match git {
            Some(Kind::Directory) => ways.git.extend(top.join(OsStr::new(GIT_DIRECTORY))),
            Some(Kind::File) => ways.note_file(disk, top, (GIT_DIRECTORY, b"gitdir:")),
            Some(Kind::Link | Kind::Other) => ways.note(disk, top, GIT_DIRECTORY),
            None => ways.git.push(top.clone()),
        }
        for git in ways.git.clone() {
            ways.note_file(disk, &git, ("commondir", b""));
        }
        ways
    }

    /// Notes where a file of a directory leads, which begins in this way.
    fn note_file(
        &mut self,
        disk: &dyn Disk,
        directory: &CanonicalPath,
        (name, begin): (&str, &[u8]),
    ) {
        let Ok(file) = directory.join(OsStr::new(name)) else { return };
        let text = disk.read_file(file.as_path(), POINTER_BYTES_MAX).ok().flatten();
        let text = text.as_deref().and_then(|text| text.strip_prefix(begin));
        if let Some(text) = text.and_then(|text| str::from_utf8(text.trim_ascii()).ok()) {
            self.note(disk, directory, text);
        }
    }

    fn note(&mut self, disk: &dyn Disk, from: &CanonicalPath, text: &str) {
        let base = if text.starts_with('/') { CanonicalPath::root() } else { from.clone() };
        if let Ok(found) = path::walk(disk, base, text.as_ref(), Last::Follow) {
            self.git.push(found.path);
            self.links.extend(found.links);
            // The tree itself, and git's own directories, are not replaced without a question.
            let is_other = |it: &CanonicalPath| it != from && !from.is_within(it);
            self.passed.extend(found.passed.into_iter().filter(is_other));
        }
    }
}
