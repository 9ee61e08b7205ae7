//! Every package that we build on may be used under a licence that we accept.

use super::Finding;
use super::metadata::{Metadata, Stranger};
use super::spdx::{self, Malformed};
use super::tree::Tree;

/// Licences that ask for no more than notices; a new one needs a decision, not only a line here.
const ACCEPTED: [&str; 14] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

pub(super) fn check(metadata: &Metadata, tree: &Tree) -> Vec<Finding> {
    let finding = |stranger: &Stranger| {
        let sentence = fault(stranger)?;
        Some(Finding::new("Cargo.lock", stranger.line_in_lock(tree), sentence))
    };
    metadata.strangers.iter().filter_map(finding).collect()
}

fn fault(stranger: &Stranger) -> Option<String> {
    let name = &stranger.name;
    let Some(licence) = &stranger.licence else {
        return Some(format!("`{name}` states no licence."));
    };
    match spdx::is_satisfied(licence, &ACCEPTED) {
        Ok(true) => None,
        Ok(false) => Some(format!("`{name}` has the licence `{licence}`, which is not accepted.")),
        Err(Malformed) => Some(format!("`{name}` has the licence `{licence}`, which is no SPDX.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::assert_findings;

    #[track_caller]
    fn check_licence(licence: Option<&str>, expected: &[&str]) {
        let metadata = Metadata::of_stranger("other", licence, Some("registry+x"));
        let tree = Tree::of(&[("Cargo.lock", "version = 4\n[[package]]\nname = \"other\"\n")]);
        assert_findings(&check(&metadata, &tree), expected);
    }

    #[test]
    fn only_accepted_licences_pass() {
        check_licence(Some("MIT OR Apache-2.0"), &[]);
        check_licence(Some("MIT/Apache-2.0"), &[]);
        check_licence(
            Some("AGPL-3.0-only"),
            &["Cargo.lock:3: `other` has the licence `AGPL-3.0-only`, which is not accepted."],
        );
        check_licence(
            Some("MIT Apache-2.0"),
            &["Cargo.lock:3: `other` has the licence `MIT Apache-2.0`, which is no SPDX."],
        );
        check_licence(None, &["Cargo.lock:3: `other` states no licence."]);
    }
}
