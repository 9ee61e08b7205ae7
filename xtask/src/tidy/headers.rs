//! Every Rust file opens with a `//!` line that says what it is.

use super::Finding;
use super::tree::{SourceFile, Tree};

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let is_silent = |file: &&SourceFile| !file.text.starts_with("//!");
    tree.rust_files()
        .filter(is_silent)
        .map(|file| Finding::new(&file.path, 1, "the file does not open with `//!`."))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::assert_findings;

    #[test]
    fn a_file_says_what_it_is() {
        let tree = Tree::of(&[
            ("a.rs", "//! A file.\n"),
            ("b.rs", "// A file.\n"),
            ("c.rs", "\n//! A file.\n"),
            ("d.md", "# A file\n"),
        ]);
        assert_findings(
            &check(&tree),
            &[
                "b.rs:1: the file does not open with `//!`.",
                "c.rs:1: the file does not open with `//!`.",
            ],
        );
    }
}
