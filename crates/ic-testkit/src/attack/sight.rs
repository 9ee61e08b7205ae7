//! What an agent sees of its workspace before its next call: files, directories and repositories.
//!
//! Calls about things that are there get somewhere; calls about names drawn blindly mostly fail. The
//! order is that of the names, so that the same world looks the same each time.

#![expect(clippy::disallowed_methods, reason = "test support: it looks at the test's own place")]

use std::fs;
use std::path::{Path, PathBuf};

/// How many entries are looked at, at most.
const ENTRIES_MAX: usize = 600;

/// What there is, relative to the workspace.
#[derive(Clone, Debug, Default)]
pub struct Sight {
    /// Files and links that are not git's own.
    pub files: Vec<String>,
    /// Directories that are not git's own.
    pub directories: Vec<String>,
    /// Working trees.
    pub repositories: Vec<Repository>,
}

/// A working tree, and what is going on in it.
#[derive(Clone, Debug, Default)]
pub struct Repository {
    /// Where its top is; `.` is the workspace itself.
    pub at: String,
    /// Its branches.
    pub branches: Vec<String>,
    /// What stopped in it, if something did.
    pub stopped: Option<Stopped>,
    /// Whether something is stashed.
    pub has_stash: bool,
}

/// What can stop in the middle in a working tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// A rebase.
    Rebase,
    /// A merge.
    Merge,
    /// A cherry-pick.
    Pick,
}

impl Sight {
    /// Looks around in `workspace`.
    pub fn of(workspace: &Path) -> Self {
        let (mut sight, mut n_left) = (Self::default(), ENTRIES_MAX);
        sight.walk(workspace, "", &mut n_left);
        sight
    }

    fn walk(&mut self, workspace: &Path, at: &str, n_left: &mut usize) {
        let directory = workspace.join(at);
        let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
        let mut names: Vec<_> = entries
            .filter_map(|it| Some((it.file_name().into_string().ok()?, it.file_type().ok()?)))
            .collect();
        names.sort_by(|a, b| a.0.cmp(&b.0));
        for (name, kind) in names {
            if *n_left == 0 {
                return;
            }
            *n_left -= 1;
            if name == ".git" {
                self.repositories.extend(Repository::at(&directory, at));
                continue;
            }
            let relative = if at.is_empty() { name } else { format!("{at}/{name}") };
            if kind.is_dir() {
                self.walk(workspace, &relative, n_left);
                self.directories.push(relative);
            } else {
                self.files.push(relative);
            }
        }
    }
}

impl Repository {
    fn at(top: &Path, at: &str) -> Option<Self> {
        let git = git_directory(top)?;
        let common = match fs::read_to_string(git.join("commondir")) {
            Ok(common) => git.join(common.trim()),
            Err(_) => git.clone(),
        };
        let is = |name: &str| git.join(name).exists();
        let stopped = if is("rebase-merge") || is("rebase-apply") {
            Some(Stopped::Rebase)
        } else if is("MERGE_HEAD") {
            Some(Stopped::Merge)
        } else {
            (is("CHERRY_PICK_HEAD") || is("sequencer")).then_some(Stopped::Pick)
        };
        Some(Self {
            at: if at.is_empty() { ".".to_owned() } else { at.to_owned() },
            branches: branches(&common),
            stopped,
            has_stash: common.join("refs/stash").exists(),
        })
    }
}

fn git_directory(top: &Path) -> Option<PathBuf> {
    let git = top.join(".git");
    match fs::read_to_string(&git) {
        Ok(pointer) => Some(top.join(pointer.strip_prefix("gitdir:")?.trim())),
        Err(_) => git.is_dir().then_some(git),
    }
}

fn branches(git: &Path) -> Vec<String> {
    let entries = fs::read_dir(git.join("refs/heads")).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let packed = fs::read_to_string(git.join("packed-refs")).unwrap_or_default();
    names.extend(
        packed.lines().filter_map(|line| line.split("refs/heads/").nth(1).map(str::to_owned)),
    );
    names.sort();
    names.dedup();
    names
}
