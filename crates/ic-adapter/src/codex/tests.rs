//! What Codex is told, and what its recorded output means.

use std::time::Duration;

use ic_types::Provider;

use super::*;
use crate::FaultKind;

#[test]
fn a_turn_has_its_settings_as_arguments_and_the_message_on_standard_input() {
    let bridge = ["/usr/bin/ironcurtain", "agent-bridge", "8701"].map(str::to_owned);
    let stage = Stage {
        workspace: "/w",
        home: "/h",
        shown: "/s",
        bridge: &bridge,
        provider: Provider::OpenAi,
        model: Some("gpt-5"),
        fake_key: "sk-fake",
        call_max: Duration::from_mins(6),
        orientation: "You are \"caged\".\nBe calm.",
        goes_on: false,
    };
    let turn = Codex.turn(&stage, "--last \"$(rm -rf /)\"");
    assert_eq!(turn.input, "--last \"$(rm -rf /)\"");
    insta::assert_snapshot!(turn.arguments.join("\n"), @r#"
    exec
    --json
    --skip-git-repo-check
    --dangerously-bypass-approvals-and-sandbox
    -c
    model_provider="gate"
    -c
    model_providers.gate.name="gate"
    -c
    model_providers.gate.base_url="https://api.openai.com/v1"
    -c
    model_providers.gate.env_key="OPENAI_API_KEY"
    -c
    model_providers.gate.wire_api="responses"
    -c
    model_providers.gate.supports_websockets=false
    -c
    web_search="disabled"
    -c
    projects={"/w"={trust_level="untrusted"}}
    -c
    analytics.enabled=false
    -c
    check_for_update_on_startup=false
    -c
    developer_instructions="You are \"caged\".\nBe calm."
    -c
    mcp_servers.ironcurtain.command="/usr/bin/ironcurtain"
    -c
    mcp_servers.ironcurtain.args=["agent-bridge","8701"]
    -c
    mcp_servers.ironcurtain.required=true
    -c
    mcp_servers.ironcurtain.tool_timeout_sec=360
    -c
    model="gpt-5"
    resume
    --last
    -
    "#);
}

/// Reads a recorded turn.
fn read(recorded: &str) -> (Vec<Said>, TurnEnd) {
    let mut said: Vec<Said> = recorded.lines().flat_map(|it| Codex.read(it)).collect();
    match said.pop() {
        Some(Said::Ended(end)) => (said, end),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_recorded_answer_is_read() {
    let (said, end) = read(include_str!("recorded/answered.jsonl"));
    let expected =
        [Said::UsesTool("command_execution".to_owned()), Said::Text("All done.".to_owned())];
    assert_eq!(said, expected);
    // It ends with what it said last.
    assert_eq!(end.outcome, Ok(None));
    let usage = end.usage.unwrap();
    assert_eq!((usage.prompt, usage.completion, usage.cost_usd), (200, 20, None));
}

#[test]
fn recorded_faults_are_told_apart() {
    for (recorded, kind) in [
        (include_str!("recorded/refused.jsonl"), FaultKind::Other),
        (include_str!("recorded/quota.jsonl"), FaultKind::Quota),
        (include_str!("recorded/overloaded.jsonl"), FaultKind::Transient),
    ] {
        let (said, end) = read(recorded);
        assert_eq!(said, []);
        let fault = end.outcome.unwrap_err();
        assert_eq!(fault.kind, kind, "{fault}");
    }
}

#[test]
fn its_interface_has_the_same_settings_and_the_task_as_one_word_that_is_no_option() {
    let bridge = ["/usr/bin/ironcurtain", "agent-bridge", "8701"].map(str::to_owned);
    let stage = Stage {
        workspace: "/w",
        home: "/h",
        shown: "/s",
        bridge: &bridge,
        provider: Provider::OpenAi,
        model: Some("gpt-5"),
        fake_key: "sk-fake",
        call_max: Duration::from_mins(6),
        orientation: "You are caged.",
        goes_on: false,
    };
    let task = "--yolo \"$(rm -rf /)\"";
    let shown = Codex.interface(&stage, Some(task)).unwrap().arguments;
    let beginning = ["--no-daemon", "--dangerously-bypass-approvals-and-sandbox", "-c"];
    assert_eq!(shown[..3], beginning);
    assert_eq!(shown[shown.len() - 2..], ["--", task]);
    let settings = |arguments: &[String]| -> Vec<String> {
        arguments.iter().filter(|it| it.contains('=')).cloned().collect()
    };
    assert_eq!(settings(&shown), settings(&Codex.turn(&stage, "x").arguments));
    let going_on = Codex.interface(&Stage { goes_on: true, ..stage }, None).unwrap().arguments;
    assert_eq!(going_on[..2], ["resume", "--last"]);
    assert!(!going_on.contains(&"--".to_owned()));
}
