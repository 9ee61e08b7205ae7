//! What one of our servers sees when it is started for one call: the judged paths, and no more.
//!
//! ```text
//!                     the view holds                              the cage shows, to be read
//! read   a directory  that directory                              that directory
//!        a file       its parent                                  that file
//! write, delete       the nearest directory above that is there   nothing, or what is edited
//! ```
//!
//! To make, replace or remove an entry its directory has to be written, with all that is in it; so the
//! server writes nothing, and we carry out what it asks for beneath the directories of the same view.
//! Our git server changes repositories by itself: what it is shown is in `one_shot/git.rs`. Nothing is
//! opened or started here.

mod git;

use std::collections::BTreeSet;

use ic_confine::{Access, CageSpec, Network, Rung};
use ic_egress::Allowed;
use ic_judge::judged::is_text;
use ic_policy::Bounds;
use ic_resolve::{Disk, Kind};
use ic_servers::filesystem::{Links, Rights, View, ViewDirectory, ViewPath, is_reading};
use ic_types::CanonicalPath;

use crate::cage::{self, is_showable, kind, protecting};
use crate::launch::Lent;
use crate::reach::Origin;
pub use ic_judge::Judged;

/// The most paths that a call can be about; they are given to the server on its command line.
const PATHS_MAX: usize = 256;

/// What a server that is started for one call sees.
#[derive(Clone, Debug)]
pub struct OneShot {
    /// Its view, and the one in which its deed is carried out.
    pub(crate) view: View,
    /// What its cage shows, to be read.
    read: Vec<CanonicalPath>,
    /// What its cage shows, to be written.
    written: Vec<CanonicalPath>,
    /// Whether it needs a place for files of a moment.
    has_scratch: bool,
    /// What it reaches of other machines, if anything.
    pub(crate) reach: Option<Allowed>,
    /// Where its one page is, if it is our fetch server.
    pub(crate) origin: Option<Origin>,
    /// Whether programs in it talk to each other by Unix sockets, as ssh does to its agent.
    unix_sockets: bool,
}

/// A call that cannot be served by itself.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum OneShotFault {
    /// There is a link where none was, or the place is gone.
    #[error("`{0}` changed since it was judged, so nothing was done; try again")]
    Changed(CanonicalPath),
    /// Something on the way is no directory.
    #[error("a part of the path `{0}` is not a directory")]
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
    /// Works out what is needed to serve a call of `tool` about `judged`.
    pub fn plan(
        tool: &str,
        judged: &[Judged],
        bounds: &Bounds,
        disk: &dyn Disk,
    ) -> Result<Self, OneShotFault> {
        if PATHS_MAX < judged.len() {
            return Err(OneShotFault::TooMany);
        }
        let (mut held, mut read): (Vec<CanonicalPath>, Vec<CanonicalPath>) =
            (Vec::new(), Vec::new());
        for it in judged {
            let is_read = it.rights.read && is_reading(tool);
            let (directory, part) = match it.access() {
                Access::Read => for_reading(&it.path, disk)?,
                Access::Write if is_read => {
                    let (_, part) = for_reading(&it.path, disk)?;
                    (for_changing(&it.path, bounds, disk)?, part)
                }
                Access::Write => (for_changing(&it.path, bounds, disk)?, None),
            };
            if !held.contains(&directory) {
                held.push(directory);
            }
            read.extend(part.filter(|_| is_read));
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
        let view = view_of_call(directories, only.collect(), &bounds.protected);
        Ok(Self { read: deduped(&read), ..Self::showing_nothing(view) })
    }

    /// Leaves these places out as well.
    #[must_use]
    pub fn leaving_out(mut self, places: Vec<CanonicalPath>) -> Self {
        self.view.leave_out.extend(places.into_iter().filter(is_text));
        self
    }

    /// Works out what our fetch server needs: nothing of this machine, and one other.
    pub fn plan_fetch(reach: Allowed, origin: Origin) -> Self {
        let view = view_of_call(Vec::new(), Vec::new(), &[]);
        Self { reach: Some(reach), origin: Some(origin), ..Self::showing_nothing(view) }
    }

    fn showing_nothing(view: View) -> Self {
        Self {
            view,
            read: Vec::new(),
            written: Vec::new(),
            has_scratch: false,
            reach: None,
            origin: None,
            unix_sockets: false,
        }
    }

    /// Returns its cage.
    pub fn cage(&self, lent: &Lent, bounds: &Bounds, rung: Rung, disk: &dyn Disk) -> CageSpec {
        let mut cage = cage::empty(lent);
        // SECURITY: what the filesystem server reads is all there is; what it changes, it asks us for.
        if !self.has_scratch {
            cage.scratch = None;
        }
        let read = self.read.iter().map(|path| cage::shown(path, Access::Read));
        let written = self.written.iter().map(|path| cage::shown(path, Access::Write));
        cage.seen = read.chain(written).collect();
        if rung.can_hide() {
            let left_out = self.view.leave_out.iter().chain(&bounds.protected);
            let left_out: BTreeSet<CanonicalPath> = left_out.cloned().collect();
            let left_out: Vec<CanonicalPath> = left_out.into_iter().collect();
            cage.hidden = cage::hidden(&cage.seen, &left_out, disk);
        }
        if let Some(allowed) = &self.reach {
            let (ports, addresses) = (allowed.ports().to_vec(), allowed.addresses().to_vec());
            cage.network = Network::Doors { ports, addresses };
        }
        if self.origin.is_some() {
            let certificates = cage::certificates(lent, bounds, disk);
            cage.seen.extend(certificates.map(|path| cage::shown(&path, Access::Read)));
        }
        cage.unix_sockets = self.unix_sockets;
        cage
    }
}

/// Returns the view of one call: `directories`, and in them what may be done with each path of `only`.
fn view_of_call(
    directories: Vec<ViewDirectory>,
    only: Vec<ViewPath>,
    leave_out: &[CanonicalPath],
) -> View {
    View {
        directories,
        leave_out: leave_out.iter().filter(|path| is_text(path)).cloned().collect(),
        only: Some(only),
        // SECURITY: what was judged had no links in it; one that is there now was put there since.
        links: Links::Refuse,
    }
}

/// Returns the directory that is held to read `path`, and what is shown for it.
fn for_reading(
    path: &CanonicalPath,
    disk: &dyn Disk,
) -> Result<(CanonicalPath, Option<CanonicalPath>), OneShotFault> {
    if !is_showable(path) {
        return Err(OneShotFault::Root(path.clone()));
    }
    let parent = path.parent().unwrap_or_else(CanonicalPath::root);
    match kind(path, disk) {
        Some(Kind::Directory) => Ok((path.clone(), Some(path.clone()))),
        Some(Kind::File | Kind::Other) => Ok((parent, Some(path.clone()))),
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

/// Leaves out what is shown already by something above it.
fn deduped(read: &[CanonicalPath]) -> Vec<CanonicalPath> {
    let covers = |above: &CanonicalPath, it: &CanonicalPath| it.is_within(above) && above != it;
    let mut left: Vec<CanonicalPath> = Vec::new();
    for it in read {
        if !left.contains(it) && !read.iter().any(|above| covers(above, it)) {
            left.push(it.clone());
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    use ic_policy::{Sandbox, SandboxKind};
    use ic_testkit::MemoryDisk;

    const MOVED: Rights = Rights::READ.and(Rights::DELETE);

    pub(super) fn path(text: &str) -> CanonicalPath {
        CanonicalPath::new(text).unwrap()
    }

    pub(super) fn bounds() -> Bounds {
        Bounds {
            sandbox: Some(Sandbox { path: path("/h/.ic/s/box"), kind: SandboxKind::Session }),
            protected: vec![path("/h/.ic"), path("/h/.ssh")],
            home_executes: Vec::new(),
            servers: HashMap::new(),
        }
    }

    pub(super) fn disk() -> MemoryDisk {
        MemoryDisk::new()
            .dir("/h/docs/sub")
            .file("/h/docs/a.txt", "a")
            .file("/h/docs/b.txt", "b")
            .dir("/h/other")
            .link("/h/docs/link", "/h/other")
            .dir("/h/.ic/s")
            .dir("/h/.ssh")
    }

    pub(super) fn judged(paths: &[(&str, Rights)]) -> Vec<Judged> {
        paths.iter().map(|(it, rights)| Judged { path: path(it), rights: *rights }).collect()
    }

    fn plan(tool: &str, paths: &[(&str, Rights)]) -> Result<OneShot, String> {
        OneShot::plan(tool, &judged(paths), &bounds(), &disk()).map_err(|fault| fault.to_string())
    }

    /// Plans a call, and checks which directories are held and what is shown, to be read.
    #[track_caller]
    fn check(tool: &str, judged: &[(&str, Rights)], held: &[&str], shown: &[&str]) {
        let OneShot { view, read, .. } = plan(tool, judged).unwrap();
        let only: Vec<(String, Rights)> =
            view.only.unwrap().iter().map(|it| (it.path.to_string(), it.rights)).collect();
        let exactly: Vec<(String, Rights)> =
            judged.iter().map(|(it, rights)| ((*it).to_owned(), *rights)).collect();
        assert_eq!(only, exactly, "what was judged, and nothing else");
        let directories: Vec<String> =
            view.directories.iter().map(|it| it.path.to_string()).collect();
        assert_eq!(directories, held, "{judged:?}");
        let read: Vec<String> = read.iter().map(ToString::to_string).collect();
        assert_eq!(read, shown, "{judged:?}");
    }

    #[track_caller]
    fn check_refused(judged: &[(&str, Rights)], part: &str) {
        let fault = plan("read_file", judged).expect_err("nobody serves it");
        assert!(fault.contains(part), "{judged:?}: {fault}");
    }

    #[test]
    fn reading_shows_the_path_itself() {
        let check = |judged, held, shown| check("read_file", judged, held, shown);
        check(&[("/h/docs/a.txt", Rights::READ)], &["/h/docs"], &["/h/docs/a.txt"]);
        check(&[("/h/docs", Rights::READ)], &["/h/docs"], &["/h/docs"]);
        check(&[("/h/docs/gone", Rights::READ)], &["/h/docs"], &[]);
        check(&[("/gone/deep/er", Rights::READ)], &["/gone/deep"], &[]);
        check(
            &[("/h/docs/a.txt", Rights::READ), ("/h/docs/b.txt", Rights::READ)],
            &["/h/docs"],
            &["/h/docs/a.txt", "/h/docs/b.txt"],
        );
        // What is shown by something above it is shown once.
        check(
            &[("/h/docs", Rights::READ), ("/h/docs/sub", Rights::READ)],
            &["/h/docs", "/h/docs/sub"],
            &["/h/docs"],
        );
    }

    #[test]
    fn changing_holds_the_nearest_directory_above_and_shows_nothing() {
        for rights in [Rights::WRITE, Rights::DELETE, Rights::ALL] {
            for it in ["/h/docs/a.txt", "/h/docs/new", "/h/docs/sub", "/h/docs/link"] {
                for tool in ["write_file", "create_directory", "delete_file"] {
                    check(tool, &[(it, rights)], &["/h/docs"], &[]);
                }
            }
        }
        check("create_directory", &[("/h/docs/new/deep/er", Rights::WRITE)], &["/h/docs"], &[]);
        check(
            "move_file",
            &[("/h/docs/a.txt", MOVED), ("/h/other/a.txt", Rights::WRITE)],
            &["/h/docs", "/h/other"],
            &[],
        );
        let moved_link =
            [("/h/other", Rights::READ), ("/h/docs/link", MOVED), ("/h/l", Rights::WRITE)];
        check("move_file", &moved_link, &["/h/other", "/h/docs", "/h"], &[]);
    }

    #[test]
    fn what_is_edited_is_shown_and_nothing_beside_it() {
        let edited = Rights::READ.and(Rights::WRITE);
        check("edit_file", &[("/h/docs/a.txt", edited)], &["/h/docs"], &["/h/docs/a.txt"]);
        check("edit_file", &[("/h/docs/gone", edited)], &["/h/docs"], &[]);
        check("edit_file", &[("/h/docs/a.txt", Rights::WRITE)], &["/h/docs"], &[]);
    }

    #[test]
    fn a_link_is_moved_as_what_it_is() {
        let (link, target) = ("/h/docs/link", "/h/other");
        let read_of = |judged: &[(&str, Rights)]| {
            let only = plan("move_file", judged).unwrap().view.only.unwrap();
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
        check_refused(&[("/h/docs/a.txt/x", Rights::WRITE)], "is not a directory");
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
        assert!(matches!(
            OneShot::plan("read_file", &many, &bounds(), &disk()),
            Err(OneShotFault::TooMany)
        ));
    }
}
