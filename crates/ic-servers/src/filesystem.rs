//! The filesystem server: reads, writes, lists and moves files within a [`View`].
//!
//! ```text
//! call ─▶ arguments ─▶ reach: which directory of the view, left out?, rights? ─▶ beneath: openat2
//!                                                                        read, write, edit, walk …
//! ```
//!
//! What may be touched was decided by whoever made the view. This server holds on to the directories
//! of the view and does everything beneath them, so that a name that is given to something else
//! between the judgement and the deed leads nowhere. It starts nothing, and uses no network.

mod arguments;
pub(crate) mod beneath;
mod catalog;
mod deed;
pub mod diff;
mod edit;
mod entries;
pub(crate) mod fault;
mod find;
pub(crate) mod lanes;
mod list;
mod patterns;
pub(crate) mod reach;
mod read;
pub(crate) mod show;
pub(crate) mod view;
mod walk;
mod write;

use std::io;
use std::path::Path;

use ic_types::Object;
use rustix::io::Errno;

use crate::tools::{Caller, Tool, ToolResult, Tools, UnknownTool};
use arguments::Arguments;
use fault::Fault;
use lanes::Lanes;
use reach::Reach;

pub use catalog::tools;
pub use deed::{DEED_METHOD, Hands, NotWarranted, Order, Warrant, is_reading};
pub use view::{Links, Rights, View, ViewDirectory, ViewError, ViewPath};

/// The filesystem server.
#[derive(Debug)]
pub struct Filesystem {
    reach: Reach,
    lanes: Lanes,
    hands: Hands,
}

/// The server cannot work on this machine.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The system cannot open files beneath a directory, which everything here rests on.
    #[error("this system does not let us open files beneath a directory (openat2)")]
    Unsupported(#[source] io::Error),
}

impl Filesystem {
    /// Opens the directories of `view`, once and for all; `hands` carry out what is changed.
    ///
    /// A directory that is not there is no error: nothing is reached through it.
    pub fn open(view: &View, hands: Hands) -> Result<Self, OpenError> {
        // Kernels before 5.6 do not know it, and some filters of system calls forbid it.
        if let Err(error @ (Errno::NOSYS | Errno::PERM)) = beneath::hold_root(Path::new("/")) {
            return Err(OpenError::Unsupported(error.into()));
        }
        Ok(Self { reach: Reach::open(view), lanes: Lanes::new(), hands })
    }

    fn make(
        &self,
        tool: &str,
        arguments: &Object,
        caller: Caller<'_>,
    ) -> Option<Result<ToolResult, Fault>> {
        let (reach, hands, cancel) = (&self.reach, self.hands, caller.cancel());
        let changing = (hands, &self.lanes);
        let taking = |names: &[&str]| Arguments::new(arguments, names);
        Some(match tool {
            "read_file" | "read_text_file" => {
                taking(&["path", "head", "tail"]).and_then(|args| read::text(reach, args, cancel))
            }
            "read_media_file" => {
                taking(&["path"]).and_then(|args| read::media(reach, args, cancel))
            }
            "read_multiple_files" => {
                taking(&["paths"]).and_then(|args| read::texts(reach, args, cancel))
            }
            "write_file" => {
                let taken = taking(&["path", "content"]);
                taken.and_then(|args| write::file(reach, changing, args, caller))
            }
            "edit_file" => taking(&["path", "edits", "dryRun"])
                .and_then(|args| edit::edit(reach, changing, args, caller)),
            "create_directory" => {
                taking(&["path"]).and_then(|args| write::directory(reach, hands, args, caller))
            }
            "list_directory" => taking(&["path"]).and_then(|args| list::list(reach, args)),
            "list_directory_with_sizes" => taking(&["path", "sortBy"])
                .and_then(|args| list::list_with_sizes(reach, args, cancel)),
            "directory_tree" => taking(&["path", "excludePatterns"])
                .and_then(|args| find::tree(reach, args, cancel)),
            "move_file" => taking(&["source", "destination"])
                .and_then(|args| entries::change_name(reach, changing, args, caller)),
            "search_files" => taking(&["path", "pattern", "excludePatterns"])
                .and_then(|args| find::search(reach, args, cancel)),
            "get_file_info" => taking(&["path"]).and_then(|args| list::info(reach, args)),
            "delete_file" => {
                taking(&["path"]).and_then(|args| entries::delete(reach, hands, args, caller))
            }
            "list_allowed_directories" => taking(&[]).map(|_| list::allowed(reach)),
            _ => return None,
        })
    }
}

impl Tools for Filesystem {
    fn name(&self) -> &'static str {
        "filesystem"
    }

    fn list(&self) -> Vec<Tool> {
        tools()
    }

    fn call(
        &self,
        tool: &str,
        arguments: &Object,
        caller: Caller<'_>,
    ) -> Result<ToolResult, UnknownTool> {
        let made = self.make(tool, arguments, caller).ok_or(UnknownTool)?;
        Ok(made.unwrap_or_else(|fault| ToolResult::failed(fault.to_string())))
    }
}
