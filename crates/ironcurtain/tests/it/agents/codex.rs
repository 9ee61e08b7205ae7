//! Turns of the real Codex.

use ic_testkit::provider::KEY;
use serde_json::json;

use super::{Stage, says, uses};

#[test]
fn codex_writes_a_file_is_offered_our_tools_and_remembers() {
    let Some(stage) = Stage::set("codex", "codex", []) else { return };
    stage.provider.push([
        uses("call_1", "exec_command", json!({"cmd": "echo by-codex > made.txt; env"})),
        says("It is written."),
    ]);
    let output = stage.start(&["--model", "openai:gpt-5", "Write the file made.txt."]);
    assert_eq!((output.code, output.stdout.trim()), (0, "It is written."), "{output:?}");
    assert_eq!(stage.read("work/made.txt").as_deref(), Some("by-codex\n"));
    let asked = stage.provider.request(0).unwrap().body.to_string();
    assert!(asked.contains("You run inside IronCurtain"), "{asked}");
    assert!(asked.contains("filesystem__read_text_file"), "{asked}");
    assert!(!stage.last_request().contains(KEY));
    stage.provider.push([says("It was made.txt.")]);
    let output = stage.place.run(["start", "--continue", "--model", "openai:gpt-5", "Which file?"]);
    assert_eq!((output.code, output.stdout.trim()), (0, "It was made.txt."), "{output:?}");
    let told = stage.last_request();
    assert!(told.contains("Write the file made.txt.") && told.contains("Which file?"), "{told}");
}
