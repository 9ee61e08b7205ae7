//! A constitution in plain English becomes a policy through the program, without a key.

mod free;
mod meaning;
mod written;

use std::fs;

use ic_testkit::Place;

use crate::{json_lines, place};

const MINE: &str = "# My notes\n\nThe agent may read files in ~/notes.\nThe agent may write files in ~/notes/out.\n\
                    The agent may fetch pages from docs.rs.\nEverything else is for a person to decide.\n";

/// A place with a constitution.
fn with(text: &str) -> Place {
    let place = place();
    place.dir("home/notes/out");
    fs::write(place.path("mine.md"), text).unwrap();
    place
}

fn check(place: &Place, server: &str, tool: &str, arguments: &str) -> i32 {
    place.run(["policy", "check", "--policy", "./made", server, tool, arguments]).code
}

#[test]
fn three_commands_make_a_policy_from_english() {
    let place = with(MINE);
    let made = place.run(["compile-policy", "--constitution", "mine.md", "--output", "made"]);
    assert_eq!(made.code, 0, "{made:?}");
    assert!(made.stdout.starts_with("4 sentences became 4 rules and "), "{made:?}");
    let tested = place.run(["policy", "test", "--policy", "./made"]);
    assert_eq!(tested.code, 0, "{tested:?}");
    assert_eq!(check(&place, "filesystem", "read_file", r#"{"path":"~/notes/a"}"#), 0);
    assert_eq!(check(&place, "filesystem", "read_file", r#"{"path":"~/notes-b/a"}"#), 3);
    let write = |path: &str| format!(r#"{{"path":"{path}","content":"x"}}"#);
    assert_eq!(check(&place, "filesystem", "write_file", &write("~/notes/out/a")), 0);
    assert_eq!(check(&place, "filesystem", "write_file", &write("~/notes/a")), 3);
    assert_eq!(check(&place, "fetch", "http_fetch", r#"{"url":"https://docs.rs/tokio"}"#), 0);
    assert_eq!(
        check(&place, "fetch", "http_fetch", r#"{"url":"https://docs.rs.evil.example/"}"#),
        3
    );
    let bytes = fs::read(place.path("made/compiled-policy.json")).unwrap();
    let again = place.run(["compile-policy", "--constitution", "mine.md", "--output", "made"]);
    assert!(again.stdout.starts_with("nothing changed"), "{again:?}");
    assert_eq!(fs::read(place.path("made/compiled-policy.json")).unwrap(), bytes);
}

#[test]
fn mistakes_are_named_with_an_offer_and_replace_nothing() {
    let place = with(MINE);
    let compile = || place.run(["compile-policy", "--constitution", "mine.md", "--output", "made"]);
    assert_eq!(compile().code, 0);
    let bytes = fs::read(place.path("made/compiled-policy.json")).unwrap();
    fs::write(
        place.path("mine.md"),
        format!("{MINE}The agent should not delete files in ~/notes.\n"),
    )
    .unwrap();
    let refused = compile();
    assert_eq!(refused.code, 1, "{refused:?}");
    for words in ["line 7", "should", "perhaps: The agent must never delete files in ~/notes."] {
        assert!(refused.stderr.contains(words), "{words}: {refused:?}");
    }
    assert_eq!(fs::read(place.path("made/compiled-policy.json")).unwrap(), bytes);
}

#[test]
fn what_would_be_in_force_needs_confirmation() {
    let place = with(MINE);
    let compile = |words: &[&str]| {
        place.run([&["compile-policy", "--constitution", "mine.md"], words].concat())
    };
    let refused = compile(&["--yes"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(!place.path("home/.ironcurtain/generated/compiled-policy.json").exists());
    place.let_scripts_answer();
    let made = compile(&["--yes"]);
    assert_eq!(made.code, 0, "{made:?}");
    let read = place.run(["policy", "check", "filesystem", "read_file", r#"{"path":"~/notes/a"}"#]);
    assert_eq!(read.code, 0, "{read:?}");
}

#[test]
fn may_only_leaves_the_workspace_to_containment_and_never_anywhere_does_not() {
    let place = with(
        "The agent may only write files in ~/notes.\nThe agent must never delete files anywhere.\n",
    );
    place.dir("work");
    let made = place.run(["compile-policy", "--constitution", "mine.md", "--output", "made"]);
    assert_eq!(made.code, 0, "{made:?}");
    let judge = |tool: &str, arguments: &str, words: &[&str]| {
        let start = ["policy", "check", "--policy", "./made", "--sandbox", "work"];
        place.run([&start, words, &["filesystem", tool, arguments]].concat()).code
    };
    for words in [&[][..], &["--workspace"]] {
        assert_eq!(judge("write_file", r#"{"path":"a","content":"x"}"#, words), 0, "{words:?}");
        assert_eq!(judge("write_file", r#"{"path":"~/b","content":"x"}"#, words), 4, "{words:?}");
        assert_eq!(judge("delete_file", r#"{"path":"a"}"#, words), 4, "{words:?}");
    }
}

#[test]
fn the_grammar_is_printed_with_its_examples() {
    let page = place().run(["policy", "grammar"]);
    assert_eq!(page.code, 0);
    for example in ic_constitution::grammar::examples() {
        assert!(page.stdout.contains(example), "{example}");
    }
}

/// Compiles an example of the repository to `made` in a new place.
#[track_caller]
fn example(name: &str) -> Place {
    let file = format!("{}/../../examples/{name}.md", env!("CARGO_MANIFEST_DIR"));
    let place = with(&fs::read_to_string(&file).unwrap());
    // What was written by hand stands beside it.
    if let Ok(scenarios) = fs::read(file.replace(".md", ".scenarios.json")) {
        fs::write(place.path("mine.scenarios.json"), scenarios).unwrap();
    }
    let made = place.run(["compile-policy", "--constitution", "mine.md", "--output", "made"]);
    assert_eq!(made.code, 0, "{name}: {made:?}");
    let tested = place.run(["policy", "test", "--policy", "./made"]);
    assert_eq!(tested.code, 0, "{name}: {tested:?}");
    place
}

/// The decisions about requests, a line each.
fn decisions(place: &Place, policy: &str, words: &[&str]) -> Vec<serde_json::Value> {
    let start = ["policy", "check", "--policy", policy, "--requests", "requests.jsonl"];
    let output = place.run([&start, words].concat());
    json_lines(&output).into_iter().map(|line| line["decision"].clone()).collect()
}

#[test]
fn the_built_in_policies_are_what_their_plain_sentences_say() {
    for name in ["default", "coding", "readonly"] {
        let place = example(name);
        let same = place.run(["policy", "diff", "--exit-code", name, "./made"]);
        assert_eq!(same.code, 0, "{same:?}");
        place.dir("work");
        let mut requests = String::new();
        // What all three are asked about is asked of each.
        for asked in ["default", "coding", "readonly"] {
            let file = format!(
                "{}/../ic-policy/policies/{asked}/test-scenarios.json",
                env!("CARGO_MANIFEST_DIR")
            );
            let file: serde_json::Value =
                serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
            for scenario in file["scenarios"].as_array().unwrap() {
                let request = &scenario["request"];
                let request = serde_json::json!({
                    "server": request["serverName"],
                    "tool": request["toolName"],
                    "arguments": request["arguments"],
                });
                requests.extend([&request.to_string(), "\n"]);
            }
        }
        fs::write(place.path("requests.jsonl"), &requests).unwrap();
        for words in [&[][..], &["--sandbox", "work"], &["--sandbox", "work", "--workspace"]] {
            let (plain, built_in) =
                (decisions(&place, "./made", words), decisions(&place, name, words));
            assert!(100 < plain.len());
            for ((plain, built_in), request) in plain.iter().zip(&built_in).zip(requests.lines()) {
                assert_eq!(plain, built_in, "{name} {words:?} {request}");
            }
        }
    }
}

#[test]
fn the_examples_say_what_they_are_for() {
    let read = |path: &str| format!(r#"{{"path":"{path}"}}"#);
    let write = |path: &str| format!(r#"{{"path":"{path}","content":"x"}}"#);
    let url = |url: &str| format!(r#"{{"url":"{url}"}}"#);
    for (name, calls) in [
        (
            "developer",
            vec![
                ("write_file", write("~/code/a"), 0),
                ("write_file", write("~/code/deploy/a"), 3),
                ("delete_file", read("~/code/a"), 0),
                ("read_file", read("~/mail"), 3),
                ("http_fetch", url("https://docs.rs/x"), 0),
                ("http_fetch", url("https://example.com/"), 3),
                ("http_fetch", url("http://10.0.0.1/"), 4),
            ],
        ),
        (
            "researcher",
            vec![
                ("read_file", read("~/papers/a"), 0),
                ("read_file", read("~/mail"), 4),
                ("write_file", write("~/papers/a"), 4),
                ("http_fetch", url("https://de.wikipedia.org/"), 0),
                ("http_fetch", url("https://example.com/"), 3),
            ],
        ),
        (
            "assistant",
            vec![
                ("read_file", read("~/Documents/a"), 0),
                ("read_file", read("~/Documents/medical/a"), 4),
                ("write_file", write("~/Documents/drafts/a"), 0),
                ("write_file", write("~/Documents/a"), 3),
            ],
        ),
        (
            "ci-bot",
            vec![
                ("write_file", write("/builds/a"), 0),
                ("delete_file", read("/builds/tmp/a"), 0),
                ("delete_file", read("/builds/a"), 4),
                ("http_fetch", url("https://pypi.org/simple"), 0),
                ("http_fetch", url("https://example.com/"), 4),
            ],
        ),
        (
            "family",
            vec![
                ("read_file", read("~/Pictures/a"), 0),
                ("write_file", write("~/Pictures/a"), 3),
                ("write_file", write("~/school/homework/a"), 0),
                ("delete_file", read("~/school/homework/a"), 4),
                ("http_fetch", url("https://en.wikipedia.org/"), 0),
            ],
        ),
    ] {
        let place = example(name);
        for (tool, arguments, code) in calls {
            let server = if tool == "http_fetch" { "fetch" } else { "filesystem" };
            assert_eq!(check(&place, server, tool, &arguments), code, "{name}: {tool} {arguments}");
        }
    }
}

/// Scenarios of one's own are kept, and one that fails keeps the policy from being written.
#[test]
fn scenarios_written_by_hand_are_kept_and_have_to_pass() {
    let place = with(MINE);
    let scenario = |expected: &str| {
        format!(
            r#"{{"scenarios":[{{"description":"mine","request":{{"serverName":"filesystem","toolName":"read_file","arguments":{{"path":"~/notes/a"}}}},"expectedDecision":"{expected}","reasoning":"r","source":"handwritten"}}]}}"#
        )
    };
    let compile = || place.run(["compile-policy", "--constitution", "mine.md", "--output", "made"]);
    fs::write(place.path("mine.scenarios.json"), scenario("deny")).unwrap();
    let refused = compile();
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("mine: expected deny, got allow"), "{refused:?}");
    assert!(!place.path("made").exists());
    fs::write(place.path("mine.scenarios.json"), scenario("allow")).unwrap();
    assert_eq!(compile().code, 0);
    // Compiled again without the file, those of the policy are kept.
    fs::remove_file(place.path("mine.scenarios.json")).unwrap();
    fs::write(place.path("mine.md"), format!("{MINE}Ask before deleting files.\n")).unwrap();
    assert_eq!(compile().code, 0);
    let kept = fs::read_to_string(place.path("made/test-scenarios.json")).unwrap();
    assert!(kept.contains("handwritten"), "{kept}");
}
