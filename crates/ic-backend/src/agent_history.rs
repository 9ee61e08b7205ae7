//! The repositories that may hold what a view hides: whoever reads one reads what was committed.
//!
//! Whether a hidden file was ever committed is not looked for: that only git could say, and it may be any branch.
//! How git ties a working tree to its repository is read loosely here, since a repository too many is only hidden.

use std::path::Path;

use ic_analysis::{AgentView, Shown};
use ic_resolve::path::{Last, follow};
use ic_resolve::{Disk, Kind};
use ic_types::{AbsolutePath, CanonicalPath};

/// The longest file that says where a repository is.
const POINTER_BYTES_MAX: usize = 8 << 10;

/// Returns what holds the history of something that the view hides, as far as the cage would show it, and one of
/// the places that are hidden for each.
pub(crate) fn revealing(view: &AgentView, disk: &dyn Disk) -> Vec<(CanonicalPath, CanonicalPath)> {
    let mut found: Vec<(CanonicalPath, CanonicalPath)> = Vec::new();
    let hidden = view.places().filter(|(_, how)| *how == Shown::Empty).map(|(path, _)| path);
    for place in hidden {
        // What lies above all that is shown has no `.git` in the cage.
        let above = place.ancestors().skip(1).take_while(|path| view.at(path).is_some());
        for path in above.flat_map(|top| of_tree(&top, disk)) {
            let is_seen = view.at(&path).is_some_and(|how| how != Shown::Empty);
            if is_seen && !found.iter().any(|(known, _)| *known == path) {
                found.push((path, place.clone()));
            }
        }
    }
    // What lies in something hidden is hidden with it.
    let all: Vec<CanonicalPath> = found.iter().map(|(path, _)| path.clone()).collect();
    found.retain(|(path, _)| !all.iter().any(|it| it != path && path.is_within(it)));
    found
}

/// Returns what of the repository of a working tree has to be hidden.
fn of_tree(top: &CanonicalPath, disk: &dyn Disk) -> Vec<CanonicalPath> {
    let Ok(git) = top.join(".git".as_ref()) else { return Vec::new() };
    let mut paths = Vec::new();
    match disk.look(git.as_path()).ok().flatten().map(|it| it.kind) {
        None | Some(Kind::Other) => return paths,
        Some(Kind::Directory) => {
            paths.push(git.clone());
            paths.extend(common_of(&git, disk));
        }
        Some(Kind::File) => {
            paths.push(git.clone());
            if let Some(led) = led_by(&git, "gitdir:", disk) {
                paths.extend(common_of(&led, disk));
                paths.push(led);
            }
        }
        Some(Kind::Link) => {
            let led = found(git.as_path(), disk);
            paths.extend(led.iter().filter_map(|led| common_of(led, disk)));
            paths.extend(led);
        }
    }
    paths
}

/// Returns the part of a repository that its working trees have in common, if it is elsewhere.
fn common_of(git: &CanonicalPath, disk: &dyn Disk) -> Option<CanonicalPath> {
    led_by(&git.join("commondir".as_ref()).ok()?, "", disk)
}

/// Returns where a file of git's leads.
fn led_by(file: &CanonicalPath, word: &str, disk: &dyn Disk) -> Option<CanonicalPath> {
    let text = disk.read_file(file.as_path(), POINTER_BYTES_MAX).ok().flatten()?;
    let text = String::from_utf8(text).ok()?;
    let led = text.strip_prefix(word)?.trim_matches([' ', '\n', '\r']);
    found(&file.as_path().parent()?.join(led), disk)
}

fn found(path: &Path, disk: &dyn Disk) -> Option<CanonicalPath> {
    let found = follow(disk, &AbsolutePath::new(path).ok()?, Last::Follow).ok()?;
    found.entry.is_some().then_some(found.path)
}
