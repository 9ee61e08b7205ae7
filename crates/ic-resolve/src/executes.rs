//! What the host would run later, or be led by, once a tree was changed: the part that the disk knows.
//!
//! ```text
//! changes ─▶ for each directory above: a repository, or would it be one?   Why::Repository
//!                                      its top, and a name that CI runs?    Why::Pipeline
//!                                      its git configuration names it?      Why::Configured (configured.rs)
//!         ─▶ the user's own, or that of another repository, names it?           Why::Configured (orders.rs)
//!
//! committed.rs: links that git has and the disk may not
//! configured.rs (files, links) ─▶ settings.rs, variables.rs (which ones) ─▶ programs.rs ─▶ shell.rs (words)
//! ```
//!
//! One question for whoever changes a tree: calls of the filesystem server, trees that git is about to
//! take over, what a contained server wrote. Names that count wherever they stand are in
//! `ic_policy::host_executes`. Nothing is decided here, and nothing is written.

pub mod committed;
mod configured;
mod finds;
mod history;
mod homes;
mod hooks;
mod links;
mod meaning;
mod names;
mod new;
mod orders;
mod partners;
mod pointers;
mod programs;
pub mod script;
mod settings;
mod shell;
mod variables;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::rc::Rc;

use ic_policy::host_executes::{
    ATTRIBUTES, GIT_DIRECTORY, PIPELINE_NAMES, is_listed, is_packages, is_same,
};
use ic_policy::{Executed, Why};
use ic_types::{AbsolutePath, CanonicalPath, Role};

use crate::disk::{Disk, Kind};
use crate::path::{self, Last};
pub use committed::LinkTable;
use configured::{Named, Place};
pub use history::{Haste, History, Texts, Told, Wanted};
pub use meaning::{counts_in_any_tree, leads_to_listed, may_count_elsewhere};
pub use names::Names;
pub(crate) use new::is_of_package;
pub use new::is_python_at_top;
pub use orders::{Orders, UserGit};
use pointers::Ways;

/// What makes a directory a repository for git, or leads git to one.
const SHAPE: [(&str, u8); 4] =
    [("HEAD", HEAD), ("objects", OBJECTS), ("refs", REFS), ("commondir", COMMON)];
const HEAD: u8 = 1;
const OBJECTS: u8 = 2;
const REFS: u8 = 4;
const COMMON: u8 = 8;

/// How many names are told for one tree; with more, everything in it counts.
const NAMES_MAX: usize = 4096;

/// Asks what the host would execute of a set of changes; remembers what it saw, so it is for one set.
pub struct Executes<'a> {
    disk: &'a dyn Disk,
    home: &'a AbsolutePath,
    orders: Option<&'a Orders>,
    /// The directory in which nothing counts: the session's own sandbox.
    exempt: Option<&'a CanonicalPath>,
    /// The tree that is looked at, if it is one: the directories above it hold no packages.
    tree: Option<&'a CanonicalPath>,
    seen: RefCell<HashMap<CanonicalPath, Rc<Directory>>>,
    /// What is named elsewhere than in the repositories around a path.
    around: OnceCell<Names>,
    /// What is named in every tree of the workspace, because one of them names it.
    shared: OnceCell<Names>,
}

/// What counts in the tree of one repository, whoever names it.
#[derive(Debug, Default)]
pub struct NamedInTree {
    /// Paths and patterns.
    pub names: Vec<String>,
    /// Whether the attributes of a file can make git run a program.
    pub has_drivers: bool,
}

/// One thing that is changed.
#[derive(Clone, Debug)]
pub struct Change {
    /// In which role.
    pub role: Role,
    /// What is changed.
    pub path: CanonicalPath,
    /// Whether it is there afterwards as it was before, and only some of what is in it changes.
    pub is_kept: bool,
}

/// A directory as git looks at it.
struct Directory {
    path: CanonicalPath,
    /// Whether it has a `HEAD`, and a `commondir`.
    heads: u8,
    /// What else of a repository it has; looked at only where that matters.
    stores: Cell<Option<u8>>,
    /// What its `.git` is.
    git: Option<Kind>,
    /// What the configuration there names, if it is the top of a repository.
    named: RefCell<Option<Rc<Named>>>,
}

impl std::fmt::Debug for Executes<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Executes").field("exempt", &self.exempt).finish_non_exhaustive()
    }
}

impl<'a> Executes<'a> {
    /// Looks at `disk`; nothing beneath `exempt` counts.
    pub fn new(
        disk: &'a dyn Disk,
        home: &'a AbsolutePath,
        orders: Option<&'a Orders>,
        exempt: Option<&'a CanonicalPath>,
    ) -> Self {
        let (seen, around, shared) = Default::default();
        Self { disk, home, orders, exempt, tree: None, seen, around, shared }
    }

    /// Looks at the tree with this top: how the directories above it are called makes nothing free.
    #[must_use]
    pub fn in_tree(self, top: &'a CanonicalPath) -> Self {
        Self { tree: Some(top), ..self }
    }

    /// Returns which of the changes, all made together, the host would execute or be led by.
    pub fn of(&self, changes: &[Change]) -> Vec<Executed> {
        let made = made(changes);
        let mut executed = Vec::new();
        for change in changes.iter().filter(|it| !self.is_exempt(&it.path)) {
            let why = self.why(change, &made).or_else(|| self.why_new(change));
            let why = why.or_else(|| match change.why(self.around()) {
                // What is named in a working tree for its own sake goes with it.
                Some(_) if self.is_gone(change) => change.why(&self.gathered(Some(&change.path))),
                why => why,
            });
            if let Some(why) = why {
                let Change { role, path, .. } = change.clone();
                executed.push(Executed { role, path, why });
            }
        }
        executed
    }

    /// Returns which of the changes in the tree at `top` count, by their names or as the disk shows.
    pub fn counting(&self, top: &CanonicalPath, changes: &[Change]) -> HashSet<CanonicalPath> {
        let depth = top.components().count();
        let is_named = |it: &&Change| is_listed(it.path.components().skip(depth));
        let by_name = changes.iter().filter(is_named).map(|it| it.path.clone());
        by_name.chain(self.of(changes).into_iter().map(|it| it.path)).collect()
    }

    /// Returns whether `directory` has the shape of a repository by itself.
    pub fn is_repository(&self, directory: &CanonicalPath) -> bool {
        self.is_shape(&self.directory(directory), 0)
    }

    /// Returns whether `directory` is the top of a working tree, or a repository by itself.
    pub fn is_top(&self, directory: &CanonicalPath) -> bool {
        let seen = self.directory(directory);
        seen.git.is_some() || self.is_shape(&seen, 0)
    }

    /// Returns everything that the repository at `top` leads to or names, if one is there.
    pub fn led_to(&self, top: &CanonicalPath) -> Names {
        if !self.is_top(top) {
            return Names::default();
        }
        let named = self.named(top, &self.directory(top));
        let mut names = named.names.clone();
        let leads = named.git.iter().chain(&named.unreadable);
        leads.for_each(|path| names.add(path.clone(), Why::Repository(path.clone())));
        if named.has_drivers {
            names.add_anywhere(top.clone(), ATTRIBUTES);
        }
        names
    }

    /// Returns everything that counts in the tree of the repository at `top`, besides names alone.
    pub fn named_in(&self, top: &CanonicalPath) -> NamedInTree {
        let mut names = self.around().clone();
        let mut has_drivers = false;
        let mut is_everything = false;
        for directory in top.ancestors() {
            if self.is_top(&directory) {
                let named = self.named(&directory, &self.directory(&directory));
                names.extend(&named.names);
                names.extend(&self.exchanged(top, &named));
                let elsewhere = named.git.iter().filter(|git| !git.is_within(&directory));
                elsewhere.for_each(|git| names.add(git.clone(), Why::Repository(git.clone())));
                has_drivers |= named.has_drivers;
                is_everything |= named.unreadable.is_some();
            }
        }
        let is_near = |path: &CanonicalPath| path.is_within(top) || top.is_within(path);
        let is_near =
            |text: &String| CanonicalPath::new(text.as_str()).is_ok_and(|it| is_near(&it));
        let mut names: Vec<String> =
            names.texts().filter(|text| text.contains('*') || is_near(text)).collect();
        names.sort_unstable();
        if is_everything || NAMES_MAX < names.len() {
            names = vec![top.to_string()];
        }
        NamedInTree { names, has_drivers }
    }

    /// Returns the patterns of names that count somewhere in the trees around these paths.
    pub(crate) fn patterns_around<'p>(
        &self,
        paths: impl Iterator<Item = &'p CanonicalPath>,
    ) -> Names {
        let mut names = self.around().clone();
        let above: HashSet<CanonicalPath> = paths.flat_map(CanonicalPath::ancestors).collect();
        for directory in above.iter().filter(|it| self.is_top(it)) {
            names.extend(&self.named(directory, &self.directory(directory)).names);
        }
        names.only_patterns()
    }

    /// Returns what the user's own configuration and other repositories name.
    pub fn around(&self) -> &Names {
        self.around.get_or_init(|| self.gathered(None))
    }

    /// Returns the directories in and around the workspace of which anything may be executed, because not all
    /// that is named there can be known.
    pub fn unread(&self) -> Vec<CanonicalPath> {
        let trees = self.trees_around();
        let unread = trees.iter().filter(|(_, named)| named.unreadable.is_some());
        let unsearched = self.orders.and_then(Orders::unsearched);
        unread.map(|(top, _)| top).chain(unsearched).cloned().collect()
    }

    /// Gathers what is named, but for what repositories at or beneath a directory name.
    fn gathered(&self, without: Option<&CanonicalPath>) -> Names {
        let Some(orders) = self.orders else { return Names::default() };
        let place = self.place();
        let mut names = orders.of_home(place);
        let is_left = |top: &CanonicalPath| without.is_none_or(|without| !top.is_within(without));
        let trees = self.trees_around();
        // With many trees each name counts anywhere rather than in each of them.
        let is_many = NAMES_MAX < trees.len() * self.shared_names().len();
        if let Some(workspace) = orders.workspace().filter(|_| is_many) {
            names.extend(&self.shared_names().anywhere_in(workspace));
        }
        for (top, named) in trees.iter().filter(|(top, _)| is_left(top)) {
            names.extend(&named.names);
            // What goes as a whole gets nothing from the others any more.
            if without.is_none() {
                names.extend(&self.exchanged(top, named));
            }
            if without.is_none() && !is_many {
                names.extend(&self.shared_names().moved(&CanonicalPath::root(), top));
            }
            let elsewhere = named.git.iter().filter(|git| !git.is_within(top));
            elsewhere.for_each(|git| names.add(git.clone(), Why::Repository(git.clone())));
        }
        // Without a workspace an agent may still write where the user's configuration names something.
        let at_home = || path::follow(self.disk, self.home, Last::Follow).ok();
        let top = orders.workspace().cloned().or_else(|| at_home().map(|found| found.path));
        if let Some(top) = top {
            let mut named = Named::read(place, &top, Vec::new());
            named.note_variables(place, &top);
            names.extend(&named.names);
        }
        if let Some(all) = orders.unsearched() {
            names.add(all.clone(), Why::Unreadable(all.clone()));
        }
        names
    }

    /// Returns the trees in and around the workspace, and what each names.
    fn trees_around(&self) -> Vec<(CanonicalPath, Rc<Named>)> {
        let tops = self.orders.map(|orders| orders.tops(self.place())).unwrap_or_default();
        let tops = tops.into_iter().filter(|top| self.is_top(top));
        tops.map(|top| (top.clone(), self.named(&top, &self.directory(&top)))).collect()
    }

    fn shared_names(&self) -> &Names {
        self.shared.get_or_init(|| partners::shared(&self.trees_around()))
    }

    /// Returns whether a change takes a whole working tree away.
    fn is_gone(&self, change: &Change) -> bool {
        change.role == Role::DeletePath && !change.is_kept && self.is_top(&change.path)
    }

    fn place(&self) -> Place<'_> {
        Place { disk: self.disk, home: self.home, orders: self.orders }
    }

    fn is_exempt(&self, path: &CanonicalPath) -> bool {
        self.exempt.is_some_and(|exempt| path.is_within(exempt))
    }

    fn why(&self, change: &Change, made: &HashMap<CanonicalPath, u8>) -> Option<Why> {
        let mut found = None;
        for directory in change.path.ancestors().skip(1) {
            let seen = self.directory(&directory);
            let made = made.get(&directory).copied().unwrap_or(0);
            if self.is_shape(&seen, made) {
                return Some(Why::Repository(directory));
            }
            if found.is_none() && (seen.git.is_some() || self.is_shape(&seen, 0)) {
                found = self.why_in(&directory, &seen, change);
                self.orders.iter().for_each(|orders| orders.note_top(&directory));
            }
        }
        found
    }

    /// Says why a change in the repository whose top is `top` counts.
    fn why_in(&self, top: &CanonicalPath, seen: &Directory, change: &Change) -> Option<Why> {
        let path = &change.path;
        let depth = top.components().count();
        let below: Vec<&OsStr> = path.components().skip(depth).collect();
        if PIPELINE_NAMES.iter().any(|name| name.covers(&below)) {
            return Some(Why::Pipeline);
        }
        let named = self.named(top, seen);
        if let Some(git) = named.git.iter().find(|git| path.is_within(git)) {
            return Some(Why::Repository(git.clone()));
        }
        // In a repository within a directory of packages everything counts as in any other.
        match is_listed(below.iter().copied()) || (named.has_drivers && is_attributes(path)) {
            true => Some(Why::Listed),
            false => change.why(&named.names).or_else(|| named.why_unread()),
        }
    }

    /// Returns what the configuration of the repository at `top` names.
    fn named(&self, top: &CanonicalPath, seen: &Directory) -> Rc<Named> {
        if let Some(named) = &*seen.named.borrow() {
            return Rc::clone(named);
        }
        let ways = Ways::to(self.disk, top, seen.git);
        let mut named = Named::read(self.place(), top, ways.git);
        for path in ways.links {
            named.names.add(path, Why::Repository(top.clone()));
        }
        for entry in ways.passed {
            named.names.add_entry(entry, Why::Repository(top.clone()));
        }
        let named = Rc::new(named);
        *seen.named.borrow_mut() = Some(Rc::clone(&named));
        named
    }

    /// Returns whether git takes a directory for a repository, or is led elsewhere by it, once it has
    /// the parts that are `made` as well.
    fn is_shape(&self, directory: &Directory, made: u8) -> bool {
        let heads = directory.heads | made;
        if heads & COMMON != 0 {
            return true;
        }
        if heads & HEAD == 0 {
            return false;
        }
        let stores = directory.stores.get().unwrap_or_else(|| {
            let stores = self.parts(&directory.path, OBJECTS | REFS);
            directory.stores.set(Some(stores));
            stores
        });
        (stores | made) & (OBJECTS | REFS) == OBJECTS | REFS
    }

    /// Returns which of the `wanted` parts of a repository are in a directory.
    fn parts(&self, directory: &CanonicalPath, wanted: u8) -> u8 {
        let wanted = SHAPE.iter().filter(|(_, part)| part & wanted != 0);
        let there = wanted.filter(|(name, _)| self.kind(directory, name).is_some());
        there.fold(0, |parts, (_, part)| parts | part)
    }

    /// Returns what is at `name`; what cannot be looked at, git could not enter either.
    fn kind(&self, directory: &CanonicalPath, name: &str) -> Option<Kind> {
        let path = directory.join(OsStr::new(name)).ok()?;
        self.disk.look(path.as_path()).ok().flatten().map(|entry| entry.kind)
    }

    fn directory(&self, path: &CanonicalPath) -> Rc<Directory> {
        if let Some(seen) = self.seen.borrow().get(path) {
            return Rc::clone(seen);
        }
        let directory = Rc::new(Directory {
            path: path.clone(),
            heads: self.parts(path, HEAD | COMMON),
            stores: Cell::new(None),
            git: self.kind(path, GIT_DIRECTORY),
            named: RefCell::new(None),
        });
        self.seen.borrow_mut().insert(path.clone(), Rc::clone(&directory));
        directory
    }
}

impl Change {
    /// Says why the change counts, if it is about one of `names`.
    pub fn why(&self, names: &Names) -> Option<Why> {
        let why = match self.is_kept {
            true => names.why_within(&self.path),
            false => names.why(&self.path),
        };
        why.cloned()
    }
}

/// Returns which parts of a repository each directory gets by the changes.
fn made(changes: &[Change]) -> HashMap<CanonicalPath, u8> {
    let mut made = HashMap::new();
    for Change { path, .. } in changes.iter().filter(|it| it.role == Role::WritePath) {
        for at in path.ancestors() {
            let part = at.as_path().file_name().map_or(0, part_of_shape);
            if part != 0
                && let Some(parent) = at.parent()
            {
                *made.entry(parent).or_insert(0) |= part;
            }
        }
    }
    made
}

/// Returns whether a file says which programs of the configuration git runs on which files.
pub fn is_attributes(path: &CanonicalPath) -> bool {
    path.components().last().is_some_and(|name| is_same(name, ATTRIBUTES))
}

/// Returns whether a file, given from the top of its tree, counts by its name, or would in another
/// directory: at the top, or not beneath packages.
pub fn counts_somewhere(below: &[&OsStr]) -> bool {
    let from = below.iter().rposition(|name| is_packages(name)).map_or(0, |at| at + 1);
    let is_pipeline = (0..below.len()).any(|start| {
        let below = below.get(start..).unwrap_or_default();
        PIPELINE_NAMES.iter().any(|name| name.covers(below))
    });
    is_pipeline || is_listed(below.iter().copied().skip(from)) || is_listed(below.iter().copied())
}

/// Returns whether a name is a part of what makes a directory a repository for git.
pub fn is_part_of_repository(name: &OsStr) -> bool {
    part_of_shape(name) != 0
}

fn part_of_shape(name: &OsStr) -> u8 {
    SHAPE.iter().find(|(part, _)| name.eq_ignore_ascii_case(part)).map_or(0, |(_, bit)| *bit)
}
