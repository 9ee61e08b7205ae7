//! What a server that is not ours could plant for the host to execute, and how it is kept from it.
//!
//! ```text
//! start   Survey ─▶ everything that counts and is there is read-only in the cage       (Ground::cover)
//! later   Survey ─▶ is it as it was?  before and after each call, while it runs, at its end
//!           └─ what appeared or was moved ends the server, and is put back              (put_back.rs)
//!                └─ a person may keep it: the very bytes that they are shown             (keeping.rs)
//! ```
//!
//! When that is done, and who must not write meanwhile, is in `server/warden.rs`.
//!
//! A cage can keep what is there from being changed; it cannot keep a name from being made. What counts
//! is asked of `ic_resolve::Executes` and `ic_policy::host_executes`. Nothing is decided about calls here.

mod keeping;
pub(crate) mod last_look;
mod places;
mod put_back;
mod survey;
mod twins;

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use ic_confine::{Access, Seen};
use ic_judge::Judge;
use ic_resolve::{Disk, Kind, RealDisk};
use ic_types::CanonicalPath;

pub use keeping::Keepable;
pub use put_back::{PutBack, Settled, put_back};
use survey::Cover;
pub(crate) use survey::Rules;
pub use survey::Survey;
pub use survey::SurveyFault;

/// How many mounts a cage gets for this.
const COVERS_MAX: usize = 512;

/// Where a server may write, and the host looks for what it executes.
#[derive(Clone, Debug)]
pub(crate) struct Ground {
    /// The directories that it may write.
    roots: Vec<CanonicalPath>,
    /// What its cage shows in them by itself: looked at as a root of its own, or not written.
    borders: Vec<CanonicalPath>,
    /// What it may write besides, and nobody looks at: no link may lead there.
    elsewhere: Vec<CanonicalPath>,
}

/// Everything that belongs to a server alone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Own {
    /// What it keeps between sessions.
    pub(crate) data: Option<CanonicalPath>,
    /// What it has for this session.
    pub(crate) private: Option<CanonicalPath>,
}

/// What processes have open, and see, is found here.
const PROCESSES: &str = "/proc";

/// What is kept from a running server.
#[derive(Clone, Debug)]
pub struct Kept {
    pub(crate) ground: Ground,
    /// What is read-only in its cage, and which files and directories these were.
    covers: HashMap<CanonicalPath, Cover>,
    /// Those of them that have names elsewhere, or hold files that do.
    foreign: BTreeSet<CanonicalPath>,
    /// How it was before the server was started.
    pub(crate) at_start: Arc<Survey>,
    /// Where the last look is kept on disk.
    pub(crate) look: OnceLock<PathBuf>,
}

impl Ground {
    /// Returns where somebody who sees `seen` can write what the host executes; `own` is what belongs
    /// to the server alone.
    pub(crate) fn of(seen: &[Seen], own: &Own, judge: &Judge) -> Option<Self> {
        let session = judge.bounds.sandbox.as_ref().filter(|it| !it.kind.is_used_by_host());
        let is_free = |path: &CanonicalPath| {
            let is_own = own.data.as_ref().is_some_and(|own| path.is_within(own));
            is_own || session.is_some_and(|session| path.is_within(&session.path))
        };
        let paths = |seen: &Seen| CanonicalPath::new(&seen.path).ok();
        let written = seen.iter().filter(|seen| seen.access == Access::Write).filter_map(paths);
        let (free, roots): (Vec<_>, Vec<_>) = written.partition(is_free);
        let borders = seen.iter().filter_map(paths).collect();
        let own: Vec<_> = own.data.iter().chain(&own.private).cloned().collect();
        // Other servers and sessions have theirs beside it.
        let around = judge.bounds.protected.iter();
        let around = around.filter(|it| own.iter().any(|own| own.is_within(it))).cloned();
        let processes = CanonicalPath::new(PROCESSES).ok();
        let session = session.map(|session| session.path.clone());
        let mut elsewhere: Vec<_> =
            around.chain(own.iter().cloned()).chain(free).chain(session).chain(processes).collect();
        elsewhere.sort_unstable();
        elsewhere.dedup();
        (!roots.is_empty()).then_some(Self { roots, borders, elsewhere })
    }

    /// Returns whether a path is where the server may write, and nobody looks.
    pub(crate) fn is_elsewhere(&self, path: &CanonicalPath) -> bool {
        self.elsewhere.iter().any(|it| path.is_within(it))
            && !self.roots.iter().any(|root| path.is_within(root))
    }

    /// Returns the directories.
    pub(crate) fn roots(&self) -> &[CanonicalPath] {
        &self.roots
    }

    /// Returns whether what is written on one of the two may be on the other.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.is_near(&other.roots)
    }

    /// Returns whether what is written at one of `paths` may be on it.
    pub(crate) fn is_near(&self, paths: &[CanonicalPath]) -> bool {
        let mut pairs = self.roots.iter().flat_map(|a| paths.iter().map(move |b| (a, b)));
        pairs.any(|(a, b)| a.is_within(b) || b.is_within(a))
    }

    /// Finds what has to be read-only in a cage that shows this ground.
    pub(crate) fn cover(self, judge: &Judge, disk: &dyn Disk) -> Result<Kept, SurveyFault> {
        let survey = Survey::of(&self, judge, disk, None)?;
        let mut covers: HashMap<_, _> = survey.covers().collect();
        // SECURITY: a root that counts as a whole would be written all the same.
        if let Some(root) = self.roots.iter().find(|root| survey.counts(root)) {
            return Err(SurveyFault::Whole(root.clone()));
        }
        if let Some(link) = survey.outlet() {
            return Err(SurveyFault::Outlet(link.clone()));
        }
        if let Some((path, other)) = twins::find(&self, &survey, disk)? {
            return Err(SurveyFault::Twin { path, other });
        }
        let foreign = twins::foreign(&self, &survey, disk)?;
        // SECURITY: what is in a directory that is read-only as a whole must not be shown otherwise.
        covers.retain(|path, _| !path.ancestors().skip(1).any(|it| foreign.contains(&it)));
        for path in &foreign {
            covers.insert(path.clone(), Cover::read_only(path, disk)?);
        }
        match covers.len() <= COVERS_MAX {
            true => {
                let (at_start, look) = (Arc::new(survey), OnceLock::new());
                Ok(Kept { ground: self, covers, foreign, at_start, look })
            }
            false => Err(SurveyFault::TooManyCovers(covers.len())),
        }
    }
}

impl Kept {
    /// Returns what is to be read-only in the cage.
    pub(crate) fn seen(&self) -> impl Iterator<Item = Seen> {
        let seen = self.covers.iter();
        seen.map(|(path, cover)| Seen { path: path.as_path().to_owned(), access: cover.access })
    }

    /// Returns the covered path at or above `path`.
    pub fn covering(&self, path: &CanonicalPath) -> Option<CanonicalPath> {
        let is_read = |it: &Cover| it.access == Access::Read;
        path.ancestors().find(|above| self.covers.get(above).is_some_and(is_read))
    }

    /// Returns whether a covered path is read-only because of names (hard links) elsewhere.
    pub fn is_foreign(&self, covered: &CanonicalPath) -> bool {
        self.foreign.contains(covered)
    }

    /// Returns what counts by now and is not covered in the cage that runs.
    pub(crate) fn uncovered(&self, survey: &Survey) -> Option<CanonicalPath> {
        let mut covers = survey.covers();
        let is_whole = |path: &CanonicalPath| path.ancestors().any(|it| self.foreign.contains(&it));
        let is_uncovered = |path: &CanonicalPath, cover: &Cover| {
            self.covers.get(path) != Some(cover) && !is_whole(path)
        };
        let uncovered = covers.find(|(path, cover)| is_uncovered(path, cover));
        uncovered.map(|(path, _)| path).or_else(|| survey.outlet().cloned())
    }

    /// Returns whether nobody in the cage can put something else at `path`.
    pub(crate) fn is_covered(&self, path: &CanonicalPath) -> bool {
        self.covers.contains_key(path)
    }

    /// Returns whether what is at `path` is what was covered there at first, or nothing that could be.
    pub(crate) fn covers_what_is_at(&self, path: &CanonicalPath) -> bool {
        let Ok(Some(entry)) = RealDisk.look(path.as_path()) else { return true };
        let is_mountable = matches!(entry.kind, Kind::File | Kind::Directory);
        !is_mountable || self.covers.get(path).is_some_and(|cover| cover.is_of(path, &entry.state))
    }

    /// Returns the places that nobody in the cage can put something else in.
    pub(crate) fn covered(&self) -> impl Iterator<Item = CanonicalPath> {
        self.covers.keys().cloned()
    }
}
