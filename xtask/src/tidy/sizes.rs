//! Files that have grown long. A note, not a failure: length is a smell, not a crime.

use super::Finding;
use super::tree::{SourceFile, Tree};

/// How long a file may be, inline tests not counted, before it is worth a note.
const LINES_MAX: usize = 500;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust_files().filter(|file| !file.is_test()).filter_map(check_file).collect()
}

fn check_file(file: &SourceFile) -> Option<Finding> {
    let n_lines = file.lines_without_tests().count();
    let sentence = format!("the file has {n_lines} lines without its tests; look for the seam.");
    (LINES_MAX < n_lines).then(|| Finding::new(&file.path, 1, sentence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::assert_findings;

    #[test]
    fn a_long_file_is_noted() {
        let full = "a();\n".repeat(LINES_MAX);
        let long = format!("{full}b();\n");
        let tree = Tree::of(&[("a.rs", &full), ("b.rs", &long), ("b/tests.rs", &long)]);
        assert_findings(
            &check(&tree),
            &["b.rs:1: the file has 501 lines without its tests; look for the seam."],
        );
    }

    #[test]
    fn inline_tests_do_not_count() {
        let code = "a();\n".repeat(LINES_MAX - 1);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "    b();\n".repeat(100));
        assert_findings(&check(&Tree::of(&[("a.rs", &format!("{code}{tests}"))])), &[]);
    }
}
