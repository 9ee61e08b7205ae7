//! What a new user is told: once, at a terminal, before a conversation without a key.

use super::world::{Stage, rig};
use crate::approvals::world::Rig;

const FIRST: &str = "IronCurtain runs AI agents without trusting them: a policy judges every call.";

/// Starts a conversation, ends it, and says whether the user was greeted.
fn greets(rig: &Rig, variables: &[&str], arguments: &[&str]) -> bool {
    let variables = [&["NO_COLOR=1"], variables].concat();
    let mut stage = Stage::start(rig, 80, 40, &variables, arguments);
    stage.prompt("").type_in("\x04");
    assert_eq!(stage.end(), 0);
    stage.sent().contains(FIRST)
}

#[test]
fn a_new_user_is_greeted_in_five_lines() {
    let rig = rig();
    let mut stage = Stage::start(&rig, 80, 40, &["NO_COLOR=1"], &[]);
    stage.prompt("");
    let rows = stage.rows();
    let begin = rows.iter().position(|row| row == FIRST).expect("the greeting");
    insta::assert_snapshot!(rows[begin..begin + 6].join("\n"), @"
    IronCurtain runs AI agents without trusting them: a policy judges every call.
    Keys, credentials and browser data stay closed; outside the sandbox you decide.
    No key is set, so the built-in offline model is used: try `list the files`.
    For a real model: export ANTHROPIC_API_KEY=… (or OpenAI, Google, compatible).
    Next: `ironcurtain demo` is a two-minute tour, and `/help` lists the commands.
    ");
    stage.type_in("\x04");
    assert_eq!(stage.end(), 0);
    assert!(!greets(&rig, &[], &[]), "greeted twice");
}

#[test]
fn nobody_else_is_greeted() {
    let rig = rig();
    // In a pipe, with a task, with a model that was named, with a key.
    let output = rig.place.run_with_input(["start"], b"list the files\n");
    assert!(output.code == 0 && !output.stderr.contains(FIRST), "{output:?}");
    let mut stage = Stage::start(&rig, 80, 40, &["NO_COLOR=1"], &["list the files"]);
    assert_eq!(stage.end(), 0);
    assert!(!stage.sent().contains(FIRST));
    assert!(!greets(&rig, &[], &["--model", "offline"]));
    assert!(!greets(&rig, &["ANTHROPIC_API_KEY=sk-ant-0123456789abcdefghijklmnop"], &[]));
    // None of these counted as the first time.
    assert!(greets(&rig, &[], &[]));
}
