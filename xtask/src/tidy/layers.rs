//! Every crate has a row, and uses only crates in rows below its own.

use super::Finding;
use super::metadata::{Kind, Member, Metadata};
use super::tree::Tree;

/// The rows, lowest first, as in ARCHITECTURE.md.
const ROWS: [&[&str]; 11] = [
    &["ic-types"],
    &[
        "ic-policy",
        "ic-home",
        "ic-intent",
        "ic-mcp",
        "ic-schema",
        "ic-screen",
        "ic-terminal",
        "ic-typescript",
    ],
    &[
        "ic-adapter",
        "ic-analysis",
        "ic-constitution",
        "ic-confine",
        "ic-resolve",
        "ic-audit",
        "ic-escalation",
        "ic-listener",
        "ic-model",
    ],
    &["ic-egress", "ic-trace", "ic-inventory", "ic-servers", "ic-container"],
    &["ic-judge"],
    &["ic-backend"],
    &["ic-broker", "ic-mitm", "ic-agent", "ic-store"],
    &["ic-client", "ic-sandbox"],
    // Live and offline never meet: artifacts cross as files.
    &["ic-session", "ic-compiler"],
    &["ic-opening"],
    &["ironcurtain"],
];

/// Where a crate stands.
#[derive(Clone, Copy)]
enum Place {
    Row(usize),
    /// `ic-testkit`: may use every library, and is used in tests.
    Testkit,
    /// `ic-fuzz`: uses no crate of ours, and is used in tests.
    Fuzz,
    /// `xtask`: may use everything, and is used by nobody.
    Xtask,
}

pub(super) fn check(metadata: &Metadata, tree: &Tree) -> Vec<Finding> {
    metadata.members.iter().flat_map(|member| check_member(member, metadata, tree)).collect()
}

fn check_member(member: &Member, metadata: &Metadata, tree: &Tree) -> Vec<Finding> {
    let Some(from) = place(&member.name) else {
        let sentence = format!("`{}` has no row in the table of layers.", member.name);
        return vec![Finding::new(&member.manifest, 1, sentence)];
    };
    let is_ours = |name: &str| metadata.members.iter().any(|it| it.name == name);
    let mut findings = Vec::new();
    for dependency in member.dependencies.iter().filter(|it| is_ours(&it.name)) {
        // A crate without a row is reported once, at its own manifest.
        let Some(to) = place(&dependency.name) else { continue };
        if let Some(reason) = fault(from, to, dependency.kind) {
            let line = tree.line_of(&member.manifest, &dependency.name);
            let sentence = format!("`{}` uses `{}`: {reason}.", member.name, dependency.name);
            findings.push(Finding::new(&member.manifest, line, sentence));
        }
    }
    findings
}

fn place(name: &str) -> Option<Place> {
    match name {
        "ic-testkit" => Some(Place::Testkit),
        "ic-fuzz" => Some(Place::Fuzz),
        "xtask" => Some(Place::Xtask),
        _ => ROWS.iter().position(|row| row.contains(&name)).map(Place::Row),
    }
}

/// Says what is wrong with an edge, if anything is.
fn fault(from: Place, to: Place, kind: Kind) -> Option<String> {
    let is_top = |row| row + 1 == ROWS.len();
    match (from, to) {
        (Place::Xtask, _) => None,
        (_, Place::Xtask) => Some("`xtask` is used by nobody".to_owned()),
        (Place::Fuzz, _) => Some("`ic-fuzz` knows no other crate".to_owned()),
        _ if kind == Kind::Dev => None,
        (Place::Testkit, Place::Fuzz) => None,
        (_, Place::Fuzz) => Some("`ic-fuzz` is for tests only".to_owned()),
        (_, Place::Testkit) => Some("`ic-testkit` is for tests only".to_owned()),
        (Place::Testkit, Place::Row(to)) if is_top(to) => {
            Some("`ic-testkit` may use every library, and no binary".to_owned())
        }
        (Place::Row(from), Place::Row(to)) if from <= to => Some(format!(
            "a crate of row {from} uses only rows below its own, and this is row {to}"
        )),
        (Place::Testkit | Place::Row(_), Place::Row(_)) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::assert_findings;

    #[track_caller]
    fn check_edge(from: &str, to: &str, kind: Kind, expected: &[&str]) {
        let metadata =
            Metadata::of_members(&[(from, &[("serde", Kind::Normal), (to, kind)]), (to, &[])]);
        let manifest = format!("crates/{from}/Cargo.toml");
        let text = format!("[dependencies]\nserde.workspace = true\n{to}.workspace = true\n");
        assert_findings(&check(&metadata, &Tree::of(&[(&manifest, &text)])), expected);
    }

    #[test]
    fn edges_point_down() {
        check_edge("ic-policy", "ic-types", Kind::Normal, &[]);
        check_edge("ironcurtain", "ic-resolve", Kind::Normal, &[]);
        check_edge(
            "ic-policy",
            "ic-resolve",
            Kind::Normal,
            &["crates/ic-policy/Cargo.toml:3: `ic-policy` uses `ic-resolve`: \
               a crate of row 1 uses only rows below its own, and this is row 2."],
        );
    }

    #[test]
    fn an_edge_within_a_row_is_refused_even_when_building() {
        check_edge(
            "ic-session",
            "ic-compiler",
            Kind::Build,
            &["crates/ic-session/Cargo.toml:3: `ic-session` uses `ic-compiler`: \
               a crate of row 8 uses only rows below its own, and this is row 8."],
        );
    }

    #[test]
    fn the_testkit_is_for_tests() {
        check_edge("ic-policy", "ic-testkit", Kind::Dev, &[]);
        check_edge("xtask", "ic-testkit", Kind::Normal, &[]);
        check_edge("ic-testkit", "ic-compiler", Kind::Normal, &[]);
        check_edge(
            "ic-policy",
            "ic-testkit",
            Kind::Normal,
            &["crates/ic-policy/Cargo.toml:3: `ic-policy` uses `ic-testkit`: \
               `ic-testkit` is for tests only."],
        );
        check_edge(
            "ic-testkit",
            "ironcurtain",
            Kind::Normal,
            &["crates/ic-testkit/Cargo.toml:3: `ic-testkit` uses `ironcurtain`: \
               `ic-testkit` may use every library, and no binary."],
        );
    }

    #[test]
    fn the_fuzzer_is_for_tests_and_knows_nobody() {
        check_edge("ic-types", "ic-fuzz", Kind::Dev, &[]);
        check_edge("ic-testkit", "ic-fuzz", Kind::Normal, &[]);
        check_edge(
            "ic-types",
            "ic-fuzz",
            Kind::Normal,
            &[
                "crates/ic-types/Cargo.toml:3: `ic-types` uses `ic-fuzz`: `ic-fuzz` is for tests only.",
            ],
        );
        check_edge(
            "ic-fuzz",
            "ic-types",
            Kind::Dev,
            &[
                "crates/ic-fuzz/Cargo.toml:3: `ic-fuzz` uses `ic-types`: `ic-fuzz` knows no other crate.",
            ],
        );
    }

    #[test]
    fn nobody_uses_xtask() {
        check_edge(
            "ic-types",
            "xtask",
            Kind::Dev,
            &["crates/ic-types/Cargo.toml:3: `ic-types` uses `xtask`: `xtask` is used by nobody."],
        );
    }

    #[test]
    fn a_crate_without_a_row_is_found() {
        let metadata = Metadata::of_members(&[("ic-core", &[])]);
        assert_findings(
            &check(&metadata, &Tree::of(&[])),
            &["crates/ic-core/Cargo.toml:1: `ic-core` has no row in the table of layers."],
        );
    }
}
