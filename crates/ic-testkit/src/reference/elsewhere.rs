//! Structural rules that crates other than `ic-policy` name, and where the code names any.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The rules: name, decision, and when it holds.
pub(super) const RULES: [(&str, &str, &str); 7] = [
    ("structural-invalid-arguments", "deny", "arguments that do not match the tool's input schema"),
    ("structural-unknown-method", "deny", "an MCP method that IronCurtain does not forward"),
    (
        "structural-identity-changed",
        "deny",
        "a server or tool that changed since you trusted it; `ironcurtain servers trust NAME` shows the difference",
    ),
    (
        "structural-redirect",
        "deny",
        "a redirect from https to http, to an address that is too long, or after five others; every other redirect is judged like a call of its own",
    ),
    (
        "structural-git-config",
        "deny",
        "a repository whose own configuration names a program for git to run",
    ),
    (
        "structural-disk-unanswered",
        "deny",
        "a path on a file system that does not answer within ten seconds",
    ),
    (
        "structural-invalid-request",
        "deny",
        "`policy check --requests` only: a line that cannot be read",
    ),
];

/// Returns the names of structural rules that the product's sources mention.
pub(super) fn named_in(repository: &Path) -> BTreeSet<String> {
    let crates = fs::read_dir(repository.join("crates")).expect("the crates");
    let mut directories: Vec<PathBuf> =
        crates.map(|it| it.expect("an entry").path().join("src")).collect();
    directories.retain(|it| it.is_dir() && !it.ends_with("ic-testkit/src"));
    let mut names = BTreeSet::new();
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                let text = fs::read_to_string(&path).expect("a source file");
                let quoted =
                    text.split("\"structural-").skip(1).filter_map(|it| it.split_once('"'));
                let is_name = |name: &str| !name.is_empty() && !name.contains(['{', ' ', '\n']);
                let found = quoted.map(|(name, _)| name).filter(|name| is_name(name));
                names.extend(found.map(|name| format!("structural-{name}")));
            }
        }
    }
    names
}
