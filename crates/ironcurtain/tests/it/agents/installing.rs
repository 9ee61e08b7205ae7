//! `ironcurtain agents`, and what is said where an agent cannot be started.

use ic_testkit::provider::KEY;
use serde_json::Value;

use crate::place;

#[test]
fn an_agent_is_copied_listed_and_removed() {
    let place = place();
    let listed = place.run(["start", "--list-agents"]);
    assert_eq!(listed.code, 0, "{listed:?}");
    assert!(listed.stdout.starts_with("claude-code  not installed; ironcurtain agents install"));
    let installed = place.run(["agents", "install", "claude-code", "--from", "/usr/bin/env"]);
    assert_eq!(installed.code, 0, "{installed:?}");
    assert!(installed.stderr.contains("IronCurtain was tested with 2.1.325"), "{installed:?}");
    let list = place.run(["agents", "list", "--json"]);
    let list: Value = serde_json::from_str(&list.stdout).unwrap();
    assert_eq!((&list[0]["agent"], &list[0]["installed"]), (&"claude-code".into(), &true.into()));
    let program = std::path::PathBuf::from(list[0]["program"].as_str().unwrap());
    assert_eq!(std::fs::read(&program).unwrap(), std::fs::read("/usr/bin/env").unwrap());
    // Another one takes its place.
    let words =
        ["agents", "install", "claude-code", "--from", "/usr/bin/id", "--version", "2.1.325"];
    let again = place.run(words);
    assert_eq!(again.code, 0, "{again:?}");
    assert!(!again.stderr.contains("was tested with"), "{again:?}");
    assert!(!program.exists(), "{program:?}");
    assert_eq!(place.run(["agents", "remove", "claude-code"]).code, 0);
    assert_eq!(place.run(["agents", "remove", "claude-code"]).code, 1);
    assert!(!place.path("home/.ironcurtain/agents/claude-code").exists());
}

#[test]
fn what_cannot_be_meant_is_said() {
    let place = place().with_variable("ANTHROPIC_API_KEY", KEY);
    let script = place.write("script", "#!/bin/sh\n");
    for (words, code, part) in [
        (
            &["start", "--agent", "acme", "x"] as &[&str],
            2,
            "Unknown agent: acme. Available: claude-code, codex",
        ),
        (&["agents", "install", "acme"], 2, "Unknown agent: acme."),
        (&["start", "--agent", "claude-code", "x"], 1, "ironcurtain agents install claude-code"),
        (&["agents", "install", "claude-code", "--from", "nowhere"], 1, "nowhere"),
        (
            &["agents", "install", "claude-code", "--from", script.to_str().unwrap()],
            2,
            "is not a Linux program",
        ),
    ] {
        let output = place.run(words);
        assert_eq!(output.code, code, "{words:?}: {output:?}");
        assert!(output.stderr.contains(part), "{words:?}: {}", output.stderr);
    }
}

/// A program that ends without a word about a turn is an error, with its exit code and what it wrote.
#[test]
fn a_program_that_is_no_agent_is_an_error() {
    let place = place().with_variable("ANTHROPIC_API_KEY", KEY);
    let installed = place.run(["agents", "install", "claude-code", "--from", "/usr/bin/id"]);
    assert_eq!(installed.code, 0, "{installed:?}");
    let output = place.run(["start", "--agent", "claude-code", "x"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("Agent exited with code 1. /"), "{}", output.stderr);
    let other = place.run(["start", "--agent", "claude-code", "--model", "openai:gpt-5", "x"]);
    assert_eq!(other.code, 2, "{other:?}");
    assert!(other.stderr.contains("does not use models of `openai`"), "{}", other.stderr);
}

#[test]
fn only_so_many_agents_run_at_a_time() {
    let place = place().with_variable("ANTHROPIC_API_KEY", KEY);
    let installed = place.run(["agents", "install", "claude-code", "--from", "/usr/bin/id"]);
    assert_eq!(installed.code, 0, "{installed:?}");
    assert_eq!(place.run(["config", "set", "agent.maxConcurrentSessions", "1"]).code, 0);
    let home =
        ic_home::Home::new(ic_types::AbsolutePath::new(place.path("home/.ironcurtain")).unwrap());
    std::fs::create_dir_all(home.locks()).unwrap();
    let held = ic_home::Lock::try_acquire(home.agent_place(0)).unwrap().unwrap();
    let output = place.run(["start", "--agent", "claude-code", "x"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("1 sessions of agents are running already"), "{output:?}");
    drop(held);
    let output = place.run(["start", "--agent", "claude-code", "x"]);
    assert!(output.stderr.contains("Agent exited with code"), "{output:?}");
}
