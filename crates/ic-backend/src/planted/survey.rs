//! Walks the directories that a server may write, and notes everything that the host would execute.
//!
//! Only what stands topmost is noted: what lies in a `.git` goes with it. Links are noted and not
//! followed, but for what a listed name leads to. Nothing is changed here.
//!
//! SECURITY: a server that plants a configuration could have it name the directory around it, or everything, so
//! that it is not seen by itself any more. So if other names are in force than in the look before, the ground
//! is looked at once more by the names that were ([`Survey::as_before`]), and that is what is compared. What
//! could bring new names counted by the old ones; what counts by the new ones alone is only covered.

mod cover;
mod options;
mod outlets;
mod outward;
mod remembered;
mod seen;
mod walk;
pub(super) mod written;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

use ic_judge::Judge;
use ic_policy::host_executes::{GIT_DIRECTORY, is_same};
use ic_policy::{Bounds, FileState, Reach};
use ic_resolve::executes::{Names, is_part_of_repository};
use ic_resolve::{Disk, Executes, Kind, Orders, RealDisk};
use ic_types::{AbsolutePath, CanonicalPath};
use rustix::fs::{AtFlags, CWD, Mode, StatxFlags};

use super::Ground;
pub(super) use cover::Cover;
use remembered::Remembered;
use seen::{Seen, Watch};
use walk::Walk;
pub(super) use written::WrittenSurvey;

/// How many files and directories are looked at.
pub(crate) const ENTRIES_MAX: usize = 200_000;
/// How many are looked at once nobody writes any more, and something has to be put back.
const ENTRIES_THOROUGH_MAX: usize = 10_000_000;
/// The largest file whose bytes are remembered, and the most that is remembered of all of them.
const TEXT_BYTES_MAX: usize = 64 << 10;
const TEXTS_BYTES_MAX: usize = 8 << 20;

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    counted: BTreeMap<CanonicalPath, Counted>,
    /// Entries that are a part of a repository's shape in directories that are none.
    parts: BTreeMap<CanonicalPath, Identity>,
    /// Where configurations and listed links lead, whether something is there or not.
    led: BTreeSet<CanonicalPath>,
    /// What is in single files that count, as far as they are small, so that they can be put back.
    texts: BTreeMap<CanonicalPath, Arc<Text>>,
    /// Where links that count lead, so that they can be put back.
    links: BTreeMap<CanonicalPath, Arc<OsStr>>,
    /// Links to where the server may write, and nobody looks.
    outlets: BTreeSet<CanonicalPath>,
    /// Links that lead out of the ground, with the other links there by which they do.
    outward: BTreeMap<CanonicalPath, Vec<CanonicalPath>>,
    /// Entries whose names programs take for options, or Python for its own modules.
    options: BTreeSet<CanonicalPath>,
    /// Directories that cannot be looked into.
    closed: BTreeSet<CanonicalPath>,
    /// What could not be looked at, in a look that is thorough.
    pub(super) unseen: Vec<String>,
    /// What was seen of each directory.
    directories: HashMap<CanonicalPath, Arc<Seen>>,
    /// What the configurations in force name.
    names: Names,
    /// What is found by the names of the look before, if they were others.
    by_former_names: Option<Box<Self>>,
}

/// What says by itself that something counts, whatever configurations name.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    pub(super) bounds: &'a Bounds,
    pub(super) home: &'a AbsolutePath,
    /// What is known of configurations, for whoever looks for the names in force.
    pub(super) orders: Option<&'a Orders>,
}

impl<'a> Rules<'a> {
    /// Returns those of a session.
    pub(crate) fn of(judge: &'a Judge) -> Self {
        Self { bounds: &judge.bounds, home: &judge.home, orders: Some(&judge.orders) }
    }
}

/// How a ground is looked at.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Manner {
    /// What is too much, or cannot be looked at, is a fault.
    Strict,
    /// Whatever can be looked at is, so that nobody can hide one thing behind another.
    Thorough,
}

/// What a file held.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Text {
    state: FileState,
    changed: Changed,
    pub(super) bytes: Vec<u8>,
    pub(super) is_executable: bool,
}

/// What was at a place, and can be there again.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Former {
    File(Arc<Text>),
    /// A link to this.
    Link(Arc<OsStr>),
}

impl Former {
    /// Returns what a file held.
    pub(super) fn text(&self) -> Option<&Arc<Text>> {
        match self {
            Self::File(text) => Some(text),
            Self::Link(_) => None,
        }
    }
}

/// Something that the host would execute, or be led by.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Counted {
    pub(crate) identity: Identity,
    pub(crate) kind: Kind,
    reach: Reach,
    /// How many names a file has.
    n_names: u32,
    changed: Changed,
}

/// When the kernel last noted a change of a file; no program can set it to a time of its choice.
type Changed = (i64, u32);

/// Tells one file or directory from all others.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
    /// When it was made, where the file system tells: the number of a file that was removed is soon given
    /// to another one.
    born: Option<(i64, u32)>,
}

impl Identity {
    /// Returns what tells the file of this state, at `path`, from others.
    pub(super) fn at(path: &CanonicalPath, state: &FileState) -> Self {
        Counted::at(path, (Kind::Other, state), Reach::Itself).identity
    }

    /// Returns whether it is known that it was made after this second.
    pub(super) fn is_born_after(self, second: i64) -> bool {
        self.born.is_some_and(|(born, _)| second < born)
    }
}

impl Counted {
    /// Notes what is at `path`.
    fn at(path: &CanonicalPath, (kind, state): (Kind, &FileState), reach: Reach) -> Self {
        let wanted = StatxFlags::BTIME | StatxFlags::CTIME | StatxFlags::NLINK;
        let looked = rustix::fs::statx(CWD, path.as_path(), AtFlags::SYMLINK_NOFOLLOW, wanted);
        let looked = looked.ok().filter(|it| it.stx_ino == state.inode);
        let told = looked.filter(|it| it.stx_mask & StatxFlags::BTIME.bits() != 0);
        let born = told.map(|it| (it.stx_btime.tv_sec, it.stx_btime.tv_nsec));
        let identity = Identity { device: state.device, inode: state.inode, born };
        let n_names = looked.filter(|_| kind == Kind::File).map_or(1, |it| it.stx_nlink);
        let changed = looked.map_or((0, 0), |it| (it.stx_ctime.tv_sec, it.stx_ctime.tv_nsec));
        Self { identity, kind, reach, n_names, changed }
    }
}

/// A ground that cannot be kept.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum SurveyFault {
    /// There is too much to look at.
    #[error(
        "`{0}` holds more than {ENTRIES_MAX} files and directories, which is too much to check after each \
         call: let the server write in a smaller directory"
    )]
    TooManyEntries(CanonicalPath),
    /// There is too much to be kept read-only.
    #[error(
        "{0} files and directories would have to be read-only for this server: let it write in a smaller \
         directory"
    )]
    TooManyCovers(usize),
    /// Everything in a directory counts.
    #[error(
        "programs on this machine run or take orders from everything in `{0}` (a git repository, a hook \
         directory or the like), so no third-party server may write there: let it write elsewhere"
    )]
    Whole(CanonicalPath),
    /// A link leads to where the server may write, and nobody looks.
    #[error(
        "`{0}` is a link to a place that the server may write and IronCurtain does not look at, so programs \
         on this machine could be led there: remove the link, or put a copy in its place"
    )]
    Outlet(CanonicalPath),
    /// A file that counts has a name that is not kept.
    #[error(
        "programs on this machine run `{path}` or take orders from it, and the server could write it by its \
         other name `{other}` (a hard link): put a copy in the place of one of them"
    )]
    Twin {
        /// The name that counts.
        path: CanonicalPath,
        /// The other one.
        other: CanonicalPath,
    },
    /// Nothing can be made read-only on this machine.
    #[error(
        "the server could write in `{0}`, where git hooks, editor tasks and the like are run from, and \
         Landlock alone cannot make parts of it read-only: install bubblewrap or enable user namespaces, or \
         take `contained` or the `allowWrite` line out of the server's entry"
    )]
    Landlock(CanonicalPath),
    /// The server writes on while it is looked at.
    #[error("the processes of the server cannot be stopped while what it may write is looked at")]
    Restless,
    /// The system refused.
    #[error("cannot look at `{path}`: {reason}")]
    System {
        /// Where.
        path: CanonicalPath,
        /// Why.
        reason: String,
    },
}

impl Survey {
    /// Looks at a ground as it is now; what is `known` of it is not read again.
    pub(crate) fn of(
        ground: &Ground,
        judge: &Judge,
        disk: &dyn Disk,
        known: Option<&Self>,
    ) -> Result<Self, SurveyFault> {
        let disk = &Remembered::new(disk);
        let look = Look { ground, rules: Rules::of(judge), disk, manner: Manner::Strict, known };
        let mut survey = look.by_names_in_force()?;
        if let Some(known) = known.filter(|known| !known.names.is_same(&survey.names)) {
            let mut former = look.by_names_of(known)?;
            former.directories.clear();
            survey.by_former_names = Some(Box::new(former));
        }
        Ok(survey)
    }

    /// Looks at everything that can be looked at, however much it is, by the names that were in force
    /// `before`.
    pub(super) fn thorough(
        ground: &Ground,
        rules: Rules<'_>,
        disk: &dyn Disk,
        before: &Self,
    ) -> Result<Self, SurveyFault> {
        let disk = &Remembered::new(disk);
        Look { ground, rules, disk, manner: Manner::Thorough, known: None }.by_names_of(before)
    }

    /// Returns what is found by the names that were in force in the look before.
    pub(super) fn as_before(&self) -> &Self {
        self.by_former_names.as_deref().unwrap_or(self)
    }

    /// Returns whether all of a directory counts.
    pub(crate) fn counts(&self, path: &CanonicalPath) -> bool {
        self.counted.contains_key(path)
    }

    pub(super) fn counts_beneath(&self, path: &CanonicalPath) -> bool {
        self.counted.get(path).is_some_and(|it| it.reach == Reach::Beneath)
    }

    /// Returns a link to where the server may write, and nobody looks.
    pub(super) fn outlet(&self) -> Option<&CanonicalPath> {
        self.outlets.first()
    }

    /// Returns whether a file that has several names was written since `before`.
    ///
    /// SECURITY: whoever has another name for a file writes it although its own is read-only, and it stays
    /// the same file.
    pub(super) fn is_written_by_another_name(&self, path: &CanonicalPath, before: &Self) -> bool {
        let (Some(now), Some(then)) = (self.counted.get(path), before.counted.get(path)) else {
            return false;
        };
        if now.n_names.max(then.n_names) <= 1 || now.changed == then.changed {
            return false;
        }
        match (self.texts.get(path), before.texts.get(path)) {
            (Some(now), Some(then)) => {
                now.bytes != then.bytes || now.is_executable != then.is_executable
            }
            // What is too long to be remembered may hold anything.
            (_, _) => true,
        }
    }

    pub(super) fn counted(&self) -> &BTreeMap<CanonicalPath, Counted> {
        &self.counted
    }

    /// Returns whether a path counted only since something leads to it, and nothing did before.
    ///
    /// SECURITY: it may be any file of the user's. What leads there is new itself, and is put back.
    pub(super) fn is_newly_led(&self, path: &CanonicalPath, before: &Self) -> bool {
        let was_counted = before.counted.contains_key(path) || before.names.has_path(path);
        self.led.contains(path) && !before.led.contains(path) && !was_counted
    }

    /// Returns what was at `path`, if it can be put there again.
    pub(super) fn former(&self, path: &CanonicalPath) -> Option<Former> {
        let link = || self.links.get(path).map(|target| Former::Link(Arc::clone(target)));
        self.texts.get(path).map(|text| Former::File(Arc::clone(text))).or_else(link)
    }

    /// Returns whether a file at `path` holds now what it held.
    pub(crate) fn has_same_text(&self, path: &CanonicalPath) -> bool {
        let Some(then) = self.texts.get(path) else { return false };
        let Ok(stat) = rustix::fs::statat(CWD, path.as_path(), AtFlags::SYMLINK_NOFOLLOW) else {
            return false;
        };
        let is_executable = Mode::from_raw_mode(stat.st_mode).contains(Mode::XUSR);
        let bytes = RealDisk.read_file(path.as_path(), TEXT_BYTES_MAX);
        // SECURITY: by another name it could be written although this one is covered.
        stat.st_nlink == 1
            && is_executable == then.is_executable
            && bytes.is_ok_and(|bytes| bytes.as_ref() == Some(&then.bytes))
    }

    /// Returns whether a link at `path` leads where it did before.
    pub(super) fn is_same_link(&self, path: &CanonicalPath, before: &Self) -> bool {
        self.links.get(path).is_some_and(|target| before.links.get(path) == Some(target))
    }

    /// Returns whether the link that was at `path` is there, whether it counts or not.
    pub(super) fn has_link_at(&self, path: &CanonicalPath) -> bool {
        target_of(path).is_some_and(|target| self.links.get(path) == Some(&target))
    }

    /// Returns what is known of the bytes of a file.
    fn text(&self, path: &CanonicalPath) -> Option<&Arc<Text>> {
        self.texts.get(path)
    }

    pub(super) fn closed(&self) -> &BTreeSet<CanonicalPath> {
        &self.closed
    }

    pub(super) fn parts(&self) -> &BTreeMap<CanonicalPath, Identity> {
        &self.parts
    }

    /// Returns whether what is at `path` may decide what else counts.
    pub(super) fn may_decide(&self, path: &CanonicalPath) -> bool {
        let name = path.as_path().file_name();
        let is_git_s = |name| is_same(name, GIT_DIRECTORY) || is_part_of_repository(name);
        let is_link = self.counted.get(path).is_some_and(|it| it.kind == Kind::Link);
        let is_link = is_link || self.outward.contains_key(path);
        name.is_some_and(is_git_s) || is_link || self.led.contains(path)
    }
}

/// Returns where the link at `path` leads, as it is written.
fn target_of(path: &CanonicalPath) -> Option<Arc<OsStr>> {
    let target = rustix::fs::readlinkat(CWD, path.as_path(), Vec::new()).ok()?;
    Some(Arc::from(OsStr::from_bytes(target.as_bytes())))
}

/// One look at a ground.
#[derive(Clone, Copy)]
struct Look<'a> {
    ground: &'a Ground,
    rules: Rules<'a>,
    disk: &'a dyn Disk,
    manner: Manner,
    known: Option<&'a Survey>,
}

impl<'a> Look<'a> {
    /// Looks for what counts now.
    fn by_names_in_force(self) -> Result<Survey, SurveyFault> {
        let mut walk = self.walk(None);
        let around = walk.executes.around().clone();
        walk.lead_to(&around);
        let patterns = Arc::clone(&walk.pattern_texts);
        walk.all()?;
        if walk.pattern_texts == patterns {
            return walk.finish();
        }
        // What was found last may name what was passed by first. All repositories are known by now.
        let mut again = self.walk(None);
        let names = walk.survey.names;
        again.lead_to(&names);
        again.all()?;
        again.finish()
    }

    /// Looks for what counts by the names that were in force `before`; no configuration is read.
    fn by_names_of(self, before: &'a Survey) -> Result<Survey, SurveyFault> {
        let mut walk = self.walk(Some(before));
        walk.lead_to(&before.names);
        walk.led.extend(before.led.iter().cloned());
        walk.all()?;
        walk.finish()
    }

    fn walk(self, before: Option<&'a Survey>) -> Walk<'a> {
        let Self { ground, rules, disk, manner, known } = self;
        Walk {
            ground,
            rules,
            disk,
            executes: Executes::new(disk, rules.home, rules.orders, None),
            survey: Survey::default(),
            known,
            before,
            manner,
            led: Vec::new(),
            patterns: Names::default(),
            pattern_texts: Arc::default(),
            watch: Watch::default(),
            n_left: match manner {
                Manner::Strict => ENTRIES_MAX,
                Manner::Thorough => ENTRIES_THOROUGH_MAX,
            },
            n_text_bytes_left: TEXTS_BYTES_MAX,
        }
    }
}
