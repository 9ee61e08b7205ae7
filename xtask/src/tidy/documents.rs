//! The documents that people look for are there.

use super::Finding;
use super::tree::Tree;

/// Each document, and what it has to do.
const DOCUMENTS: [(&str, &str); 7] = [
    ("README.md", "say what the program is and how to build, test and use it"),
    ("ARCHITECTURE.md", "name every crate and what it is for"),
    ("CONTRIBUTING.md", "say how we work, and why"),
    ("SECURITY.md", "say what is defended against whom, and how to report a hole"),
    ("CHANGELOG.md", "say what changed, and which changes alter what a policy lets through"),
    ("docs/promises.md", "list each security promise with the test or type that keeps it"),
    ("docs/benchmarks.md", "say how fast the parts are and how that was measured"),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let is_missing = |(path, _): &(&str, &str)| tree.file(path).is_none();
    DOCUMENTS
        .into_iter()
        .filter(is_missing)
        .map(|(path, duty)| {
            Finding::new(path, 1, format!("this file is missing: it has to {duty}."))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::assert_findings;

    #[test]
    fn a_missing_document_is_found() {
        let all_but_one: Vec<_> =
            DOCUMENTS.iter().skip(1).map(|(path, _)| (*path, "text")).collect();
        assert_findings(
            &check(&Tree::of(&all_but_one)),
            &["README.md:1: this file is missing: \
               it has to say what the program is and how to build, test and use it."],
        );
    }
}
