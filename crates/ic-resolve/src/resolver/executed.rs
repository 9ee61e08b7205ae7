//! What the host would execute later of what a call changes, as the disk shows it.
//!
//! Puts the one question of [`Executes`] for a call's values. What a moved directory takes along is
//! found in `carried`. Decides nothing.

use ic_policy::host_executes::is_same;
use ic_policy::{Executed, PathValue, ResolvedParts, RoleValues, Value, Why};
use ic_types::{CanonicalPath, Json, Role, ToolCall, ToolName};

use super::Resolving;
use super::trees::is_of_git;
use crate::executes::{Change, Executes};

/// The tools that make a repository, and the flags that make it one without a `.git`.
const MAKING: [&str; 2] = ["git_init", "git_clone"];
const BARE: [&str; 2] = ["bare", "mirror"];
/// The tools that make a directory the top of a tree.
const TOPS: [&str; 4] = ["git_init", "git_clone", "git_set_working_dir", "git_worktree"];
/// Directories that are listed only because some of what may be in them is: made on the way to anything
/// else they are not executed.
const PASSED: [&str; 3] = [".github", ".gitea", ".forgejo"];
/// The tools that make one file or an empty directory, and so bring nothing along in it.
const PLAIN: [&str; 3] = ["write_file", "edit_file", "create_directory"];

impl Resolving<'_> {
    /// Returns what the host would execute of the changes that a call makes.
    pub(super) fn executed(&self, call: &ToolCall, roles: &[RoleValues]) -> Vec<Executed> {
        let mut changes = Vec::new();
        let tree = super::remotes::repository_directory(self, &call.arguments);
        let repository = tree.as_ref().and_then(|tree| self.repository_of(tree));
        // Git changes what is in a tree, and its server says what; only a working tree goes as a whole.
        let is_kept = |path: &CanonicalPath| {
            let is_worked_in = || tree.iter().chain(&repository).any(|it| it == path);
            let tool = call.tool.as_str();
            PLAIN.contains(&tool)
                || is_of_git(&call.tool) && (tool != "git_worktree" || is_worked_in())
        };
        for RoleValues { role, values } in
            roles.iter().filter(|it| is_changing(&call.tool, it.role))
        {
            for value in values.iter().filter_map(path_of) {
                // A directory that is made on the way holds nothing but what the call names, and where
                // only some of what is in it counts, that has a name of its own.
                let is_passed = |it: &&CanonicalPath| {
                    let name = it.components().last().unwrap_or_default();
                    value.path.is_within(it) && PASSED.iter().any(|passed| is_same(name, passed))
                };
                let also = value.also.iter().filter(|it| !is_passed(it));
                let names = std::iter::once(&value.path).chain(also);
                changes.extend(names.map(|path| Change {
                    role: *role,
                    path: path.clone(),
                    is_kept: is_kept(path),
                }));
            }
        }
        let executes = Executes::new(self.disk, self.home, self.orders, self.exempt());
        let mut executed = executes.of(&changes);
        // SECURITY: files that are there already must not get a meaning by what is made around them.
        if TOPS.contains(&call.tool.as_str()) {
            let of = repository.as_ref().or(tree.as_ref());
            let made = roles.iter().filter(|it| it.role == Role::WritePath);
            let made = made.flat_map(|it| &it.values).filter_map(path_of).map(|it| &it.path);
            for top in made.filter(|it| !executes.is_top(it)) {
                executed.extend(executes.gains(top, of));
            }
        }
        if makes_bare(call) {
            let made = changes.iter().filter(|it| it.role == Role::WritePath);
            executed.extend(made.filter(|it| !self.is_exempt(&it.path)).map(|it| Executed {
                role: it.role,
                path: it.path.clone(),
                why: Why::Repository(it.path.clone()),
            }));
        }
        executed
    }

    /// Notes what a server says that its call would change besides.
    pub(super) fn note_brought(&self, brought: &[CanonicalPath], parts: &mut ResolvedParts) {
        if brought.is_empty() {
            return;
        }
        let role = Role::WritePath;
        if !parts.roles.iter().any(|it| it.role == role) {
            parts.roles.push(RoleValues { role, values: Vec::new() });
        }
        let Some(entry) = parts.roles.iter_mut().find(|it| it.role == role) else { return };
        for path in brought {
            let value = PathValue { path: path.clone(), also: Vec::new(), state: None };
            entry.values.push(Value::Path(value));
            if !self.is_exempt(path) {
                let path = path.clone();
                parts.executed.push(Executed { role, path, why: Why::Brought });
            }
        }
    }
}

/// Returns whether a tool changes what is at the paths of a role.
///
/// What `git_clean` removes lies in the directory that it names, and the server says what it is.
pub(super) fn is_changing(tool: &ToolName, role: Role) -> bool {
    role.changes_path() && !(tool.as_str() == "git_clean" && role == Role::DeletePath)
}

/// Returns whether a call makes a repository of the directory that it names.
fn makes_bare(call: &ToolCall) -> bool {
    let is_set = |name: &str| matches!(call.arguments.get(name), Some(Json::Bool(true)));
    MAKING.contains(&call.tool.as_str()) && BARE.iter().any(|name| is_set(name))
}

fn path_of(value: &Value) -> Option<&PathValue> {
    match value {
        Value::Path(path) => Some(path),
        Value::Url(_) | Value::LocalRemote(_) | Value::Text(_) => None,
    }
}
