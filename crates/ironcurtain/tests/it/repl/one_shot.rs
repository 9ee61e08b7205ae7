//! `ironcurtain start TASK` at a terminal that gives keys: the dialog of a conversation, for one task.

use super::world::{KEYS, Stage, document, rig};
use crate::approvals::world::{BINARY, Rig};

/// Starts a task at a terminal of that size.
fn task(rig: &Rig, size: (u16, u16), variables: &[&str], task: &str) -> Stage {
    let words = [BINARY, "start", "--workspace", "work", "--name", "tidy-up", task];
    Stage::run(rig, size, &rig.place.root(), variables, &words)
}

fn read(rig: &Rig, name: &str) -> Option<String> {
    std::fs::read_to_string(document(rig, name)).ok()
}

#[test]
fn a_key_answers_and_the_terminal_calls_for_attention() {
    let rig = rig();
    let wanted = format!("write \"text\" to {}", document(&rig, "a.txt"));
    let mut stage = task(&rig, (120, 30), &["NO_COLOR=1"], &wanted);
    stage.asked_alone(1);
    let before = stage.sent();
    assert!(before.contains("\x1b[22;2t\x1b]2;ironcurtain: #1 waits for you\x07"), "{before:?}");
    assert!(!before.contains("\x1b[23;2t"), "{before:?}");
    assert_eq!(before.replace("for you\x07", "").matches('\x07').count(), 1, "one bell");
    // There is nothing more to show, so nothing more is offered.
    assert!(
        stage.rows().iter().any(|row| *row == format!("{KEYS} · g approve and grant · a always"))
    );
    // No Enter.
    stage.type_in("y").expect("Escalation approved.").expect("│ I wrote 4 bytes to");
    assert_eq!(stage.end(), 0);
    stage.expect("ironcurtain: to continue this session: ironcurtain start --continue");
    assert!(stage.sent().contains("\x1b]2;\x07\x1b[23;2t"), "the title is back");
    assert_eq!(read(&rig, "a.txt").unwrap(), "text");
}

#[test]
fn details_are_offered_where_there_are_more_and_changes_have_their_colours() {
    let rig = rig();
    std::fs::write(document(&rig, "a.txt"), "old line\n").unwrap();
    let long = "x".repeat(400);
    let wanted = format!("write \"{long}\" to {}", document(&rig, "a.txt"));
    let mut stage = task(&rig, (120, 40), &["TERM=xterm"], &wanted);
    stage.asked_alone(1).expect("· d details").expect("240 of 400 characters not shown");
    let sent = stage.sent();
    assert!(sent.contains("\x1b[31m    -old line\x1b[0m"), "{sent}");
    assert!(sent.contains("\x1b[32m    +xxx"), "{sent}");
    stage.type_in("d").until("all of it", |rows| {
        let keys = rows.iter().find(|row| row.starts_with(KEYS));
        !rows.iter().any(|row| row.contains("not shown"))
            && keys.is_some_and(|keys| !keys.contains("details"))
    });
    stage.noise("d", 1);
    assert!(stage.sent().contains("(everything is shown already)"));
    stage.type_in("n").expect("Escalation denied.");
    assert_eq!(stage.end(), 0);
    assert_eq!(read(&rig, "a.txt").unwrap(), "old line\n");
    let sent = stage.sent();
    assert!(sent.contains("⠋ thinking · 0 s"), "a spinner: {sent}");
}

#[test]
fn what_was_typed_before_and_what_is_pasted_answer_nothing() {
    let rig = rig();
    let wanted = format!("write \"text\" to {}", document(&rig, "a.txt"));
    let mut stage = task(&rig, (120, 30), &["NO_COLOR=1"], &wanted);
    stage.type_in("yyyy").asked_alone(1);
    for noise in ["\x1b[200~y\x1b[201~", "yy", "y\r", "\x1b[?2026;2$y", "Y", "x"] {
        stage.noise(noise, 1);
    }
    assert_eq!((rig.pending().len(), read(&rig, "a.txt")), (1, None));
    let n_read = || stage.sent().matches("(read it").count();
    let before = n_read();
    stage.resize(70, 25).until("it is drawn anew", |_| before < n_read());
    stage.asked_alone(1).type_in("n").expect("Escalation denied.");
    assert_eq!(stage.end(), 0);
    assert_eq!(read(&rig, "a.txt"), None);
}

/// Page by page, at the smallest size that somebody may use; paths and ids stay whole.
#[test]
fn a_small_window_shows_it_in_pages() {
    let rig = rig();
    let wanted = format!("write \"text\" to {}", document(&rig, "a.txt"));
    let mut stage = task(&rig, (40, 12), &["NO_COLOR=1"], &wanted);
    let id = rig_id(&rig, &stage);
    let n_read = || stage.sent().matches("(read it").count();
    let is_asked = |rows: &[String]| {
        rows.iter().any(|row| row.contains("more rows: Enter") || row.starts_with(KEYS))
    };
    stage.until("the first page", is_asked);
    stage.type_in("y").expect("(y was not taken: the rest of the").until("it is asked", is_asked);
    let mut pages = String::new();
    while !stage.rows().iter().any(|row| row.starts_with(KEYS)) {
        pages.push_str(&stage.rows().join("\n"));
        let before = n_read();
        stage.type_in("\r").until("the next page", |_| before < n_read());
        stage.until("it is asked", is_asked);
    }
    pages.push_str(&stage.rows().join("\n"));
    assert!(pages.contains(&format!("  | {id}")), "{pages}");
    stage.type_in("y").expect("Escalation approved.");
    assert_eq!(stage.end(), 0);
    assert_eq!(read(&rig, "a.txt").unwrap(), "text");
}

/// Returns the id of the one question.
fn rig_id(rig: &Rig, stage: &Stage) -> String {
    stage.until("a question", |_| rig.pending().len() == 1);
    rig.pending()[0].request().escalation.to_string()
}

#[test]
fn control_c_cancels_and_the_terminal_is_given_back() {
    let rig = rig();
    let wanted = format!("write \"text\" to {}", document(&rig, "a.txt"));
    let mut stage = task(&rig, (120, 30), &["NO_COLOR=1"], &wanted);
    stage.asked_alone(1).type_in("\x03").expect("The request was withdrawn.");
    assert_eq!(stage.end(), 130);
    assert!(stage.sent().contains("\x1b]2;\x07\x1b[23;2t"), "the title is back");
    assert_eq!(read(&rig, "a.txt"), None);
}

/// Somebody else at the other end of a pipe may use the terminal too, so no key is taken from it.
#[test]
fn in_a_pipe_a_line_answers_and_that_is_said() {
    let rig = rig();
    let path = document(&rig, "a.txt");
    let command =
        format!("{BINARY} start --workspace work 'write \"text\" to {path}' | tee answer.txt");
    let words = ["sh", "-c", &command];
    let mut stage = Stage::run(&rig, (120, 30), &rig.place.root(), &["NO_COLOR=1"], &words);
    stage.expect(&format!("{KEYS} · g approve and grant · a always (then Enter)"));
    assert!(stage.is_sane());
    stage.type_in("y\n").expect("Escalation approved.");
    assert_eq!(stage.end(), 0);
    let answer = std::fs::read_to_string(rig.place.path("answer.txt")).unwrap();
    assert!(answer.starts_with("I wrote 4 bytes to `"), "as it is, without marks: {answer}");
    assert!(!stage.sent().contains('\x07'));
}

#[test]
fn an_answer_is_rendered_at_words() {
    let rig = rig();
    let text = "# A title\n\nSome **weight** and words that go on /to/the/end/of/this/path here.\n";
    rig.place.write("work/notes.md", text);
    let mut stage = task(&rig, (40, 24), &["NO_COLOR=1"], "read notes.md");
    stage.expect("│ A title").expect("│ Some weight and words that go on");
    stage.expect("│ /to/the/end/of/this/path here.");
    assert_eq!(stage.end(), 0);
}
