//! Sentences that are plain and cannot mean what they say are named in English.

use std::fs;

use crate::place;

#[test]
fn errors_of_meaning_are_told_with_line_and_words() {
    let place = place();
    place.dir("home/notes");
    let sentences = [
        (
            "The agent may read files in ~/notes.",
            "has no effect: other sentences count wherever it applies",
        ),
        (
            "The agent must never read files in ~/notes.",
            "contradicts line 1; line 2 counts, which is stricter",
        ),
        ("The agent may read files in ~/no-such-place.", "there is no directory `~/no-such-place`"),
        ("The agent may send mail.", "allows nothing: no server has a tool that does this"),
        (
            "The agent may use read_flie of filesystem.",
            "the server `filesystem` has no known tool `read_flie`",
        ),
        (
            "The agent must never delete files in ~/notse.",
            "there is no directory `~/notse`; if its name is misspelled, this protects nothing of yours",
        ),
        ("Ask before using tools of gti.", "there is no server `gti`"),
        ("The agent may fetch pages from @docs.", "the list `@docs` is empty or absent"),
        ("The agent must never write files.", ""),
        ("The agent may write files in ~/notes.", "line 9 forbids it everywhere"),
    ];
    let text: String = sentences.iter().map(|(it, _)| format!("{it}\n")).collect();
    fs::write(place.path("odd.md"), text).unwrap();
    let made = place.run(["compile-policy", "--constitution", "odd.md", "--output", "made"]);
    assert_eq!(made.code, 0, "{made:?}");
    for (at, (sentence, problem)) in sentences.iter().enumerate() {
        let line = format!("line {}: ", at + 1);
        let found: Vec<&str> = made.stderr.lines().filter(|it| it.contains(&line)).collect();
        match problem.is_empty() {
            true => assert!(found.is_empty(), "{sentence}: {found:?}"),
            false => assert!(found.iter().any(|it| it.contains(problem)), "{sentence}: {made:?}"),
        }
    }
    // What has no effect is found by looking through every call.
    fs::write(
        place.path("idle.md"),
        "The agent may name GitHub repositories called app with github.\nAsk before connecting through the proxy.\n",
    )
    .unwrap();
    let made = place.run(["compile-policy", "--constitution", "idle.md", "--output", "idle"]);
    assert!(made.stderr.contains("line 2: ") && made.stderr.contains("has no effect"), "{made:?}");
}

/// Sentences are compared by the names of their directories, so two names of one place look like two places.
#[test]
fn a_directory_that_is_a_link_is_named_where_it_makes_a_scenario_fail() {
    let place = place();
    place.dir("home/real");
    std::os::unix::fs::symlink(place.path("home/real"), place.path("home/other")).unwrap();
    let text = "The agent may read files in ~/other.\nThe agent must never read files in ~/real.\n";
    fs::write(place.path("link.md"), text).unwrap();
    let made = place.run(["compile-policy", "--constitution", "link.md", "--output", "made"]);
    assert_eq!(made.code, 1, "{made:?}");
    let real = place.path("home/real");
    let said = format!("line 1: `~/other` leads through a link to `{}`", real.display());
    assert!(made.stderr.contains(&said), "{made:?}");
    assert!(made.stderr.contains("name that directory instead"), "{made:?}");
    assert!(!made.stderr.contains("line 2: `~/real` leads"), "{made:?}");
    assert!(!place.path("made/compiled-policy.json").exists());
    // With the one name of the place there is nothing to fail.
    fs::write(place.path("link.md"), text.replace("~/other", "~/real/in")).unwrap();
    place.dir("home/real/in");
    let made = place.run(["compile-policy", "--constitution", "link.md", "--output", "made"]);
    assert!(!made.stderr.contains("leads through a link"), "{made:?}");
}

#[test]
fn a_note_names_its_sentence_where_a_line_holds_several() {
    let place = place();
    place.dir("home/a");
    fs::write(
        place.path("one.md"),
        "The agent may read and write files in ~/a.\n\nThe agent may delete files in ~/a. Ask before writing files in ~/a.\n",
    )
    .unwrap();
    let made = place.run(["compile-policy", "--constitution", "one.md", "--output", "made"]);
    let note = "line 3: `Ask before writing files in ~/a`: contradicts line 1";
    assert!(made.stderr.contains(note), "{made:?}");
}

/// A rule about a branch decides about what a tool is told beside its files.
#[test]
fn a_sentence_about_branches_has_an_effect() {
    let place = place();
    place.dir("home/code");
    fs::write(
        place.path("branches.md"),
        "The agent may read, write and commit in ~/code.\nThe agent must never name branches called main.\n",
    )
    .unwrap();
    let made = place.run(["compile-policy", "--constitution", "branches.md", "--output", "made"]);
    assert_eq!(made.code, 0, "{made:?}");
    assert!(!made.stderr.contains("has no effect"), "{made:?}");
}

/// What *may anywhere else* leaves to a sentence about another server stays free in a workspace, as it was before.
#[test]
fn a_may_anywhere_else_closes_nothing_in_a_workspace() {
    let place = place();
    place.dir("home/a/b");
    fs::write(
        place.path("else.md"),
        "The agent must never read files in ~/a/b with mail.\nThe agent may read files anywhere else.\n",
    )
    .unwrap();
    let made = place.run(["compile-policy", "--constitution", "else.md", "--output", "made"]);
    assert_eq!(made.code, 0, "{made:?}");
    let check = |rest: &[&str]| {
        let call = ["filesystem", "read_file", r#"{"path":"~/a/b/x"}"#];
        let words = [&["policy", "check", "--policy", "made"][..], &call, rest].concat();
        place.run(words).stdout.lines().take(2).collect::<Vec<_>>().join(" ")
    };
    for workspace in ["home/a", "home/a/b"] {
        let said = check(&["--sandbox", place.path(workspace).to_str().unwrap(), "--workspace"]);
        assert_eq!(said, "filesystem.read_file: allow   rule: structural-sandbox-allow");
    }
    let outside = check(&[]);
    assert!(outside.starts_with("filesystem.read_file: deny"), "{outside}");
}

#[test]
fn a_policy_does_not_get_the_name_of_a_built_in_one() {
    let place = place();
    fs::write(place.path("mine.md"), "The agent may read files in ~/notes.\n").unwrap();
    let output = place.path("home/.ironcurtain/policies/default");
    let output = output.to_str().unwrap();
    let made = place.run(["compile-policy", "--constitution", "mine.md", "--output", output]);
    assert!(made.code != 0 && made.stderr.contains("the name of a built-in policy"), "{made:?}");
}

/// A server on another machine has no sandbox.
#[test]
fn a_sandbox_that_is_not_there_is_told() {
    let place = place();
    place.write("home/.ironcurtain/config.json", r#"{"version":1}"#);
    place.write(
        "home/.ironcurtain/mcp-servers.json",
        r#"{"far":{"url":"https://far.example/mcp"}}"#,
    );
    fs::write(place.path("far.md"), "The agent may read files in the sandbox with far.\n").unwrap();
    let made = place.run(["compile-policy", "--constitution", "far.md", "--output", "made"]);
    assert!(made.stderr.contains("runs elsewhere, where there is no sandbox"), "{made:?}");
}
