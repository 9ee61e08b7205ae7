//! What every real agent has to do, one case each, tried with all of them.

use ic_testkit::agents::{CLAUDE_CODE, CODEX, CONTAINED, GOOSE, OPENCODE, Row, register};
use ic_testkit::provider::{Fault, KEY, Reply, Request};
use ic_testkit::proxy::{Process, records};
use rustix::process::Signal;
use serde_json::json;

use super::{Stage, Started, says};
use crate::clients::Packages;
use crate::proxy::until;

const DEADLINE: std::time::Duration = std::time::Duration::from_mins(1);

/// Makes a test of each case with each agent.
macro_rules! with_every_agent {
    ($($case:ident)*) => {
        $(mod $case {
            #[test]
            fn claude_code() {
                super::$case(&super::CLAUDE_CODE);
            }

            #[test]
            fn claude_code_in_a_container() {
                super::$case(&super::CONTAINED);
            }

            #[test]
            fn codex() {
                super::$case(&super::CODEX);
            }

            #[test]
            fn opencode() {
                super::$case(&super::OPENCODE);
            }

            #[test]
            fn goose() {
                super::$case(&super::GOOSE);
            }
        })*
    };
}

with_every_agent! {
    an_agent_writes_a_file_with_its_own_tools_and_answers
    its_calls_are_judged_and_shown
    a_call_that_waits_is_approved_from_another_terminal
    a_call_that_waits_is_denied_from_another_terminal
    a_second_turn_remembers_the_first_also_after_kill_9
    a_first_turn_that_left_nothing_is_no_obstacle
    a_used_up_budget_ends_the_turn
    a_cancelled_turn_leaves_nothing_that_runs
    faults_of_the_provider_are_told_apart
}

fn an_agent_writes_a_file_with_its_own_tools_and_answers(row: &'static Row) {
    let command = "echo by-its-own-shell > made.txt; cat ../home/.ironcurtain/config.json; env";
    let script = [row.runs("toolu_1", command), says("It is written.")];
    let Some(stage) = Stage::set(row, script) else { return };
    let output = stage.start(&["Write the file made.txt."]);
    assert_eq!((output.code, output.stdout.trim()), (0, "It is written."), "{output:?}");
    assert_eq!(stage.read("work/made.txt").as_deref(), Some("by-its-own-shell\n"));
    // It has no key, and not our files.
    let told = stage.last_request();
    assert!(told.contains("No such file or directory"), "{told}");
    assert!(told.contains("HTTPS_PROXY=http://127.0.0.1:") && !told.contains(KEY), "{told}");
    let asked = stage.provider.requests().into_iter().filter(Request::offers_tools);
    let asked: Vec<String> = asked.map(|it| it.body.to_string()).collect();
    assert!(asked.iter().all(|it| it.contains("You run inside IronCurtain")), "{asked:?}");
    assert!(asked.iter().all(|it| it.contains("filesystem__read_text_file")), "{asked:?}");
    // What it used was measured, and the record is whole.
    assert!(output.stderr.contains('$'), "{}", output.stderr);
    let verified = stage.place.run(["audit", "verify"]);
    assert_eq!(verified.code, 0, "{}{}", verified.stdout, verified.stderr);
    let kinds: Vec<_> = records(&stage.place).iter().map(|it| it["kind"].clone()).collect();
    assert!(kinds.contains(&json!("llm")) && kinds.contains(&json!("session")), "{kinds:?}");
}

fn its_calls_are_judged_and_shown(row: &'static Row) {
    let Some(stage) = Stage::set(row, []) else { return };
    stage.place.write("home/.ssh/id_ed25519", "a key of the user");
    let read = |id: &str, name: &str| {
        let path = stage.place.path(name).display().to_string();
        row.calls(id, "filesystem__read_text_file", json!({"path": path}))
    };
    stage.provider.push([
        read("toolu_1", "work/a.txt"),
        read("toolu_2", "home/.ssh/id_ed25519"),
        says("One was denied."),
    ]);
    let output = stage.start(&["Read both files."]);
    assert_eq!((output.code, output.stdout.trim()), (0, "One was denied."), "{output:?}");
    let requests = stage.provider.requests();
    let all: Vec<String> = requests.iter().map(|it| it.body.to_string()).collect();
    assert!(all.iter().any(|it| it.contains("what was there")), "{all:?}");
    let last = all.last().unwrap();
    assert!(is_denied(last) && !last.contains("a key of the user"), "{last}");
    assert!(output.stderr.contains("filesystem.read_text_file"), "{}", output.stderr);
    assert!(output.stderr.contains("1 call made, 1 refused"), "{}", output.stderr);
    let decided: Vec<_> = records(&stage.place)
        .into_iter()
        .filter(|it| it["tool"] == "read_text_file" && !it["verdict"].is_null())
        .map(|it| it["verdict"].clone())
        .collect();
    assert!(decided.contains(&json!("allow")) && decided.contains(&json!("deny")));
}

fn a_call_that_waits_is_approved_from_another_terminal(row: &'static Row) {
    let Some((stage, told)) = answered_elsewhere(row, "approve") else { return };
    assert_eq!(stage.read("home/Documents/b.txt").as_deref(), Some("by the broker"), "{told}");
}

fn a_call_that_waits_is_denied_from_another_terminal(row: &'static Row) {
    let Some((stage, told)) = answered_elsewhere(row, "deny") else { return };
    assert_eq!(stage.read("home/Documents/b.txt"), None);
    assert!(is_denied(&told), "{told}");
}

/// Returns whether a model was told of a denial; Codex shows the structured part of a result alone.
fn is_denied(told: &str) -> bool {
    told.contains("DENIED: ") || told.contains(r#"\"decision\":\"deny\""#)
}

/// Lets a call wait and be answered; returns what the model was told then.
fn answered_elsewhere(row: &'static Row, answer: &str) -> Option<(Stage, String)> {
    let stage = Stage::set(row, [])?;
    stage.place.let_scripts_answer();
    stage.place.dir("home/Documents");
    let path = stage.place.path("home/Documents/b.txt").display().to_string();
    let input = json!({"path": path, "content": "by the broker"});
    let call = row.calls("toolu_1", "filesystem__write_file", input);
    stage.provider.push([call, says("That was it.")]);
    let mut started = stage.begin(&["--wait", "Write it."]);
    started.expect("A call is waiting for approval; ");
    let list = stage.place.run(["approvals", "list", "--json"]);
    let list: serde_json::Value = serde_json::from_str(&list.stdout).unwrap();
    let id = list[0]["escalationId"].as_str().unwrap();
    let answered = stage.place.run(["approvals", answer, id]);
    assert_eq!(answered.code, 0, "{answered:?}");
    let output = started.end();
    assert_eq!((output.code, output.stdout.trim()), (0, "That was it."), "{output:?}");
    let fate =
        if answer == "approve" { "✓ approved filesystem.write_file" } else { "✗ refused " };
    assert!(output.stderr.contains(fate), "{}", output.stderr);
    let told = stage.last_request();
    Some((stage, told))
}

fn a_second_turn_remembers_the_first_also_after_kill_9(row: &'static Row) {
    let Some(stage) = Stage::set(row, [says("The word is quince.")]) else { return };
    let output = stage.start(&["--name", "fruit", "Remember the word quince."]);
    assert_eq!(output.code, 0, "{output:?}");
    stage.provider.push([says("It was quince.")]);
    let output = stage.place.run(stage.going_on(&["--continue", "Which word?"]));
    assert_eq!((output.code, output.stdout.trim()), (0, "It was quince."), "{output:?}");
    let told = stage.last_request();
    assert!(told.contains("Remember the word quince."), "{told}");
    assert!(told.contains("Which word?"), "{told}");
    // The third turn hangs, and the host is killed in it.
    stage.provider.push([row.runs("toolu_1", HANG)]);
    let started = Started::new(&stage.place, &stage.going_on(&["--continue", "Wait."]));
    ends_with_it(&stage, started, (Signal::KILL, 137));
    stage.provider.push([says("Quince, still.")]);
    let output = stage.place.run(stage.going_on(&["--resume", "fruit", "And now?"]));
    assert_eq!((output.code, output.stdout.trim()), (0, "Quince, still."), "{output:?}");
    let told = stage.last_request();
    assert!(told.contains("Remember the word quince."), "{told}");
}

/// The first turn may end before the agent has kept a conversation to go on with.
fn a_first_turn_that_left_nothing_is_no_obstacle(row: &'static Row) {
    let Some(stage) = Stage::set(row, []) else { return };
    register(&stage.place, row.agent, "/usr/bin/id".as_ref());
    let output = stage.start(&["Never mind."]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("Agent exited with code 1."), "{}", output.stderr);
    let Some(packages) = Packages::find() else { return };
    register(&stage.place, row.agent, &packages.0.join("bin").join(row.program));
    stage.provider.push([says("Here I am.")]);
    let output = stage.place.run(stage.going_on(&["--continue", "Go on."]));
    assert_eq!((output.code, output.stdout.trim()), (0, "Here I am."), "{output:?}");
}

fn a_used_up_budget_ends_the_turn(row: &'static Row) {
    let Some(stage) = Stage::set(row, []) else { return };
    let set = stage.place.run(["config", "set", "agent.budget.maxTotalTokens", "1"]);
    assert_eq!(set.code, 0, "{}", set.stderr);
    stage.provider.push([row.runs("toolu_1", "true"), says("Never said.")]);
    let output = stage.start(&["Go on and on."]);
    assert_eq!(output.code, 5, "{output:?}");
    assert!(!output.stdout.contains("Never said."), "{output:?}");
}

fn a_cancelled_turn_leaves_nothing_that_runs(row: &'static Row) {
    let Some(stage) = Stage::set(row, [row.runs("toolu_1", HANG)]) else { return };
    let started = stage.begin(&["Wait."]);
    ends_with_it(&stage, started, (Signal::INT, 130));
}

const HANG: &str = "echo begun > begun.txt; sleep 1000";

/// Sends the host a signal while a command of the agent hangs: all that it started ends.
fn ends_with_it(stage: &Stage, started: Started, (signal, code): (Signal, i32)) {
    until("a command of the agent", || stage.read("work/begun.txt").is_some());
    let descendants = started.descendants();
    assert!(stage.row.is_contained || 2 < descendants.len(), "{descendants:?}");
    assert_eq!(stage.containers().len(), usize::from(stage.row.is_contained));
    let held: Vec<_> = descendants.into_iter().map(Process::hold).collect();
    started.send(signal);
    assert_eq!(started.end().code, code);
    for process in held {
        assert!(process.is_gone_within(DEADLINE), "something of the agent still runs");
    }
    // By its leash if the host was killed, and removed by the next start at the latest.
    until("nothing of the agent runs", || stage.running_containers().is_empty());
}

fn faults_of_the_provider_are_told_apart(row: &'static Row) {
    // Real programs take minutes to give up, and what they say then does not depend on what holds them.
    if row.is_contained {
        return;
    }
    for (fault, hint) in [
        (Fault::RateLimit("0"), "the provider's limit for this key is reached"),
        (Fault::Overloaded("0"), "the provider had a problem; send the message again"),
    ] {
        // Each tries a few times, and none so often.
        let script = std::iter::repeat_n(Reply::Fails(fault), 60);
        let Some(stage) = Stage::set(row, script) else { return };
        let output = stage.start(&["Try."]);
        assert_eq!(output.code, 1, "{output:?}");
        assert!(output.stderr.contains(hint), "{}", output.stderr);
    }
}
