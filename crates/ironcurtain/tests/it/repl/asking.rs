//! Questions in a conversation, and commands while one waits.

use ic_testkit::proxy::records;

use super::world::{KEYS, Stage, ask_four, check_four, document, rig};
use crate::approvals::world::Rig;

fn read(rig: &Rig, name: &str) -> Option<String> {
    std::fs::read_to_string(document(rig, name)).ok()
}

/// Asks for a document to be written.
fn write(stage: &Stage, rig: &Rig, name: &str) {
    stage.send(&format!("write \"text\" to {}", document(rig, name)));
}

/// Starts a conversation on a screen on which paths are not folded.
fn stage(rig: &Rig) -> Stage {
    let stage =
        Stage::start(rig, 200, 50, &["NO_COLOR=1"], &["--workspace", "work", "--name", "talk"]);
    stage.prompt("");
    stage
}

#[test]
fn one_key_answers() {
    let rig = rig();
    let mut stage = stage(&rig);
    let long = "x".repeat(400);
    stage.send(&format!("write \"{long}\" to {}", document(&rig, "a.txt")));
    stage.asked().expect("240 of 400 characters not shown").type_in("y");
    stage.expect("(press d first, then y: parts of the request were left out)");
    stage.asked().type_in("/approve\r").expect("press d first, then the command");
    assert_eq!((rig.pending().len(), read(&rig, "a.txt")), (1, None));
    stage.asked().type_in("d");
    // All of it is read anew.
    stage.until("it is shown whole", |rows| {
        !rows.iter().any(|row| row.contains("not shown"))
            && rows
                .iter()
                .any(|row| row.starts_with("#1 talk: filesystem wants to call write_file"))
    });
    stage.asked().type_in("y").expect("Escalation approved.").prompt("");
    assert_eq!(read(&rig, "a.txt").unwrap(), long);
    write(&stage, &rig, "b.txt");
    stage.asked().type_in("n").expect("Escalation denied.").prompt("");
    assert_eq!(read(&rig, "b.txt"), None);
    write(&stage, &rig, "c.txt");
    stage.asked().type_in("g").expect("Which one? 1 or 2; n goes back");
    stage.type_in("1").until("the second approval", |_| read(&rig, "c.txt").is_some());
    stage.prompt("");
    write(&stage, &rig, "c.txt");
    stage.expect("✓ allowed  filesystem.write_file").prompt("").type_in("/quit\r");
    assert_eq!(stage.end(), 0);
    let decided = records(&rig.place);
    assert!(decided.iter().any(|it| it["decidedBy"] == "repl"));
    stage.expect(
        "3 calls made, 1 refused, 2 approved by you, 2 files changed; 4 turns, 0 tokens, $0.0000",
    );
}

/// What was typed on, what came in one piece, and a paste.
#[test]
fn typing_ahead_answers_nothing() {
    let rig = rig();
    let mut stage = stage(&rig);
    // All of it is there before the question is.
    stage.type_in(&format!("write \"text\" to {}\ryyyy", document(&rig, "a.txt")));
    stage.asked_with("yyyy");
    assert_eq!(rig.pending().len(), 1);
    // With something typed, no letter is an answer.
    stage.type_in("y").asked_with("yyyyy");
    stage.type_in("\x15").asked().type_in("\x1b[200~y\x1b[201~").asked_with("y");
    stage.type_in("\x15").asked().type_in("yy").asked_with("yy");
    assert_eq!(rig.pending().len(), 1);
    assert_eq!(read(&rig, "a.txt"), None);
    stage.type_in("\x15").asked().type_in("n").expect("Escalation denied.").prompt("");
    stage.type_in("\x04");
    assert_eq!(stage.end(), 0);
    assert_eq!(read(&rig, "a.txt"), None);
}

#[test]
fn commands_work_and_messages_queue_while_a_turn_runs() {
    let rig = rig();
    let mut stage = stage(&rig);
    stage.send("/logs").expect("(no diagnostic events yet)").prompt("");
    stage.send("/approve").expect("No escalation pending.").prompt("");
    stage.send("/save").expect("The conversation is saved.").prompt("");
    stage.send("/what").expect("There is no command /what; /help lists them.").prompt("");
    write(&stage, &rig, "a.txt");
    stage.asked().send("/pending").expect("write_file; expires in").asked();
    stage.send("/budget").expect("steps: 1 of 200").asked();
    stage.send("/logs").expect("│ tool_call execute_code").asked();
    stage.send("/history").expect("(no messages yet)").asked();
    stage.send("/help").expect("/approve+").asked();
    stage.send("/approve 9").expect("No pending escalation with ID: 9").asked();
    stage.send("list the files").expect("Queued: it is sent when this turn is over.").asked();
    stage.send("/approve 1").expect("Escalation approved.");
    // The queued message has its turn.
    stage.expect("✓ allowed  filesystem.list_directory").prompt("");
    stage.send("/logs").expect("│   ✓ approved filesystem.write_file").prompt("");
    assert!(!stage.rows().concat().contains("u{a}"), "{:?}", stage.rows());
    stage.send("/history").expect("2. ").expect("  > list the files").prompt("");
    assert!(read(&rig, "a.txt").is_some());
    // What is queued goes with /quit.
    write(&stage, &rig, "b.txt");
    stage.asked().send("list the files").expect("Queued").asked().send("/quit");
    stage.expect("The queued message was dropped.");
    assert_eq!(stage.end(), 0);
    assert_eq!(read(&rig, "b.txt"), None);
    let verified = rig.run(&["audit", "verify"]);
    assert_eq!(verified.code, 0, "{verified:?}");
}

/// What can be typed for the three, while another one waits.
const KEYS_OF_THREE: &str = "y approve all 3 · n deny all 3 · o one by one · s next · 1 more wait";

/// Three that differ in their path, and one of another kind; each is written by somebody else.
#[test]
fn several_questions_are_counted_and_grouped() {
    let rig = rig();
    let mut stage = stage(&rig);
    let session = ask_four(&rig);
    stage.send("/approve").expect("3 calls need approval; you answer them together:");
    stage.expect("and 2 calls like it, 3 files under \"/d/\":").expect("\"/d/three\"");
    stage.until("it is asked, and one more waits", |rows| {
        rows.iter().rev().nth(1).is_some_and(|row| *row == KEYS_OF_THREE)
    });
    assert!(
        !session.join("escalations/response-00000001-0000-4000-8000-000000000000.json").exists()
    );
    stage.type_in("y").expect("Escalation approved. (3 calls)");
    stage.expect("filesystem wants to call delete_file").asked().type_in("n");
    stage.expect("Escalation denied.").prompt("");
    check_four(&session);
    stage.type_in("/quit\r");
    assert_eq!(stage.end(), 0);
    stage.never_below("filesystem wants to call delete_file", KEYS, "(read it first;");
}

/// *Always* adds what was asked to the policy, for later sessions, and approves the call once.
#[test]
fn always_adds_to_the_policy_and_approves_the_call() {
    let rig = rig();
    let mut stage = stage(&rig);
    write(&stage, &rig, "a.txt");
    stage.asked().type_in("a").expect("The agent may write files in ");
    stage.expect("`my-default`, a copy of the built-in `default` made now");
    // Anything but yes adds nothing, and the question stands there again.
    stage.expect("y adds it and approves the call").type_in("n").expect("Nothing was added");
    assert!(!rig.place.path("home/.ironcurtain/policies").exists());
    stage.asked().type_in("a").expect("y adds it and approves the call").type_in("y");
    stage.expect("Added to the policy `my-default`, for new sessions.").prompt("");
    assert_eq!(read(&rig, "a.txt").unwrap(), "text");
    // This session keeps the policy that it has.
    write(&stage, &rig, "b.txt");
    stage.asked().type_in("n").expect("Escalation denied.").prompt("").type_in("/quit\r");
    assert_eq!(stage.end(), 0);
    let check = |path: &str| {
        let arguments = format!(r#"{{"path":"{path}","content":"x"}}"#);
        rig.place.run(["policy", "check", "filesystem", "write_file", &arguments]).code
    };
    assert_eq!((check("~/Documents/c.txt"), check("~/c.txt")), (0, 3));
    let log = rig.place.path("home/.ironcurtain/logs/policy-changes.jsonl");
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("confirmed at the question") && log.contains("repl"), "{log}");
}

/// What no policy decides is not offered to be decided by the policy.
#[test]
fn always_is_not_offered_for_what_always_asks() {
    let rig = rig();
    let mut stage = stage(&rig);
    let profile = rig.place.path("home/.bashrc");
    stage.send(&format!("write \"text\" to {}", profile.display()));
    stage.asked();
    assert!(!stage.rows().iter().any(|row| row.contains("a always")), "{:?}", stage.rows());
    stage.type_in("n").expect("Escalation denied.").prompt("").type_in("/quit\r");
    assert_eq!(stage.end(), 0);
    assert!(!rig.place.path("home/.ironcurtain/policies").exists());
}
