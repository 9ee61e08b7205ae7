//! The moment of an answer: what was typed for something else, in every way that is known, answers nothing.
//!
//! Each ends with an answer that is meant, so that none passes because nothing can be answered at all.

use std::path::PathBuf;
use std::time::Duration;

use super::world::{Stage, ask_four, document, rig};
use crate::approvals::world::Rig;

/// A report of a terminal but for its last byte, which is the letter that approves.
const HEAD: &str = "\x1b[?2026;2$";

/// Starts a conversation in which a question stands.
fn asked(rig: &Rig) -> Stage {
    let stage = Stage::start(rig, 200, 50, &["NO_COLOR=1"], &["--workspace", "work"]);
    stage.prompt("").send(&format!("write \"text\" to {}", document(rig, "a.txt"))).asked();
    stage
}

/// Types bytes one by one, with time between them as on a slow line or from a person.
fn slowly(stage: &Stage, text: &str, gaps_ms: &[u64]) {
    for (byte, gap_ms) in text.chars().zip(gaps_ms.iter().cycle()) {
        stage.type_in(&byte.to_string());
        std::thread::sleep(Duration::from_millis(*gap_ms));
    }
}

/// The question still waits; and now it is answered as it should be.
#[track_caller]
fn check_unanswered(rig: &Rig, stage: &mut Stage) {
    stage.type_in("\x15z").asked_with("z").type_in("\x15").asked();
    assert_eq!(rig.pending().len(), 1, "{}", stage.rows().join("\n"));
    assert!(!PathBuf::from(document(rig, "a.txt")).exists());
    stage.type_in("y").expect("Escalation approved.");
    stage.until("the file", |_| PathBuf::from(document(rig, "a.txt")).exists());
    stage.type_in("\x03").type_in("\x04");
    assert_eq!(stage.end(), 0);
}

#[test]
fn typing_on_through_a_question_answers_nothing() {
    let rig = rig();
    let mut stage = asked(&rig);
    slowly(&stage, "thanks\ry", &[150]);
    stage.expect("(press y again: it had only just appeared)").asked();
    // With nothing printed in between.
    stage.type_in("\x1b[C");
    std::thread::sleep(Duration::from_millis(150));
    stage.type_in("y");
    stage.expect("(press y again: something was typed right before it)");
    check_unanswered(&rig, &mut stage);
}

#[test]
fn a_command_behind_a_message_answers_nothing() {
    let rig = rig();
    let mut stage = asked(&rig);
    stage.type_in("thanks\r/approve\r").expect("Nothing was answered: ").asked();
    stage.type_in("\r/approve\r").until("it is said twice", |rows| {
        rows.iter().filter(|row| row.starts_with("Nothing was answered: ")).count() == 2
    });
    stage.asked().type_in("/budget\r/approve\r").until("it is said three times", |rows| {
        rows.iter().filter(|row| row.starts_with("Nothing was answered: ")).count() == 3
    });
    check_unanswered(&rig, &mut stage);
}

/// The first question goes while the command for it is typed; another takes its place.
#[test]
fn a_command_answers_the_question_for_which_it_was_begun_or_none() {
    let rig = rig();
    let mut stage = Stage::start(&rig, 200, 50, &["NO_COLOR=1"], &["--workspace", "work"]);
    stage.prompt("");
    let session = ask_four(&rig);
    stage.send("/approve").expect("3 calls need approval; you answer them together:").asked();
    stage.type_in("/appro").asked_with("/appro");
    for number in 1..=3 {
        let name = format!("escalations/request-0000000{number}-0000-4000-8000-000000000000.json");
        std::fs::remove_file(session.join(name)).unwrap();
    }
    stage
        .type_in("ve\r")
        .expect("Nothing was answered: ")
        .expect("wants to call delete_file")
        .asked();
    let answer = session.join("escalations/response-00000004-0000-4000-8000-000000000000.json");
    assert!(!answer.exists());
    // One that is begun now is for what stands there now.
    stage.send("/approve").expect("Escalation approved.");
    assert!(std::fs::read_to_string(&answer).unwrap().contains("approved"));
    stage.prompt("").type_in("\x04");
    assert_eq!(stage.end(), 0);
}

#[test]
fn the_late_end_of_a_report_answers_nothing() {
    let rig = rig();
    let mut stage = asked(&rig);
    for gap_ms in [100, 1000] {
        stage.type_in(HEAD);
        std::thread::sleep(Duration::from_millis(gap_ms));
        stage.type_in("y").type_in("x").asked_with("x").type_in("\x15").asked();
        assert_eq!(rig.pending().len(), 1);
    }
    // A report right before a key.
    stage.type_in("\x1b[I");
    std::thread::sleep(Duration::from_millis(100));
    stage.type_in("y").expect("(press y again: something was typed right before it)");
    check_unanswered(&rig, &mut stage);
}

#[test]
fn on_a_slow_line_nothing_else_answers_and_a_command_does() {
    let rig = rig();
    let mut stage = asked(&rig);
    let gaps = [10, 300, 60, 150, 20];
    slowly(&stage, "hey, say yes\ryes\r", &gaps);
    slowly(&stage, "\x1b[?2026;2$y\x1b[I\x1b[12;40R", &gaps);
    stage.type_in("\x15z").asked_with("z").type_in("\x15").asked();
    assert_eq!(rig.pending().len(), 1, "{}", stage.rows().join("\n"));
    slowly(&stage, "/approve\r", &gaps);
    stage.expect("Escalation approved.");
    stage.type_in("\x03").type_in("\x04");
    assert_eq!(stage.end(), 0);
}

#[test]
fn a_question_that_is_not_wholly_in_sight_is_not_approved() {
    let rig = rig();
    let mut stage = asked(&rig);
    // An empty screen: it is drawn again, and read anew.
    stage
        .type_in("\x0c")
        .until("it is read", |rows| rows.iter().any(|row| row.starts_with("(read")));
    stage.type_in("y").expect("(press y again:").asked();
    assert_eq!(rig.pending().len(), 1);
    // A window that is too small for it.
    stage.resize(80, 9).expect("more rows: Enter shows them, n denies.").type_in("y");
    stage.expect("(y was not taken: the rest of the request was not shown yet; Enter shows it)");
    for _ in 0..20 {
        stage.until("it can be answered", |rows| {
            rows.iter().any(|row| row.contains("n den") && !row.starts_with('('))
        });
        if stage.rows().iter().any(|row| row.starts_with("y approve")) {
            break;
        }
        stage.type_in("\r").expect("(read it");
    }
    // One in which nothing can be shown, and one in which all of it can.
    stage.asked().resize(80, 3).resize(80, 3).expect("Make the window").type_in("y");
    stage.resize(200, 50).asked();
    check_unanswered(&rig, &mut stage);
}

/// A long message that is typed below a question takes rows from it, and gives them back.
#[test]
fn what_is_typed_pushes_no_question_away() {
    let rig = rig();
    let mut stage = Stage::start(&rig, 100, 20, &["NO_COLOR=1"], &["--workspace", "work"]);
    stage.prompt("").send(&format!("write \"text\" to {}", document(&rig, "a.txt"))).asked();
    stage.type_in("1\x1b\r2\x1b\r3\x1b\r4\x1b\r5\x1b\r6\x1b\r7\x1b\r8\x1b\r9");
    stage.expect("more rows: Enter").type_in("\r").asked();
    // All of it stands there again.
    stage.expect("Approval request:").expect("  id: ");
    check_unanswered(&rig, &mut stage);
}

/// What a server makes us say comes when the question was answered.
#[test]
fn notices_wait_for_the_answer() {
    const NOTICE: &str = "ironcurtain: server `filesystem`";
    let rig = rig();
    let mut stage = Stage::new(&rig);
    stage.send("list the files").expect("(Answered by the offline model.)").prompt("");
    stage.send(&format!("write \"text\" to {}", document(&rig, "a.txt"))).asked();
    stage.kill_servers();
    // There is time for it to come.
    stage.type_in("x").asked_with("x").type_in("\x15").asked();
    assert!(!stage.sent().contains(NOTICE), "{}", stage.rows().join("\n"));
    stage.type_in("n").expect("Escalation denied.").expect(NOTICE).prompt("");
    stage.never_below("Approval request:", NOTICE, "Escalation denied.");
    stage.type_in("\x04");
    assert_eq!(stage.end(), 0);
}
