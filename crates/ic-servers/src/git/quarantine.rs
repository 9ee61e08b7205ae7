//! The repository of ours in which git meets another machine: our config, borrowed objects, no files.
//!
//! ```text
//! quarantine/   config, HEAD                   ours
//!               packed-refs                    what is known already, by numbers: `refs/known/0` …
//!               objects/                       what comes in
//!               objects/info/alternates ─▶ borrowed/ ─▶ links to the parts of <repository>/.git/objects
//! ```
//!
//! SECURITY: git never sees the repository itself, so neither its config nor its names count, whenever
//! they are changed. The borrowed objects are behind a directory of links, since git asks a repository
//! that it recognises for its refs, and would read its config and its own alternates for that.
//!
//! What is brought over is whole packs that git has checked. Which refs are made of it is not known here.

use std::ffi::OsStr;
use std::path::Path;

use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::fault::Fault;
use super::private::{Private, Scratch, write_new};
use super::repository::Repository;
use crate::filesystem::beneath;
use ic_resolve::Kind;

/// The most that is brought from another machine by one call; the memory of a cage holds so much.
pub(super) const PACKS_BYTES_MAX: u64 = 480 << 20;
/// The most entries of a directory of objects that are looked at.
const ENTRIES_MAX: usize = 100_000;

const CONFIG: &[u8] = b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n";
const CONFIG_SHA256: &[u8] = b"[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectFormat = sha256\n";
const DIRECTORIES: [&str; 6] =
    ["objects", "objects/info", "objects/pack", "refs", "refs/heads", "borrowed"];

/// The parts of a pack, in the order in which they are put in place.
const PARTS: [&str; 3] = ["pack", "rev", "idx"];

/// A quarantine; removed when it is dropped.
#[derive(Debug)]
pub(super) struct Quarantine<'a> {
    private: Private<'a>,
}

/// How the objects of a repository are numbered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Numbering {
    Sha1,
    Sha256,
}

impl<'a> Quarantine<'a> {
    /// Makes a quarantine that borrows nothing.
    pub(super) fn empty(scratch: &'a Scratch, numbering: Numbering) -> Result<Self, Fault> {
        let fault = Fault::system("make a quarantine");
        let private = scratch.directory()?;
        for directory in DIRECTORIES {
            rustix::fs::mkdirat(private.handle(), directory, Mode::RWXU).map_err(&fault)?;
        }
        private.write(
            "config",
            match numbering {
                Numbering::Sha1 => CONFIG,
                Numbering::Sha256 => CONFIG_SHA256,
            },
        )?;
        private.write("HEAD", b"ref: refs/heads/nothing\n")?;
        Ok(Self { private })
    }

    /// Makes a quarantine that borrows the objects of `repository`, where `known` are its refs.
    pub(super) fn of(
        scratch: &'a Scratch,
        repository: &Repository,
        known: &[String],
    ) -> Result<Self, Fault> {
        let is_sha256 = repository.settings.iter().any(|it| {
            it.section == "extensions"
                && it.key == "objectformat"
                && it.value.eq_ignore_ascii_case("sha256")
        });
        let numbering = if is_sha256 { Numbering::Sha256 } else { Numbering::Sha1 };
        let quarantine = Self::empty(scratch, numbering)?;
        quarantine.borrow(repository)?;
        let known = known.iter().enumerate().map(|(n, id)| format!("{id} refs/known/{n}"));
        let known = known.chain([String::new()]).collect::<Vec<_>>().join("\n");
        let private = &quarantine.private;
        private.write("packed-refs", known.as_bytes())?;
        if let Some(shallow) = repository.read_common("shallow")? {
            private.write("shallow", &shallow)?;
        }
        Ok(quarantine)
    }

    /// Links the directories of objects.
    fn borrow(&self, repository: &Repository) -> Result<(), Fault> {
        let fault = Fault::system("borrow the objects of the repository");
        let (_, entries, _) = beneath::list(repository.common(), Path::new("objects"), ENTRIES_MAX)
            .map_err(&fault)?;
        let objects = repository.common_path().join("objects");
        let borrowed = beneath::hold_directory(self.private.handle(), Path::new("borrowed"))
            .map_err(&fault)?;
        let is_fan = |name: &OsStr| {
            name.len() == 2 && name.to_str().is_some_and(|it| it.bytes().all(is_hex))
        };
        for entry in entries {
            let is_part = entry.name == "pack" || is_fan(&entry.name);
            // SECURITY: a link would lead to objects of somebody else.
            if is_part && entry.kind == Kind::Directory {
                rustix::fs::symlinkat(objects.join(&entry.name), &borrowed, &entry.name)
                    .map_err(&fault)?;
            }
        }
        // Taken from `objects`.
        self.private.write("objects/info/alternates", b"../borrowed\n")
    }

    /// Writes a file of ours.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Fault> {
        self.private.write(name, bytes)
    }

    /// Returns the directory.
    pub(super) fn handle(&self) -> BorrowedFd<'_> {
        self.private.handle()
    }

    /// Returns where it is, to be taken out of what git says.
    pub(super) fn path(&self) -> &Path {
        &self.private.path
    }

    /// Reads the commits at which history ends here, if it does.
    pub(super) fn shallow(&self) -> Result<Option<Vec<u8>>, Fault> {
        self.read("shallow")
    }

    /// Reads a file that git may have written.
    pub(super) fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Fault> {
        match self.private.read(name, super::repository::PART_BYTES_MAX) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(Fault::System { source: Errno::NOENT, .. }) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// Removes a file that git may have written.
    pub(super) fn forget(&self, name: &str) -> Result<(), Fault> {
        match rustix::fs::unlinkat(self.handle(), name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(Fault::system("tidy a quarantine up")(errno)),
        }
    }

    /// Returns how much has come in, as far as it can be told.
    pub(super) fn n_bytes(&self) -> u64 {
        let packs = Path::new("objects/pack");
        let Ok(directory) = beneath::hold_directory(self.handle(), packs) else { return 0 };
        let Ok((_, entries, _)) = beneath::list(&directory, Path::new(""), ENTRIES_MAX) else {
            return 0;
        };
        let sizes = entries.iter().filter_map(|entry| {
            beneath::look_at(&directory, &entry.name).ok().flatten().map(|it| beneath::size(&it))
        });
        sizes.sum()
    }

    /// Copies what came in to the objects of a repository, whose `.git` this is.
    pub(super) fn bring_over(&self, git: BorrowedFd<'_>) -> Result<(), Fault> {
        let fault = Fault::system("bring the objects over");
        let hold =
            |parent: BorrowedFd<'_>| beneath::hold_directory(parent, Path::new("objects/pack"));
        let from = hold(self.handle()).map_err(&fault)?;
        let to = match hold(git) {
            Err(Errno::NOENT) => {
                rustix::fs::mkdirat(git, "objects/pack", Mode::from_raw_mode(0o777))
                    .map_err(&fault)?;
                hold(git)
            }
            held => held,
        };
        let to = to.map_err(&fault)?;
        let (_, entries, _) = beneath::list(&from, Path::new(""), ENTRIES_MAX).map_err(&fault)?;
        for part in PARTS {
            for entry in entries.iter().filter(|entry| entry.kind == Kind::File) {
                let Some(name) = entry.name.to_str().filter(|name| is_pack_part(name, part)) else {
                    continue;
                };
                copy(&from, &to, name).map_err(&fault)?;
            }
        }
        Ok(())
    }
}

fn is_hex(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'a'..=b'f')
}

/// Returns whether `name` is that part of a pack, as git calls it.
fn is_pack_part(name: &str, part: &str) -> bool {
    let number = name.strip_prefix("pack-").and_then(|rest| rest.strip_suffix(part));
    let number = number.and_then(|number| number.strip_suffix('.'));
    number.is_some_and(|it| matches!(it.len(), 40 | 64) && it.bytes().all(is_hex))
}

/// Copies a file under its own name, unless it is there already; it is there as a whole or not at all.
fn copy(from: &OwnedFd, to: &OwnedFd, name: &str) -> Result<(), Errno> {
    if beneath::look_at(to, OsStr::new(name))?.is_some() {
        return Ok(());
    }
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let source = rustix::fs::openat(from, name, flags, Mode::empty())?;
    let passing = format!("tmp_ironcurtain_{name}");
    rustix::fs::unlinkat(to, &passing, AtFlags::empty()).ok();
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let mode = Mode::RUSR | Mode::RGRP | Mode::ROTH;
    let target = rustix::fs::openat(to, &passing, flags, mode)?;
    let copied = copy_bytes(&source, &target)
        .and_then(|()| rustix::fs::fsync(&target))
        .and_then(|()| rustix::fs::renameat(to, &passing, to, name));
    if copied.is_err() {
        rustix::fs::unlinkat(to, &passing, AtFlags::empty()).ok();
    }
    copied
}

fn copy_bytes(source: &OwnedFd, target: &OwnedFd) -> Result<(), Errno> {
    let mut chunk = vec![0; 256 << 10];
    loop {
        let n_bytes = rustix::io::retry_on_intr(|| rustix::io::read(source, &mut chunk))?;
        let mut rest = chunk.get(..n_bytes).unwrap_or_default();
        if rest.is_empty() {
            return Ok(());
        }
        while !rest.is_empty() {
            let n_bytes = rustix::io::retry_on_intr(|| rustix::io::write(target, rest))?;
            rest = rest.get(n_bytes..).unwrap_or_default();
        }
    }
}

/// Puts the file `shallow` of a repository in place, or takes it away.
pub(super) fn set_shallow(git: BorrowedFd<'_>, bytes: Option<&[u8]>) -> Result<(), Fault> {
    let fault = Fault::system("note where history ends");
    let Some(bytes) = bytes.filter(|bytes| !bytes.is_empty()) else {
        return match rustix::fs::unlinkat(git, "shallow", AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(fault(errno)),
        };
    };
    // Git's own lock on it.
    write_new(git, "shallow.lock", bytes).map_err(&fault)?;
    rustix::fs::renameat(git, "shallow.lock", git, "shallow").map_err(&fault)
}

/// Holds on to the quarantine itself, for whoever has to name files in it shortly.
pub(super) fn short_path(quarantine: &Quarantine<'_>, name: &str) -> std::path::PathBuf {
    use rustix::fd::AsRawFd as _;
    let number = quarantine.handle().as_fd().as_raw_fd();
    Path::new("/proc/self/fd").join(number.to_string()).join(name)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make files")]

    use super::*;

    #[test]
    fn what_lies_beside_a_pack_stays_behind() {
        let place = tempfile::tempdir().unwrap();
        let scratch = Scratch::make(place.path()).unwrap();
        let quarantine = Quarantine::empty(&scratch, Numbering::Sha1).unwrap();
        let number = "0123456789abcdef0123456789abcdef01234567";
        let [pack, index] = ["pack", "idx"].map(|part| format!("pack-{number}.{part}"));
        let keep = format!("pack-{number}.keep");
        let packs = quarantine.path().join("objects/pack");
        for name in [&pack, &index, &keep, "multi-pack-index", "tmp_pack_x", "evil"] {
            std::fs::write(packs.join(name), name).unwrap();
        }
        // Neither does it come by a link with the name of a pack.
        let other = format!("pack-{}.pack", number.replace('0', "1"));
        std::os::unix::fs::symlink("/etc/passwd", packs.join(other)).unwrap();
        let to = place.path().join("git");
        std::fs::create_dir_all(to.join("objects")).unwrap();
        let git = beneath::hold_root(&to.canonicalize().unwrap()).unwrap();
        quarantine.bring_over(git.as_fd()).unwrap();
        let came = std::fs::read_dir(to.join("objects/pack")).unwrap();
        let mut came: Vec<_> = came.map(|it| it.unwrap().file_name()).collect();
        came.sort();
        assert_eq!(came, [index.as_str(), pack.as_str()]);
        assert_eq!(std::fs::read(to.join("objects/pack").join(&pack)).unwrap(), pack.as_bytes());
    }

    #[test]
    fn only_packs_are_brought_over() {
        let number = "0123456789abcdef0123456789abcdef01234567";
        assert!(is_pack_part(&format!("pack-{number}.pack"), "pack"));
        assert!(is_pack_part(&format!("pack-{number}.idx"), "idx"));
        for name in [
            format!("pack-{number}.keep"),
            format!("pack-{number}.promisor"),
            format!("pack-{number}.bitmap"),
            format!("pack-{number}pack"),
            format!("pack-{}.pack", number.to_uppercase()),
            "pack-.pack".to_owned(),
            "pack-../../x.pack".to_owned(),
            "multi-pack-index".to_owned(),
            "tmp_pack_x".to_owned(),
        ] {
            assert!(!PARTS.iter().any(|part| is_pack_part(&name, part)), "{name}");
        }
    }
}
