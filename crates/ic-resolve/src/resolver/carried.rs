//! What a directory takes along when it is moved, copied or removed: names that the host runs later.
//!
//! A directory is judged by its own name. If it holds a hook or an editor's task, these change with
//! it, where it was and where it goes; so they count as further names of what is judged. The same goes
//! for a repository in it, whatever that is called, and for links in it that lead elsewhere from where
//! they would be. A tool of git takes along only what it moves or removes as a whole. Nothing is
//! decided here.
//!
//! A link that is put among git's own files is such a name too, whatever it is called: git writes
//! messages and logs through one, into what it leads to.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;

use ic_policy::host_executes::{LISTED_NAMES, PIPELINE_NAMES, REPOSITORY_NAMES, is_same};
use ic_policy::{Executed, PathValue, RoleValues, Sandbox, Value, Why};
use ic_types::{CanonicalPath, Object, Role, ToolName};

use super::Resolving;
use super::executed::is_changing;
use super::trees::is_of_git;
use crate::disk::{Kind, is_absolute};
use crate::executes::{Executes, is_of_package};
use crate::path::{self, Last};

/// How many entries beneath all directories of a call are looked at.
const ENTRIES_MAX: usize = 20_000;
/// How many names, and how many links, are noted of one directory.
const NAMES_MAX: usize = 64;
/// How many names are noted in all, for the places that directories may go to.
const NOTED_MAX: usize = 4096;

impl Resolving<'_> {
    /// Notes what directories among the values take along, unless all of it stays where nothing counts.
    ///
    /// Returns the repositories among it.
    pub(super) fn note_carried(&self, tool: &ToolName, roles: &mut [RoleValues]) -> Vec<Executed> {
        let places = self.replaceable(roles);
        let mut leaving = match is_changing(tool, Role::DeletePath) {
            true => paths_of(roles, Role::DeletePath),
            false => Vec::new(),
        };
        // Git copies no directory: what it reads is a repository, and what it writes is files of it.
        if !places.is_empty() && !is_of_git(tool) {
            leaving.extend(paths_of(roles, Role::ReadPath));
        }
        let mut executed = Vec::new();
        if leaving.iter().chain(&places).all(|path| self.is_exempt(path)) {
            return executed;
        }
        let mut seen = HashSet::new();
        leaving.retain(|path| seen.insert(path.clone()));
        let (mut left, mut all) = (ENTRIES_MAX, Vec::new());
        let executes = Executes::new(self.disk, self.home, self.orders, self.exempt());
        // Asked for only if a directory is among them.
        let named = OnceCell::new();
        let patterns = || executes.patterns_around(leaving.iter().chain(&places));
        for from in leaving.iter().cloned() {
            // Git itself made the file by which a linked working tree belongs to its repository, and
            // takes it away again or along; what it says was checked.
            let own = is_of_git(tool).then(|| self.repository_of(&from)).flatten();
            let is_own = own.is_some_and(|it| match self.is_in_workspace(&from) {
                true => self.is_in_workspace(&it),
                false => !self.is_exempt(&it),
            });
            let is_named = |path: &CanonicalPath| {
                let named = named.get_or_init(patterns);
                let there = places.iter().filter_map(|place| moved(&from, place, path));
                !named.is_empty()
                    && there.chain([path.clone()]).any(|path| named.has_pattern_for(&path))
            };
            let carried = self.carried(&from, (is_own, &is_named), &mut left);
            if !carried.is_nothing() {
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
        let n_names: usize = all.iter().map(|(_, carried)| carried.count()).sum();
        let is_too_much = NOTED_MAX < n_names.saturating_mul(places.len());
        let places: HashSet<CanonicalPath> = places.into_iter().collect();
        add(roles, Role::WritePath, |value| match (places.contains(&value.path), is_too_much) {
            (false, _) => Vec::new(),
            (true, true) => value.path.join(OsStr::new(".git")).into_iter().collect(),
            (true, false) => arriving(&all, &value.path),
        });
        if !is_too_much {
            for (from, carried) in &all {
                executed.extend(self.carried_repositories(from, carried, &places));
                self.note_moved_links(from, carried, &places, roles);
            }
        }
        executed
    }

    /// Returns the places at which something can be put that was elsewhere: where a file is, no
    /// directory can be.
    fn replaceable(&self, roles: &[RoleValues]) -> Vec<CanonicalPath> {
        let leaving = paths_of(roles, Role::DeletePath);
        let is = |path: &CanonicalPath, kind: Kind| {
            self.disk.look(path.as_path()).is_ok_and(|it| it.is_some_and(|it| it.kind == kind))
        };
        let is_directory = !leaving.is_empty() && leaving.iter().all(|it| is(it, Kind::Directory));
        let mut places = paths_of(roles, Role::WritePath);
        places.retain(|place| !is_directory || !is(place, Kind::File));
        places
    }

    /// Returns the repositories that a directory takes along, where they were and where they would be.
    fn carried_repositories(
        &self,
        from: &CanonicalPath,
        carried: &Carried,
        places: &HashSet<CanonicalPath>,
    ) -> Vec<Executed> {
        let mut executed = Vec::new();
        for at in &carried.repositories {
            let why = Why::Repository(at.clone());
            executed.push(Executed { role: Role::DeletePath, path: at.clone(), why });
            for path in places.iter().filter_map(|place| moved(from, place, at)) {
                let why = Why::Repository(path.clone());
                executed.push(Executed { role: Role::WritePath, path, why });
            }
        }
        executed.retain(|it| !self.is_exempt(&it.path));
        executed
    }

    /// Judges each relative link that is moved where it would lead from its new place.
    fn note_moved_links(
        &self,
        from: &CanonicalPath,
        carried: &Carried,
        places: &HashSet<CanonicalPath>,
        roles: &mut [RoleValues],
    ) {
        for (link, place) in carried.links.iter().flat_map(|link| {
            places.iter().filter(|place| *place != from).map(move |place| (link, place))
        }) {
            let Ok(target) = self.disk.read_link(link.as_path()) else { continue };
            let there = moved(from, place, link).and_then(|path| path.parent());
            let (false, Some(there)) = (is_absolute(&target), there) else { continue };
            let Ok(found) = path::walk(self.disk, there, target.as_os_str(), Last::Follow) else {
                continue;
            };
            if found.path.is_within(place) {
                continue;
            }
            if let Some(entry) = roles.iter_mut().find(|it| it.role == Role::WritePath) {
                entry.values.push(Value::Path(found.into_value()));
            }
        }
    }

    /// Notes the `.git` of a new working tree that leads where an agent can write the config unasked:
    /// from the workspace out of it, or from anywhere into the session's own sandbox.
    ///
    /// The one of a tree whose repository is in the workspace leads to a config that a person is asked
    /// about as well.
    pub(super) fn note_planted(
        &self,
        tool: &ToolName,
        arguments: &Object,
        roles: &mut [RoleValues],
    ) {
        if tool.as_str() != "git_worktree" {
            return;
        }
        let repository = self.repository_named(arguments);
        let is_there = repository.as_ref().is_some_and(|it| self.is_in_workspace(it));
        let is_free = repository.as_ref().is_none_or(|it| self.is_exempt(it));
        add(roles, Role::WritePath, |value| {
            let is_asked = is_free || (self.is_in_workspace(&value.path) && !is_there);
            let git = is_asked.then(|| value.path.join(OsStr::new(".git")).ok());
            git.flatten().into_iter().collect()
        });
    }

    fn is_in_workspace(&self, path: &CanonicalPath) -> bool {
        let is_around = |it: &&Sandbox| it.kind.is_used_by_host() && path.is_within(&it.path);
        self.sandbox.as_ref().is_some_and(is_around)
    }

    /// Returns what lies beneath `directory` under a listed name, in a linked tree but for its `.git`.
    ///
    /// If there is too much to look at, or it cannot be looked at, that counts as such a name.
    /// `left` says how many entries may still be looked at.
    /// `is_named` says which of it a configuration names by a pattern, here or where it would be.
    fn carried(
        &self,
        directory: &CanonicalPath,
        (is_linked, is_named): (bool, &dyn Fn(&CanonicalPath) -> bool),
        left: &mut usize,
    ) -> Carried {
        let mut carried = Carried::default();
        let kind = self.disk.look(directory.as_path()).map(|entry| entry.map(|entry| entry.kind));
        let mut directories = match kind {
            Ok(Some(Kind::Directory)) => vec![directory.clone()],
            Ok(None | Some(Kind::File)) => Vec::new(),
            Ok(Some(Kind::Link)) => {
                carried.has_links = true;
                carried.links.push(directory.clone());
                // Through a link to a package its files are found beneath the link's own name.
                let behind = self.disk.list(directory.as_path(), *left).unwrap_or_default();
                let parts = behind.iter().filter(|(name, _)| is_of_package(name));
                carried.names.extend(parts.filter_map(|(name, _)| directory.join(name).ok()));
                Vec::new()
            }
            Ok(Some(Kind::Other)) | Err(_) => {
                carried.has_links = true;
                Vec::new()
            }
        };
        let executes = Executes::new(self.disk, self.home, None, None);
        while let Some(at) = directories.pop() {
            let entries = self.disk.list(at.as_path(), *left);
            let n_entries = entries.as_ref().map_or(*left, Vec::len);
            *left = left.saturating_sub(n_entries.max(1));
            for (name, kind) in entries.unwrap_or_default() {
                let Ok(path) = at.join(&name) else { continue };
                if is_linked && at == *directory && name == ".git" && kind == Kind::File {
                    continue;
                }
                carried.has_links |= matches!(kind, Kind::Link | Kind::Other);
                if kind == Kind::Link {
                    carried.links.push(path.clone());
                }
                // Only beside a HEAD is it worth looking for the rest of a repository.
                if is_same(&name, "HEAD") && executes.is_repository(&at) {
                    carried.repositories.push(at.clone());
                }
                // What the directory itself is called may make a module of Python's of it.
                let is_module = at == *directory && is_of_package(&name);
                if is_first_of_listed(&name) || is_module || is_named(&path) {
                    carried.names.push(path);
                } else if kind == Kind::Directory {
                    directories.push(path);
                }
            }
            if *left == 0 || carried.is_full() {
                carried.has_links = true;
                carried.names.extend(directory.join(OsStr::new(".git")));
                break;
            }
        }
        carried
    }
}

/// What a directory takes along.
#[derive(Default)]
struct Carried {
    /// What lies in it under a listed name.
    names: Vec<CanonicalPath>,
    /// Directories in it that git takes for repositories by their shape.
    repositories: Vec<CanonicalPath>,
    /// The links in it.
    links: Vec<CanonicalPath>,
    /// Whether it is a link or has one in it, or something that could be one.
    has_links: bool,
}

impl Carried {
    fn is_nothing(&self) -> bool {
        self.count() == 0 && !self.has_links
    }

    fn count(&self) -> usize {
        self.names.len() + self.repositories.len() + self.links.len()
    }

    fn is_full(&self) -> bool {
        [self.names.len(), self.repositories.len(), self.links.len()]
            .into_iter()
            .any(|n| NAMES_MAX <= n)
    }
}

/// Returns whether a name is one of those that count, or leads to one.
fn is_first_of_listed(name: &OsStr) -> bool {
    let listed = LISTED_NAMES.iter().chain(&PIPELINE_NAMES);
    listed.filter_map(|it| it.components.first()).any(|first| is_same(name, first))
        || REPOSITORY_NAMES.iter().any(|it| name == *it)
}

/// Returns where `path`, which lies in `from`, would be if `from` were at `to`.
pub(super) fn moved(
    from: &CanonicalPath,
    to: &CanonicalPath,
    path: &CanonicalPath,
) -> Option<CanonicalPath> {
    let depth = from.components().count();
    path.components().skip(depth).try_fold(to.clone(), |at, name| at.join(name).ok())
}

/// Returns the names that what leaves would have at `place`.
fn arriving(all: &[(CanonicalPath, Carried)], place: &CanonicalPath) -> Vec<CanonicalPath> {
    let mut names = Vec::new();
    for (from, carried) in all.iter().filter(|(from, _)| from != place) {
        names.extend(carried.names.iter().filter_map(|path| moved(from, place, path)));
        if carried.has_links {
            names.extend(git_above(place));
        }
    }
    names
}

/// Returns the `.git` in which `path` lies.
fn git_above(path: &CanonicalPath) -> Option<CanonicalPath> {
    path.ancestors().find(|it| it.as_path().file_name().is_some_and(|name| name == ".git"))
}

pub(super) fn paths_of(roles: &[RoleValues], role: Role) -> Vec<CanonicalPath> {
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
