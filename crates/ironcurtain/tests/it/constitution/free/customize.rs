//! `customize-policy` at a terminal: answers become a constitution, which is compiled, shown and confirmed.

use std::fs;
use std::process::Command;

use ic_testkit::Place;

use crate::place;

fn answered(place: &Place, answers: &[&str]) -> (i32, String) {
    let script = format!("{}/tests/terminal/answers.py", env!("CARGO_MANIFEST_DIR"));
    let output = Command::new("python3")
        .arg(script)
        .args(answers)
        .args(["--", env!("CARGO_BIN_EXE_ironcurtain"), "customize-policy"])
        .env_clear()
        .env("HOME", place.path("home"))
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .current_dir(place.root())
        .output()
        .unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

fn check(place: &Place, tool: &str, arguments: &str) -> i32 {
    let server = if tool == "http_fetch" { "fetch" } else { "filesystem" };
    place.run(["policy", "check", server, tool, arguments]).code
}

#[test]
fn a_few_answers_become_a_policy_without_a_model() {
    let place = place();
    place.dir("home/Notes");
    // Read, write, delete, never, sites; commands; everything else; nothing of one's own; compile; use.
    let answers = [
        "~/Notes\\n",
        "~/Notes/out of here\\n",
        "\\n",
        "~/taxes\\n",
        "docs.rs, *.rust-lang.org\\n",
        "2\\n",
        "1\\n",
        "\\n",
        "y\\n",
        "y\\n",
    ];
    let (code, seen) = answered(&place, &answers);
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains("The agent may read files in ~/Notes."), "{seen}");
    assert!(seen.contains("Use this policy from now on?"), "{seen}");
    assert_eq!(check(&place, "read_file", r#"{"path":"~/Notes/a"}"#), 0);
    assert_eq!(check(&place, "read_file", r#"{"path":"~/other/a"}"#), 3);
    assert_eq!(check(&place, "read_file", r#"{"path":"~/taxes/a"}"#), 4);
    let write = r#"{"path":"~/Notes/out of here/a","content":"x"}"#;
    assert_eq!(check(&place, "write_file", write), 0);
    assert_eq!(check(&place, "http_fetch", r#"{"url":"https://docs.rs/x"}"#), 0);
}

#[test]
fn who_stops_changes_nothing_and_mistakes_are_asked_about_again() {
    let place = place();
    let (code, seen) = answered(&place, &["not a place\\n", "q\\n"]);
    assert!(code == 1 && seen.contains("Nothing was changed"), "{seen}");
    assert!(seen.contains("line 1"), "{seen}");
    assert!(!place.path("home/.ironcurtain/generated/compiled-policy.json").exists());
    // Free English needs a model, and there is none.
    let answers = [
        "\\n",
        "\\n",
        "\\n",
        "\\n",
        "\\n",
        "1\\n",
        "2\\n",
        "Be nice to my photos\\n",
        "\\n",
        "n\\n",
    ];
    let (code, seen) = answered(&place, &answers);
    assert!(code == 1 && seen.contains("no key for a model is set"), "{seen}");
    let left = fs::read_dir(place.path("home/.ironcurtain")).unwrap();
    let names: Vec<String> =
        left.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    assert!(!names.contains(&"customized.md".to_owned()), "{names:?}");
}
