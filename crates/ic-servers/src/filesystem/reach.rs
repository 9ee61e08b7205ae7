//! From the text of a path to a handle: which directory of the view it is in, and whether that will do.
//!
//! ```text
//! text ─▶ canonical path ─▶ deepest directory that contains it ─▶ left out? ─▶ rights? ─▶ Reached
//!         (links followed, or the text itself)                                    └─ opened beneath
//! ```
//!
//! Decides nothing about what is in a file, and changes nothing.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use ic_resolve::path::{Last, ends_in_directory, follow};
use ic_resolve::{Kind, PathFault, RealDisk};
use ic_types::{AbsolutePath, CanonicalPath};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, Stat};
use rustix::io::Errno;

use super::beneath;
use super::fault::Fault;
use super::view::{Links, Rights, View, ViewPath};

/// The view, with its directories opened.
#[derive(Debug)]
pub(crate) struct Reach {
    directories: Vec<Opened>,
    leave_out: Vec<CanonicalPath>,
    only: Option<Vec<ViewPath>>,
    links: Links,
}

/// A directory of the view, held on to from the start.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) path: CanonicalPath,
    pub(crate) rights: Rights,
    /// A view may name what is not there; nothing is then reached through it.
    handle: Result<OwnedFd, Errno>,
}

/// A path that lies in the view, with the rights that were asked for.
#[derive(Debug)]
pub(crate) struct Reached<'a> {
    handle: &'a OwnedFd,
    /// Where it is, from the root.
    pub(crate) path: CanonicalPath,
    /// Where it is, from the handle; empty for the directory itself.
    relative: PathBuf,
    links: Links,
}

/// An entry of a directory that is held on to: the name itself, whatever is there.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) parent: OwnedFd,
    pub(crate) name: OsString,
    pub(crate) path: CanonicalPath,
    links: Links,
}

// === impl Reach ===

impl Reach {
    /// Opens the directories of `view`.
    pub(crate) fn open(view: &View) -> Self {
        let directories = view.directories.iter().map(|directory| {
            let path = match view.links {
                Links::Refuse => directory.path.clone(),
                Links::Follow => led_to(&directory.path).unwrap_or_else(|| directory.path.clone()),
            };
            let handle = beneath::hold_root(path.as_path());
            Opened { path, rights: directory.rights, handle }
        });
        // What is left out counts under its own name and under the one that a link gives it.
        let targets = view.leave_out.iter().filter_map(led_to);
        let mut leave_out: Vec<_> = view.leave_out.iter().cloned().chain(targets).collect();
        leave_out.sort();
        leave_out.dedup();
        let (directories, only) = (directories.collect(), view.only.clone());
        Self { directories, leave_out, only, links: view.links }
    }

    /// Returns the directories, and why one cannot be used.
    pub(crate) fn directories(&self) -> impl Iterator<Item = (&Opened, Option<Errno>)> {
        self.directories.iter().map(|opened| (opened, opened.handle.as_ref().err().copied()))
    }

    /// Reaches what `text` leads to.
    pub(crate) fn reach(&self, text: &str, needed: Rights) -> Result<Reached<'_>, Fault> {
        self.at(&self.find(text, needed)?, needed)
    }

    /// Finds out where `text` leads, and whether that is in the view.
    pub(crate) fn find(&self, text: &str, needed: Rights) -> Result<CanonicalPath, Fault> {
        let path = self.resolve(text, Last::Follow)?;
        self.cover(text, &path, needed).map(|_| path)
    }

    /// Finds the entry that `text` names, to move it or remove it, or to put something there.
    pub(crate) fn find_entry(&self, text: &str, needed: Rights) -> Result<CanonicalPath, Fault> {
        let last = if ends_in_directory(text) { Last::Follow } else { Last::Keep };
        let path = self.resolve(text, last)?;
        self.cover(text, &path, needed).map(|_| path)
    }

    /// Reaches what is at `path`.
    pub(crate) fn at(&self, path: &CanonicalPath, needed: Rights) -> Result<Reached<'_>, Fault> {
        let opened = self.cover(&path.to_string(), path, needed)?;
        let handle = self.handle(opened, path)?;
        let relative = path.as_path().strip_prefix(opened.path.as_path());
        let Ok(relative) = relative.map(Path::to_owned) else {
            return Err(Fault::Outside { text: path.to_string() });
        };
        Ok(Reached { handle, path: path.clone(), relative, links: self.links })
    }

    /// Reaches the entry at `path`, whatever is there.
    pub(crate) fn place(&self, path: &CanonicalPath, needed: Rights) -> Result<Place, Fault> {
        let reached = self.at(path, needed)?;
        let path = path.clone();
        if self.leave_out.iter().any(|out| out.is_within(&path)) {
            return Err(Fault::AboveLeftOut { path });
        }
        if self.directories.iter().any(|opened| opened.path.is_within(&path)) {
            return Err(Fault::HoldsView { path });
        }
        reached.into_place()
    }

    /// Returns whether a call that was judged about `one` may use `other` too, if both are in the view.
    ///
    /// A view for one call is what was judged, and one for many is what any of them may use: there, only
    /// what lies in the same directory of it.
    pub(crate) fn is_together(&self, one: &CanonicalPath, other: &CanonicalPath) -> bool {
        let in_which = |path: &CanonicalPath| {
            let containing = self.directories.iter().filter(|it| path.is_within(&it.path));
            containing.max_by_key(|it| it.path.components().count()).map(|it| &it.path)
        };
        self.only.is_some() || in_which(one) == in_which(other)
    }

    /// Returns what a walk of `root` does not enter.
    pub(crate) fn left_out_beneath(&self, root: &CanonicalPath) -> Vec<CanonicalPath> {
        let unread = self.directories.iter().filter(|opened| !opened.rights.read);
        let all = self.leave_out.iter().chain(unread.map(|opened| &opened.path));
        all.filter(|path| path.is_within(root)).cloned().collect()
    }

    fn resolve(&self, text: &str, last: Last) -> Result<CanonicalPath, Fault> {
        let unusable = |reason: String| Fault::Path { text: text.to_owned(), reason };
        match self.links {
            Links::Refuse => CanonicalPath::new(text).map_err(|fault| unusable(fault.to_string())),
            Links::Follow => {
                let path = self.absolute(text).map_err(unusable)?;
                let found = follow(&RealDisk, &path, last);
                found.map(|found| found.path).map_err(|fault| unusable(reason(&fault)))
            }
        }
    }

    /// Puts a relative path after the first directory, since there is no other place that is meant.
    fn absolute(&self, text: &str) -> Result<AbsolutePath, String> {
        let path = match (text, self.directories.first()) {
            ("", _) => return Err("it is empty".to_owned()),
            (text, _) if text == "~" || text.starts_with("~/") => {
                return Err("`~` is not expanded here: write the path out".to_owned());
            }
            (text, _) if text.starts_with('/') => PathBuf::from(text),
            (text, _) if text.starts_with("file:") || text.contains("://") => {
                return Err("it is a URL where a path was expected".to_owned());
            }
            (text, Some(first)) => first.path.as_path().join(text),
            (_, None) => return Err("it is relative, and there is no directory".to_owned()),
        };
        AbsolutePath::new(path).map_err(|fault| fault.to_string())
    }

    /// Finds the directory that decides about `path`, and asks it.
    fn cover(&self, text: &str, path: &CanonicalPath, needed: Rights) -> Result<&Opened, Fault> {
        let containing = self.directories.iter().filter(|opened| path.is_within(&opened.path));
        let Some(opened) = containing.max_by_key(|opened| opened.path.components().count()) else {
            return Err(Fault::Outside { text: text.to_owned() });
        };
        // A directory that was named although it lies beneath something left out is not left out.
        let counts = |out: &&CanonicalPath| opened.path == **out || !opened.path.is_within(out);
        if self.leave_out.iter().filter(counts).any(|out| path.is_within(out)) {
            return Err(Fault::LeftOut { path: path.clone() });
        }
        match opened.rights.lacks(needed).and(self.listed(text, path)?.lacks(needed)) {
            Rights::NONE => Ok(opened),
            lacking => Err(Fault::NoRight { path: path.clone(), lacking }),
        }
    }

    fn handle<'a>(&self, opened: &'a Opened, path: &CanonicalPath) -> Result<&'a OwnedFd, Fault> {
        let path = path.clone();
        match &opened.handle {
            Ok(handle) => Ok(handle),
            // Made for one call, and what that is about is not there, or is a link by now.
            Err(Errno::NOENT | Errno::NOTDIR) if self.only.is_some() => {
                Err(Fault::Missing { path })
            }
            Err(Errno::LOOP) if self.only.is_some() => {
                Err(Fault::Changed { path, links: self.links })
            }
            Err(error) => {
                let (directory, error) = (opened.path.clone(), std::io::Error::from(*error));
                Err(Fault::Unavailable { directory, reason: error.to_string() })
            }
        }
    }

    /// Returns the rights that the list of all that is reached gives to `path`.
    fn listed(&self, text: &str, path: &CanonicalPath) -> Result<Rights, Fault> {
        let Some(only) = &self.only else { return Ok(Rights::ALL) };
        let holding = only.iter().filter(|it| path.is_within(&it.path)).map(|it| it.rights);
        // SECURITY: without this a directory that is held for one entry opens all the others.
        holding.reduce(Rights::and).ok_or_else(|| Fault::Outside { text: text.to_owned() })
    }
}

/// Returns where the links at `path` lead, if that can be told.
fn led_to(path: &CanonicalPath) -> Option<CanonicalPath> {
    let path = AbsolutePath::new(path.as_path()).ok()?;
    follow(&RealDisk, &path, Last::Follow).ok().map(|found| found.path)
}

/// Says why a path cannot be resolved, without naming where outside of the view it led.
fn reason(fault: &PathFault) -> String {
    match fault {
        PathFault::Disk { source, .. } => format!("the system does not let us look ({source})"),
        PathFault::Empty
        | PathFault::Control
        | PathFault::Dash
        | PathFault::OtherHome
        | PathFault::Url
        | PathFault::NoBase
        | PathFault::Unusable(_)
        | PathFault::TooManyLinks
        | PathFault::TooManyEntries
        | PathFault::ProcSelf
        | PathFault::NotUtf8 => fault.to_string(),
    }
}

// === impl Reached ===

impl Reached<'_> {
    /// Opens what is there.
    pub(crate) fn open(&self, doing: &'static str, flags: OFlags) -> Result<OwnedFd, Fault> {
        beneath::open(self.handle, &self.relative, flags, Mode::empty())
            .map_err(|error| self.fault(doing, error))
    }

    /// Looks at what is there.
    pub(crate) fn look(&self) -> Result<Stat, Fault> {
        let stat = beneath::look(self.handle, &self.relative)
            .map_err(|error| self.fault("look at", error))?;
        match beneath::kind(&stat) {
            // A handle on a link is a link that was not followed.
            Kind::Link => Err(self.fault("look at", Errno::LOOP)),
            Kind::File | Kind::Directory | Kind::Other => Ok(stat),
        }
    }

    /// Holds on to the directory that is there, to walk it.
    pub(crate) fn hold_directory(&self) -> Result<OwnedFd, Fault> {
        let is = beneath::kind(&self.look()?);
        if is != Kind::Directory {
            let path = self.path.clone();
            return Err(Fault::WrongKind { path, is, wanted: "a directory is needed" });
        }
        beneath::hold_directory(self.handle, &self.relative)
            .map_err(|error| self.fault("open", error))
    }

    /// Holds on to the directory in which this is an entry.
    pub(crate) fn into_place(self) -> Result<Place, Fault> {
        let (Some(parent), Some(name)) = (self.relative.parent(), self.relative.file_name()) else {
            // The directory of the view has no name within itself.
            let (path, is) = (self.path, Kind::Directory);
            return Err(Fault::WrongKind { path, is, wanted: "a file is needed" });
        };
        let name = name.to_owned();
        let parent = beneath::hold_directory(self.handle, parent).map_err(|error| match error {
            Errno::NOENT => Fault::NoParent { path: self.path.clone() },
            error => self.fault("reach", error),
        })?;
        Ok(Place { parent, name, path: self.path, links: self.links })
    }

    /// Returns the directory of the view, and the names that lead from it to here.
    pub(crate) fn steps(&self) -> (&OwnedFd, impl Iterator<Item = &OsStr>) {
        (self.handle, self.relative.iter())
    }

    /// Says why something could not be done here.
    pub(crate) fn fault(&self, doing: &'static str, error: Errno) -> Fault {
        Fault::system(doing, &self.path, self.links, error)
    }
}

// === impl Place ===

impl Place {
    /// Looks at the entry; `None` if there is none.
    pub(crate) fn look(&self) -> Result<Option<Stat>, Fault> {
        beneath::look_at(&self.parent, &self.name).map_err(|error| self.fault("look at", error))
    }

    /// Says why something could not be done here.
    pub(crate) fn fault(&self, doing: &'static str, error: Errno) -> Fault {
        Fault::system(doing, &self.path, self.links, error)
    }

    /// Says that a link is where none was when the path was judged.
    pub(crate) fn is_link_now(&self) -> Fault {
        Fault::Changed { path: self.path.clone(), links: self.links }
    }
}
