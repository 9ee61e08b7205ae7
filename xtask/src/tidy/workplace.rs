//! No file names the place where it was written.

use super::Finding;
use super::tree::{SourceFile, Tree};

/// Traces of one machine, each written in two parts, so that this file does not contain them.
const TRACES: [&str; 3] =
    [concat!("/work", "/main"), concat!(".library", "/"), concat!("bash_", "jobs")];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.files().flat_map(check_file).collect()
}

fn check_file(file: &SourceFile) -> impl Iterator<Item = Finding> {
    file.lines().filter_map(|(number, line)| {
        let trace = TRACES.into_iter().find(|trace| line.contains(trace))?;
        let sentence = format!("`{trace}` means something on one machine only.");
        Some(Finding::new(&file.path, number, sentence))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::assert_findings;

    #[test]
    fn a_trace_of_one_machine_is_found() {
        let trace = TRACES[0];
        let text = format!("# Notes\nSee {trace}/notes.md.\n");
        assert_findings(
            &check(&Tree::of(&[("NOTES.md", &text), ("b.md", "It will work, mainly.")])),
            &[&format!("NOTES.md:2: `{trace}` means something on one machine only.")],
        );
    }
}
