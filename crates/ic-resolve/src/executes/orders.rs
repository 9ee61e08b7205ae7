//! What a session knows of git configurations besides those around a path: the user's own, that of other
//! repositories in and around the workspace, links in the home; and what was read before.
//!
//! Read again whenever identity or times of a file or directory change, so that what the user sets up
//! during a session counts from the next call on.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ic_policy::host_executes::{GIT_DIRECTORY, HOME_NAMES, is_packages, is_same};
use ic_policy::{FileState, Reach, Why};
use ic_types::variable::Obeyed;
use ic_types::{AbsolutePath, CanonicalPath};

use super::configured::Place;
use super::finds::Led;
use super::history::{History, Texts};
use super::homes;
use super::links;
use super::names::Names;
use super::settings;
use super::variables;
use crate::disk::{Disk, Entry, Kind};
use crate::path::{self, Last};

/// How many files and directories are remembered.
const REMEMBERED_MAX: usize = 4096;
/// How many entries of one directory are looked at; with more directly in the workspace, everything in it
/// may be named.
const ENTRIES_MAX: usize = 65_536;
/// How many entries of a workspace, and how many directories, are looked at to find repositories; with
/// more of them outside of packages, everything in the workspace may be named.
const WORKSPACE_ENTRIES_MAX: usize = 1_000_000;
const WORKSPACE_DIRECTORIES_MAX: usize = 60_000;
/// How many entries of directories of packages are looked at for the same.
const PACKAGES_ENTRIES_MAX: usize = 100_000;
/// How many repositories of a workspace are asked about at each call; with more, everything in the
/// workspace may be named.
const TOPS_MAX: usize = 1024;

/// The user's own git configuration, as the environment says where it is.
#[derive(Clone, Debug, Default)]
pub struct UserGit {
    /// Files besides those that git looks for by itself.
    pub files: Vec<AbsolutePath>,
    /// Directories of which all counts.
    pub directories: Vec<AbsolutePath>,
    /// Settings, as `section.key` and value.
    pub settings: Vec<(String, String)>,
    /// Variables that other programs of the user's obey.
    pub variables: Vec<Obeyed>,
}

/// The user's own git configuration, repositories in the workspace, and what was read before.
#[derive(Debug, Default)]
pub struct Orders {
    /// Read in every repository, as if they stood in its own configuration.
    user: Vec<CanonicalPath>,
    /// Of which everything counts.
    directories: Vec<CanonicalPath>,
    given: settings::Orders,
    variables: settings::Orders,
    workspace: Option<CanonicalPath>,
    /// Who knows what git has.
    history: Option<Arc<dyn History>>,
    /// Whether somebody reads all of it ahead, and keeps others waiting.
    is_being_read: AtomicBool,
    /// The repositories that were found; none yet if nobody looked.
    tops: Mutex<Option<Tops>>,
    remembered: Mutex<HashMap<CanonicalPath, (FileState, Remembered)>>,
    /// What configurations say that git has.
    versions: Mutex<HashMap<CanonicalPath, Versions>>,
}

/// What git has of a configuration, and what that names.
type Versions = (Vec<Arc<Texts>>, Arc<Option<settings::Orders>>);

/// The repositories in a workspace.
#[derive(Debug, Default)]
struct Tops {
    found: BTreeSet<CanonicalPath>,
    /// Directories directly in the workspace, as they were when they were looked into.
    children: HashMap<CanonicalPath, FileState>,
    /// There may be more.
    is_cut: bool,
}

impl Tops {
    fn add(&mut self, top: &CanonicalPath) {
        match self.found.len() < TOPS_MAX {
            true => drop(self.found.insert(top.clone())),
            false => self.is_cut |= !self.found.contains(top),
        }
    }

    /// Looks whether a directory is the top of a repository by now, unless it is as it was.
    fn look_into(&mut self, disk: &dyn Disk, child: &CanonicalPath) {
        let Ok(Some(entry)) = disk.look(child.as_path()) else { return };
        if self.children.get(child) != Some(&entry.state) {
            self.children.insert(child.clone(), entry.state);
            search_one(disk, child, &mut { ENTRIES_MAX }, self);
        }
    }
}

/// What was read of a file or a directory.
#[derive(Clone, Debug)]
enum Remembered {
    Config(Arc<Option<settings::Orders>>),
    Listing(Arc<Listing>),
}

/// What of a directory leads elsewhere.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) links: Vec<CanonicalPath>,
    pub(super) directories: Vec<CanonicalPath>,
    /// There is more in it than was looked at.
    is_cut: bool,
}

impl Orders {
    /// Counts the configuration of the user whose home this is.
    pub fn of_user(home: &AbsolutePath) -> Self {
        Self::of(home, &UserGit::default(), None)
    }

    /// Counts the configuration of the user whose home this is, and of repositories in and around a
    /// directory in which the host uses what an agent writes.
    pub fn of(home: &AbsolutePath, git: &UserGit, workspace: Option<&CanonicalPath>) -> Self {
        let base = CanonicalPath::new(home.as_path()).ok();
        let canonical = |text: &[u8]| path::lexical(text, home, base.as_ref());
        let usual: [&[u8]; 3] = [b"/etc/gitconfig", b".gitconfig", b".config/git/config"];
        let lexical = |it: &AbsolutePath| canonical(it.as_path().as_os_str().as_encoded_bytes());
        let user = usual.into_iter().filter_map(canonical);
        Self {
            user: user.chain(git.files.iter().filter_map(lexical)).collect(),
            directories: git.directories.iter().filter_map(lexical).collect(),
            given: settings::given(&git.settings),
            variables: variables::orders(&git.variables),
            workspace: workspace.cloned(),
            history: None,
            is_being_read: AtomicBool::new(false),
            tops: Mutex::default(),
            remembered: Mutex::default(),
            versions: Mutex::default(),
        }
    }

    /// Counts what git has in commits, and the disk may not.
    #[must_use]
    pub fn with_history(mut self, history: Arc<dyn History>) -> Self {
        self.history = Some(history);
        self
    }

    pub(super) fn history(&self) -> Option<&dyn History> {
        self.history.as_deref()
    }

    /// Says whether somebody reads everything ahead: until that is over, whoever asks may have to wait.
    pub fn set_being_read(&self, is_being_read: bool) {
        self.is_being_read.store(is_being_read, Ordering::Release);
    }

    /// Returns whether whoever asks may have to wait.
    pub fn is_being_read(&self) -> bool {
        self.is_being_read.load(Ordering::Acquire)
    }

    pub(super) fn user(&self) -> impl Iterator<Item = &CanonicalPath> {
        self.user.iter()
    }

    pub(super) fn given(&self) -> &settings::Orders {
        &self.given
    }

    pub(super) fn variables(&self) -> &settings::Orders {
        &self.variables
    }

    pub(super) fn workspace(&self) -> Option<&CanonicalPath> {
        self.workspace.as_ref()
    }

    /// Returns what was read of a configuration that is still the same, or reads it.
    pub(super) fn config(
        &self,
        file: &CanonicalPath,
        state: FileState,
        parse: impl FnOnce() -> Arc<Option<settings::Orders>>,
    ) -> Arc<Option<settings::Orders>> {
        if let Some(Remembered::Config(parsed)) = self.recall(file, state) {
            return parsed;
        }
        let parsed = parse();
        self.remember(file, state, Remembered::Config(Arc::clone(&parsed)));
        parsed
    }

    /// Returns what was read of the versions of a configuration that are still the same, or reads them.
    pub(super) fn versions(
        &self,
        file: &CanonicalPath,
        texts: Vec<Arc<Texts>>,
        parse: impl FnOnce(&[Arc<Texts>]) -> Arc<Option<settings::Orders>>,
    ) -> Arc<Option<settings::Orders>> {
        let mut versions = locked(&self.versions);
        let is_same = |then: &[Arc<Texts>]| {
            then.len() == texts.len() && then.iter().zip(&texts).all(|(a, b)| Arc::ptr_eq(a, b))
        };
        if let Some((_, parsed)) = versions.get(file).filter(|(then, _)| is_same(then)) {
            return Arc::clone(parsed);
        }
        if REMEMBERED_MAX <= versions.len() {
            versions.clear();
        }
        let parsed = parse(&texts);
        versions.insert(file.clone(), (texts, Arc::clone(&parsed)));
        parsed
    }

    fn recall(&self, file: &CanonicalPath, state: FileState) -> Option<Remembered> {
        let remembered = locked(&self.remembered);
        let (then, it) = remembered.get(file)?;
        (*then == state).then(|| it.clone())
    }

    fn remember(&self, file: &CanonicalPath, state: FileState, it: Remembered) {
        let mut remembered = locked(&self.remembered);
        if REMEMBERED_MAX <= remembered.len() {
            remembered.clear();
        }
        remembered.insert(file.clone(), (state, it));
    }

    /// Returns the directories in and around the workspace that may be the top of a repository.
    ///
    /// All of it is searched once; later those directly in the workspace are, and what calls came by.
    pub(super) fn tops(&self, place: Place<'_>) -> Vec<CanonicalPath> {
        let mut tops = locked(&self.tops);
        let tops = tops.get_or_insert_with(|| match &self.workspace {
            Some(workspace) => search(place.disk, workspace),
            None => Tops::default(),
        });
        if let Some(workspace) = &self.workspace {
            let listing = Listing::of(place, workspace);
            tops.is_cut |= listing.is_cut;
            let is_git = |it: &&CanonicalPath| {
                it.as_path().file_name().is_some_and(|name| is_same(name, GIT_DIRECTORY))
            };
            for child in listing.directories.iter().filter(|it| !is_git(it)) {
                tops.look_into(place.disk, child);
            }
        }
        let above = self.workspace.iter().flat_map(|it| it.ancestors().skip(1));
        tops.found.iter().cloned().chain(above).collect()
    }

    /// Returns the workspace if it may hold repositories that nobody looked at.
    pub(super) fn unsearched(&self) -> Option<&CanonicalPath> {
        let is_cut = locked(&self.tops).as_ref().is_some_and(|it| it.is_cut);
        self.workspace.as_ref().filter(|_| is_cut)
    }

    /// Remembers a repository that a call came by.
    pub(super) fn note_top(&self, top: &CanonicalPath) {
        if let Some(tops) = &mut *locked(&self.tops) {
            tops.add(top);
        }
    }

    /// Returns the files of the user's own configuration, and where listed names of the home lead.
    pub(super) fn of_home(&self, place: Place<'_>) -> Names {
        let mut names = Names::default();
        for path in self.user.iter().chain(&self.directories) {
            let Led { paths, passed } = Led::by(place.disk, path);
            for path in paths {
                names.add(path, Why::Listed);
            }
            for entry in passed {
                names.add_entry(entry, Why::Listed);
            }
        }
        for (name, reach) in HOME_NAMES {
            let Ok(path) = AbsolutePath::new(place.home.as_path().join(name)) else { continue };
            let Ok(found) = path::follow(place.disk, &path, Last::Follow) else { continue };
            let is_directory = found.entry.is_some_and(|it| it.kind == Kind::Directory);
            if !found.links.is_empty() {
                found.passed.into_iter().for_each(|it| names.add_entry(it, Why::Listed));
                found.links.into_iter().for_each(|link| names.add(link, Why::Listed));
                // The directory itself is listed, and not what else is in it.
                if !is_directory || reach == Reach::Beneath {
                    names.add(found.path.clone(), Why::Listed);
                }
            }
            if is_directory && reach == Reach::Beneath {
                links::note_beneath(place, &found.path, &mut names);
            }
        }
        homes::note_hidden(place, self.workspace.as_ref(), &mut names);
        names
    }
}

/// Searches a workspace for directories that may be the top of a repository: those near its top first,
/// and directories of packages last, so that nothing put elsewhere hides one.
fn search(disk: &dyn Disk, workspace: &CanonicalPath) -> Tops {
    let mut tops = Tops { found: BTreeSet::from([workspace.clone()]), ..Tops::default() };
    let (mut left, mut n_directories) = (WORKSPACE_ENTRIES_MAX, WORKSPACE_DIRECTORIES_MAX);
    let (mut directories, mut packages) = (VecDeque::from([workspace.clone()]), VecDeque::new());
    while let Some(directory) = directories.pop_front() {
        if left == 0 || n_directories == 0 {
            tops.is_cut = true;
            return tops;
        }
        n_directories -= 1;
        let inner = search_one(disk, &directory, &mut left, &mut tops);
        let (of_packages, others): (Vec<_>, Vec<_>) =
            inner.into_iter().partition(|it| it.as_path().file_name().is_some_and(is_packages));
        packages.extend(of_packages);
        directories.extend(others);
    }
    left = PACKAGES_ENTRIES_MAX;
    while let (Some(directory), 1.., 1..) = (packages.pop_front(), left, n_directories) {
        n_directories -= 1;
        packages.extend(search_one(disk, &directory, &mut left, &mut tops));
    }
    tops
}

/// Looks whether a directory is the top of a repository; returns the directories in it.
fn search_one(
    disk: &dyn Disk,
    directory: &CanonicalPath,
    left: &mut usize,
    tops: &mut Tops,
) -> Vec<CanonicalPath> {
    let entries = disk.list(directory.as_path(), *left).unwrap_or_default();
    *left = left.saturating_sub(entries.len());
    let has = |name: &str| entries.iter().any(|(it, _)| is_same(it, name));
    // SECURITY: a plain file that is called HEAD must not take up the place of a repository.
    let is_shape = || has("commondir") || (has("HEAD") && has("objects") && has("refs"));
    if has(GIT_DIRECTORY) || is_shape() {
        tops.add(directory);
    }
    let inner =
        entries.iter().filter(|(name, kind)| *kind == Kind::Directory && name != GIT_DIRECTORY);
    inner.filter_map(|(name, _)| directory.join(name).ok()).collect()
}

impl Listing {
    /// Lists what leads elsewhere, unless the directory is still as it was.
    pub(super) fn of(place: Place<'_>, directory: &CanonicalPath) -> Arc<Self> {
        let Ok(Some(Entry { kind: Kind::Directory, state })) = place.disk.look(directory.as_path())
        else {
            return Arc::default();
        };
        if let Some(Remembered::Listing(listing)) =
            place.orders.and_then(|orders| orders.recall(directory, state))
        {
            return listing;
        }
        let entries = place.disk.list(directory.as_path(), ENTRIES_MAX).unwrap_or_default();
        let mut listing = Self { is_cut: ENTRIES_MAX <= entries.len(), ..Self::default() };
        for (name, kind) in entries {
            let Ok(path) = directory.join(&name) else { continue };
            match kind {
                Kind::Link => listing.links.push(path),
                Kind::Directory => listing.directories.push(path),
                Kind::File | Kind::Other => {}
            }
        }
        let listing = Arc::new(listing);
        if let Some(orders) = place.orders {
            orders.remember(directory, state, Remembered::Listing(Arc::clone(&listing)));
        }
        listing
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
