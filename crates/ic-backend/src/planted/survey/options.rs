//! Names that programs take for options, or Python for its own modules.
//!
//! ```text
//! --checkpoint-action=exec=sh x   the user's `tar cf x.tar *` runs x
//! argparse/__init__.py, at a top  the user's `python3 -m json.tool` there loads it
//! ```
//!
//! What was there when the server began is the user's; what appears is put back.

use std::ffi::OsStr;

use ic_resolve::Kind;
use ic_resolve::executes::is_python_at_top;
use ic_types::CanonicalPath;

use super::Survey;

/// Returns whether Python, run at the root or at the top of the repository, takes what is at `path` for a module of
/// its own; a link may lead to one.
pub(super) fn is_module(
    path: &CanonicalPath,
    kind: Kind,
    (root, top): (&CanonicalPath, Option<&CanonicalPath>),
) -> bool {
    std::iter::once(root).chain(top).any(|at| {
        let mut below: Vec<&OsStr> = path.components().skip(at.components().count()).collect();
        if kind == Kind::Link && below.len() == 1 {
            below.push(OsStr::new("__init__.py"));
            return is_python_at_top(&below)
                || is_python_at_top(below.get(..1).unwrap_or_default());
        }
        is_python_at_top(&below)
    })
}

impl Survey {
    /// Returns the entries with such names that were not there before; of one in another, the outer one.
    pub(in crate::planted) fn new_options(&self, before: &Self) -> Vec<&CanonicalPath> {
        let is_new =
            |path: &CanonicalPath| self.options.contains(path) && !before.options.contains(path);
        let is_outer = |path: &CanonicalPath| !path.ancestors().skip(1).any(|it| is_new(&it));
        self.options.iter().filter(|it| is_new(it) && is_outer(it)).collect()
    }
}
