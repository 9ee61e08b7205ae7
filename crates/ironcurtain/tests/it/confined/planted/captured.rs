//! A file that stands there for a moment only, and git tools that would take it into a commit meanwhile.

use ic_testkit::Proxy;
use ic_testkit::git_host::git;
use serde_json::{Value, json};

use super::super::{Rig, hidden};
use super::{program, workspace};
use crate::proxy::until;

/// Makes the file, waits until the test is done with it, and removes it.
const MOMENT: &str = "
import time
open('.envrc', 'w').write('planted')
end = time.time() + 20
while not os.path.exists('stop') and time.time() < end:
    time.sleep(0.001)
os.path.exists('.envrc') and os.unlink('.envrc')";

fn rig() -> Rig {
    let mut rig = Rig::new();
    workspace(&rig);
    rig.servers.insert("git".to_owned(), json!({"builtin": "git"}));
    rig.peeker(&json!({"contained": true}))
}

fn session(rig: &Rig) -> Proxy {
    let tools = json!([
        {"toolName": "git_add", "args": {"path": ["read-path", "write-history"],
            "files": {"roles": ["read-path"], "relativeTo": "path"}, "force": ["none"]}},
        {"toolName": "git_commit", "args": {"path": ["read-path", "write-history"],
            "message": ["none"], "filesToStage": {"roles": ["read-path"], "relativeTo": "path"}}},
    ]);
    let mut proxy = rig.start_with_tools("git", &tools, &["--workspace", &rig.text("ws")]);
    proxy.initialize();
    proxy
}

/// Returns whether the user's git finds the file in the index or in a commit.
fn is_captured(rig: &Rig) -> bool {
    let ws = rig.place.path("ws");
    let said = |words: &[&str]| {
        let done = std::process::Command::new("git").args(words).current_dir(&ws).output().unwrap();
        assert!(done.status.success(), "{words:?}");
        !done.stdout.is_empty()
    };
    said(&["ls-files", ".envrc"]) || said(&["log", "--all", "--format=%H", "--", ".envrc"])
}

#[test]
fn a_file_of_a_moment_is_not_taken_into_a_commit() {
    let ways: [(&str, Value); 2] = [
        ("git__git_add", json!({"path": "ws", "files": [".envrc"], "force": true})),
        ("git__git_commit", json!({"path": "ws", "message": "m", "filesToStage": [".envrc"]})),
    ];
    for (tool, mut arguments) in ways {
        let rig = rig();
        arguments["path"] = json!(rig.text("ws"));
        let mut proxy = session(&rig);
        let call = json!({"where": hidden(&program(&rig, "pass"))});
        proxy.call("peeker__run", &call).good();
        let call = json!({"where": hidden(&program(&rig, MOMENT))});
        proxy.ask_call("peeker__run", &call);
        until("it is there", || rig.place.path("ws/.envrc").exists());
        let said = proxy.call(tool, &arguments).text();
        rig.place.write("ws/stop", "");
        assert!(!is_captured(&rig), "{tool}: {said}");
        proxy.finish();
        assert!(!is_captured(&rig), "{tool}: {said}");
        // The control: the same file, and nobody who looks.
        std::fs::write(rig.place.path("ws/.envrc"), "planted").unwrap();
        git(&rig.place.path("ws"), &["add", ".envrc"]);
        assert!(is_captured(&rig), "the control is not captured");
    }
}

/// The user's own file is added while a server runs, and the server works on afterwards.
#[test]
fn files_of_the_user_are_added_while_a_server_runs() {
    let rig = rig();
    rig.place.write("ws/.envrc", "the user's");
    let mut proxy = session(&rig);
    let call = json!({"where": hidden(&program(&rig, "open('src/n.txt', 'w').write('n')"))});
    proxy.call("peeker__run", &call).good();
    let add = json!({"path": rig.text("ws"), "files": ["src", ".envrc"]});
    proxy.call("git__git_add", &add).good();
    assert!(is_captured(&rig), "the user's own file is staged");
    proxy.call("peeker__run", &call).good();
    proxy.finish();
}

/// A server of another session cannot be stopped, so what counts is asked about.
#[test]
fn what_counts_is_asked_about_where_another_sessions_server_writes() {
    let mut rig = rig();
    let mut other = session(&rig);
    let call = json!({"where": hidden(&program(&rig, "open('src/n.txt', 'w').write('n')"))});
    other.call("peeker__run", &call).good();
    // This one has no such server itself.
    rig.servers.remove("peeker");
    let mut proxy = session(&rig);
    rig.place.write("ws/.envrc", "somebody's");
    let add = |file: &str| json!({"path": rig.text("ws"), "files": [file]});
    let said = proxy.call("git__git_add", &add(".envrc")).text();
    assert!(said.contains("ws/.envrc`: git would change it here"), "{said}");
    proxy.call("git__git_add", &add("src")).good();
    other.finish();
    // The control: nobody else's server runs any more.
    rig.place.write("ws/.envrc", "somebody's");
    proxy.call("git__git_add", &add(".envrc")).good();
    proxy.finish();
}
