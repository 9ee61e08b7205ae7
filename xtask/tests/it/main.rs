//! The repository keeps its own rules.

use xtask::tidy;

#[test]
fn the_workspace_is_tidy() {
    let report = tidy::check_workspace().expect("the workspace can be read");
    assert!(report.findings.is_empty(), "\n{report}");
}
