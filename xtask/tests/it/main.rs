//! The repository keeps its own rules.

mod install;

use xtask::{policies, tidy};

#[test]
fn the_workspace_is_tidy() {
    let report = tidy::check_workspace().expect("the workspace can be read");
    assert!(report.findings.is_empty(), "\n{report}");
}

#[test]
fn the_built_in_policies_are_compiled_from_their_constitutions() {
    let outdated = policies::outdated().expect("the constitutions compile");
    assert!(outdated.is_empty(), "run `cargo xtask policies` for {outdated:?}");
}
