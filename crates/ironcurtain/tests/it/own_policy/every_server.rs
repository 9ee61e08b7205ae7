//! A *never* or *ask* without a server, what the banner says of additions, and what is said of those that
//! change nothing.

use std::process::Command;

use serde_json::json;

use super::banner::outline;
use crate::place;

use super::{at_terminal, change, changed, judged, policy, scripted};
use ic_testkit::Proxy;

#[test]
fn never_without_a_server_holds_for_every_server() {
    let place = scripted();
    let private = place.dir("home/proj/private");
    place.write("home/proj/private/k", "one\n");
    for words in [&["init", "-q"][..], &["add", "."]] {
        let mut git = Command::new("git");
        let done = git.args(words).current_dir(place.path("home/proj")).status();
        assert!(done.unwrap().success());
    }
    place.write("home/proj/private/k", "secret\n");
    let work = place.path("home/proj").to_str().unwrap().to_owned();
    let with_git = || {
        let mut proxy = Proxy::start(&place, &["--workspace", &work]);
        proxy.initialize();
        let said = proxy.call("git__git_diff", &json!({"path": work})).text();
        proxy.finish();
        said
    };
    let file = json!({"path": private.join("k")}).to_string();

    // One server alone: the others are named, and the banner says to whom the place is refused.
    let output = changed(&place, &["never", "filesystem", "--in", "~/proj/private"]);
    assert!(
        output.stdout.contains(
            "note: this does not cover git, shell; for every server: ironcurtain policy never --in \
             ~/proj/private\n"
        ),
        "{output:?}"
    );
    assert!(with_git().contains("secret"));
    let line = outline(&place, &["--workspace", &work]);
    assert!(line.contains("refused: everything in ~/proj/private (filesystem); "), "{line}");

    let output = changed(&place, &["never", "--in", "~/proj/private"]);
    assert!(output.stdout.contains("add: never any server in ~/proj/private\n"), "{output:?}");
    assert!(!output.stdout.contains("does not cover"), "{output:?}");
    let said = with_git();
    assert!(said.starts_with("DENIED: ") && !said.contains("secret"), "{said}");
    change(&place, &["never", "filesystem", "--in", "~/proj/private", "--remove", "--yes"]);
    assert_eq!(judged(&place, "filesystem", "read_file", &file).0, "deny");
    let line = outline(&place, &["--workspace", &work]);
    assert!(line.contains("refused: everything in ~/proj/private; "), "{line}");

    // A server that is added afterwards is meant too.
    place.write("home/.ironcurtain/mcp-servers.json", r#"{"notes":{"command":"true"}}"#);
    let annotations = r#"{"servers":{"notes":{"tools":[
        {"toolName":"read","args":{"path":["read-path"]}}]}}}"#;
    place.write("home/.ironcurtain/policies/my-default/tool-annotations.json", annotations);
    assert_eq!(judged(&place, "notes", "read", &file).0, "deny");

    let taken =
        at_terminal(&place, &["y\\n", "y\\n"], &["never", "--in", "~/proj/private", "--remove"]);
    assert_eq!(taken.code, 0, "{taken:?}");
    assert!(with_git().contains("secret"));
    assert_eq!(judged(&place, "notes", "read", &file).0, "escalate");
}

#[test]
fn what_names_too_little_is_refused_and_says_what_is_missing() {
    let place = scripted();
    for (words, code, says) in [
        (&["allow", "--in", "~/notes"][..], 2, "`policy allow` needs a server"),
        (&["never"], 2, "this names nothing to apply to"),
        (&["allow", "filesystem", "--yes"], 2, "`allow filesystem` names no place"),
        (&["allow", "filesystem", "--to", "read", "--yes"], 2, "say where: `--in DIR`\n"),
        (&["allow", "fetch", "--yes"], 2, "say where: `--host H`\n"),
        // A name that is mistyped is said before a directory that is not there.
        (&["allow", "filesytem", "--in", "~/none"], 2, "did you mean `filesystem`?"),
        (&["allow", "filesystem", "--in", "~/none"], 1, "there is no directory"),
        // Nobody is told to make what would be refused then.
        (&["allow", "filesystem", "--to", "read", "--in", "~/.ssh"], 1, ".ssh` is protected"),
    ] {
        let output = policy(&place, words);
        assert_eq!(output.code, code, "{words:?}: {output:?}");
        assert!(output.stderr.contains(says), "{words:?}: {output:?}");
    }
    // Examples are calls that could be made.
    for (words, says) in [
        (
            &["never", "fetch"][..],
            r#"asks -> denied     fetch.http_fetch {"url":"https://example.com/"}"#,
        ),
        (
            &["never", "filesystem", "--to", "delete"],
            r#"asks -> denied     filesystem.delete_file {"path":"~/example.txt"}"#,
        ),
    ] {
        let output = changed(&place, &[words, &["--dry-run"]].concat());
        assert!(output.stdout.contains(says), "{words:?}: {output:?}");
    }
}

#[test]
fn a_question_more_needs_no_confirmation_where_nothing_is_denied() {
    let place = place();
    place.dir("home/Documents/x");
    let output = changed(&place, &["ask", "filesystem", "--to", "read", "--in", "~/Documents/x"]);
    assert!(output.stdout.contains("allowed -> asks"), "{output:?}");
    assert_eq!(
        judged(&place, "filesystem", "read_file", r#"{"path":"~/Documents/x/a"}"#).0,
        "escalate"
    );
    // An *ask* beside a *never* could soften it, so it is confirmed.
    change(&place, &["never", "filesystem", "--in", "~/Documents/x"]);
    let refused =
        policy(&place, &["ask", "filesystem.read_file", "--to", "read", "--in", "~/Documents/x"]);
    assert!(refused.code == 1 && refused.stderr.contains("there is no terminal"), "{refused:?}");
}

#[test]
fn the_port_of_a_scheme_is_that_scheme() {
    let place = scripted();
    let output = changed(&place, &["allow", "fetch", "--host", "docs.rs:443", "--yes"]);
    assert!(output.stdout.contains("allow fetch at https://docs.rs\n"), "{output:?}");
    assert_eq!(judged(&place, "fetch", "http_fetch", r#"{"url":"https://docs.rs/x"}"#).0, "allow");
    assert_eq!(
        judged(&place, "fetch", "http_fetch", r#"{"url":"http://docs.rs/x"}"#).0,
        "escalate"
    );
    change(&place, &["allow", "fetch", "--host", "docs.rs:443", "--remove"]);
    // What was not added is answered with what was.
    change(&place, &["allow", "fetch", "--host", "docs.rs", "--yes"]);
    let wrong = policy(&place, &["allow", "fetch", "--host", "crates.io", "--remove"]);
    assert!(
        wrong.stderr.contains("The agent may fetch pages from docs.rs with fetch.\n"),
        "{wrong:?}"
    );
}

#[test]
fn what_is_allowed_already_is_no_error() {
    let place = scripted();
    change(&place, &["allow", "fetch", "--host", "docs.rs", "--yes"]);
    change(&place, &["allow", "git", "--in", "~/notes", "--yes"]);
    for words in [
        &["allow", "fetch", "--to", "fetch", "--host", "docs.rs"][..],
        &["allow", "fetch", "--host", "docs.rs:443"],
        &["allow", "fetch", "--host", "https://docs.rs/"],
        &["allow", "git", "--to", "commit", "--in", "~/notes/out"],
    ] {
        let output = changed(&place, words);
        // The same sentence once more, or another one that allows nothing new.
        let is_told = output.stdout == "The policy `my-default` says so already.\n"
            || output.stdout.starts_with("Already allowed by `allow-");
        assert!(is_told, "{words:?}: {output:?}");
    }
    let constitution = "home/.ironcurtain/policies/my-default/constitution.md";
    let text = std::fs::read_to_string(place.path(constitution)).unwrap();
    let added = text.split("## Added by you").nth(1).unwrap();
    assert_eq!(added.matches("The agent may").count(), 2, "{text}");
}

#[test]
fn the_banner_names_every_addition_or_says_that_there_are_more() {
    let place = scripted();
    for directory in ["x", "other", "one"] {
        place.dir(format!("home/{directory}"));
    }
    for words in [
        &["allow", "fetch", "--host", "docs.rs", "--yes"][..],
        &["allow", "git", "--to", "remote", "--host", "github.com", "--yes"],
        &["allow", "git", "--in", "~/x", "--yes"],
        &["allow", "filesystem.edit_file", "--to", "write", "--in", "~/other", "--yes"],
        &["never", "--to", "rewrite"],
    ] {
        change(&place, words);
    }
    let line = outline(&place, &[]);
    for entry in [
        "everything in the sandbox, ",
        "write in ~/other (filesystem.edit_file)",
        "read, write, delete and commit in ~/x (git)",
        "pages of docs.rs",
        "git remotes at github.com",
        "asks: everything else; refused: rewrite history anywhere else; ",
    ] {
        assert!(line.contains(entry), "{entry}: {line}");
    }
    // What does not fit is counted, and nothing is said of everything else then.
    for at in 0..9 {
        place.dir(format!("home/d{at}"));
        change(
            &place,
            &["allow", "filesystem", "--to", "read", "--in", &format!("~/d{at}"), "--yes"],
        );
    }
    let line = outline(&place, &[]);
    assert!(
        line.contains(" more (`ironcurtain policy show`), except changes outside the sandbox "),
        "{line}"
    );
    assert!(!line.contains("everything else") && !line.contains("anywhere else"), "{line}");
    assert!(line.contains("asks: everything that no other rule is about; "), "{line}");
}
