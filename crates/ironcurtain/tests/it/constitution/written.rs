//! Sentences are written into a constitution, by an editor, a command or a question, and compiled.

use std::fs;

use ic_testkit::{Output, Place};

use crate::own_policy::at_terminal;
use crate::place;

const SENTENCES: &str = "The agent may read files in ~/notes.\\nThe agent may write files in ~/notes/out.\\nThe agent may fetch pages from docs.rs.\\n";

/// A place with an editor that adds `text` to the file that it opens.
fn with_editor(text: &str) -> Place {
    let mut place = place();
    place.let_scripts_answer();
    place.dir("home/notes/out");
    set_editor(&mut place, &format!("printf '{text}' >> \"$1\""));
    place
}

fn set_editor(place: &mut Place, script: &str) {
    let path = place.write("editor.sh", format!("{script}\n"));
    place.set_variable("EDITOR", format!("sh {}", path.display()));
}

#[track_caller]
fn said(place: &Place, words: &[&str]) -> Output {
    let output = place.run(words);
    assert_eq!(output.code, 0, "{words:?}: {output:?}");
    output
}

#[track_caller]
fn done(place: &Place, words: &[&str]) {
    drop(said(place, words));
}

fn check(place: &Place, tool: &str, arguments: &str) -> i32 {
    let server = if tool == "http_fetch" { "fetch" } else { "filesystem" };
    place.run(["policy", "check", server, tool, arguments]).code
}

#[track_caller]
fn is_of_the_issue(place: &Place) {
    assert_eq!(check(place, "read_file", r#"{"path":"~/notes/a"}"#), 0);
    assert_eq!(check(place, "read_file", r#"{"path":"~/mail"}"#), 3);
    assert_eq!(check(place, "write_file", r#"{"path":"~/notes/out/a","content":"x"}"#), 0);
    assert_eq!(check(place, "write_file", r#"{"path":"~/notes/a","content":"x"}"#), 3);
    assert_eq!(check(place, "http_fetch", r#"{"url":"https://docs.rs/x"}"#), 0);
    assert_eq!(check(place, "http_fetch", r#"{"url":"https://example.com/"}"#), 3);
}

/// From an empty home: new, edit and use; compiled, tested and in force.
#[test]
fn three_commands_lead_from_an_empty_home_to_a_policy_in_force() {
    let place = with_editor(&format!("\\n## Mine\\n\\n{SENTENCES}"));
    let made = said(&place, &["policy", "new", "mine"]);
    assert!(made.stdout.contains("ironcurtain policy edit mine"), "{made:?}");
    let edited = said(&place, &["policy", "edit", "mine", "--yes"]);
    assert!(edited.stdout.contains("Lets more through:"), "{edited:?}");
    assert!(edited.stdout.contains("which pass"), "{edited:?}");
    done(&place, &["policy", "use", "mine", "--yes"]);
    is_of_the_issue(&place);
    done(&place, &["policy", "test"]);
    let text = said(&place, &["policy", "show", "--constitution"]).stdout;
    assert!(text.contains("The agent may fetch pages from docs.rs."), "{text}");
}

/// The same with one command for each sentence.
#[test]
fn a_command_writes_a_sentence_and_takes_it_back() {
    let place = with_editor("");
    for words in [
        &["allow", "filesystem", "--to", "read", "--in", "~/notes"][..],
        &["allow", "filesystem", "--to", "write", "--in", "~/notes/out"],
        &["allow", "fetch", "--host", "docs.rs"],
    ] {
        done(&place, &[&["policy"], words, &["--yes"]].concat());
    }
    is_of_the_issue(&place);
    let file = place.path("home/.ironcurtain/policies/my-default/constitution.md");
    let text = fs::read_to_string(&file).unwrap();
    let added: Vec<&str> =
        text.split("## Added by you").nth(1).unwrap().lines().filter(|it| !it.is_empty()).collect();
    assert_eq!(
        added,
        [
            "The agent may read files in ~/notes with filesystem.",
            "The agent may write files in ~/notes/out with filesystem.",
            "The agent may fetch pages from docs.rs with fetch.",
        ]
    );
    assert!(!file.with_file_name("additions.json").exists());
    done(&place, &["policy", "allow", "fetch", "--host", "docs.rs", "--remove"]);
    assert_eq!(check(&place, "http_fetch", r#"{"url":"https://docs.rs/x"}"#), 3);
    assert!(!fs::read_to_string(&file).unwrap().contains("docs.rs"));
    // A sentence of the copy can be taken back too, by whoever may confirm it.
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}The agent must never delete files in ~/notes.\n")).unwrap();
    let refused = place.run(["policy", "never", "--in", "~/notes"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("was changed and not compiled"), "{refused:?}");
}

/// What a home from before sentences has, goes on as it began.
#[test]
fn rules_without_a_constitution_keep_their_additions() {
    let place = with_editor("");
    let rules = r#"{"rules":[{"name":"asks","if":{},"then":"escalate","reason":"r"}]}"#;
    place.write("home/.ironcurtain/policies/old/compiled-policy.json", rules);
    done(&place, &["policy", "use", "old", "--yes"]);
    done(&place, &["policy", "allow", "filesystem", "--to", "read", "--in", "~/notes", "--yes"]);
    assert!(place.path("home/.ironcurtain/policies/old/additions.json").exists());
    assert_eq!(check(&place, "read_file", r#"{"path":"~/notes/a"}"#), 0);
    // In English it is what it was, and an edit turns it into sentences.
    let english = said(&place, &["policy", "show", "--english"]).stdout;
    assert!(english.contains("The agent may read files in ~/notes with filesystem."), "{english}");
    let mut place = place;
    set_editor(&mut place, "printf 'The agent must never delete files.\\n' >> \"$1\"");
    done(&place, &["policy", "edit", "--yes"]);
    assert!(!place.path("home/.ironcurtain/policies/old/additions.json").exists());
    assert_eq!(check(&place, "read_file", r#"{"path":"~/notes/a"}"#), 0);
    assert_eq!(check(&place, "delete_file", r#"{"path":"~/notes/a"}"#), 4);
}

#[test]
fn a_text_with_mistakes_gets_them_as_comments_and_nothing_is_lost() {
    let mut place = with_editor("The agent should not delete files in ~/notes.\\n");
    done(&place, &["policy", "new", "mine"]);
    let file = place.path("home/.ironcurtain/policies/mine/constitution.md");
    let before = fs::read(&file).unwrap();
    let refused = place.run(["policy", "edit", "mine", "--yes"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert_eq!(fs::read(&file).unwrap(), before);
    let draft = place.path("home/.ironcurtain/policies/.edit-mine.md");
    let text = fs::read_to_string(&draft).unwrap();
    assert!(text.contains("<!-- mistake: line "), "{text}");
    assert!(text.contains("perhaps: The agent must never delete files in ~/notes."), "{text}");
    assert!(text.contains("\nThe agent should not delete files in ~/notes.\n"), "{text}");
    // The next edit goes on with it.
    set_editor(&mut place, "sed -i 's/should not/must never/' \"$1\"");
    let edited = said(&place, &["policy", "edit", "mine", "--yes"]);
    assert!(edited.stderr.contains("going on with what you wrote"), "{edited:?}");
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("must never delete files in ~/notes") && !text.contains("mistake"),
        "{text}"
    );
    assert!(!draft.exists());
    // An editor that fails changes nothing.
    set_editor(&mut place, "exit 3");
    assert_eq!(place.run(["policy", "edit", "mine", "--yes"]).code, 1);
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn a_widening_is_asked_about_and_a_narrowing_is_not() {
    let mut place = place();
    place.dir("home/notes");
    set_editor(&mut place, "printf 'The agent may read files in ~/notes.\\n' >> \"$1\"");
    done(&place, &["policy", "new", "mine"]);
    let file = place.path("home/.ironcurtain/policies/mine/constitution.md");
    let before = fs::read(&file).unwrap();
    let refused = place.run(["policy", "edit", "mine"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert_eq!(fs::read(&file).unwrap(), before);
    fs::remove_file(place.path("home/.ironcurtain/policies/.edit-mine.md")).unwrap();
    set_editor(&mut place, "printf 'The agent must never fetch pages.\\n' >> \"$1\"");
    let edited = said(&place, &["policy", "edit", "mine"]);
    assert!(edited.stdout.contains("Lets less through:"), "{edited:?}");
    assert!(
        edited.stdout.contains("Can no longer be used ")
            && edited.stdout.contains("fetch.http_fetch"),
        "{edited:?}"
    );
}

/// Whether an *ask* restricts is computed, also where the policy denies something else.
#[test]
fn an_ask_that_only_restricts_is_not_asked_about() {
    let place = with_editor("");
    place.dir("home/private");
    done(&place, &["policy", "allow", "filesystem", "--to", "read", "--in", "~/notes", "--yes"]);
    done(&place, &["policy", "never", "--in", "~/private"]);
    assert_eq!(place.run(["config", "set", "approvals.scripted", "false"]).code, 0);
    let ask = ["policy", "ask", "filesystem", "--to", "read", "--in"];
    done(&place, &[&ask[..], &["~/notes/out"]].concat());
    assert_eq!(check(&place, "read_file", r#"{"path":"~/notes/out/a"}"#), 3);
    // This one would soften the *never*, or do nothing.
    let softening = place.run([&ask[..], &["~/private"]].concat());
    assert_eq!(check(&place, "read_file", r#"{"path":"~/private/a"}"#), 4, "{softening:?}");
}

/// In a workspace around a place only the rule for that place holds, so taking it away is shown and asked.
#[test]
fn what_was_closed_in_a_workspace_is_not_opened_unasked() {
    for closing in
        ["The agent must never write files in ~/w/s.", "Ask before writing files in ~/w/s."]
    {
        let mut place = with_editor("");
        place.dir("home/w/s");
        done(&place, &["policy", "new", "mine"]);
        set_editor(
            &mut place,
            &format!("printf 'The agent may read files in ~/w.\\n{closing}\\n' > \"$1\""),
        );
        done(&place, &["policy", "edit", "mine", "--yes"]);
        done(&place, &["policy", "use", "mine", "--yes"]);
        assert_eq!(place.run(["config", "set", "approvals.scripted", "false"]).code, 0);
        set_editor(&mut place, "sed -i '/in ~.w.s/d' \"$1\"");
        let edited = place.run(["policy", "edit", "mine"]);
        assert_eq!(edited.code, 1, "{closing} {edited:?}");
        assert!(edited.stderr.contains("cannot ask you whether"), "{closing} {edited:?}");
        let text = said(&place, &["policy", "show", "--constitution"]).stdout;
        assert!(text.contains(closing), "{text}");
    }
}

/// A sentence of the built-in policy names servers for the place, and would be more specific.
#[test]
fn a_never_holds_for_servers_that_another_sentence_names() {
    let place = with_editor("");
    place.dir("home/Documents");
    let read = |path: &str| check(&place, "read_file", &format!(r#"{{"path":"{path}"}}"#));
    assert_eq!(read("~/Documents/a"), 0);
    done(&place, &["policy", "never", "--in", "~/Documents"]);
    assert_eq!(read("~/Documents/a"), 4);
    done(&place, &["policy", "allow", "fetch", "--host", "docs.rs", "--yes"]);
    done(&place, &["policy", "ask", "--to", "fetch", "--host", "docs.rs"]);
    assert_eq!(check(&place, "http_fetch", r#"{"url":"https://docs.rs/x"}"#), 3);
    // The same words take all of it back, which a script cannot confirm.
    let back = said(&place, &["policy", "never", "--in", "~/Documents", "--remove", "--dry-run"]);
    assert!(back.stdout.contains("with filesystem and git.\n"), "{back:?}");
    assert!(back.stdout.contains("denied -> allowed"), "{back:?}");
}

/// What a person agreed to is what they were shown, and what was added meanwhile is not lost.
#[test]
fn an_answer_is_about_what_was_shown() {
    let mut place = place();
    place.dir("home/notes");
    place.dir("home/private");
    done(&place, &["policy", "new", "mine"]);
    let wide = place.write("wide.md", "The agent may read, write and delete files in ~/private.\n");
    let narrow = place.write("narrow.md", "The agent may read files in ~/notes.\n");
    let compile = |source: &std::path::Path| {
        format!(
            "{} compile-policy --constitution {} --output other",
            env!("CARGO_BIN_EXE_ironcurtain"),
            source.display()
        )
    };
    let agreed = |place: &Place, meanwhile: &str, words: &[&str]| {
        at_terminal(place, &["--meanwhile", meanwhile, "y\\n"], words)
    };
    done(
        &place,
        &["compile-policy", "--constitution", narrow.to_str().unwrap(), "--output", "other"],
    );
    let used = agreed(&place, &compile(&wide), &["use", "other"]);
    assert!(used.stdout.contains("was changed while the question stood"), "{used:?}");
    assert!(!place.run(["config", "get", "policy"]).stdout.contains("other"), "{used:?}");

    // Without anything in between the same answer counts.
    let used = agreed(&place, "true", &["use", "mine"]);
    assert_eq!(used.code, 0, "{used:?}");
    set_editor(&mut place, "printf 'The agent may read files in ~/notes.\\n' >> \"$1\"");
    let never = format!("{} policy never --in ~/private", env!("CARGO_BIN_EXE_ironcurtain"));
    let edited = agreed(&place, &never, &["edit", "mine"]);
    assert!(edited.stdout.contains("was changed while the question stood"), "{edited:?}");
    assert_eq!(check(&place, "read_file", r#"{"path":"~/private/a"}"#), 4, "{edited:?}");
}

/// What holds in a workspace alone is shown too before it is in force.
#[test]
fn a_compiled_policy_shows_what_it_opens_in_a_workspace() {
    let place = with_editor("");
    let compile = |text: &str| {
        let text = format!("The agent may read files in ~/notes.\n{text}");
        let file = place.write("rules.md", text);
        said(&place, &["compile-policy", "--yes", "--constitution", file.to_str().unwrap()])
    };
    drop(compile("The agent must never delete files in the workspace.\n"));
    let opened = compile("");
    let (_, more) = opened.stdout.split_once("Lets more through:").unwrap();
    assert!(more.contains("delete or move away in the workspace"), "{opened:?}");
}

/// Through the program: what is printed compiles to a policy that judges alike.
#[test]
fn english_of_every_policy_compiles_to_the_same() {
    let place = with_editor("");
    let rules = r#"{"rules":[
        {"name":"notes","if":{"server":["filesystem"],"paths":{"roles":["read-path"],"within":"~/notes"}},"then":"allow","reason":"r"},
        {"name":"joined","if":{"roles":["read-path"],"lists":[{"roles":["read-path"],"allowed":["/etc/hosts"],"matchType":"identifiers"}]},"then":"allow","reason":"r"},
        {"name":"rest","if":{"roles":["read-path"]},"then":"deny","reason":"r"}]}"#;
    place.write("own/compiled-policy.json", rules);
    place.write(
        "own/additions.json",
        r#"{"version":1,"additions":[{"then":"deny","server":"git"},{"then":"escalate","server":"filesystem","within":"~/notes/out"}]}"#,
    );
    for policy in ["default", "coding", "readonly", "./own"] {
        let english = said(&place, &["policy", "show", "--policy", policy, "--english"]);
        fs::write(place.path("english.md"), &english.stdout).unwrap();
        done(&place, &["compile-policy", "--constitution", "english.md", "--output", "again"]);
        done(&place, &["policy", "diff", "--exit-code", policy, "./again"]);
        fs::remove_dir_all(place.path("again")).unwrap();
        let names = english.stderr.contains("no plain form, kept as they are: ");
        assert_eq!(names, policy == "./own", "{policy}: {english:?}");
    }
}
