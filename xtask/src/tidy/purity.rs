//! The pure crates reach neither the machine nor the clock.

use super::Finding;
use super::metadata::{Member, Metadata};
use super::text::mentions;
use super::tree::{SourceFile, Tree};

/// The crates whose functions depend on their arguments alone.
const PURE: [&str; 9] = [
    "ic-types",
    "ic-policy",
    "ic-adapter",
    "ic-analysis",
    "ic-constitution",
    "ic-listener",
    "ic-mcp",
    "ic-schema",
    "ic-terminal",
];

/// What they have no use for; the short forms catch what was imported in braces.
const FORBIDDEN: [&str; 13] = [
    "std::fs",
    "fs::",
    "std::env",
    "env::",
    "std::process",
    "process::",
    "TcpListener",
    "TcpStream",
    "UdpSocket",
    "ToSocketAddrs",
    "tokio",
    "SystemTime",
    "Instant",
];

pub(super) fn check(metadata: &Metadata, tree: &Tree) -> Vec<Finding> {
    let sources = tree.rust_files().filter(|file| is_pure_source(file)).flat_map(check_source);
    let members = metadata.members.iter().filter(|it| PURE.contains(&it.name.as_str()));
    sources.chain(members.filter_map(|member| check_dependencies(member, tree))).collect()
}

fn is_pure_source(file: &SourceFile) -> bool {
    let is_within = |name: &&str| file.path.starts_with(&format!("crates/{name}/src/"));
    !file.is_test() && PURE.iter().any(is_within)
}

fn check_source(file: &SourceFile) -> impl Iterator<Item = Finding> {
    file.code_without_tests().filter_map(|(number, line)| {
        let word = FORBIDDEN.into_iter().find(|word| mentions(line, word))?;
        let sentence = format!("this crate is pure, and `{word}` is not.");
        Some(Finding::new(&file.path, number, sentence))
    })
}

fn check_dependencies(member: &Member, tree: &Tree) -> Option<Finding> {
    member.dependencies.iter().find(|it| it.name == "tokio")?;
    let line = tree.line_of(&member.manifest, "tokio");
    Some(Finding::new(&member.manifest, line, "this crate is pure, and `tokio` is not."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::assert_findings;
    use crate::tidy::metadata::Kind;

    #[track_caller]
    fn check_text(path: &str, text: &str, expected: &[&str]) {
        let metadata = Metadata::of_members(&[]);
        assert_findings(&check(&metadata, &Tree::of(&[(path, text)])), expected);
    }

    #[test]
    fn the_machine_and_the_clock_are_found() {
        let path = "crates/ic-policy/src/a.rs";
        check_text(path, "use std::net::IpAddr;\nuse std::fmt;", &[]);
        check_text(
            path,
            "use std::{fmt, fs};\nfs::read(path);",
            &["crates/ic-policy/src/a.rs:2: this crate is pure, and `fs::` is not."],
        );
        check_text(
            path,
            "fn now() -> SystemTime {",
            &["crates/ic-policy/src/a.rs:1: this crate is pure, and `SystemTime` is not."],
        );
    }

    #[test]
    fn comments_tests_and_other_crates_are_free() {
        let read = "std::fs::read(path);";
        check_text("crates/ic-types/src/a.rs", "// Not even `std::fs`.", &[]);
        check_text("crates/ic-types/src/a/tests.rs", read, &[]);
        check_text("crates/ic-types/tests/it/a.rs", read, &[]);
        check_text("crates/ic-resolve/src/a.rs", read, &[]);
    }

    #[test]
    fn a_runtime_among_the_dependencies_is_found() {
        let metadata = Metadata::of_members(&[
            ("ic-types", &[("tokio", Kind::Normal)]),
            ("ic-broker", &[("tokio", Kind::Normal)]),
        ]);
        assert_findings(
            &check(&metadata, &Tree::of(&[])),
            &["crates/ic-types/Cargo.toml:1: this crate is pure, and `tokio` is not."],
        );
    }
}
