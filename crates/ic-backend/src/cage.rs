//! What the cage of a server shows: worked out on this machine, each time a server is started.
//!
//! A server of ours is shown what its view holds; another one what the policy opens to it, the
//! sandbox, its own installation, and what its entry in the servers file names. What is protected is
//! shown to nobody. No cage is made here.

use std::path::{Path, PathBuf};

use ic_confine::{Access, CageSpec, Limits, Link, Network, Rung, Seen};
use ic_egress::Allowed;
use ic_inventory::servers_file::{PathKey, ServerConfig, WrittenPath};
use ic_judge::judged::{access, rights};
use ic_policy::{Bounds, Containment, DomainSet, SandboxKind};
use ic_resolve::path::{Last, follow, lexical};
use ic_resolve::{Disk, Kind};
use ic_servers::filesystem::{Rights, View};
use ic_types::{AbsolutePath, CanonicalPath, Role};

use crate::agent_places::AgentPlaces;
use crate::launch::{self, LaunchFault, Lent, Recipe};
use crate::planted::{Ground, Kept, Own, SurveyFault};

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

/// The cage of a server that is not ours.
#[derive(Debug)]
pub(crate) struct StrangersCage {
    pub(crate) spec: CageSpec,
    /// What would have to be hidden, and is not there yet.
    pub(crate) absent: Vec<CanonicalPath>,
    /// What the host executes of what it may write, if it may write where the host looks.
    pub(crate) kept: Option<Kept>,
}

/// Returns the cage of a server that is not ours.
pub(crate) fn of_entry(
    recipe: &Recipe,
    (allowed, rung): (Option<&Allowed>, Rung),
    disk: &dyn Disk,
) -> Result<StrangersCage, LaunchFault> {
    let Recipe { config, lent, judge, .. } = recipe;
    let mut plan = Plan { shown: Vec::new(), links: Vec::new(), denied: Vec::new() };
    if let Some(installed) = installed(lent, disk) {
        plan.show_if_there(&installed, Access::Read, disk);
    }
    if launch::keeps_data(config) {
        let path = AbsolutePath::new(lent.data()).ok();
        // A link there would be somebody else's directory.
        let found = path.and_then(|path| follow(disk, &path, Last::Keep).ok());
        let is_there = |path: &CanonicalPath| kind(path, disk) == Some(Kind::Directory);
        match found.map(|found| found.path).filter(is_there) {
            Some(path) => plan.show(path, Access::Write),
            None => return Err(LaunchFault::Data(lent.data())),
        }
    }
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
        let is_closed = protecting(&path, &judge.bounds).is_some()
            || torn(&path, &plan.paths(), &judge.bounds.protected, disk).is_some();
        if rights != Rights::NONE && !is_closed {
            plan.show_if_there(&path, access(rights), disk);
        }
    }
    for written in &config.cage.paths {
        plan.add(written, recipe, disk)?;
    }
    let mut seen = plan.seen(disk);
    let kept = judge.bounds.protected.iter().chain(plan.denied.iter().map(|(_, path)| path));
    if let Some((path, above)) = forgeable(kept, &seen, disk) {
        return Err(LaunchFault::Forgeable { path: path.clone(), above: above.to_owned() });
    }
    let never = plan.denied.iter().filter(|(key, _)| *key == PathKey::DenyRead);
    let never = never.map(|(_, path)| path).chain(&judge.bounds.protected);
    let mut never: Vec<CanonicalPath> = never.filter(|path| is_in(path, &seen)).cloned().collect();
    never.extend(closed(recipe, &seen));
    let mut cage = empty(lent);
    cage.hidden = hidden(&seen, &never, disk);
    let absent = never.into_iter().filter(|path| kind(path, disk).is_none()).collect();
    cage.links = plan.links;
    // What they run, and how they find it, is their own business.
    cage.follows_links = true;
    cage.opens_beneath = false;
    let planted = kept_from(recipe, &seen, rung, disk)?;
    seen.extend(planted.iter().flat_map(Kept::seen));
    cage.seen = seen;
    cage.network = match allowed {
        Some(allowed) => Network::Doors {
            ports: allowed.ports().to_vec(),
            addresses: allowed.addresses().to_vec(),
        },
        None => Network::None,
    };
    cage.unix_sockets = config.cage.unix_sockets;
    Ok(StrangersCage { spec: cage, absent, kept: planted })
}

/// Returns what the host executes of what a server that sees `seen` may write.
fn kept_from(
    recipe: &Recipe,
    seen: &[Seen],
    rung: Rung,
    disk: &dyn Disk,
) -> Result<Option<Kept>, LaunchFault> {
    let found = |path: &Path| {
        let path = AbsolutePath::new(path).ok()?;
        follow(disk, &path, Last::Follow).ok().map(|it| it.path)
    };
    let own = Own { data: found(&recipe.lent.data()), private: found(&recipe.lent.private) };
    let Some(ground) = Ground::of(seen, &own, &recipe.judge) else { return Ok(None) };
    // SECURITY: a rule of Landlock takes nothing away from what is allowed above it.
    if let (false, Some(root)) = (rung.can_hide(), ground.roots().first()) {
        return Err(LaunchFault::Planted(SurveyFault::Landlock(root.clone())));
    }
    ground.cover(&recipe.judge, disk).map(Some).map_err(LaunchFault::Planted)
}

/// Returns the places for which rules deny reading or ask before it, beneath what the server sees and
/// with nothing of it in them.
///
/// SECURITY: a server reads whatever it sees in any call, also in one that names another place. So what
/// is to be read after a question has to be named by the server's own entry.
fn closed(recipe: &Recipe, seen: &[Seen]) -> Vec<CanonicalPath> {
    let restricted = recipe.judge.policy.restricted(&recipe.name, Role::ReadPath);
    let is_beneath = |place: &CanonicalPath, seen: &Seen| {
        place.as_path().starts_with(&seen.path) && place.as_path() != seen.path
    };
    let is_closed = |place: &&CanonicalPath| {
        seen.iter().any(|seen| is_beneath(place, seen))
            && !seen.iter().any(|seen| seen.path.starts_with(place.as_path()))
    };
    restricted.places().iter().filter(is_closed).cloned().collect()
}

/// Returns where the server is installed, if it was installed by us; our home may be behind a link.
pub(crate) fn installed(lent: &Lent, disk: &dyn Disk) -> Option<CanonicalPath> {
    let path = AbsolutePath::new(&lent.installed).ok()?;
    let found = follow(disk, &path, Last::Follow).ok()?;
    found.entry.is_some().then_some(found.path)
}

/// Returns the file with the certificates that are trusted besides the system's, if it is to be
/// shown.
pub(crate) fn certificates(lent: &Lent, bounds: &Bounds, disk: &dyn Disk) -> Option<CanonicalPath> {
    let found = follow(disk, lent.certificates.as_ref()?, Last::Follow).ok()?;
    // SECURITY: the variable is the user's; what is protected is shown to nobody all the same.
    let is_shown =
        kind(&found.path, disk) == Some(Kind::File) && protecting(&found.path, bounds).is_none();
    is_shown.then_some(found.path)
}

/// Returns the protected path that contains `path`, unless `path` lies in the session's own sandbox.
pub(crate) fn protecting<'a>(
    path: &CanonicalPath,
    bounds: &'a Bounds,
) -> Option<&'a CanonicalPath> {
    let is_free = |protected: &CanonicalPath| match &bounds.sandbox {
        Some(sandbox) if sandbox.kind != SandboxKind::Workspace => {
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

/// Returns what of `kept` is not there and could be made by whoever sees `seen`, and where.
///
/// SECURITY: a cage can hide what is there, and nothing else.
fn forgeable<'a, 's>(
    kept: impl Iterator<Item = &'a CanonicalPath>,
    seen: &'s [Seen],
    disk: &dyn Disk,
) -> Option<(&'a CanonicalPath, &'s Path)> {
    let mut missing = kept.filter(|path| kind(path, disk).is_none());
    missing.find_map(|path| {
        let above = seen.iter().filter(|seen| path.as_path().starts_with(&seen.path));
        let deepest = above.max_by_key(|seen| seen.path.components().count())?;
        (deepest.access == Access::Write).then_some((path, deepest.path.as_path()))
    })
}

/// Returns a cage that shows nothing, and in which no link leads anywhere: servers of ours get paths
/// that were resolved, and what is a link by now was put there since.
pub(crate) fn empty(lent: &Lent) -> CageSpec {
    CageSpec {
        seen: Vec::new(),
        hidden: Vec::new(),
        absent: Vec::new(),
        placed: Vec::new(),
        links: Vec::new(),
        follows_links: false,
        home: lent.home.as_path().to_owned(),
        scratch: Some(lent.private.clone()),
        network: Network::None,
        unix_sockets: false,
        opens_beneath: true,
        relaxed: Vec::new(),
        limits: Limits::SERVER,
        user: None,
    }
}

/// Returns the protected path in `path` that would have to be hidden although one of `others`, which
/// is shown, lies in it.
///
/// A cage cannot show something in what it hides. This is about a home directory that is shown while
/// the session's own sandbox lies in our home beneath it.
pub(crate) fn torn<'a>(
    path: &CanonicalPath,
    others: &[CanonicalPath],
    protected: &'a [CanonicalPath],
    disk: &dyn Disk,
) -> Option<&'a CanonicalPath> {
    let holds_shown = |it: &CanonicalPath| {
        others.iter().any(|other| other != it && other.is_within(it) && other != path)
    };
    let is_torn =
        |it: &&CanonicalPath| it.is_within(path) && holds_shown(it) && kind(it, disk).is_some();
    protected.iter().find(is_torn)
}

/// Refuses a cage that would have to show something in what it hides.
pub(crate) fn check_whole(cage: &CageSpec) -> Result<(), LaunchFault> {
    for hidden in &cage.hidden {
        let within = cage.seen.iter().find(|it| it.path != *hidden && it.path.starts_with(hidden));
        let above = cage.seen.iter().find(|it| hidden.starts_with(&it.path));
        if let (Some(within), Some(above)) = (within, above) {
            let (above, shown) = (above.path.clone(), within.path.clone());
            return Err(LaunchFault::Torn { above, hidden: hidden.clone(), shown });
        }
    }
    Ok(())
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

    fn paths(&self) -> Vec<CanonicalPath> {
        self.shown.iter().map(|(path, _)| path.clone()).collect()
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
        // SECURITY: such a link leads wherever the agent wants. What is shown is opened later through no
        // link at all, so one that is put there after this look makes no cage.
        let places = AgentPlaces::of(&recipe.judge.policy, &recipe.judge.bounds);
        if let Some(link) = places.link_on_the_way(&found) {
            return Err(fault(format!(
                "`{link}` is a link, and lies where the agent may write: name what it should lead to"
            )));
        }
        let access = match written.key {
            PathKey::AllowRead => Access::Read,
            PathKey::AllowWrite => Access::Write,
            PathKey::DenyRead | PathKey::DenyWrite => {
                self.denied.push((written.key, found.path));
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
        if let Some(hidden) = torn(&found.path, &self.paths(), &recipe.judge.bounds.protected, disk)
        {
            return Err(fault(format!(
                "`{hidden}` in it is protected, and what this server has to see lies in there; name \
                 what is needed beneath it"
            )));
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
    fn seen(&self, disk: &dyn Disk) -> Vec<Seen> {
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
            // What is not there cannot be kept; whoever may write there makes it itself.
            let is_new =
                seen.iter().all(|it| it.path != path.as_path()) && kind(path, disk).is_some();
            if *key == PathKey::DenyWrite && is_new && is_in(path, &seen) {
                seen.push(shown(path, Access::Read));
            }
        }
        seen
    }
}

/// Returns which hosts a server may reach, if any.
pub(crate) fn hosts(config: &ServerConfig) -> Result<Option<Allowed>, LaunchFault> {
    if !config.reaches_hosts() {
        return Ok(None);
    }
    let nobody = || DomainSet::new(Vec::new());
    let denied = config.cage.denied_domains.clone().unwrap_or_else(nobody);
    match Allowed::new(config.allowed_domains.clone(), denied) {
        Ok(allowed) => Ok(Some(allowed)),
        Err(error) => Err(LaunchFault::Hosts(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    use ic_policy::Sandbox;
    use ic_testkit::MemoryDisk;

    fn path(text: &str) -> CanonicalPath {
        CanonicalPath::new(text).unwrap()
    }

    fn bounds(kind: SandboxKind) -> Bounds {
        Bounds {
            sandbox: Some(Sandbox { path: path("/h/.ic/s/box"), kind }),
            protected: vec![path("/h/.ic"), path("/h/.ssh"), path("/h/.ic/s/box/key")],
            home_executes: Vec::new(),
            servers: HashMap::new(),
        }
    }

    #[test]
    fn the_sessions_own_sandbox_is_free_in_what_is_protected() {
        for (text, of_session, of_workspace) in [
            ("/h", None, None),
            ("/h/.ssh/id", Some("/h/.ssh"), Some("/h/.ssh")),
            ("/h/.ic", Some("/h/.ic"), Some("/h/.ic")),
            ("/h/.ic/s", Some("/h/.ic"), Some("/h/.ic")),
            ("/h/.ic/s/box/a", None, Some("/h/.ic")),
            ("/h/.ic/s/boxes", Some("/h/.ic"), Some("/h/.ic")),
            ("/h/.ic/s/box/key", Some("/h/.ic/s/box/key"), Some("/h/.ic")),
        ] {
            for (kind, expected) in
                [(SandboxKind::Session, of_session), (SandboxKind::Workspace, of_workspace)]
            {
                let bounds = bounds(kind);
                let found = protecting(&path(text), &bounds).map(ToString::to_string);
                assert_eq!(found.as_deref(), expected, "{text} {kind:?}");
            }
        }
    }

    #[test]
    fn what_is_forbidden_wins() {
        let shown = |texts: &[(&str, Access)]| {
            texts.iter().map(|(text, access)| (path(text), *access)).collect()
        };
        let plan = Plan {
            shown: shown(&[
                ("/a", Access::Write),
                ("/a/ro/rw", Access::Write),
                ("/a/never/x", Access::Read),
                ("/b", Access::Read),
            ]),
            links: Vec::new(),
            denied: vec![
                (PathKey::DenyWrite, path("/a/ro")),
                (PathKey::DenyRead, path("/a/never")),
                (PathKey::DenyWrite, path("/c")),
                (PathKey::DenyWrite, path("/a/absent")),
            ],
        };
        let disk = MemoryDisk::new().dir("/a/ro").dir("/a/never").dir("/c");
        let seen: Vec<(String, Access)> = plan
            .seen(&disk)
            .into_iter()
            .map(|seen| (seen.path.display().to_string(), seen.access))
            .collect();
        let expected = [
            ("/a", Access::Write),
            ("/a/ro/rw", Access::Read),
            ("/b", Access::Read),
            ("/a/ro", Access::Read),
        ];
        assert_eq!(seen, expected.map(|(text, access)| (text.to_owned(), access)));
    }

    #[test]
    fn what_is_there_is_hidden_and_what_cannot_be_hidden_whole_is_noticed() {
        let disk = MemoryDisk::new().dir("/h/.ic/s/box").dir("/h/.ssh").dir("/h/docs");
        let protected = bounds(SandboxKind::Session).protected;
        let hidden_in = |text: &str| -> Vec<String> {
            let seen = [shown(&path(text), Access::Read)];
            let hidden = hidden(&seen, &protected, &disk);
            hidden.iter().map(|path| path.display().to_string()).collect()
        };
        assert_eq!(hidden_in("/h"), ["/h/.ic", "/h/.ssh"], "the key is not there");
        assert_eq!(hidden_in("/h/docs"), [""; 0]);
        let all = [path("/h"), path("/h/.ic/s/box"), path("/h/docs")];
        let torn = |text: &str| torn(&path(text), &all, &protected, &disk).map(ToString::to_string);
        assert_eq!(torn("/h").as_deref(), Some("/h/.ic"));
        assert_eq!(torn("/h/docs"), None);
        assert_eq!(torn("/h/.ic/s/box"), None);
    }
}
