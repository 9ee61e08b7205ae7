//! ARCHITECTURE.md names every crate, so that the map has no blank parts.

use super::Finding;
use super::metadata::Metadata;
use super::text::mentions;
use super::tree::Tree;

const PATH: &str = "ARCHITECTURE.md";

pub(super) fn check(metadata: &Metadata, tree: &Tree) -> Vec<Finding> {
    // That the map exists at all is another check's concern.
    let Some(map) = tree.file(PATH) else { return Vec::new() };
    let members = metadata.members.iter().filter(|member| !mentions(&map.text, &member.name));
    members
        .map(|member| Finding::new(PATH, 1, format!("the crate `{}` is not named.", member.name)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::assert_findings;

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
