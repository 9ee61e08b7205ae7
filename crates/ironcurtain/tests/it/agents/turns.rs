//! Turns of the real Claude Code.

use ic_testkit::provider::KEY;
use ic_testkit::proxy::records;
use rustix::process::Signal;
use serde_json::json;

use super::{Stage, says, uses};
use crate::proxy::until;

const DEADLINE: std::time::Duration = std::time::Duration::from_mins(1);

#[test]
fn claude_code_writes_a_file_with_its_own_tools_and_answers() {
    let command = "echo by-its-own-shell > made.txt; cat ../home/.ironcurtain/config.json; env; id";
    let bash = uses("toolu_1", "Bash", json!({"command": command}));
    let Some(stage) = Stage::claude([bash, says("It is written.")]) else { return };
    let output = stage.start(&["Write the file made.txt."]);
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(output.stdout.trim(), "It is written.");
    assert_eq!(stage.read("work/made.txt").as_deref(), Some("by-its-own-shell\n"));
    // It has no key, and not our files.
    let told = stage.last_request();
    assert!(told.contains("No such file or directory"), "{told}");
    assert!(told.contains("ANTHROPIC_API_KEY=sk-ant-") && !told.contains(KEY), "{told}");
    let asked = stage.provider.request(0).unwrap();
    assert!(asked.headers.contains(&("x-api-key".to_owned(), KEY.to_owned())));
    let system = asked.body["system"].to_string();
    assert!(system.contains("You run inside IronCurtain"), "{system}");
    // What it used was measured, and the record is whole.
    assert!(output.stderr.contains('$'), "{}", output.stderr);
    let verified = stage.place.run(["audit", "verify"]);
    assert_eq!(verified.code, 0, "{}{}", verified.stdout, verified.stderr);
    let kinds: Vec<_> = records(&stage.place).iter().map(|it| it["kind"].clone()).collect();
    assert!(kinds.contains(&json!("llm")) && kinds.contains(&json!("session")), "{kinds:?}");
}

#[test]
fn its_calls_are_judged_and_shown() {
    let Some(stage) = Stage::claude([]) else { return };
    stage.place.write("home/.ssh/id_ed25519", "a key of the user");
    let path = |name: &str| stage.place.path(name).display().to_string();
    let read = |id: &str, name: &str| {
        let tool = "mcp__ironcurtain__filesystem__read_text_file";
        uses(id, tool, json!({"path": path(name)}))
    };
    stage.provider.push([
        read("toolu_1", "work/a.txt"),
        read("toolu_2", "home/.ssh/id_ed25519"),
        says("One was denied."),
    ]);
    let output = stage.start(&["Read both files."]);
    assert_eq!(output.code, 0, "{output:?}");
    let requests = stage.provider.requests();
    let all: Vec<String> = requests.iter().map(|it| it.body.to_string()).collect();
    assert!(all.iter().any(|it| it.contains("what was there")), "{all:?}");
    let last = all.last().unwrap();
    assert!(last.contains("DENIED: ") && !last.contains("a key of the user"), "{last}");
    assert!(output.stderr.contains("filesystem.read_text_file"), "{}", output.stderr);
    assert!(output.stderr.contains("1 call made, 1 refused"), "{}", output.stderr);
    let decided: Vec<_> = records(&stage.place)
        .into_iter()
        .filter(|it| it["tool"] == "read_text_file" && !it["verdict"].is_null())
        .map(|it| it["verdict"].clone())
        .collect();
    assert!(decided.contains(&json!("allow")) && decided.contains(&json!("deny")), "{decided:?}");
}

#[test]
fn a_call_that_waits_is_approved_from_another_terminal() {
    let Some(stage) = Stage::claude([]) else { return };
    stage.place.let_scripts_answer();
    stage.place.dir("home/Documents");
    let path = stage.place.path("home/Documents/b.txt").display().to_string();
    let tool = "mcp__ironcurtain__filesystem__write_file";
    stage.provider.push([
        uses("toolu_1", tool, json!({"path": path, "content": "approved"})),
        says("Written."),
    ]);
    let mut started = stage.begin(&["--wait", "Write it."]);
    started.expect("A call is waiting for approval; ");
    let list = stage.place.run(["approvals", "list", "--json"]);
    let list: serde_json::Value = serde_json::from_str(&list.stdout).unwrap();
    let id = list[0]["escalationId"].as_str().unwrap();
    let approved = stage.place.run(["approvals", "approve", id]);
    assert_eq!(approved.code, 0, "{approved:?}");
    let output = started.end();
    assert_eq!((output.code, output.stdout.trim()), (0, "Written."), "{output:?}");
    assert_eq!(stage.read("home/Documents/b.txt").as_deref(), Some("approved"));
}

#[test]
fn a_second_turn_remembers_the_first_also_after_kill_9() {
    let Some(stage) = Stage::claude([says("The word is quince.")]) else { return };
    let output = stage.start(&["Remember the word quince."]);
    assert_eq!(output.code, 0, "{output:?}");
    stage.provider.push([says("It was quince.")]);
    let output = stage.place.run(["start", "--continue", "Which word?"]);
    assert_eq!((output.code, output.stdout.trim()), (0, "It was quince."), "{output:?}");
    let told = stage.last_request();
    assert!(told.contains("Remember the word quince.") && told.contains("Which word?"), "{told}");
    // The third turn hangs, and the host is killed in it.
    let sleep = uses("toolu_1", "Bash", json!({"command": "echo begun > begun.txt; sleep 1000"}));
    stage.provider.push([sleep]);
    let started = super::Started::new(&stage.place, &["start", "--continue", "Wait."]);
    until("a command of the agent", || stage.read("work/begun.txt").is_some());
    let descendants = started.descendants();
    assert!(2 < descendants.len(), "{descendants:?}");
    let held: Vec<_> = descendants.into_iter().map(ic_testkit::proxy::Process::hold).collect();
    started.send(Signal::KILL);
    assert_eq!(started.end().code, 137);
    for process in held {
        assert!(process.is_gone_within(DEADLINE), "something of the agent still runs");
    }
    stage.provider.push([says("Quince, still.")]);
    let output = stage.place.run(["start", "--continue", "And now?"]);
    assert_eq!((output.code, output.stdout.trim()), (0, "Quince, still."), "{output:?}");
    assert!(stage.last_request().contains("Remember the word quince."));
}

#[test]
fn a_used_up_budget_ends_the_turn() {
    let Some(stage) = Stage::claude([]) else { return };
    let set = stage.place.run(["config", "set", "agent.budget.maxTotalTokens", "1"]);
    assert_eq!(set.code, 0, "{}", set.stderr);
    let bash = uses("toolu_1", "Bash", json!({"command": "true"}));
    stage.provider.push([bash, says("Never said.")]);
    let output = stage.start(&["Go on and on."]);
    assert_eq!(output.code, 5, "{output:?}");
    assert!(!output.stdout.contains("Never said."), "{output:?}");
}

#[test]
fn a_cancelled_turn_leaves_nothing_that_runs() {
    let sleep = uses("toolu_1", "Bash", json!({"command": "echo begun > begun.txt; sleep 1000"}));
    let Some(stage) = Stage::claude([sleep]) else { return };
    let started = stage.begin(&["Wait."]);
    until("a command of the agent", || stage.read("work/begun.txt").is_some());
    let descendants = started.descendants();
    let held: Vec<_> = descendants.into_iter().map(ic_testkit::proxy::Process::hold).collect();
    started.send(Signal::INT);
    assert_eq!(started.end().code, 130);
    for process in held {
        assert!(process.is_gone_within(DEADLINE), "something of the agent still runs");
    }
}

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
