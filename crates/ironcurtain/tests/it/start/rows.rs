//! Everything that the offline model understands, in several wordings, with what it does to the disk.

use std::path::Path;

use ic_testkit::{Says, Web};
use serde_json::json;

use super::{Desk, answered};

const FILES: [(&str, &str); 4] = [
    ("work/notes.txt", "remember the milk"),
    ("work/docs/a.md", "alpha"),
    ("work/docs/deep/b.md", "beta"),
    ("work/src/main.rs", "fn main() {}"),
];

/// Sends a message about the files above; each part of `said` stands in the answer, in order, and
/// nothing was refused.
#[track_caller]
fn check(message: &str, said: &[&str]) -> Desk {
    let desk = Desk::new().with(&FILES);
    let output = desk.start(message);
    let mut rest = answered(&output);
    for part in said {
        let found = rest.split_once(part);
        rest = found.unwrap_or_else(|| panic!("no {part:?} in {rest:?}")).1;
    }
    assert!(!output.stdout.contains("could not"), "{}", output.stdout);
    assert!(output.stdout.ends_with("\n(Answered by the offline model.)\n"), "{}", output.stdout);
    assert!(!output.stderr.contains("refused  "), "{}", output.stderr);
    desk.check_log();
    desk
}

#[test]
fn listing() {
    check(
        "list the files; list the files in docs then ls src and what files are there in docs?",
        &[
            "In `.`:\n",
            "[DIR] docs",
            "[FILE] notes.txt",
            "[DIR] src",
            "In `docs`:\n",
            "[FILE] a.md",
            "[DIR] deep",
            "In `src`:\n[FILE] main.rs",
            "In `docs`:\n",
            "[FILE] a.md",
        ],
    );
    check(
        "show the tree\nshow me the directory tree of docs, then tree src",
        &[
            "The tree of `.`:\n",
            "notes.txt",
            "The tree of `docs`:\n",
            "b.md",
            "The tree of `src`:\n",
            "main.rs",
        ],
    );
}

#[test]
fn reading_and_searching() {
    check(
        "read notes.txt then show docs/a.md; Please show me the contents of docs/deep/b.md.",
        &["`notes.txt`:\nremember the milk", "`docs/a.md`:\nalpha", "`docs/deep/b.md`:\nbeta"],
    );
    check(
        "search for \"beta\" in docs and look for \"milk\"; find the word 'nothing-like-it' in src",
        &[
            "Found for \"beta\" in `docs`:\n",
            "b.md",
            "Found for \"milk\" in `.`:\n",
            "notes.txt",
            "I found nothing for \"nothing-like-it\" in `src`.",
        ],
    );
}

#[test]
fn writing_and_appending() {
    let desk = check(
        "write \"first\" to a.txt then append \" second\" to a.txt; create a file docs/b.txt with the \
         text 'x'\nand write this to c.txt:\n```\nline one\nline two\n```",
        &[
            "I wrote 5 bytes to `a.txt`.",
            "I appended 7 bytes to `a.txt`.",
            "I wrote 1 byte to `docs/b.txt`.",
        ],
    );
    assert_eq!(desk.read("work/a.txt").unwrap(), "first second");
    assert_eq!(desk.read("work/docs/b.txt").unwrap(), "x");
    assert_eq!(desk.read("work/c.txt").unwrap(), "line one\nline two\n");
}

#[test]
fn moving_copying_deleting_and_making_directories() {
    let desk = check(
        "move notes.txt to old.txt, copy old.txt to copy.txt; rename docs/a.md to docs/z.md and \
         delete src/main.rs then create the directory empty and mkdir made/deep",
        &[
            "I moved `notes.txt` to `old.txt`.",
            "I copied `old.txt` to `copy.txt`.",
            "I moved `docs/a.md` to `docs/z.md`.",
            "I deleted `src/main.rs`.",
            "I created the directory `empty`.",
            "I created the directory `made/deep`.",
        ],
    );
    assert_eq!(desk.read("work/notes.txt"), None);
    assert_eq!(desk.read("work/old.txt").unwrap(), "remember the milk");
    assert_eq!(desk.read("work/copy.txt").unwrap(), "remember the milk");
    assert_eq!(desk.read("work/docs/z.md").unwrap(), "alpha");
    assert_eq!(desk.read("work/src/main.rs"), None);
    assert!(desk.place.path("work/empty").is_dir() && desk.place.path("work/made/deep").is_dir());
}

#[test]
fn a_script_in_a_fenced_block_is_run() {
    let script = "Run this:\n```ts\nconst names: string[] = ['a', 'b'];\nfor (const name of names) {\n  \
                  filesystem.write_file({ path: `${name}.txt`, content: name });\n}\n\
                  console.log('wrote', names.length);\nnames.join('+')\n```";
    let desk = check(script, &["I ran the script:\nwrote 2\na+b"]);
    assert_eq!(desk.read("work/b.txt").unwrap(), "b");
}

#[test]
fn git_is_asked_for_what_happens_in_the_workspace() {
    let desk = Desk::new();
    let made = desk.start("```ts\ngit.git_init({ path: '.' })\n```");
    assert!(answered(&made).contains("I ran the script"), "{made:?}");
    for (request, expected) in [
        ("write \"one\" to a.txt and then git status", "The git status of `.`:"),
        ("commit \"the first one\"", "I committed all changes in `.`:"),
        ("show me the git log", "the first one"),
        ("append \"two\" to a.txt; git diff", "+onetwo"),
    ] {
        let output = desk.start(request);
        assert!(answered(&output).contains(expected), "{request}: {}", output.stdout);
    }
    desk.check_log();
}

/// Pages are fetched where the policy says so; the built-in one asks, and here nobody is there.
#[test]
fn pages() {
    let web = Web::start(|_| vec![("/page", Says::page("text/html", "<h1>A page</h1><p>of text"))]);
    let desk = Desk::new();
    let fetch = format!("fetch {}", web.url("/page"));
    let asked = desk.start(&fetch);
    assert!(asked.stdout.contains("ESCALATION REQUIRED"), "{asked:?}");
    assert_eq!(web.paths().len(), 0);
    let rule = json!({"name": "named", "then": "allow", "reason": "a test", "if": {"domains":
        {"roles": ["fetch-url"], "allowed": [format!("127.0.0.1:{}", web.port())]}}});
    let annotations =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../ic-policy/policies/tool-annotations.json");
    desk.place.write("policy/tool-annotations.json", std::fs::read(annotations).unwrap());
    desk.place.write("policy/compiled-policy.json", json!({"rules": [rule]}).to_string());
    let with_policy = ["--workspace", "work", "--policy", "policy"];
    let fetched = desk.start_with(&with_policy, &fetch);
    assert!(answered(&fetched).contains("# A page\n\nof text"), "{fetched:?}");
    let script = format!("fetch.http_fetch({{ url: \"{}\" }})", web.url("/page"));
    desk.place.write("script.ts", script);
    let ran = desk.place.run([&["run"][..], &with_policy, &["script.ts"]].concat());
    assert!(ran.code == 0 && ran.stdout.contains("# A page"), "{ran:?}");
    assert_eq!(web.paths(), ["/page", "/page"]);
    desk.check_log();
}

/// What goes to the network is not there yet; this test is to fail when it is.
#[test]
fn what_needs_the_network_says_that_it_is_not_there() {
    let desk = Desk::new();
    for (request, expected) in [
        ("push to origin", "I could not push: "),
        ("clone https://example.com/x.git", "I could not clone https://example.com/x.git: "),
    ] {
        let output = desk.start(&format!("list the files and {request}"));
        assert!(output.stdout.contains(expected), "{request}: {output:?}");
    }
    desk.check_log();
}

#[test]
fn what_is_not_understood_does_nothing_and_says_what_would_be() {
    let desk = Desk::new();
    for message in ["help", "write \"a\" to a.txt and then conquer the world", "read \"open"] {
        let output = desk.start(message);
        let answer = answered(&output);
        assert!(answer.contains("I am the offline model"), "{answer}");
        assert!(answer.contains("ANTHROPIC_API_KEY"), "{answer}");
        assert!(output.stderr.contains("0 calls made"), "{}", output.stderr);
    }
    assert_eq!(desk.read("work/a.txt"), None, "not even what was understood");
}

#[test]
fn what_fails_is_said_and_the_rest_is_done() {
    let desk = Desk::new().with(&FILES);
    let output = desk.start("read missing.txt; read notes.txt");
    let answer = answered(&output);
    assert!(answer.contains("I could not read `missing.txt`: "), "{answer}");
    assert!(answer.contains("remember the milk"), "{answer}");
    assert!(
        output.stderr.contains("✗ failed   filesystem.read_text_file path=missing.txt"),
        "{output:?}"
    );
}
