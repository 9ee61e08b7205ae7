//! Trees of git's, each read once, and what links among them lead to.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;

use super::Link;
use super::asked::{Asked, Trouble};

/// How many trees are remembered.
pub(super) const TREES_MAX: usize = 400_000;
/// How deep trees lie in each other.
const DEPTH_MAX: usize = 512;
/// How many links there may be.
const LINKS_MAX: usize = 200_000;
/// The longest path to which a link leads; the system makes no link with a longer one.
const TARGET_BYTES_MAX: usize = 4096;

/// What was read, by the numbers of the objects.
#[derive(Debug, Default)]
pub(super) struct Trees {
    trees: HashMap<String, Tree>,
    targets: HashMap<String, Option<Vec<u8>>>,
}

/// What is in one tree, but for files.
#[derive(Debug, Default)]
struct Tree {
    links: Vec<Link>,
    trees: Vec<Link>,
}

impl Trees {
    /// Returns how many trees are known.
    pub(super) fn len(&self) -> usize {
        self.trees.len()
    }

    /// Reads the trees with these numbers and all in them, as far as they are not known.
    pub(super) fn read(
        &mut self,
        asked: &Asked<'_>,
        roots: &BTreeSet<String>,
        trees_max: usize,
    ) -> Result<(), Trouble> {
        // SECURITY: a tree is known only once all in it is, so none is kept if it is too much.
        let mut fresh: HashMap<String, Tree> = HashMap::new();
        let mut wanted: BTreeSet<String> = roots.clone();
        for _ in 0..DEPTH_MAX {
            wanted.retain(|id| !self.trees.contains_key(id) && !fresh.contains_key(id));
            if wanted.is_empty() {
                self.trees.extend(fresh);
                return Ok(());
            }
            if trees_max < self.trees.len() + fresh.len() + wanted.len() {
                return Err(Trouble::TooMuch);
            }
            let mut inner = BTreeSet::new();
            for (id, bytes) in objects(asked, &wanted)? {
                let tree = Tree::parse(&bytes, id.len() / 2).ok_or(Trouble::TooMuch)?;
                inner.extend(tree.trees.iter().map(|(_, id)| id.clone()));
                fresh.insert(id, tree);
            }
            // One that is missing, as in a partial copy, has nothing here.
            for id in wanted {
                fresh.entry(id).or_default();
            }
            wanted = inner;
        }
        Err(Trouble::TooMuch)
    }

    /// Returns the links beneath these trees.
    pub(super) fn links(&self, roots: &BTreeSet<String>) -> BTreeSet<Link> {
        let with_links = self.with_links();
        let mut links = BTreeSet::new();
        let mut seen: HashSet<(Vec<u8>, &str)> = HashSet::new();
        let mut rest: Vec<(Vec<u8>, &str)> = roots.iter().map(|id| (Vec::new(), &**id)).collect();
        while let Some((at, id)) = rest.pop() {
            let Some(tree) = self.trees.get(id).filter(|_| LINKS_MAX >= links.len()) else {
                continue;
            };
            let beneath = |name: &[u8]| match at.is_empty() {
                true => name.to_vec(),
                false => [&at, name].join(&b'/'),
            };
            links.extend(tree.links.iter().map(|(name, id)| (beneath(name), id.clone())));
            for (name, id) in tree.trees.iter().filter(|(_, id)| with_links.contains(&**id)) {
                let inner = (beneath(name), &**id);
                if seen.insert(inner.clone()) {
                    rest.push(inner);
                }
            }
        }
        links
    }

    /// Returns the trees in which there are links, at any depth.
    fn with_links(&self) -> HashSet<&str> {
        let mut above: HashMap<&str, Vec<&str>> = HashMap::new();
        for (id, tree) in &self.trees {
            tree.trees.iter().for_each(|(_, inner)| above.entry(inner).or_default().push(id));
        }
        let direct = self.trees.iter().filter(|(_, tree)| !tree.links.is_empty());
        let mut rest: Vec<&str> = direct.map(|(id, _)| id.as_str()).collect();
        let mut found = HashSet::new();
        while let Some(id) = rest.pop() {
            if found.insert(id) {
                rest.extend(above.get(id).into_iter().flatten());
            }
        }
        found
    }

    /// Reads where links lead, as far as that is not known.
    pub(super) fn read_targets(
        &mut self,
        asked: &Asked<'_>,
        links: &BTreeSet<Link>,
    ) -> Result<(), Trouble> {
        if LINKS_MAX < links.len() {
            return Err(Trouble::TooMuch);
        }
        let mut wanted: BTreeSet<String> = links.iter().map(|(_, id)| id.clone()).collect();
        wanted.retain(|id| !self.targets.contains_key(id));
        if wanted.is_empty() {
            return Ok(());
        }
        let words = ["cat-file", "--batch-check=%(objectsize) %(objectname)"];
        let said = asked.text(&words, lines(&wanted).as_bytes())?;
        let short = said.lines().filter_map(|line| {
            let (bytes, id) = line.split_once(' ')?;
            (bytes.parse::<usize>().ok()? <= TARGET_BYTES_MAX).then(|| id.to_owned())
        });
        let read = objects(asked, &short.collect())?;
        self.targets.extend(wanted.into_iter().map(|id| (id, None)));
        self.targets.extend(read.into_iter().map(|(id, bytes)| (id, Some(bytes))));
        Ok(())
    }

    /// Returns where a link leads whose object has this number.
    pub(super) fn target(&self, id: &str) -> Option<&[u8]> {
        self.targets.get(id)?.as_deref()
    }
}

impl Tree {
    /// Reads `mode name NUL number`, as often as it is there.
    fn parse(bytes: &[u8], id_bytes: usize) -> Option<Self> {
        let mut tree = Self::default();
        let mut rest = bytes;
        while !rest.is_empty() {
            let end = rest.iter().position(|byte| *byte == 0)?;
            let (about, after) = rest.split_at_checked(end)?;
            let space = about.iter().position(|byte| *byte == b' ')?;
            let (mode, name) = (about.get(..space)?, about.get(space + 1..)?);
            let (id, after) = after.get(1..)?.split_at_checked(id_bytes)?;
            match mode {
                b"120000" => tree.links.push((name.to_vec(), hex(id))),
                b"40000" | b"040000" => tree.trees.push((name.to_vec(), hex(id))),
                _ => {}
            }
            rest = after;
        }
        Some(tree)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn lines(ids: &BTreeSet<String>) -> String {
    ids.iter().flat_map(|id| [id.as_str(), "\n"]).collect()
}

/// Returns the objects with these numbers, as far as they are there.
fn objects(asked: &Asked<'_>, ids: &BTreeSet<String>) -> Result<Vec<(String, Vec<u8>)>, Trouble> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let said = asked.ask(&["cat-file", "--batch"], lines(ids).as_bytes())?;
    parse(&said).ok_or(Trouble::TooMuch)
}

/// Reads `number type size`, a line break, the bytes and another one, as often as it is there.
fn parse(said: &[u8]) -> Option<Vec<(String, Vec<u8>)>> {
    let (mut found, mut rest) = (Vec::new(), said);
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
        found.push((id.to_owned(), rest.get(..bytes)?.to_vec()));
        rest = rest.get(bytes + 1..)?;
    }
    Some(found)
}
