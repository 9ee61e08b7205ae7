//! Every package that we build on may be used under a licence that we accept.

use super::Finding;
use super::metadata::{Metadata, Stranger};
use super::tree::Tree;

use spdx::{Expression, Licensee, ParseMode};

/// Licences that ask for no more than notices; a new one needs a decision, not only a line here.
const ACCEPTED: [&str; 14] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

pub(super) fn check(metadata: &Metadata, tree: &Tree) -> Vec<Finding> {
    let finding = |stranger: &Stranger| {
        let sentence = fault(stranger)?;
        Some(Finding::new("Cargo.lock", stranger.line_in_lock(tree), sentence))
    };
    metadata.strangers.iter().filter_map(finding).collect()
}

fn fault(stranger: &Stranger) -> Option<String> {
    let name = &stranger.name;
    let Some(licence) = &stranger.licence else {
        return Some(format!("`{name}` states no licence."));
    };
    match is_accepted(licence) {
        Ok(true) => None,
        Ok(false) => Some(format!("`{name}` has the licence `{licence}`, which is not accepted.")),
        Err(_) => Some(format!("`{name}` has the licence `{licence}`, which is not SPDX.")),
    }
}

/// Returns whether some choice that `expression` leaves needs only licences that we accept.
///
/// The old `/` for `OR` is read as well.
fn is_accepted(expression: &str) -> Result<bool, spdx::ParseError> {
    let mode = ParseMode { allow_slash_as_or_operator: true, ..ParseMode::STRICT };
    let expression = Expression::parse_mode(expression, mode)?;
    let accepted = ACCEPTED.iter().filter_map(|it| Licensee::parse(it).ok()).collect::<Vec<_>>();
    Ok(expression.evaluate(|needed| accepted.iter().any(|it| it.satisfies(needed))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::assert_findings;

    #[track_caller]
    fn check_licence(licence: Option<&str>, expected: &[&str]) {
        let metadata = Metadata::of_stranger("other", licence, Some("registry+x"));
        let tree = Tree::of(&[("Cargo.lock", "version = 4\n[[package]]\nname = \"other\"\n")]);
        assert_findings(&check(&metadata, &tree), expected);
    }

    #[test]
    fn only_accepted_licences_pass() {
        check_licence(Some("MIT OR Apache-2.0"), &[]);
        check_licence(Some("MIT/Apache-2.0"), &[]);
        check_licence(
            Some("AGPL-3.0-only"),
            &["Cargo.lock:3: `other` has the licence `AGPL-3.0-only`, which is not accepted."],
        );
        check_licence(
            Some("MIT Apache-2.0"),
            &["Cargo.lock:3: `other` has the licence `MIT Apache-2.0`, which is not SPDX."],
        );
        check_licence(None, &["Cargo.lock:3: `other` states no licence."]);
    }

    #[test]
    fn every_accepted_licence_is_known() {
        for name in ACCEPTED {
            assert_eq!(is_accepted(name).ok(), Some(true), "{name}");
        }
    }

    #[test]
    fn choices_conjunctions_and_exceptions_count() {
        for (expression, expected) in [
            ("GPL-3.0-only", Some(false)),
            ("GPL-3.0-only OR MIT", Some(true)),
            ("GPL-3.0-only/MIT", Some(true)),
            ("GPL-3.0-only OR LGPL-3.0-only", Some(false)),
            ("MIT AND ISC", Some(true)),
            ("MIT AND GPL-3.0-only", Some(false)),
            ("(MIT OR GPL-3.0-only) AND ISC", Some(true)),
            ("(MIT OR ISC) AND GPL-3.0-only", Some(false)),
            ("MIT OR ISC AND GPL-3.0-only", Some(true)),
            ("GPL-3.0-only AND MIT OR ISC", Some(true)),
            ("GPL-3.0-only AND (MIT OR ISC)", Some(false)),
            ("Apache-2.0 WITH LLVM-exception", Some(true)),
            ("MIT WITH LLVM-exception", Some(false)),
            ("GPL-2.0-only WITH Classpath-exception-2.0 OR MIT", Some(true)),
            ("MIT OR", None),
            ("OR MIT", None),
            ("(MIT", None),
            ("MIT)", None),
            ("MIT ISC", None),
            ("MIT WITH", None),
            ("()", None),
            ("/", None),
            ("Mitt", None),
        ] {
            assert_eq!(is_accepted(expression).ok(), expected, "{expression:?}");
        }
    }
}
