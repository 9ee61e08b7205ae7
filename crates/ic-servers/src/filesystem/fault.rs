//! Why a call of the filesystem server failed, in words for the model that made it.
//!
//! What failed, on what, and what to do about it. A fault is a result of the call, never an error of
//! the protocol. None of them shows where a link outside the view leads.

use std::io;

use ic_resolve::Kind;
use ic_types::CanonicalPath;
use rustix::io::Errno;

use super::show;
use super::view::{Links, Rights};

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error("the argument `{name}` {reason}")]
    Argument { name: &'static str, reason: String },
    #[error("there is no argument `{}`; the tool takes {takes}", show::text(name))]
    UnknownArgument { name: String, takes: String },
    #[error("`{}` cannot be used as a path: {reason}", show::text(text))]
    Path { text: String, reason: String },
    #[error(
        "`{}` is outside of the directories that can be reached; `list_allowed_directories` names them",
        show::text(text)
    )]
    Outside { text: String },
    #[error("`{}` cannot be reached: the directory was not there when the server started ({reason})", show::path(directory.as_path()))]
    Unavailable { directory: CanonicalPath, reason: String },
    #[error(
        "`{}` is in a directory without the right to {lacking}; `list_allowed_directories` names the rights",
        show::path(path.as_path())
    )]
    NoRight { path: CanonicalPath, lacking: Rights },
    #[error("`{}` is protected or closed by the policy: it is neither read nor changed", show::path(path.as_path()))]
    LeftOut { path: CanonicalPath },
    #[error("`{}` stays where it is: something protected, or closed by the policy, is or would be beneath it", show::path(path.as_path()))]
    AboveLeftOut { path: CanonicalPath },
    #[error("`{}` stays where it is: it is, or contains, a directory that was given to this server", show::path(path.as_path()))]
    HoldsView { path: CanonicalPath },
    #[error("{}", changed(path, *links))]
    Changed { path: CanonicalPath, links: Links },
    #[error("`{}` does not exist", show::path(path.as_path()))]
    Missing { path: CanonicalPath },
    #[error(
        "the directory for `{}` does not exist; make it with `create_directory` first",
        show::path(path.as_path())
    )]
    NoParent { path: CanonicalPath },
    #[error("a part of the path `{}` is not a directory", show::path(path.as_path()))]
    ThroughFile { path: CanonicalPath },
    #[error("`{}` is {}; {wanted}", show::path(path.as_path()), kind_name(*is))]
    WrongKind { path: CanonicalPath, is: Kind, wanted: &'static str },
    #[error("`{}` exists already; nothing was changed", show::path(path.as_path()))]
    Exists { path: CanonicalPath },
    #[error("`{}` is longer than {bytes_max} bytes; {instead}", show::path(path.as_path()))]
    TooLong { path: CanonicalPath, bytes_max: usize, instead: &'static str },
    #[error("`{}` is not UTF-8 text; use `read_media_file` for its bytes", show::path(path.as_path()))]
    NotText { path: CanonicalPath },
    #[error("`{}` was changed by another program meanwhile; read it again", show::path(path.as_path()))]
    Overtaken { path: CanonicalPath },
    #[error("edit {number}: {reason}; nothing was changed")]
    Edit { number: usize, reason: String },
    #[error("{reason}; copy it, and then remove it")]
    OtherDisk { reason: &'static str },
    #[error("cannot {doing} `{}`: {source}", show::path(path.as_path()))]
    System { doing: &'static str, path: CanonicalPath, source: io::Error },
    #[error("the call was cancelled")]
    Cancelled,
    /// In the words of whoever carried the change out for us.
    #[error("{text}")]
    Told { text: String },
}

impl Fault {
    /// Says what the system said, in the words of this module where there are any.
    pub(crate) fn system(
        doing: &'static str,
        path: &CanonicalPath,
        links: Links,
        error: Errno,
    ) -> Self {
        let path = path.clone();
        match error {
            // The way is walked without following links and without leaving the directory.
            Errno::LOOP | Errno::XDEV => Self::Changed { path, links },
            Errno::NOENT => Self::Missing { path },
            Errno::NOTDIR => Self::ThroughFile { path },
            Errno::EXIST => Self::Exists { path },
            error => Self::System { doing, path, source: error.into() },
        }
    }

    pub(crate) fn argument(name: &'static str, reason: impl Into<String>) -> Self {
        Self::Argument { name, reason: reason.into() }
    }
}

fn changed(path: &CanonicalPath, links: Links) -> String {
    let path = show::path(path.as_path());
    match links {
        Links::Refuse => format!(
            "`{path}` leads through a symbolic link: it changed since it was judged, so nothing was \
             done; try again"
        ),
        Links::Follow => {
            format!("`{path}` changed while it was opened, so nothing was done; try again")
        }
    }
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "a file",
        Kind::Directory => "a directory",
        Kind::Link => "a symbolic link",
        Kind::Other => "a pipe, socket or device",
    }
}
