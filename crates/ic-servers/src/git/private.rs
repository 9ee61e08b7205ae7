//! The directory that git takes for the common part of a repository: our config, the repository's refs.
//!
//! ```text
//! GIT_DIR = <repository>/.git           HEAD, index, merges and rebases under way
//! GIT_COMMON_DIR = <private>/           config, info/: written by us, for this one run
//!                             refs, packed-refs, logs, worktrees ─▶ <repository>/.git/…
//! GIT_OBJECT_DIRECTORY = <repository>/.git/objects
//! ```
//!
//! In a linked working tree `GIT_DIR` is `<private>/worktrees/<name>`, by the link that is drawn above,
//! since git finds out by that name which of the trees it is in; and HEAD of the repository is copied.
//!
//! SECURITY: git reads the config of the common part and no other. So it does not matter when the
//! repository's own config is changed, after it was checked or while git runs: it is not read.
//! Nothing is checked here.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use ic_resolve::Kind;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::fault::Fault;
use super::repository::Repository;
use super::settings;

/// What is the repository's own, under its own name.
const LINKED: [&str; 4] = ["refs", "packed-refs", "logs", "worktrees"];
/// What is copied, if it is there: patterns and numbers, no programs.
const COPIED: [&str; 3] = ["info/exclude", "info/attributes", "shallow"];
/// How deep a private directory is when it is removed again.
const DEPTH_MAX: usize = 32;

/// Where private directories are made; removed with all that is in it.
#[derive(Debug)]
pub(super) struct Scratch {
    path: PathBuf,
    handle: OwnedFd,
    n_made: AtomicU64,
}

/// A private directory; removed when it is dropped.
#[derive(Debug)]
pub(super) struct Private<'a> {
    scratch: &'a Scratch,
    name: String,
    pub(super) path: PathBuf,
    handle: OwnedFd,
}

impl Scratch {
    /// Makes a directory that nobody else has, in `parent`.
    pub(super) fn make(parent: &Path) -> Result<Self, Errno> {
        let mut random = [0_u8; 16];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
        let path = parent.join(format!("ironcurtain-git-{:032x}", u128::from_ne_bytes(random)));
        rustix::fs::mkdirat(CWD, &path, Mode::RWXU)?;
        let handle = hold(CWD, &path)?;
        Ok(Self { path, handle, n_made: AtomicU64::new(0) })
    }

    /// Returns an empty directory that can be a home.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the directory itself, in which git may write.
    pub(super) fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    /// Makes an empty directory.
    pub(super) fn directory(&self) -> Result<Private<'_>, Fault> {
        let number = self.n_made.fetch_add(1, Ordering::Relaxed);
        let name = number.to_string();
        let fault = Fault::system("make a directory for git");
        rustix::fs::mkdirat(&self.handle, &name, Mode::RWXU).map_err(&fault)?;
        let handle = hold(&self.handle, Path::new(&name)).map_err(&fault)?;
        let path = self.path.join(&name);
        Ok(Private { scratch: self, name, path, handle })
    }

    /// Makes the private directory for one run of git in `repository`.
    pub(super) fn private(&self, repository: &Repository) -> Result<Private<'_>, Fault> {
        let fault = Fault::system("make a directory for git");
        let private = self.directory()?;
        private.write("config", settings::private(&repository.settings).as_bytes())?;
        private.make("info")?;
        for name in COPIED {
            if let Some(bytes) = repository.read_common(name)? {
                private.write(name, &bytes)?;
            }
        }
        let git = repository.common_path();
        for name in LINKED {
            // Git makes this one if need be, and the others not through a link.
            let is_there = name == "packed-refs" || repository.look_common(name)?.is_some();
            if is_there {
                rustix::fs::symlinkat(git.join(name), &private.handle, name).map_err(&fault)?;
            }
        }
        // Git reads there which branch the other working tree is on, so as not to take it away.
        if repository.link().is_some()
            && let Some(head) = repository.read_common("HEAD")?
        {
            private.write("HEAD", &head)?;
        }
        Ok(private)
    }
}

impl Private<'_> {
    /// Writes a new file.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Fault> {
        write_new(&self.handle, name, bytes).map_err(Fault::system("write a file for git"))
    }

    /// Makes a directory in it.
    pub(super) fn make(&self, name: &str) -> Result<(), Fault> {
        rustix::fs::mkdirat(&self.handle, name, Mode::RWXU)
            .map_err(Fault::system("make a directory for git"))
    }

    /// Returns the directory.
    pub(super) fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    /// Reads a file back that git may have changed.
    pub(super) fn read(&self, name: &str, bytes_max: usize) -> Result<Vec<u8>, Fault> {
        let fault = Fault::system("read back what git wrote");
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = rustix::fs::openat(&self.handle, name, flags, Mode::empty()).map_err(&fault)?;
        let mut bytes = vec![0; bytes_max];
        let n_bytes =
            rustix::io::retry_on_intr(|| rustix::io::read(&file, &mut bytes)).map_err(&fault)?;
        if n_bytes == bytes_max {
            return Err(fault(Errno::FBIG));
        }
        bytes.truncate(n_bytes);
        Ok(bytes)
    }
}

impl Drop for Private<'_> {
    fn drop(&mut self) {
        remove(&self.scratch.handle, Path::new(&self.name), DEPTH_MAX).ok();
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        remove(CWD, &self.path, DEPTH_MAX).ok();
    }
}

/// Writes a file that is not there yet.
pub(super) fn write_new(directory: impl AsFd, name: &str, bytes: &[u8]) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
    let file = rustix::fs::openat(directory, name, flags, mode)?;
    let mut rest = bytes;
    while !rest.is_empty() {
        let n_bytes = rustix::io::retry_on_intr(|| rustix::io::write(&file, rest))?;
        rest = rest.get(n_bytes..).unwrap_or_default();
    }
    Ok(())
}

fn hold(parent: impl AsFd, path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::openat(parent, path, flags, Mode::empty())
}

/// Removes a directory and what is in it; links are removed and not followed.
pub(super) fn remove(parent: impl AsFd, path: &Path, depth: usize) -> Result<(), Errno> {
    empty(hold(&parent, path)?.as_fd(), depth)?;
    rustix::fs::unlinkat(parent, path, AtFlags::REMOVEDIR)
}

/// Removes what is in a directory that is open for reading; links are removed and not followed.
pub(super) fn empty(handle: BorrowedFd<'_>, depth: usize) -> Result<(), Errno> {
    if depth == 0 {
        return Err(Errno::LOOP);
    }
    for entry in Dir::read_from(handle)? {
        let entry = entry?;
        let name = Path::new(std::ffi::OsStr::from_bytes(entry.file_name().to_bytes()));
        if matches!(entry.file_name().to_bytes(), b"." | b"..") {
            continue;
        }
        match entry.file_type() {
            FileType::Directory => remove(handle, name, depth - 1)?,
            _ => rustix::fs::unlinkat(handle, name, AtFlags::empty())?,
        }
    }
    Ok(())
}

/// Makes `.git/logs`, which git does not make through a link.
pub(super) fn ensure_logs(repository: &Repository) -> Result<(), Fault> {
    match repository.look_common("logs")? {
        Some(Kind::Directory) => Ok(()),
        _ => match rustix::fs::mkdirat(repository.common(), "logs", Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(errno) => Err(Fault::system("make `.git/logs`")(errno)),
        },
    }
}
