//! What a directory takes along when it is moved, copied or removed: names that the host runs later.
//!
//! A directory is judged by its own name. If it holds a hook or an editor's task, these change with
//! it, where it was and where it goes; so they count as further names of what is judged. A tool of git
//! takes along only what it moves or removes as a whole. Nothing is decided here.
//!
//! A link that is put among git's own files is such a name too, whatever it is called: git writes
//! messages and logs through one, into what it leads to.

use std::collections::{HashMap, HashSet};

use ic_policy::host_executes::WORKSPACE_NAMES;
use ic_policy::{PathValue, RoleValues, SandboxKind, Value};
use ic_types::{CanonicalPath, Object, Role, ToolName};

use super::Resolving;
use super::trees::is_of_git;
use crate::disk::Kind;

/// How many entries beneath all directories of a call are looked at.
const ENTRIES_MAX: usize = 20_000;
/// How many names are noted of one directory.
const NAMES_MAX: usize = 64;
/// How many names are noted in all, for the places that directories may go to.
const NOTED_MAX: usize = 4096;

impl Resolving<'_> {
    /// Notes what directories among the values take along, if that is about a workspace.
    pub(super) fn note_carried(&self, tool: &ToolName, roles: &mut [RoleValues]) {
        let Some(workspace) = self.sandbox.filter(|it| it.kind == SandboxKind::Workspace) else {
            return;
        };
        let places = paths_of(roles, Role::WritePath);
        let mut leaving = paths_of(roles, Role::DeletePath);
        // Git copies no directory: what it reads is a repository, and what it writes is files of it.
        if !places.is_empty() && !is_of_git(tool) {
            leaving.extend(paths_of(roles, Role::ReadPath));
        }
        let is_there = |path: &&CanonicalPath| path.is_within(&workspace.path);
        if !leaving.iter().chain(&places).any(|path| is_there(&path)) {
            return;
        }
        let mut seen = HashSet::new();
        leaving.retain(|path| seen.insert(path.clone()));
        let (mut left, mut all) = (ENTRIES_MAX, Vec::new());
        for from in leaving {
            // Git itself made the file by which a linked working tree belongs to its repository, and
            // takes it away again or along; what it says was checked.
            let own = is_of_git(tool).then(|| self.repository_of(&from)).flatten();
            let is_own = own.is_some_and(|it| it.is_within(&workspace.path));
            let carried = self.carried(&from, is_own, &mut left);
            if !carried.names.is_empty() || carried.has_links {
                all.push((from, carried));
            }
        }
        let by_path: HashMap<&CanonicalPath, &Carried> =
            all.iter().map(|(from, carried)| (from, carried)).collect();
        add(roles, Role::DeletePath, |value| {
            by_path.get(&value.path).map_or_else(Vec::new, |carried| carried.names.clone())
        });
        // Whatever leaves may go to any place, so this grows with both; too much of it counts as if
        // something of git's went there.
        let n_names: usize = all.iter().map(|(_, carried)| carried.names.len() + 1).sum();
        let is_too_much = NOTED_MAX < n_names.saturating_mul(places.len());
        add(roles, Role::WritePath, |value| match is_too_much {
            true => value.path.join(std::ffi::OsStr::new(".git")).into_iter().collect(),
            false => arriving(&all, &value.path),
        });
    }

    /// Notes the `.git` of a new working tree in a workspace, if it will lead out of that.
    ///
    /// The one of a tree whose repository is in the workspace leads to a config that a person is asked
    /// about as well.
    pub(super) fn note_planted(
        &self,
        tool: &ToolName,
        arguments: &Object,
        roles: &mut [RoleValues],
    ) {
        let Some(workspace) = self.sandbox.filter(|it| it.kind == SandboxKind::Workspace) else {
            return;
        };
        if tool.as_str() != "git_worktree" {
            return;
        }
        let repository = self.repository_named(arguments);
        if repository.is_some_and(|it| it.is_within(&workspace.path)) {
            return;
        }
        add(roles, Role::WritePath, |value| {
            value.path.join(std::ffi::OsStr::new(".git")).into_iter().collect()
        });
    }

    /// Returns what lies beneath `directory` under a listed name, in a linked tree but for its `.git`.
    ///
    /// If there is too much to look at, or it cannot be looked at, that counts as such a name.
    /// `left` says how many entries may still be looked at.
    fn carried(&self, directory: &CanonicalPath, is_linked: bool, left: &mut usize) -> Carried {
        let kind = self.disk.look(directory.as_path()).map(|entry| entry.map(|entry| entry.kind));
        let mut found = Vec::new();
        let (mut directories, mut has_links) = match kind {
            Ok(Some(Kind::Directory)) => (vec![directory.clone()], false),
            Ok(None | Some(Kind::File)) => (Vec::new(), false),
            Ok(Some(Kind::Link | Kind::Other)) | Err(_) => (Vec::new(), true),
        };
        let unseen = || directory.join(std::ffi::OsStr::new(".git")).ok();
        while let Some(at) = directories.pop() {
            let entries = if *left == 0 { None } else { self.disk.list(at.as_path(), *left).ok() };
            let Some(entries) = entries else {
                has_links = true;
                found.extend(unseen());
                break;
            };
            *left = left.saturating_sub(entries.len().max(1));
            for (name, kind) in entries {
                has_links |= matches!(kind, Kind::Link | Kind::Other);
                let Ok(path) = at.join(&name) else { continue };
                if is_linked && at == *directory && name == ".git" && kind == Kind::File {
                    continue;
                }
                let mut listed = WORKSPACE_NAMES.iter().filter_map(|it| it.components.first());
                if listed.any(|first| name == **first) {
                    found.push(path);
                } else if kind == Kind::Directory {
                    directories.push(path);
                }
            }
            if *left == 0 || NAMES_MAX <= found.len() {
                has_links = true;
                found.extend(unseen());
                break;
            }
        }
        Carried { names: found, has_links }
    }
}

/// What a directory takes along.
struct Carried {
    /// What lies in it under a listed name.
    names: Vec<CanonicalPath>,
    /// Whether it is a link, or has one in it.
    has_links: bool,
}

/// Returns the names that what leaves would have at `place`.
fn arriving(all: &[(CanonicalPath, Carried)], place: &CanonicalPath) -> Vec<CanonicalPath> {
    let mut names = Vec::new();
    for (from, Carried { names: carried, has_links }) in all {
        if from == place {
            continue;
        }
        let depth = from.components().count();
        let under = |path: &CanonicalPath| {
            path.components().skip(depth).try_fold(place.clone(), |at, name| at.join(name).ok())
        };
        names.extend(carried.iter().filter_map(under));
        if *has_links {
            names.extend(git_above(place));
        }
    }
    names
}

/// Returns the `.git` in which `path` lies.
fn git_above(path: &CanonicalPath) -> Option<CanonicalPath> {
    path.ancestors().find(|it| it.as_path().file_name().is_some_and(|name| name == ".git"))
}

fn paths_of(roles: &[RoleValues], role: Role) -> Vec<CanonicalPath> {
    let values = roles.iter().filter(|it| it.role == role).flat_map(|it| &it.values);
    values
        .filter_map(|value| match value {
            Value::Path(value) => Some(value.path.clone()),
            Value::Url(_) | Value::LocalRemote(_) | Value::Text(_) => None,
        })
        .collect()
}

/// Adds further names to each path of `role`.
fn add(roles: &mut [RoleValues], role: Role, names: impl Fn(&PathValue) -> Vec<CanonicalPath>) {
    for value in roles.iter_mut().filter(|it| it.role == role).flat_map(|it| &mut it.values) {
        if let Value::Path(value) = value {
            let names = names(value);
            value.also.extend(names);
        }
    }
}
