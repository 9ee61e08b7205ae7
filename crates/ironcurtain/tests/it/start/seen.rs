//! What a person sees of a task, and what a program reads.

use insta::assert_snapshot;

use super::{Desk, answered};

/// Makes paths, ids and names neutral.
fn neutral(desk: &Desk, text: &str) -> String {
    let text = text.replace(desk.place.root().to_str().unwrap(), "[ROOT]");
    let id = text
        .split_whitespace()
        .find(|it| it.len() == 28 && it.starts_with("20"))
        .expect("a session")
        .to_owned();
    let suffix = id.rsplit('-').next().unwrap();
    let name = format!("-{suffix})");
    text.replace(&id, "[SESSION]").replace(&name, "-[ID])")
}

#[test]
fn a_session_with_an_allowed_a_denied_and_an_escalated_call() {
    let desk = Desk::new();
    let document = desk.place.path("home/Documents/a.txt");
    let task = format!(
        "write \"hello\" to a.txt then read ~/.ssh/id_rsa and write \"x\" to {}",
        document.display()
    );
    let output = desk.start(&task);
    assert_eq!(output.code, 3, "{output:?}");
    assert_snapshot!(neutral(&desk, &output.stderr), @"");
    let stdout = output.stdout.replace(desk.place.root().to_str().unwrap(), "[ROOT]");
    assert_snapshot!(stdout, @"");
}

#[test]
fn the_help_says_what_there_is() {
    let desk = Desk::new();
    assert_snapshot!(desk.place.run(["start", "--help"]).stdout, @"");
    assert_snapshot!(desk.place.run(["run", "--help"]).stdout, @"");
    for command in ["start", "run"] {
        let man = desk.place.run(["man", command]);
        assert!(man.code == 0 && man.stdout.contains(".TH"), "{man:?}");
    }
    let bash = desk.place.run(["completions", "bash"]).stdout;
    for word in ["start", "run", "--wait", "--workspace", "--name"] {
        assert!(bash.contains(word), "{word}");
    }
}

#[test]
fn answers_go_to_one_stream_and_progress_to_the_other() {
    let desk = Desk::new().with(&[("work/a.txt", "the text")]);
    let output = desk.start("read a.txt");
    assert_eq!(answered(&output), "`a.txt`:\nthe text\n\n(Answered by the offline model.)\n");
    assert!(!output.stderr.contains("the text"), "{output:?}");
    // Nothing is painted where nobody looks.
    assert!(!output.stderr.contains('\x1b') && !output.stdout.contains('\x1b'), "{output:?}");
}

#[test]
fn what_a_file_or_an_argument_says_drives_no_terminal() {
    let desk = Desk::new().with(&[("work/a.txt", "\x1b[2J\u{202e}gpj")]);
    let output = desk.start("read a.txt; read \"b\x1b]0;x\x07\u{202e}.txt\"");
    // What a program reads is as it is; what a person sees on the way is not.
    assert!(answered(&output).contains("\x1b[2J\u{202e}gpj"), "{output:?}");
    for c in ['\x1b', '\x07', '\u{202e}'] {
        assert!(!output.stderr.contains(c), "{output:?}");
    }
    assert!(output.stderr.contains("\\u{202e}"), "{output:?}");
}
