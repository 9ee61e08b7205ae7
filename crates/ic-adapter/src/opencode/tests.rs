//! What OpenCode is told, and what its recorded output means.

use std::time::Duration;

use super::*;
use crate::FaultKind;

fn stage<'a>(bridge: &'a [String], model: Option<&'a str>) -> Stage<'a> {
    Stage {
        workspace: "/w",
        home: "/h",
        shown: "/s",
        bridge,
        provider: Provider::Anthropic,
        model,
        fake_key: "sk-fake",
        call_max: Duration::from_mins(6),
        orientation: "You are in a cage.",
        goes_on: false,
    }
}

#[test]
fn a_turn_has_its_settings_in_a_variable_and_the_message_on_standard_input() {
    let bridge = ["/usr/bin/ironcurtain", "agent-bridge", "8701"].map(str::to_owned);
    let message = "--model \"$(rm -rf /)\"";
    let turn = OpenCode.turn(&stage(&bridge, Some("claude-opus-5")), message);
    assert_eq!(turn.input, message);
    insta::assert_snapshot!(turn.arguments.join(" "), @"run --pure --continue --format json --model anthropic/claude-opus-5");
    let (name, config) = turn.environment.first().unwrap();
    assert_eq!(*name, "OPENCODE_CONFIG_CONTENT");
    insta::assert_snapshot!(config, @r#"{"autoupdate":false,"share":"disabled","instructions":["/s/orientation.md"],"mcp":{"ironcurtain":{"type":"local","command":["/usr/bin/ironcurtain","agent-bridge","8701"],"enabled":true,"timeout":360000}},"permission":{"edit":"allow","bash":"allow","external_directory":"allow","doom_loop":"allow","webfetch":"deny","websearch":"deny","question":"deny"}}"#);
    let without = OpenCode.turn(&stage(&bridge, None), "x");
    assert!(!without.arguments.contains(&"--model".to_owned()));
    let files = OpenCode.setup(&stage(&bridge, None));
    assert_eq!(files, [SetupFile::shown("orientation.md", "You are in a cage.".to_owned())]);
}

#[test]
fn its_interface_has_the_same_settings_and_the_task_as_one_word() {
    let bridge = ["/usr/bin/ironcurtain", "agent-bridge", "8701"].map(str::to_owned);
    let task = "--continue \"$(rm -rf /)\"";
    let shown = OpenCode.interface(&stage(&bridge, Some("claude-opus-5")), Some(task)).unwrap();
    let prompt = format!("--prompt={task}");
    assert_eq!(shown.arguments, ["--pure", "--model=anthropic/claude-opus-5", &prompt]);
    let turn = OpenCode.turn(&stage(&bridge, Some("claude-opus-5")), "x");
    assert_eq!(shown.environment, turn.environment);
    let going_on = OpenCode.interface(&Stage { goes_on: true, ..stage(&bridge, None) }, None);
    assert_eq!(going_on.unwrap().arguments, ["--pure", "--continue"]);
}

#[test]
fn a_recorded_answer_is_read() {
    let recorded = include_str!("recorded/answered.jsonl");
    let said: Vec<Said> = recorded.lines().flat_map(|it| OpenCode.read(it)).collect();
    let expected = [
        Said::Text("First I look.".to_owned()),
        Said::UsesTool("bash".to_owned()),
        Said::Text("It is written.".to_owned()),
        // It ends with what it said last, and once.
        Said::Ended(TurnEnd { outcome: Ok(None), usage: None }),
    ];
    assert_eq!(said, expected);
}

#[test]
fn recorded_faults_are_told_apart() {
    for (recorded, kind, message) in [
        (include_str!("recorded/refused.jsonl"), FaultKind::Other, "the budget of this session"),
        (include_str!("recorded/quota.jsonl"), FaultKind::Quota, "Number of requests"),
        (include_str!("recorded/overloaded.jsonl"), FaultKind::Transient, "Overloaded"),
        (r#"{"type":"error","error":{"name":"UnknownError"}}"#, FaultKind::Other, "UnknownError"),
        (r#"{"type":"error"}"#, FaultKind::Other, "the agent gave no reason"),
    ] {
        let said: Vec<Said> = recorded.lines().flat_map(|it| OpenCode.read(it)).collect();
        let [Said::Failed(fault)] = said.as_slice() else {
            panic!("{said:?}");
        };
        assert_eq!(fault.kind, kind, "{fault}");
        assert!(fault.message.starts_with(message), "{fault}");
    }
}
