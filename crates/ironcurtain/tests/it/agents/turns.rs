//! Turns of the real Claude Code that say something about the cage, and so hold for every agent.

use serde_json::json;

use super::{Stage, says, uses};

#[test]
fn where_the_policy_lets_nothing_be_written_the_agent_writes_nothing() {
    let bash = uses("toolu_1", "Bash", json!({"command": "echo x > made.txt; echo y > a.txt"}));
    let Some(stage) = Stage::claude([bash, says("It is read-only.")]) else { return };
    let output = stage.start(&["--policy", "readonly", "Write."]);
    assert_eq!(output.code, 0, "{output:?}");
    assert!(stage.last_request().contains("Read-only file system"), "{}", stage.last_request());
    assert_eq!(stage.read("work/a.txt").as_deref(), Some("what was there"));
    assert_eq!(stage.read("work/made.txt"), None);
}
