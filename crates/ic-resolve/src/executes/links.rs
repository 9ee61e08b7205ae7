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
    let found = AbsolutePath::new(directory.as_path()).ok();
    let found = found.and_then(|it| path::follow(place.disk, &it, Last::Follow).ok());
    let mut directories: Vec<CanonicalPath> = found.into_iter().map(|found| found.path).collect();
    let (mut links, mut n_left) = (Vec::new(), DIRECTORIES_MAX);
    while let (Some(directory), 1..) = (directories.pop(), n_left) {
        n_left -= 1;
        let listing = Listing::of(place, &directory);
        links.extend(listing.links.iter().cloned());
        let is_searched = |it: &&CanonicalPath| !it.as_path().file_name().is_some_and(is_packages);
        directories.extend(listing.directories.iter().filter(is_searched).cloned());
    }
    links
}
