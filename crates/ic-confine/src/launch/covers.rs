//! What lies over the host's files in a cage, and whether it still lies where it was put.
//!
//! The system takes a mount away when somebody outside removes or replaces what it lies on, as an
//! editor does that saves a file. Then what was hidden shows, or what was kept can be written. What is kept or
//! only pinned can be covered again (`cage/renewal.rs`); what was hidden has been seen. What comes of it is the
//! guard's to say.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};

use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use std::os::unix::ffi::OsStrExt as _;

use crate::cage::{Access, CageSpec};
use crate::orders::{CageOrder, Identity};

/// The places where something lies over the host's files, and what was there.
pub(super) struct Covers(Vec<Place>);

struct Place {
    path: PathBuf,
    /// What is covered; none also if it could not be held.
    was: Option<Held>,
    /// What it is to be covered with; held since before it is.
    next: Option<Held>,
    /// How it is covered again; none if it cannot be.
    again: Option<Access>,
}

/// A file or directory of the host's that is covered.
struct Held {
    identity: Identity,
    /// When it was changed the last time, by the system's clock.
    changed: (i64, i64),
    /// SECURITY: as long as it is open, the system gives its number to no other file. Editors that save twice make
    /// a file that would have the number of the first one, and then the cover would seem to be where it was.
    #[expect(dead_code, reason = "that it is open is all that it is for")]
    file: Option<OwnedFd>,
}

impl Covers {
    /// Remembers what is there now; before the cage is made.
    pub(super) fn of(order: &CageOrder) -> Self {
        let places = match order.rung.can_hide() {
            true => places(&order.spec),
            false => Vec::new(),
        };
        let looked_at = places.into_iter().map(|(path, again)| {
            let was = Held::at(&path).map(|held| Held { file: None, ..held });
            Place { path, was, next: None, again }
        });
        Self(looked_at.collect())
    }

    /// Holds what is covered; once the cage is made, so that nobody in it gets what is held here.
    pub(super) fn hold(&mut self) {
        for place in &mut self.0 {
            let Some(was) = &place.was else { continue };
            let held = Held::at(&place.path);
            // What is not there any more, or is another one, is as if it had never been covered.
            place.was = held.filter(|it| it.identity == was.identity && it.changed == was.changed);
        }
    }

    /// Returns whether nothing lies over the host's files.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether something else is at one of the places now.
    pub(super) fn have_shifted(&self) -> bool {
        self.0.iter().any(Place::has_shifted)
    }

    /// Returns the places where something else is now, and how they are covered again, those above first; nothing
    /// if one of them cannot be. What is there is held from now on.
    pub(super) fn take_shifted(&mut self) -> Option<Vec<(PathBuf, Access)>> {
        let mut shifted = Vec::new();
        for place in self.0.iter_mut().filter(|place| place.has_shifted()) {
            shifted.push((place.path.clone(), place.again?));
            // SECURITY: before it is covered, so that what is covered is what is held.
            place.next = Held::at(&place.path);
        }
        shifted.sort_by_key(|(path, _)| path.components().count());
        Some(shifted)
    }

    /// Remembers what a place is covered with by now; what cannot be covered is remembered as it is, since the host
    /// looks at it itself.
    pub(super) fn note(&mut self, path: &Path, covered: Option<Identity>) {
        if let Some(place) = self.0.iter_mut().find(|place| place.path == path) {
            let is_it = |held: &Held| covered.is_none_or(|covered| held.identity == covered);
            place.was = place.next.take().filter(is_it);
        }
    }
}

impl Place {
    fn has_shifted(&self) -> bool {
        look(&self.path) != self.was.as_ref().map(|held| held.identity)
    }
}

impl Held {
    fn at(path: &Path) -> Option<Self> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(CWD, path, flags, Mode::empty()).ok()?;
        let stat = rustix::fs::fstat(&file).ok()?;
        let identity = Identity { device: stat.st_dev, file: stat.st_ino };
        let changed = (stat.st_ctime, i64::try_from(stat.st_ctime_nsec).unwrap_or(i64::MAX));
        Some(Self { identity, changed, file: Some(file) })
    }
}

/// Returns what is hidden, what is seen within something else that is seen, what something else stands for, and
/// what is to stay absent.
fn places(spec: &CageSpec) -> Vec<(PathBuf, Option<Access>)> {
    let is_nested = |path: &PathBuf| {
        spec.seen.iter().any(|seen| seen.path != *path && path.starts_with(&seen.path))
    };
    let seen = spec.seen.iter().map(|seen| (&seen.path, Some(seen.access)));
    // SECURITY: what was hidden and could be seen for a moment cannot be hidden again.
    let hidden = spec.hidden.iter().map(|path| (path, None));
    let placed = spec.placed.iter().map(|placed| (&placed.at, None));
    let covered = seen.chain(hidden).chain(placed).filter(|(path, _)| is_nested(path));
    // What is not there has no cover, and is not to be seen when it comes.
    let absent = spec.absent.iter().map(|path| (path, None));
    covered.chain(absent).map(|(path, again)| (path.clone(), again)).collect()
}

fn look(path: &Path) -> Option<Identity> {
    let stat = rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(Identity { device: stat.st_dev, file: stat.st_ino })
}

/// Tells at once when one of the places may have shifted.
pub(super) struct Watch {
    events: OwnedFd,
    /// The names that count in each directory that is watched.
    names: HashMap<i32, HashSet<OsString>>,
}

impl Watch {
    /// Watches the directories of all places; none where the system has no watches left.
    pub(super) fn over(covers: &Covers) -> Option<Self> {
        let events = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
        let mut watch = Self { events, names: HashMap::new() };
        watch.again(covers);
        Some(watch)
    }

    /// Watches those directories, too, that came since.
    pub(super) fn again(&mut self, covers: &Covers) {
        let flags = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::ONLYDIR
            | WatchFlags::DONT_FOLLOW;
        for Place { path, .. } in &covers.0 {
            let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { continue };
            if let Ok(number) = inotify::add_watch(&self.events, above, flags) {
                self.names.entry(number).or_default().insert(name.to_owned());
            }
        }
    }

    pub(super) fn events(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }

    /// Takes what was heard; returns whether a place may have shifted.
    pub(super) fn take(&self) -> bool {
        let mut space = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(&self.events, &mut space);
        let mut is_near = false;
        while let Ok(event) = reader.next() {
            let counts = |name: &OsStr| {
                self.names.get(&event.wd()).is_some_and(|names| names.contains(name))
            };
            let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
            is_near |= event.events().intersects(ReadFlags::QUEUE_OVERFLOW | ReadFlags::IGNORED)
                || name.is_some_and(counts);
        }
        is_near
    }
}
