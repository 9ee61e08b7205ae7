//! `cargo xtask tidy`: the house rules that a machine can check.
//!
//! Each check is a pure function over the text of the repository and what cargo knows about its
//! packages, and has a test that shows it failing. Nothing is built and nothing is changed. The
//! checks find what was overlooked; they are not made to resist someone who hides it.

mod architecture;
mod documents;
mod environment;
mod headers;
mod layers;
mod licences;
mod links;
mod manifests;
mod metadata;
mod phrases;
mod plans;
mod promises;
mod proofs;
mod purity;
mod sizes;
mod sources;
mod test_lists;
mod text;
mod tree;
mod workplace;

use std::fmt;

use metadata::Metadata;
use tree::Tree;

/// Something that breaks a rule, or nearly does, and where.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Finding {
    path: String,
    line: usize,
    sentence: String,
}

/// What tidy has to say about the repository.
#[derive(Debug)]
pub struct Report {
    /// Broken rules.
    pub findings: Vec<Finding>,
    /// What is worth a look, and breaks nothing.
    pub notes: Vec<Finding>,
}

/// Checks the workspace around the current directory.
pub fn check_workspace() -> anyhow::Result<Report> {
    let metadata = Metadata::read()?;
    let tree = Tree::read(&metadata.root)?;
    Ok(check(&metadata, &tree))
}

fn check(metadata: &Metadata, tree: &Tree) -> Report {
    let findings = [
        layers::check(metadata, tree),
        manifests::check(metadata, tree),
        licences::check(metadata, tree),
        sources::check(metadata, tree),
        purity::check(metadata, tree),
        proofs::check(tree),
        environment::check(tree),
        headers::check(tree),
        test_lists::check(tree),
        documents::check(tree),
        links::check(tree),
        phrases::check(tree),
        plans::check(tree),
        architecture::check(metadata, tree),
        promises::check(tree),
        workplace::check(tree),
    ];
    Report { findings: findings.into_iter().flatten().collect(), notes: sizes::check(tree) }
}

impl Finding {
    fn new(path: impl Into<String>, line: usize, sentence: impl Into<String>) -> Self {
        Self { path: path.into(), line, sentence: sentence.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.sentence)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        for finding in &self.findings {
            writeln!(f, "{finding}")?;
        }
        writeln!(f, "tidy: findings {}, notes {}", self.findings.len(), self.notes.len())
    }
}

/// Checks that `findings`, as they are printed, are those that were `expected`.
#[cfg(test)]
#[track_caller]
fn assert_findings(findings: &[Finding], expected: &[&str]) {
    let printed: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert_eq!(printed, expected);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_prints_notes_before_findings_and_counts_both() {
        let report = Report {
            findings: vec![Finding::new("b.rs", 2, "it is wrong.")],
            notes: vec![Finding::new("a.rs", 1, "it is long.")],
        };
        assert_eq!(
            report.to_string(),
            "note: a.rs:1: it is long.\nb.rs:2: it is wrong.\ntidy: findings 1, notes 1\n"
        );
    }
}
