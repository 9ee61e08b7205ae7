//! What can be asked for on the command line, and what is refused before anything is made.

use std::os::unix::fs::PermissionsExt as _;

use super::{Desk, answered};

/// Checks that a command line is refused with `code`, and that nothing was made.
#[track_caller]
fn check_refused(desk: &Desk, arguments: &[&str], code: i32, said: &str) {
    let n_sessions = desk.n_sessions();
    let output = desk.place.run([&["start"], arguments].concat());
    assert_eq!(output.code, code, "{output:?}");
    assert!(output.stderr.contains(said), "{output:?}");
    assert_eq!(output.stdout, "");
    assert_eq!(desk.n_sessions(), n_sessions, "something was made");
}

#[test]
fn what_makes_no_sense_is_a_usage_error() {
    let desk = Desk::new();
    for (arguments, said) in [
        (&[""][..], "error: the task is empty"),
        (&["  \n "], "error: the task is empty"),
        (
            &["--model", "some:gpt", "task"],
            "error: `--model some:gpt`: `some` is not a provider: expected",
        ),
        (&["--name", "", "task"], "error: `` is not a valid session id"),
        (&["--name", "///", "task"], "error: `///` is not a valid session id"),
        (&["--nonsense", "task"], "unexpected argument '--nonsense'"),
        (&["--workspace"], "a value is required"),
    ] {
        check_refused(&desk, arguments, 2, said);
    }
}

#[test]
fn a_workspace_in_which_no_agent_should_be_free_is_refused() {
    let desk = Desk::new().with(&[("file.txt", "")]);
    desk.place.dir("home/.ironcurtain/sessions");
    desk.place.link("to-home", "home");
    desk.place.link("to-nothing", "nowhere");
    desk.place.link("to-ours", "home/.ironcurtain");
    for (workspace, said) in [
        ("/", "it is everything"),
        ("/root", "it is a home directory, or holds one"),
        ("/home", "it is a home directory, or holds one"),
        ("/etc", "it is the system's own, and no cage can show it"),
        ("/proc", "it is the system's own, and no cage can show it"),
        ("/dev", "it is the system's own, and no cage can show it"),
        ("missing", "it does not exist"),
        ("to-nothing", "it does not exist"),
        ("file.txt", "it is not a directory"),
        ("home", "it is a home directory, or holds one"),
        ("to-home", "it is a home directory, or holds one"),
        ("work/../home", "it is a home directory, or holds one"),
        (".", "it is a home directory, or holds one"),
        ("home/.ironcurtain", "it holds the IronCurtain home"),
        ("to-ours", "it holds the IronCurtain home"),
        ("home/.ironcurtain/sessions", "it lies in the IronCurtain home"),
    ] {
        check_refused(&desk, &["--workspace", workspace, "list the files"], 2, said);
    }
    // Whatever is started there.
    desk.place.write("script.ts", "1");
    for words in [
        &["run", "script.ts", "--workspace", "/etc"][..],
        &["proxy", "--workspace", "/etc"],
        &["proxy", "--sandbox", "/etc"],
    ] {
        let output = desk.place.run(words);
        assert_eq!(output.code, 2, "{words:?}: {output:?}");
        assert!(output.stderr.contains("no cage can show it"), "{words:?}: {output:?}");
    }
    // Another home of ours, which the workspace would hold.
    let place = crate::place().with_variable("IRONCURTAIN_HOME", "outer/inner");
    place.dir("outer/inner");
    let output = place.run(["start", "--workspace", "outer", "list the files"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains("it holds the IronCurtain home"), "{output:?}");
}

#[test]
fn without_a_workspace_the_agent_works_in_a_directory_of_the_session() {
    let desk = Desk::new();
    let output = desk.start_with(&[], "write \"mine\" to a.txt then read a.txt");
    assert!(answered(&output).contains("`a.txt`:\nmine"), "{output:?}");
    let session = desk.place.sessions().remove(0);
    assert_eq!(std::fs::read_to_string(session.join("sandbox/a.txt")).unwrap(), "mine");
    assert_eq!(desk.read("a.txt"), None, "nothing is written where it was started");
    // The sandbox is new each time.
    let output = desk.start_with(&[], "read a.txt");
    assert!(answered(&output).contains("I could not read `a.txt`"), "{output:?}");
    desk.check_log();
}

#[test]
fn the_policy_is_the_one_that_is_named() {
    let desk = Desk::new().with(&[("home/Documents/a.txt", "read me")]);
    let path = desk.place.path("home/Documents/a.txt");
    let read = format!("read {}", path.display());
    let output = desk.start(&read);
    assert!(answered(&output).contains("read me"), "{output:?}");
    for policy in ["readonly", "coding"] {
        let arguments = ["--policy", policy, "--workspace", "work"];
        let output = desk.start_with(&arguments, "list the files");
        answered(&output);
        assert!(output.stderr.contains(&format!("policy built-in `{policy}`")), "{output:?}");
    }
    let own =
        r#"{"rules": [{"name": "none", "if": {}, "then": "deny", "reason": "nothing at all"}]}"#;
    desk.place.write("policy/compiled-policy.json", own);
    desk.place.write(
        "policy/tool-annotations.json",
        r#"{"servers": {"filesystem": {"tools": [
        {"toolName": "read_text_file", "args": {"path": ["read-path"]}}]}}}"#,
    );
    let output = desk.start_with(&["--policy", "policy", "--workspace", "work"], &read);
    assert!(answered(&output).contains("nothing at all"), "{output:?}");
    desk.check_log();
    // What is odd about it is said once.
    let twice = r#"{"rules": [{"name": "a", "if": {}, "then": "allow", "reason": "x"},
        {"name": "a", "if": {}, "then": "deny", "reason": "y"}]}"#;
    desk.place.write("policy/compiled-policy.json", twice);
    let output = desk.start_with(&["--policy", "policy"], "list the files");
    assert_eq!(output.stderr.matches("another rule is called `a` too").count(), 1, "{output:?}");
    check_refused(&desk, &["--policy", "missing", "task"], 1, "there is no policy `missing`");
    desk.place.write("policy/compiled-policy.json", "{");
    check_refused(&desk, &["--policy", "policy", "task"], 1, "compiled-policy.json");
    desk.place.write("work/policy/compiled-policy.json", own);
    let inside = ["--workspace", "work", "--policy", "work/policy", "task"];
    check_refused(&desk, &inside, 1, "where the agent can change it");
}

#[test]
fn a_name_is_given_once() {
    let desk = Desk::new();
    let output = desk.start_with(&["--name", "tidy-up"], "list the files");
    answered(&output);
    assert!(output.stderr.contains("(tidy-up)"), "{output:?}");
    check_refused(
        &desk,
        &["--name", "tidy-up", "list the files"],
        2,
        "there is a session `tidy-up` already: ",
    );
    // Nor is the session of another kind taken for it.
    desk.place.write("script.ts", "1");
    let output = desk.place.run(["run", "--name", "tidy-up", "script.ts"]);
    assert_eq!(output.code, 2, "{output:?}");
    desk.check_log();
}

#[test]
fn a_session_that_cannot_be_opened_leaves_nothing() {
    let desk = Desk::new();
    answered(&desk.start("list the files"));
    let key = desk.place.path("home/.ironcurtain/keys/audit.key");
    let bytes = std::fs::read(&key).unwrap();
    std::fs::write(&key, "short").unwrap();
    check_refused(&desk, &["list the files"], 1, "audit.key");
    desk.check_nobody_listed();
    std::fs::write(&key, bytes).unwrap();
    answered(&desk.start("list the files"));
    desk.check_nobody_listed();
}

#[test]
fn a_home_that_cannot_be_written_is_said() {
    let desk = Desk::new();
    if rustix::process::geteuid().is_root() {
        // Root writes everywhere but where there is no directory.
        desk.place.write("home/.ironcurtain", "a file");
    } else {
        let closed = std::fs::Permissions::from_mode(0o500);
        std::fs::set_permissions(desk.place.path("home"), closed).unwrap();
    }
    let output = desk.start("list the files");
    assert_eq!((output.code, output.stdout.as_str()), (1, ""), "{output:?}");
    assert!(output.stderr.starts_with("error: "), "{output:?}");
    assert!(output.stderr.contains(".ironcurtain"), "{output:?}");
    let opened = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(desk.place.path("home"), opened).unwrap();
}
