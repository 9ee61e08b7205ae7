//! Links that git has and the disk may not: on another branch, in the index, put aside, in another tree.
//!
//! ```text
//! dev: .exrc ─▶ conf/vimrc      here: conf/vimrc is any file
//! the user's `git checkout dev` brings the link, and the editor obeys what was written here
//! ```
//!
//! So a link whose path counts makes what it leads to count, as one on the disk does. Which branch has
//! which link does not matter: a link on the way may come from any of them, or not be there.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use ic_policy::host_executes::{LISTED_NAMES, ListedName, PIPELINE_NAMES, is_listed, is_same};
use ic_policy::{Reach, Why};
use ic_types::CanonicalPath;

use super::configured::Place;
use super::finds::Led;
use super::names::Names;
use super::orders::Listing;

/// How many ways one link may lead, if links on the way differ between branches.
const WAYS_MAX: usize = 64;
/// How many links one way may lead through.
const LINKS_MAX: usize = 40;
/// How often what was found is looked up again: what is named behind a link may hold links.
const ROUNDS_MAX: usize = 8;

/// Links, by their paths from the top of the tree, and where each leads.
#[derive(Debug, Default)]
pub struct LinkTable {
    links: BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>,
    /// Those whose names count by themselves.
    listed: Vec<(Vec<u8>, Vec<Behind>)>,
}

/// What counts of what a link leads to.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Behind {
    /// The names beneath it.
    rest: Vec<&'static str>,
    /// Whether only the entry counts, because what counts beneath it has names of its own.
    is_entry: bool,
}

impl LinkTable {
    /// Makes a table of paths and targets.
    pub fn new(links: impl IntoIterator<Item = (Vec<u8>, Vec<u8>)>) -> Self {
        let mut table = Self::default();
        for (path, target) in links {
            table.links.entry(path).or_default().insert(target);
        }
        let listed = table.links.keys().map(|path| (path.clone(), behind(path)));
        table.listed = listed.filter(|(_, behind)| !behind.is_empty()).collect();
        table
    }

    /// Returns each path and where it leads, as texts.
    pub fn texts(&self) -> impl Iterator<Item = String> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let all = self.links.iter().flat_map(|(path, to)| to.iter().map(move |it| (path, it)));
        all.map(move |(path, target)| format!("{} -> {}", text(path), text(target)))
    }

    /// Returns how many paths are links.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }
}

/// Returns what counts behind a link by the names that tools look for.
fn behind(path: &[u8]) -> Vec<Behind> {
    let components: Vec<&OsStr> = parts(path).map(OsStr::from_bytes).collect();
    let mut found = Vec::new();
    let mut note = |below: &[&OsStr], name: &ListedName| {
        let n = below.len();
        if name.covers(below) {
            let is_entry = name.reach == Reach::Itself && is_beginning(name.components);
            found.push(Behind { rest: Vec::new(), is_entry });
        } else if n < name.components.len() && is_prefix(below, name.components) {
            let rest = name.components.get(n..).unwrap_or_default().to_vec();
            found.push(Behind { rest, is_entry: false });
        }
    };
    for name in &PIPELINE_NAMES {
        note(&components, name);
    }
    for start in 0..components.len() {
        let below = components.get(start..).unwrap_or_default();
        // What is beneath packages counts less; asked as the whole path that it would be.
        for name in LISTED_NAMES.iter().filter(|name| {
            let whole = components.iter().copied().take(start);
            is_listed(whole.chain(name.components.iter().map(OsStr::new)))
        }) {
            note(below, name);
        }
    }
    if found.is_empty() && is_listed(components.iter().copied()) {
        found.push(Behind { rest: Vec::new(), is_entry: false });
    }
    found.dedup();
    found
}

/// Returns whether some longer name begins with this one.
fn is_beginning(name: &[&str]) -> bool {
    let all = LISTED_NAMES.iter().chain(&PIPELINE_NAMES);
    all.map(|it| it.components).any(|it| name.len() < it.len() && it.starts_with(name))
}

fn is_prefix(below: &[&OsStr], name: &[&str]) -> bool {
    below.iter().zip(name).all(|(a, b)| is_same(a, b))
}

fn parts(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/').filter(|it| !it.is_empty() && *it != b".")
}

/// Returns the links with listed names that lie directly at the top of a tree, tracked or not.
pub(super) fn at_top(place: Place<'_>, top: &CanonicalPath) -> LinkTable {
    let listing = Listing::of(place, top);
    let links = listing.links.iter().filter_map(|link| {
        let name = link.as_path().file_name()?.as_bytes().to_vec();
        if behind(&name).is_empty() {
            return None;
        }
        let target = place.disk.read_link(link.as_path()).ok()?;
        Some((name, target.into_os_string().into_vec()))
    });
    LinkTable::new(links)
}

/// Notes what counts in the tree at `top` because a link of its repository leads there.
pub(super) fn note(
    place: Place<'_>,
    (top, table): (&CanonicalPath, &LinkTable),
    names: &mut Names,
) {
    let noting = Noting { place, top, table };
    for (path, behind) in &table.listed {
        for it in behind {
            noting.listed(path, it, names);
        }
    }
    let mut done = HashSet::new();
    for _ in 0..ROUNDS_MAX {
        let found = noting.named(names, &mut done);
        if found.is_empty() {
            break;
        }
        names.extend(&found);
    }
}

/// Finds where links of one table lead in one tree.
struct Noting<'a> {
    place: Place<'a>,
    top: &'a CanonicalPath,
    table: &'a LinkTable,
}

/// A way that a link may lead.
#[derive(Clone)]
struct Way {
    at: CanonicalPath,
    /// What is still to be gone, the next name last.
    todo: Vec<OsString>,
    n_links: usize,
    /// Whether nothing but the directories of the link itself was gone through yet.
    is_start: bool,
}

impl Noting<'_> {
    fn listed(&self, path: &[u8], behind: &Behind, names: &mut Names) {
        let Some(link) = self.place_of(path) else { return };
        let why = || Why::Committed(link.clone());
        for end in self.ends(path, &behind.rest, names) {
            match (self.top.is_within(&end), behind.is_entry) {
                // A file is no directory that holds the tree; a directory of settings may be.
                (true, _) if !is_directory(path) => {}
                (true, _) => names.add(self.top.clone(), why()),
                (false, true) => names.add_entry(end, why()),
                (false, false) => names.add(end, why()),
            }
        }
    }

    /// Returns what counts behind links that are named, lie above a name or beneath one.
    fn named(&self, names: &Names, done: &mut HashSet<Vec<u8>>) -> Names {
        let mut found = Names::default();
        for path in self.table.links.keys() {
            let Some(link) = self.place_of(path) else { continue };
            let is_above = names.is_at_or_above(&link);
            let is_beneath = names.why_within(&link).is_some();
            if !(is_above || is_beneath) || !done.insert(path.clone()) {
                continue;
            }
            let why = Why::Committed(link.clone());
            for end in self.ends(path, &[], &mut found) {
                found.extend(&names.moved(&link, &end).with_why(&why));
                if is_beneath && !self.top.is_within(&end) {
                    found.add(end, why.clone());
                }
            }
        }
        found
    }

    fn place_of(&self, path: &[u8]) -> Option<CanonicalPath> {
        parts(path).try_fold(self.top.clone(), |at, it| at.join(OsStr::from_bytes(it)).ok())
    }

    /// Returns where a link may lead, and notes what it leads through.
    fn ends(&self, path: &[u8], rest: &[&str], names: &mut Names) -> Vec<CanonicalPath> {
        let Some(link) = self.place_of(path) else { return Vec::new() };
        let rest: Vec<OsString> = rest.iter().rev().map(OsString::from).collect();
        let mut ways = self.ways_from(&link, path, (rest, 0));
        let (mut ends, mut n_left) = (Vec::new(), WAYS_MAX);
        while let (Some(way), 1..) = (ways.pop(), n_left) {
            n_left -= 1;
            let Some(end) = self.go(way, (&link, &mut ways), names) else { continue };
            let Led { paths, passed } = Led::by(self.place.disk, &end);
            for it in passed {
                names.add_entry(it, Why::Committed(link.clone()));
            }
            ends.extend(paths);
        }
        ends.sort_unstable();
        ends.dedup();
        ends
    }

    /// Goes one way to its end; where a link of the table is on it, that is another way to go.
    fn go(
        &self,
        mut way: Way,
        (link, ways): (&CanonicalPath, &mut Vec<Way>),
        names: &mut Names,
    ) -> Option<CanonicalPath> {
        while let Some(name) = way.todo.pop() {
            if name == ".." {
                // In place of a directory that is left again, a link leads elsewhere.
                if !way.is_start && !self.top.is_within(&way.at) {
                    names.add_entry(way.at.clone(), Why::Committed(link.clone()));
                }
                way.at = way.at.parent().unwrap_or_else(CanonicalPath::root);
                continue;
            }
            way.is_start = false;
            way.at = way.at.join(&name).ok()?;
            let below = way.at.as_path().strip_prefix(self.top.as_path()).ok();
            let below = below.map(|it| it.as_os_str().as_bytes());
            if let Some(below) = below.filter(|it| self.table.links.contains_key(*it))
                && way.n_links < LINKS_MAX
                && ways.len() < WAYS_MAX
            {
                names.add(way.at.clone(), Why::Committed(link.clone()));
                ways.extend(self.ways_from(&way.at, below, (way.todo.clone(), way.n_links + 1)));
            }
        }
        Some(way.at)
    }

    /// Returns the ways that a link at `at` may lead, and then what is still to be gone.
    fn ways_from(
        &self,
        at: &CanonicalPath,
        path: &[u8],
        (rest, n_links): (Vec<OsString>, usize),
    ) -> Vec<Way> {
        let targets = self.table.links.get(path).into_iter().flatten();
        let way = |target: &Vec<u8>| {
            let is_absolute = target.first() == Some(&b'/');
            let from = if is_absolute { None } else { at.parent() };
            let steps: Vec<OsString> =
                parts(target).map(|it| OsString::from_vec(it.into())).collect();
            let mut todo = rest.clone();
            todo.extend(steps.into_iter().rev());
            Way { at: from.unwrap_or_else(CanonicalPath::root), todo, n_links, is_start: true }
        };
        targets.map(way).collect()
    }
}

/// Returns whether a link stands for a directory of which everything counts.
fn is_directory(path: &[u8]) -> bool {
    let components: Vec<&OsStr> = parts(path).map(OsStr::from_bytes).collect();
    let inner = components.iter().copied().chain([OsStr::new("any")]);
    is_listed(inner)
}
