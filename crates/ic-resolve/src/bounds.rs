//! Gathers what surrounds the decisions of a session on this machine.
//!
//! Each listed path counts as the entry and as what it leads to, whether it exists or not.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use ic_policy::bounds::PROTECTED_HOME_NAMES;
use ic_policy::host_executes::{HOME_NAMES, LISTED_NAMES};
use ic_policy::{Bounds, HomeExecutes, Sandbox, SandboxKind, ServerTraits};
use ic_types::{AbsolutePath, CanonicalPath, ServerName};

use crate::disk::{Disk, Entry, Kind};
use crate::path::{self, Last, PathFault};

/// How many entries of one protected directory are looked at.
const ENTRIES_MAX: usize = 1 << 16;
/// How many entries of a workspace are looked at to find links with a listed name.
const WORKSPACE_ENTRIES_MAX: usize = 200_000;

/// The longest `/etc/passwd` that is read.
const PASSWD_BYTES_MAX: usize = 1 << 20;

/// Where things are, as configuration and command line say.
#[derive(Clone, Debug)]
pub struct Places {
    /// The user's home directory.
    pub home: AbsolutePath,
    /// The directory in which the agent is free, and whose it is.
    pub sandbox: Option<(AbsolutePath, SandboxKind)>,
    /// Our own home, policy and server files, and whatever else the user wants left alone.
    pub protected: Vec<AbsolutePath>,
}

/// A place that cannot be found out about.
#[derive(Debug, thiserror::Error)]
#[error("cannot resolve the {what} `{}`", .path.as_path().display())]
pub struct BoundsError {
    what: &'static str,
    path: AbsolutePath,
    source: PathFault,
}

/// The configured servers, by name.
pub type Servers = HashMap<ServerName, ServerTraits>;

/// Finds the places on `disk`.
pub fn gather(disk: &dyn Disk, places: &Places, servers: Servers) -> Result<Bounds, BoundsError> {
    let in_home = |name: &str| {
        let path = places.home.as_path().join(name);
        // A home that is absolute and a name of ours make an absolute path, unless it is too long.
        AbsolutePath::new(path).map_err(|reason| BoundsError {
            what: "home directory",
            path: places.home.clone(),
            source: PathFault::Unusable(reason),
        })
    };
    let sandbox =
        match &places.sandbox {
            Some((path, kind)) => {
                let found = path::follow(disk, path, Last::Follow).map_err(|source| {
                    BoundsError { what: "sandbox", path: path.clone(), source }
                })?;
                Some(Sandbox { path: found.path, kind: *kind })
            }
            None => None,
        };
    let mut protected = Vec::new();
    for name in PROTECTED_HOME_NAMES {
        protect(disk, &in_home(name)?, &mut protected)?;
    }
    for path in &places.protected {
        protect(disk, path, &mut protected)?;
    }
    let mut home_executes = Vec::new();
    for (name, reach) in HOME_NAMES {
        let names = names_of(disk, &in_home(name)?);
        home_executes.extend(names.into_iter().map(|path| HomeExecutes { path, reach }));
    }
    if let Some(Sandbox { path, .. }) = sandbox.as_ref().filter(|it| it.kind.is_used_by_host()) {
        home_executes.extend(targets_of_listed_links(disk, path));
    }
    Ok(Bounds { sandbox, protected, home_executes, servers })
}

/// Returns the home directories of this machine: the user's own, and those that `/etc/passwd` names.
///
/// Without that file only the user's own is known; each counts as it is written and as what it leads to.
pub fn homes(disk: &dyn Disk, home: &AbsolutePath) -> Vec<CanonicalPath> {
    let known = disk.read_file(Path::new("/etc/passwd"), PASSWD_BYTES_MAX);
    let known = known.ok().flatten().unwrap_or_default();
    let known = String::from_utf8_lossy(&known);
    let named = known.lines().filter_map(|line| AbsolutePath::new(line.split(':').nth(5)?).ok());
    let homes = std::iter::once(home.clone()).chain(named);
    homes.flat_map(|home| names_of(disk, &home)).collect()
}

/// Finds links with a listed name anywhere in a workspace, and returns what they lead to.
///
/// A workspace with more entries than are looked at is searched as far as that goes; resolving looks
/// again beside and above each value.
fn targets_of_listed_links(disk: &dyn Disk, workspace: &CanonicalPath) -> Vec<HomeExecutes> {
    let mut targets = Vec::new();
    let mut left = WORKSPACE_ENTRIES_MAX;
    let mut directories = vec![workspace.clone()];
    while let Some(directory) = directories.pop() {
        for (name, kind) in disk.list(directory.as_path(), left).unwrap_or_default() {
            left = left.saturating_sub(1);
            let listed = LISTED_NAMES
                .iter()
                .filter(|listed| listed.components.first().is_some_and(|first| name == *first));
            for listed in listed {
                let relative = listed.components.join("/");
                let found = path::walk(disk, directory.clone(), relative.as_ref(), Last::Follow);
                if let Ok(found) = found
                    && !found.links.is_empty()
                {
                    let names = found.links.into_iter().chain([found.path]);
                    targets.extend(names.map(|path| HomeExecutes { path, reach: listed.reach }));
                }
            }
            // A repository's own store holds none of these names but those just looked at.
            if let (Kind::Directory, true, Ok(path)) = (kind, name != ".git", directory.join(&name))
            {
                directories.push(path);
            }
        }
    }
    targets
}

/// Adds a path as the entry, as what it leads to and as every link between, and the files that links
/// directly in it lead to.
fn protect(
    disk: &dyn Disk,
    path: &AbsolutePath,
    protected: &mut Vec<CanonicalPath>,
) -> Result<(), BoundsError> {
    let mut add = |path: CanonicalPath| {
        if !protected.contains(&path) {
            protected.push(path);
        }
    };
    names_of(disk, path).into_iter().for_each(&mut add);
    let Ok(target) = path::follow(disk, path, Last::Follow) else { return Ok(()) };
    if !target.entry.is_some_and(|entry| entry.kind == Kind::Directory) {
        return Ok(());
    }
    // What we cannot list, a server of ours cannot read; the directory itself is protected anyway.
    let entries = disk.list(target.path.as_path(), ENTRIES_MAX).unwrap_or_default();
    if entries.len() == ENTRIES_MAX {
        return Err(BoundsError {
            what: "protected path",
            path: path.clone(),
            source: PathFault::TooManyEntries,
        });
    }
    for (name, _) in entries.into_iter().filter(|(_, kind)| *kind == Kind::Link) {
        let alias = path::walk(disk, target.path.clone(), &name, Last::Follow);
        // A link to a directory, say a project, must not lock the whole of it away.
        if let Ok(alias) = alias
            && matches!(alias.entry, Some(Entry { kind: Kind::File, .. }))
        {
            add(alias.path);
        }
    }
    Ok(())
}

/// Returns every name of a listed path: the entry, what it leads to, and each link between.
///
/// What cannot be looked at counts as it is written: a call that names it cannot be resolved either.
fn names_of(disk: &dyn Disk, path: &AbsolutePath) -> Vec<CanonicalPath> {
    let written = || path::lexical(path.as_path().as_os_str().as_bytes(), path, None);
    let Ok(entry) = path::follow(disk, path, Last::Keep) else {
        return written().into_iter().collect();
    };
    let Ok(target) = path::follow(disk, path, Last::Follow) else { return vec![entry.path] };
    let mut names = vec![entry.path];
    // A link to a directory on the way, say `/home`, is no name of what lies beyond it.
    names.extend(target.links.into_iter().filter(|link| {
        let leads_to = AbsolutePath::new(link.as_path()).ok();
        let leads_to = leads_to.and_then(|link| path::follow(disk, &link, Last::Follow).ok());
        leads_to.is_some_and(|found| found.path == target.path)
    }));
    names.push(target.path);
    names.dedup();
    names
}
