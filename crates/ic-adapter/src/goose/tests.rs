//! What Goose is told, and what its recorded output means.

use std::time::Duration;

use super::*;
use crate::FaultKind;

fn stage<'a>(bridge: &'a [String], model: Option<&'a str>, goes_on: bool) -> Stage<'a> {
    Stage {
        workspace: "/w",
        home: "/h",
        shown: "/s",
        bridge,
        provider: Provider::Anthropic,
        model,
        fake_key: "sk-fake",
        call_max: Duration::from_mins(6),
        orientation: "--resume is a word.",
        goes_on,
    }
}

#[test]
fn a_turn_has_the_message_on_standard_input_and_says_whether_it_goes_on() {
    let bridge = ["/usr/bin/ironcurtain", "agent-bridge", "8701"].map(str::to_owned);
    let message = "--resume \"$(rm -rf /)\"";
    let turn = Goose.turn(&stage(&bridge, Some("claude-opus-5"), false), message);
    assert_eq!(turn.input, message);
    insta::assert_snapshot!(turn.arguments.join("|"), @"run|--output-format|stream-json|--name|ironcurtain|--system|--resume is a word.|--instructions|-");
    let value = |turn: &TurnCommand, name: &str| {
        let found = turn.environment.iter().find(|(it, _)| *it == name);
        found.map(|(_, value)| value.clone()).unwrap()
    };
    assert_eq!(value(&turn, "GOOSE_MODEL"), "claude-opus-5");
    assert_eq!(value(&turn, "XDG_CONFIG_HOME"), "/s");
    let second = Goose.turn(&stage(&bridge, None, true), "x");
    insta::assert_snapshot!(second.arguments.join("|"), @"run|--output-format|stream-json|--name|ironcurtain|--system|--resume is a word.|--resume|--instructions|-");
    // It has no model of its own choice.
    assert_eq!(value(&second, "GOOSE_MODEL"), "claude-sonnet-4-6");
}

#[test]
fn its_settings_name_our_server_and_its_tools_for_files_and_commands() {
    let bridge = ["/usr/bin/ironcurtain", "agent-bridge", "8701"].map(str::to_owned);
    let files = Goose.setup(&stage(&bridge, None, false));
    let [file] = files.as_slice() else { panic!("{files:?}") };
    assert_eq!((file.place, file.path), (crate::SetupPlace::Shown, "goose/config.yaml"));
    insta::assert_snapshot!(file.text, @r#"{"extensions":{"developer":{"enabled":true,"type":"platform","name":"developer","description":"developer"},"apps":{"enabled":false,"type":"platform","name":"apps","description":"apps"},"extensionmanager":{"enabled":false,"type":"platform","name":"extensionmanager","description":"extensionmanager"},"summon":{"enabled":false,"type":"platform","name":"summon","description":"summon"},"ironcurtain":{"enabled":true,"type":"stdio","name":"ironcurtain","description":"ironcurtain","cmd":"/usr/bin/ironcurtain","args":["agent-bridge","8701"],"timeout":360}}}"#);
}

fn read(recorded: &str) -> Vec<Said> {
    recorded.lines().flat_map(|it| Goose.read(it)).collect()
}

#[test]
fn a_recorded_answer_is_read_in_pieces() {
    let said = read(include_str!("recorded/answered.txt"));
    let shown: Vec<String> = said
        .iter()
        .map(|said| match said {
            Said::Piece { of, text } => format!("{}…:{text}", of.get(..4).unwrap()),
            Said::UsesTool(tool) => format!("uses {tool}"),
            Said::Ended(end) => format!("{:?} {:?}", end.outcome, end.usage.map(|it| it.prompt)),
            Said::Text(_) | Said::Failed(_) => format!("{said:?}"),
        })
        .collect();
    let expected = [
        "msg_…:First",
        "msg_…: I",
        "msg_…: look.",
        "uses shell",
        "msg_…:It is",
        "msg_…: written.",
        "Ok(None) Some(300)",
    ];
    assert_eq!(shown, expected);
}

#[test]
fn recorded_faults_are_told_apart() {
    for (recorded, kind, message, is_ended) in [
        (include_str!("recorded/refused.txt"), FaultKind::Other, "Authentication error: ", false),
        (include_str!("recorded/quota.txt"), FaultKind::Quota, "Rate limit exceeded: ", true),
        (include_str!("recorded/overloaded.txt"), FaultKind::Transient, "Server error: ", true),
        (include_str!("recorded/dropped.txt"), FaultKind::Transient, "Network error: ", true),
    ] {
        let mut said = read(recorded);
        // It ends as if nothing had happened.
        let end = said.pop_if(|it| matches!(it, Said::Ended(TurnEnd { outcome: Ok(None), .. })));
        assert_eq!(end.is_some(), is_ended);
        let Some(Said::Failed(fault)) = said.first() else { panic!("{said:?}") };
        assert!(said.iter().all(|it| matches!(it, Said::Failed(_))), "{said:?}");
        assert_eq!(fault.kind, kind, "{fault}");
        assert!(fault.message.starts_with(message), "{fault}");
        assert!(!fault.message.contains("Please"), "{fault}");
    }
}

#[test]
fn a_home_without_a_conversation_is_recognised() {
    assert!(Goose.has_no_conversation("Error: No session found with name 'ironcurtain'"));
    assert!(!Goose.has_no_conversation("Error: the disk is full"));
}
