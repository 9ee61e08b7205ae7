//! What is in a directory: each file by its contents, so that every change to it is noticed.
//!
//! A file whose inode, size and times are as they were is not read again, so looking at an installation of
//! thousands of files costs a look at each. Nothing is copied, and no link is followed.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use ic_types::{Digest, Json, Object, Timestamp};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{AtFlags, CWD, FileType, Mode, ResolveFlags, Stat};

use super::{DIRECTORY, TreeError, TreeLimits, names, open_file, system};

/// A file that was changed so short a time ago is read again: another change may have the same times.
const SETTLED_AFTER_MS: u64 = 2_000;

/// Everything in a directory, by its path in it.
#[derive(Clone, Debug, Default)]
pub struct Manifest(BTreeMap<String, Entry>);

/// Something in a directory.
#[derive(Clone, Debug)]
struct Entry {
    kind: Kind,
    /// Of the contents, or of where a link leads.
    digest: Digest,
    /// What tells that a file is still the same, if that can be told.
    stamp: Option<String>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Directory,
    File,
    Program,
    Link,
}

/// How something differs from what it was.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Difference {
    /// It was not there.
    New,
    /// It is another.
    Changed,
    /// It is not there any more.
    Gone,
}

impl Manifest {
    /// Looks at all of `directory`, to which no link may lead; what `known` vouches for is not read again.
    pub fn of(
        directory: &Path,
        known: &Self,
        limits: TreeLimits,
        now: Timestamp,
    ) -> Result<Self, TreeError> {
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let opened = rustix::fs::openat2(CWD, directory, DIRECTORY, Mode::empty(), resolve);
        let opened = opened.map_err(|error| system(directory, error.into()))?;
        let mut looking = Looking { known, limits, now, n_bytes: 0, found: BTreeMap::new() };
        looking.directory(&opened, Path::new(""))?;
        Ok(Self(looking.found))
    }

    /// Returns the digest of all names, contents and links, and of which files can be run.
    pub fn digest(&self) -> Digest {
        let lines = self.0.iter().map(|(path, entry)| {
            [path.as_bytes(), &[0, entry.kind.letter()], entry.digest.as_bytes()].concat()
        });
        let lines: Vec<Vec<u8>> = lines.collect();
        Digest::of_parts(lines.iter().map(Vec::as_slice))
    }

    /// Returns what differs from `before`, in the order of paths.
    pub fn differences<'a>(&'a self, before: &'a Self) -> Vec<(&'a str, Difference)> {
        let mut found: Vec<(&'a str, Difference)> = Vec::new();
        for (path, entry) in &self.0 {
            match before.0.get(path) {
                None => found.push((path, Difference::New)),
                Some(old) if (old.kind, old.digest) != (entry.kind, entry.digest) => {
                    found.push((path, Difference::Changed));
                }
                Some(_) => {}
            }
        }
        let is_gone = |path: &&String| !self.0.contains_key(*path);
        found.extend(before.0.keys().filter(is_gone).map(|it| (it.as_str(), Difference::Gone)));
        found.sort_unstable_by_key(|(path, _)| *path);
        found
    }

    /// Returns whether `other` vouches for the same files in the same way, so that it need not be written.
    pub fn is_as_useful_as(&self, other: &Self) -> bool {
        let stamps = |it: &Self| it.0.values().filter(|entry| entry.stamp.is_some()).count();
        stamps(self) == stamps(other) && self.0.len() == other.0.len()
    }

    /// Returns it as it is written down.
    pub fn to_json(&self) -> Json {
        let mut entries = Object::new();
        for (path, entry) in &self.0 {
            let kind = char::from(entry.kind.letter()).to_string();
            let stamp = entry.stamp.as_deref().map_or(Json::Null, Json::from);
            let written = vec![Json::from(kind), Json::from(entry.digest.to_string()), stamp];
            entries.insert(path.as_str(), written);
        }
        Json::Object(entries)
    }

    /// Reads what was written; nothing if it is something else.
    pub fn of_json(json: Json) -> Option<Self> {
        let Json::Object(entries) = json else { return None };
        let entry = |json: Json| {
            let Json::Array(parts) = json else { return None };
            let [kind, digest, stamp] = parts.as_slice() else { return None };
            let kind = Kind::of(kind.as_str()?)?;
            let stamp = stamp.as_str().map(str::to_owned);
            Some(Entry { kind, digest: digest.as_str()?.parse().ok()?, stamp })
        };
        let entries = entries.into_entries().map(|(path, json)| Some((path, entry(json)?)));
        entries.collect::<Option<_>>().map(Self)
    }
}

impl Kind {
    fn letter(self) -> u8 {
        match self {
            Self::Directory => b'd',
            Self::File => b'f',
            Self::Program => b'x',
            Self::Link => b'l',
        }
    }

    fn of(letter: &str) -> Option<Self> {
        let all = [Self::Directory, Self::File, Self::Program, Self::Link];
        all.into_iter().find(|kind| letter.as_bytes() == [kind.letter()])
    }
}

/// A look that is under way.
struct Looking<'a> {
    known: &'a Manifest,
    limits: TreeLimits,
    now: Timestamp,
    n_bytes: u64,
    found: BTreeMap<String, Entry>,
}

impl Looking<'_> {
    fn directory(&mut self, directory: &OwnedFd, at: &Path) -> Result<(), TreeError> {
        if self.limits.depth_max < at.components().count() {
            return Err(TreeError::TooMuch { what: format!("`{}` is too deep", at.display()) });
        }
        for name in names(directory).map_err(|source| system(at, source))? {
            let path = at.join(&name);
            if self.limits.entries_max <= self.found.len() {
                let what = format!("more than {} files", self.limits.entries_max);
                return Err(TreeError::TooMuch { what });
            }
            self.entry(directory, &name, &path)?;
        }
        Ok(())
    }

    fn entry(&mut self, parent: &OwnedFd, name: &OsStr, path: &Path) -> Result<(), TreeError> {
        let failed = |error: rustix::io::Errno| system(path, error.into());
        let stat = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                let inner = rustix::fs::openat(parent, name, DIRECTORY, Mode::empty());
                self.note(path, Kind::Directory, Digest::of(b""), None);
                self.directory(&inner.map_err(failed)?, path)
            }
            FileType::RegularFile => self.file(parent, name, path),
            FileType::Symlink => {
                let leads = rustix::fs::readlinkat(parent, name, Vec::new()).map_err(failed)?;
                self.note(path, Kind::Link, Digest::of(leads.to_bytes()), None);
                Ok(())
            }
            _ => Err(TreeError::Special { path: path.to_owned() }),
        }
    }

    fn file(&mut self, parent: &OwnedFd, name: &OsStr, path: &Path) -> Result<(), TreeError> {
        let (file, stat) = open_file(parent.as_fd(), name, path)?;
        let is_program = Mode::from_raw_mode(stat.st_mode).contains(Mode::XUSR);
        let kind = if is_program { Kind::Program } else { Kind::File };
        let stamp = stamp(&stat);
        if let Some(known) = self.known.0.get(&key(path))
            && known.stamp.as_ref() == Some(&stamp)
            && known.kind == kind
        {
            let digest = known.digest;
            self.note(path, kind, digest, Some(stamp));
            return Ok(());
        }
        let content = self.limits.read(file, path, &mut self.n_bytes)?;
        let changed_ms = u64::try_from(stat.st_ctime).unwrap_or_default().saturating_mul(1_000);
        let is_settled = changed_ms.saturating_add(SETTLED_AFTER_MS) < self.now.unix_ms();
        self.note(path, kind, Digest::of(&content), is_settled.then_some(stamp));
        Ok(())
    }

    fn note(&mut self, path: &Path, kind: Kind, digest: Digest, stamp: Option<String>) {
        self.found.insert(key(path), Entry { kind, digest, stamp });
    }
}

/// Returns a path as text; two paths never have the same one.
fn key(path: &Path) -> String {
    let bytes = path.as_os_str().as_bytes();
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => text.to_owned(),
        // No path has a NUL, so none that is text looks like this.
        _ => format!("\0{}", bytes.escape_ascii()),
    }
}

/// Writes down what tells that a file was not touched; the time of its last change cannot be set by anybody
/// who may only write to it.
fn stamp(stat: &Stat) -> String {
    format!(
        "{} {} {} {}.{} {}.{} {:o}",
        stat.st_dev,
        stat.st_ino,
        stat.st_size,
        stat.st_mtime,
        stat.st_mtime_nsec,
        stat.st_ctime,
        stat.st_ctime_nsec,
        stat.st_mode
    )
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make and look at files as they like")]
mod tests {
    use std::fs;
    use std::fs::File;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    const LIMITS: TreeLimits =
        TreeLimits { entries_max: 16, bytes_max: 64, file_bytes_max: 32, depth_max: 3 };
    /// Long after whatever a test wrote.
    const LATER: Timestamp = Timestamp::from_unix_ms(4_107_542_400_000);

    fn made() -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir_all(place.path().join("a/b")).unwrap();
        fs::write(place.path().join("a/run"), "one").unwrap();
        fs::write(place.path().join("a/b/text"), "two").unwrap();
        symlink("run", place.path().join("a/link")).unwrap();
        place
    }

    fn look(place: &tempfile::TempDir, known: &Manifest, now: Timestamp) -> Manifest {
        let root = fs::canonicalize(place.path()).unwrap();
        Manifest::of(&root, known, LIMITS, now).unwrap()
    }

    #[test]
    fn every_change_is_seen_whatever_was_known_before() {
        type Change = fn(&Path);
        let cases: [(Change, &str, Difference); 9] = [
            (|at| fs::write(at.join("a/run"), "ONE").unwrap(), "a/run", Difference::Changed),
            (
                |at| {
                    // The same size and the same time of its contents: the other time tells.
                    let file = at.join("a/run");
                    let time = fs::metadata(&file).unwrap().modified().unwrap();
                    fs::write(&file, "eno").unwrap();
                    File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
                },
                "a/run",
                Difference::Changed,
            ),
            (
                |at| {
                    let mode = fs::Permissions::from_mode(0o755);
                    fs::set_permissions(at.join("a/b/text"), mode).unwrap();
                },
                "a/b/text",
                Difference::Changed,
            ),
            (|at| fs::write(at.join("a/new"), "").unwrap(), "a/new", Difference::New),
            (|at| fs::create_dir(at.join("a/dir")).unwrap(), "a/dir", Difference::New),
            (|at| fs::remove_file(at.join("a/run")).unwrap(), "a/run", Difference::Gone),
            (
                |at| {
                    fs::remove_file(at.join("a/link")).unwrap();
                    symlink("b", at.join("a/link")).unwrap();
                },
                "a/link",
                Difference::Changed,
            ),
            (
                |at| {
                    fs::remove_file(at.join("a/run")).unwrap();
                    symlink("b/text", at.join("a/run")).unwrap();
                },
                "a/run",
                Difference::Changed,
            ),
            (
                |at| {
                    fs::rename(at.join("a/b/text"), at.join("a/run")).unwrap();
                    fs::write(at.join("a/b/text"), "two").unwrap();
                },
                "a/run",
                Difference::Changed,
            ),
        ];
        for (change, path, expected) in cases {
            let place = made();
            let first = look(&place, &Manifest::default(), LATER);
            // As it was written down and read again.
            let known = Manifest::of_json(first.to_json()).unwrap();
            let again = look(&place, &known, LATER);
            assert_eq!(again.digest(), first.digest());
            assert_eq!(again.differences(&first), []);
            change(place.path());
            let now = look(&place, &known, LATER);
            assert_ne!(now.digest(), first.digest(), "{path}");
            assert_eq!(now.differences(&known), [(path, expected)]);
        }
    }

    #[test]
    fn a_file_that_was_not_touched_is_not_read_again() {
        let place = made();
        let mut known = look(&place, &Manifest::default(), LATER);
        // What is known of it is believed, as long as its times are the same.
        known.0.get_mut("a/run").unwrap().digest = Digest::of(b"believed");
        let believed = look(&place, &known, LATER);
        assert_eq!(believed.0["a/run"].digest, Digest::of(b"believed"));
        // Of what was written a moment ago, nothing is believed the next time.
        let now = fs::metadata(place.path().join("a/run")).unwrap().modified().unwrap();
        let now = now.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
        let now = Timestamp::from_unix_ms(u64::try_from(now).unwrap());
        let fresh = look(&place, &Manifest::default(), now);
        assert!(fresh.0.values().all(|entry| entry.stamp.is_none()));
        assert!(!fresh.is_as_useful_as(&known) && known.is_as_useful_as(&believed));
    }

    #[test]
    fn a_directory_that_is_too_much_or_a_link_is_refused() {
        let place = made();
        let root = fs::canonicalize(place.path()).unwrap();
        for limits in [
            TreeLimits { entries_max: 3, ..LIMITS },
            TreeLimits { bytes_max: 5, ..LIMITS },
            TreeLimits { file_bytes_max: 2, ..LIMITS },
            TreeLimits { depth_max: 1, ..LIMITS },
        ] {
            assert!(Manifest::of(&root, &Manifest::default(), limits, LATER).is_err());
        }
        symlink(root.join("a"), root.join("way")).unwrap();
        assert!(Manifest::of(&root.join("way"), &Manifest::default(), LIMITS, LATER).is_err());
        assert!(Manifest::of_json(Json::from("x")).is_none());
    }
}
