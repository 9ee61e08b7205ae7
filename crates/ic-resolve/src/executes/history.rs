//! What git has of files, besides what is on the disk: their texts in other commits, in the index, put aside.
//!
//! ```text
//! dev: .gitconfig.shared says `fsmonitor = sh tools/x`      here: it says nothing
//! the user's `git checkout dev` brings that, and the next `git status` runs what was written here
//! ```
//!
//! So a file of the tree that names what is run is read as git has it, too, in all versions.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use ic_policy::host_executes::{GIT_DIRECTORY, is_same};
use ic_types::CanonicalPath;

use super::committed::LinkTable;
use super::configured::Place;
use super::orders::Orders;
use super::pointers::Ways;

/// Knows what git has in a repository.
pub trait History: fmt::Debug + Send + Sync {
    /// Returns the links of the repository that is kept in `git`.
    fn links(&self, git: &CanonicalPath, haste: Haste) -> Told<LinkTable>;

    /// Returns what files at a path of its tree say.
    fn texts(&self, git: &CanonicalPath, wanted: &Wanted, haste: Haste) -> Told<Texts>;
}

/// Whether whoever asks can wait for the answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Haste {
    /// Only what is known already is wanted.
    AtOnce,
    /// Git may be asked, or waited for while somebody else asks it.
    Patient,
}

/// What is known of a repository.
#[derive(Debug)]
pub enum Told<T> {
    /// All of it.
    Known(Arc<T>),
    /// It cannot be known: there may be anything.
    Unknown,
    /// It is still being found out, so for now there may be anything.
    NotYet,
}

impl<T> Told<T> {
    /// Returns what is known.
    ///
    /// SECURITY: nothing is never taken for "there is none"; whoever gets it has everything count.
    pub(super) fn known(self, place: Place<'_>) -> Option<Arc<T>> {
        match self {
            Self::Known(it) => Some(it),
            Self::Unknown => None,
            Self::NotYet => {
                place.disk.give_up();
                None
            }
        }
    }
}

impl Haste {
    pub(super) fn of(place: Place<'_>) -> Self {
        match place.disk.may_wait() {
            true => Self::Patient,
            false => Self::AtOnce,
        }
    }
}

/// Which files are meant.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Wanted {
    /// From the top of the tree.
    pub path: Vec<u8>,
    /// Whether those directly in it are meant, which have no ending, and not the file itself.
    pub is_directory: bool,
    /// The longest text.
    pub bytes_max: usize,
}

/// What files say.
#[derive(Debug)]
pub struct Texts {
    /// Each by its name in the directory, or none.
    pub files: Vec<(Vec<u8>, Vec<u8>)>,
    /// Whether these are all: none was too long or lies elsewhere, behind a link.
    pub is_whole: bool,
}

impl Default for Texts {
    fn default() -> Self {
        Self { files: Vec::new(), is_whole: true }
    }
}

/// A tree, and where its repository is kept.
pub(super) type Tree<'a> = (&'a CanonicalPath, &'a [CanonicalPath]);

/// Returns what the file at `path` says in the repositories in whose trees it lies; `None` if that cannot
/// be known.
pub(super) fn of_file(
    place: Place<'_>,
    path: &CanonicalPath,
    tree: Option<Tree<'_>>,
    bytes_max: usize,
) -> Option<Vec<Arc<Texts>>> {
    of(place, (path, tree), (false, bytes_max))
}

/// Returns what the files directly in the directory at `path` say, in the same way.
pub(super) fn of_directory(
    place: Place<'_>,
    path: &CanonicalPath,
    tree: Option<Tree<'_>>,
    bytes_max: usize,
) -> Option<Vec<Arc<Texts>>> {
    of(place, (path, tree), (true, bytes_max))
}

fn of(
    place: Place<'_>,
    (path, tree): (&CanonicalPath, Option<Tree<'_>>),
    (is_directory, bytes_max): (bool, usize),
) -> Option<Vec<Arc<Texts>>> {
    let Some(history) = place.orders.and_then(Orders::history) else { return Some(Vec::new()) };
    let mut stores: BTreeSet<(CanonicalPath, Vec<u8>)> = BTreeSet::new();
    let mut note = |top: &CanonicalPath, git: &[CanonicalPath]| {
        let below = below(top, path).filter(|it| is_directory || !it.is_empty());
        stores.extend(below.iter().flat_map(|it| git.iter().map(|git| (git.clone(), it.clone()))));
    };
    if let Some((top, git)) = tree {
        note(top, git);
    }
    let is_gits = |it: &CanonicalPath| {
        it.as_path().file_name().is_some_and(|name| is_same(name, GIT_DIRECTORY))
    };
    for top in path.ancestors().take_while(|it| !is_gits(it)) {
        let git = top.join(GIT_DIRECTORY.as_ref()).ok();
        let kind = git.and_then(|it| place.disk.look(it.as_path()).ok().flatten());
        if let Some(kind) = kind.map(|it| it.kind) {
            note(&top, &Ways::to(place.disk, &top, Some(kind)).git);
        }
    }
    let text = |(git, path)| {
        let wanted = Wanted { path, is_directory, bytes_max };
        history.texts(&git, &wanted, Haste::of(place)).known(place)
    };
    stores.into_iter().map(text).collect()
}

/// Returns a path from the top of a tree, if it lies in it and git can have it.
fn below(top: &CanonicalPath, path: &CanonicalPath) -> Option<Vec<u8>> {
    let below = path.as_path().strip_prefix(top.as_path()).ok()?;
    let is_gits = below.iter().any(|name| is_same(name, GIT_DIRECTORY));
    (!is_gits).then(|| below.as_os_str().as_encoded_bytes().to_vec())
}
