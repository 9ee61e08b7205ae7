//! What lies in a `.git`: files and directories only, and orders that git has no business writing.
//!
//! ```text
//! before a call    every name that git writes or reads by is a file or a directory (`check_kinds`)
//! around a change  config, hooks and info are what they were (`Orders`)
//! ```
//!
//! SECURITY: git opens some of its own files for writing through a link (messages, logs), and reads
//! objects through one; so one link there has git write the agent's words into a config. What is put
//! there after the check is not seen here: what git writes then lies in the repository all the same
//! (`run`), what it reads is in the cage, and what of it the host would obey is looked at afterwards.
//! Nothing is read here but the config.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use ic_resolve::Kind;
use ic_resolve::git::CONFIG_BYTES_MAX;
use rustix::fd::{AsFd as _, BorrowedFd};
use rustix::fs::{Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::repository::read;
use crate::filesystem::{beneath, show};

/// What is entered, as deep as it goes: git writes and reads there by name.
const ENTERED: [&str; 9] = [
    "info",
    "logs",
    "objects",
    "rebase-apply",
    "rebase-merge",
    "refs",
    "reftable",
    "sequencer",
    "worktrees",
];
/// What git does not touch here, and what people like to share by a link.
const PASSED_OVER: &str = "hooks";
/// The most entries that are looked at, before every call.
const ENTRIES_MAX: usize = 200_000;
/// How long the name of a directory is, from `.git`.
const NAME_BYTES_MAX: usize = 4096;

const LISTED: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NONBLOCK);

/// Checks that what git writes or reads by name in a `.git` are files and directories.
pub(super) fn check_kinds(git: BorrowedFd<'_>) -> Result<(), String> {
    check_at_most(git, ENTRIES_MAX)
}

fn check_at_most(git: BorrowedFd<'_>, entries_max: usize) -> Result<(), String> {
    let mut left = entries_max;
    let mut directories = vec![PathBuf::new()];
    while let Some(at) = directories.pop() {
        let is_top = at.as_os_str().is_empty();
        if NAME_BYTES_MAX < at.as_os_str().len() {
            return Err("a directory in its `.git` is too deep".to_owned());
        }
        let fault =
            |errno: Errno| format!("`.git/{}`: {}", show::path(&at), std::io::Error::from(errno));
        let listed = match beneath::open(git, &at, LISTED, Mode::empty()) {
            Ok(listed) => listed,
            // Git itself removes what is empty.
            Err(Errno::NOENT) if !is_top => continue,
            Err(errno) => return Err(fault(errno)),
        };
        for entry in Dir::new(listed).map_err(fault)? {
            let entry = entry.map_err(fault)?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            left = left.checked_sub(1).ok_or_else(|| {
                format!("its `.git` has more than {entries_max} entries; `git gc` makes them fewer")
            })?;
            let name = OsStr::from_bytes(name);
            if is_top && name == PASSED_OVER {
                continue;
            }
            match kind_of(git, &at, name, entry.file_type()).map_err(fault)? {
                None | Some(Kind::File) => {}
                Some(Kind::Directory) if is_top && !ENTERED.iter().any(|it| name == *it) => {}
                Some(Kind::Directory) => directories.push(at.join(name)),
                Some(Kind::Link | Kind::Other) => {
                    let name = show::path(&at.join(name));
                    return Err(format!(
                        "`.git/{name}` is neither a file nor a directory, and could lead elsewhere"
                    ));
                }
            }
        }
    }
    Ok(())
}

/// Returns what an entry is; `None` if it is gone by now.
fn kind_of(
    git: BorrowedFd<'_>,
    at: &Path,
    name: &OsStr,
    said: FileType,
) -> Result<Option<Kind>, Errno> {
    if said != FileType::Unknown {
        return Ok(Some(Kind::from(said)));
    }
    // Some file systems do not say.
    let parent = beneath::hold_directory(git, at)?;
    Ok(beneath::look_at(parent, name)?.map(|stat| beneath::kind(&stat)))
}

/// What the host takes orders from in a `.git`, as it was before git ran.
#[derive(Debug)]
pub(super) struct Orders {
    config: Option<(Stamp, Vec<u8>)>,
    others: BTreeMap<OsString, Stamp>,
}

/// Which file it is, and when it was written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Stamp {
    file: u64,
    length: i64,
    written: (i64, u64),
}

/// Where the host takes orders from besides the config.
const OTHERS: [&str; 2] = ["hooks", "info"];
/// The most entries of one of these that are looked at.
const OTHERS_MAX: usize = 1024;

impl Orders {
    /// Notes them.
    pub(super) fn note(common: BorrowedFd<'_>) -> Result<Self, String> {
        let config = match stamp(common, Path::new("config")) {
            None => None,
            Some(stamp) => read(common, "config", CONFIG_BYTES_MAX)?.map(|bytes| (stamp, bytes)),
        };
        Ok(Self { config, others: others(common) })
    }

    /// Checks that none was written since, and puts the config back if it was.
    ///
    /// A file that was replaced by another was not git's to replace: git writes these through a link
    /// or not at all. Who edits a config in place while git runs has to do that again.
    pub(super) fn check(&self, common: BorrowedFd<'_>) -> Result<(), String> {
        let now = stamp(common, Path::new("config"));
        let is_put_back = match (&self.config, now) {
            (Some((before, bytes)), Some(now)) if before.file == now.file => {
                let is_same = read(common, "config", CONFIG_BYTES_MAX)
                    .is_ok_and(|now| now.as_ref() == Some(bytes));
                if !is_same {
                    put_back(common, bytes).map_err(|errno| {
                        let why = std::io::Error::from(errno);
                        format!(
                            "`.git/config` was written while git was at work, and cannot be put \
                             back ({why}); the user should look at it before using git there"
                        )
                    })?;
                }
                !is_same
            }
            (None, Some(_)) => {
                return Err("`.git/config` appeared while git was at work; the user should look \
                            at it before using git there"
                    .to_owned());
            }
            (Some(_) | None, _) => false,
        };
        if is_put_back {
            return Err("`.git/config` was written while git was at work; it was put back as it \
                        was, and what git did is not told"
                .to_owned());
        }
        let now = others(common);
        let is_written = |(name, stamp): &(&OsString, &Stamp)| {
            self.others
                .get(*name)
                .is_none_or(|before| before.file == stamp.file && before != *stamp)
        };
        match now.iter().find(is_written) {
            None => Ok(()),
            Some((name, _)) => Err(format!(
                "`.git/{}` was written while git was at work; the user should look at it before \
                 using git there",
                show::name(name)
            )),
        }
    }
}

/// Writes a config anew, in the file that it is.
fn put_back(common: BorrowedFd<'_>, bytes: &[u8]) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK;
    let file = beneath::open(common, Path::new("config"), flags, Mode::empty())?;
    if beneath::kind(&rustix::fs::fstat(&file)?) != Kind::File {
        return Err(Errno::NOTSUP);
    }
    rustix::fs::ftruncate(&file, 0)?;
    let mut rest = bytes;
    while !rest.is_empty() {
        let n_bytes = rustix::io::retry_on_intr(|| rustix::io::write(&file, rest))?;
        rest = rest.get(n_bytes..).unwrap_or_default();
    }
    Ok(())
}

fn stamp(common: BorrowedFd<'_>, name: &Path) -> Option<Stamp> {
    let stat = beneath::look(common, name).ok()?;
    let written = (stat.st_mtime, stat.st_mtime_nsec);
    Some(Stamp { file: stat.st_ino, length: stat.st_size, written })
}

fn others(common: BorrowedFd<'_>) -> BTreeMap<OsString, Stamp> {
    let mut all = BTreeMap::new();
    for directory in OTHERS {
        let Ok((_, entries, _)) = beneath::list(common, Path::new(directory), OTHERS_MAX) else {
            continue;
        };
        for entry in entries {
            let path = Path::new(directory).join(entry.name);
            all.extend(stamp(common.as_fd(), &path).map(|stamp| (path.into_os_string(), stamp)));
        }
    }
    all
}

#[cfg(test)]
mod tests;
