//! Every crate takes its lints, edition and Rust version from the workspace.

use super::Finding;
use super::metadata::{Member, Metadata};
use super::tree::{SourceFile, Tree};

/// A line that each manifest has, and the section that it stands in.
const REQUIRED: [(&str, &str); 3] = [
    ("[package]", "edition.workspace = true"),
    ("[package]", "rust-version.workspace = true"),
    ("[lints]", "workspace = true"),
];

pub(super) fn check(metadata: &Metadata, tree: &Tree) -> Vec<Finding> {
    metadata.members.iter().flat_map(|member| check_member(member, tree)).collect()
}

fn check_member(member: &Member, tree: &Tree) -> Vec<Finding> {
    let manifest = tree.file(&member.manifest);
    let is_missing =
        |&(section, line): &(&str, &str)| !manifest.is_some_and(|it| has(it, section, line));
    let finding = |(section, line): (&str, &str)| {
        let sentence = format!("`{}` lacks `{line}` under `{section}`.", member.name);
        Finding::new(&member.manifest, tree.line_of(&member.manifest, section), sentence)
    };
    REQUIRED.into_iter().filter(is_missing).map(finding).collect()
}

fn has(manifest: &SourceFile, section: &str, expected: &str) -> bool {
    let mut lines = manifest.lines().map(|(_, line)| line.trim()).skip_while(|it| *it != section);
    lines.next();
    lines.take_while(|line| !line.starts_with('[')).any(|line| line == expected)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::assert_findings;

    #[track_caller]
    fn check_manifest(text: &str, expected: &[&str]) {
        let metadata = Metadata::of_members(&[("ic-types", &[])]);
        let tree = Tree::of(&[("crates/ic-types/Cargo.toml", text)]);
        assert_findings(&check(&metadata, &tree), expected);
    }

    #[test]
    fn everything_is_inherited() {
        check_manifest(
            "[package]\nedition.workspace = true\nrust-version.workspace = true\n\n\
             [lints]\nworkspace = true\n",
            &[],
        );
    }

    #[test]
    fn what_is_not_inherited_is_found() {
        check_manifest(
            "[package]\nedition = \"2024\"\nrust-version.workspace = true\n\n\
             [lints]\n[other]\nworkspace = true\n",
            &[
                "crates/ic-types/Cargo.toml:1: `ic-types` lacks `edition.workspace = true` \
                 under `[package]`.",
                "crates/ic-types/Cargo.toml:5: `ic-types` lacks `workspace = true` under `[lints]`.",
            ],
        );
    }
}
