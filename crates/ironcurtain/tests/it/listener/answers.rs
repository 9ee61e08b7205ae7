//! Keys and commands: what they answer, and what they do not.

use serde_json::json;

use super::{command, listener, sized};
use crate::approvals::world::Rig;

#[test]
fn the_keys_of_a_conversation_answer() {
    let rig = Rig::new();
    let (work, play) = (rig.session("work"), rig.session("play"));
    let mut stage = listener(&rig);
    stage.expect("nothing waits · 2 sessions run").expect("claude-code: interactive");
    let first = work.ask("/d/a.txt", "hello");
    stage.asked_alone(1).expect("▸ #1 work").expect("write_file \"/d/a.txt\" (filesystem)");
    assert!(stage.sent().contains("\x1b]2;(1) ironcurtain: a request waits\x07"), "the title");
    assert!(stage.sent().contains("\x07\x1b]9;IronCurtain: #1 waits for approval\x07"), "the call");
    // Nothing that came in one piece is an answer.
    stage.noise("yy", 1);
    assert!(!first.response.exists());
    stage.type_in("y").expect("Escalation approved. #1 was accepted by `work`.");
    assert_eq!(rig.summary(first), "Approved by listener");
    let second = play.ask("/d/b.txt", "x");
    stage.asked_alone(2).type_in("n").expect("Escalation denied. Your denial of #2 was accepted");
    assert_eq!(rig.summary(second), "Denied by listener");
    stage.expect("nothing waits").expect("#2 play denied (listener)");
    stage.type_in("q");
    assert_eq!(stage.end(), 0);
}

#[test]
fn a_grant_is_previewed_given_and_undone() {
    let rig = Rig::new();
    let work = rig.session("work");
    let stage = listener(&rig);
    let asked = work.ask("/d/a.txt", "hello");
    stage.asked_alone(1).type_in("g").expect("Which one? 1 or 2; n goes back");
    stage.expect("write-path: exactly `/d/a.txt`").expect("or the end of the session").type_in("1");
    stage.expect("Escalation approved.");
    assert_eq!(rig.summary(asked), "Approved by listener, granted");
    // A grant is in the file once the session has it; this session is only a desk.
    command(&stage, "/grants");
    stage.expect("No grant is in force.").type_in("\x1b").expect("No request");
    command(&stage, "/undo");
    stage.expect("No grant is in force.");
    command(&stage, "/undo 12345678");
    stage.expect("No grant `12345678` is in force.");
}

#[test]
fn a_command_names_a_request_and_shows_it_first() {
    let rig = Rig::new();
    let (work, play) = (rig.session("work"), rig.session("play"));
    let stage = listener(&rig);
    let first = work.ask("/d/a.txt", "hello");
    stage.asked_alone(1);
    let second = play.ask_tool("create_directory", &json!({"path": "/d/b"}));
    stage.expect("2 requests wait");
    command(&stage, "/approve 2");
    stage.expect("Read it first; then the keys answer.").asked_alone(2);
    assert!(!second.response.exists(), "it was not shown");
    command(&stage, "/approve 2");
    stage.expect("Escalation approved. #2 was accepted by `play`.").asked_alone(1);
    assert_eq!(rig.summary(second), "Approved by listener");
    for (line, expected) in [
        ("/approve 7", "No pending escalation with ID: 7"),
        ("/deny x", "No pending escalation with ID: x"),
        ("/what", "There is no command /what; ? lists them."),
    ] {
        command(&stage, line);
        stage.expect(expected);
    }
    command(&stage, "/deny 1");
    stage.expect("Your denial of #1 was accepted by `work`.").expect("nothing waits");
    assert_eq!(rig.summary(first), "Denied by listener");
    command(&stage, "/approve");
    stage.expect("No escalation pending.");
}

#[test]
fn another_request_is_chosen_and_panels_hide_the_question() {
    let rig = Rig::new();
    let work = rig.session("work");
    let stage = listener(&rig);
    let first = work.ask("/d/a.txt", "hello");
    let second = work.ask_tool("create_directory", &json!({"path": "/d/b"}));
    stage.asked_alone(1).expect("2 requests wait").type_in("\x1b[B").asked_alone(2);
    stage.expect("▸ #2 work").type_in("\x1b[A").asked_alone(1);
    // What is not seen is not answered.
    stage.type_in("?").expect("── Help");
    stage.type_in("y").type_in("n").type_in("\t").expect("── Request #1").asked_alone(1);
    assert!(!first.response.exists() && !second.response.exists());
    command(&stage, "/sessions");
    stage.expect("── Sessions ").expect("policy: not known").type_in("\x1b").asked_alone(1);
    command(&stage, "/filter create");
    stage.expect("only \"create\"").until("a shorter list", |rows| {
        !rows.iter().any(|row| row.contains("write_file \"/d/a.txt\" ("))
    });
    // The question is one that is listed, and stays when everything is.
    stage.asked_alone(2);
    command(&stage, "/filter");
    stage.expect("write_file \"/d/a.txt\" (").asked_alone(2).type_in("\x1b[A").asked_alone(1);
    stage.type_in("n").expect("Your denial of #1").asked_alone(2);
    stage.type_in("y").expect("#2 was accepted");
    assert_eq!((rig.summary(first), rig.summary(second)).1, "Approved by listener");
}

/// A long request on a small screen is paged, and approved only after its last page.
#[test]
fn a_request_is_read_to_its_end_in_a_small_window() {
    let rig = Rig::new();
    let work = rig.session("work");
    let stage = sized(&rig, (80, 24));
    let arguments: serde_json::Map<String, serde_json::Value> =
        (0..12).map(|at| (format!("argument{at}"), json!(at))).collect();
    let mut arguments = serde_json::Value::Object(arguments);
    arguments["path"] = json!("/d/a.txt");
    let asked = work.ask_stranger("write_much", &arguments);
    stage.expect("more rows: Enter shows them").type_in("y");
    stage.expect("the rest of the request was not shown yet");
    stage.expect("more rows: Enter shows them").type_in("\r").expect("y approve · n deny");
    assert!(!asked.response.exists());
    // Another size: everything begins anew.
    stage.resize(80, 16).expect("more rows: Enter shows them").resize(140, 40);
    stage.expect("y approve · n deny").type_in("y").expect("Escalation approved.");
    assert_eq!(rig.summary(asked), "Approved by listener");
}

/// A mouse chooses what is shown and never answers, wherever it is pressed.
#[test]
fn a_mouse_chooses_and_never_answers() {
    let rig = Rig::new();
    let work = rig.session("work");
    let stage = sized(&rig, (80, 24));
    let first = work.ask("/d/a.txt", "hello");
    let second = work.ask_tool("create_directory", &json!({"path": "/d/b"}));
    stage.expect("2 requests wait").asked_alone(1);
    let row_of = |text: &str| stage.rows().iter().position(|row| row.contains(text)).unwrap() + 1;
    let press = |row: usize, column: usize| {
        stage
            .type_in(&format!("\x1b[<0;{column};{row}M"))
            .type_in(&format!("\x1b[<0;{column};{row}m"));
    };
    press(row_of("#2 work"), 10);
    stage.expect("▸ #2 work").asked_alone(2);
    // On the keys themselves, in the request, and everywhere else.
    for row in 1..=24 {
        press(row, 1);
    }
    stage.type_in("\x1b").asked_alone(2);
    press(row_of("#1 work"), 79);
    stage.asked_alone(1);
    assert!(!first.response.exists() && !second.response.exists());
    stage.type_in("n").expect("Your denial of #1").asked_alone(2).type_in("n");
    assert_eq!(rig.summary(first), "Denied by listener");
    assert_eq!(rig.summary(second), "Denied by listener");
    assert!(stage.sent().contains("\x1b[?1000h\x1b[?1006h"));
}

/// The second request like another one says what differs, and a grant how much it would have approved.
#[test]
fn a_request_is_compared_with_the_one_before() {
    let rig = Rig::new();
    let work = rig.session("work");
    let stage = listener(&rig);
    let first = work.ask("/d/a.txt", "hello");
    stage.asked_alone(1).expect("  if approved, filesystem may create \"/d/a.txt\"").type_in("y");
    assert_eq!(rig.summary(first), "Approved by listener");
    let second = work.ask("/d/b.txt", "hello");
    stage
        .asked_alone(2)
        .expect("  since #1, which you approved:")
        .expect("\"path\" was \"/d/a.txt\"");
    stage.type_in("g").expect("would also have approved 0 of this session's last 1 other request");
    stage.expect("would also have approved 1 of this session's last 1 other request");
    stage.expect("Which one? 1 or 2; n goes back").type_in("n").asked_alone(2);
    // So does Escape, where it would otherwise clear the filter.
    stage.type_in("g").expect("Which one? 1 or 2; n goes back").type_in("\x1b");
    stage.asked_alone(2).type_in("n");
    assert_eq!(rig.summary(second), "Denied by listener");
}

/// What the filter hides is not answered, and is said to wait.
#[test]
fn no_key_answers_what_the_filter_hides() {
    let rig = Rig::new();
    let (alpha, beta) = (rig.session("alpha"), rig.session("beta"));
    let stage = listener(&rig);
    let first = alpha.ask("/d/a.txt", "hello");
    stage.asked_alone(1);
    let second = beta.ask("/d/b.txt", "hello");
    stage.expect("2 requests wait");
    // The question is one that is listed.
    command(&stage, "/filter beta");
    stage.asked_alone(2).expect("▸ #2 beta").type_in("n").expect("Your denial of #2");
    assert_eq!(rig.summary(second), "Denied by listener");
    stage.expect("1 request waits that the filter hides; Esc shows it.");
    stage.type_in("y").type_in("n");
    command(&stage, "/approve");
    stage.expect("The filter hides what waits; Esc shows it.");
    command(&stage, "/deny");
    assert!(!first.response.exists());
    // Whoever names it sees it.
    command(&stage, "/approve 1");
    stage.expect("Read it first; then the keys answer.").asked_alone(1);
    command(&stage, "/filter nothing");
    stage.expect("the filter hides").type_in("\x1b").asked_alone(1).type_in("y");
    assert_eq!(rig.summary(first), "Approved by listener");
}

/// Of requests that are asked about together, those that a filter lets through are asked about by themselves.
#[test]
fn a_filter_takes_a_group_apart() {
    let rig = Rig::new();
    let work = rig.session("work");
    let hidden = work.ask("/d/a.txt", "x");
    let seen = work.ask("/d/b.txt", "x");
    let stage = listener(&rig);
    stage.expect("2 requests, from #1").expect("2 more rows").type_in("\r");
    stage.expect("y approve both");
    command(&stage, "/filter b.txt");
    stage.asked_alone(2).expect("Request #2").type_in("y");
    assert_eq!(rig.summary(seen), "Approved by listener");
    stage.expect("1 request waits that the filter hides; Esc shows it.");
    assert!(!hidden.response.exists());
    stage.type_in("\x1b").asked_alone(1).type_in("n");
    assert_eq!(rig.summary(hidden), "Denied by listener");
}

/// Whatever is asked about together, up and down lead to everything.
#[test]
fn nothing_between_the_members_of_a_group_is_skipped() {
    let rig = Rig::new();
    let work = rig.session("work");
    let _waiting = [
        work.ask("/d/a.txt", "x"),
        work.ask_tool("create_directory", &json!({"path": "/d/b"})),
        work.ask("/d/c.txt", "x"),
        work.ask_stranger("write_file", &json!({"path": "/d/e"})),
    ];
    // All wait before anybody looks: a question that is shown alone takes in no later one.
    let stage = listener(&rig);
    stage.expect("4 requests wait").expect("▸ #1 work");
    stage.type_in("\x1b[B").asked_alone(2).type_in("\x1b[B").asked_alone(4);
    stage.type_in("\x1b[A").asked_alone(2).type_in("\x1b[A").expect("2 requests, from #");
}
