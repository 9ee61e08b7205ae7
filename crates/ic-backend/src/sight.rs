//! What a running server reaches of the host's files, and whether a judged path is within that.
//!
//! Whether a call may be made was decided before; this is about whether a server can serve it at all.
//! Nothing is opened here.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

use ic_confine::Access;
use ic_resolve::{Disk, Kind};
use ic_servers::filesystem::{Rights, View};
use ic_types::CanonicalPath;

use crate::cage::{StrangersCage, kind};
use crate::planted::Kept;
use ic_judge::Judged;

/// What a running server reaches.
#[derive(Clone, Debug)]
pub(crate) enum Sight {
    /// Whatever the user reaches.
    Everything,
    /// The directories that our own filesystem server holds.
    Held(Vec<HeldDirectory>),
    /// What a cage shows.
    Cage {
        shown: Vec<Shown>,
        /// What would be hidden if it had been there.
        absent: Vec<CanonicalPath>,
        /// What the host executes of what is written, if that has to be looked after.
        kept: Option<Arc<Kept>>,
    },
}

/// A directory of the view of our own server, as it was when the server was started.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct HeldDirectory {
    path: CanonicalPath,
    rights: Rights,
    /// Which directory that was, if there was one.
    which: Option<Which>,
}

/// Tells one file or directory from all others.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Which {
    device: u64,
    inode: u64,
}

/// A part of what a cage shows, or hides.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Shown {
    path: CanonicalPath,
    /// `None` if it is hidden.
    access: Option<Access>,
}

impl Sight {
    /// Notes which directories a view holds now.
    pub(crate) fn of_view(view: &View, disk: &dyn Disk) -> Self {
        let held = view.directories.iter().map(|directory| HeldDirectory {
            path: directory.path.clone(),
            rights: directory.rights,
            which: Which::find(&directory.path, disk),
        });
        Self::Held(held.collect())
    }

    /// Notes what a cage shows.
    pub(crate) fn of_cage(cage: &StrangersCage) -> Self {
        let shown = cage.spec.seen.iter().map(|seen| (&seen.path, Some(seen.access)));
        let hidden = cage.spec.hidden.iter().map(|path| (path, None));
        let canonical = |(path, access): (&std::path::PathBuf, _)| {
            Some(Shown { path: CanonicalPath::new(path).ok()?, access })
        };
        let shown = shown.chain(hidden).filter_map(canonical).collect();
        Self::Cage { shown, absent: cage.absent.clone(), kept: cage.kept.clone().map(Arc::new) }
    }

    /// Returns something that the server sees by now and that would be hidden from it, had it been
    /// there when it was started.
    pub(crate) fn appeared(&self, disk: &dyn Disk) -> Option<&CanonicalPath> {
        match self {
            Self::Everything | Self::Held(_) => None,
            Self::Cage { absent, .. } => absent.iter().find(|path| kind(path, disk).is_some()),
        }
    }

    /// Returns what is kept from the server of what it may write.
    pub(crate) fn kept(&self) -> Option<&Arc<Kept>> {
        match self {
            Self::Everything | Self::Held(_) => None,
            Self::Cage { kept, .. } => kept.as_ref(),
        }
    }

    /// Returns whether the server sees more than what lies in `known`.
    pub(crate) fn shows_more_than(&self, known: &[CanonicalPath]) -> bool {
        let is_more = |path: &CanonicalPath| !known.iter().any(|known| path.is_within(known));
        match self {
            Self::Everything => true,
            Self::Held(_) => false,
            Self::Cage { shown, .. } => {
                shown.iter().any(|shown| shown.access.is_some() && is_more(&shown.path))
            }
        }
    }

    /// Returns whether all of `judged` lies in one directory that the server holds.
    ///
    /// What it holds is there for all of its calls; that a call may use two directories of it does not
    /// follow from its use of one.
    pub(crate) fn holds_together(&self, judged: &[Judged]) -> bool {
        match self {
            Self::Everything | Self::Cage { .. } => true,
            Self::Held(held) => {
                let held = Deepest::new(held.iter().map(|held| (&held.path, held)));
                let mut in_which = judged.iter().map(|it| held.above(&it.path));
                let first = in_which.next();
                in_which.all(|it| Some(it) == first)
            }
        }
    }

    /// Returns the first of `judged` that the server cannot be asked about.
    pub(crate) fn lacks<'a>(&self, judged: &'a [Judged], disk: &dyn Disk) -> Option<&'a Judged> {
        match self {
            Self::Everything => None,
            Self::Held(held) => {
                let held = Deepest::new(held.iter().map(|held| (&held.path, held)));
                let mut as_it_was = HashMap::new();
                judged.iter().find(|judged| !holds(&held, judged, &mut as_it_was, disk))
            }
            Self::Cage { shown, .. } => {
                // What is hidden stays hidden, if the same path is shown as well.
                let seen = shown.iter().filter(|it| it.access.is_some());
                let hidden = shown.iter().filter(|it| it.access.is_none());
                let shown = Deepest::new(seen.chain(hidden).map(|it| (&it.path, it)));
                judged.iter().find(|judged| !shows(&shown, judged))
            }
        }
    }
}

/// Returns what tells a canonical path from others; cheaper to look up than its components.
fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// Finds the deepest of many directories that a path lies in, without asking all of them.
struct Deepest<'a, T>(HashMap<&'a [u8], &'a T>);

impl<'a, T> Deepest<'a, T> {
    /// Of two at the same path the last one counts.
    fn new(all: impl Iterator<Item = (&'a CanonicalPath, &'a T)>) -> Self {
        Self(all.map(|(path, it)| (bytes(path.as_path()), it)).collect())
    }

    fn above(&self, path: &CanonicalPath) -> Option<&'a T> {
        path.as_path().ancestors().find_map(|above| self.0.get(bytes(above)).copied())
    }
}

/// Each directory is looked at once; `as_it_was` has what was seen.
fn holds<'a>(
    held: &Deepest<'a, HeldDirectory>,
    judged: &Judged,
    as_it_was: &mut HashMap<&'a Path, bool>,
    disk: &dyn Disk,
) -> bool {
    let Some(deepest) = held.above(&judged.path) else { return false };
    // SECURITY: a directory that was removed and made anew is another one, although it has the same
    // name; the server still holds the old one, and would act there.
    deepest.rights.and(judged.rights) == deepest.rights
        && deepest.which.is_some()
        && *as_it_was
            .entry(deepest.path.as_path())
            .or_insert_with(|| deepest.which == Which::find(&deepest.path, disk))
}

fn shows(shown: &Deepest<'_, Shown>, judged: &Judged) -> bool {
    match shown.above(&judged.path).and_then(|shown| shown.access) {
        Some(Access::Write) => true,
        Some(Access::Read) => judged.access() == Access::Read,
        None => false,
    }
}

impl Which {
    fn find(path: &CanonicalPath, disk: &dyn Disk) -> Option<Self> {
        let entry = disk.look(path.as_path()).ok().flatten()?;
        (entry.kind == Kind::Directory)
            .then_some(Self { device: entry.state.device, inode: entry.state.inode })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make files")]

    use ic_resolve::RealDisk;
    use ic_servers::filesystem::{Links, ViewDirectory};

    use super::*;

    fn path(text: impl Into<std::path::PathBuf>) -> CanonicalPath {
        CanonicalPath::new(text).unwrap()
    }

    fn judged(text: impl Into<std::path::PathBuf>, rights: Rights) -> Judged {
        Judged { path: path(text), rights }
    }

    #[test]
    fn a_cage_serves_what_it_shows_with_the_access_that_is_needed() {
        let shown = |text, access| Shown { path: path(text), access };
        let shown = vec![
            shown("/a", Some(Access::Write)),
            shown("/a/ro", Some(Access::Read)),
            shown("/a/ro/rw", Some(Access::Write)),
            shown("/a/secret", None),
            shown("/b", Some(Access::Read)),
            shown("/c", Some(Access::Read)),
            shown("/c", None),
        ];
        let sight = Sight::Cage { shown, absent: Vec::new(), kept: None };
        for (text, reads, writes) in [
            ("/a/x", true, true),
            ("/a", true, true),
            ("/a/ro/x", true, false),
            ("/a/ro/rw/x", true, true),
            ("/a/secret", false, false),
            ("/a/secret/x", false, false),
            ("/a/secrets", true, true),
            ("/b/x", true, false),
            ("/bb", false, false),
            ("/c/x", false, false),
            ("/", false, false),
        ] {
            for (rights, serves) in
                [(Rights::READ, reads), (Rights::WRITE, writes), (Rights::DELETE, writes)]
            {
                let judged = [judged(text, rights)];
                assert_eq!(sight.lacks(&judged, &RealDisk).is_none(), serves, "{text} {rights}");
            }
        }
        assert_eq!(Sight::Everything.lacks(&[judged("/x", Rights::ALL)], &RealDisk), None);
    }

    #[test]
    fn a_view_serves_what_lies_in_a_directory_that_is_still_the_same() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        for name in ["a", "a/ro", "b"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        let directory = |name: &str, rights| ViewDirectory { path: path(root.join(name)), rights };
        let view = View {
            directories: vec![
                directory("a", Rights::ALL),
                directory("a/ro", Rights::READ),
                directory("a/later", Rights::ALL),
                directory("b", Rights::READ),
            ],
            leave_out: Vec::new(),
            only: None,
            links: Links::Refuse,
        };
        let sight = Sight::of_view(&view, &RealDisk);
        let serves = |name: &str, rights| {
            let path = if name.is_empty() { root.clone() } else { root.join(name) };
            sight.lacks(&[judged(path, rights)], &RealDisk).is_none()
        };
        assert!(serves("a/x", Rights::ALL) && serves("a", Rights::READ));
        assert!(serves("a/ro/x", Rights::READ) && !serves("a/ro/x", Rights::WRITE));
        assert!(serves("b/x", Rights::READ) && !serves("b/x", Rights::READ.and(Rights::DELETE)));
        assert!(!serves("c/x", Rights::READ) && !serves("", Rights::READ));
        let is_together = |names: [&str; 2]| {
            sight.holds_together(&names.map(|name| judged(root.join(name), Rights::READ)))
        };
        assert!(is_together(["a/x", "a/y"]) && is_together(["b", "b/z"]));
        for apart in [["a/x", "b"], ["a/x", "a/ro/x"], ["a", "c"], ["a/ro", "a/later/x"]] {
            assert!(!is_together(apart), "{apart:?}");
        }
        // What was not there is not held, even if something above it is.
        std::fs::create_dir(root.join("a/later")).unwrap();
        assert!(!serves("a/later/x", Rights::READ));
        // Another directory of the same name; the old one is kept so that its number is not reused.
        std::fs::rename(root.join("b"), root.join("old")).unwrap();
        assert!(!serves("b/x", Rights::READ), "it is gone");
        std::fs::create_dir(root.join("b")).unwrap();
        assert!(!serves("b/x", Rights::READ), "it is another one");
        std::fs::remove_dir(root.join("b")).unwrap();
        std::os::unix::fs::symlink(root.join("old"), root.join("b")).unwrap();
        assert!(!serves("b/x", Rights::READ), "it is a link");
    }
}
