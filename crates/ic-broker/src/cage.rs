//! What the cage of a server shows: worked out on this machine, each time a server is started.
//!
//! A server of ours is shown what its view holds; another one what the policy opens to it, the
//! sandbox, its own installation, and what its entry in the servers file names. What is protected is
//! shown to nobody. No cage is made here.

use std::path::PathBuf;

use ic_confine::{Access, CageSpec, Limits, Link, Network, Rung, Seen};
use ic_policy::{Bounds, Containment, SandboxKind};
use ic_resolve::path::{Last, follow, lexical};
use ic_resolve::{Disk, Kind};
use ic_servers::filesystem::{Rights, View};
use ic_types::{AbsolutePath, CanonicalPath};

use crate::launch::{LaunchFault, Lent, Recipe};
use crate::servers_file::{PathKey, ServerConfig, WrittenPath};
use crate::sight::{access, rights};

/// The ports that a host without a port is asked on.
const USUAL_PORTS: [u16; 2] = [80, 443];

/// Returns the cage of our own filesystem server.
pub(crate) fn of_view(view: &View, lent: &Lent, rung: Rung, disk: &dyn Disk) -> CageSpec {
    let is_there =
        |path: &CanonicalPath| is_showable(path) && kind(path, disk) == Some(Kind::Directory);
    let seen = view.directories.iter().filter(|directory| is_there(&directory.path));
    let seen: Vec<Seen> =
        seen.map(|directory| shown(&directory.path, access(directory.rights))).collect();
    let mut cage = empty(lent);
    cage.hidden = match rung.can_hide() {
        true => hidden(&seen, &view.leave_out, disk),
        // The server leaves it out by itself, and nobody else is in this cage.
        false => Vec::new(),
    };
    cage.seen = seen;
    cage
}

/// Returns the cage of a server that is not ours.
pub(crate) fn of_entry(recipe: &Recipe, disk: &dyn Disk) -> Result<CageSpec, LaunchFault> {
    let Recipe { config, lent, judge, .. } = recipe;
    let mut plan = Plan { shown: Vec::new(), links: Vec::new(), denied: Vec::new() };
    if let Some(sandbox) = &judge.bounds.sandbox {
        let access = match config.containment {
            Containment::Loose => Access::Read,
            Containment::Contained | Containment::ContainedFilesystem => Access::Write,
        };
        plan.show_if_there(&sandbox.path, access, disk);
    }
    for (path, roles) in judge.policy.opened_directories(&recipe.name) {
        let rights = roles.into_iter().map(rights).fold(Rights::NONE, Rights::and);
        // SECURITY: a rule cannot open what is protected, so what it names there is not shown either.
        if rights != Rights::NONE && protecting(&path, &judge.bounds).is_none() {
            plan.show_if_there(&path, access(rights), disk);
        }
    }
    if let Ok(installed) = CanonicalPath::new(&lent.installed) {
        plan.show_if_there(&installed, Access::Read, disk);
    }
    for written in &config.cage.paths {
        plan.add(written, recipe, disk)?;
    }
    let seen = plan.seen();
    let mut cage = empty(lent);
    cage.hidden = hidden(&seen, &judge.bounds.protected, disk);
    let never = plan.denied.iter().filter(|(key, _)| *key == PathKey::DenyRead);
    let never = never.map(|(_, path)| path).filter(|path| is_in(path, &seen));
    cage.hidden.extend(never.map(|path| path.as_path().to_owned()));
    cage.links = plan.links;
    cage.seen = seen;
    cage.network = network(config)?;
    cage.unix_sockets = config.cage.unix_sockets;
    Ok(cage)
}

/// Returns the protected path that contains `path`, unless `path` lies in the session's own sandbox.
pub(crate) fn protecting<'a>(
    path: &CanonicalPath,
    bounds: &'a Bounds,
) -> Option<&'a CanonicalPath> {
    let is_free = |protected: &CanonicalPath| match &bounds.sandbox {
        Some(sandbox) if sandbox.kind == SandboxKind::Session => {
            let contains = sandbox.path != *protected && sandbox.path.is_within(protected);
            contains && path.is_within(&sandbox.path)
        }
        Some(_) | None => false,
    };
    bounds.protected.iter().find(|protected| path.is_within(protected) && !is_free(protected))
}

/// Returns what of `protected` is there, and lies in what is seen.
pub(crate) fn hidden(seen: &[Seen], protected: &[CanonicalPath], disk: &dyn Disk) -> Vec<PathBuf> {
    let is_hidden = |path: &&CanonicalPath| is_in(path, seen) && kind(path, disk).is_some();
    protected.iter().filter(is_hidden).map(|path| path.as_path().to_owned()).collect()
}

/// Returns a cage that shows nothing.
pub(crate) fn empty(lent: &Lent) -> CageSpec {
    CageSpec {
        seen: Vec::new(),
        hidden: Vec::new(),
        links: Vec::new(),
        home: lent.home.as_path().to_owned(),
        scratch: lent.private.clone(),
        network: Network::None,
        unix_sockets: false,
        limits: Limits::SERVER,
    }
}

/// Returns whether a cage can show `path`.
///
/// SECURITY: a cage is made of named parts; with the root in it, it would show everything else too.
pub(crate) fn is_showable(path: &CanonicalPath) -> bool {
    path.parent().is_some()
}

/// Returns what is at `path`; what cannot be looked at is not there for a cage either.
pub(crate) fn kind(path: &CanonicalPath, disk: &dyn Disk) -> Option<Kind> {
    disk.look(path.as_path()).ok().flatten().map(|entry| entry.kind)
}

pub(crate) fn shown(path: &CanonicalPath, access: Access) -> Seen {
    Seen { path: path.as_path().to_owned(), access }
}

fn is_in(path: &CanonicalPath, seen: &[Seen]) -> bool {
    seen.iter().any(|seen| path.as_path().starts_with(&seen.path))
}

/// What a server that is not ours is to be shown, as far as that is known.
struct Plan {
    shown: Vec<(CanonicalPath, Access)>,
    links: Vec<Link>,
    /// What its entry forbids, and how.
    denied: Vec<(PathKey, CanonicalPath)>,
}

impl Plan {
    /// Shows a directory that somebody else than the entry names; one that is missing is nobody's
    /// mistake.
    fn show_if_there(&mut self, path: &CanonicalPath, access: Access, disk: &dyn Disk) {
        if is_showable(path) && kind(path, disk) == Some(Kind::Directory) {
            self.show(path.clone(), access);
        }
    }

    fn show(&mut self, path: CanonicalPath, access: Access) {
        match self.shown.iter_mut().find(|(known, _)| *known == path) {
            Some((_, known)) if access == Access::Write => *known = access,
            Some(_) => {}
            None => self.shown.push((path, access)),
        }
    }

    /// Adds a path of the entry.
    fn add(
        &mut self,
        written: &WrittenPath,
        recipe: &Recipe,
        disk: &dyn Disk,
    ) -> Result<(), LaunchFault> {
        let fault = |reason: String| LaunchFault::Path {
            key: written.key,
            text: written.text.clone(),
            reason,
        };
        let text = recipe.lent.fill(written.key.as_str(), &written.text)?;
        let text = match text.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                let mut path = recipe.lent.home.as_path().as_os_str().to_owned();
                path.push(rest);
                PathBuf::from(path)
            }
            Some(_) | None => PathBuf::from(&text),
        };
        let path = AbsolutePath::new(text).map_err(|error| fault(error.to_string()))?;
        let found = follow(disk, &path, Last::Follow).map_err(|error| fault(error.to_string()))?;
        let access = match written.key {
            PathKey::AllowRead => Access::Read,
            PathKey::AllowWrite => Access::Write,
            PathKey::DenyRead | PathKey::DenyWrite => {
                // What is not there cannot be covered; whoever may write there makes it itself.
                if found.entry.is_some() {
                    self.denied.push((written.key, found.path));
                }
                return Ok(());
            }
        };
        if found.entry.is_none() {
            return Err(fault("it does not exist: make it, or take the line out".to_owned()));
        }
        if !is_showable(&found.path) {
            return Err(fault("it is all of this machine: name what is needed".to_owned()));
        }
        // SECURITY: the keys of the log, the policy and the user's own secrets are in no cage, even
        // if somebody wrote so.
        if let Some(protected) = protecting(&found.path, &recipe.judge.bounds) {
            return Err(fault(format!("`{protected}` is protected, and nothing of it is shown")));
        }
        self.link(&path, &found.path, &recipe.lent.home);
        self.show(found.path, access);
        Ok(())
    }

    /// Gives what is shown the name under which it was written.
    fn link(&mut self, path: &AbsolutePath, found: &CanonicalPath, home: &AbsolutePath) {
        use std::os::unix::ffi::OsStrExt as _;
        let written = lexical(path.as_path().as_os_str().as_bytes(), home, None);
        if let Some(written) = written.filter(|written| written != found) {
            let (at, to) = (written.as_path().to_owned(), found.as_path().to_owned());
            self.links.push(Link { at, to });
        }
    }

    /// Returns what is seen, what is forbidden taken away.
    fn seen(&self) -> Vec<Seen> {
        let is = |key: PathKey, path: &CanonicalPath| {
            self.denied.iter().any(|(it, above)| *it == key && path.is_within(above))
        };
        let mut seen: Vec<Seen> = Vec::new();
        for (path, access) in &self.shown {
            if is(PathKey::DenyRead, path) {
                continue;
            }
            let access = if is(PathKey::DenyWrite, path) { Access::Read } else { *access };
            seen.push(shown(path, access));
        }
        for (key, path) in &self.denied {
            let is_new = seen.iter().all(|it| it.path != path.as_path());
            if *key == PathKey::DenyWrite && is_new && is_in(path, &seen) {
                seen.push(shown(path, Access::Read));
            }
        }
        seen
    }
}

/// Returns how a server reaches other machines.
fn network(config: &ServerConfig) -> Result<Network, LaunchFault> {
    if !config.reaches_hosts() {
        return Ok(Network::None);
    }
    let mut ports = USUAL_PORTS.to_vec();
    ports.extend(config.allowed_domains.iter().flat_map(ic_policy::DomainSet::ports));
    let mut addresses: Vec<_> =
        config.allowed_domains.iter().flat_map(ic_policy::DomainSet::addresses).collect();
    ports.sort_unstable();
    ports.dedup();
    addresses.sort_unstable();
    addresses.dedup();
    if Network::PORTS_MAX < ports.len() || Network::ADDRESSES_MAX < addresses.len() {
        return Err(LaunchFault::TooManyHosts);
    }
    Ok(Network::Doors { ports, addresses })
}
