//! The shell server through the real program: commands in the agent's cage, judged, recorded and looked after.

use ic_testkit::proxy::Proxy;
use ic_testkit::{Output, Place};
use serde_json::json;

use crate::place;

/// A workspace.
struct Rig {
    place: Place,
}

impl Rig {
    fn new() -> Self {
        let place = place();
        place.dir("work");
        Self { place }
    }

    fn with(self, files: &[(&str, &str)]) -> Self {
        for (name, text) in files {
            self.place.write(format!("work/{name}"), text);
        }
        self
    }

    /// Runs a script with a policy.
    fn run(&self, policy: &str, source: &str) -> Output {
        self.place.write("script.ts", source);
        self.place.run(["run", "--workspace", "work", "--policy", policy, "script.ts"])
    }

    /// Runs a command in the workspace; returns what the tool answers.
    fn command(&self, command: &str) -> Output {
        self.run("coding", &script(command))
    }
}

fn script(command: &str) -> String {
    format!(
        "const answer = shell.run_command({{command: {}, cwd: '.'}});\n\
         typeof answer === 'string' ? answer : JSON.stringify(answer)",
        serde_json::Value::from(command)
    )
}

#[track_caller]
fn check(output: &Output, said: &[&str]) {
    assert_eq!(output.code, 0, "{output:?}");
    for said in said {
        assert!(output.stdout.contains(said), "no {said:?}: {output:?}");
    }
}

#[test]
fn a_command_runs_in_the_workspace_and_tells_how_it_ended() {
    let rig = Rig::new().with(&[("a.txt", "one")]);
    check(&rig.command("cat a.txt; echo two > b.txt; pwd"), &["exit code 0", "one", "/work"]);
    assert_eq!(std::fs::read_to_string(rig.place.path("work/b.txt")).unwrap(), "two\n");
    check(&rig.command("echo wrong >&2; exit 3"), &["exit code 3", "wrong"]);
    check(&rig.command("kill -9 $$"), &["signal 9"]);
    let verified = rig.place.run(["audit", "verify"]);
    assert_eq!(verified.code, 0, "{verified:?}");
    let shown = rig.place.run(["audit", "show"]);
    assert!(shown.stdout.contains("run_command"), "{shown:?}");
}

#[test]
fn a_command_has_no_network_and_sees_no_other_files() {
    let rig = Rig::new();
    let secret = rig.place.write("home/secret.txt", "canary-3c1e");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let attack = format!(
        "cat {}; exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected; ls /root /home /opt /srv",
        secret.display()
    );
    // The same outside succeeds.
    let outside = outside(&rig, &attack);
    assert!(outside.contains("canary-3c1e") && outside.contains("connected"), "{outside}");
    let output = rig.command(&attack);
    assert_eq!(output.code, 0, "{output:?}");
    assert!(!output.stdout.contains("canary-3c1e"), "{output:?}");
    assert!(!output.stdout.contains("connected"), "{output:?}");
}

#[expect(clippy::disallowed_methods, reason = "the control is run without any protection")]
fn outside(rig: &Rig, command: &str) -> String {
    let mut control = std::process::Command::new("/bin/bash");
    control.args(["-c", command]).current_dir(rig.place.path("work"));
    String::from_utf8_lossy(&control.output().unwrap().stdout).into_owned()
}

#[test]
fn what_a_command_started_ends_with_it() {
    let rig = Rig::new();
    let stays = "setsid sh -c 'sleep 600; true' >/dev/null 2>&1 & sleep 600 & echo started";
    let source = format!(
        "shell.run_command({{command: {}, cwd: '.'}});\n\
         shell.run_command({{command: 'cat /proc/[0-9]*/cmdline | tr \"\\\\0\" \" \"', cwd: '.'}})",
        serde_json::Value::from(stays)
    );
    let output = rig.run("coding", &source);
    check(&output, &["exit code 0"]);
    assert!(!output.stdout.contains("sleep 600"), "{output:?}");
    let late = "shell.run_command({command: 'sleep 600', cwd: '.', timeoutSeconds: 1})";
    let output = rig.run("coding", late);
    assert!(output.stderr.contains("took longer than 1 s"), "{output:?}");
}

#[test]
fn the_policy_says_where_commands_run() {
    let rig = Rig::new();
    rig.place.dir("elsewhere");
    let output = rig.run("readonly", &script("echo x > x.txt"));
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("DENIED"), "{output:?}");
    let elsewhere = format!(
        "shell.run_command({{command: 'true', cwd: {}}})",
        serde_json::Value::from(rig.place.path("elsewhere").display().to_string())
    );
    let output = rig.run("coding", &elsewhere);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("ESCALATION REQUIRED"), "{output:?}");
}

/// "Never touch src" and "never read secrets" hold for commands, which run all the same.
#[test]
fn a_command_keeps_to_the_users_own_rules() {
    let rig = Rig::new().with(&[("src/a", "one"), ("secrets/x", "canary-9b"), ("b", "free")]);
    rig.place.let_scripts_answer();
    for (what, place) in [("write,delete", "work/src"), ("read", "work/secrets")] {
        let path = rig.place.path(place).display().to_string();
        let output = rig.place.run(["policy", "never", "--in", &path, "--to", what, "--yes"]);
        assert_eq!(output.code, 0, "{output:?}");
    }
    let attack = "cat src/a b; echo two > src/a; rm src/a; mv src x; cat secrets/x; ls secrets; echo done > c";
    let control = outside(&rig, "cat secrets/x");
    assert!(control.contains("canary-9b"), "{control}");
    rig.place.write("script.ts", script(attack));
    let output = rig.place.run(["run", "--workspace", "work", "script.ts"]);
    check(&output, &["one", "free"]);
    assert!(!output.stdout.contains("canary-9b"), "{output:?}");
    assert_eq!(std::fs::read_to_string(rig.place.path("work/src/a")).unwrap(), "one");
    assert_eq!(std::fs::read_to_string(rig.place.path("work/c")).unwrap(), "done\n");
}

/// What the host would execute is read-only, and what is planted beside it is taken away.
#[test]
fn a_command_plants_nothing() {
    let rig = Rig::new().with(&[("a.txt", "one"), (".envrc", "mine")]);
    let output = rig.command("echo evil > .envrc; echo after");
    check(&output, &["after", "Read-only file system"]);
    assert_eq!(std::fs::read_to_string(rig.place.path("work/.envrc")).unwrap(), "mine");
    let output = rig.command("mkdir .vscode; echo '{}' > .vscode/tasks.json; echo after");
    let said = format!("{}{}", output.stdout, output.stderr);
    assert!(said.contains("quarantine"), "{output:?}");
    assert!(!rig.place.path("work/.vscode").exists(), "{output:?}");
}

/// The built-in agent mends a failing test: it runs it, changes the file, and runs it again.
#[test]
fn the_built_in_agent_mends_failing_tests() {
    let python = (
        "python",
        [
            ("calc.py", "def add(a, b):\n    return a - b\n"),
            (
                "test_calc.py",
                "import unittest\nfrom calc import add\n\n\nclass Adding(unittest.TestCase):\n    \
                 def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n",
            ),
        ],
        ("calc.py", "def add(a, b):\n    return a + b\n"),
        ("/usr/bin/python3 -B -m unittest", 1),
    );
    let node = (
        "node",
        [
            ("calc.js", "exports.add = (a, b) => a - b;\n"),
            (
                "calc.test.js",
                "const { strictEqual } = require('node:assert');\nconst { add } = require('./calc');\n\
                 strictEqual(add(2, 3), 5);\n",
            ),
        ],
        ("calc.js", "exports.add = (a, b) => a + b;\n"),
        ("node calc.test.js", 1),
    );
    let test = "#[test]\nfn adds() {\n    assert_eq!(add(2, 3), 5);\n}\n";
    let broken = format!("pub fn add(a: u8, b: u8) -> u8 {{\n    b - a\n}}\n\n{test}");
    let mended = broken.replace("b - a", "a + b");
    let manifest = "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let rust = (
        "rust",
        [("Cargo.toml", manifest), ("src/lib.rs", broken.as_str())],
        ("src/lib.rs", mended.as_str()),
        ("cargo test --offline", 101),
    );
    // The tool chain with which this test was built.
    let tools = std::path::Path::new(env!("CARGO")).ancestors().nth(2).unwrap();
    for (name, files, (file, mended), (test, code)) in [python, node, rust] {
        let rig = Rig::new();
        rig.place.configure("agent.show", serde_json::json!([tools]));
        for (file, text) in files {
            rig.place.write(format!("work/{name}/{file}"), text);
        }
        let block = format!(
            "run this:\n```ts\n\
             const test = () => shell.run_command({{command: {test}, cwd: {name}}});\n\
             const before = test();\n\
             filesystem.write_file({{path: {path}, content: {mended}}});\n\
             'before: ' + before + ' after: ' + test()\n```",
            test = serde_json::Value::from(test),
            name = serde_json::Value::from(name),
            path = serde_json::Value::from(format!("{name}/{file}")),
            mended = serde_json::Value::from(mended),
        );
        let output =
            rig.place.run(["start", "--workspace", "work", "--policy", "coding", block.as_str()]);
        assert_eq!(output.code, 0, "{name}: {output:?}");
        let before = format!("before: exit code {code}\n");
        assert!(output.stdout.contains(&before), "{name}: {output:?}");
        assert!(output.stdout.contains("after: exit code 0\n"), "{name}: {output:?}");
    }
}

/// A tool chain in the home is there once the settings show it.
#[test]
fn what_the_settings_show_is_there_and_read_only() {
    let rig = Rig::new();
    let tool = rig.place.write("home/.tools/bin/hello", "#!/bin/sh\necho hello from the tool\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&tool, mode).unwrap();
    rig.place.write("home/.tools/key", "canary-55");
    check(&rig.command("hello"), &["exit code 127"]);
    rig.place.configure("agent.show", serde_json::json!(["~/.tools"]));
    rig.place.configure("protectedPaths", serde_json::json!(["~/.tools/key"]));
    let output = rig.command("hello; echo x > ~/.tools/bin/hello; cat ~/.tools/key");
    check(&output, &["hello from the tool", "Read-only file system"]);
    assert!(!output.stdout.contains("canary-55"), "{output:?}");
}

/// It is offered without an entry, and nothing of it runs before a command does.
#[test]
fn the_shell_is_there_and_starts_with_its_first_command() {
    let rig = Rig::new().with(&[("a.txt", "one")]);
    let mut proxy = Proxy::start(&rig.place, &["--workspace", "work", "--policy", "coding"]);
    proxy.initialize();
    let listed = proxy.request("tools/list", &json!({}));
    assert!(listed.line.contains("\"shell__run_command\""), "{}", listed.line);
    let read = proxy.call("filesystem__read_file", &json!({"path": "a.txt"}));
    assert!(read.good().contains("one"), "{}", read.line);
    assert_eq!(n_shells(&proxy), 0, "nobody asked for a command");
    let ran = proxy.call("shell__run_command", &json!({"command": "cat a.txt", "cwd": "."}));
    assert!(ran.good().contains("one"), "{}", ran.line);
    assert_ne!(n_shells(&proxy), 0, "this test cannot see it");
    proxy.finish();
}

/// Returns how many processes beneath a proxy are our shell server.
fn n_shells(proxy: &Proxy) -> usize {
    let processes: Vec<(u32, u32, String)> = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| {
            let pid: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            let parent = stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()?;
            let words = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
            Some((pid, parent, String::from_utf8_lossy(&words).replace('\0', " ")))
        })
        .collect();
    let is_beneath = |pid: u32| {
        let parent = |pid: u32| processes.iter().find(|it| it.0 == pid).map(|it| it.1);
        std::iter::successors(Some(pid), |pid| parent(*pid))
            .any(|it| i64::from(it) == i64::from(proxy.process().id()))
    };
    let is_shell = |it: &&(u32, u32, String)| it.2.contains("mcp-server shell") && is_beneath(it.0);
    processes.iter().filter(is_shell).count()
}

#[test]
fn the_shell_is_switched_off_by_null() {
    let rig = Rig::new();
    let listed = rig.place.run(["servers", "list"]).stdout;
    assert!(listed.contains("built-in shell"), "{listed}");
    rig.place.configure("session.autoSave", true);
    rig.place.write("home/.ironcurtain/mcp-servers.json", r#"{"shell":null}"#);
    let listed = rig.place.run(["servers", "list"]).stdout;
    assert!(listed.contains("shell  off; `ironcurtain servers restore shell`"), "{listed}");
    let output = rig.command("true");
    assert_eq!(output.code, 1, "{output:?}");
    let check = ["policy", "check", "shell", "run_command", r#"{"command":"ls","cwd":"/tmp"}"#];
    let checked = rig.place.run(check);
    assert!(checked.code != 0, "{checked:?}");
}

/// Without a cage there is no command, whatever the policy says.
#[test]
fn no_command_runs_without_a_cage() {
    let rig = Rig::new();
    rig.place.configure("confinement", "off");
    let output = rig.command("echo ran > ran.txt");
    assert_eq!(output.code, 1, "{output:?}");
    assert!(!rig.place.path("work/ran.txt").exists(), "{output:?}");
}
