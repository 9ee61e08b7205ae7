//! Walks the directories that a server may write, and notes everything that the host would execute.
//!
//! Only what stands topmost is noted: what lies in a `.git` goes with it. Links are noted and not
//! followed, but for what a listed name leads to. Nothing is changed here.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::Arc;

use ic_confine::Access;
use ic_policy::host_executes::{GIT_DIRECTORY, PIPELINE_NAMES, is_listed, is_same};
use ic_policy::{FileState, Reach};
use ic_resolve::executes::{Names, is_part_of_repository};
use ic_resolve::path::{Last, follow};
use ic_resolve::{Change, Disk, Executes, Kind};
use ic_types::{AbsolutePath, CanonicalPath, Role};
use rustix::fs::{AtFlags, CWD, Mode, StatxFlags};

use super::Ground;
use crate::judge::Judge;

/// How many files and directories are looked at.
pub(crate) const ENTRIES_MAX: usize = 200_000;
/// How many are looked at once nobody writes any more, and something has to be put back.
const ENTRIES_THOROUGH_MAX: usize = 10_000_000;
/// The largest file whose bytes are remembered, and the most that is remembered of all of them.
const TEXT_BYTES_MAX: usize = 64 << 10;
const TEXTS_BYTES_MAX: usize = 8 << 20;
/// A name that stands for any.
const ANY: &str = "any-name.txt";

/// What was found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Survey {
    counted: BTreeMap<CanonicalPath, Counted>,
    /// Entries that are a part of a repository's shape in directories that are none.
    parts: BTreeMap<CanonicalPath, Identity>,
    /// Where configurations and listed links lead, whether something is there or not.
    led: BTreeSet<CanonicalPath>,
    /// What is in single files that count, as far as they are small, so that they can be put back.
    texts: BTreeMap<CanonicalPath, Arc<Text>>,
    /// Directories that cannot be looked into.
    closed: BTreeSet<CanonicalPath>,
    /// What could not be looked at, in a look that is thorough.
    pub(super) unseen: Vec<String>,
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
    pub(super) bytes: Vec<u8>,
    pub(super) is_executable: bool,
}

/// Something that the host would execute, or be led by.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Counted {
    pub(crate) identity: Identity,
    pub(crate) kind: Kind,
    reach: Reach,
}

/// How something is kept by a cage.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Cover {
    identity: Identity,
    pub(super) access: Access,
}

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
        let looked =
            rustix::fs::statx(CWD, path.as_path(), AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BTIME);
        let looked = looked.ok().filter(|it| it.stx_ino == state.inode);
        let told = looked.filter(|it| it.stx_mask & StatxFlags::BTIME.bits() != 0);
        let born = told.map(|it| (it.stx_btime.tv_sec, it.stx_btime.tv_nsec));
        Self { device: state.device, inode: state.inode, born }
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
        Self::look(ground, judge, (disk, Manner::Strict), known)
    }

    /// Looks at everything that can be looked at, however much it is.
    pub(super) fn thorough(
        ground: &Ground,
        judge: &Judge,
        disk: &dyn Disk,
    ) -> Result<Self, SurveyFault> {
        Self::look(ground, judge, (disk, Manner::Thorough), None)
    }

    fn look(
        ground: &Ground,
        judge: &Judge,
        (disk, manner): (&dyn Disk, Manner),
        known: Option<&Self>,
    ) -> Result<Self, SurveyFault> {
        let executes = Executes::new(disk, &judge.home, Some(&judge.orders), None);
        let mut walk = Walk {
            ground,
            judge,
            disk,
            executes,
            survey: Self::default(),
            known,
            manner,
            led: Vec::new(),
            patterns: Names::default(),
            n_left: match manner {
                Manner::Strict => ENTRIES_MAX,
                Manner::Thorough => ENTRIES_THOROUGH_MAX,
            },
            n_text_bytes_left: TEXTS_BYTES_MAX,
        };
        let around = walk.executes.around().clone();
        walk.lead_to(&around, None);
        for root in &ground.roots {
            walk.root(root)?;
        }
        while let Some(path) = walk.led.pop() {
            walk.led_to(&path)?;
        }
        Ok(walk.survey)
    }

    /// Returns whether all of a directory counts.
    pub(crate) fn counts(&self, path: &CanonicalPath) -> bool {
        self.counted.contains_key(path)
    }

    /// Returns what a cage can keep where it is, and how.
    pub(crate) fn covers(&self) -> impl Iterator<Item = (CanonicalPath, Cover)> {
        let is_mountable = |it: &Counted| matches!(it.kind, Kind::File | Kind::Directory);
        let covered = self.counted.iter().filter(move |(_, it)| is_mountable(it));
        covered.map(|(path, it)| {
            let access = match it.reach {
                Reach::Beneath => Access::Read,
                // What else is in it is free; but being a mount it cannot be moved away.
                Reach::Itself => Access::Write,
            };
            (path.clone(), Cover { identity: it.identity, access })
        })
    }

    pub(super) fn counted(&self) -> &BTreeMap<CanonicalPath, Counted> {
        &self.counted
    }

    /// Returns whether a path counted only since something leads to it, and nothing did before.
    ///
    /// SECURITY: it may be any file of the user's. What leads there is new itself, and is put back.
    pub(super) fn is_newly_led(&self, path: &CanonicalPath, before: &Self) -> bool {
        let was_known = before.led.contains(path) || before.counted.contains_key(path);
        self.led.contains(path) && !was_known
    }

    /// Returns what is known of the bytes of a file.
    pub(super) fn text(&self, path: &CanonicalPath) -> Option<&Arc<Text>> {
        self.texts.get(path)
    }

    pub(super) fn closed(&self) -> &BTreeSet<CanonicalPath> {
        &self.closed
    }

    pub(super) fn parts(&self) -> &BTreeMap<CanonicalPath, Identity> {
        &self.parts
    }
}

struct Walk<'a> {
    ground: &'a Ground,
    judge: &'a Judge,
    disk: &'a dyn Disk,
    executes: Executes<'a>,
    survey: Survey,
    known: Option<&'a Survey>,
    manner: Manner,
    /// What configurations and links lead to.
    led: Vec<CanonicalPath>,
    patterns: Names,
    n_left: usize,
    n_text_bytes_left: usize,
}

impl Walk<'_> {
    fn root(&mut self, root: &CanonicalPath) -> Result<(), SurveyFault> {
        // What is a link by now is not what the server sees.
        let entry = self.disk.look(root.as_path()).ok().flatten();
        if entry.is_none_or(|entry| entry.kind != Kind::Directory) {
            return Ok(());
        }
        let depth = Ground::depth_of_workspace(root, self.judge);
        // The nearest repository around it; all of them may name what lies in it.
        let tops: Vec<_> =
            root.ancestors().skip(1).filter(|above| self.executes.is_top(above)).collect();
        for top in &tops {
            self.lead(top);
        }
        if self.counts_whole(root) || self.reach(root, tops.first(), depth) == Some(Reach::Beneath)
        {
            self.note(root, Reach::Beneath);
        }
        let mut rest = vec![(root.clone(), tops.into_iter().next())];
        while let Some((directory, top)) = rest.pop() {
            let entries = self.list(&directory, root)?;
            let has = |name: &str| entries.iter().any(|(it, _)| is_same(it, name));
            let is_top = has(GIT_DIRECTORY);
            let is_shape = has("commondir") || (has("HEAD") && has("objects") && has("refs"));
            if is_shape || is_top {
                self.lead(&directory);
            }
            if is_shape || (is_top && self.counts_whole(&directory)) {
                self.note(&directory, Reach::Beneath);
            }
            let top = if is_top { Some(directory.clone()) } else { top };
            let is_counted = self.survey.counts(&directory);
            for (name, kind) in entries {
                let Ok(path) = directory.join(&name) else { continue };
                let kind = self.kind(&path, kind);
                if is_part_of_repository(&name) {
                    self.note_part(&path);
                }
                if is_counted || self.ground.borders.contains(&path) {
                    continue;
                }
                let reach = self.reach(&path, top.as_ref(), depth);
                if let Some(reach) = reach {
                    let is_leaf = kind != Kind::Directory;
                    self.note(&path, if is_leaf { Reach::Beneath } else { reach });
                }
                if kind == Kind::Directory && reach != Some(Reach::Beneath) {
                    rest.push((path, top.clone()));
                }
            }
        }
        Ok(())
    }

    /// Notes what the repository at `top` names or leads to.
    fn lead(&mut self, top: &CanonicalPath) {
        let names = self.executes.led_to(top);
        self.lead_to(&names, Some(top));
    }

    /// Notes what a configuration names; its patterns are tried on everything that is found.
    fn lead_to(&mut self, names: &Names, top: Option<&CanonicalPath>) {
        self.led.extend(names.paths().filter(|path| Some(*path) != top).cloned());
        self.patterns.extend(names);
    }

    /// Returns whether whatever is made in a directory counts.
    fn counts_whole(&self, directory: &CanonicalPath) -> bool {
        let Ok(path) = directory.join(OsStr::new(ANY)) else { return true };
        !self.executes.of(&[Change { role: Role::WritePath, path, is_kept: false }]).is_empty()
    }

    /// Returns how far a path counts by its name.
    fn reach(
        &self,
        path: &CanonicalPath,
        top: Option<&CanonicalPath>,
        depth: usize,
    ) -> Option<Reach> {
        let counts = |path: &CanonicalPath| {
            let at_home = self.judge.bounds.home_executes.iter().any(|it| match it.reach {
                Reach::Itself => *path == it.path,
                Reach::Beneath => path.is_within(&it.path),
            });
            let is_pipeline = top.is_some_and(|top| {
                let below: Vec<_> = path.components().skip(top.components().count()).collect();
                PIPELINE_NAMES.iter().any(|name| name.covers(&below))
            });
            at_home
                || is_pipeline
                || self.patterns.has_pattern_for(path)
                || is_listed(path.components().skip(depth))
        };
        let below = || path.join(OsStr::new(ANY)).is_ok_and(|below| counts(&below));
        match counts(path) {
            true if below() => Some(Reach::Beneath),
            true => Some(Reach::Itself),
            false => None,
        }
    }

    /// Notes something that a configuration or a link leads to, if it is on the ground.
    fn led_to(&mut self, path: &CanonicalPath) -> Result<(), SurveyFault> {
        let is_above = self.ground.roots.iter().any(|root| root.is_within(path));
        let is_on_ground = self.ground.roots.iter().any(|root| path.is_within(root));
        let is_known = path
            .ancestors()
            .any(|it| self.survey.counted.get(&it).is_some_and(|it| it.reach == Reach::Beneath));
        if is_on_ground && !is_above && !is_known {
            self.n_left = self.n_left.checked_sub(1).ok_or_else(|| too_many(path))?;
            // What is on the way may be a link.
            let found = AbsolutePath::new(path.as_path()).ok();
            let found = found.and_then(|it| follow(self.disk, &it, Last::Keep).ok());
            if let Some(found) = found {
                self.survey.led.insert(found.path.clone());
                self.note(&found.path, Reach::Beneath);
            }
        }
        Ok(())
    }

    fn note(&mut self, path: &CanonicalPath, reach: Reach) {
        // What is gone by now is not there.
        let Ok(Some(entry)) = self.disk.look(path.as_path()) else { return };
        if entry.kind == Kind::Link {
            let found = AbsolutePath::new(path.as_path()).ok();
            let found = found.and_then(|it| follow(self.disk, &it, Last::Follow).ok());
            self.led.extend(found.map(|found| found.path).filter(|found| found != path));
        }
        if entry.kind == Kind::File {
            self.note_text(path, entry.state);
        }
        let identity = Identity::at(path, &entry.state);
        self.survey.counted.insert(path.clone(), Counted { identity, kind: entry.kind, reach });
    }

    /// Remembers what is in a file.
    fn note_text(&mut self, path: &CanonicalPath, state: FileState) {
        let known = self.known.and_then(|known| known.text(path)).filter(|it| it.state == state);
        let read = || {
            let bytes = self.disk.read_file(path.as_path(), TEXT_BYTES_MAX).ok().flatten()?;
            let stat = rustix::fs::statat(CWD, path.as_path(), AtFlags::SYMLINK_NOFOLLOW);
            let mode = stat.map(|stat| Mode::from_raw_mode(stat.st_mode));
            let is_executable = mode.is_ok_and(|mode| mode.contains(Mode::XUSR));
            Some(Arc::new(Text { state, bytes, is_executable }))
        };
        let Some(text) = known.map(Arc::clone).or_else(read) else { return };
        if let Some(left) = self.n_text_bytes_left.checked_sub(text.bytes.len()) {
            self.n_text_bytes_left = left;
            self.survey.texts.insert(path.clone(), text);
        }
    }

    /// Some file systems do not say in a list what something is.
    fn kind(&self, path: &CanonicalPath, listed: Kind) -> Kind {
        match listed {
            Kind::Other => {
                let entry = self.disk.look(path.as_path()).ok().flatten();
                entry.map_or(listed, |entry| entry.kind)
            }
            Kind::File | Kind::Directory | Kind::Link => listed,
        }
    }

    fn note_part(&mut self, path: &CanonicalPath) {
        if let Ok(Some(entry)) = self.disk.look(path.as_path()) {
            let identity = Identity::at(path, &entry.state);
            self.survey.parts.insert(path.clone(), identity);
        }
    }

    fn list(
        &mut self,
        directory: &CanonicalPath,
        root: &CanonicalPath,
    ) -> Result<Vec<(OsString, Kind)>, SurveyFault> {
        let entries = match self.disk.list(directory.as_path(), self.n_left.saturating_add(1)) {
            Ok(entries) => entries,
            // The server cannot look there either; what it closed itself is opened again.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                self.survey.closed.insert(directory.clone());
                Vec::new()
            }
            Err(error) if self.manner == Manner::Thorough => {
                self.survey.unseen.push(format!("cannot look at `{directory}`: {error}"));
                Vec::new()
            }
            Err(error) => {
                let (path, reason) = (directory.clone(), error.to_string());
                return Err(SurveyFault::System { path, reason });
            }
        };
        self.n_left = self.n_left.checked_sub(entries.len()).ok_or_else(|| too_many(root))?;
        Ok(entries)
    }
}

fn too_many(root: &CanonicalPath) -> SurveyFault {
    SurveyFault::TooManyEntries(root.clone())
}
