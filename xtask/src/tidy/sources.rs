//! Every package that is not ours comes from the default registry.
//!
//! A package from git or from a path outside has no published version that others have looked at.

use super::Finding;
use super::metadata::{Metadata, Stranger};
use super::tree::Tree;

pub(super) fn check(metadata: &Metadata, tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<_> =
        metadata.strangers.iter().filter_map(|it| check_stranger(it, tree)).collect();
    for member in &metadata.members {
        for dependency in member.dependencies.iter().filter(|it| it.registry.is_some()) {
            let line = tree.line_of(&member.manifest, &dependency.name);
            let sentence =
                format!("`{}` does not come from the default registry.", dependency.name);
            findings.push(Finding::new(&member.manifest, line, sentence));
        }
    }
    findings
}

fn check_stranger(stranger: &Stranger, tree: &Tree) -> Option<Finding> {
    let name = &stranger.name;
    let sentence = match stranger.source.as_deref() {
        Some(source) if source.starts_with("registry+") => return None,
        Some(source) => format!("`{name}` comes from `{source}`, not from the registry."),
        None => format!("`{name}` comes from a path outside the workspace."),
    };
    Some(Finding::new("Cargo.lock", stranger.line_in_lock(tree), sentence))
}

impl Stranger {
    /// Returns the line of `Cargo.lock` that names the package.
    pub(super) fn line_in_lock(&self, tree: &Tree) -> usize {
        tree.line_of("Cargo.lock", &format!("name = \"{}\"", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::assert_findings;
    use crate::tidy::metadata::Kind;

    #[track_caller]
    fn check_source(source: Option<&str>, expected: &[&str]) {
        let metadata = Metadata::of_stranger("other", Some("MIT"), source);
        let tree = Tree::of(&[("Cargo.lock", "version = 4\n[[package]]\nname = \"other\"\n")]);
        assert_findings(&check(&metadata, &tree), expected);
    }

    #[test]
    fn only_the_registry_is_a_source() {
        check_source(Some("registry+https://example.org/index"), &[]);
        check_source(
            Some("git+https://example.org/other"),
            &["Cargo.lock:3: `other` comes from `git+https://example.org/other`, \
               not from the registry."],
        );
        check_source(None, &["Cargo.lock:3: `other` comes from a path outside the workspace."]);
    }

    #[test]
    fn another_registry_is_found_where_it_is_named() {
        let mut metadata = Metadata::of_members(&[("ic-types", &[("other", Kind::Normal)])]);
        metadata.members[0].dependencies[0].registry = Some("sparse+x".to_owned());
        let tree = Tree::of(&[("crates/ic-types/Cargo.toml", "[dependencies]\nother = \"1\"\n")]);
        assert_findings(
            &check(&metadata, &tree),
            &["crates/ic-types/Cargo.toml:2: `other` does not come from the default registry."],
        );
    }
}
