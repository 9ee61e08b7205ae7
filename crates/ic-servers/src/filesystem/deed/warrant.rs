//! The one deed that a call may have carried out, for whoever carries it out.
//!
//! The deed is worked out from the call itself; a server that asks for another one is not believed, and
//! it is asked for once. All that the server decides is what an edited file holds. Whether the call may
//! be made was decided before.

use std::borrow::Cow;

use ic_types::{CanonicalPath, Object};

use super::super::arguments::Arguments;
use super::super::edit;
use super::super::fault::Fault;
use super::super::reach::Reach;
use super::super::view::{Rights, View, ViewPath};
use super::Deed;
use super::words::{self, Asked};
use crate::tools::Cancel;

/// The one deed that a call may have carried out.
///
/// Invariant: `only` is what the call was judged about.
#[derive(Clone, Debug)]
pub struct Warrant {
    view: View,
    only: Vec<ViewPath>,
    change: Change,
}

/// What the call asks for.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Change {
    Write { path: CanonicalPath, content: String },
    Edit { path: CanonicalPath },
    CreateDirectory { path: CanonicalPath },
    Move { from: CanonicalPath, to: CanonicalPath },
    Remove { path: CanonicalPath },
}

/// A deed that is to be carried out.
#[derive(Clone, Debug)]
pub struct Order {
    view: View,
    only: Vec<ViewPath>,
    deed: Deed<'static>,
}

/// What was asked for is not what the call may have done.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{}", self.as_str())]
pub enum NotWarranted {
    /// It is no deed.
    Unknown,
    /// It is another one.
    Other,
    /// The file would be too long.
    TooLong,
}

impl NotWarranted {
    /// Says what is wrong.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "the server asked for an unknown change",
            Self::Other => "the server asked for another change than its call is about",
            Self::TooLong => "the server asked for a change that is too long",
        }
    }
}

impl Warrant {
    /// Works out which deed a call of `tool` may have carried out in `view`; `None` if it changes
    /// nothing, or the view does not say what it was judged about.
    pub fn of(tool: &str, arguments: &Object, view: &View) -> Option<Self> {
        let only = view.only.clone()?;
        let change = Change::of(tool, arguments)?;
        Some(Self { view: view.clone(), only, change })
    }

    /// Takes what a server asks for, once; the paths have to be those of the call.
    pub fn redeem(self, asked: &Object) -> Result<Order, NotWarranted> {
        let Self { view, only, change } = self;
        let asked = words::read(asked).ok_or(NotWarranted::Unknown)?;
        let deed = change.fulfilled(asked)?;
        Ok(Order { view, only, deed })
    }
}

impl Change {
    fn of(tool: &str, arguments: &Object) -> Option<Self> {
        let taking = |names: &[&str]| Arguments::new(arguments, names).ok();
        let path = |arguments: Arguments<'_>, name| {
            arguments.text(name).ok().and_then(|text| CanonicalPath::new(text).ok())
        };
        match tool {
            "write_file" => {
                let arguments = taking(&["path", "content"])?;
                let content = arguments.text("content").ok()?.to_owned();
                Some(Self::Write { path: path(arguments, "path")?, content })
            }
            "edit_file" => {
                let arguments = taking(&["path", "edits", "dryRun"])?;
                let is_dry_run = arguments.flag("dryRun").ok()?;
                let path = path(arguments, "path")?;
                (!is_dry_run).then_some(Self::Edit { path })
            }
            "create_directory" => {
                Some(Self::CreateDirectory { path: path(taking(&["path"])?, "path")? })
            }
            "move_file" => {
                let arguments = taking(&["source", "destination"])?;
                let (from, to) = (path(arguments, "source")?, path(arguments, "destination")?);
                Some(Self::Move { from, to })
            }
            "delete_file" => Some(Self::Remove { path: path(taking(&["path"])?, "path")? }),
            _ => None,
        }
    }

    /// Returns the deed, if it is the one that was asked for.
    fn fulfilled(self, asked: Asked) -> Result<Deed<'static>, NotWarranted> {
        match (self, asked) {
            (Self::Write { path, content }, Asked::Write { path: asked }) if path == asked => {
                Ok(Deed::Write { path, content: Cow::Owned(content) })
            }
            (Self::Edit { path }, Asked::Edit { path: asked, content, known }) if path == asked => {
                match content.len() <= edit::BYTES_MAX {
                    true => Ok(Deed::Edit { path, content: Cow::Owned(content), known }),
                    false => Err(NotWarranted::TooLong),
                }
            }
            (Self::CreateDirectory { path }, Asked::CreateDirectory { path: asked })
                if path == asked =>
            {
                Ok(Deed::CreateDirectory { path })
            }
            (Self::Move { from, to }, Asked::Move { from: asked_from, to: asked_to })
                if (&from, &to) == (&asked_from, &asked_to) =>
            {
                Ok(Deed::Move { from, to })
            }
            (Self::Remove { path }, Asked::Remove { path: asked }) if path == asked => {
                Ok(Deed::Remove { path })
            }
            (
                Self::Write { .. }
                | Self::Edit { .. }
                | Self::CreateDirectory { .. }
                | Self::Move { .. }
                | Self::Remove { .. },
                _,
            ) => Err(NotWarranted::Other),
        }
    }
}

impl Order {
    /// Carries the deed out beneath the directories of the view, and returns what the server is told.
    ///
    /// This opens files, and can take long.
    pub fn carry_out(&self, cancel: &Cancel) -> Object {
        let checked = self.check();
        words::answer(checked.and_then(|()| self.deed.carry_out(&Reach::open(&self.view), cancel)))
    }

    /// SECURITY: what was judged is a list of paths with rights; what lies beneath one of them, or is
    /// named by the call and was not judged, is not on it.
    fn check(&self) -> Result<(), Fault> {
        for (path, needed) in self.deed.needs() {
            let Some(listed) = self.only.iter().find(|listed| listed.path == *path) else {
                return Err(Fault::Outside { text: path.to_string() });
            };
            match listed.rights.lacks(needed) {
                Rights::NONE => {}
                lacking => return Err(Fault::NoRight { path: path.clone(), lacking }),
            }
        }
        Ok(())
    }
}
