//! What our filesystem server sees when it is started for one call: the judged paths, and no more.
//!
//! ```text
//! read   a directory        that directory
//!        a file             that file, its parent held
//! write, delete             the nearest directory above that is there, held; only the path is reached
//! ```
//!
//! The directory above has to be writable for an entry of it to be made, replaced or removed; the list
//! of all that is reached keeps the server to the judged path. Nothing is opened or started here.

use ic_confine::{Access, Seen};
use ic_policy::Bounds;
use ic_resolve::{Disk, Kind};
use ic_servers::filesystem::{Links, Rights, View, ViewDirectory, ViewPath};
use ic_types::CanonicalPath;

use crate::cage::{is_showable, kind, protecting, shown};
use crate::launch::is_text;
use crate::sight::Judged;

/// The most paths that a call can be about; they are given to the server on its command line.
const PATHS_MAX: usize = 256;

/// What a server that is started for one call sees.
#[derive(Clone, Debug)]
pub(crate) struct OneShot {
    /// Its view.
    pub(crate) view: View,
    /// What its cage shows.
    pub(crate) seen: Vec<Seen>,
}

/// A call that cannot be served by itself.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum OneShotFault {
    /// There is a link where none was, or the place is gone.
    #[error("`{0}` changed since it was judged, so nothing was done; try again")]
    Changed(CanonicalPath),
    /// Something on the way is no directory.
    #[error("a part of the path `{0}` is no directory")]
    ThroughFile(CanonicalPath),
    /// What would have to be held is protected.
    #[error("`{0}` is gone, and what is above it is protected")]
    Protected(CanonicalPath),
    /// What would have to be held is everything.
    #[error("`{0}` lies directly in the root of this machine, which is never opened as a whole")]
    Root(CanonicalPath),
    /// There are too many paths.
    #[error("the call is about more than {PATHS_MAX} paths outside of what is always open")]
    TooMany,
}

impl OneShot {
    /// Works out what is needed to serve a call about `judged`.
    pub(crate) fn plan(
        judged: &[Judged],
        bounds: &Bounds,
        disk: &dyn Disk,
    ) -> Result<Self, OneShotFault> {
        if PATHS_MAX < judged.len() {
            return Err(OneShotFault::TooMany);
        }
        let (mut held, mut seen): (Vec<CanonicalPath>, Vec<Seen>) = (Vec::new(), Vec::new());
        for it in judged {
            let (directory, part) = match it.access() {
                Access::Read => for_reading(&it.path, disk)?,
                Access::Write => {
                    let above = for_changing(&it.path, bounds, disk)?;
                    let part = shown(&above, Access::Write);
                    (above, Some(part))
                }
            };
            if !held.contains(&directory) {
                held.push(directory);
            }
            seen.extend(part);
        }
        // The list says what may be done with each path, so each directory gives what any needs.
        let rights = judged.iter().fold(Rights::NONE, |all, it| all.and(it.rights));
        let directories = held.into_iter().map(|path| ViewDirectory { path, rights }).collect();
        let only = judged.iter().map(|it| ViewPath {
            path: it.path.clone(),
            // To move a link is to read where it leads, and what is there was judged for reading.
            rights: match rights.read
                && it.rights.delete
                && kind(&it.path, disk) == Some(Kind::Link)
            {
                true => it.rights.and(Rights::READ),
                false => it.rights,
            },
        });
        let view = View {
            directories,
            leave_out: bounds.protected.iter().filter(|path| is_text(path)).cloned().collect(),
            only: Some(only.collect()),
            // SECURITY: what was judged had no links in it; one that is there now was put there since.
            links: Links::Refuse,
        };
        Ok(Self { view, seen: deduped(&seen) })
    }
}

/// Returns the directory that is held to read `path`, and what is shown for it.
fn for_reading(
    path: &CanonicalPath,
    disk: &dyn Disk,
) -> Result<(CanonicalPath, Option<Seen>), OneShotFault> {
    if !is_showable(path) {
        return Err(OneShotFault::Root(path.clone()));
    }
    let parent = path.parent().unwrap_or_else(CanonicalPath::root);
    match kind(path, disk) {
        Some(Kind::Directory) => Ok((path.clone(), Some(shown(path, Access::Read)))),
        Some(Kind::File | Kind::Other) => Ok((parent, Some(shown(path, Access::Read)))),
        Some(Kind::Link) => Err(OneShotFault::Changed(path.clone())),
        // Nothing is shown, and so nothing is found.
        None => Ok((parent, None)),
    }
}

/// Returns the directory that is held to make, replace or remove the entry `path`.
fn for_changing(
    path: &CanonicalPath,
    bounds: &Bounds,
    disk: &dyn Disk,
) -> Result<CanonicalPath, OneShotFault> {
    for above in path.ancestors().skip(1) {
        match kind(&above, disk) {
            None => {}
            Some(Kind::Directory) if !is_showable(&above) => break,
            Some(Kind::Directory) => {
                // SECURITY: if the sandbox is gone, what is above it is the session's own directory,
                // with the log in it.
                return match protecting(&above, bounds) {
                    Some(_) => Err(OneShotFault::Protected(path.clone())),
                    None => Ok(above),
                };
            }
            Some(Kind::Link) => return Err(OneShotFault::Changed(path.clone())),
            Some(Kind::File | Kind::Other) => {
                return Err(OneShotFault::ThroughFile(path.clone()));
            }
        }
    }
    Err(OneShotFault::Root(path.clone()))
}

/// Leaves out what is shown already by something above it with the same access, or more.
fn deduped(seen: &[Seen]) -> Vec<Seen> {
    let covers = |above: &Seen, it: &Seen| {
        let is_enough = above.access == Access::Write || it.access == Access::Read;
        is_enough && it.path.starts_with(&above.path) && *above != *it
    };
    let mut left: Vec<Seen> = Vec::new();
    for it in seen {
        if !left.contains(it) && !seen.iter().any(|above| covers(above, it)) {
            left.push(it.clone());
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use ic_policy::{Sandbox, SandboxKind};
    use ic_testkit::MemoryDisk;
    use std::collections::HashMap;

    const MOVED: Rights = Rights::READ.and(Rights::DELETE);

    fn path(text: &str) -> CanonicalPath {
        CanonicalPath::new(text).unwrap()
    }

    fn bounds() -> Bounds {
        Bounds {
            sandbox: Some(Sandbox { path: path("/h/.ic/s/box"), kind: SandboxKind::Session }),
            protected: vec![path("/h/.ic"), path("/h/.ssh")],
            home_executes: Vec::new(),
            servers: HashMap::new(),
        }
    }

    fn disk() -> MemoryDisk {
        MemoryDisk::new()
            .dir("/h/docs/sub")
            .file("/h/docs/a.txt", "a")
            .file("/h/docs/b.txt", "b")
            .dir("/h/other")
            .link("/h/docs/link", "/h/other")
            .dir("/h/.ic/s")
            .dir("/h/.ssh")
    }

    fn plan(judged: &[(&str, Rights)]) -> Result<OneShot, String> {
        let judged: Vec<Judged> =
            judged.iter().map(|(it, rights)| Judged { path: path(it), rights: *rights }).collect();
        OneShot::plan(&judged, &bounds(), &disk()).map_err(|fault| fault.to_string())
    }

    /// Plans a call, and checks which directories are held and what is shown.
    #[track_caller]
    fn check(judged: &[(&str, Rights)], held: &[&str], seen: &[(&str, Access)]) {
        let OneShot { view, seen: shown_parts } = plan(judged).unwrap();
        let only: Vec<(String, Rights)> =
            view.only.unwrap().iter().map(|it| (it.path.to_string(), it.rights)).collect();
        let exactly: Vec<(String, Rights)> =
            judged.iter().map(|(it, rights)| ((*it).to_owned(), *rights)).collect();
        assert_eq!(only, exactly, "what was judged, and nothing else");
        let directories: Vec<String> =
            view.directories.iter().map(|it| it.path.to_string()).collect();
        assert_eq!(directories, held, "{judged:?}");
        let expected: Vec<Seen> =
            seen.iter().map(|(it, access)| shown(&path(it), *access)).collect();
        assert_eq!(shown_parts, expected, "{judged:?}");
    }

    #[track_caller]
    fn check_refused(judged: &[(&str, Rights)], part: &str) {
        let fault = plan(judged).expect_err("nobody serves it");
        assert!(fault.contains(part), "{judged:?}: {fault}");
    }

    #[test]
    fn reading_shows_the_path_itself() {
        check(&[("/h/docs/a.txt", Rights::READ)], &["/h/docs"], &[("/h/docs/a.txt", Access::Read)]);
        check(&[("/h/docs", Rights::READ)], &["/h/docs"], &[("/h/docs", Access::Read)]);
        check(&[("/h/docs/gone", Rights::READ)], &["/h/docs"], &[]);
        check(&[("/gone/deep/er", Rights::READ)], &["/gone/deep"], &[]);
        check(
            &[("/h/docs/a.txt", Rights::READ), ("/h/docs/b.txt", Rights::READ)],
            &["/h/docs"],
            &[("/h/docs/a.txt", Access::Read), ("/h/docs/b.txt", Access::Read)],
        );
        // What is shown by something above it is shown once.
        check(
            &[("/h/docs", Rights::READ), ("/h/docs/sub", Rights::READ)],
            &["/h/docs", "/h/docs/sub"],
            &[("/h/docs", Access::Read)],
        );
    }

    #[test]
    fn changing_holds_the_nearest_directory_above() {
        for rights in [Rights::WRITE, Rights::DELETE, Rights::ALL] {
            for it in ["/h/docs/a.txt", "/h/docs/new", "/h/docs/sub", "/h/docs/link"] {
                check(&[(it, rights)], &["/h/docs"], &[("/h/docs", Access::Write)]);
            }
        }
        check(
            &[("/h/docs/new/deep/er", Rights::WRITE)],
            &["/h/docs"],
            &[("/h/docs", Access::Write)],
        );
        check(
            &[("/h/docs/a.txt", MOVED), ("/h/other/a.txt", Rights::WRITE)],
            &["/h/docs", "/h/other"],
            &[("/h/docs", Access::Write), ("/h/other", Access::Write)],
        );
        // A mount in the way of a name could not be replaced.
        check(
            &[("/h/docs/a.txt", Rights::READ), ("/h/docs/b.txt", Rights::WRITE)],
            &["/h/docs"],
            &[("/h/docs", Access::Write)],
        );
    }

    #[test]
    fn a_link_is_moved_as_what_it_is() {
        let (link, target) = ("/h/docs/link", "/h/other");
        let read_of = |judged: &[(&str, Rights)]| {
            let only = plan(judged).unwrap().view.only.unwrap();
            only.iter().find(|it| it.path == path(link)).unwrap().rights.read
        };
        assert!(read_of(&[(target, Rights::READ), (link, Rights::DELETE)]));
        // Where nothing was judged for reading, nothing is read.
        assert!(!read_of(&[(link, Rights::DELETE)]));
    }

    #[test]
    fn what_was_swapped_for_a_link_is_not_held() {
        check_refused(&[("/h/docs/link", Rights::READ)], "changed since it was judged");
        check_refused(&[("/h/docs/link/x", Rights::WRITE)], "changed since it was judged");
        check_refused(&[("/h/docs/a.txt/x", Rights::WRITE)], "is no directory");
    }

    #[test]
    fn neither_the_root_nor_what_is_protected_is_held() {
        check_refused(&[("/", Rights::READ)], "the root of this machine");
        check_refused(&[("/new", Rights::WRITE)], "the root of this machine");
        check_refused(&[("/h/.ic/s/box/a.txt", Rights::WRITE)], "above it is protected");
        check_refused(&[("/h/.ssh/new", Rights::WRITE)], "above it is protected");
        let many: Vec<Judged> = (0..=PATHS_MAX)
            .map(|n| Judged { path: path(&format!("/x/{n}")), rights: Rights::READ })
            .collect();
        assert!(matches!(OneShot::plan(&many, &bounds(), &disk()), Err(OneShotFault::TooMany)));
    }
}
