//! What a session knows of git configurations besides those around a path: the user's own, that of other
//! repositories in and around the workspace, links in the home; and what was read before.
//!
//! Read again whenever identity or times of a file or directory change, so that what the user sets up
//! during a session counts from the next call on.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ic_policy::host_executes::{GIT_DIRECTORY, HOME_NAMES};
use ic_policy::{FileState, Reach, Why};
use ic_types::{AbsolutePath, CanonicalPath};

use super::configured::{Place, led_by};
use super::names::Names;
use super::settings;
use super::variables::{self, Variable};
use crate::disk::{Disk, Entry, Kind};
use crate::path::{self, Last};

/// How many files and directories are remembered.
const REMEMBERED_MAX: usize = 4096;
/// How many entries of one directory are looked at.
const ENTRIES_MAX: usize = 4096;
/// How many entries of a workspace are looked at to find repositories.
const WORKSPACE_ENTRIES_MAX: usize = 200_000;
/// How many repositories of a workspace are asked about at each call.
const TOPS_MAX: usize = 256;
/// In how many directories of a workspace a new repository is looked for at each call.
const CHILDREN_MAX: usize = 64;
/// How many directories of the home are searched for links.
const HOME_DIRECTORIES_MAX: usize = 256;

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
    pub variables: Vec<Variable>,
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
    /// The repositories that were found; none yet if nobody looked.
    tops: Mutex<Option<BTreeSet<CanonicalPath>>>,
    remembered: Mutex<HashMap<CanonicalPath, (FileState, Remembered)>>,
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
            tops: Mutex::default(),
            remembered: Mutex::default(),
        }
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
            None => BTreeSet::new(),
        });
        if let Some(workspace) = &self.workspace {
            let listing = Listing::of(place, workspace);
            for child in listing.directories.iter().take(CHILDREN_MAX) {
                let git = child.join(GIT_DIRECTORY.as_ref());
                let is_there = |at: CanonicalPath| place.disk.look(at.as_path()).ok().flatten();
                if tops.len() < TOPS_MAX && git.ok().and_then(is_there).is_some() {
                    tops.insert(child.clone());
                }
            }
        }
        let above = self.workspace.iter().flat_map(|it| it.ancestors().skip(1));
        tops.iter().cloned().chain(above).collect()
    }

    /// Remembers a repository that a call came by.
    pub(super) fn note_top(&self, top: &CanonicalPath) {
        if let Some(tops) = &mut *locked(&self.tops)
            && tops.len() < TOPS_MAX
        {
            tops.insert(top.clone());
        }
    }

    /// Returns the files of the user's own configuration, and where listed names of the home lead.
    pub(super) fn of_home(&self, place: Place<'_>) -> Names {
        let mut names = Names::default();
        for path in self.user.iter().chain(&self.directories) {
            for it in led_by(place.disk, path) {
                names.add(it, Why::Listed);
            }
        }
        for (name, reach) in HOME_NAMES {
            let Ok(path) = AbsolutePath::new(place.home.as_path().join(name)) else { continue };
            let Ok(found) = path::follow(place.disk, &path, Last::Follow) else { continue };
            let is_directory = found.entry.is_some_and(|it| it.kind == Kind::Directory);
            if !found.links.is_empty() {
                found.links.into_iter().for_each(|link| names.add(link, Why::Listed));
                // The directory itself is listed, and not what else is in it.
                if !is_directory || reach == Reach::Beneath {
                    names.add(found.path.clone(), Why::Listed);
                }
            }
            if is_directory && reach == Reach::Beneath {
                note_links_beneath(place, found.path, &mut names);
            }
        }
        names
    }
}

/// Notes where the links lead that lie in a listed directory of the home.
fn note_links_beneath(place: Place<'_>, directory: CanonicalPath, names: &mut Names) {
    let (mut directories, mut n_left) = (vec![directory], HOME_DIRECTORIES_MAX);
    while let (Some(directory), 1..) = (directories.pop(), n_left) {
        n_left -= 1;
        let listing = Listing::of(place, &directory);
        for link in &listing.links {
            for it in led_by(place.disk, link) {
                names.add(it, Why::Linked(link.clone()));
            }
        }
        directories.extend(listing.directories.iter().cloned());
    }
}

/// Searches a workspace for directories that may be the top of a repository.
fn search(disk: &dyn Disk, workspace: &CanonicalPath) -> BTreeSet<CanonicalPath> {
    let mut tops = BTreeSet::from([workspace.clone()]);
    let mut left = WORKSPACE_ENTRIES_MAX;
    let mut directories = vec![workspace.clone()];
    while let Some(directory) = directories.pop() {
        for (name, kind) in disk.list(directory.as_path(), left).unwrap_or_default() {
            left = left.saturating_sub(1);
            if tops.len() < TOPS_MAX && matches!(name.to_str(), Some(GIT_DIRECTORY | "HEAD")) {
                tops.insert(directory.clone());
            }
            if let (Kind::Directory, true, Ok(path)) =
                (kind, name != GIT_DIRECTORY, directory.join(&name))
            {
                directories.push(path);
            }
        }
    }
    tops
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
        let mut listing = Self::default();
        for (name, kind) in place.disk.list(directory.as_path(), ENTRIES_MAX).unwrap_or_default() {
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
