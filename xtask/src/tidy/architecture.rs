//! ARCHITECTURE.md names every crate, so that the map has no blank parts, and is short enough to be read;
//! the list of decisions has all of them, and a path that a document names is there.

use super::Finding;
use super::metadata::Metadata;
use super::text::mentions;
use super::tree::{SourceFile, Tree};

const PATH: &str = "ARCHITECTURE.md";
/// How long the map may be.
const LINES_MAX: usize = 250;
/// Where decisions are, and the list of them.
const DECISIONS: &str = "docs/decisions/";
const LIST: &str = "docs/decisions/README.md";

pub(super) fn check(metadata: &Metadata, tree: &Tree) -> Vec<Finding> {
    // That the map exists at all is another check's concern.
    let Some(map) = tree.file(PATH) else { return Vec::new() };
    let members = metadata.members.iter().filter(|member| !mentions(&map.text, &member.name));
    let mut findings: Vec<Finding> = members
        .map(|member| Finding::new(PATH, 1, format!("the crate `{}` is not named.", member.name)))
        .collect();
    let n_lines = map.text.lines().count();
    if LINES_MAX < n_lines {
        let sentence = format!("the map has {n_lines} lines, and at most {LINES_MAX} are read.");
        findings.push(Finding::new(PATH, n_lines, sentence));
    }
    findings.extend(unlisted(tree));
    findings
        .extend(tree.files().filter(|it| it.has_extension("md")).flat_map(|it| absent(it, tree)));
    findings
}

/// Finds decisions that are not on the list of them.
fn unlisted(tree: &Tree) -> Vec<Finding> {
    let Some(list) = tree.file(LIST) else { return Vec::new() };
    let decisions = tree.files().filter(|it| it.path.starts_with(DECISIONS) && it.path != LIST);
    let missing = decisions.filter_map(|it| {
        let name = it.path.strip_prefix(DECISIONS)?;
        (!list.text.contains(name)).then(|| format!("`{name}` is not listed."))
    });
    missing.map(|sentence| Finding::new(LIST, 1, sentence)).collect()
}

/// Finds paths of this repository that a document names and that are not there.
fn absent(file: &SourceFile, tree: &Tree) -> Vec<Finding> {
    // What was true of an earlier version is said of it.
    if file.path == "CHANGELOG.md" {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (number, line) in file.text.lines().enumerate() {
        for path in line.split('`').skip(1).step_by(2).filter_map(as_path) {
            let inside = format!("{}/", path.trim_end_matches('/'));
            let is_there =
                tree.file(&path).is_some() || tree.files().any(|it| it.path.starts_with(&inside));
            if !is_there {
                let sentence = format!("`{path}` is not there.");
                findings.push(Finding::new(&file.path, number + 1, sentence));
            }
        }
    }
    findings
}

/// Returns what is named as a path of this repository, from its top.
fn as_path(text: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if !text.chars().all(is_plain) {
        return None;
    }
    let (first, rest) = text.split_once('/')?;
    let in_crate = ["src/", "tests/", "policies/"].iter().any(|it| rest.starts_with(it));
    match first {
        "crates" | "xtask" | "scripts" => Some(text.to_owned()),
        "ironcurtain" if in_crate => Some(format!("crates/{text}")),
        name if name.starts_with("ic-") && in_crate => Some(format!("crates/{text}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::assert_findings;

    #[test]
    fn a_map_that_nobody_reads_to_its_end_is_found() {
        let metadata = Metadata::of_members(&[]);
        let line = "A line.\n";
        for (n_lines, n_found) in [(LINES_MAX, 0), (LINES_MAX + 1, 1)] {
            let tree = Tree::of(&[(PATH, &line.repeat(n_lines))]);
            assert_eq!(check(&metadata, &tree).len(), n_found, "{n_lines}");
        }
    }

    #[test]
    fn a_decision_that_is_not_listed_and_a_path_that_is_not_there_are_found() {
        let metadata = Metadata::of_members(&[]);
        let tree = Tree::of(&[
            (
                PATH,
                "See `ic-types/src/lib.rs`, `crates/ic-types/src/gone.rs`, `a/b`, `ic-x/src/*`.",
            ),
            ("crates/ic-types/src/lib.rs", "//! A.\n"),
            ("CHANGELOG.md", "`crates/old/src/lib.rs` is gone."),
            (LIST, "- [1](0001-a.md)\n"),
            ("docs/decisions/0001-a.md", "# 1. A\n"),
            ("docs/decisions/0002-b.md", "# 2. B, as in `ic-types/src`\n"),
        ]);
        assert_findings(
            &check(&metadata, &tree),
            &[
                "docs/decisions/README.md:1: `0002-b.md` is not listed.",
                "ARCHITECTURE.md:1: `crates/ic-types/src/gone.rs` is not there.",
            ],
        );
    }

    #[test]
    fn a_crate_that_is_not_on_the_map_is_found() {
        let metadata = Metadata::of_members(&[("ic-types", &[]), ("ic-policy", &[])]);
        let tree = Tree::of(&[(PATH, "`ic-types` holds the nouns, `ic-policy-x` nothing.")]);
        assert_findings(
            &check(&metadata, &tree),
            &["ARCHITECTURE.md:1: the crate `ic-policy` is not named."],
        );
    }
}
