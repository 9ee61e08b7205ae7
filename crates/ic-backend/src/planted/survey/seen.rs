//! What was seen of one directory, and whether it can still be relied on.
//!
//! SECURITY: no entry of a directory is made, removed or replaced without the kernel setting the time of its
//! last change (`ctime`), which no program can set to a time of its choice. A directory with the same time
//! has the same entries, unless it was changed again within what the clock of the file system tells apart.
//! So what was read soon after a change is read again, and what is on a file system of which this is not
//! known is read each time.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use ic_home::{Clock as _, SystemClock};
use ic_policy::Reach;
use ic_resolve::Kind;
use ic_types::CanonicalPath;
use rustix::fs::{AtFlags, CWD, StatxFlags};

/// How long ago a change has to be so that another one gets another time; some file systems count in
/// seconds.
const SETTLED_AFTER_S: i64 = 3;

/// File systems that keep the time of the last change of a directory: ext2 to ext4, XFS, Btrfs, F2FS, tmpfs,
/// and overlays of them.
const FILE_SYSTEMS: [u64; 6] =
    [0xEF53, 0x5846_5342, 0x9123_683E, 0xF2F5_2010, 0x0102_1994, 0x794C_7630];

/// A directory at one moment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Moment {
    device: (u32, u32),
    inode: u64,
    born: (i64, u32),
    changed: (i64, u32),
}

/// What was seen of a directory.
#[derive(Debug)]
pub(super) struct Seen {
    /// When, if it can be relied on as long as that is the same.
    pub(super) moment: Option<Moment>,
    /// By which patterns, and in which repository.
    pub(super) patterns: Arc<[String]>,
    pub(super) top: Option<CanonicalPath>,
    pub(super) n_entries: usize,
    pub(super) is_top: bool,
    pub(super) is_shape: bool,
    /// Those that count, lead on, or may come to count.
    pub(super) entries: Vec<SeenEntry>,
}

/// Something in a directory.
#[derive(Debug)]
pub(super) struct SeenEntry {
    pub(super) path: CanonicalPath,
    pub(super) kind: Kind,
    /// How far it counts by its name.
    pub(super) reach: Option<Reach>,
    pub(super) is_part: bool,
    /// Whether programs take its name for an option.
    pub(super) is_option: bool,
    pub(super) is_border: bool,
}

/// Tells when directories were changed.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// Whether the file system of a device keeps the times.
    devices: HashMap<(u32, u32), bool>,
}

impl Moment {
    fn of(path: &Path) -> Option<Self> {
        let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        let stat = rustix::fs::statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, wanted).ok()?;
        Some(Self {
            device: (stat.stx_dev_major, stat.stx_dev_minor),
            inode: stat.stx_ino,
            born: (stat.stx_btime.tv_sec, stat.stx_btime.tv_nsec),
            changed: (stat.stx_ctime.tv_sec, stat.stx_ctime.tv_nsec),
        })
    }
}

impl Watch {
    /// Returns what a directory is like now, if another change would show.
    pub(super) fn look(&mut self, directory: &CanonicalPath) -> Option<Moment> {
        // Before it is looked at, so that what changes meanwhile is younger.
        let now = i64::try_from(SystemClock.now().unix_ms() / 1000).unwrap_or(0);
        let path = directory.as_path();
        let moment = Moment::of(path)?;
        let keeps_times = self.devices.entry(moment.device).or_insert_with(|| {
            let kind = rustix::fs::statfs(path).ok().and_then(|fs| u64::try_from(fs.f_type).ok());
            kind.is_some_and(|kind| FILE_SYSTEMS.contains(&kind))
        });
        // One that was changed in the future was so because somebody turned back the clock.
        let is_settled = moment.changed.0.saturating_add(SETTLED_AFTER_S) < now;
        (*keeps_times && is_settled).then_some(moment)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests make files")]

    use super::*;

    /// A directory that was just changed is not relied on: it could be changed again at the same time.
    #[test]
    fn what_was_just_changed_is_read_again() {
        let place = tempfile::tempdir().unwrap();
        let path = CanonicalPath::new(place.path().canonicalize().unwrap()).unwrap();
        assert_eq!(Watch::default().look(&path), None);
        // The control: one that nobody changes.
        let settled = CanonicalPath::new("/usr").unwrap();
        let moment = Watch::default().look(&settled);
        assert_eq!(moment, Watch::default().look(&settled));
        assert!(moment.is_some(), "this machine's `/usr` cannot be relied on");
    }

    /// Whatever is done to its entries, and however its times are set back, a directory shows it.
    #[test]
    fn another_change_shows() {
        let [place, beside] = [0, 1].map(|_| tempfile::tempdir().unwrap());
        let at = |name: &str| place.path().join(name);
        std::fs::write(at("a"), "a").unwrap();
        let was = std::fs::metadata(place.path()).unwrap().modified().unwrap();
        let set_back = || std::fs::File::open(place.path()).unwrap().set_modified(was).unwrap();
        let ways: [&dyn Fn(); 5] = [
            &|| std::fs::write(at("b"), "b").unwrap(),
            &|| std::fs::rename(at("b"), at("c")).unwrap(),
            &|| std::os::unix::fs::symlink("a", at("d")).unwrap(),
            &|| std::fs::remove_file(at("c")).unwrap(),
            &|| (std::fs::write(at("e"), "e").unwrap(), set_back()).1,
        ];
        for (n, way) in ways.iter().enumerate() {
            let before = Moment::of(place.path()).unwrap();
            // Until the clock of the file system has gone on: within one tick nothing need show.
            let tick = beside.path().join("tick");
            while {
                std::fs::write(&tick, "").unwrap();
                Moment::of(&tick).unwrap().changed <= before.changed
            } {
                std::fs::remove_file(&tick).unwrap();
            }
            way();
            assert_ne!(Moment::of(place.path()).unwrap(), before, "way {n}");
        }
    }
}
