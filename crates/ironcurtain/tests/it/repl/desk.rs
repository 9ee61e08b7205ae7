//! `approvals watch --desk` at a terminal that gives keys: the same dialog, and the same numbers.

use super::world::{KEYS, Stage, document, rig};
use crate::approvals::world::{BINARY, Rig};

fn desk(rig: &Rig) -> Stage {
    let words = [BINARY, "approvals", "watch", "--desk"];
    let stage = Stage::run(rig, (120, 30), &rig.place.root(), &["NO_COLOR=1"], &words);
    stage.expect("No approval request is waiting · q quit");
    stage
}

#[test]
fn the_keys_of_a_conversation_answer_at_the_desk() {
    let rig = rig();
    let work = rig.session("work");
    let mut desk = desk(&rig);
    let first = work.ask("/d/a.txt", "hello");
    let keys = format!("{KEYS} · g approve and grant · a always · q quit");
    desk.asked_alone(1).expect(&keys).expect("#1 work: filesystem wants to call write_file");
    assert!(desk.sent().contains("ironcurtain: #1 waits for you\x07"));
    // Neither a number nor Enter, and nothing that came in one piece.
    desk.noise("y 1\r", 1);
    assert!(!first.response.exists());
    desk.type_in("y").expect("Escalation approved. #1 was accepted by `work`.");
    assert_eq!(rig.summary(first), "Approved by cli");
    let second = work.ask_tool("create_directory", &serde_json::json!({"path": "/d/b"}));
    let third = work.ask("/d/c.txt", "x");
    desk.asked_alone(2).expect("· s next · q quit · 1 more wait").type_in("s").asked_alone(3);
    desk.type_in("n").expect("Escalation denied. Your denial of #3 was accepted").asked_alone(2);
    assert_eq!(rig.summary(third), "Denied by cli");
    desk.type_in("g").expect("Which one? 1 or 2; n goes back").type_in("n");
    desk.expect("Nothing was granted, and nothing answered.").asked_alone(2);
    assert!(!second.response.exists());
    desk.type_in("q");
    assert_eq!(desk.end(), 0);
    assert!(!ic_escalation::is_anybody_there(&rig.home).unwrap());
    assert!(desk.sent().ends_with("\x1b[0m") || desk.sent().contains("\x1b[23;2t"));
}

/// In a conversation, at the desk and in the list, also after another session has asked before.
#[test]
fn a_question_has_one_number_everywhere() {
    let rig = rig();
    let write = |name: &str| format!("write \"text\" to {}", document(&rig, name));
    let arguments = ["--workspace", "work", "--name", "first", &write("a.txt")];
    let mut first = Stage::start(&rig, 120, 30, &["NO_COLOR=1"], &arguments);
    first.asked_alone(1).type_in("n");
    assert_eq!(first.end(), 0);
    let second =
        Stage::start(&rig, 120, 30, &["NO_COLOR=1"], &["--workspace", "work", "--name", "second"]);
    second.prompt("").send(&write("b.txt"));
    second.asked().expect("#2 second: filesystem wants to call write_file");
    let desk = {
        let words = [BINARY, "approvals", "watch", "--desk"];
        Stage::run(&rig, (120, 30), &rig.place.root(), &["NO_COLOR=1"], &words)
    };
    desk.asked_alone(2).expect("#2 second: filesystem wants to call write_file");
    let listed = rig.run(&["approvals", "list"]).stdout;
    assert!(listed.starts_with("#2 second: "), "{listed}");
    let shown = rig.run(&["approvals", "show", "2"]);
    assert!(shown.stdout.starts_with("#2 second: "), "{shown:?}");
    assert_eq!(rig.run(&["approvals", "show", "1"]).code, 1);
    second.send("/deny 2").expect("Escalation denied.").prompt("");
    desk.expect("No approval request is waiting");
}

/// The desk is another process than the session: it adds to the policy that the session was started with.
#[test]
fn always_at_the_desk_adds_to_the_policy_of_the_session_that_asks() {
    let rig = rig();
    assert_eq!(rig.run(&["policy", "new", "own"]).code, 0);
    let task = format!("write \"text\" to {}", document(&rig, "a.txt"));
    let words = ["--workspace", "work", "--policy", "own", "--wait", &task];
    let start = || Stage::start(&rig, 120, 30, &["NO_COLOR=1"], &words);
    let mut session = start();
    session.asked_alone(1);
    let mut desk = {
        let words = [BINARY, "approvals", "watch", "--desk"];
        Stage::run(&rig, (120, 30), &rig.place.root(), &["NO_COLOR=1"], &words)
    };
    desk.asked_alone(1).expect("· a always · q quit").type_in("a");
    desk.expect("The agent may write files in ").expect("with write_file of filesystem.");
    desk.expect("policy: `own` (");
    desk.expect("asks -> allowed").expect("y adds it and approves the call").type_in("n");
    desk.expect("Nothing was added, and nothing answered.").asked_alone(1).type_in("a");
    desk.expect("y adds it and approves the call").type_in("y");
    desk.expect("Added to the policy `own`, for new sessions.");
    desk.expect("Escalation approved. #1 was accepted by").type_in("q");
    assert_eq!((session.end(), desk.end()), (0, 0));
    assert_eq!(std::fs::read_to_string(document(&rig, "a.txt")).unwrap(), "text");
    // The next session with that policy does not ask, and no other policy has changed.
    assert_eq!(start().end(), 0);
    assert_eq!(rig.run(&["config", "get", "policy"]).stdout, "default\n");
    assert!(!rig.place.path("home/.ironcurtain/policies/my-default").exists());
    let log = rig.place.path("home/.ironcurtain/logs/policy-changes.jsonl");
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains(r#""by":"desk","agreed":"confirmed at the question""#), "{log}");
}
