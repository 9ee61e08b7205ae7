//! A change to files, as a thing: carried out here, or asked of whoever called.
//!
//! ```text
//! tool ─▶ Deed ─▶ Hands::Own     carried out beneath the directories of the view
//!             └─▶ Hands::Asking  ──ironcurtain/deed──▶ Warrant ─▶ Order, carried out there by the same code
//! ```
//!
//! A server that runs for one call can then be kept from writing anything at all. What a deed changes
//! is decided by whoever made the call; nothing is opened here.

mod warrant;
mod words;

use std::borrow::Cow;

use ic_types::CanonicalPath;
use rustix::fs::Stat;

use super::fault::Fault;
use super::reach::Reach;
use super::view::Rights;
use super::{beneath, entries, write};
use crate::tools::{Caller, Cancel};

pub use warrant::{NotWarranted, Order, Warrant};

/// The request with which a server asks whoever called to carry out a deed.
pub const DEED_METHOD: &str = "ironcurtain/deed";

/// Who carries out what a tool changes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Hands {
    /// The server itself.
    Own,
    /// Whoever called, when asked with [`DEED_METHOD`].
    Asking,
}

/// A change to files.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Deed<'a> {
    /// Makes a file, or replaces what is in it.
    Write { path: CanonicalPath, content: Cow<'a, str> },
    /// Replaces what is in a file, if it is still the one that was read.
    Edit { path: CanonicalPath, content: Cow<'a, str>, known: Known },
    /// Makes a directory, and those above it that are missing.
    CreateDirectory { path: CanonicalPath },
    /// Gives a file or directory another name.
    Move { from: CanonicalPath, to: CanonicalPath },
    /// Removes a file, or a link.
    Remove { path: CanonicalPath },
}

/// Which file was read, and in which state: compared, and never looked into.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Known(String);

/// Returns whether a tool reads what it is about; the others only have it changed.
pub fn is_reading(tool: &str) -> bool {
    !matches!(tool, "write_file" | "create_directory" | "move_file" | "delete_file")
}

impl Hands {
    /// Has a deed carried out.
    pub(super) fn carry_out(
        self,
        deed: &Deed<'_>,
        reach: &Reach,
        caller: Caller<'_>,
    ) -> Result<(), Fault> {
        match self {
            Self::Own => deed.carry_out(reach, caller.cancel()),
            Self::Asking => {
                let answer = caller.ask(DEED_METHOD, &words::ask(deed)?);
                words::told(answer.map_err(|error| Fault::Told { text: error.to_string() })?)
            }
        }
    }
}

impl Deed<'_> {
    /// Carries the deed out.
    fn carry_out(&self, reach: &Reach, cancel: &Cancel) -> Result<(), Fault> {
        match self {
            Self::Write { path, content } => write::replace(reach, path, content.as_bytes(), None),
            Self::Edit { path, content, known } => {
                write::replace(reach, path, content.as_bytes(), Some(known))
            }
            Self::CreateDirectory { path } => write::make_directory(reach, path),
            Self::Move { from, to } => entries::rename(reach, from, to, cancel),
            Self::Remove { path } => entries::remove(reach, path),
        }
    }

    /// Returns what is needed of which path.
    fn needs(&self) -> Vec<(&CanonicalPath, Rights)> {
        match self {
            Self::Write { path, .. } | Self::CreateDirectory { path } => {
                vec![(path, Rights::WRITE)]
            }
            Self::Edit { path, .. } => vec![(path, EDITING)],
            Self::Move { from, to } => vec![(from, MOVING), (to, Rights::WRITE)],
            Self::Remove { path } => vec![(path, Rights::DELETE)],
        }
    }
}

/// What is needed of a file that is edited.
pub(super) const EDITING: Rights = Rights::READ.and(Rights::WRITE);
/// What is needed of a file that is moved.
pub(super) const MOVING: Rights = Rights::READ.and(Rights::DELETE);

impl Known {
    pub(super) fn of(stat: &Stat) -> Self {
        let Stat { st_dev, st_ino, st_mtime, st_mtime_nsec, st_ctime, st_ctime_nsec, .. } = stat;
        let size = beneath::size(stat);
        Self(format!(
            "{st_dev}/{st_ino} {size} {st_mtime}.{st_mtime_nsec} {st_ctime}.{st_ctime_nsec}"
        ))
    }
}
