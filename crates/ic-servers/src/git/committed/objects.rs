//! Every commit and tree that a repository has, and the links in them.
//!
//! ```text
//! all objects ─┬▶ commits ─▶ the trees at the top ─┐
//!              └▶ trees, each read once ───────────┴▶ links, by their paths
//! ```
//!
//! Nothing is followed from a name. What a branch, a log, a stash or an unfinished rebase leads to is among all
//! objects, so no way to it can be forgotten.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;

use ic_resolve::executes::LinkTable;

use super::Link;
use super::asked::{Asked, Trouble};
use super::id::Id;

/// How many commits, tags and trees are remembered.
const OBJECTS_MAX: usize = 2_000_000;
/// How many trees in trees are looked at together.
const INNER_MAX: usize = 32_000_000;
/// How deep trees lie in each other.
const DEPTH_MAX: usize = 512;
/// How many links there may be.
const LINKS_MAX: usize = 200_000;
/// The longest path to which a link leads; the system makes no link with a longer one.
const TARGET_BYTES_MAX: usize = 4096;
/// How many objects are asked for at first, and how many bytes of them afterwards.
const FIRST_N: usize = 1024;
const ANSWER_BYTES: usize = 32 << 20;

const LISTED: [&str; 5] = [
    "cat-file",
    "--batch-all-objects",
    "--unordered",
    "--buffer",
    "--batch-check=%(objecttype) %(objectname)",
];
const TYPED: [&str; 3] = ["cat-file", "--buffer", "--batch-check=%(objecttype) %(objectname)"];
const SIZED: [&str; 3] = ["cat-file", "--buffer", "--batch-check=%(objectsize) %(objectname)"];
/// What git keeps of a merge that is under way; it is a tree, and no commit has it.
const MERGED: &str = "AUTO_MERGE";

/// What was read, by the numbers of the objects.
#[derive(Debug, Default)]
pub(super) struct Objects {
    /// How often everything was read anew.
    pub(super) era: u64,
    /// Trees at the top of which a commit is, each once; new ones come last.
    pub(super) roots: Vec<Id>,
    rooted: HashSet<Id>,
    commits: HashSet<Id>,
    /// What is known of each tree; nothing if there is no link in it, at any depth.
    trees: HashMap<Id, Option<Tree>>,
    /// Trees that others hold and that are not there, as in a partial copy.
    absent: HashSet<Id>,
    links: BTreeSet<Link>,
    targets: HashMap<Id, Option<Vec<u8>>>,
}

/// What is in one tree: links, and trees with links in them.
#[derive(Debug, Default)]
struct Tree {
    links: Vec<Link>,
    trees: Vec<Link>,
}

/// What was not known yet.
#[derive(Default)]
struct Fresh {
    /// Commits and tags.
    commits: Vec<Id>,
    trees: Vec<Id>,
    n_known: usize,
}

impl Objects {
    /// Reads what is there and not known.
    pub(super) fn read(&mut self, asked: &Asked<'_>, parts: &[&str]) -> Result<(), Trouble> {
        let listed = asked.ask(&LISTED, b"")?;
        let mut fresh = self.fresh(&listed);
        let is_less = fresh.n_known < self.commits.len() + self.trees.len();
        if is_less || fresh.trees.iter().any(|id| self.absent.contains(id)) {
            *self = Self { era: self.era + 1, ..Self::default() };
            fresh = self.fresh(&listed);
        }
        drop(listed);
        if OBJECTS_MAX < fresh.n_known + fresh.commits.len() + fresh.trees.len() {
            return Err(Trouble::TooMuch);
        }
        self.read_trees(asked, &fresh.trees)?;
        let n_before = self.roots.len();
        self.read_roots(asked, &fresh.commits, parts)?;
        self.commits.extend(fresh.commits);
        self.note_links(n_before)
    }

    /// Sorts a list of `type number` out.
    fn fresh(&self, listed: &[u8]) -> Fresh {
        let mut fresh = Fresh::default();
        for line in listed.split(|byte| *byte == b'\n') {
            let (is_tree, id) = match line.split_at_checked(4) {
                Some((b"tree", rest)) => (true, rest.get(1..)),
                Some((b"comm", rest)) => (false, rest.get(3..)),
                Some((b"tag ", rest)) => (false, Some(rest)),
                _ => continue,
            };
            let Some(id) = id.and_then(Id::from_hex) else { continue };
            match (is_tree, self.trees.contains_key(&id) || self.commits.contains(&id)) {
                (_, true) => fresh.n_known += 1,
                (true, false) => fresh.trees.push(id),
                (false, false) => fresh.commits.push(id),
            }
        }
        fresh
    }

    fn read_trees(&mut self, asked: &Asked<'_>, fresh: &[Id]) -> Result<(), Trouble> {
        let places: HashMap<Id, usize> = fresh.iter().copied().zip(0..).collect();
        let mut has_links = vec![false; fresh.len()];
        // Each tree in a tree, as places in `fresh`, the inner one first.
        let mut inner: Vec<(u32, u32)> = Vec::new();
        let mut absent = HashSet::new();
        for_each(asked, fresh, |id, bytes| {
            let at = *places.get(&id)?;
            for entry in Entries::of(bytes, id) {
                let (mode, _, id) = entry?;
                match (mode, places.get(&id), self.trees.get(&id)) {
                    (Is::Link, ..) | (Is::Tree, _, Some(Some(_))) => {
                        *has_links.get_mut(at)? = true;
                    }
                    (Is::Tree, Some(within), _) => {
                        inner.push((u32::try_from(*within).ok()?, u32::try_from(at).ok()?));
                    }
                    (Is::Tree, None, None) => drop(absent.insert(id)),
                    (Is::Tree, None, Some(None)) | (Is::File, ..) => {}
                }
            }
            (inner.len() <= INNER_MAX).then_some(())
        })?;
        spread(&inner, &mut has_links).ok_or(Trouble::TooMuch)?;
        let with: Vec<Id> =
            std::iter::zip(fresh, &has_links).filter_map(|(id, has)| has.then_some(*id)).collect();
        let has_links = |id: &Id| match places.get(id) {
            Some(at) => has_links.get(*at) == Some(&true),
            None => matches!(self.trees.get(id), Some(Some(_))),
        };
        let mut read: Vec<(Id, Option<Tree>)> = fresh.iter().map(|id| (*id, None)).collect();
        for_each(asked, &with, |id, bytes| {
            let mut tree = Tree::default();
            for entry in Entries::of(bytes, id) {
                let (mode, name, id) = entry?;
                match mode {
                    Is::Link => tree.links.push((name.to_vec(), id)),
                    Is::Tree if has_links(&id) => tree.trees.push((name.to_vec(), id)),
                    Is::Tree | Is::File => {}
                }
            }
            read.push((id, Some(tree)));
            Some(())
        })?;
        self.trees.extend(read);
        self.absent.extend(absent);
        Ok(())
    }

    /// Finds the trees of commits, those that refs name themselves, and what merges under way have.
    fn read_roots(
        &mut self,
        asked: &Asked<'_>,
        commits: &[Id],
        parts: &[&str],
    ) -> Result<(), Trouble> {
        let mut lines = format!("{MERGED}^{{tree}}\n");
        for id in commits {
            let _ = writeln!(lines, "{id}^{{tree}}");
        }
        // SECURITY: git reads line by line.
        for part in parts.iter().filter(|it| !it.contains('\n')) {
            let _ = writeln!(lines, "worktrees/{part}/{MERGED}^{{tree}}");
        }
        let said = asked.ask(&TYPED, lines.as_bytes())?;
        for id in said.split(|byte| *byte == b'\n').filter_map(|it| it.strip_prefix(b"tree ")) {
            self.root(Id::from_hex(id));
        }
        let named = asked.ask(&["for-each-ref", "--format=%(objectname)"], b"")?;
        for id in named.split(|byte| *byte == b'\n').filter_map(Id::from_hex) {
            self.root(Some(id).filter(|it| self.trees.contains_key(it)));
        }
        Ok(())
    }

    fn root(&mut self, id: Option<Id>) {
        if let Some(id) = id.filter(|it| self.rooted.insert(*it)) {
            self.roots.push(id);
        }
    }

    /// Notes the links beneath the roots from this one on.
    fn note_links(&mut self, from: usize) -> Result<(), Trouble> {
        let roots = self.roots.get(from..).unwrap_or_default();
        let mut seen: HashSet<(Vec<u8>, Id)> = HashSet::new();
        let mut rest: Vec<(Vec<u8>, Id)> = roots.iter().map(|id| (Vec::new(), *id)).collect();
        while let Some((at, id)) = rest.pop() {
            let Some(Some(tree)) = self.trees.get(&id) else { continue };
            let beneath = |name: &[u8]| match at.is_empty() {
                true => name.to_vec(),
                false => [&at, name].join(&b'/'),
            };
            self.links.extend(tree.links.iter().map(|(name, id)| (beneath(name), *id)));
            for (name, id) in &tree.trees {
                let inner = (beneath(name), *id);
                if seen.insert(inner.clone()) {
                    rest.push(inner);
                }
            }
            if LINKS_MAX < self.links.len() || OBJECTS_MAX < seen.len() {
                return Err(Trouble::TooMuch);
            }
        }
        Ok(())
    }

    /// Returns each link of a commit, and these, with where it leads.
    pub(super) fn led(
        &mut self,
        asked: &Asked<'_>,
        more: &BTreeSet<Link>,
    ) -> Result<LinkTable, Trouble> {
        let all = || self.links.iter().chain(more);
        let mut wanted: BTreeSet<Id> = all().map(|(_, id)| *id).collect();
        wanted.retain(|id| !self.targets.contains_key(id));
        if LINKS_MAX < wanted.len() {
            return Err(Trouble::TooMuch);
        }
        let wanted: Vec<Id> = wanted.into_iter().collect();
        let Lengths { short, .. } = Lengths::of(asked, &wanted, TARGET_BYTES_MAX)?;
        let mut read: Vec<(Id, Option<Vec<u8>>)> = wanted.iter().map(|id| (*id, None)).collect();
        for_each(asked, &short, |id, bytes| {
            read.push((id, Some(bytes.to_vec())));
            Some(())
        })?;
        self.targets.extend(read);
        let target = |id: &Id| self.targets.get(id).cloned().flatten();
        let led = all().filter_map(|(path, id)| Some((path.clone(), target(id)?)));
        Ok(LinkTable::new(led))
    }
}

/// Files by their lengths.
pub(super) struct Lengths {
    pub(super) short: Vec<Id>,
    pub(super) has_longer: bool,
}

impl Lengths {
    pub(super) fn of(asked: &Asked<'_>, ids: &[Id], bytes_max: usize) -> Result<Self, Trouble> {
        let mut sized = Self { short: Vec::new(), has_longer: false };
        if ids.is_empty() {
            return Ok(sized);
        }
        let said = asked.ask(&SIZED, lines(ids).as_bytes())?;
        for line in String::from_utf8_lossy(&said).lines() {
            let Some((bytes, id)) = line.split_once(' ') else { continue };
            // `number missing`
            let Ok(bytes) = bytes.parse::<usize>() else { continue };
            match bytes <= bytes_max {
                true => sized.short.extend(Id::from_hex(id.as_bytes())),
                false => sized.has_longer = true,
            }
        }
        Ok(sized)
    }
}

/// Marks all that holds something marked; nothing if they hold each other without end.
fn spread(inner: &[(u32, u32)], marked: &mut [bool]) -> Option<()> {
    for _ in 0..DEPTH_MAX {
        let mut is_done = true;
        for (within, at) in inner {
            let (within, at) = (usize::try_from(*within).ok()?, usize::try_from(*at).ok()?);
            if *marked.get(within)? && !*marked.get(at)? {
                *marked.get_mut(at)? = true;
                is_done = false;
            }
        }
        if is_done {
            return Some(());
        }
    }
    None
}

/// What an entry of a tree is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Is {
    Link,
    Tree,
    /// A file, or a commit of another repository.
    File,
}

/// The entries of a tree: `mode name NUL number`, as often as it is there.
pub(super) struct Entries<'a> {
    rest: &'a [u8],
    id_bytes: usize,
}

impl<'a> Entries<'a> {
    /// Reads a tree, whose number is as long as those in it.
    pub(super) fn of(bytes: &'a [u8], id: Id) -> Self {
        Self { rest: bytes, id_bytes: id.n_bytes() }
    }

    fn entry(&mut self) -> Option<(Is, &'a [u8], Id)> {
        let end = self.rest.iter().position(|byte| *byte == 0)?;
        let (about, after) = self.rest.split_at_checked(end)?;
        let space = about.iter().position(|byte| *byte == b' ')?;
        let (mode, name) = (about.get(..space)?, about.get(space + 1..)?);
        let (id, after) = after.get(1..)?.split_at_checked(self.id_bytes)?;
        self.rest = after;
        let mode = match mode {
            b"120000" => Is::Link,
            b"40000" | b"040000" => Is::Tree,
            _ => Is::File,
        };
        Some((mode, name, Id::from_bytes(id)?))
    }
}

impl<'a> Iterator for Entries<'a> {
    /// Nothing for what is no entry.
    type Item = Option<(Is, &'a [u8], Id)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let entry = self.entry();
        if entry.is_none() {
            self.rest = &[];
        }
        Some(entry)
    }
}

pub(super) fn lines(ids: &[Id]) -> String {
    let mut lines = String::new();
    for id in ids {
        let _ = writeln!(lines, "{id}");
    }
    lines
}

/// Hands over the objects with these numbers, as far as they are there.
pub(super) fn for_each(
    asked: &Asked<'_>,
    ids: &[Id],
    mut take: impl FnMut(Id, &[u8]) -> Option<()>,
) -> Result<(), Trouble> {
    let (mut rest, mut n) = (ids, FIRST_N);
    while !rest.is_empty() {
        let (now, later) = rest.split_at(n.min(rest.len()));
        let said = asked.ask(&["cat-file", "--buffer", "--batch"], lines(now).as_bytes())?;
        parse(&said, &mut take).ok_or(Trouble::TooMuch)?;
        // As many as fit, if they are like these.
        let bytes = said.len().checked_div(now.len()).unwrap_or(0).max(64);
        n = (ANSWER_BYTES / bytes).max(1);
        rest = later;
    }
    Ok(())
}

/// Reads `number type size`, a line break, the bytes and another one, as often as it is there.
fn parse(said: &[u8], take: &mut dyn FnMut(Id, &[u8]) -> Option<()>) -> Option<()> {
    let mut rest = said;
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let header = str::from_utf8(rest.get(..end)?).ok()?;
        rest = rest.get(end + 1..)?;
        let mut parts = header.split(' ');
        // `number missing`
        let (Some(id), Some(_), Some(bytes)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let bytes: usize = bytes.parse().ok()?;
        take(Id::from_hex(id.as_bytes())?, rest.get(..bytes)?)?;
        rest = rest.get(bytes + 1..)?;
    }
    Some(())
}
