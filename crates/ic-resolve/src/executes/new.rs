//! Names that count only while they are new: what is there already is the user's own.
//!
//! ```text
//! --checkpoint-action=exec=sh x   the user's `tar cf x.tar *` takes it for an option
//! argparse.py, at a top           the user's `python3 -m json.tool` there loads it
//! ```

use std::ffi::OsStr;

use ic_policy::Why;
use ic_policy::host_executes::{is_option, is_packages};
use ic_types::{CanonicalPath, Role};

use super::names::classes::is_python_module;
use super::{Change, Executes};

/// What makes a directory a package of Python's.
const PACKAGE: [&str; 2] = ["__init__.", "__main__."];

impl Executes<'_> {
    /// Says why a change counts because of an entry that it makes.
    pub(super) fn why_new(&self, change: &Change) -> Option<Why> {
        if change.role != Role::WritePath {
            return None;
        }
        let is_new = |it: &CanonicalPath| matches!(self.disk.look(it.as_path()), Ok(None));
        let made = change.path.ancestors().take_while(is_new);
        let is_named = |it: CanonicalPath| it.as_path().file_name().is_some_and(is_option);
        if made.into_iter().any(is_named) {
            return Some(Why::Option);
        }
        (is_new(&change.path) && self.is_python_s(&change.path)).then_some(Why::Module)
    }

    /// Returns whether Python, run at the top of the tree, takes a file for a module of its own.
    fn is_python_s(&self, path: &CanonicalPath) -> bool {
        path.ancestors().skip(1).take(2).any(|top| {
            let below: Vec<&OsStr> = path.components().skip(top.components().count()).collect();
            is_python_at_top(&below) && self.is_top_of_tree(&top)
        })
    }

    fn is_top_of_tree(&self, directory: &CanonicalPath) -> bool {
        let is_workspace = self.orders.and_then(|it| it.workspace()) == Some(directory);
        (is_workspace || self.is_top(directory)) && !self.is_of_packages(directory)
    }

    /// Returns whether a path lies in a directory of packages.
    ///
    /// How the directories are called in which the workspace, the home or the tree lies makes nothing free.
    pub(super) fn is_of_packages(&self, path: &CanonicalPath) -> bool {
        let home = CanonicalPath::new(self.home.as_path()).ok();
        let around =
            self.orders.and_then(|it| it.workspace()).into_iter().chain(&home).chain(self.tree);
        let around = around.filter(|it| path.is_within(it)).map(|it| it.components().count());
        path.components().skip(around.max().unwrap_or(0)).any(is_packages)
    }
}

/// Returns whether a file makes the directory in which it lies a package of Python's.
pub(crate) fn is_of_package(name: &OsStr) -> bool {
    PACKAGE.iter().any(|it| name.as_encoded_bytes().starts_with(it.as_bytes()))
}

/// Returns whether Python, run in a directory, takes what is there at `below` for a module of its own.
pub fn is_python_at_top(below: &[&OsStr]) -> bool {
    let parts = |name: &OsStr| -> Vec<Vec<u8>> {
        name.as_encoded_bytes().split(|byte| *byte == b'.').map(<[u8]>::to_vec).collect()
    };
    let is_code = |name: &OsStr| {
        let parts = parts(name);
        let mut ends = parts.iter().skip(1);
        ends.clone().any(|it| it.starts_with(b"py"))
            || ends.next_back().is_some_and(|it| it == b"so")
    };
    match below {
        [name] => {
            let stem = parts(name).into_iter().next().unwrap_or_default();
            is_python_module(&stem) && is_code(name)
        }
        [package, name] => {
            is_python_module(package.as_encoded_bytes()) && is_of_package(name) && is_code(name)
        }
        _ => false,
    }
}
