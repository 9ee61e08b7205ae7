//! The environment is read in one file, and every variable read there is documented.

use super::Finding;
use super::text::{mentions, quoted};
use super::tree::{SourceFile, Tree};

/// The file that reads the environment.
const READER: &str = "crates/ic-home/src/environment.rs";

/// How reading it looks.
const READS: [&str; 2] = ["env::var", "var_os("];

/// The document with the table of variables; pages under `REFERENCE` will do as well.
const README: &str = "README.md";
const REFERENCE: &str = "docs/reference/";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let strays = tree.rust_files().filter(|file| is_bound(file)).flat_map(check_reads);
    strays.chain(check_documented(tree)).collect()
}

fn is_bound(file: &SourceFile) -> bool {
    let is_of_tests = file.is_test() || file.path.starts_with("crates/ic-fuzz/");
    let is_free = is_of_tests || file.path == READER || file.path.ends_with("/build.rs");
    file.path.starts_with("crates/") && !is_free
}

fn check_reads(file: &SourceFile) -> impl Iterator<Item = Finding> {
    let reads = |line: &str| READS.iter().any(|read| line.contains(read));
    file.code_without_tests().filter(move |(_, line)| reads(line)).map(|(number, _)| {
        let sentence = format!("environment variables are read in `{READER}` alone.");
        Finding::new(&file.path, number, sentence)
    })
}

fn check_documented(tree: &Tree) -> Vec<Finding> {
    let Some(reader) = tree.file(READER) else { return Vec::new() };
    let mut findings = Vec::new();
    for (number, line) in reader.code_without_tests() {
        for variable in quoted(line, '"').filter(|it| is_variable(it)) {
            if !is_documented(variable, tree) {
                let sentence = format!("`{variable}` is not documented in {README}.");
                findings.push(Finding::new(READER, number, sentence));
            }
        }
    }
    findings
}

fn is_variable(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    1 < text.len()
        && text.starts_with(|first: char| first.is_ascii_uppercase())
        && text.bytes().all(is_allowed)
}

fn is_documented(variable: &str, tree: &Tree) -> bool {
    let is_manual = |file: &&SourceFile| file.path == README || file.path.starts_with(REFERENCE);
    tree.files().filter(is_manual).any(|file| mentions(&file.text, variable))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::assert_findings;

    #[test]
    fn the_environment_is_read_in_one_file() {
        let stray = "crates/ic-resolve/src/home.rs:2: environment variables are read in \
                     `crates/ic-home/src/environment.rs` alone.";
        let read = "//! A.\nlet home = env::var_os(name);";
        let check_at = |path: &str| check(&Tree::of(&[(path, read)]));
        assert_findings(&check_at("crates/ic-resolve/src/home.rs"), &[stray]);
        assert_findings(&check_at("crates/ic-home/src/environment.rs"), &[]);
        assert_findings(&check_at("crates/ironcurtain/build.rs"), &[]);
        assert_findings(&check_at("crates/ironcurtain/tests/it/main.rs"), &[]);
        assert_findings(&check_at("xtask/src/bench.rs"), &[]);
    }

    #[test]
    fn every_variable_is_documented() {
        let reader = "const HOME: &str = \"IRONCURTAIN_HOME\";\nconst A: &str = \"A text\";";
        let check_with =
            |readme: &str| check(&Tree::of(&[("README.md", readme), (READER, reader)]));
        assert_findings(&check_with("| `IRONCURTAIN_HOME` | the home |"), &[]);
        assert_findings(
            &check_with("| `IRONCURTAIN_HOMES` | many homes |"),
            &["crates/ic-home/src/environment.rs:1: `IRONCURTAIN_HOME` is not documented \
               in README.md."],
        );
    }
}
