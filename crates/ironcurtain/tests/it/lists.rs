//! Lists whose values are found by calls under the policy, or by a model: shown first, dated, and never
//! shortened unseen.

use std::fs;
use std::process::Command;

use ic_testkit::provider::{KEY, Reply, Said};
use ic_testkit::{Output, Place, ScriptedProvider};
use serde_json::{Value, json};

use crate::place;

const FROM_A_FILE: &str =
    "@docs is what read_text_file of filesystem returns for `{\"path\":\"~/lists/hosts.txt\"}`.";
const LISTS: &str = "made/dynamic-lists.json";

/// Compiles a policy with a list of hosts that may be fetched from.
fn with_list(first: &str, definition: &str) -> Place {
    let place = place();
    place.let_scripts_answer();
    place.write("home/lists/hosts.txt", "docs.rs\n");
    compile(&place, first, definition);
    place
}

fn compile(place: &Place, first: &str, definition: &str) {
    let text =
        format!("{first}\n\nThe agent may fetch pages from hosts in @docs.\n\n{definition}\n");
    place.write("mine.md", text);
    let words = ["compile-policy", "--constitution", "mine.md", "--output", "made"];
    assert_eq!(place.run(words).code, 0);
}

const MAY_READ: &str = "The agent may read files in ~/lists.";

fn refresh(place: &Place, more: &[&str]) -> Output {
    place.run([&["refresh-lists", "--policy", "./made"], more].concat())
}

fn fetch(place: &Place, url: &str) -> i32 {
    let arguments = json!({"url": url}).to_string();
    place.run(["policy", "check", "--policy", "./made", "fetch", "http_fetch", &arguments]).code
}

fn list(place: &Place) -> Value {
    let file: Value = serde_json::from_slice(&fs::read(place.path(LISTS)).unwrap()).unwrap();
    file["lists"]["docs"].clone()
}

#[test]
fn a_list_is_found_by_a_call_under_the_policy_and_shown_first() {
    let place = with_list(MAY_READ, FROM_A_FILE);
    assert_eq!(fetch(&place, "https://docs.rs/x"), 4);
    let refreshed = refresh(&place, &["--yes"]);
    assert_eq!(refreshed.code, 0, "{refreshed:?}");
    for part in
        ["@docs: 1 value, from read_text_file of filesystem", "+ docs.rs", "Lets more through"]
    {
        assert!(refreshed.stdout.contains(part), "{part}: {refreshed:?}");
    }
    assert_eq!(fetch(&place, "https://docs.rs/x"), 0);
    let found = list(&place);
    assert_eq!(found["values"], json!(["docs.rs"]));
    assert_eq!(found["manualAdditions"], json!([]));
    assert!(found["resolvedAt"].as_str().unwrap().starts_with("20"), "{found}");
    assert!(!found["inputHash"].as_str().unwrap().is_empty());
    // The call is in a log like any other.
    let logs = place.files("home/.ironcurtain/sessions");
    let is_called = |text: &String| text.contains("read_text_file");
    assert!(logs.iter().any(|(path, text)| path.ends_with("audit.jsonl") && is_called(text)));
    // Nothing changes, so nobody is asked; the date is a new one.
    let again = refresh(&place, &[]);
    assert_eq!(again.code, 0, "{again:?}");
    assert!(again.stdout.contains("1 as before"), "{again:?}");
    assert_ne!(list(&place)["resolvedAt"], found["resolvedAt"]);
}

#[test]
fn what_people_added_and_removed_stays() {
    let place = with_list(MAY_READ, FROM_A_FILE);
    place.write("home/lists/hosts.txt", "docs.rs\ncrates.io\n");
    let by_hand = json!({"lists": {
        "docs": {"values": ["old.example"], "manualAdditions": ["mine.example"], "manualRemovals": ["crates.io"]},
        "other": {"values": ["x.example"]},
    }});
    place.write(LISTS, by_hand.to_string());
    let refreshed = refresh(&place, &["docs", "--yes"]);
    assert_eq!(refreshed.code, 0, "{refreshed:?}");
    assert!(refreshed.stdout.contains("- old.example"), "{refreshed:?}");
    let codes = ["docs.rs", "mine.example", "crates.io", "old.example"]
        .map(|host| fetch(&place, &format!("https://{host}/")));
    assert_eq!(codes, [0, 0, 4, 4]);
    assert!(fs::read_to_string(place.path(LISTS)).unwrap().contains("x.example"));
}

#[test]
fn a_list_that_cannot_be_found_stays_as_it_was() {
    let place = with_list(MAY_READ, FROM_A_FILE);
    assert_eq!(refresh(&place, &["--yes"]).code, 0);
    let before = fs::read(place.path(LISTS)).unwrap();
    // A stranger's text: the whole web, this machine, something that nobody would see, nothing at all.
    for text in [
        "docs.rs\n*\n",
        "localhost\n",
        "10.0.0.1\n",
        "a.example\u{202e}\n",
        "\n",
        "*.example.com\n",
    ] {
        place.write("home/lists/hosts.txt", text);
        let refreshed = refresh(&place, &["--yes"]);
        assert_eq!(refreshed.code, 1, "{text}: {refreshed:?}");
        assert!(refreshed.stderr.contains("@docs stays as it was: "), "{text}: {refreshed:?}");
        assert_eq!(fs::read(place.path(LISTS)).unwrap(), before, "{text}");
    }
    fs::remove_file(place.path("home/lists/hosts.txt")).unwrap();
    assert_eq!(refresh(&place, &["--yes"]).code, 1);
    // The policy refuses the call, or nobody is there to approve it.
    for (first, code) in
        [("Everything else is refused.", 1), ("Ask before reading files in ~/lists.", 3)]
    {
        place.write("home/lists/hosts.txt", "evil.example\n");
        compile(&place, first, FROM_A_FILE);
        let refreshed = refresh(&place, &["--yes"]);
        assert_eq!(refreshed.code, code, "{first}: {refreshed:?}");
        assert_eq!(fs::read(place.path(LISTS)).unwrap(), before, "{first}");
    }
}

#[test]
fn nothing_is_written_unless_somebody_agrees() {
    let place = with_list(MAY_READ, FROM_A_FILE);
    let refused = refresh(&place, &[]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("there is no terminal"), "{refused:?}");
    let said_no = at_terminal(&place, "n\\n");
    assert_eq!(said_no.code, 1, "{said_no:?}");
    assert!(said_no.stdout.contains("+ docs.rs"), "{said_no:?}");
    assert!(!place.path(LISTS).exists());
    let said_yes = at_terminal(&place, "y\\n");
    assert_eq!(said_yes.code, 0, "{said_yes:?}");
    assert!(place.path(LISTS).exists());
    // Scripts answer only where the user lets them.
    fs::remove_file(place.path(LISTS)).unwrap();
    place.configure("approvals.scripted", false);
    assert_eq!(refresh(&place, &["--yes"]).code, 1);
    assert!(!place.path(LISTS).exists());
}

#[test]
fn what_comes_into_force_is_noted() {
    let place = with_list(MAY_READ, FROM_A_FILE);
    assert_eq!(place.run(["policy", "use", "./made", "--yes"]).code, 0);
    assert_eq!(place.run(["refresh-lists", "--yes"]).code, 0);
    let log =
        fs::read_to_string(place.path("home/.ironcurtain/logs/policy-changes.jsonl")).unwrap();
    let last: Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    assert_eq!(last["by"], "refresh-lists", "{last}");
    assert_ne!(last["widenings"], json!([]), "{last}");
}

#[test]
fn lists_that_are_not_there_are_named() {
    let place = with_list(MAY_READ, "");
    let nowhere = refresh(&place, &["--yes"]);
    assert_eq!(nowhere.code, 1, "{nowhere:?}");
    assert!(nowhere.stderr.contains("nothing says where the values"), "{nowhere:?}");
    let other = refresh(&place, &["other"]);
    assert_eq!(other.code, 2, "{other:?}");
    assert!(other.stderr.contains("there are: @docs"), "{other:?}");
    let builtin = place.run(["refresh-lists", "--policy", "default"]);
    assert!(builtin.stderr.contains("has no lists"), "{builtin:?}");
}

/// What is written back as English says where the lists come from, and compiles again.
#[test]
fn the_english_of_a_policy_keeps_its_lists() {
    let place = with_list(MAY_READ, FROM_A_FILE);
    let english = place.run(["policy", "show", "--english", "--policy", "./made"]);
    assert!(english.stdout.contains(FROM_A_FILE), "{english:?}");
}

#[test]
fn words_need_a_model_whose_values_stand_in_what_was_returned() {
    let said = |answer: Value| Reply::Says(Said::tool("use_1", "answer", answer));
    let call = json!({"tool": "read_text_file", "arguments": {"path": "~/lists/hosts.txt"}});
    let provider = ScriptedProvider::start([
        said(call),
        // A value of the model's own, and then what the file says.
        said(json!({"values": ["evil.example"]})),
        said(json!({"values": ["docs.rs"]})),
    ]);
    let place = with_list(MAY_READ, "@docs means the hosts of my notes, found with filesystem.");
    let without = refresh(&place, &["--yes"]);
    assert_eq!(without.code, 1, "{without:?}");
    assert!(without.stderr.contains("no key for a model is set"), "{without:?}");
    let place = place
        .with_variable("ANTHROPIC_BASE_URL", &provider.url())
        .with_variable("ANTHROPIC_API_KEY", KEY);
    let refreshed = refresh(&place, &["--yes"]);
    assert_eq!(refreshed.code, 0, "{refreshed:?}");
    assert!(refreshed.stdout.contains("`the hosts of my notes`, found by a model with filesystem"));
    assert_eq!(list(&place)["values"], json!(["docs.rs"]));
    // The same question about the same file is not paid for again today.
    assert_eq!(refresh(&place, &[]).code, 0);
}

#[test]
fn a_model_names_what_it_knows_and_never_the_whole_web() {
    let said = |answer: Value| Reply::Says(Said::tool("use_1", "answer", answer));
    let provider = ScriptedProvider::start([
        said(json!({"values": ["*"]})),
        said(json!({"values": ["localhost"]})),
        said(json!({"values": ["NYTimes.com", "*.bbc.co.uk"]})),
    ]);
    let place = with_list(MAY_READ, "@docs means popular news sites.")
        .with_variable("ANTHROPIC_BASE_URL", &provider.url())
        .with_variable("ANTHROPIC_API_KEY", KEY);
    let refreshed = refresh(&place, &["--yes"]);
    assert_eq!(refreshed.code, 0, "{refreshed:?}");
    assert!(refreshed.stdout.contains("as a model says"), "{refreshed:?}");
    assert_eq!(list(&place)["values"], json!(["nytimes.com", "*.bbc.co.uk"]));
    assert!(
        !place.path("home/.ironcurtain/sessions").join("index.json").exists()
            || refreshed.stdout.contains("as a model says")
    );
}

fn at_terminal(place: &Place, answer: &str) -> Output {
    let script = format!("{}/tests/terminal/answers.py", env!("CARGO_MANIFEST_DIR"));
    let output = Command::new("python3")
        .args([&script, answer, "--", env!("CARGO_BIN_EXE_ironcurtain"), "refresh-lists"])
        .args(["--policy", "./made"])
        .env_clear()
        .env("HOME", place.path("home"))
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .current_dir(place.root())
        .output()
        .unwrap();
    Output {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
