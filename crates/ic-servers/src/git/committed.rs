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
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use ic_resolve::executes::{Haste, History, LinkTable, Texts, Told, Wanted};
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
/// How long a call waits while somebody else reads a repository; then there may be anything in it.
const WAIT_MAX: Duration = Duration::from_secs(8);
/// How many mails are looked at that git is about to apply, and how long one may be.
const PATCHES_MAX: usize = 4096;
const PATCH_BYTES_MAX: usize = 4 << 20;

/// Knows what repositories have, as long as nothing moves in them.
#[derive(Debug)]
pub struct Committed {
    program: Option<Program>,
    known: Mutex<HashMap<CanonicalPath, Arc<Slot>>>,
}

/// Where what is known of one repository is kept; nothing is there while somebody reads it.
#[derive(Debug)]
struct Slot {
    kept: Mutex<Kept>,
    back: Condvar,
}

#[derive(Debug)]
struct Kept {
    known: Option<Box<Known>>,
    /// Whether somebody has waited for it in vain: then nobody else waits until it is back.
    is_late: bool,
}

/// What is known of one repository, taken by who reads it; goes back when it is dropped.
struct Taken {
    slot: Arc<Slot>,
    known: Box<Known>,
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

    /// Has what is known of a repository told, as it is now; of one that has nothing there is nothing to tell.
    fn told<T: Default>(
        &self,
        git: &CanonicalPath,
        haste: Haste,
        tell: impl FnOnce(&mut Known, &Asked<'_>) -> Told<T>,
    ) -> Told<T> {
        // Where a linked tree keeps its own part there are no objects: its repository has all of it.
        let Some(program) = self.program.as_ref().filter(|_| is_there(git, "objects")) else {
            return Told::Known(Arc::default());
        };
        let Some(mut taken) = Slot::take(self.slot(git), haste) else { return Told::NotYet };
        let asked = Asked::new(program, git);
        match (taken.known.seen.is_same(), haste) {
            (true, _) => {}
            (false, Haste::AtOnce) => return Told::NotYet,
            (false, Haste::Patient) => taken.known.refresh(&asked),
        }
        tell(&mut taken.known, &asked)
    }

    fn slot(&self, git: &CanonicalPath) -> Arc<Slot> {
        let mut all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if KNOWN_MAX <= all.len() && !all.contains_key(git) {
            all.clear();
        }
        let kept = || Kept { known: Some(Box::default()), is_late: false };
        let empty = || Slot { kept: Mutex::new(kept()), back: Condvar::new() };
        Arc::clone(all.entry(git.clone()).or_insert_with(|| Arc::new(empty())))
    }
}

impl Slot {
    /// Takes what is known, once nobody else has it; `None` if that takes too long.
    fn take(slot: Arc<Self>, haste: Haste) -> Option<Taken> {
        let kept = slot.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = match haste {
            Haste::Patient if !kept.is_late => WAIT_MAX,
            Haste::Patient | Haste::AtOnce => Duration::ZERO,
        };
        let waited = slot.back.wait_timeout_while(kept, wait, |kept| kept.known.is_none());
        let known = {
            let mut kept = waited.unwrap_or_else(PoisonError::into_inner).0;
            kept.is_late = kept.known.is_none() && haste == Haste::Patient;
            kept.known.take()?
        };
        Some(Taken { slot, known })
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        // SECURITY: what was half read when something went wrong must not pass for what is there.
        let known = match std::thread::panicking() {
            true => Box::default(),
            false => std::mem::take(&mut self.known),
        };
        *self.slot.kept.lock().unwrap_or_else(PoisonError::into_inner) =
            Kept { known: Some(known), is_late: false };
        self.slot.back.notify_one();
    }
}

impl History for Committed {
    fn links(&self, git: &CanonicalPath, haste: Haste) -> Told<LinkTable> {
        self.told(git, haste, |known, _| match &known.table {
            Some(table) => Told::Known(Arc::clone(table)),
            None => Told::Unknown,
        })
    }

    fn texts(&self, git: &CanonicalPath, wanted: &Wanted, haste: Haste) -> Told<Texts> {
        self.told(git, haste, |known, asked| known.texts(asked, wanted, haste))
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

    fn texts(&mut self, asked: &Asked<'_>, wanted: &Wanted, haste: Haste) -> Told<Texts> {
        // Of what is too much, nothing is known.
        if self.table.is_none() {
            return Told::Unknown;
        }
        if self.is_refused {
            return Told::Known(Arc::default());
        }
        let is_read = self.texts.get(wanted).is_some_and(|at| at.is_of(self.state));
        if !is_read && haste == Haste::AtOnce {
            return Told::NotYet;
        }
        if PATHS_MAX <= self.texts.len() && !self.texts.contains_key(wanted) {
            self.texts.clear();
        }
        let at = self.texts.entry(wanted.clone()).or_default();
        if !at.is_of(self.state) {
            let parts = moved::worktrees(asked.git);
            let parts: Vec<&CanonicalPath> = std::iter::once(asked.git).chain(&parts).collect();
            if at.read(asked, (&self.objects, &parts), (wanted, self.state)).is_err() {
                *at = At::too_much(self.state);
            }
        }
        at.found().map_or(Told::Unknown, Told::Known)
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
