//! A policy of one's own: made, chosen, linted, and changed one sentence at a time.

mod attacks;
mod banner;
mod every_server;
mod linting;
mod naming;
mod widening;

use std::fs;
use std::process::Command;

use ic_testkit::{Output, Place};
use serde_json::Value;

use crate::place;

/// A place whose user lets scripts answer.
fn scripted() -> Place {
    let place = place();
    place.let_scripts_answer();
    place.dir("home/notes/out");
    place
}

fn policy(place: &Place, words: &[&str]) -> Output {
    place.run([&["policy"], words].concat())
}

/// Runs `policy` with these words, which has to do what it is asked to.
#[track_caller]
fn changed(place: &Place, words: &[&str]) -> Output {
    let output = policy(place, words);
    assert_eq!(output.code, 0, "{words:?}: {output:?}");
    output
}

/// The same, where what it prints does not matter.
fn change(place: &Place, words: &[&str]) {
    drop(changed(place, words));
}

/// Runs `policy` with these words at a terminal, where somebody gives `answers`.
pub(crate) fn at_terminal(place: &Place, answers: &[&str], words: &[&str]) -> Output {
    let script = format!("{}/tests/terminal/answers.py", env!("CARGO_MANIFEST_DIR"));
    let output = Command::new("python3")
        .arg(script)
        .args(answers)
        .args(["--", env!("CARGO_BIN_EXE_ironcurtain"), "policy"])
        .args(words)
        .env_clear()
        .env("HOME", place.path("home"))
        .env("EDITOR", format!("sh {}", place.path("editor.sh").display()))
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

/// Returns the decision about a call, and the rule.
#[track_caller]
fn judged(place: &Place, server: &str, tool: &str, arguments: &str) -> (String, String) {
    let output = place.run(["policy", "check", "--json", server, tool, arguments]);
    let json: Value = serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    (json["decision"].as_str().unwrap().to_owned(), json["rule"].as_str().unwrap().to_owned())
}

#[track_caller]
fn read_file(place: &Place, path: &str) -> String {
    judged(place, "filesystem", "read_file", &format!(r#"{{"path":"{path}"}}"#)).0
}

#[track_caller]
fn write_file(place: &Place, path: &str) -> String {
    let arguments = format!(r#"{{"path":"{path}","content":"x"}}"#);
    judged(place, "filesystem", "write_file", &arguments).0
}

#[track_caller]
fn fetch(place: &Place, url: &str) -> String {
    judged(place, "fetch", "http_fetch", &format!(r#"{{"url":"{url}"}}"#)).0
}

/// Three commands and three answers, from nothing to a policy in force.
#[test]
fn from_nothing_to_a_policy_in_force() {
    let place = place();
    place.dir("home/notes/out");
    for words in [
        &["allow", "filesystem", "--to", "read", "--in", "home/notes"][..],
        &["allow", "filesystem", "--to", "write", "--in", "~/notes/out"],
        &["allow", "fetch", "--host", "docs.rs"],
    ] {
        let output = at_terminal(&place, &["y\\n"], words);
        assert_eq!(output.code, 0, "{output:?}");
        assert!(output.stdout.contains("asks -> allowed"), "{output:?}");
        assert!(output.stdout.contains("is changed, for new sessions"), "{output:?}");
    }
    assert_eq!(read_file(&place, "~/notes/a.md"), "allow");
    assert_eq!(read_file(&place, "~/notes2/a.md"), "escalate");
    assert_eq!(write_file(&place, "~/notes/out/a.md"), "allow");
    assert_eq!(write_file(&place, "~/notes/a.md"), "escalate");
    assert_eq!(fetch(&place, "https://docs.rs/serde"), "allow");
    assert_eq!(fetch(&place, "https://docs.rs.example.com/"), "escalate");
    assert_eq!(place.run(["config", "get", "policy"]).stdout, "my-default\n");
    // Whoever says no changes nothing.
    let output = at_terminal(&place, &["n\\n"], &["allow", "fetch", "--host", "b.example"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert_eq!(fetch(&place, "https://b.example/"), "escalate");
}

#[test]
fn a_vanished_policy_in_force_is_not_made_anew_unasked() {
    let place = scripted();
    change(&place, &["new", "work", "--from", "readonly"]);
    change(&place, &["use", "work", "--yes"]);
    let directory = place.path("home/.ironcurtain/policies/work");
    fs::remove_dir_all(&directory).unwrap();
    let output = policy(&place, &["new", "work", "--from", "coding"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("policy use default"), "{output:?}");
    assert!(!directory.exists());
    // Under another name nothing takes force.
    change(&place, &["new", "other", "--from", "coding"]);
}

#[test]
fn a_new_policy_loads_as_it_is_and_judges_like_its_origin() {
    let place = scripted();
    place.dir("home/Downloads");
    for (name, from) in [("one", "default"), ("two", "coding"), ("three", "readonly")] {
        let output = changed(&place, &["new", name, "--from", from]);
        assert!(output.stdout.contains("next:"), "{output:?}");
        let directory = place.path("home/.ironcurtain/policies").join(name);
        assert!(directory.join("README.md").exists());
        assert!(!directory.join("tool-annotations.json").exists());
        let arguments = r#"{"path":"~/x","content":"y"}"#;
        let check = |policy: &str| {
            let words = ["check", "--policy", policy, "filesystem", "write_file", arguments];
            self::policy(&place, &words).stdout
        };
        assert_eq!(check(name), check(from));
        // It has the scenarios of its origin, and some for its own sentences.
        let n_tested = |policy: &str| -> usize {
            let tested = self::policy(&place, &["test", "--policy", policy]);
            assert_eq!(tested.code, 0, "{tested:?}");
            let last = tested.stdout.lines().last().unwrap();
            last.split(' ').next().unwrap().parse().unwrap()
        };
        assert!(n_tested(from) < n_tested(name), "{name}");
        // A sentence of one's own may be against them, but for what they forbid everywhere.
        let sentence = ["allow", "filesystem", "--to", "delete", "--in", "~/Downloads"];
        let words = [&sentence[..], &["--policy", name, "--yes"]].concat();
        match from {
            "readonly" => {
                let output = policy(&place, &words);
                assert_eq!(output.code, 1, "{output:?}");
                assert!(output.stderr.contains("this would change nothing"), "{output:?}");
            }
            _ => assert!(changed(&place, &words).stdout.contains("sentence: The agent may delete")),
        }
    }
    // The policy in force is still the built-in one.
    assert_eq!(place.run(["config", "get", "policy"]).stdout, "default\n");
    for (words, code, says) in [
        (&["new", "one"][..], 1, "there is a policy `one` already"),
        (&["new", "coding"], 2, "built in"),
        (&["new", "../x"], 2, "not a name for a policy"),
        (&["new", "x", "--from", "y"], 2, "possible values"),
    ] {
        let output = policy(&place, words);
        assert_eq!(output.code, code, "{output:?}");
        assert!(output.stderr.contains(says), "{output:?}");
    }
}

#[test]
fn a_policy_is_put_in_force_by_name_or_directory() {
    let place = scripted();
    let diary = || read_file(&place, "~/diary.txt");
    assert_eq!(diary(), "escalate");
    // Without a terminal or `--yes` nothing happens.
    assert_eq!(policy(&place, &["use", "readonly"]).code, 1);
    assert_eq!(diary(), "escalate");
    let output = changed(&place, &["use", "readonly", "--yes"]);
    assert!(output.stdout.contains("in force now: built-in `default`"), "{output:?}");
    assert!(output.stdout.contains("allow-reading-files-with-filesystem-git"), "{output:?}");
    assert_eq!(diary(), "allow");
    place.write(
        "own/compiled-policy.json",
        r#"{"rules":[{"name":"no","if":{},"then":"deny","reason":"r"}]}"#,
    );
    change(&place, &["use", "own", "--yes"]);
    assert_eq!(diary(), "deny");
    let configured = place.run(["config", "get", "policy"]).stdout;
    assert_eq!(configured.trim(), place.path("own").to_str().unwrap());
    // A policy that is gone is an error, and not another policy.
    fs::rename(place.path("own"), place.path("elsewhere")).unwrap();
    let output = policy(&place, &["check", "filesystem", "read_file", r#"{"path":"~/x"}"#]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("which config.json names"), "{output:?}");
    change(&place, &["use", "default", "--yes"]);
    assert_eq!(diary(), "escalate");
    let log =
        fs::read_to_string(place.path("home/.ironcurtain/logs/policy-changes.jsonl")).unwrap();
    assert_eq!(log.lines().count(), 3, "{log}");
    assert_eq!(policy(&place, &["use", "nothing", "--yes"]).code, 1);
}

/// A policy that lies where agents work is used only after a warning.
#[test]
fn using_a_policy_in_a_repository_or_where_you_are_warns() {
    let place = scripted();
    let rules = r#"{"rules":[{"name":"no","if":{},"then":"deny","reason":"r"}]}"#;
    for directory in ["ws/deep/pol", "elsewhere/pol", "home/.ironcurtain/policies/mine"] {
        place.write(format!("{directory}/compiled-policy.json"), rules);
    }
    place.dir("ws/.git");
    let warned = |output: &Output, around: &str| {
        let text = format!("warning: this policy lies in `{}`", place.path(around).display());
        output.stdout.contains(&text) || output.stderr.contains(&text)
    };
    let at = |path: &str| place.path(path).to_str().unwrap().to_owned();
    let from = |here: &str, policy: &str| {
        let output = place.run_in(here, ["policy", "use", policy, "--yes"]);
        assert_eq!(output.code, 0, "{output:?}");
        output
    };
    assert!(warned(&from("home", &at("ws/deep/pol")), "ws"));
    assert!(warned(&from("elsewhere", "pol"), "elsewhere"));
    for policy in [at("elsewhere/pol"), "mine".to_owned(), "coding".to_owned()] {
        let output = from("home", &policy);
        let is_silent = |text: &str| !text.contains("warning: this policy lies");
        assert!(is_silent(&output.stdout) && is_silent(&output.stderr), "{policy}: {output:?}");
    }
}

/// `policy use` is what confirms a directory that became a link.
#[test]
fn using_a_policy_confirms_its_directories() {
    let place = scripted();
    change(&place, &["allow", "filesystem", "--to", "read", "--in", "~/notes", "--yes"]);
    fs::rename(place.path("home/notes"), place.path("home/moved")).unwrap();
    place.link("home/notes", place.path("home/moved"));
    let output = policy(&place, &["show"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("policy use"), "{output:?}");
    change(&place, &["use", "my-default", "--yes"]);
    assert_eq!(read_file(&place, "~/moved/a"), "allow");
}

#[test]
fn annotations_are_implied_and_a_policys_own_replace_them_tool_by_tool() {
    let place = place();
    place.write(
        "own/compiled-policy.json",
        r#"{"rules":[{"name":"reads","if":{"roles":["read-path"]},"then":"allow","reason":"r"}]}"#,
    );
    place.write(
        "own/tool-annotations.json",
        r#"{"servers":{"filesystem":{"tools":[{"toolName":"read_file","args":{"path":["write-path"]}}]}}}"#,
    );
    let check = |tool: &str| {
        let words = ["check", "--policy", "own", "--json", "filesystem", tool, r#"{"path":"~/x"}"#];
        let json: Value = serde_json::from_str(&policy(&place, &words).stdout).unwrap();
        json["rule"].as_str().unwrap().to_owned()
    };
    assert_eq!(check("read_file"), "default-deny");
    assert_eq!(check("list_directory"), "reads");
    assert_eq!(check("no_such_tool"), "structural-unknown-tool");
    // A section that a compiler made is complete.
    place.write(
        "own/tool-annotations.json",
        r#"{"servers":{"filesystem":{"inputHash":"x","tools":[{"toolName":"read_file","args":{"path":["write-path"]}}]}}}"#,
    );
    assert_eq!(check("list_directory"), "structural-unknown-tool");
    fs::remove_file(place.path("own/tool-annotations.json")).unwrap();
    assert_eq!(check("list_directory"), "reads");
    // A server of somebody else's by that name has no annotations of ours.
    place.write("home/.ironcurtain/mcp-servers.json", r#"{"filesystem":{"command":"true"}}"#);
    assert_eq!(check("list_directory"), "structural-unknown-tool");
}

#[test]
fn additions_are_shown_with_recorded_calls_and_taken_back() {
    let place = scripted();
    place.write("home/notes/a.md", "text");
    let run = place.run(["start", &format!("read {}", place.path("home/notes/a.md").display())]);
    assert!(run.code == 3 || run.code == 0, "{run:?}");
    let words = ["allow", "filesystem", "--to", "read", "--in", "~/notes"];
    let shown = changed(&place, &[&words[..], &["--dry-run"]].concat());
    assert!(
        shown.stdout.contains("recorded calls: 1 of 1 would be judged differently"),
        "{shown:?}"
    );
    assert!(!place.path("home/.ironcurtain/policies").exists());
    let hash = |place: &Place| {
        let shown: Value =
            serde_json::from_str(&policy(place, &["show", "--json"]).stdout).unwrap();
        shown["policyHash"].as_str().unwrap().to_owned()
    };
    let before = hash(&place);
    change(&place, &[&words[..], &["--yes"]].concat());
    assert_ne!(hash(&place), before);
    assert_eq!(read_file(&place, "~/notes/a.md"), "allow");
    let again = changed(&place, &[&words[..], &["--yes"]].concat());
    assert!(again.stdout.contains("says so already"), "{again:?}");
    let wrong = policy(&place, &["allow", "filesystem", "--in", "~/notes", "--remove"]);
    assert_eq!(wrong.code, 1, "{wrong:?}");
    assert!(
        wrong.stderr.contains("The agent may read files in ~/notes with filesystem.\n"),
        "{wrong:?}"
    );
    // To take an allowance back needs nobody, and so does a `never`.
    change(&place, &[&words[..], &["--remove"]].concat());
    assert_eq!(read_file(&place, "~/notes/a.md"), "escalate");
    change(&place, &["never", "filesystem", "--to", "read", "--in", "~/notes"]);
    assert_eq!(read_file(&place, "~/notes/a.md"), "deny");
    // To take a `never` back needs somebody, and no script: in a workspace there it opens what is denied.
    let words = ["never", "filesystem", "--to", "read", "--in", "~/notes", "--remove"];
    assert_eq!(policy(&place, &words).code, 1);
    assert_eq!(policy(&place, &[&words[..], &["--yes"]].concat()).code, 1);
    let taken = at_terminal(&place, &["y\\n", "y\\n"], &words);
    assert_eq!(taken.code, 0, "{taken:?}");
    assert_eq!(read_file(&place, "~/notes/a.md"), "escalate");
}

/// A call can need more than one addition, so each of them counts for what it is about.
#[test]
fn an_addition_that_opens_one_of_the_roles_of_a_call_changes_something() {
    let place = scripted();
    let remote = ["allow", "git", "--to", "remote", "--host", "github.com", "--yes"];
    let output = changed(&place, &remote);
    assert!(output.stdout.contains("git-remote-url: asks -> allowed"), "{output:?}");
    let push = r#"{"path":"~/notes","remote":"https://github.com/a/b"}"#;
    assert_eq!(judged(&place, "git", "git_push", push).0, "escalate");
    change(&place, &["allow", "git", "--to", "commit", "--in", "~/notes", "--yes"]);
    assert_eq!(judged(&place, "git", "git_push", push).0, "escalate");
    change(&place, &["allow", "git", "--to", "read", "--in", "~/notes", "--yes"]);
    assert_eq!(judged(&place, "git", "git_push", push).0, "allow");
    // Where nothing is opened, that is said.
    let output = policy(&place, &["allow", "filesystem", "--to", "read", "--yes"]);
    assert_ne!(output.code, 0, "{output:?}");
}
