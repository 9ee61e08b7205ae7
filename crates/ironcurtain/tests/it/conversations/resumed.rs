//! A session that goes on: where it was, with what was said, as the model saw it.

use super::Shelf;

#[test]
fn a_session_goes_on_as_the_model_saw_it() {
    let shelf = Shelf::new();
    let first =
        ["start", "--name", "My Site!", "--description", "about it", "write \"a\" to a.txt"];
    shelf.ok(&first);
    let before = shelf.messages("my-site");
    assert_eq!(before.len(), 4, "{before:?}");
    let output = shelf.run(&["start", "--continue", "read a.txt"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.stdout.contains("`a.txt`:\na"), "the sandbox is the same: {output:?}");
    for line in [
        "You are resuming a previous conversation session.",
        "Session: my-site (",
        "Created: 2",
        "Last activity: 2",
        "Total messages: 4 (1 from user, 2 from assistant, 1 with results of tools)",
        "Description: about it",
        "First topic: write \"a\" to a.txt",
    ] {
        assert!(output.stderr.contains(line), "{line}: {output:?}");
    }
    let after = shelf.messages("my-site");
    assert!(after.starts_with(&before), "{after:?}");
    assert_eq!(after.len(), 8);
    assert!(!after.concat().contains("You are resuming"), "that is for the person alone");
    let export = shelf.export("my-site");
    assert_eq!(export["turns"].as_array().unwrap().len(), 2);
    assert_eq!(export["turns"][1]["turnNumber"], 2);
    assert!(export["contextSummary"].as_str().unwrap().contains("Total messages: 4"));
    let metadata = &export["metadata"];
    assert_eq!(metadata["messageCount"], 8);
    assert_eq!(metadata["description"], "about it");
    assert_eq!(shelf.list().len(), 1, "it is the same session");
    assert_eq!(shelf.run(&["audit", "verify"]).code, 0, "with one record");
}

#[test]
fn a_session_is_resumed_by_id_name_or_beginning_and_works_where_it_worked() {
    let shelf = Shelf::new();
    shelf.place.dir("work");
    shelf.ok(&["start", "--name", "one", "--workspace", "work", "write \"1\" to f.txt"]);
    shelf.ok(&["start", "--name", "two", "write \"2\" to f.txt"]);
    let one = shelf.list().pop().unwrap();
    assert_eq!(one["name"], "one");
    for session in ["one", "on", one["id"].as_str().unwrap()] {
        let answer = shelf.ok(&["start", "--resume", session, "read f.txt"]);
        assert!(answer.contains("`f.txt`:\n1"), "{session}: {answer}");
    }
    let answer = shelf.ok(&["start", "--resume", "two", "read f.txt"]);
    assert!(answer.contains("`f.txt`:\n2"), "{answer}");
    let answer = shelf.ok(&["start", "--resume", "one", "--workspace", "work", "read f.txt"]);
    assert!(answer.contains("`f.txt`:\n1"), "{answer}");
    shelf.place.dir("other");
    for session in ["one", "two"] {
        let said =
            shelf.refused(&["start", "--resume", session, "--workspace", "other", "read f.txt"], 2);
        assert!(said.contains(&format!("the session `{session}` works in `")), "{said}");
    }
    std::fs::remove_dir_all(shelf.place.path("work")).unwrap();
    let said = shelf.refused(&["start", "--resume", "one", "read f.txt"], 2);
    assert!(said.contains("workspace"), "{said}");
    let said = shelf.refused(&["start", "--resume", "nobody", "x"], 1);
    assert!(said.contains("no session is called `nobody`"), "{said}");
    let said = shelf.refused(&["start", "--resume", "20", "x"], 1);
    assert!(said.contains("2 sessions begin with `20`"), "{said}");
}

#[test]
fn there_is_nothing_to_continue_in_a_new_home() {
    let shelf = Shelf::new();
    let said = shelf.refused(&["start", "--continue", "list the files"], 1);
    assert!(said.contains("there is no session to continue"), "{said}");
    assert!(said.contains("hint: "), "{said}");
    for both in [&["--continue", "--resume", "x"][..], &["--resume", "x", "--name", "y"]] {
        shelf.refused(&[&["start"], both, &["x"]].concat(), 2);
    }
}

#[test]
fn a_script_is_no_conversation() {
    let shelf = Shelf::new();
    shelf.place.write("s.ts", "1 + 1");
    shelf.ok(&["run", "--name", "sums", "s.ts"]);
    let said = shelf.refused(&["start", "--resume", "sums", "x"], 1);
    assert!(said.contains("`sums` is not a conversation with an agent"), "{said}");
    let said = shelf.refused(&["start", "--name", "sums", "x"], 2);
    assert!(said.contains("there is a session `sums` already"), "{said}");
}

#[test]
fn a_turn_that_was_cut_is_not_done_again() {
    let shelf = Shelf::new();
    shelf.ok(&["config", "set", "budget.maxSteps", "1"]);
    assert_eq!(shelf.run(&["start", "--name", "cut", "append \"x\" to f.txt"]).code, 5);
    let messages = shelf.messages("cut");
    assert_eq!(messages.len(), 3, "the message, the step, its result: {messages:?}");
    assert!(messages[2].contains("The previous turn was cut before it was answered"));
    shelf.ok(&["config", "unset", "budget.maxSteps"]);
    let answer = shelf.ok(&["start", "--resume", "cut", "read f.txt"]);
    assert!(answer.contains("`f.txt`:\nx\n"), "{answer}");
    let after = shelf.messages("cut");
    // What the person says next stands in the message with the note.
    assert_eq!(after[..2], messages[..2]);
    assert!(
        after[2].starts_with(
            messages[2].trim_end_matches("]}").trim_end_matches("],\"role\":\"user\"}")
        )
    );
}

#[test]
fn a_conversation_that_is_not_saved_as_it_goes_is_saved_at_its_end() {
    let shelf = Shelf::new();
    shelf.ok(&["config", "set", "session.autoSave", "false"]);
    shelf.ok(&["start", "--name", "late", "write \"a\" to a.txt"]);
    assert_eq!(shelf.messages("late").len(), 4);
    shelf.ok(&["start", "--continue", "read a.txt"]);
    assert_eq!(shelf.messages("late").len(), 8);
}

#[test]
fn more_conversations_than_there_may_be_are_purged() {
    let shelf = Shelf::new();
    shelf.ok(&["config", "set", "session.maxSessions", "2"]);
    for name in ["one", "two", "three"] {
        shelf.ok(&["start", "--name", name, "write \"x\" to f.txt"]);
    }
    assert_eq!(shelf.names(), ["three", "two"]);
    let directories = shelf.place.sessions();
    assert_eq!(directories.len(), 3);
    assert!(!directories[0].join("conversation.json").exists());
    assert!(directories[0].join("sandbox/f.txt").exists(), "the sandbox stays");
    assert!(directories[0].join("audit.jsonl").exists(), "and so does the record");
    let said = shelf.refused(&["start", "--resume", "one", "x"], 1);
    assert!(said.contains("the conversation of the session `one` was purged"), "{said}");
}

#[test]
fn names_that_are_none_are_refused_and_others_are_made_harmless() {
    let shelf = Shelf::new();
    for bad in ["con", "NUL", "com1", "index", "last_session", "metadata", "🦀", "", "///"] {
        let said = shelf.refused(&["start", "--name", bad, "list the files"], 2);
        assert!(said.contains("error: "), "{bad}: {said}");
    }
    assert_eq!(shelf.place.sessions().len(), 0);
    let (long, cut) = ("x".repeat(300), "x".repeat(64));
    for (name, kept) in [("../x", "x"), (&long, &cut), ("a 🦀 b", "a-b")] {
        shelf.ok(&["start", "--name", name, "list the files"]);
        assert!(shelf.names().contains(&kept.to_owned()), "{kept}");
    }
    let said = shelf.refused(&["start", "--name", "X", "list the files"], 2);
    assert!(said.contains("there is a session `x` already"), "{said}");
}

#[test]
fn damaged_files_are_told_and_left() {
    let shelf = Shelf::new();
    shelf.ok(&["start", "--name", "one", "write \"x\" to f.txt"]);
    let sessions = shelf.place.path("home/.ironcurtain/sessions");
    for index in ["", "{\"version\":\"1.0\",\"sessions\":{\"a\":", "\u{0}\u{0}"] {
        std::fs::write(sessions.join("index.json"), index).unwrap();
        assert_eq!(shelf.names(), ["one"]);
    }
    std::fs::remove_file(sessions.join("index.json")).unwrap();
    assert_eq!(shelf.names(), ["one"]);
    let conversation = shelf.place.sessions()[0].join("conversation.json");
    let whole = std::fs::read(&conversation).unwrap();
    std::fs::write(&conversation, &whole[..whole.len() / 2]).unwrap();
    let said = shelf.refused(&["start", "--continue", "read f.txt"], 1);
    assert!(said.contains("conversation.json` is damaged, and is left as it is"), "{said}");
    assert_eq!(std::fs::read(&conversation).unwrap(), &whole[..whole.len() / 2]);
    assert_eq!(shelf.names(), ["one"], "it is listed all the same");
    std::fs::write(&conversation, whole).unwrap();
    shelf.ok(&["start", "--continue", "read f.txt"]);
}
