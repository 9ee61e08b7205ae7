//! Where the agent works if nothing says so: asked in a git working tree, remembered if wanted.

use std::path::PathBuf;

use super::world::{Stage, rig};
use crate::approvals::world::{BINARY, Rig};

const QUESTION: &str = "h here · s sandbox · H always here · S always a sandbox · Ctrl-C cancel";

/// Makes a working tree, and returns a directory in it.
fn tree(rig: &Rig) -> PathBuf {
    rig.place.dir("tree/.git");
    rig.place.write("tree/src/a.txt", "hello");
    rig.place.path("tree/src")
}

fn start(rig: &Rig, words: &[&str]) -> Stage {
    let words = [&[BINARY, "start"], words].concat();
    Stage::run(rig, (120, 40), &tree(rig), &["NO_COLOR=1"], &words)
}

fn remembered(rig: &Rig) -> Option<String> {
    std::fs::read_to_string(rig.home.workspaces()).ok()
}

#[test]
fn it_is_asked_and_the_answer_is_for_once() {
    let rig = rig();
    let here = format!("workspace {}", rig.place.path("tree/src").display());
    for (key, is_here) in [("h", true), ("s", false)] {
        let mut stage = start(&rig, &["list", "the", "files"]);
        // What comes before it could be read is no answer.
        stage.expect("This is a git working tree: ").type_in("h");
        stage.expect("(press h again: it had only just appeared)").expect(QUESTION);
        stage
            .type_in("x")
            .expect("(x is not one of the keys)")
            .until("it is asked again", |rows| {
                rows.iter().filter(|row| *row == QUESTION).count() == 2
            });
        stage.type_in(key);
        stage.expect("to continue this session");
        assert_eq!(stage.end(), 0);
        assert_eq!(stage.sent().contains(&here), is_here, "{key}: {}", stage.sent());
        assert_eq!(stage.sent().contains("[FILE] a.txt"), is_here, "{key}");
    }
    assert_eq!(remembered(&rig), None);
}

#[test]
fn an_always_is_remembered_for_the_directory() {
    let rig = rig();
    let mut stage = start(&rig, &["list the files"]);
    stage.expect(QUESTION).type_in("H").expect("│ [FILE] a.txt");
    assert_eq!(stage.end(), 0);
    let kept = remembered(&rig).unwrap();
    let place = rig.place.path("tree/src").canonicalize().unwrap();
    assert!(kept.contains(&format!("{:?}: \"here\"", place.to_str().unwrap())), "{kept}");
    let mut stage = start(&rig, &["list the files"]);
    stage.expect("working here, as you chose for").expect("│ [FILE] a.txt");
    assert_eq!(stage.end(), 0);
    assert!(!stage.sent().contains("Where should the agent work?"));
    // Another directory is another question.
    let words = [BINARY, "start", "list the files"];
    let directory = rig.place.dir("tree/other");
    let mut stage = Stage::run(&rig, (120, 40), &directory, &["NO_COLOR=1"], &words);
    stage.expect(QUESTION).type_in("\x03");
    assert_eq!(stage.end(), 130);
    assert_eq!(rig.place.sessions().len(), 2, "nothing was begun");
    // A file that is damaged is said to be, and nothing is guessed.
    std::fs::write(rig.home.workspaces(), "{").unwrap();
    let mut stage = start(&rig, &["list the files"]);
    assert_eq!(stage.end(), 1);
    stage.expect("workspaces.json` cannot be read");
}

#[test]
fn who_says_where_is_not_asked_and_neither_is_a_pipe() {
    let rig = rig();
    let directory = tree(&rig);
    let mut stage = start(&rig, &["--workspace", ".", "list the files"]);
    stage.expect("│ [FILE] a.txt");
    assert_eq!(stage.end(), 0);
    assert!(!stage.sent().contains("Where should the agent work?"));
    let output = rig.place.run_in(&directory, ["start", "list the files"]);
    assert_eq!(output.code, 0, "{output:?}");
    let said = "ironcurtain: working in an empty sandbox, not in this directory; `--workspace .` works here";
    assert!(output.stderr.contains(said), "{output:?}");
    assert!(!output.stdout.contains("a.txt"), "{output:?}");
    // In any other directory with something in it, it is said too; in an empty one there is nothing to say.
    let plain = rig.place.dir("plain");
    let start = || rig.place.run_in(&plain, ["start", "list the files"]);
    let output = start();
    assert!(output.code == 0 && !output.stderr.contains(said), "{output:?}");
    rig.place.write("plain/b.txt", "x");
    let output = start();
    assert!(output.code == 0 && output.stderr.contains(said), "{output:?}");
    // Where an agent may not work, nobody is told that it could.
    let output = rig.place.run(["start", "list the files"]);
    assert!(output.code == 0 && !output.stderr.contains(said), "{output:?}");
}

#[test]
fn a_terminal_without_keys_takes_a_letter_and_enter() {
    let rig = rig();
    tree(&rig);
    let command = format!("cd tree/src && exec env NO_COLOR=1 {BINARY} start 'list the files'");
    let mut terminal = rig.in_terminal(&["sh", "-c", &command]);
    terminal.expect("Ctrl-C cancel (then Enter)\n").type_in("hh\n").expect("not one of the keys)");
    terminal.expect("Ctrl-C cancel (then Enter)\n").type_in("h\n").expect("[FILE] a.txt");
    assert_eq!(terminal.end().code, 0);
}

/// A directory can have any name, and what unpacks an archive chooses it.
#[test]
fn the_name_of_the_directory_does_not_drive_the_terminal() {
    let rig = rig();
    rig.place.dir("tree/.git");
    let directory = rig.place.dir("tree/e\u{1b}]0;x\u{7}\u{202e}");
    let words = [BINARY, "start", "list the files"];
    let shown = r"tree/e\u{1b}]0;x\u{7}\u{202e}";
    for (key, code) in [("H", 0), ("", 0)] {
        let mut stage = Stage::run(&rig, (200, 40), &directory, &["NO_COLOR=1"], &words);
        if !key.is_empty() {
            stage.expect(QUESTION).type_in(key);
        }
        stage.expect("to continue this session");
        assert_eq!(stage.end(), code);
        let sent = stage.sent();
        let asked = if key.is_empty() { "as you chose for" } else { "git working tree: " };
        let line = sent.lines().find(|line| line.contains(asked)).unwrap_or_default();
        assert!(line.contains(shown), "{line:?}");
        assert!(!line.contains(['\u{7}', '\u{202e}']), "{line:?}");
    }
}
