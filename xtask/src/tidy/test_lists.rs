//! No file of integration tests is left out of its `main.rs`, where it would never run.

use super::Finding;
use super::tree::{SourceFile, Tree};

/// Where the integration tests of a crate are.
const DIRECTORY: &str = "/tests/it";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust_files().filter_map(|file| check_file(file, tree)).collect()
}

fn check_file(file: &SourceFile, tree: &Tree) -> Option<Finding> {
    let (directory, name) = file.path.rsplit_once('/')?;
    let module = name.strip_suffix(".rs")?;
    if !directory.ends_with(DIRECTORY) || module == "main" {
        return None;
    }
    let main = format!("{directory}/main.rs");
    let declaration = format!("mod {module};");
    let is_declared =
        tree.file(&main).is_some_and(|it| it.lines().any(|(_, line)| line == declaration));
    let sentence = || format!("these tests never run: `{main}` lacks `{declaration}`.");
    (!is_declared).then(|| Finding::new(&file.path, 1, sentence()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::assert_findings;

    #[test]
    fn a_forgotten_file_is_found() {
        let tree = Tree::of(&[
            ("crates/ic-policy/tests/it/main.rs", "//! Tests.\nmod laws;\n"),
            ("crates/ic-policy/tests/it/laws.rs", ""),
            ("crates/ic-policy/tests/it/law.rs", ""),
            ("crates/ic-policy/tests/it/laws/roles.rs", ""),
        ]);
        assert_findings(
            &check(&tree),
            &["crates/ic-policy/tests/it/law.rs:1: these tests never run: \
               `crates/ic-policy/tests/it/main.rs` lacks `mod law;`."],
        );
    }

    #[test]
    fn a_directory_without_main_is_found() {
        let tree = Tree::of(&[("xtask/tests/it/a.rs", "")]);
        assert_eq!(check(&tree).len(), 1);
    }
}
