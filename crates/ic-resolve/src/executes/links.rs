//! Links in directories that something names: what they lead to is named as well.

use ic_policy::Why;
use ic_policy::host_executes::is_packages;
use ic_types::{AbsolutePath, CanonicalPath};

use super::configured::Place;
use super::finds::Led;
use super::names::Names;
use super::orders::Listing;
use crate::path::{self, Last};

/// How many directories are searched beneath one that is named.
const DIRECTORIES_MAX: usize = 256;

/// The same for a whole tree.
const TREE_DIRECTORIES_MAX: usize = 2048;

/// Notes where the links lead that lie in a directory, at any depth, and every link on the way.
pub(super) fn note_beneath(place: Place<'_>, directory: &CanonicalPath, names: &mut Names) {
    for link in beneath(place, directory) {
        let Led { paths, passed } = Led::by(place.disk, &link);
        for path in paths.into_iter().filter(|it| *it != link) {
            names.add(path, Why::Linked(link.clone()));
        }
        for entry in passed {
            names.add_entry(entry, Why::Linked(link.clone()));
        }
    }
}

/// Returns the links that lie in a directory, or in the one that it leads to, at any depth; those in
/// directories of packages are left out.
pub(super) fn beneath(place: Place<'_>, directory: &CanonicalPath) -> Vec<CanonicalPath> {
    search(place, directory, DIRECTORIES_MAX).0
}

/// Returns the same of a whole tree; `None` if that has too many directories.
pub(super) fn all_beneath(
    place: Place<'_>,
    directory: &CanonicalPath,
) -> Option<Vec<CanonicalPath>> {
    let (links, is_whole) = search(place, directory, TREE_DIRECTORIES_MAX);
    is_whole.then_some(links)
}

fn search(
    place: Place<'_>,
    directory: &CanonicalPath,
    directories_max: usize,
) -> (Vec<CanonicalPath>, bool) {
    let found = AbsolutePath::new(directory.as_path()).ok();
    let found = found.and_then(|it| path::follow(place.disk, &it, Last::Follow).ok());
    let mut directories: Vec<CanonicalPath> = found.into_iter().map(|found| found.path).collect();
    let (mut links, mut n_left) = (Vec::new(), directories_max);
    while let (Some(directory), 1..) = (directories.pop(), n_left) {
        n_left -= 1;
        let listing = Listing::of(place, &directory);
        links.extend(listing.links.iter().cloned());
        let is_searched = |it: &&CanonicalPath| !it.as_path().file_name().is_some_and(is_packages);
        directories.extend(listing.directories.iter().filter(is_searched).cloned());
    }
    (links, 0 < n_left)
}
