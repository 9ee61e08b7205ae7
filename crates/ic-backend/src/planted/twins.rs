//! Files with several names (hard links).
//!
//! A cage makes a name read-only, and the file can be written by any other. So no file that counts may have another
//! name where a server may write ([`find`]), and a file that has a name elsewhere is read-only ([`foreign`]): it may
//! be your `~/.bashrc`, or a package that all your projects share. Nothing is changed here.

use std::collections::{BTreeSet, HashMap};
use std::io;

use ic_policy::host_executes::GIT_DIRECTORY;
use ic_resolve::{Disk, Kind};
use ic_types::CanonicalPath;

use super::Ground;
use super::survey::{Survey, SurveyFault};

/// How many files and directories are looked at.
const ENTRIES_MAX: usize = 1_000_000;
/// Git's objects share files between clones, and a server that never could write there has no name of one.
const OBJECTS: &str = "objects";

/// How many files and directories are made read-only because of names elsewhere; of more, the directories above.
const FOREIGN_MAX: usize = 192;

/// Device and number of a file that has several names.
type Shared = (u64, u64);

/// Returns a file that counts, and the name by which the server could write it.
pub(super) fn find(
    ground: &Ground,
    survey: &Survey,
    disk: &dyn Disk,
) -> Result<Option<(CanonicalPath, CanonicalPath)>, SurveyFault> {
    let mut search = Search { disk, n_left: ENTRIES_MAX };
    let mut counted: HashMap<Shared, CanonicalPath> = HashMap::new();
    let is_root = |path: &CanonicalPath| ground.roots.contains(path);
    for path in survey.counted().keys().filter(|path| !is_root(path)) {
        let is_inside = |at: &CanonicalPath| survey.counts_beneath(path) && !is_objects(at);
        search.files(path, &is_inside, &mut |file, shared| {
            counted.entry(shared.0).or_insert_with(|| file.clone());
        })?;
    }
    if counted.is_empty() {
        return Ok(None);
    }
    let mut found = None;
    for root in ground.roots.iter().chain(&ground.elsewhere) {
        let is_kept = |at: &CanonicalPath| survey.counts_beneath(at) && !is_root(at);
        let is_shown = |at: &CanonicalPath| ground.borders.contains(at) && at != root;
        let is_free = |at: &CanonicalPath| !is_kept(at) && !is_shown(at) && !is_processes(at);
        search.files(root, &is_free, &mut |file, shared| {
            if let Some(path) = counted.get(&shared.0).filter(|_| !survey.counts(file)) {
                found.get_or_insert_with(|| (path.clone(), file.clone()));
            }
        })?;
    }
    Ok(found)
}

/// Returns files on the ground that have a name elsewhere as well, or else the directories that hold them.
///
/// Where the other names are is not looked for: those on the ground are counted.
pub(super) fn foreign(
    ground: &Ground,
    survey: &Survey,
    disk: &dyn Disk,
) -> Result<BTreeSet<CanonicalPath>, SurveyFault> {
    let mut search = Search { disk, n_left: ENTRIES_MAX };
    let mut names: HashMap<Shared, (usize, Vec<CanonicalPath>)> = HashMap::new();
    for root in &ground.roots {
        let is_shown = |at: &CanonicalPath| ground.borders.contains(at) && at != root;
        let is_looked_into = |at: &CanonicalPath| !is_shown(at) && !is_objects(at);
        search.files(root, &is_looked_into, &mut |file, (shared, n_names)| {
            names.entry(shared).or_insert((n_names, Vec::new())).1.push(file.clone());
        })?;
    }
    let is_kept = |path: &CanonicalPath| {
        let mut above = path.ancestors();
        above.any(|it| survey.counts_beneath(&it) && !ground.roots.contains(&it))
    };
    let foreign = names.into_values().filter(|(n_names, here)| here.len() < *n_names);
    let files: Vec<CanonicalPath> =
        foreign.flat_map(|(_, here)| here).filter(|path| !is_kept(path)).collect();
    few(ground, &files).ok_or(SurveyFault::TooManyCovers(files.len()))
}

/// Returns the files, or as few directories above them as are needed, and none that is a root or above one.
fn few(ground: &Ground, files: &[CanonicalPath]) -> Option<BTreeSet<CanonicalPath>> {
    let depth = |path: &CanonicalPath| path.components().count();
    let root_of = |path: &CanonicalPath| {
        let roots = ground.roots.iter().filter(|root| path.is_within(root));
        roots.max_by_key(|root| depth(root)).map_or(0, depth)
    };
    let below: Vec<(&CanonicalPath, usize)> =
        files.iter().map(|path| (path, depth(path).saturating_sub(root_of(path)))).collect();
    let mut at_most = below.iter().map(|(_, below)| *below).max().unwrap_or_default();
    loop {
        let raised = below
            .iter()
            .filter_map(|(path, below)| path.ancestors().nth(below.saturating_sub(at_most)));
        let raised: BTreeSet<CanonicalPath> = raised.collect();
        if raised.len() <= FOREIGN_MAX {
            return Some(raised);
        }
        at_most = at_most.checked_sub(1).filter(|it| 0 < *it)?;
    }
}

fn is_objects(path: &CanonicalPath) -> bool {
    let name = |path: &CanonicalPath| path.as_path().file_name().map(ToOwned::to_owned);
    let is_git_s = || path.parent().as_ref().and_then(name).is_some_and(|it| it == GIT_DIRECTORY);
    name(path).is_some_and(|it| it == OBJECTS) && is_git_s()
}

fn is_processes(path: &CanonicalPath) -> bool {
    path.to_str() == Some(super::PROCESSES)
}

struct Search<'a> {
    disk: &'a dyn Disk,
    n_left: usize,
}

impl Search<'_> {
    /// Calls `note` for each file at or beneath `path` that has several names.
    fn files(
        &mut self,
        path: &CanonicalPath,
        is_entered: &dyn Fn(&CanonicalPath) -> bool,
        note: &mut dyn FnMut(&CanonicalPath, (Shared, usize)),
    ) -> Result<(), SurveyFault> {
        let kind = self.disk.look(path.as_path()).ok().flatten().map(|entry| entry.kind);
        let mut rest: Vec<_> = kind.map(|kind| (path.clone(), kind)).into_iter().collect();
        while let Some((path, kind)) = rest.pop() {
            match kind {
                Kind::Directory if is_entered(&path) => rest.extend(self.list(&path)?),
                Kind::Directory | Kind::Link => {}
                Kind::File | Kind::Other => {
                    if let Some(shared) = shared(&path) {
                        note(&path, shared);
                    }
                }
            }
        }
        Ok(())
    }

    fn list(
        &mut self,
        directory: &CanonicalPath,
    ) -> Result<Vec<(CanonicalPath, Kind)>, SurveyFault> {
        let entries = match self.disk.list(directory.as_path(), self.n_left.saturating_add(1)) {
            Ok(entries) => entries,
            // The server cannot look there either.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(Vec::new()),
            Err(error) => {
                let (path, reason) = (directory.clone(), error.to_string());
                return Err(SurveyFault::System { path, reason });
            }
        };
        let n_left = self.n_left.checked_sub(entries.len());
        self.n_left = n_left.ok_or_else(|| SurveyFault::System {
            path: directory.clone(),
            reason: format!("there are more than {ENTRIES_MAX} files, and some have several names"),
        })?;
        let joined = entries.into_iter().filter_map(|(name, kind)| {
            let path = directory.join(&name).ok()?;
            let kind = match kind {
                // Some file systems do not say in a list what something is.
                Kind::Other => self.disk.look(path.as_path()).ok().flatten()?.kind,
                Kind::File | Kind::Directory | Kind::Link => kind,
            };
            Some((path, kind))
        });
        Ok(joined.collect())
    }
}

/// Returns which file it is, and how many names it has, if it has several.
fn shared(path: &CanonicalPath) -> Option<(Shared, usize)> {
    let stat = rustix::fs::lstat(path.as_path()).ok()?;
    let n_names = usize::try_from(stat.st_nlink).unwrap_or(usize::MAX);
    (1 < n_names).then_some(((stat.st_dev, stat.st_ino), n_names))
}
