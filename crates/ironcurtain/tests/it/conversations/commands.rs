//! `sessions` and `cleanup`, as people and scripts use them.

use insta::assert_snapshot;

use super::Shelf;
use crate::start::started::Started;

fn two() -> Shelf {
    let shelf = Shelf::new();
    shelf.ok(&["start", "--name", "one", "write \"x\" to f.txt"]);
    shelf.ok(&["start", "--name", "two", "--description", "the other", "list the files"]);
    shelf
}

/// Makes ids and times neutral.
fn neutral(shelf: &Shelf, text: &str) -> String {
    let mut text = text.to_owned();
    for session in shelf.list() {
        let field = |key: &str| session[key].as_str().unwrap().to_owned();
        let short = |time: String| time.get(..16).unwrap().replace('T', " ");
        text = text.replace(&field("id"), "[ID]");
        for key in ["createdAt", "lastActivityAt"] {
            text = text.replace(&field(key), "[TIME]").replace(&short(field(key)), "[MINUTE]");
        }
    }
    text
}

#[test]
fn sessions_are_listed_and_shown() {
    let shelf = two();
    assert_snapshot!(neutral(&shelf, &shelf.ok(&["sessions", "list"])), @"
    [ID]  two  [MINUTE]  built-in    4 messages  the other
    [ID]  one  [MINUTE]  built-in    4 messages  write \"x\" to f.txt
    ");
    let shown = neutral(&shelf, &shelf.ok(&["sessions", "show", "two"]));
    let facts: Vec<&str> = shown.lines().take_while(|line| !line.is_empty()).collect();
    assert_snapshot!(facts.join("\n"), @"
    session        [ID]
    name           two
    description    the other
    kind           built-in
    agent          built-in
    model          offline
    created        [TIME]
    last activity  [TIME]
    messages       4
    state          ended
    record         1 call made, 0 denied, 0 approved by you, 0 files changed, $0.0000
    ");
    assert!(shown.contains("\n> list the files\n"), "{shown}");
    assert_eq!(Shelf::new().ok(&["sessions", "list"]), "no sessions\n");
    assert_eq!(Shelf::new().ok(&["sessions", "list", "--json"]), "[]\n");
}

#[test]
fn text_of_strangers_drives_no_terminal() {
    let shelf = Shelf::new();
    let task = "write \"\u{1b}[2J\u{202e}\" to f.txt then read f.txt";
    shelf.ok(&["start", "--name", "one", "--description", "\u{1b}]0;x\u{7}", task]);
    for words in [
        &["sessions", "list"][..],
        &["sessions", "list", "--json"],
        &["sessions", "show", "one"],
        &["sessions", "show", "one", "--json"],
        &["audit", "show", "--json"],
        &["audit", "tail", "--json"],
    ] {
        let shown = shelf.ok(words);
        assert!(!shown.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{shown:?}");
    }
    // It means what it meant.
    let listed =
        serde_json::from_str::<serde_json::Value>(&shelf.ok(&["sessions", "list", "--json"]));
    assert_eq!(listed.unwrap()[0]["description"], "\u{1b}]0;x\u{7}");
    let shown = shelf.ok(&["sessions", "show", "one", "--json"]);
    assert!(shown.contains("\\u202e"), "{shown}");
    let resumed = shelf.run(&["start", "--continue", "list the files"]);
    assert!(!resumed.stderr.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{resumed:?}");
}

#[test]
fn a_session_is_exported_for_reading() {
    let shelf = two();
    let text = shelf.ok(&["sessions", "export", "one", "--format", "markdown"]);
    for part in
        ["# one\n", "\n## User\n\nwrite \"x\" to f.txt\n", "\n### `execute_code`\n\n```ts\n"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_session_gets_another_name() {
    let shelf = two();
    shelf.ok(&["sessions", "rename", "one", "Number 1"]);
    assert_eq!(shelf.names(), ["two", "number-1"]);
    for (name, code) in [("two", 2), ("con", 2), ("", 2)] {
        shelf.refused(&["sessions", "rename", "number-1", name], code);
    }
    assert_eq!(shelf.names(), ["two", "number-1"]);
    shelf.ok(&["start", "--resume", "number-1", "read f.txt"]);
}

#[test]
fn deleting_asks_and_keeps_the_record() {
    let shelf = two();
    // There is no terminal to ask at.
    let said = shelf.refused(&["sessions", "delete", "one"], 1);
    assert!(said.contains("--yes"), "{said}");
    assert_eq!(shelf.names().len(), 2);
    let id = shelf.export("one")["metadata"]["id"].as_str().unwrap().to_owned();
    shelf.refused(&["sessions", "delete", "one", "nobody", "--yes"], 1);
    assert_eq!(shelf.names().len(), 2, "all are found before one goes");
    shelf.ok(&["sessions", "delete", "one", "--yes"]);
    assert_eq!(shelf.names(), ["two"]);
    assert_eq!(shelf.place.sessions().len(), 1);
    assert!(shelf.place.path(format!("home/.ironcurtain/audit/{id}/audit.jsonl")).exists());
    assert_eq!(shelf.run(&["audit", "verify", &id]).code, 0, "it still verifies");
}

#[test]
fn purging_and_cleaning_up() {
    let shelf = two();
    let said = shelf.ok(&["sessions", "purge", "--keep", "1", "--dry-run"]);
    assert!(said.starts_with("would purge ") && said.ends_with(" (one)\n"), "{said}");
    assert_eq!(shelf.names().len(), 2);
    shelf.ok(&["sessions", "purge", "--keep", "1"]);
    assert_eq!(shelf.names(), ["two"]);
    let all = shelf.ok(&["sessions", "list", "--all"]);
    assert!(all.contains("purged"), "{all}");
    assert_eq!(shelf.ok(&["cleanup", "--older-than", "1d"]), "nothing to do\n");
    let said = shelf.ok(&["cleanup", "--older-than", "0s", "--dry-run"]);
    assert_eq!(said.lines().count(), 2, "{said}");
    assert_eq!(shelf.place.sessions().len(), 2);
    shelf.ok(&["cleanup", "--older-than", "0s"]);
    assert_eq!(shelf.place.sessions().len(), 0);
    // The records, and the policies that they were judged by.
    let kept = std::fs::read_dir(shelf.place.path("home/.ironcurtain/audit")).unwrap();
    let mut kept: Vec<_> = kept.map(|it| it.unwrap().file_name()).collect();
    kept.retain(|it| it != "policies");
    assert_eq!(kept.len(), 2, "{kept:?}");
    for wrong in ["", "7", "x", "-1d"] {
        shelf.refused(&["cleanup", &format!("--older-than={wrong}")], 2);
    }
}

/// A task that runs until it is told to end.
const ENDLESS: &str = "run this:\n```ts\nfilesystem.write_file({path: 'begun.txt', content: ''});\n\
    while (true) {}\n```";

#[test]
fn a_session_that_runs_is_left_alone() {
    let shelf = Shelf::new();
    let mut started = Started::new(&shelf.place, &["start", "--name", "busy", ENDLESS]);
    started.expect("✓ allowed  filesystem.write_file");
    assert_eq!(shelf.names(), ["busy"], "it is listed while it runs");
    let shown = shelf.ok(&["sessions", "show", "busy"]);
    assert!(shown.contains("state          running"), "{shown}");
    for words in [
        &["sessions", "delete", "busy", "--yes"][..],
        &["sessions", "rename", "busy", "idle"],
        &["start", "--resume", "busy", "list the files"],
    ] {
        let said = shelf.refused(words, 1);
        assert!(said.contains("the session `busy` is running"), "{said}");
    }
    shelf.ok(&["sessions", "purge", "--keep", "0"]);
    shelf.ok(&["cleanup", "--older-than", "0s"]);
    assert!(shelf.place.sessions()[0].join("sandbox/begun.txt").exists());
    started.send(rustix::process::Signal::INT);
    assert_eq!(started.end().code, 130);
    shelf.ok(&["sessions", "rename", "busy", "idle"]);
    shelf.ok(&["sessions", "delete", "idle", "--yes"]);
}

#[test]
fn two_processes_do_not_take_one_name() {
    let shelf = Shelf::new();
    let words = ["start", "--name", "same", "list the files"];
    let children: Vec<_> = (0..6).map(|_| shelf.place.command(words).spawn().unwrap()).collect();
    let codes: Vec<_> =
        children.into_iter().map(|it| it.wait_with_output().unwrap().status.code()).collect();
    assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 1, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == Some(2)).count(), 5, "{codes:?}");
    assert_eq!(shelf.names(), ["same"]);
}
