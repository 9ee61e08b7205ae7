//! What makes a proof, or opens a secret, is named only where that is allowed.
//!
//! A permit is worth as much as the list of places that can make one is short.

use super::Finding;
use super::tree::{Line, SourceFile, Tree};

/// A text that only some files may contain.
struct Reserved {
    /// Written in two parts, so that this file does not contain it.
    text: &'static str,
    /// Beginnings of the paths that may.
    places: &'static [&'static str],
    tests: Tests,
}

/// Whether a reserved text may stand in tests anywhere.
enum Tests {
    Free,
    Bound,
}

const RESERVED: [Reserved; 11] = [
    Reserved {
        text: concat!("Permit::", "mint("),
        places: &["crates/ic-policy/src/"],
        tests: Tests::Bound,
    },
    Reserved {
        text: concat!("assert_", "resolved("),
        places: &[
            "crates/ic-policy/src/",
            // Calls that are explained and never evaluated, so that no permit comes of them.
            "crates/ic-analysis/src/imagined.rs",
            "crates/ic-resolve/src/",
            "crates/ic-testkit/",
            "xtask/src/",
        ],
        tests: Tests::Free,
    },
    // An answer comes from a person who was shown the question, a grant, or the person who typed the call.
    Reserved {
        text: concat!("assert_", "shown("),
        places: &["crates/ic-policy/src/verdict.rs", "crates/ic-escalation/src/desk.rs"],
        tests: Tests::Free,
    },
    Reserved {
        text: concat!("Answer::by_", "grant("),
        places: &["crates/ic-policy/src/verdict.rs", "crates/ic-escalation/src/grants.rs"],
        tests: Tests::Free,
    },
    Reserved {
        text: concat!("Answer::by_", "plan("),
        places: &["crates/ic-policy/src/verdict.rs", "crates/ic-escalation/src/plans.rs"],
        tests: Tests::Free,
    },
    Reserved {
        text: concat!("Answer::by_", "judge("),
        places: &["crates/ic-policy/src/verdict.rs", "crates/ic-escalation/src/approver.rs"],
        tests: Tests::Free,
    },
    Reserved {
        text: concat!("dangerously_", "typed("),
        places: &[
            "crates/ic-policy/src/verdict.rs",
            "crates/ic-broker/src/broker/flight.rs",
            "crates/ic-broker/src/broker/people.rs",
            "crates/ic-session/src/calls.rs",
        ],
        tests: Tests::Free,
    },
    // A log that writes elsewhere than to its file is for tests alone.
    Reserved {
        text: concat!("with_", "sink("),
        places: &["crates/ic-audit/src/log.rs"],
        tests: Tests::Free,
    },
    // The five methods that are calls; whatever else is sent names none of them.
    Reserved {
        text: concat!("\"tools/", "call\""),
        places: &[
            "crates/ic-backend/src/server/connection.rs",
            // Only reads what is sent, for the headers.
            "crates/ic-backend/src/server/remote/outgoing.rs",
            "crates/ic-client/src/",
            // A client of its own session.
            "crates/ironcurtain/src/commands/doctor/whole.rs",
            "crates/ic-servers/src/serve/protocol.rs",
            "crates/ic-testkit/",
            "xtask/src/",
        ],
        tests: Tests::Free,
    },
    // Without this no file of ours can have any.
    Reserved {
        text: concat!("unsafe_", "code"),
        places: &["crates/ic-confine/src/sys.rs"],
        tests: Tests::Bound,
    },
    Reserved {
        text: concat!(".exp", "ose()"),
        places: &[
            "crates/ic-types/src/secret.rs",
            "crates/ic-audit/src/key.rs",
            "crates/ic-audit/src/redact/own_keys.rs",
            "crates/ic-mitm/src/key.rs",
            "crates/ic-model/src/provider/key.rs",
            "crates/ic-backend/src/aids/credential.rs",
            "crates/ic-backend/src/server/remote/headers.rs",
            "crates/ic-home/src/hand_over.rs",
        ],
        tests: Tests::Bound,
    },
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    RESERVED.iter().flat_map(|reserved| reserved.misuses(tree)).collect()
}

impl Reserved {
    fn misuses(&self, tree: &Tree) -> impl Iterator<Item = Finding> {
        let elsewhere = tree.rust_files().filter(|file| !self.may_stand_in(file));
        elsewhere.flat_map(|file| {
            let lines = self.bound_lines(file).into_iter();
            lines.filter(|(_, line)| line.contains(self.text)).map(|(number, _)| {
                let places = self.places.join("`, `");
                let sentence = format!("`{}` may stand only in `{places}`.", self.text);
                Finding::new(&file.path, number, sentence)
            })
        })
    }

    fn may_stand_in(&self, file: &SourceFile) -> bool {
        self.places.iter().any(|place| file.path.starts_with(place))
    }

    fn bound_lines<'a>(&self, file: &'a SourceFile) -> Vec<Line<'a>> {
        match self.tests {
            Tests::Free if file.is_test() => Vec::new(),
            Tests::Free => file.code_without_tests().collect(),
            Tests::Bound => file.code().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINT: &str = concat!("Permit::", "mint(call)");
    const RESOLVED: &str = concat!("ResolvedCall::assert_", "resolved(call)");
    const EXPOSE: &str = concat!("key.exp", "ose()");

    #[track_caller]
    fn assert_free(path: &str, text: &str) {
        assert_eq!(check(&Tree::of(&[(path, text)])), [], "{path}");
    }

    #[track_caller]
    fn assert_found(path: &str, text: &str) {
        assert_eq!(check(&Tree::of(&[(path, text)])).len(), 1, "{path}");
    }

    #[test]
    fn a_permit_is_minted_by_the_policy_alone() {
        assert_free("crates/ic-policy/src/permit.rs", MINT);
        assert_found("crates/ic-broker/src/broker.rs", MINT);
        assert_found("crates/ic-broker/tests/it/broker.rs", MINT);
        let inline = format!("#[cfg(test)]\nmod tests {{\n    {MINT}\n}}");
        assert_found("crates/ic-broker/src/broker.rs", &inline);
    }

    #[test]
    fn resolution_is_asserted_by_the_resolver_and_tests() {
        assert_free("crates/ic-resolve/src/lib.rs", RESOLVED);
        assert_free("crates/ic-testkit/src/lib.rs", RESOLVED);
        assert_free("crates/ic-broker/src/intake/tests.rs", RESOLVED);
        assert_free("crates/ic-broker/tests/it/intake.rs", RESOLVED);
        assert_found("crates/ic-broker/src/intake.rs", RESOLVED);
    }

    #[test]
    fn one_file_has_code_that_the_compiler_does_not_vouch_for() {
        let unchecked = concat!("#![expect(unsafe_", "code, reason = \"x\")]");
        assert_free("crates/ic-confine/src/sys.rs", unchecked);
        assert_found("crates/ic-confine/src/launch.rs", unchecked);
        assert_found("crates/ic-confine/tests/it/main.rs", unchecked);
    }

    #[test]
    fn a_secret_is_opened_where_listed() {
        assert_free("crates/ic-types/src/secret.rs", EXPOSE);
        assert_found("crates/ic-model/src/client.rs", EXPOSE);
        assert_free("crates/ic-model/src/client.rs", &format!("// Not {EXPOSE}."));
    }

    #[test]
    fn the_finding_says_where_it_may_stand() {
        let tree = Tree::of(&[("crates/ic-model/src/client.rs", &format!("//! A.\n{EXPOSE}"))]);
        let sentence =
            concat!("`.exp", "ose()` may stand only in `crates/ic-types/src/secret.rs`, ");
        let found = check(&tree);
        assert_eq!(found.len(), 1);
        let expected = format!("crates/ic-model/src/client.rs:2: {sentence}");
        assert!(found.iter().all(|found| found.to_string().starts_with(&expected)), "{found:?}");
    }
}
