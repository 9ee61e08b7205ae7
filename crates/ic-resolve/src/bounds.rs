//! Gathers what surrounds the decisions of a session on this machine.
//!
//! Each listed path counts as the entry and as what it leads to, whether it exists or not.

use std::collections::HashMap;

use ic_policy::bounds::PROTECTED_HOME_NAMES;
use ic_policy::host_executes::HOME_NAMES;
use ic_policy::{Bounds, HomeExecutes, Sandbox, SandboxKind, ServerTraits};
use ic_types::{AbsolutePath, CanonicalPath, ServerName};

use crate::disk::{Disk, Entry, Kind};
use crate::path::{self, Last, PathFault};

/// How many links of one protected directory are looked at.
const PROTECTED_LINKS_MAX: usize = 4096;

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
    let sandbox = match &places.sandbox {
        Some((path, kind)) => {
            let path = found(disk, "sandbox", path, Last::Follow)?.path;
            Some(Sandbox { path, kind: *kind })
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
        let path = in_home(name)?;
        for last in [Last::Keep, Last::Follow] {
            let path = found(disk, "file of the home directory", &path, last)?.path;
            home_executes.push(HomeExecutes { path, reach });
        }
    }
    Ok(Bounds { sandbox, protected, home_executes, servers })
}

/// Adds a path as the entry, as what it leads to, and the files that links directly in it lead to.
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
    add(found(disk, "protected path", path, Last::Keep)?.path);
    let target = found(disk, "protected path", path, Last::Follow)?;
    add(target.path.clone());
    if !target.entry.is_some_and(|entry| entry.kind == Kind::Directory) {
        return Ok(());
    }
    // What we cannot list, a server of ours cannot read; the directory itself is protected anyway.
    let links = disk.links_in(target.path.as_path(), PROTECTED_LINKS_MAX).unwrap_or_default();
    if links.len() == PROTECTED_LINKS_MAX {
        let source = PathFault::TooManyLinks;
        return Err(BoundsError { what: "protected path", path: path.clone(), source });
    }
    for name in links {
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

fn found(
    disk: &dyn Disk,
    what: &'static str,
    path: &AbsolutePath,
    last: Last,
) -> Result<path::Found, BoundsError> {
    path::follow(disk, path, last).map_err(|source| BoundsError {
        what,
        path: path.clone(),
        source,
    })
}
