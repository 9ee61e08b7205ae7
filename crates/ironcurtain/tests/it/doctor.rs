//! `ironcurtain doctor`: for each thing that can be wrong the right line, the remedy and the exit code.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use ic_testkit::{Output, Place};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::config_attacks::Disk;
use crate::servers::RUNGS;
use crate::{audit, place};

const HOME: &str = "home/.ironcurtain";

/// What the doctor found out.
struct Findings {
    output: Output,
    checks: Vec<Value>,
}

impl Findings {
    fn of(place: &Place) -> Self {
        let output = place.run(["doctor", "--json"]);
        let checks = serde_json::from_str(&output.stdout).expect("a JSON array");
        Self { output, checks }
    }

    /// Checks how `check` came out, that `text` is said about it, and that a trouble has a remedy.
    #[track_caller]
    fn has(&self, check: &str, status: &str, text: &str) {
        let found = self.checks.iter().find(|it| it["check"] == check);
        let found = found.unwrap_or_else(|| panic!("no `{check}` in {:?}", self.output));
        assert_eq!(found["status"], status, "{found}");
        assert!(found["detail"].as_str().unwrap().contains(text), "{found}");
        let is_trouble = matches!(status, "warning" | "failed");
        assert_eq!(
            found["remedy"].as_str().is_some_and(|it| !it.is_empty()),
            is_trouble,
            "{found}"
        );
    }

    /// Checks that exactly these failed.
    #[track_caller]
    fn failed(&self, checks: &[&str]) {
        let failed = self.checks.iter().filter(|it| it["status"] == "failed");
        let failed: Vec<&str> = failed.map(|it| it["check"].as_str().unwrap()).collect();
        assert_eq!(failed, checks, "{:?}", self.output);
        assert_eq!(self.output.code, i32::from(!checks.is_empty()));
        assert_eq!(self.output.stderr, "");
    }
}

/// Everything in a directory: names, rights and contents.
fn picture(root: &Path) -> Vec<(PathBuf, u32, Option<Vec<u8>>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        all.push((path.clone(), metadata.mode(), fs::read(&path).ok()));
        if metadata.is_dir() {
            all.extend(picture(&path));
        }
    }
    all.sort();
    all
}

/// Makes what differs from machine to machine neutral, and leaves out what is only for information.
fn neutral(place: &Place, text: &str) -> String {
    let text = text.replace(place.root().to_str().unwrap(), "[ROOT]");
    let text = RUNGS.iter().fold(text, |text, rung| text.replace(&format!("`{rung}`"), "`[RUNG]`"));
    let lines = text.lines().filter(|line| !line.starts_with("info"));
    let mut neutral = String::new();
    for line in lines {
        let line = match line.split_once("it is 20") {
            Some((before, _)) => format!("{before}it is [TIME]"),
            None => line.to_owned(),
        };
        let words: Vec<&str> = line.split(' ').collect();
        let is_unit = |at: usize| matches!(words.get(at + 1), Some(&("ms," | "MiB")));
        let is_hash = |word: &str| word.len() == 64;
        let words = words.iter().enumerate().map(|(at, word)| match word {
            _ if is_unit(at) => "[N]",
            word if is_hash(word) => "[HASH]",
            word => word,
        });
        neutral.push_str(&words.collect::<Vec<_>>().join(" "));
        neutral.push('\n');
    }
    neutral
}

#[test]
fn an_empty_home_is_fine_and_stays_empty() {
    let place = place();
    let output = place.run(["doctor"]);
    assert_snapshot!(neutral(&place, &output.stdout), @"
    ok       home                `[ROOT]/home/.ironcurtain` is not there yet, and can be made: wrote and removed a file beside it
    ok       free space          [N] MiB are left where the home is
    ok       configuration       nothing is set, so the defaults hold
    ok       servers file        no servers file, so the 4 built-in servers serve
    ok       trusted identities  no server is trusted yet; the first start records it
    ok       policy              built-in `default`: 14 rules, 45 annotated tools, hash [HASH]
    ok       scenarios           53 of 53 about configured servers pass
    ok       audit key           not there yet; the first session makes it
    ok       last audit log      not there yet
    ok       audit log           wrote one of 2 records, found it intact, and removed it
    ok       confinement         servers are caged by `[RUNG]`: a child in such a cage tried to get out, and could not
    ok       launcher            started a child and saw it end; started another and ended it with the child it had
    ok       filesystem server   started in [N] ms, and lists 15 tools
    ok       git server          started in [N] ms, and lists 28 tools
    ok       fetch server        started in [N] ms, and lists 1 tool
    ok       shell server        started in [N] ms, and lists 1 tool
    ok       code sandbox        ran a script, which found no way out
    ok       whole call          a client of a proxy wrote a file and fetched a page of this machine, and the log says so and is intact
    ok       socket              made one, and connected to it as ourselves
    ok       model gate          a client with a fake key asked a provider on this machine, which got the real one; another key was refused
    ok       openat2             opened a file beneath a directory, and was refused one above it
    ok       inotify             changed a file, and was told of it
    ok       clock               it is [TIME]

    23 checks: 0 failed, 0 with a warning
    ");
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
    assert_eq!(picture(&place.path("home")), []);
    let findings = Findings::of(&place);
    findings.failed(&[]);
    findings.has("confinement", "ok", "tried to get out, and could not");
    for (mode, text) in [("warn", "mode warn"), ("off", "MCP servers run with all of your rights")]
    {
        let place = crate::place();
        place.configure("confinement", mode);
        Findings::of(&place).has("confinement", "warning", text);
    }
}

#[test]
fn a_home_in_use_is_fine_and_stays_as_it_is() {
    let place = place();
    assert_eq!(place.run(["config", "set", "budget.maxSteps", "7"]).code, 0);
    audit::write(&place, audit::SESSION);
    let before = picture(&place.path("home"));
    let findings = Findings::of(&place);
    findings.failed(&[]);
    findings.has("home", "ok", "is yours alone; wrote and removed a file");
    findings.has("configuration", "ok", "config.json` sets 1 key");
    findings.has("audit key", "ok", "32 bytes");
    findings.has("last audit log", "ok", audit::SESSION);
    findings.has("audit log", "ok", "found it intact");
    assert_eq!(picture(&place.path("home")), before);
}

#[test]
fn a_home_of_the_other_program_is_left_as_it_is() {
    let place = place();
    place.write(format!("{HOME}/config.json"), r#"{"apiKey":"sk-ant-secret"}"#);
    place.write(format!("{HOME}/sessions/x/conversation.json"), "{}");
    let before = picture(&place.path("home"));
    let findings = Findings::of(&place);
    findings.failed(&["home"]);
    findings.has("home", "failed", "was made by another IronCurtain program");
    findings.has("configuration", "warning", "not tried");
    findings.has("audit log", "warning", "not tried");
    findings.has("policy", "ok", "built-in `default`");
    findings.has("launcher", "ok", "");
    assert!(!findings.output.stdout.contains("sk-ant"), "{:?}", findings.output);
    assert_eq!(picture(&place.path("home")), before);
}

#[test]
fn a_home_that_cannot_be_written_is_named() {
    let place = place();
    let at = place.dir(HOME);
    let Some(_disk) = Disk::mount(at.clone(), "size=1m,mode=0700") else { return };
    place.write(format!("{HOME}/config.json"), r#"{"version":1}"#);
    let remount = Command::new("mount").args(["-o", "remount,ro"]).arg(&at).status().unwrap();
    assert!(remount.success());
    let findings = Findings::of(&place);
    findings.failed(&["home"]);
    findings.has("home", "failed", "Read-only file system");
    findings.has("configuration", "ok", "");
    findings.has("audit log", "warning", "not tried: the home cannot be used");
    findings.has("filesystem server", "ok", "tools");
}

#[test]
fn a_home_that_cannot_be_made_is_named() {
    let place = place().with_variable("IRONCURTAIN_HOME", "/proc/nowhere/home");
    let findings = Findings::of(&place);
    findings.failed(&["home"]);
    findings.has("home", "failed", "the directory above it does not exist");
    for check in [
        "audit log",
        "launcher",
        "filesystem server",
        "git server",
        "fetch server",
        "shell server",
        "code sandbox",
        "model gate",
        "openat2",
        "inotify",
    ] {
        findings.has(check, "warning", "not tried");
    }
    findings.has("policy", "ok", "built-in `default`");
}

#[test]
fn a_home_that_others_may_look_at_is_a_warning() {
    let place = place();
    place.write(format!("{HOME}/config.json"), r#"{"version":1}"#);
    let open =
        |path: PathBuf| fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    open(place.path(HOME));
    open(place.path(format!("{HOME}/config.json")));
    let findings = Findings::of(&place);
    findings.failed(&[]);
    findings.has("home", "warning", "config.json`");
    assert_eq!(fs::metadata(place.path(HOME)).unwrap().mode() & 0o777, 0o755, "only looked at");
}

#[test]
fn a_full_disk_is_named() {
    let place = place();
    let at = place.dir(HOME);
    let Some(_disk) = Disk::mount(at, "size=64k,mode=0700") else { return };
    place.write(format!("{HOME}/config.json"), r#"{"version":1}"#);
    let findings = Findings::of(&place);
    findings.has("free space", "failed", "0 MiB are left");
    assert_eq!(findings.output.code, 1);
}

/// A file of the home, what it holds, and what is said about that.
#[track_caller]
fn check_broken(file: &str, text: &str, check: &str, said: &str) {
    let place = place();
    place.write(format!("{HOME}/{file}"), text);
    let before = picture(&place.path("home"));
    let findings = Findings::of(&place);
    findings.failed(&[check]);
    findings.has(check, "failed", said);
    assert!(!findings.output.stdout.contains("sk-ant"), "{:?}", findings.output);
    assert_eq!(picture(&place.path("home")), before);
}

#[test]
fn each_broken_file_is_named_and_only_that() {
    for (file, text, check, said) in [
        ("config.json", r#"{"version":1,"apiKey":"sk-ant-x"#, "configuration", "is not valid JSON"),
        ("config.json", r#"{"version":1,"apiKey":7}"#, "configuration", "wrong in 1 place; "),
        (
            "config.json",
            r#"{"version":1,"colour":"red"}"#,
            "configuration",
            "`colour`: there is no",
        ),
        ("config.json", r#"{"version":9}"#, "configuration", "has the version 9"),
        (
            "mcp-servers.json",
            r#"{"a b":{"command":"x"}}"#,
            "servers file",
            "is not a valid server name",
        ),
        ("mcp-servers.json", r#"{"a":{}}"#, "servers file", "expected either `builtin`"),
        ("servers.lock.json", "{", "trusted identities", "servers.lock.json` is not valid JSON"),
        (
            "servers.lock.json",
            "{}",
            "trusted identities",
            "was not written by IronCurtain, or is damaged",
        ),
        ("generated/compiled-policy.json", "{", "policy", "compiled-policy.json: "),
        ("keys/audit.key", "short", "audit key", "holds 5 bytes instead of 32"),
    ] {
        check_broken(file, text, check, said);
    }
}

#[test]
fn a_policy_is_tried_with_its_scenarios() {
    let place = place();
    place.write(
        format!("{HOME}/generated/compiled-policy.json"),
        r#"{"rules":[{"name":"r","if":{"lists":[{"roles":["github-owner"],"allowed":["@gone"],"matchType":"identifiers"}]},"then":"allow","reason":"r"}]}"#,
    );
    place.write(
        format!("{HOME}/generated/tool-annotations.json"),
        r#"{"servers":{"filesystem":{"tools":[{"toolName":"t","args":{}}]}}}"#,
    );
    let findings = Findings::of(&place);
    findings.failed(&[]);
    findings.has("policy", "warning", "1 rule, ");
    findings.has("policy", "warning", "gone");
    findings.has("scenarios", "info", "no test-scenarios.json");
    let scenario = |server: &str| {
        json!({"description": format!("about {server}"), "expectedDecision": "allow", "reasoning": "",
            "source": "handwritten",
            "request": {"serverName": server, "toolName": "t", "arguments": {}}})
    };
    let scenarios = |list: Value| {
        let text = json!({"scenarios": list}).to_string();
        place.write(format!("{HOME}/generated/test-scenarios.json"), text);
        Findings::of(&place)
    };
    let findings = scenarios(json!([scenario("filesystem"), scenario("elsewhere")]));
    findings.failed(&["scenarios"]);
    findings.has("scenarios", "failed", "0 of 1 about configured servers pass");
    findings.has("scenarios", "failed", "the first that does not: about filesystem");
    // Nobody can break a promise about a server that is not there.
    scenarios(json!([scenario("elsewhere")])).failed(&[]);
    for broken in ["{", r#"{"rules":[{}]}"#, r#"{"rules":[],"rules":[]}"#] {
        place.write(format!("{HOME}/generated/compiled-policy.json"), broken);
        let findings = Findings::of(&place);
        findings.failed(&["policy"]);
        findings.has("policy", "failed", "compiled-policy.json");
        findings.has("filesystem server", "ok", "tools");
    }
}

#[test]
fn a_log_that_was_changed_or_lost_its_key_is_found() {
    let place = place();
    let log = audit::write(&place, audit::SESSION);
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, text.replacen("read_file", "read_fild", 1)).unwrap();
    let before = picture(&place.path("home"));
    let findings = Findings::of(&place);
    findings.failed(&["last audit log"]);
    findings.has("last audit log", "failed", "line 2 is not as it was written");
    assert_eq!(picture(&place.path("home")), before);

    fs::write(&log, text).unwrap();
    fs::remove_file(place.path(format!("{HOME}/keys/audit.key"))).unwrap();
    let findings = Findings::of(&place);
    findings.failed(&["audit key"]);
    findings.has("audit key", "failed", "1 log depends on it");
    findings.has("last audit log", "warning", "not tried");
}

#[test]
fn configured_servers_that_nobody_trusts_are_looked_for_and_not_started() {
    let place = place();
    let mark = place.path("started");
    place.write(
        format!("{HOME}/mcp-servers.json"),
        json!({
            "far": {"url": "https://x.example/mcp"},
            "filesystem": {"builtin": "filesystem"},
            "git": {"builtin": "git"},
            "lost": {"command": "python9", "args": ["server.py"]},
            "nowhere": {"command": "touch", "cwd": "/no/such/directory"},
            "there": {"command": "touch", "args": [mark]},
            "unset": {"command": "touch", "env": {"TOKEN": "${ENV:NOT_SET}"}},
            "wanting": {"command": "touch", "args": ["${WORKSPACE}", "${SANDBOX}"]},
        })
        .to_string(),
    );
    let findings = Findings::of(&place);
    findings.failed(&["server lost", "server nowhere", "server unset"]);
    findings.has("server lost", "failed", "there is no program `python9`");
    findings.has("server nowhere", "failed", "`/no/such/directory` cannot be its directory");
    findings.has("server unset", "failed", "`${ENV:NOT_SET}` is not set");
    findings.has("server there", "ok", "touch` is there; it was never started");
    findings.has("server wanting", "ok", "touch` is there");
    findings.has("server far", "info", "`ironcurtain servers test far` connects to it");
    assert!(!mark.exists(), "a server was started");

    let pin = json!({"identity": {"command": "other", "args": [], "env": []}, "tools": {}});
    let pins = json!({"version": 1, "servers": {"there": pin}});
    place.write(format!("{HOME}/servers.lock.json"), pins.to_string());
    Findings::of(&place).has("server there", "warning", "has changed since it was trusted");
}

#[test]
fn without_a_home_directory_nothing_can_be_tried() {
    let output = place().with_variable("HOME", "").run(["doctor"]);
    assert_eq!(output.code, 1);
    assert!(output.stderr.contains("HOME is not set"), "{output:?}");
}
