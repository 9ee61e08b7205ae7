//! Whether anything moved in a repository since it was read: told by some `stat`, without running git.
//!
//! Git replaces its files, which changes the time of their directory; so of the refs only directories are
//! looked at, however many branches there are.

use ic_resolve::{Disk as _, Entry, Kind, RealDisk};
use ic_types::CanonicalPath;

/// How many directories of refs are looked at one by one; with more, each look reads everything.
const DIRECTORIES_MAX: usize = 4096;
/// How many entries of one are.
const ENTRIES_MAX: usize = 65_536;
/// What else changes: whoever makes a commit or gets one moves a head, the index, a log or a pack.
const FILES: [&str; 16] = [
    "HEAD",
    "ORIG_HEAD",
    "FETCH_HEAD",
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "AUTO_MERGE",
    "MERGE_AUTOSTASH",
    "packed-refs",
    "index",
    "logs/HEAD",
    "logs/refs/stash",
    "reftable/tables.list",
    "objects/pack",
    PATCHES,
];
/// Where git keeps mails that it is about to apply.
pub(super) const PATCHES: &str = "rebase-apply";

/// The files and directories of a repository that change when something moves.
#[derive(Debug, Default)]
pub(super) struct Seen {
    states: Vec<(CanonicalPath, Option<Entry>)>,
    /// Whether this is all of them.
    is_whole: bool,
}

impl Seen {
    /// Looks at the repository that is kept in `git`.
    pub(super) fn now(git: &CanonicalPath) -> Self {
        let mut seen = Self { states: Vec::new(), is_whole: true };
        let parts = worktrees(git);
        for at in std::iter::once(git).chain(&parts) {
            for name in &FILES {
                seen.note(at, name);
            }
        }
        seen.note(git, "worktrees");
        let mut directories: Vec<CanonicalPath> = Vec::new();
        for at in std::iter::once(git).chain(&parts) {
            directories.extend(at.join("refs".as_ref()));
        }
        while let Some(directory) = directories.pop() {
            if DIRECTORIES_MAX < seen.states.len() {
                seen.is_whole = false;
                break;
            }
            seen.states.push((directory.clone(), state(&directory)));
            directories.extend(within(&directory));
        }
        seen
    }

    fn note(&mut self, at: &CanonicalPath, name: &str) {
        let path = name.split('/').try_fold(at.clone(), |at, it| at.join(it.as_ref()));
        if let Ok(path) = path {
            let state = state(&path);
            self.states.push((path, state));
        }
    }

    /// Returns whether everything is as it was.
    pub(super) fn is_same(&self) -> bool {
        let is_same = |(path, then): &(CanonicalPath, Option<Entry>)| state(path) == *then;
        self.is_whole && !self.states.is_empty() && self.states.iter().all(is_same)
    }
}

/// Returns where linked trees keep their own part of the repository.
pub(super) fn worktrees(git: &CanonicalPath) -> Vec<CanonicalPath> {
    git.join("worktrees".as_ref()).map(|it| within(&it)).unwrap_or_default()
}

/// Returns the directories in a directory.
fn within(directory: &CanonicalPath) -> Vec<CanonicalPath> {
    let entries = RealDisk.list(directory.as_path(), ENTRIES_MAX).unwrap_or_default();
    let inner = entries.into_iter().filter(|(_, kind)| *kind == Kind::Directory);
    inner.filter_map(|(name, _)| directory.join(&name).ok()).collect()
}

fn state(path: &CanonicalPath) -> Option<Entry> {
    RealDisk.look(path.as_path()).ok().flatten()
}
