//! Linked working trees of a call: the repository behind one is judged as the tree is.
//!
//! What git does in a linked working tree it does, for the most part, in the repository that the tree
//! belongs to. So where a tool of git names such a tree, the repository counts as named too, in the same
//! roles. A `.git` that leads elsewhere in any other way adds nothing: the server refuses it.

use ic_policy::{Pointer, Value};
use ic_types::{AbsolutePath, CanonicalPath, Category, Object, Role, ToolName};

use super::{Outcome, Resolving};
use crate::git::linked;
use crate::path::{self, Last};

/// The tools that work in a repository and may be given a tree of one, by the names that servers of git
/// have for them.
const TOOLS: [&str; 24] = [
    "git_add",
    "git_blame",
    "git_branch",
    "git_changelog_analyze",
    "git_checkout",
    "git_cherry_pick",
    "git_clean",
    "git_commit",
    "git_diff",
    "git_fetch",
    "git_log",
    "git_merge",
    "git_pull",
    "git_push",
    "git_rebase",
    "git_reflog",
    "git_remote",
    "git_reset",
    "git_set_working_dir",
    "git_show",
    "git_stash",
    "git_status",
    "git_tag",
    "git_worktree",
];

/// Returns whether the argument at `place` says in which repository the tool works.
pub(super) fn names_repository(tool: &ToolName, place: &Pointer) -> bool {
    is_of_git(tool) && place.as_str() == super::remotes::REPOSITORY_ARGUMENT
}

/// Returns whether a tool works in a repository.
pub(super) fn is_of_git(tool: &ToolName) -> bool {
    TOOLS.contains(&tool.as_str())
}

impl Resolving<'_> {
    /// Notes the repository behind the linked working tree that the argument at `place` names.
    pub(super) fn note_repository(
        &self,
        place: &Pointer,
        roles: &[Role],
        arguments: &Object,
        outcome: &mut Outcome,
    ) {
        let paths: Vec<Role> =
            roles.iter().copied().filter(|role| role.category() == Category::Path).collect();
        let tree = self.one_path_at(place, arguments).filter(|_| !paths.is_empty());
        let Some(repository) = tree.and_then(|tree| self.repository_of(&tree)) else { return };
        match AbsolutePath::new(repository.as_path()).map_err(|fault| fault.to_string()).and_then(
            |path| path::follow(self.disk, &path, Last::Follow).map_err(|fault| fault.to_string()),
        ) {
            Ok(found) => {
                for role in paths {
                    let value = self.path_value(role, found.clone());
                    outcome.note_value(role, Value::Path(value));
                }
            }
            Err(reason) => outcome.note_invalid(place, roles, &reason),
        }
    }

    /// Returns the repository in which a call works, if it names that.
    pub(super) fn repository_named(&self, arguments: &Object) -> Option<CanonicalPath> {
        let tree = super::remotes::repository_directory(self, arguments)?;
        Some(self.repository_of(&tree).unwrap_or(tree))
    }

    /// Returns the repository of the linked working tree at `tree`, if it is one.
    pub(super) fn repository_of(&self, tree: &CanonicalPath) -> Option<CanonicalPath> {
        linked::find(self.disk, tree).ok().flatten().map(|pointer| pointer.repository)
    }
}
