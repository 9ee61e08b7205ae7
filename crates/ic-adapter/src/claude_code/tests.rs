//! What Claude Code is told, and what its recorded output means.

use std::time::Duration;

use ic_types::Provider;

use super::*;
use crate::{FaultKind, SetupPlace};

fn stage<'a>(bridge: &'a [String], model: Option<&'a str>) -> Stage<'a> {
    Stage {
        workspace: "/w",
        home: "/h",
        shown: "/s",
        bridge,
        provider: Provider::Anthropic,
        model,
        fake_key: "sk-ant-api03-0123456789-abcdefghij",
        call_max: Duration::from_mins(6),
        orientation: "You are in a cage.",
        goes_on: false,
    }
}

fn bridge() -> Vec<String> {
    ["/usr/bin/ironcurtain", "agent-bridge", "8701"].map(str::to_owned).to_vec()
}

#[test]
fn a_turn_has_the_message_on_standard_input_only() {
    let bridge = bridge();
    let message = "-p \"$(rm -rf /)\" --mcp-config";
    let turn = ClaudeCode.turn(&stage(&bridge, Some("claude-opus-5")), message);
    assert_eq!(turn.input, message);
    assert!(turn.arguments.iter().all(|it| !it.contains("rm -rf")), "{:?}", turn.arguments);
    insta::assert_snapshot!(turn.arguments.join(" "), @"--continue --output-format stream-json --verbose --dangerously-skip-permissions --setting-sources user --mcp-config /s/mcp.json --strict-mcp-config --disallowedTools WebSearch,WebFetch --append-system-prompt-file /s/orientation.md --model claude-opus-5 -p");
    let value = |name: &str| {
        let found = turn.environment.iter().find(|(it, _)| *it == name);
        found.map(|(_, value)| value.clone())
    };
    assert_eq!(value("MCP_TOOL_TIMEOUT").as_deref(), Some("360000"));
    assert_eq!(value("IS_SANDBOX").as_deref(), Some("1"));
    let without = ClaudeCode.turn(&stage(&bridge, None), "x");
    assert!(!without.arguments.contains(&"--model".to_owned()));
}

#[test]
fn its_interface_has_the_task_as_one_word_that_is_no_option() {
    let bridge = bridge();
    let task = "-p \"$(rm -rf /)\" --mcp-config";
    let shown = ClaudeCode.interface(&stage(&bridge, None), Some(task)).unwrap();
    insta::assert_snapshot!(shown.arguments.join("|"), @r#"--dangerously-skip-permissions|--setting-sources|user|--mcp-config|/s/mcp.json|--strict-mcp-config|--disallowedTools|WebSearch,WebFetch|--append-system-prompt-file|/s/orientation.md|--|-p "$(rm -rf /)" --mcp-config"#);
    let without = ClaudeCode.interface(&stage(&bridge, None), None).unwrap();
    assert!(!without.arguments.contains(&"--".to_owned()));
    let going_on = ClaudeCode.interface(&Stage { goes_on: true, ..stage(&bridge, None) }, None);
    assert_eq!(going_on.unwrap().arguments.first().map(String::as_str), Some("--continue"));
}

#[test]
fn its_files_name_our_server_and_answer_its_first_questions() {
    let bridge = bridge();
    let files = ClaudeCode.setup(&stage(&bridge, None));
    let file = |path: &str| files.iter().find(|it| it.path == path).unwrap();
    insta::assert_snapshot!(file("mcp.json").text, @r#"{"mcpServers":{"ironcurtain":{"type":"stdio","command":"/usr/bin/ironcurtain","args":["agent-bridge","8701"]}}}"#);
    insta::assert_snapshot!(file(".claude.json").text, @r#"{"hasCompletedOnboarding":true,"projects":{"/w":{"hasTrustDialogAccepted":true}},"customApiKeyResponses":{"approved":["123456789-abcdefghij"]}}"#);
    assert_eq!(file("orientation.md").text, "You are in a cage.");
    assert_eq!(file("mcp.json").place, SetupPlace::Shown);
    assert_eq!(file(".claude.json").place, SetupPlace::NewHome);
}

/// Reads a recorded turn.
fn read(recorded: &str) -> (Vec<Said>, TurnEnd) {
    let mut said: Vec<Said> = recorded.lines().flat_map(|it| ClaudeCode.read(it)).collect();
    match said.pop() {
        Some(Said::Ended(end)) => (said, end),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_recorded_answer_is_read() {
    let (said, end) = read(include_str!("recorded/answered.jsonl"));
    let expected = [
        Said::Text("Writing.".to_owned()),
        Said::UsesTool("Bash".to_owned()),
        Said::Text("All done.".to_owned()),
    ];
    assert_eq!(said, expected);
    assert_eq!(end.outcome, Ok(Some("All done.".to_owned())));
    let usage = end.usage.unwrap();
    assert_eq!((usage.prompt, usage.completion), (200, 20));
    assert!(usage.cost_usd.is_some_and(|it| 0.0 < it && it < 0.01), "{usage:?}");
}

#[test]
fn recorded_faults_are_told_apart() {
    for (recorded, kind) in [
        (include_str!("recorded/refused.jsonl"), FaultKind::Other),
        (include_str!("recorded/quota.jsonl"), FaultKind::Quota),
        (include_str!("recorded/overloaded.jsonl"), FaultKind::Transient),
    ] {
        let (said, end) = read(recorded);
        // The fault is not shown as if the model had said it.
        assert_eq!(said, []);
        let fault = end.outcome.unwrap_err();
        assert_eq!(fault.kind, kind, "{fault}");
        assert!(fault.message.contains("the provider says no"), "{fault}");
    }
}

#[test]
fn what_is_no_event_says_nothing() {
    for line in ["", "{", "[]", "null", "plain text", r#"{"type":"assistant"}"#, r#"{"type":7}"#] {
        assert_eq!(ClaudeCode.read(line), [], "{line}");
    }
    let ended = ClaudeCode.read(r#"{"type":"result","subtype":"error_during_execution"}"#);
    let [Said::Ended(TurnEnd { outcome: Err(fault), usage: None })] = ended.as_slice() else {
        panic!("{ended:?}");
    };
    assert_eq!(fault.message, "error_during_execution");
}
