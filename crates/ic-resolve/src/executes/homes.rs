//! Hidden links of the home that lead elsewhere, as those do who keep their settings in a repository.
//!
//! Which programs look for what in a home is more than a list can say. A hidden name in it, or in one of its
//! hidden directories, is there for some program; so what such a link leads to counts.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use ic_policy::Why;
use ic_types::CanonicalPath;

use super::configured::Place;
use super::finds::Led;
use super::links;
use super::names::Names;
use super::orders::Listing;
use crate::path::{self, Last};

/// Directories in which programs have directories of their own.
const SHARED: [&str; 4] = [".config", ".local", ".local/lib", ".local/share"];
/// In how many directories links are looked for.
const DIRECTORIES_MAX: usize = 512;

/// Notes where hidden links of the home lead; what leads to the workspace itself is only a way there.
pub(super) fn note_hidden(place: Place<'_>, workspace: Option<&CanonicalPath>, names: &mut Names) {
    let Ok(home) = path::follow(place.disk, place.home, Last::Follow) else { return };
    let is_hidden = |it: &&CanonicalPath| {
        let name = it.as_path().file_name().map_or(&b""[..], OsStr::as_bytes);
        name.starts_with(b".")
    };
    let listing = Listing::of(place, &home.path);
    let mut directories: Vec<CanonicalPath> =
        listing.directories.iter().filter(is_hidden).cloned().collect();
    for shared in SHARED {
        let at = path::lexical(shared.as_bytes(), place.home, Some(&home.path));
        let inner = at.map(|at| Listing::of(place, &at));
        directories.extend(inner.iter().flat_map(|it| it.directories.iter().cloned()));
    }
    let inner = directories.iter().take(DIRECTORIES_MAX).map(|it| Listing::of(place, it));
    let inner: Vec<CanonicalPath> = inner.flat_map(|it| it.links.clone()).collect();
    for link in listing.links.iter().filter(is_hidden).chain(&inner) {
        note(place, (workspace, &home.path), link, names);
    }
}

fn note(
    place: Place<'_>,
    (workspace, home): (Option<&CanonicalPath>, &CanonicalPath),
    link: &CanonicalPath,
    names: &mut Names,
) {
    let Led { paths, passed } = Led::by(place.disk, link);
    let is_above = |path: &CanonicalPath| {
        home.is_within(path) || workspace.is_some_and(|it| it.is_within(path))
    };
    let why = || Why::Linked(link.clone());
    for entry in passed {
        names.add_entry(entry, why());
    }
    for path in paths {
        if !is_above(&path) {
            links::note_beneath(place, &path, names);
            names.add(path, why());
        }
    }
}
