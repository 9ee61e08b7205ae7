//! Names that programs take for options.
//!
//! ```text
//! --checkpoint-action=exec=sh x   the user's `tar cf x.tar *` runs x
//! ```
//!
//! What was there when the server began is the user's; what appears is put back.

use ic_types::CanonicalPath;

use super::Survey;

impl Survey {
    /// Returns the entries with such names that were not there before; of one in another, the outer one.
    pub(in crate::planted) fn new_options(&self, before: &Self) -> Vec<&CanonicalPath> {
        let is_new =
            |path: &CanonicalPath| self.options.contains(path) && !before.options.contains(path);
        let is_outer = |path: &CanonicalPath| !path.ancestors().skip(1).any(|it| is_new(&it));
        self.options.iter().filter(|it| is_new(it) && is_outer(it)).collect()
    }
}
