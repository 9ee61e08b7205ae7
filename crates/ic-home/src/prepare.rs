//! Makes the home directory fit for use: ours, private, swept, and not somebody else's.
//!
//! Called by commands that write. Everything that can be refused is looked at before anything is
//! made or changed, so a home that is refused is left as it was. Contents are not looked at, but
//! for the question whether another program made the home.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the home is resolved once here, and left-over files are looked at by handle"
)]

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use ic_types::{Json, Timestamp};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::clock::{Clock as _, SystemClock};
use crate::config::document::{CONFIG_BYTES_MAX, LIMITS};
use crate::file::{self, Doing, FileError};
use crate::layout::Home;
use crate::{scratch, temporary};

/// The directories that a home always has.
const FIXED: [&str; 5] = ["keys", "sessions", "registry", "logs", "audit"];
/// Directories that a home may have, and whose files are ours.
const OPTIONAL: [&str; 2] = ["generated", "ca"];
/// What else in the home is ours alone; whatever is called otherwise is left as it is.
const PRIVATE: [&str; 7] = [
    "config.json",
    "config.lock",
    "mcp-servers.json",
    "servers.lock.json",
    "servers",
    "constitution.md",
    "escalation-listener.lock",
];

/// A home that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// Another program made it.
    #[error(
        "`{}` was made by another IronCurtain program (its config.json has no `version`), \
         and is left as it is", .root.display()
    )]
    Foreign {
        /// The home.
        root: PathBuf,
    },
    /// It is a link that another user can change.
    #[error("`{}` is a link that belongs to another user (id {owner})", .root.display())]
    LinkNotOurs {
        /// The home.
        root: PathBuf,
        /// Who owns the link.
        owner: u32,
    },
    /// It is a link to nothing.
    #[error("`{}` is a link to something that does not exist", .root.display())]
    Dangling {
        /// The home.
        root: PathBuf,
    },
    /// The directory in which it would be made is missing.
    #[error("cannot make `{}`: the directory above it does not exist", .root.display())]
    NoParent {
        /// The home.
        root: PathBuf,
    },
    /// One of its files or directories could not be used.
    #[error(transparent)]
    File(#[from] FileError),
}

/// What is found where the home should be.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Look {
    /// Nothing: it is made when something is to be written.
    Absent,
    /// A home that can be used.
    Present {
        /// What others may look at and should not; preparing the home ends that.
        exposed: Vec<PathBuf>,
    },
}

impl Home {
    /// Looks whether the home can be used, and changes nothing.
    pub fn look(&self) -> Result<Look, HomeError> {
        let root = self.root();
        let Some(existing) = existing_root(&root)? else { return Ok(Look::Absent) };
        refuse_foreign(&root, &existing)?;
        let names = PRIVATE.iter().chain(&FIXED).chain(&OPTIONAL);
        let paths = names.map(|name| existing.join(name)).chain([self.audit_key()]);
        let exposed = std::iter::once(existing.clone()).chain(paths);
        Ok(Look::Present { exposed: exposed.filter(|path| is_exposed(path)).collect() })
    }

    /// Makes the home ready to be written to.
    ///
    /// Makes the directories that are missing, takes the rights of others away from what is ours,
    /// and removes temporary files that were left over.
    pub fn prepare(&self) -> Result<(), HomeError> {
        let root = self.root();
        let existing = existing_root(&root)?;
        if let Some(existing) = &existing {
            refuse_foreign(&root, existing)?;
        }
        let root = match existing {
            Some(existing) => existing,
            None => create_root(&root)?,
        };
        file::make_private(&root)?;
        for name in PRIVATE {
            file::make_private(&root.join(name))?;
        }
        for name in FIXED {
            file::create_dir(root.join(name))?;
        }
        sweep(&root)?;
        for name in FIXED.iter().chain(&OPTIONAL) {
            tidy_up(&root.join(name))?;
        }
        for session in file::own_names(&root.join("sessions"))? {
            let session = root.join("sessions").join(session);
            sweep(&session)?;
            sweep(&session.join("escalations"))?;
        }
        Ok(())
    }

    /// Returns whether the home was made by another program: its configuration has no `version`.
    pub fn is_foreign(&self) -> Result<bool, FileError> {
        is_foreign(&self.root())
    }
}

/// Returns the root, free of links, if it is there and ours.
fn existing_root(root: &Path) -> Result<Option<PathBuf>, HomeError> {
    let failed = |source| FileError::system(Doing::Read, root, source);
    let stat_with = |flags| rustix::fs::statat(CWD, root, flags);
    let entry = match stat_with(AtFlags::SYMLINK_NOFOLLOW) {
        Ok(entry) => entry,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(failed(io::Error::from(error)).into()),
    };
    let us = rustix::process::geteuid().as_raw();
    let is_link = kind(&entry) == FileType::Symlink;
    // SECURITY: whoever owns the link decides where our keys and logs go from tomorrow on.
    if is_link && entry.st_uid != us && entry.st_uid != 0 {
        return Err(HomeError::LinkNotOurs { root: root.to_owned(), owner: entry.st_uid });
    }
    let target = match stat_with(AtFlags::empty()) {
        Ok(target) => target,
        Err(Errno::NOENT) => return Err(HomeError::Dangling { root: root.to_owned() }),
        Err(error) => return Err(failed(io::Error::from(error)).into()),
    };
    if kind(&target) != FileType::Directory {
        return Err(FileError::NotDirectory { path: root.to_owned() }.into());
    }
    if target.st_uid != us {
        let (path, owner) = (root.to_owned(), target.st_uid);
        return Err(FileError::NotOurs { path, owner, us }.into());
    }
    Ok(Some(std::fs::canonicalize(root).map_err(failed)?))
}

/// Returns whether others than the owner may do anything with what is at `path`.
fn is_exposed(path: &Path) -> bool {
    let others = Mode::RWXG | Mode::RWXO;
    rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| {
        kind(&stat) != FileType::Symlink && Mode::from_raw_mode(stat.st_mode).intersects(others)
    })
}

fn create_root(root: &Path) -> Result<PathBuf, HomeError> {
    match file::create_dir(root) {
        Ok(()) => Ok(root.to_owned()),
        Err(FileError::System { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            Err(HomeError::NoParent { root: root.to_owned() })
        }
        Err(error) => Err(error.into()),
    }
}

fn refuse_foreign(root: &Path, existing: &Path) -> Result<(), HomeError> {
    match is_foreign(existing)? {
        true => Err(HomeError::Foreign { root: root.to_owned() }),
        false => Ok(()),
    }
}

fn is_foreign(root: &Path) -> Result<bool, FileError> {
    let config = root.join("config.json");
    let bytes = match file::read(&config, CONFIG_BYTES_MAX) {
        Ok(Some(bytes)) => zeroize::Zeroizing::new(bytes),
        Ok(None) => return Ok(false),
        Err(error) => return Err(error),
    };
    Ok(is_foreign_config(&bytes))
}

/// Returns whether a configuration is that of another program.
///
/// One that is not valid JSON belongs to no program; loading it says what is wrong.
pub(crate) fn is_foreign_config(bytes: &[u8]) -> bool {
    match Json::parse(bytes, LIMITS) {
        Ok(Json::Object(object)) => object.get("version").is_none(),
        Ok(Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_))
        | Err(_) => false,
    }
}

/// Takes the rights of others away from a directory and the files in it, and sweeps it.
fn tidy_up(directory: &Path) -> Result<(), FileError> {
    file::make_private(directory)?;
    for name in file::own_names(directory)? {
        file::make_private(&directory.join(name))?;
    }
    sweep(directory)
}

/// Removes temporary files that were left over, if this is a directory.
fn sweep(directory: &Path) -> Result<(), FileError> {
    for name in file::own_names(directory)? {
        let Some(maker) = temporary::maker(&name) else { continue };
        let path = directory.join(&name);
        let Some(file) = open_to_look(&path)? else { continue };
        let stat = rustix::fs::fstat(&file)
            .map_err(|error| FileError::system(Doing::Read, &path, error))?;
        // Whoever still writes to it holds its lock.
        let is_held = file.try_lock().is_err();
        if is_held || !temporary::is_left_over(maker, changed(&stat), SystemClock.now()) {
            continue;
        }
        if kind(&stat) == FileType::Directory {
            // A server may have left something in it that resists; then it stays for now.
            scratch::remove(&path).ok();
        } else {
            file::remove(&path)?;
        }
    }
    Ok(())
}

fn open_to_look(path: &Path) -> Result<Option<File>, FileError> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match rustix::fs::openat(CWD, path, flags, Mode::empty()) {
        Ok(fd) => Ok(Some(File::from(fd))),
        // Renamed into place or removed meanwhile, or a link, which is none of ours.
        Err(Errno::NOENT | Errno::LOOP) => Ok(None),
        Err(error) => Err(FileError::system(Doing::Read, path, error)),
    }
}

fn changed(stat: &Stat) -> Timestamp {
    let seconds = u64::try_from(stat.st_mtime).unwrap_or(0);
    Timestamp::from_unix_ms(seconds.saturating_mul(1_000))
}

fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}
