//! Walking all that is beneath a directory: in order, through no link, past what is left out.
//!
//! Each directory is opened from the one at the root of the walk, so that depth costs no descriptors.
//! What is found is told to a [`Visit`]; what was not looked at is told in [`Notes`].

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use ic_resolve::Kind;
use ic_types::CanonicalPath;
use ic_types::path::PATH_BYTES_MAX;
use rustix::fd::OwnedFd;

use super::beneath::{self, Whole};
use super::fault::Fault;
use super::patterns::Patterns;
use super::reach::{Reach, Reached};
use super::show;
use crate::tools::Cancel;

/// The most entries that one walk looks at.
pub(super) const ENTRIES_MAX: usize = 100_000;
/// The deepest directory that is entered.
const DEPTH_MAX: usize = 256;
/// The most text that a walk returns.
pub(super) const OUTPUT_BYTES_MAX: usize = 8 << 20;
/// The most paths that a note names.
const NAMED_MAX: usize = 10;

/// Whoever is told what a walk finds.
pub(super) trait Visit {
    /// An entry was found; if it is a directory, what is in it follows, and then [`Visit::leave`].
    fn entry(&mut self, found: &Found<'_>) -> ControlFlow<OutputFull>;

    /// All that is in a directory was told.
    fn leave(&mut self);
}

/// There is no room for more.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct OutputFull;

/// What was found.
#[derive(Debug)]
pub(super) struct Found<'a> {
    pub(super) name: &'a OsStr,
    /// Where it is, from the root of the walk.
    pub(super) relative: &'a Path,
    pub(super) kind: Kind,
}

/// What a walk did not look at.
#[derive(Debug)]
pub(super) struct Notes {
    left_out: Vec<CanonicalPath>,
    n_unreadable: usize,
    is_too_deep: bool,
    end: Option<End>,
}

/// Why a walk ended early.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum End {
    Entries,
    Output,
}

/// Walks what is beneath `root`.
pub(super) fn walk(
    reach: &Reach,
    root: &Reached<'_>,
    exclude: &Patterns,
    cancel: &Cancel,
    visit: &mut dyn Visit,
) -> Result<Notes, Fault> {
    let handle = root.hold_directory()?;
    // A directory that cannot be listed is a failure here, and a note further down.
    let listed = beneath::list(&handle, Path::new(""), ENTRIES_MAX);
    let (_, entries, whole) = listed.map_err(|error| root.fault("list", error))?;
    let mut walk = Walk {
        root: &root.path,
        handle,
        left_out: reach.left_out_beneath(&root.path).into_iter().collect(),
        exclude,
        cancel,
        n_left: ENTRIES_MAX,
        notes: Notes { left_out: Vec::new(), n_unreadable: 0, is_too_deep: false, end: None },
    };
    let listed = Listed { entries, whole };
    match walk.tell(listed, &PathBuf::new(), 1, visit) {
        ControlFlow::Break(Stop::Cancelled) => return Err(Fault::Cancelled),
        ControlFlow::Break(Stop::End(end)) => walk.notes.end = Some(end),
        ControlFlow::Continue(()) => {}
    }
    Ok(walk.notes)
}

struct Walk<'a> {
    root: &'a CanonicalPath,
    handle: OwnedFd,
    left_out: HashSet<CanonicalPath>,
    exclude: &'a Patterns,
    cancel: &'a Cancel,
    /// How many more entries are looked at.
    n_left: usize,
    notes: Notes,
}

struct Listed {
    entries: Vec<beneath::Entry>,
    whole: Whole,
}

enum Stop {
    Cancelled,
    End(End),
}

impl Walk<'_> {
    fn tell(
        &mut self,
        listed: Listed,
        directory: &Path,
        depth: usize,
        visit: &mut dyn Visit,
    ) -> ControlFlow<Stop> {
        for beneath::Entry { name, kind } in listed.entries {
            if self.cancel.is_cancelled() {
                return ControlFlow::Break(Stop::Cancelled);
            }
            if self.n_left == 0 {
                return ControlFlow::Break(Stop::End(End::Entries));
            }
            self.n_left -= 1;
            let relative = directory.join(&name);
            if self.exclude.matches(&name, &relative) || self.is_left_out(&relative) {
                continue;
            }
            let found = Found { name: &name, relative: &relative, kind };
            if let ControlFlow::Break(OutputFull) = visit.entry(&found) {
                return ControlFlow::Break(Stop::End(End::Output));
            }
            if kind == Kind::Directory {
                let told = match self.list(&relative, depth) {
                    Some(listed) => self.tell(listed, &relative, depth + 1, visit),
                    None => ControlFlow::Continue(()),
                };
                visit.leave();
                told?;
            }
        }
        match listed.whole {
            Whole::Complete => ControlFlow::Continue(()),
            Whole::Cut => ControlFlow::Break(Stop::End(End::Entries)),
        }
    }

    fn is_left_out(&mut self, relative: &Path) -> bool {
        // Most walks have nothing to leave out, and then no path has to be made.
        if self.left_out.is_empty() {
            return false;
        }
        let path = CanonicalPath::new(self.root.as_path().join(relative));
        match path.ok().filter(|path| self.left_out.contains(path)) {
            Some(path) => {
                self.notes.left_out.push(path);
                true
            }
            None => false,
        }
    }

    /// Lists a directory of the walk; one that is too deep, or that we may not read, is noted.
    fn list(&mut self, relative: &Path, depth: usize) -> Option<Listed> {
        let length = self.root.as_path().as_os_str().len() + 1 + relative.as_os_str().len();
        if DEPTH_MAX <= depth || PATH_BYTES_MAX <= length {
            self.notes.is_too_deep = true;
            return None;
        }
        let listed = beneath::list(&self.handle, relative, self.n_left.saturating_add(1));
        // Also one that vanished, or was swapped for a link, since it was listed.
        self.notes.n_unreadable += usize::from(listed.is_err());
        listed.ok().map(|(_, entries, whole)| Listed { entries, whole })
    }
}

/// Prints a line for each kind of thing that was not looked at.
impl fmt::Display for Notes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = Vec::new();
        if !self.left_out.is_empty() {
            let shown = self.left_out.iter().take(NAMED_MAX);
            let shown: Vec<String> = shown.map(|path| show::path(path.as_path())).collect();
            let more = match self.left_out.len().saturating_sub(NAMED_MAX) {
                0 => String::new(),
                n_more => format!(" and {n_more} more"),
            };
            let shown = shown.join(", ");
            lines.push(format!(
                "Left out because it is protected or closed by the policy: {shown}{more}"
            ));
        }
        if 0 < self.n_unreadable {
            lines.push(format!(
                "Not entered because it cannot be read: {}",
                ic_types::counted(self.n_unreadable, "directory", "directories")
            ));
        }
        if self.is_too_deep {
            lines.push(
                "Not entered because it is too deep: ask for a directory further down".to_owned(),
            );
        }
        match self.end {
            None => {}
            Some(End::Entries) => lines.push(format!(
                "Cut after {ENTRIES_MAX} entries: ask for a directory further down, or exclude some"
            )),
            Some(End::Output) => lines.push(format!(
                "Cut after {OUTPUT_BYTES_MAX} bytes: ask for a directory further down, or exclude some"
            )),
        }
        f.write_str(&lines.join("\n"))
    }
}
