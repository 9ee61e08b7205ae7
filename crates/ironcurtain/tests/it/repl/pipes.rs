//! A conversation without a terminal.

use super::world::{document, rig};

#[test]
fn lines_of_a_pipe_are_messages_one_after_the_other() {
    let rig = rig();
    let input = "write \"one\" to a.txt\n\n/budget\nread a.txt \\\nread a.txt\n/what\n/quit\nwrite \"two\" to b.txt\n";
    let output = rig.place.run_with_input(["start", "--workspace", "work"], input.as_bytes());
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.stdout.contains("one"), "{output:?}");
    assert!(!output.stdout.contains('\x1b') && !output.stderr.contains('\x1b'), "{output:?}");
    assert!(!output.stderr.contains("> "), "no prompt: {output:?}");
    for said in
        ["✓ allowed  filesystem.write_file", "steps: ", "There is no command /what", "3 calls made"]
    {
        assert!(output.stderr.contains(said), "{said}: {output:?}");
    }
    assert!(!rig.place.path("work/b.txt").exists());
}

#[test]
fn a_pipe_answers_nothing() {
    let rig = rig();
    let path = document(&rig, "a.txt");
    for wait in [&[][..], &["--wait"]] {
        if !wait.is_empty() {
            let set = rig.run(&["config", "set", "escalationTimeoutSeconds", "2"]);
            assert_eq!(set.code, 0, "{set:?}");
        }
        let input = format!(
            "write \"text\" to {path}\ny\n/approve\n/approve 1\nwrite \"text\" to {path}\n"
        );
        let words = [&["start", "--workspace", "work"], wait].concat();
        let output = rig.place.run_with_input(words, input.as_bytes());
        assert_eq!(output.code, 3, "{output:?}");
        assert!(output.stderr.contains("No escalation pending."), "{output:?}");
        assert!(!rig.place.path(&path).exists());
    }
}

#[test]
fn the_exit_code_is_that_of_the_last_message() {
    let rig = rig();
    let path = document(&rig, "a.txt");
    let refused = format!("write \"text\" to {path}\n");
    for (input, code) in [("list the files\n", 0), ("", 0), (refused.as_str(), 3)] {
        let output = rig.place.run_with_input(["start", "--workspace", "work"], input.as_bytes());
        assert_eq!(output.code, code, "{input}: {output:?}");
    }
    let output =
        rig.place.run_with_input(["start"], format!("{refused}list the files\n").as_bytes());
    assert_eq!(output.code, 0, "{output:?}");
}
