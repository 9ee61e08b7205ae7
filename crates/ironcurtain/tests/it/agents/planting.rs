//! What an agent plants for the user's programs to run, with its own shell: put back, and asked about.

use ic_testkit::proxy::records;
use rustix::process::Signal;
use serde_json::json;

use super::{Stage, says, uses};
use crate::proxy::until;

/// Plants files and a link, and waits until they are gone; then does its work.
const PLANT: &str = "mkdir .vscode; echo '{\"tasks\": \"evil\"}' > .vscode/tasks.json; echo run > .ENVRC
    mkdir -p sub/.git/hooks; echo 'ref: refs/heads/x' > sub/.git/HEAD; mkdir sub/.git/objects sub/.git/refs
    ln -s /etc out; n=0
    while test -e .vscode -o -e .ENVRC -o -e sub/.git; do
      sleep 0.1; n=$((n + 1)); test $n -lt 300 || exit 1
    done
    echo work > made.txt";

fn plant(stage: &Stage, command: &str) {
    stage.provider.push([uses("toolu_1", "Bash", json!({"command": command})), says("Done.")]);
}

/// The turn goes on, and where nobody can be asked everything stays put back.
#[test]
fn an_agent_that_plants_something_goes_on_without_it() {
    let Some(stage) = Stage::claude([]) else { return };
    plant(&stage, PLANT);
    let output = stage.start(&["Plant."]);
    assert_eq!(output.stdout.trim(), "Done.", "{output:?}");
    assert_eq!(stage.read("work/made.txt").as_deref(), Some("work\n"), "{output:?}");
    for name in [".vscode", ".ENVRC", "sub/.git"] {
        assert!(!stage.place.path("work").join(name).exists(), "{name}: {output:?}");
        assert!(output.stderr.contains(name), "{name}: {output:?}");
    }
    assert!(output.stderr.contains("moved to the quarantine"), "{output:?}");
    assert!(output.stderr.contains("It stays put back: no approver was connected"), "{output:?}");
    let events: Vec<String> = records(&stage.place).iter().map(ToString::to_string).collect();
    assert!(events.iter().any(|it| it.contains("put_back")), "{events:?}");
}

#[test]
fn what_is_approved_is_kept_just_as_it_was_shown() {
    let Some(stage) = Stage::claude([]) else { return };
    stage.place.let_scripts_answer();
    plant(&stage, "echo '{\"servers\": 1}' > .mcp.json");
    let mut started = stage.begin(&["--wait", "Plant."]);
    started.expect("A call is waiting for approval; ");
    let list = stage.place.run(["approvals", "list", "--json"]).stdout;
    assert!(list.contains(".mcp.json") && list.contains("servers"), "{list}");
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    let id = list[0]["escalationId"].as_str().unwrap();
    assert!(stage.read("work/.mcp.json").is_none(), "it is put back meanwhile");
    assert_eq!(stage.place.run(["approvals", "approve", id]).code, 0);
    let output = started.end();
    assert_eq!((output.code, output.stdout.trim()), (0, "Done."), "{output:?}");
    assert_eq!(stage.read("work/.mcp.json").as_deref(), Some("{\"servers\": 1}\n"), "{output:?}");
}

#[test]
fn what_was_planted_when_the_host_was_killed_is_put_back() {
    let Some(stage) = Stage::claude([]) else { return };
    let command = "echo x > begun; echo evil > .mcp.json; sleep 1000";
    stage.provider.push([uses("toolu_1", "Bash", json!({"command": command}))]);
    let started = stage.begin(&["Plant."]);
    until("what was planted", || stage.read("work/.mcp.json").is_some());
    started.send(Signal::KILL);
    assert_eq!(started.end().code, 137);
    until("it is put back", || stage.read("work/.mcp.json").is_none());
    stage.provider.push([says("Next.")]);
    let output = stage.start(&["What now?"]);
    assert_eq!((output.code, output.stdout.trim()), (0, "Next."), "{output:?}");
    let told = "a session was killed before it could look once more";
    assert!(output.stderr.contains(told) && output.stderr.contains(".mcp.json"), "{output:?}");
    assert_eq!(stage.read("work/begun").as_deref(), Some("x\n"));
}
