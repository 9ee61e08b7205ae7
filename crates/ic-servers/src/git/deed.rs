//! What a run of git is for: said by the tool that asks for it, before a word for git is written.
//!
//! SECURITY: nothing is read out of words that are put together already. A path, a branch or a message
//! among them may look like any option, and git is told where options end; a reader of the words is not.

use super::names::{File, ObjectId};

/// What git is about to do to files, and what it tells its caller.
#[derive(Debug)]
pub(super) enum Deed<'a> {
    /// It leaves files and index alone, and tells nothing of what is in files.
    Leaves,
    /// It tells what is in files.
    Tells(Told<'a>),
    /// It takes files into the index.
    Stages(Staging<'a>),
    /// It makes the index follow a commit, and leaves the files alone.
    Unstages,
    /// It brings files of commits into the working tree.
    Brings(Bringing),
    /// It brings just these files of a commit, and removes none.
    BringsFiles { commit: &'a ObjectId, files: &'a [File] },
    /// It brings back what was put aside under this name.
    BringsBack(&'a str),
    /// It makes a commit of what is in the index.
    Commits {
        /// Whether the commit takes the place of the last one.
        is_amended: bool,
    },
    /// It goes on with something that is under way.
    GoesOn,
    /// It gives up something that is under way.
    GivesUp,
    /// It puts aside what was changed.
    PutsAside {
        /// Whether files go that are not tracked.
        with_untracked: bool,
    },
    /// It removes files that are not tracked.
    Cleans {
        /// Whether ignored files go, too.
        with_ignored: bool,
        /// Whether whole directories go, too.
        with_directories: bool,
    },
}

/// What of files git tells.
#[derive(Debug)]
pub(super) enum Told<'a> {
    /// Differences: with `names` git tells of the same ones only which objects the files were and are.
    Differences {
        names: &'a [&'a str],
        /// The commits that the differences begin or end at.
        tips: &'a [&'a str],
    },
    /// A file as a commit has it.
    File { commit: &'a ObjectId, file: &'a File, id: &'a ObjectId },
    /// A file as it lies in the working tree.
    Here(&'a File),
    /// An object of which nobody can tell where it is from.
    Object,
}

/// What is taken into the index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Staging<'a> {
    pub(super) files: &'a [File],
    /// Whether only files that are tracked already are taken.
    pub(super) is_update: bool,
    /// Whether ignored files are taken, too.
    pub(super) is_forced: bool,
}

/// The commits of which files are brought.
#[derive(Debug)]
pub(super) struct Bringing {
    pub(super) commits: Vec<String>,
    pub(super) way: Way,
}

/// How files of a commit are brought.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Way {
    /// As the commit has them.
    Switch,
    /// What was changed since a common ancestor, put together with what is here.
    Merge,
    /// What each of the commits changed by itself.
    Pick,
}

impl<'a> Deed<'a> {
    /// Returns the deed of bringing one commit.
    pub(super) fn brings(commit: &str, way: Way) -> Self {
        Self::Brings(Bringing { commits: vec![commit.to_owned()], way })
    }

    /// Returns the deed of staging files as they are.
    pub(super) fn stages(files: &'a [File]) -> Self {
        Self::Stages(Staging { files, is_update: false, is_forced: false })
    }

    /// Returns whether files of the working tree, or what the index has, may be others afterwards.
    pub(super) fn changes_tree(&self) -> bool {
        !matches!(self, Self::Leaves | Self::Tells(_))
    }

    /// Returns the commits that it is about; what is checked out is known anyway.
    pub(super) fn tips(&self) -> Vec<&str> {
        let tips: Vec<&str> = match self {
            Self::Brings(bringing) => bringing.commits.iter().map(String::as_str).collect(),
            Self::BringsFiles { commit, .. } => vec![commit.as_str()],
            Self::BringsBack(entry) => vec![entry],
            Self::Tells(Told::Differences { tips, .. }) => tips.to_vec(),
            _ => Vec::new(),
        };
        tips.into_iter().filter(|tip| *tip != "HEAD").collect()
    }

    /// Returns whether only the index may be another one afterwards.
    pub(super) fn is_of_index(&self) -> bool {
        matches!(self, Self::Stages(_) | Self::Unstages)
    }
}

/// The commands that a tool may run without saying what for: they do nothing but [`Deed::Leaves`], with
/// whatever options.
const PLAIN: [&str; 12] = [
    "branch",
    "for-each-ref",
    "ls-files",
    "merge-base",
    "reflog",
    "rev-list",
    "rev-parse",
    "show-ref",
    "status",
    "symbolic-ref",
    "tag",
    "update-ref",
];

/// Returns whether a command, the first of the words for git, needs no deed.
///
/// The first word is written in here, and never comes from a call.
pub(super) fn is_plain(words: &[&str]) -> bool {
    words.first().is_some_and(|command| PLAIN.contains(command))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_does_not_say_what_for_cannot_touch_files_or_tell_them() {
        for command in [
            "add",
            "apply",
            "blame",
            "cat-file",
            "checkout",
            "checkout-index",
            "cherry-pick",
            "clean",
            "commit",
            "diff",
            "log",
            "merge",
            "mv",
            "read-tree",
            "rebase",
            "reset",
            "restore",
            "revert",
            "rm",
            "show",
            "stash",
            "switch",
            "--literal-pathspecs",
        ] {
            assert!(!is_plain(&[command]), "{command}");
            // Not even if something later in the words looks harmless.
            assert!(!is_plain(&[command, "status", "--stat", "--dry-run"]), "{command}");
        }
        assert!(is_plain(&["status", "--", "--abort"]));
        assert!(!is_plain(&[]));
    }
}
