//! What can go wrong with a file of ours, and how it is said.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

/// A file of ours that could not be used.
///
/// A variant says what we were doing and on which path; the cause is the source.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system refused.
    #[error("cannot {doing} `{}`", .path.display())]
    System {
        /// What we were doing.
        doing: Doing,
        /// The path that we were doing it to.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The path is a link, and links are not followed here.
    #[error("`{}` is a link, and is not followed", .path.display())]
    Link {
        /// The path.
        path: PathBuf,
    },
    /// Something else than a file is there.
    #[error("`{}` is not a regular file", .path.display())]
    NotRegular {
        /// The path.
        path: PathBuf,
    },
    /// Something else than a directory is there, a link included.
    #[error("`{}` is not a directory", .path.display())]
    NotDirectory {
        /// The path.
        path: PathBuf,
    },
    /// Another user owns it.
    #[error("`{}` belongs to another user (id {owner}, and we are {us})", .path.display())]
    NotOurs {
        /// The path.
        path: PathBuf,
        /// Who owns it.
        owner: u32,
        /// Who we are.
        us: u32,
    },
    /// Something is there already.
    #[error("`{}` exists already", .path.display())]
    Exists {
        /// The path.
        path: PathBuf,
    },
    /// The file is longer than it may be.
    #[error("`{}` is longer than {bytes_max} bytes", .path.display())]
    TooLong {
        /// The path.
        path: PathBuf,
        /// The limit.
        bytes_max: u64,
    },
}

/// What is done to a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Doing {
    /// Reading it.
    Read,
    /// Writing it, or a temporary file that takes its place.
    Write,
    /// Making it last.
    Sync,
    /// Making a directory.
    CreateDirectory,
    /// Setting who may use it.
    SetMode,
    /// Removing it.
    Remove,
    /// Locking it.
    Lock,
}

impl FileError {
    pub(crate) fn system(doing: Doing, path: &Path, source: impl Into<io::Error>) -> Self {
        Self::System { doing, path: path.to_owned(), source: source.into() }
    }

    pub(super) fn opening(doing: Doing, path: &Path, error: Errno) -> Self {
        let path_buf = path.to_owned();
        match error {
            Errno::LOOP => Self::Link { path: path_buf },
            // A directory opened to write, a pipe without a reader.
            Errno::ISDIR | Errno::NXIO => Self::NotRegular { path: path_buf },
            error => Self::system(doing, path, error),
        }
    }

    /// Says the same about `path`, which was meant.
    pub(super) fn on(self, doing: Doing, path: &Path) -> Self {
        match self {
            Self::System { source, .. } => Self::system(doing, path, source),
            other => other,
        }
    }

    /// Returns the path that could not be used.
    pub fn path(&self) -> &Path {
        match self {
            Self::System { path, .. }
            | Self::Link { path }
            | Self::NotRegular { path }
            | Self::NotDirectory { path }
            | Self::NotOurs { path, .. }
            | Self::Exists { path }
            | Self::TooLong { path, .. } => path,
        }
    }
}

impl fmt::Display for Doing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Sync => "sync",
            Self::CreateDirectory => "create the directory",
            Self::SetMode => "make private",
            Self::Remove => "remove",
            Self::Lock => "lock",
        })
    }
}
