//! `ironcurtain demo`: the whole tour at a terminal, and what is left of it.

use std::path::PathBuf;

use super::world::{KEYS, Stage, rig};
use crate::approvals::world::{BINARY, Rig};

const NEXT: &str = "c continue · Ctrl-C cancel";

/// Begins the tour, with its directory in one of the test's own.
fn begin(rig: &Rig) -> Stage {
    // A home that is not there, so that whatever the tour makes of it is seen.
    std::fs::remove_dir_all(rig.place.path("home/.ironcurtain")).unwrap();
    let temporary = format!("TMPDIR={}", rig.place.dir("t").display());
    let variables = ["NO_COLOR=1", temporary.as_str()];
    Stage::run(rig, (110, 60), &rig.place.root(), &variables, &[BINARY, "demo"])
}

/// Returns what the tour left behind, in its directory and in the user's home.
fn left(rig: &Rig) -> Vec<PathBuf> {
    let names =
        |path: &str| std::fs::read_dir(rig.place.path(path)).unwrap().map(|it| it.unwrap().path());
    names("t").chain(names("home").filter(|it| !it.ends_with("Documents"))).collect()
}

/// Waits until a step is explained, and goes on.
fn go_on(stage: &Stage, step: u32) {
    let title = format!("── {step} of 5: ");
    stage.until(&title, |rows| {
        let at = rows.iter().rposition(|row| row.starts_with(&title));
        at.is_some() && rows.last().is_some_and(|row| row == NEXT)
    });
    stage.type_in("c");
}

#[test]
fn the_tour_approves_denies_grants_and_reads_the_log() {
    let rig = rig();
    let mut stage = begin(&rig);
    go_on(&stage, 1);
    stage.expect("✓ allowed  filesystem.write_file").expect("✗ refused  filesystem.read_text_file");
    go_on(&stage, 2);
    stage.asked_alone(1).type_in("y").expect("Call the plumber.");
    go_on(&stage, 3);
    stage.asked_alone(2).type_in("n").expect("Escalation denied.");
    go_on(&stage, 4);
    stage.asked_alone(3).type_in("g").expect("Which one? ");
    // The first one is the file itself.
    stage.expect("read-path: everything in `").type_in("2").expect("Buy bread.");
    go_on(&stage, 5);
    stage.expect("That was the tour.");
    assert_eq!(stage.end(), 0);
    let sent = stage.sent();
    assert!(!sent.contains("#4 tour"), "the grant did not count:\n{sent}");
    let (whole, changed) = sent.split_once("the tour changes one letter").expect("the change");
    assert!(whole.contains(": intact"), "{whole}");
    assert!(changed.contains("audit verify") && !changed.contains(": intact"), "{changed}");
    assert_eq!(left(&rig), Vec::<PathBuf>::new());
}

#[test]
fn a_tour_that_is_broken_off_leaves_nothing() {
    let rig = rig();
    let mut stage = begin(&rig);
    stage.expect(NEXT).type_in("\x03");
    assert_eq!(stage.end(), 130);
    assert_eq!(left(&rig), Vec::<PathBuf>::new());
    // In the middle of a question.
    rig.place.dir("home/.ironcurtain");
    let mut stage = begin(&rig);
    go_on(&stage, 1);
    go_on(&stage, 2);
    stage.asked_alone(1).until(KEYS, |rows| rows.iter().any(|row| row.starts_with(KEYS)));
    stage.type_in("\x03");
    assert_eq!(stage.end(), 130);
    assert_eq!(left(&rig), Vec::<PathBuf>::new());
}

#[test]
fn without_a_terminal_there_is_no_tour() {
    let rig = rig();
    let output = rig.place.run(["demo"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("error: the tour needs a terminal"), "{output:?}");
}
