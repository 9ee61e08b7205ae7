//! `ironcurtain agents`, and what is said where an agent cannot be started.

use std::path::PathBuf;
use std::process::Command;

use ic_testkit::Place;
use ic_testkit::provider::KEY;
use serde_json::Value;

use crate::approvals::world::BINARY;
use crate::place;
use crate::proxy::python;
use crate::repl::world::{Stage, rig};
use crate::servers::adding::{Registry, has_npm};

#[test]
fn an_agent_is_copied_listed_and_removed() {
    let place = place();
    let listed = place.run(["start", "--list-agents"]);
    assert_eq!(listed.code, 0, "{listed:?}");
    assert!(listed.stdout.starts_with("claude-code  not installed; ironcurtain agents install"));
    let installed = place.run(["agents", "install", "claude-code", "--from", "/usr/bin/env"]);
    assert_eq!(installed.code, 0, "{installed:?}");
    assert!(installed.stderr.contains("IronCurtain was tested with 2.1.325"), "{installed:?}");
    let list = place.run(["agents", "list", "--json"]);
    let list: Value = serde_json::from_str(&list.stdout).unwrap();
    assert_eq!((&list[0]["agent"], &list[0]["installed"]), (&"claude-code".into(), &true.into()));
    let program = PathBuf::from(list[0]["program"].as_str().unwrap());
    assert_eq!(std::fs::read(&program).unwrap(), std::fs::read("/usr/bin/env").unwrap());
    // Another one takes its place.
    let words =
        ["agents", "install", "claude-code", "--from", "/usr/bin/id", "--version", "2.1.325"];
    let again = place.run(words);
    assert_eq!(again.code, 0, "{again:?}");
    assert!(!again.stderr.contains("was tested with"), "{again:?}");
    assert!(!program.exists(), "{program:?}");
    assert_eq!(place.run(["agents", "remove", "claude-code"]).code, 0);
    assert_eq!(place.run(["agents", "remove", "claude-code"]).code, 1);
    assert!(!place.path("home/.ironcurtain/agents/claude-code").exists());
}

#[test]
fn what_cannot_be_meant_is_said() {
    let place = place().with_variable("ANTHROPIC_API_KEY", KEY);
    let script = place.write("script", "#!/bin/sh\n");
    for (words, code, part) in [
        (
            &["start", "--agent", "acme", "x"] as &[&str],
            2,
            "Unknown agent: acme. Available: claude-code, codex, opencode, goose",
        ),
        (&["agents", "install", "acme"], 2, "Unknown agent: acme."),
        (&["start", "--agent", "claude-code", "x"], 1, "ironcurtain agents install claude-code"),
        (&["agents", "install", "claude-code", "--from", "nowhere"], 1, "nowhere"),
        (
            &["agents", "install", "claude-code", "--from", script.to_str().unwrap()],
            2,
            "is neither a Linux program nor a packed npm package",
        ),
    ] {
        let output = place.run(words);
        assert_eq!(output.code, code, "{words:?}: {output:?}");
        assert!(output.stderr.contains(part), "{words:?}: {}", output.stderr);
    }
}

/// A program that ends without a word about a turn is an error, with its exit code and what it wrote.
#[test]
fn a_program_that_is_no_agent_is_an_error() {
    let place = place().with_variable("ANTHROPIC_API_KEY", KEY);
    let installed = place.run(["agents", "install", "claude-code", "--from", "/usr/bin/id"]);
    assert_eq!(installed.code, 0, "{installed:?}");
    let output = place.run(["start", "--agent", "claude-code", "x"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("Agent exited with code 1. /"), "{}", output.stderr);
    let other = place.run(["start", "--agent", "claude-code", "--model", "openai:gpt-5", "x"]);
    assert_eq!(other.code, 2, "{other:?}");
    assert!(other.stderr.contains("does not use models of `openai`"), "{}", other.stderr);
}

#[test]
fn only_so_many_agents_run_at_a_time() {
    let place = place().with_variable("ANTHROPIC_API_KEY", KEY);
    let installed = place.run(["agents", "install", "claude-code", "--from", "/usr/bin/id"]);
    assert_eq!(installed.code, 0, "{installed:?}");
    assert_eq!(place.run(["config", "set", "agent.maxConcurrentSessions", "1"]).code, 0);
    let home =
        ic_home::Home::new(ic_types::AbsolutePath::new(place.path("home/.ironcurtain")).unwrap());
    std::fs::create_dir_all(home.locks()).unwrap();
    let held = ic_home::Lock::try_acquire(home.agent_place(0)).unwrap().unwrap();
    let output = place.run(["start", "--agent", "claude-code", "x"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("1 sessions of agents are running already"), "{output:?}");
    drop(held);
    let output = place.run(["start", "--agent", "claude-code", "x"]);
    assert!(output.stderr.contains("Agent exited with code"), "{output:?}");
}

/// Packs files as npm does, with entries of Python's `tarfile`.
fn pack(place: &Place, name: &str, entries: &str) -> String {
    let path = place.path(name).display().to_string();
    let script = format!(
        "import io, tarfile
def put(name, data, mode=0o644, **more):
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), mode
    for key, value in more.items(): setattr(entry, key, value)
    tar.addfile(entry, io.BytesIO(data))
program = open('/usr/bin/id', 'rb').read()
manifest = b'{{\"name\":\"opencode-linux-x64\",\"version\":\"1.18.33\",\"scripts\":{{\"install\":\"touch /tmp/x\"}}}}'
with tarfile.open({path:?}, 'w:gz') as tar:
    {entries}
"
    );
    let packed = Command::new(python()).args(["-c", &script]).output().unwrap();
    assert!(packed.status.success(), "{packed:?}");
    path
}

#[test]
fn a_packed_package_is_unpacked_and_checked() {
    let place = place();
    let whole =
        "put('package/package.json', manifest); put('package/bin/opencode', program, 0o755)";
    let good = pack(&place, "good.tgz", whole);
    let installed = place.run(["agents", "install", "opencode", "--from", &good]);
    assert_eq!(installed.code, 0, "{installed:?}");
    assert!(installed.stderr.contains("OpenCode 1.18.33 is installed (sha256 "), "{installed:?}");
    assert!(!installed.stderr.contains("was tested with"), "{installed:?}");
    let list = place.run(["agents", "list", "--json"]);
    let list: Value = serde_json::from_str(&list.stdout).unwrap();
    let row = list.as_array().unwrap().iter().find(|it| it["agent"] == "opencode").unwrap();
    let program = PathBuf::from(row["program"].as_str().unwrap());
    assert_eq!(std::fs::read(&program).unwrap(), std::fs::read("/usr/bin/id").unwrap());
    assert!(program.ends_with("node_modules/opencode-linux-x64/bin/opencode"), "{program:?}");
    for (at, (entries, reason)) in [
        (format!("put('package/../../evil', b'x'); {whole}"), "a strange name"),
        (format!("put('/evil', b'x'); {whole}"), "a strange name"),
        (
            format!("put('package/bin', b'', type=tarfile.SYMTYPE, linkname='/tmp'); {whole}"),
            "is neither a file nor a directory",
        ),
        (format!("{whole}; put('package/bin/opencode', b'again')"), "bin/opencode"),
        (whole.replace("0o755", "0o644"), "the package has no program `bin/opencode`"),
        (whole.replace("opencode', program", "other', program"), "the package has no program"),
        ("put('package/bin/opencode', program, 0o755)".to_owned(), "is not an npm package"),
        (whole.replace("manifest)", "b'{}')"), "is not an npm package"),
        (
            whole.replace("manifest)", "manifest.replace(b'opencode', b'closedcode'))"),
            "the package is `closedcode-linux-x64`, and OpenCode is `opencode-linux-x64`",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let bad = pack(&place, &format!("bad-{at}.tgz"), &entries);
        let output = place.run(["agents", "install", "opencode", "--from", &bad]);
        assert_ne!(output.code, 0, "{entries}: {output:?}");
        assert!(output.stderr.contains(reason), "{entries}: {}", output.stderr);
    }
    let bytes = std::fs::read(&good).unwrap();
    let cut = place.write("cut.tgz", &bytes[..bytes.len() / 2]).display().to_string();
    let output = place.run(["agents", "install", "opencode", "--from", &cut]);
    assert_eq!(output.code, 2, "{output:?}");
    let other = ["agents", "install", "opencode", "--version", "1.0.0", "--from", &good];
    let output = place.run(other);
    assert!(output.stderr.contains("the package is version `1.18.33`"), "{output:?}");
    // What was installed is untouched, and nothing else was left behind.
    assert!(program.exists());
    let own = place.path("home/.ironcurtain/agents/opencode");
    assert_eq!(std::fs::read_dir(own).unwrap().count(), 2);
    assert!(!place.path("evil").exists() && !PathBuf::from("/evil").exists());
}

#[test]
fn at_a_terminal_a_missing_agent_is_offered_installed_and_started() {
    if !has_npm() {
        return;
    }
    let rig = rig();
    let manifest = "{\"name\":\"opencode-linux-x64\",\"version\":\"1.18.33\"}";
    rig.place.write("package/package.json", manifest);
    rig.place.write("package/bin/opencode", std::fs::read("/usr/bin/id").unwrap());
    let package = rig.place.path("package").display().to_string();
    let registry = Registry::start(&["--npm", &package]);
    let url = format!("npm_config_registry=http://127.0.0.1:{}/", registry.port);
    let key = format!("ANTHROPIC_API_KEY={KEY}");
    let variables = ["NO_COLOR=1", url.as_str(), key.as_str()];
    let words = [BINARY, "start", "--agent", "opencode", "--workspace", "work", "x"];
    let start = || Stage::run(&rig, (120, 40), &rig.place.root(), &variables, &words);
    let question = "y install it and go on · n stop";
    let mut stage = start();
    stage.expect("OpenCode is not installed.").expect(question).type_in("n");
    assert_eq!(stage.end(), 130);
    assert!(rig.place.sessions().is_empty(), "nothing was begun");
    let mut stage = start();
    stage.expect(question).type_in("y");
    stage.expect("OpenCode 1.18.33 is installed");
    // It goes on, and the program is no agent.
    stage.expect("Agent exited with code 1.");
    assert_eq!(stage.end(), 1);
    let mut stage = start();
    stage.expect("Agent exited with code 1.");
    assert_eq!(stage.end(), 1);
    assert!(!stage.sent().contains(question), "it is installed now");
}
