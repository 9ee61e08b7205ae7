//! What a repository has in its commits and its indexes, and the disk may not: links, and texts of files.
//!
//! ```text
//! nothing moved (some `stat`)  ─▶ what is known
//! else: what is not known yet  ─▶ objects (`objects.rs`)  ─▶ links, and where they lead
//!                                                         └▶ texts at a path (`texts.rs`), if one is asked for
//! ```
//!
//! Git is asked, with Landlock around it where the system has that: it can write nothing, and run nothing but
//! itself. A repository that git refuses has nothing, since the user's git brings none of it either. One of
//! which git cannot read a part may have anything, but for an index: out of that nothing comes.

mod asked;
mod id;
mod moved;
mod objects;
mod texts;

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use ic_resolve::executes::{History, LinkTable, Texts, Wanted};
use ic_resolve::{Disk as _, Entry, Kind, RealDisk};
use ic_types::CanonicalPath;

use self::asked::{Asked, Trouble};
use self::id::Id;
use self::moved::Seen;
use self::objects::{Is, Objects};
use self::texts::At;
use super::run::Program;
use super::system::Gits;

/// How many repositories are remembered.
const KNOWN_MAX: usize = 1024;
/// How many paths of one are.
const PATHS_MAX: usize = 256;
/// How many mails are looked at that git is about to apply, and how long one may be.
const PATCHES_MAX: usize = 4096;
const PATCH_BYTES_MAX: usize = 4 << 20;

/// Knows what repositories have, as long as nothing moves in them.
#[derive(Debug)]
pub struct Committed {
    program: Option<Program>,
    known: Mutex<HashMap<CanonicalPath, Known>>,
}

/// What is known of one repository.
#[derive(Debug, Default)]
struct Known {
    seen: Seen,
    /// How often it was read.
    state: u64,
    /// Git does not take it for a repository.
    is_refused: bool,
    objects: Objects,
    /// Nothing if there is too much to read.
    table: Option<Arc<LinkTable>>,
    /// The links of each index, by the state of its file.
    indexes: HashMap<CanonicalPath, (Entry, Vec<Link>)>,
    texts: HashMap<Wanted, At>,
}

/// A path from the top of the tree, and the number of the object that says where it leads.
type Link = (Vec<u8>, Id);

impl Committed {
    /// Asks the first git of a `PATH`, but none that lies in one of the directories `untrusted`.
    pub fn new(path: &str, untrusted: &[&Path]) -> Self {
        let program = Gits::find(path, untrusted).asked.into_iter().next().map(Program::at);
        Self { program, known: Mutex::default() }
    }

    /// Has what is known of a repository told, as it is now; nothing if it has nothing.
    fn told<T>(
        &self,
        git: &CanonicalPath,
        tell: impl FnOnce(&mut Known, &Asked<'_>) -> T,
    ) -> Option<T> {
        // Where a linked tree keeps its own part there are no objects: its repository has all of it.
        let program = self.program.as_ref().filter(|_| is_there(git, "objects"))?;
        let mut all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if KNOWN_MAX <= all.len() && !all.contains_key(git) {
            all.clear();
        }
        let known = all.entry(git.clone()).or_default();
        let asked = Asked::new(program, git);
        if !known.seen.is_same() {
            known.refresh(&asked);
        }
        Some(tell(known, &asked))
    }
}

impl History for Committed {
    fn links(&self, git: &CanonicalPath) -> Option<Arc<LinkTable>> {
        self.told(git, |known, _| known.table.clone()).unwrap_or_else(|| Some(Arc::default()))
    }

    fn texts(&self, git: &CanonicalPath, wanted: &Wanted) -> Option<Arc<Texts>> {
        self.told(git, |known, asked| known.texts(asked, wanted))
            .unwrap_or_else(|| Some(Arc::default()))
    }
}

fn is_there(directory: &CanonicalPath, name: &str) -> bool {
    let path = directory.join(name.as_ref());
    path.is_ok_and(|path| RealDisk.look(path.as_path()).is_ok_and(|it| it.is_some()))
}

impl Known {
    /// Reads what came since the last look.
    fn refresh(&mut self, asked: &Asked<'_>) {
        // What moves while it is read has moved since.
        self.seen = Seen::now(asked.git);
        self.state += 1;
        self.is_refused = false;
        self.table = match self.read(asked) {
            Ok(table) => Some(Arc::new(table)),
            // Read anew when something moves, and not for each call.
            Err(trouble) => {
                let (seen, state) = (std::mem::take(&mut self.seen), self.state);
                *self = Self { seen, state, ..Self::default() };
                // SECURITY: a part that cannot be read must not hide the others.
                self.is_refused = trouble == Trouble::Refused && asked.is_refused();
                self.is_refused.then(Arc::default)
            }
        };
    }

    fn read(&mut self, asked: &Asked<'_>) -> Result<LinkTable, Trouble> {
        let parts = moved::worktrees(asked.git);
        let names: Vec<&str> =
            parts.iter().filter_map(|it| it.as_path().file_name()?.to_str()).collect();
        self.objects.read(asked, &names)?;
        let mut links: BTreeSet<Link> = BTreeSet::new();
        for at in std::iter::once(asked.git).chain(&parts) {
            links.extend(self.of_index(asked, at)?);
            if has_links_to_apply(at) {
                return Err(Trouble::TooMuch);
            }
        }
        self.objects.led(asked, &links)
    }

    /// Returns the links of the index that is kept in a directory of git's.
    fn of_index(&mut self, asked: &Asked<'_>, at: &CanonicalPath) -> Result<Vec<Link>, Trouble> {
        let file = at.join("index".as_ref()).ok();
        let entry = file.as_ref().and_then(|it| RealDisk.look(it.as_path()).ok().flatten());
        let Some(state) = entry else { return Ok(Vec::new()) };
        if let Some((_, links)) = self.indexes.get(at).filter(|(then, _)| *then == state) {
            return Ok(links.clone());
        }
        let staged = asked.staged(at, None)?.into_iter();
        let links = staged.filter(|(mode, ..)| *mode == Is::Link);
        let links: Vec<Link> = links.map(|(_, id, path)| (path, id)).collect();
        self.indexes.insert(at.clone(), (state, links.clone()));
        Ok(links)
    }

    fn texts(&mut self, asked: &Asked<'_>, wanted: &Wanted) -> Option<Arc<Texts>> {
        // Of what is too much, nothing is known.
        self.table.as_ref()?;
        if self.is_refused {
            return Some(Arc::default());
        }
        if PATHS_MAX <= self.texts.len() && !self.texts.contains_key(wanted) {
            self.texts.clear();
        }
        let at = self.texts.entry(wanted.clone()).or_default();
        if at.is_of(self.state) {
            return at.found();
        }
        let parts = moved::worktrees(asked.git);
        let parts: Vec<&CanonicalPath> = std::iter::once(asked.git).chain(&parts).collect();
        if at.read(asked, (&self.objects, &parts), (wanted, self.state)).is_err() {
            *at = At::too_much(self.state);
        }
        at.found()
    }
}

/// Returns whether git is about to apply mails of which one has a link.
fn has_links_to_apply(git: &CanonicalPath) -> bool {
    let Ok(directory) = git.join(moved::PATCHES.as_ref()) else { return false };
    let entries = RealDisk.list(directory.as_path(), PATCHES_MAX).unwrap_or_default();
    if PATCHES_MAX <= entries.len() {
        return true;
    }
    let is_mail = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    let mails = entries
        .iter()
        .filter(|(name, kind)| *kind == Kind::File && name.to_str().is_some_and(is_mail));
    mails.filter_map(|(name, _)| directory.join(name).ok()).any(|mail| {
        // What is too long to be read may have one.
        let Ok(text) = RealDisk.read_file(mail.as_path(), PATCH_BYTES_MAX) else { return true };
        text.is_some_and(|text| text.windows(LINK.len()).any(|it| it == LINK))
    })
}

/// What a mail says of a link.
const LINK: &[u8] = b"120000";

#[cfg(test)]
mod tests;
