//! Every promise in `docs/promises.md`, and every attack in `docs/gate-attacks.md`, is kept by a test or a type that exists.
//!
//! The first cell of a row states the promise; the others name in backticks what keeps it: a
//! function (`a_name_like_this`, or the last part of `path::to::name`) or a type (`Permit`,
//! `Verdict::Allow`). Other words in backticks, such as `deny` or `--policy`, are prose.

use std::collections::HashSet;

use super::Finding;
use super::text::quoted;
use super::tree::{Line, SourceFile, Tree};

const PATHS: [&str; 2] = ["docs/promises.md", "docs/gate-attacks.md"];

/// What a row names as keeping its promise.
#[derive(Clone, Copy)]
enum Proof<'a> {
    Function(&'a str),
    Type(&'a str),
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let definitions = Definitions::of(tree);
    // That the lists exist at all is another check's concern.
    let files = PATHS.into_iter().filter_map(|path| Some((path, tree.file(path)?)));
    files.flat_map(|(path, file)| check_file(path, file, &definitions)).collect()
}

fn check_file(path: &str, file: &SourceFile, definitions: &Definitions<'_>) -> Vec<Finding> {
    let rows = rows(file);
    if rows.is_empty() {
        return vec![Finding::new(path, 1, "the file has no table of promises.")];
    }
    rows.into_iter().flat_map(|row| check_row(path, row, definitions)).collect()
}

/// What is defined somewhere, each with the word before it; looked for once, since promises are many.
struct Definitions<'a>(HashSet<(&'a str, &'a str)>);

impl<'a> Definitions<'a> {
    fn of(tree: &'a Tree) -> Self {
        let mut found = HashSet::new();
        for file in tree.rust_files() {
            for (_, line) in file.code() {
                let words = line.split_whitespace();
                for (keyword, rest) in words.clone().zip(words.skip(1)) {
                    if matches!(keyword, "fn" | "struct" | "enum" | "trait") {
                        let end = rest.find(|it| !is_name(it)).unwrap_or(rest.len());
                        found.insert((keyword, rest.split_at(end).0));
                    }
                }
            }
        }
        Self(found)
    }

    fn has(&self, keyword: &str, name: &str) -> bool {
        self.0.contains(&(keyword, name))
    }
}

/// Returns the rows of all tables, without their heads.
fn rows(file: &SourceFile) -> Vec<Line<'_>> {
    let mut is_body = false;
    let mut rows = Vec::new();
    for (number, line) in file.lines() {
        if !line.starts_with('|') {
            is_body = false;
        } else if line.chars().all(|it| "|-: ".contains(it)) {
            is_body = true;
        } else if is_body {
            rows.push((number, line));
        }
    }
    rows
}

fn check_row(path: &str, (number, row): Line<'_>, definitions: &Definitions<'_>) -> Vec<Finding> {
    let cells = row.trim_start_matches('|').split('|').skip(1);
    let proofs: Vec<Proof> =
        cells.flat_map(|cell| quoted(cell, '`')).filter_map(Proof::parse).collect();
    if proofs.is_empty() {
        let sentence = "this promise names no test or type that keeps it.";
        return vec![Finding::new(path, number, sentence)];
    }
    let missing = proofs.into_iter().filter(|proof| !proof.exists_in(definitions));
    missing.map(|proof| Finding::new(path, number, proof.absence())).collect()
}

impl<'a> Proof<'a> {
    fn parse(span: &'a str) -> Option<Self> {
        let span = span.trim_end_matches("()");
        let last = span.rsplit("::").next()?;
        if !span.split("::").all(is_identifier) {
            None
        } else if is_type(&last) {
            // `Verdict::Allow` is a variant, so look for `Verdict`.
            span.split("::").find(is_type).map(Self::Type)
        } else {
            let is_function = last.starts_with(|first: char| first.is_ascii_lowercase());
            let is_long = span.contains("::") || span.contains('_');
            (is_function && is_long).then_some(Self::Function(last))
        }
    }

    fn exists_in(self, definitions: &Definitions<'_>) -> bool {
        match self {
            Self::Function(name) => definitions.has("fn", name),
            Self::Type(name) => {
                ["struct", "enum", "trait"].iter().any(|keyword| definitions.has(keyword, name))
            }
        }
    }

    fn absence(self) -> String {
        match self {
            Self::Function(name) => format!("there is no test `{name}`."),
            Self::Type(name) => format!("there is no type `{name}`."),
        }
    }
}

fn is_identifier(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_name)
}

fn is_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

fn is_type(text: &&str) -> bool {
    let is_capital = text.starts_with(|first: char| first.is_ascii_uppercase());
    is_capital && text.contains(|it: char| it.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::assert_findings;

    /// Checks a table with one promise that is kept by what `cell` names.
    #[track_caller]
    fn check_cell(cell: &str, expected: &[&str]) {
        let table =
            format!("| promise `x_y` | kept by |\n|---|:--|\n| a call is judged | {cell} |\n");
        let source =
            "//! A `fn told_only`.\npub enum Verdict {\nfn nothing_leaks() {\nfn settle<T>() {";
        let tree = Tree::of(&[(PATHS[0], &table), ("crates/ic-policy/src/a.rs", source)]);
        assert_findings(&check(&tree), expected);
    }

    #[test]
    fn tests_and_types_that_exist_keep_a_promise() {
        check_cell("`nothing_leaks`", &[]);
        check_cell("`it::laws::nothing_leaks` and `--policy`, `deny`, `MY_HOME`", &[]);
        check_cell("`Verdict`, `Verdict::Allow` | `Escalation::settle()`", &[]);
    }

    #[test]
    fn a_promise_that_nothing_keeps_is_found() {
        let empty = "docs/promises.md:3: this promise names no test or type that keeps it.";
        check_cell("", &[empty]);
        check_cell("care, and `deny`", &[empty]);
    }

    #[test]
    fn what_was_renamed_is_found() {
        check_cell(
            "`nothing_leaks`, `nothing_leak`, `laws::told_only`, `Permit`",
            &[
                "docs/promises.md:3: there is no test `nothing_leak`.",
                "docs/promises.md:3: there is no test `told_only`.",
                "docs/promises.md:3: there is no type `Permit`.",
            ],
        );
    }

    #[test]
    fn an_empty_list_is_found() {
        assert_findings(
            &check(&Tree::of(&[(PATHS[0], "# Promises\n")])),
            &["docs/promises.md:1: the file has no table of promises."],
        );
    }
}
