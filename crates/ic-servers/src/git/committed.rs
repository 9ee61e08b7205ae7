//! The links that a repository has in its commits, its index and what was put aside.
//!
//! ```text
//! nothing moved (some `stat`)  ─▶ what is known
//! else: refs, heads, stash     ─▶ trees, each read once (`trees.rs`)  ─▶ links  ─▶ where they lead
//! ```
//!
//! Git is asked, with Landlock around it where the system has that: it can write nothing, and run nothing but
//! itself. A repository that git refuses has no links, since the user's git brings none of it either.

mod asked;
mod moved;
mod trees;

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use ic_resolve::executes::{CommittedLinks, LinkTable};
use ic_resolve::{Disk as _, Entry, RealDisk};
use ic_types::CanonicalPath;

use self::asked::{Asked, Trouble};
use self::moved::Seen;
use self::trees::{TREES_MAX, Trees};
use super::run::Program;
use super::system::Gits;

/// How many branches there may be; with more, anything may be linked.
const BRANCHES_MAX: usize = 20_000;
/// How many tags are looked at, with the newest first, and how many trees of theirs.
///
/// SECURITY: an agent can make branches and tags. Those cannot keep us from the user's branches.
const TAGS_MAX: usize = 256;
const TAGGED_TREES_MAX: usize = 100_000;
/// How many entries that were put aside are.
const ASIDE_MAX: usize = 256;
/// The longest list of what was put aside.
const LOG_BYTES_MAX: usize = 4 << 20;
/// Commits that git has by other names than those of branches.
const HEADS: [&str; 7] = [
    "HEAD",
    "ORIG_HEAD",
    "FETCH_HEAD",
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
];
/// How many repositories are remembered.
const KNOWN_MAX: usize = 1024;

/// Knows the links of repositories, as long as nothing moves in them.
#[derive(Debug)]
pub struct Committed {
    program: Option<Program>,
    known: Mutex<HashMap<CanonicalPath, Known>>,
}

/// What is known of one repository.
#[derive(Debug, Default)]
struct Known {
    seen: Seen,
    table: Arc<LinkTable>,
    trees: Trees,
    /// The trees of tags that were too many.
    left_out: BTreeSet<String>,
    /// The links of each index, by the state of its file.
    indexes: HashMap<CanonicalPath, (Entry, Vec<Link>)>,
}

/// A path from the top of the tree, and the number of the object that says where it leads.
type Link = (Vec<u8>, String);

impl Committed {
    /// Asks the first git of a `PATH`, but none that lies in one of the directories `untrusted`.
    pub fn new(path: &str, untrusted: &[&Path]) -> Self {
        let program = Gits::find(path, untrusted).asked.into_iter().next().map(Program::at);
        Self { program, known: Mutex::default() }
    }
}

impl CommittedLinks for Committed {
    fn of(&self, git: &CanonicalPath) -> Option<Arc<LinkTable>> {
        // Where a linked tree keeps its own part there are no objects: its repository has all of it.
        let Some(program) = self.program.as_ref().filter(|_| is_there(git, "objects")) else {
            return Some(Arc::default());
        };
        let mut all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if KNOWN_MAX <= all.len() && !all.contains_key(git) {
            all.clear();
        }
        let known = all.entry(git.clone()).or_default();
        if known.seen.is_same() {
            return Some(Arc::clone(&known.table));
        }
        // What moves while it is read has moved since.
        let seen = Seen::now(git);
        match known.read(&Asked { program, git }) {
            Ok(()) => {
                known.seen = seen;
                Some(Arc::clone(&known.table))
            }
            Err(Trouble::Refused) => {
                *known = Known { seen, ..Known::default() };
                Some(Arc::default())
            }
            Err(Trouble::TooMuch) => {
                *known = Known::default();
                None
            }
        }
    }
}

fn is_there(directory: &CanonicalPath, name: &str) -> bool {
    let path = directory.join(name.as_ref());
    path.is_ok_and(|path| RealDisk.look(path.as_path()).is_ok_and(|it| it.is_some()))
}

impl Known {
    fn read(&mut self, asked: &Asked<'_>) -> Result<(), Trouble> {
        let parts = moved::worktrees(asked.git);
        // What is known of commits that are gone is not kept for ever.
        if TREES_MAX - TREES_MAX / 4 < self.trees.len() {
            self.trees = Trees::default();
        }
        let Tips { branches, tags } = tips(asked, &parts)?;
        let (mut roots, tagged) = (roots(asked, &branches)?, roots(asked, &tags)?);
        self.trees.read(asked, &roots, TREES_MAX)?;
        if self.left_out != tagged {
            let trees_max = self.trees.len().saturating_add(TAGGED_TREES_MAX).min(TREES_MAX);
            match self.trees.read(asked, &tagged, trees_max) {
                Ok(()) => roots.extend(tagged),
                Err(Trouble::TooMuch) => self.left_out = tagged,
                Err(trouble) => return Err(trouble),
            }
        }
        let mut links: BTreeSet<Link> = self.trees.links(&roots);
        for at in std::iter::once(asked.git).chain(&parts) {
            links.extend(self.of_index(asked, at)?);
        }
        self.trees.read_targets(asked, &links)?;
        let led = links
            .into_iter()
            .filter_map(|(path, id)| self.trees.target(&id).map(|target| (path, target.to_vec())));
        self.table = Arc::new(LinkTable::new(led));
        Ok(())
    }

    /// Returns the links of the index that is kept in a directory of git's.
    fn of_index(&mut self, asked: &Asked<'_>, at: &CanonicalPath) -> Result<Vec<Link>, Trouble> {
        let file = at.join("index".as_ref()).ok();
        let entry = file.as_ref().and_then(|it| RealDisk.look(it.as_path()).ok().flatten());
        let Some(state) = entry else { return Ok(Vec::new()) };
        if let Some((_, links)) = self.indexes.get(at).filter(|(then, _)| *then == state) {
            return Ok(links.clone());
        }
        let said = asked.index(at)?;
        let mut links = Vec::new();
        // `mode id stage<TAB>path`
        for entry in said.split(|byte| *byte == 0) {
            let Some(rest) = entry.strip_prefix(b"120000 ") else { continue };
            let mut parts = rest.splitn(2, |byte| *byte == b'\t');
            let (about, path) = (parts.next().unwrap_or_default(), parts.next());
            let id = about.split(|byte| *byte == b' ').next().unwrap_or_default();
            let id = String::from_utf8_lossy(id).into_owned();
            links.extend(path.map(|path| (path.to_vec(), id)));
        }
        self.indexes.insert(at.clone(), (state, links.clone()));
        Ok(links)
    }
}

/// Commits that the user's git may bring back by a name.
#[derive(Debug, Default)]
struct Tips {
    /// Branches, heads, and what was put aside.
    branches: BTreeSet<String>,
    tags: BTreeSet<String>,
}

fn tips(asked: &Asked<'_>, parts: &[CanonicalPath]) -> Result<Tips, Trouble> {
    let words = ["for-each-ref", "--sort=-creatordate", "--format=%(objectname) %(refname)"];
    let refs = asked.text(&words, b"")?;
    let refs = refs.lines().filter_map(|line| line.split_once(' '));
    let (tags, branches): (Vec<_>, Vec<_>) =
        refs.partition(|(_, name)| name.starts_with("refs/tags/"));
    if BRANCHES_MAX < branches.len() {
        return Err(Trouble::TooMuch);
    }
    let ids = |refs: Vec<(&str, &str)>, n_max: usize| {
        refs.into_iter().take(n_max).map(|(id, _)| id.to_owned()).collect()
    };
    let mut tips = Tips { branches: ids(branches, BRANCHES_MAX), tags: ids(tags, TAGS_MAX) };
    tips.branches.extend(HEADS.map(ToOwned::to_owned));
    for part in parts {
        let name = part.as_path().file_name().and_then(|it| it.to_str());
        // SECURITY: git reads line by line.
        if let Some(name) = name.filter(|it| !it.contains('\n')) {
            tips.branches.extend(HEADS.map(|head| format!("worktrees/{name}/{head}")));
        }
    }
    // An entry has commits of its own for what was staged and for what was not tracked.
    for id in aside(asked.git) {
        tips.branches.extend([id.clone(), format!("{id}^2"), format!("{id}^3")]);
    }
    Ok(tips)
}

/// Returns the trees of commits.
fn roots(asked: &Asked<'_>, tips: &BTreeSet<String>) -> Result<BTreeSet<String>, Trouble> {
    if tips.is_empty() {
        return Ok(BTreeSet::new());
    }
    let lines: String = tips.iter().flat_map(|tip| [tip.as_str(), "^{tree}\n"]).collect();
    let words = ["cat-file", "--batch-check=%(objecttype) %(objectname)"];
    let said = asked.text(&words, lines.as_bytes())?;
    Ok(said.lines().filter_map(|it| it.strip_prefix("tree ")).map(ToOwned::to_owned).collect())
}

/// Returns the commits that were put aside, the newest first.
fn aside(git: &CanonicalPath) -> Vec<String> {
    let log = git.as_path().join("logs/refs/stash");
    let text = RealDisk.read_file(&log, LOG_BYTES_MAX).ok().flatten().unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let ids = text.lines().rev().filter_map(|line| line.split(' ').nth(1));
    let is_id = |it: &&str| it.chars().all(|c| c.is_ascii_hexdigit());
    ids.filter(is_id).take(ASIDE_MAX).map(ToOwned::to_owned).collect()
}

#[cfg(test)]
mod tests;
