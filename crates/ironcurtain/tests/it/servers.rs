//! `ironcurtain servers`: what people see, what is started, and what is trusted.
//!
//! The server is `tests/servers/plain.py`, which says what a file tells it to say; the terminal is that
//! of `tests/terminal/answers.py`.

pub(crate) mod adding;
mod annotating;
mod attacks;
mod choosing;
mod copying;
mod importing;
mod installing;
mod real_clients;
mod reviewing;
mod switching;

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use ic_testkit::{Output, Place};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{alone, place};

/// What holds servers here; another machine may have something else.
pub(crate) const RUNGS: [&str; 3] = ["namespaces", "bubblewrap", "landlock"];

const BINARY: &str = env!("CARGO_BIN_EXE_ironcurtain");

/// A place with servers in its home.
struct Rig {
    place: Place,
}

impl Rig {
    /// A place with one server, `plain`, that has two tools.
    fn new() -> Self {
        let rig = Self { place: place() };
        rig.place.write("plain.py", std::fs::read(script("servers/plain.py")).unwrap());
        rig.says("plain", &json!({"tools": [echo("Gives back."), sum()]}));
        rig.configure(&json!({"plain": rig.entry("plain")}));
        rig
    }

    /// Lets the server `name` say `what` about itself, and leave a mark when it is started.
    fn says(&self, name: &str, what: &Value) {
        let mut said = json!({"name": name, "version": "1.0", "marker": self.marker(name)});
        said.as_object_mut().unwrap().extend(what.as_object().unwrap().clone());
        self.place.write(format!("{name}.json"), said.to_string());
    }

    /// Returns an entry of the servers file for the server `name`.
    fn entry(&self, name: &str) -> Value {
        let said = self.place.path(format!("{name}.json"));
        let script = self.place.path("plain.py");
        let marks = self.place.dir("marks");
        json!({"command": "python3", "args": [script, said],
            "sandbox": {"filesystem": {"allowRead": [script, said], "allowWrite": [marks]}}})
    }

    fn configure(&self, servers: &Value) {
        self.place.write("home/.ironcurtain/mcp-servers.json", alone(servers.clone()).to_string());
    }

    /// Lets scripts answer.
    fn scripted(self) -> Self {
        self.place.let_scripts_answer();
        self
    }

    fn marker(&self, name: &str) -> PathBuf {
        self.place.path(format!("marks/{name}.started"))
    }

    fn was_started(&self, name: &str) -> bool {
        self.marker(name).exists()
    }

    fn run(&self, words: &[&str]) -> Output {
        self.place.run([&["servers"], words].concat())
    }

    /// Runs the command at a terminal, where somebody gives `answers`.
    fn at_terminal(&self, answers: &[&str], words: &[&str]) -> Output {
        self.in_terminal(answers, &[&[BINARY, "servers"], words].concat())
    }

    fn in_terminal(&self, answers: &[&str], command: &[&str]) -> Output {
        let output = Command::new("python3")
            .arg(script("terminal/answers.py"))
            .args(answers)
            .arg("--")
            .args(command)
            .env_clear()
            .env("HOME", self.place.path("home"))
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .current_dir(self.place.root())
            .output()
            .unwrap();
        Output {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// What is known of how `name` is started, as the list says.
    fn identity(&self, name: &str) -> String {
        let rows: Vec<Value> = serde_json::from_str(&self.run(&["list", "--json"]).stdout).unwrap();
        let row = rows.into_iter().find(|row| row["name"] == name).unwrap();
        row["identity"].as_str().unwrap().to_owned()
    }

    fn pins(&self) -> Option<String> {
        std::fs::read_to_string(self.place.path("home/.ironcurtain/servers.lock.json")).ok()
    }

    /// Names whatever was made for the moment and is still in the home.
    fn left_behind(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.place.path("home/.ironcurtain")).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with(".ironcurtain-tmp")).collect()
    }

    /// Prints an output and how it ended, with paths and times made neutral.
    fn seen(&self, output: &Output) -> String {
        let text = |text: &str| neutral(&self.place, text);
        let stderr = match text(&output.stderr) {
            text if text.is_empty() => text,
            text => format!("--- stderr\n{text}"),
        };
        format!("{}{stderr}--- exit {}", text(&output.stdout), output.code)
    }
}

fn script(name: &str) -> String {
    format!("{}/tests/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn echo(description: &str) -> Value {
    let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
    json!({"name": "echo", "description": description, "inputSchema": schema})
}

fn sum() -> Value {
    json!({"name": "sum", "title": "Sum", "inputSchema": {"type": "object"}})
}

/// Makes paths, times and durations neutral; times stay as long as they are.
fn neutral(place: &Place, text: &str) -> String {
    const TIME: &str = "2026-01-01T00:00:00.000Z";
    let is_time = |text: &str| {
        let shape: String =
            text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        shape == "0000-00-00T00:00:00.000Z"
    };
    let text = text.replace(place.root().to_str().unwrap(), "[ROOT]");
    let text = RUNGS.iter().fold(text, |text, rung| text.replace(rung, "[RUNG]"));
    let mut neutral = String::new();
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        let (shown, n_bytes) = match rest.get(..TIME.len()) {
            Some(time) if is_time(time) => (TIME.to_owned(), TIME.len()),
            _ => (c.to_string(), c.len_utf8()),
        };
        neutral.push_str(&shown);
        rest = rest.get(n_bytes..).unwrap_or_default();
    }
    let words: Vec<&str> = neutral.split(' ').collect();
    let is_ms = |at: usize| words.get(at + 1).is_some_and(|next| next.starts_with("ms"));
    let words = words.iter().enumerate().map(|(at, word)| if is_ms(at) { "[N]" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn the_list_says_what_each_server_is_and_starts_none() {
    let rig = Rig::new().scripted();
    assert_snapshot!(rig.seen(&rig.run(&["list"])), @"
    plain  new  not contained  confined: [RUNG]  race: possible  python3 [ROOT]/plain.py [ROOT]/plain.json
    filesystem  off; `ironcurtain servers restore filesystem` switches it on again
    git  off; `ironcurtain servers restore git` switches it on again
    fetch  off; `ironcurtain servers restore fetch` switches it on again
    shell  off; `ironcurtain servers restore shell` switches it on again

    In a session: confinement [RUNG].
    --- exit 0
    ");
    assert!(!rig.was_started("plain"));
    assert_eq!(rig.run(&["trust", "plain", "--yes"]).code, 0);
    let mut changed = rig.entry("plain");
    changed["args"] = json!(["-u", ""]);
    changed["description"] = json!("keeps\nnotes");
    rig.configure(&json!({
        "changed": changed,
        "far": {"url": "https://x.example/mcp"},
        "filesystem": {"builtin": "filesystem", "contained": false},
        "free": {"command": "/bin/free", "sandbox": false, "allowSampling": true,
            "allowElicitation": false},
        "git": {"builtin": "git"},
        "plain": rig.entry("plain"),
        "tame": {"command": "/bin/tame", "contained": true, "sandbox": {"network": false}},
    }));
    let mut pins: Value = serde_json::from_str(&rig.pins().unwrap()).unwrap();
    let identity = json!({"command": "python3", "args": ["-u"], "env": []});
    pins["servers"]["changed"] =
        json!({"identity": identity, "trustedAt": "2026-08-01T10:00:00.000Z", "tools": {}});
    rig.place.write("home/.ironcurtain/servers.lock.json", pins.to_string());
    assert_snapshot!(rig.seen(&rig.run(&["list"])), @r#"
    changed     changed (trusted 2026-01-01T00:00:00.000Z)        not contained  confined: [RUNG]  race: possible  python3 -u ''
                keeps\u{a}notes
                its command or its files have changed since it was trusted, so it is withheld; `ironcurtain servers trust changed` shows what differs
    far         new                                               not contained  on another machine                    https://x.example/mcp
    filesystem  built in                                          not contained  confined: [RUNG]                  built-in filesystem
    free        new                                               not contained  confined: none        race: possible  /bin/free
                may send requests to the client's model, if you approve each one
    git         built in                                          contained      confined: [RUNG]                  built-in git
    plain       trusted since 2026-01-01T00:00:00.000Z (2 tools)  not contained  confined: [RUNG]  race: possible  python3 [ROOT]/plain.py [ROOT]/plain.json
    tame        new                                               contained      confined: [RUNG]                  /bin/tame
    fetch  off; `ironcurtain servers restore fetch` switches it on again
    shell  off; `ironcurtain servers restore shell` switches it on again

    In a session: confinement [RUNG].
    --- exit 0
    "#);
    assert_snapshot!(rig.seen(&rig.run(&["list", "--json"])), @r#"
    [{"name":"changed","command":["python3","-u",""],"description":"keeps\nnotes","available":true,"identity":"changed","trustedAt":"2026-01-01T00:00:00.000Z","contained":false,"confinement":"[RUNG]","race":"possible"},{"name":"far","url":"https://x.example/mcp","headers":[],"description":null,"available":true,"identity":"new","contained":false,"confinement":null,"race":null},{"name":"filesystem","builtin":"filesystem","description":null,"available":true,"identity":"ours","contained":false,"confinement":"[RUNG]","race":"none"},{"name":"free","command":["/bin/free"],"description":null,"available":true,"identity":"new","contained":false,"confinement":"none","race":"possible"},{"name":"git","builtin":"git","description":null,"available":true,"identity":"ours","contained":true,"confinement":"[RUNG]","race":"none"},{"name":"plain","command":["python3","[ROOT]/plain.py","[ROOT]/plain.json"],"description":null,"available":true,"identity":"trusted","trustedAt":"2026-01-01T00:00:00.000Z","pinnedTools":2,"contained":false,"confinement":"[RUNG]","race":"possible"},{"name":"tame","command":["/bin/tame"],"description":null,"available":true,"identity":"new","contained":true,"confinement":"[RUNG]","race":"none"}]
    --- exit 0
    "#);
    rig.configure(&json!({}));
    let none = rig.run(&["list"]).stdout;
    assert!(none.starts_with("no server is configured\n") && none.contains("git  off; "), "{none}");
    assert_eq!(rig.run(&["list", "--json"]).stdout, "[]\n");
}

#[test]
fn a_test_starts_servers_and_says_what_they_offer() {
    let rig = Rig::new();
    assert_snapshot!(rig.seen(&rig.run(&["test"])), @"
    plain: works: `plain` 1.0, protocol 2025-11-25, 2 tools in [N] ms, confined: [RUNG]
      policy: unknown, every call will be denied: echo, sum
    --- exit 0
    ");
    assert!(rig.was_started("plain"));
    assert_eq!(rig.pins(), None, "trying is not trusting");

    // A policy that knows one tool, and one that is a draft.
    rig.place.write("policy/compiled-policy.json", r#"{"rules":[]}"#);
    rig.place.write(
        "policy/tool-annotations.json",
        json!({"servers": {"plain": {"tools": [
            {"toolName": "echo", "args": {"text": ["none"]}},
            {"toolName": "sum", "args": {}, "draft": true},
        ]}}})
        .to_string(),
    );
    let looks_ahead = json!({"type": "object", "properties": {"a": {"pattern": "(?=x)y"}}});
    let tools = json!([
        echo("Gives back."),
        sum(),
        {"name": "no schema"},
        {"name": "away", "inputSchema": {"$ref": "https://x.example"}},
        {"name": "hidden", "description": "a\u{e0041}b", "inputSchema": looks_ahead},
    ]);
    rig.says("plain", &json!({"tools": tools}));
    rig.says("dies", &json!({"stderr": "first\nlast words", "exit": 3}));
    rig.configure(&json!({
        "dies": rig.entry("dies"),
        "lost": {"command": "no-such-program"},
        "nowhere": {"command": "true", "cwd": "/no/such/directory"},
        "plain": rig.entry("plain"),
        "unset": {"command": "true", "args": ["${ENV:NOT_SET}"]},
    }));
    assert_snapshot!(rig.seen(&rig.run(&["test", "--policy", "policy"])), @"
    dies: failed: the server ended (exit status: 3); it wrote: first / last words
    lost: failed: there is no program `no-such-program` in `/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`; install it, write its whole path, or add its directory to the `PATH` in its environment
    nowhere: failed: the server ended (exit status: 125); it wrote: ironcurtain: `/no/such/directory` cannot be in the cage: No such file or directory (os error 2)
    plain: works: `plain` 1.0, protocol 2025-11-25, 3 tools in [N] ms, confined: [RUNG]
      policy: unknown, every call will be denied: hidden
      policy: draft, every call needs approval: sum
      hidden: withheld: what the server says of it holds the invisible character U+E0041
      hidden: schema: `pattern` with `(?=x)y` at `/properties/a`: it is not checked: look-around cannot be checked
      the tool `no schema` cannot be used: `no schema` is not a valid tool name: only `A-Z`, `a-z`, `0-9`, `_`, `-`, `.`, `/` and `:` may appear
      the tool `away` cannot be used: its input schema: at the root: `$ref` leads out of this schema: `https://x.example`
    unset: failed: `args`: `${ENV:NOT_SET}` is not set in IronCurtain's environment, or is a key that was removed from it
    --- exit 1
    ");
    assert_snapshot!(rig.seen(&rig.run(&["test", "lost", "nope"])), @"
    --- stderr
    error: there is no server `nope`

    hint: there are dies, lost, nowhere, plain, unset
    --- exit 1
    ");
    assert_eq!(rig.run(&["test", "plain"]).code, 0);
    assert_eq!(rig.run(&["test", "plain", "--policy", "nope"]).code, 1);
    assert_eq!(rig.pins(), None);
    assert_eq!(rig.left_behind(), [] as [String; 0]);
}

/// A file as other clients write it stays one, whatever is taken out of it.
#[test]
fn servers_are_removed_from_the_file_as_it_is_written() {
    let rig = Rig::new();
    let file = rig.place.write(
        "home/.ironcurtain/mcp-servers.json",
        json!({"mcpServers": {"plain": rig.entry("plain"), "git": rig.entry("plain")}}).to_string(),
    );
    let written = || serde_json::from_slice::<Value>(&std::fs::read(&file).unwrap()).unwrap();
    let names = || -> Vec<String> {
        let rows: Vec<Value> = serde_json::from_str(&rig.run(&["list", "--json"]).stdout).unwrap();
        rows.iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(), ["fetch", "filesystem", "git", "plain", "shell"]);
    assert_eq!(rig.run(&["remove", "plain", "--yes"]).stdout, "plain is removed\n");
    let removed = rig.run(&["remove", "git", "--yes"]);
    assert_eq!(removed.stdout, "git is removed; the built-in server `git` is used again\n");
    assert_eq!((written(), names().len()), (json!({"mcpServers": {}}), 4));
    assert_eq!(rig.run(&["remove", "git", "--yes"]).code, 0);
    assert_eq!(written(), json!({"mcpServers": {"git": null}}));
    assert_eq!(names(), ["fetch", "filesystem", "shell"]);
    assert_ne!(rig.run(&["remove", "git"]).code, 0, "it is gone");
}

#[test]
fn a_test_in_json_holds_every_tool() {
    let rig = Rig::new();
    rig.configure(&json!({"lost": {"command": "no-such-program"}, "plain": rig.entry("plain")}));
    let output = rig.run(&["test", "--json"]);
    assert_eq!(output.code, 1, "{output:?}");
    let mut rows: Value = serde_json::from_str(&output.stdout).unwrap();
    assert!(rows[0]["problem"].as_str().unwrap().starts_with("there is no program"), "{rows}");
    assert_eq!((&rows[0]["result"], &rows[0]["tools"]), (&json!("failed"), &json!([])));
    assert!(rows[1]["server"]["startMs"].take().is_u64());
    let held = rows[1]["server"]["confinement"].take();
    assert!(RUNGS.contains(&held.as_str().unwrap()), "{held}");
    assert_eq!(
        rows[1],
        json!({
            "name": "plain",
            "result": "works",
            "server": {"name": "plain", "version": "1.0", "protocol": "2025-11-25", "startMs": null,
                "confinement": null},
            "tools": [
                {"name": "echo", "withheld": null, "policy": "unknown", "notes": []},
                {"name": "sum", "withheld": null, "policy": "unknown", "notes": []},
            ],
            "unusable": [],
        })
    );
    let ours = place().run(["servers", "test", "--json"]);
    assert_eq!(ours.code, 0, "what is not there yet is not missed: {ours:?}");
    let rows: Value = serde_json::from_str(&ours.stdout).unwrap();
    let results: Vec<&str> =
        rows.as_array().unwrap().iter().map(|row| row["result"].as_str().unwrap()).collect();
    assert_eq!(results, ["works"; 4]);
    let tools = rows[1]["tools"].as_array().unwrap();
    assert!(10 < tools.len() && tools.iter().all(|tool| tool["policy"] == "annotated"), "{rows}");
}

#[test]
fn a_server_that_takes_its_time_is_waited_for_and_the_person_is_told() {
    let rig = Rig::new();
    let go = rig.place.path("marks/go");
    rig.says("plain", &json!({"tools": [], "wait": go}));
    let mut child = Command::new(BINARY)
        .args(["servers", "test"])
        .env_clear()
        .env("HOME", rig.place.path("home"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut told).unwrap();
    assert_eq!(told, "ironcurtain: starting plain … (1 s)\n");
    rig.place.write("marks/go", "");
    let output = child.wait_with_output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && stdout.starts_with("plain: works:"), "{stdout}");
}

/// What is said of `plain` by somebody who starts what is trusted and nothing else.
#[test]
fn the_doctor_starts_what_is_trusted() {
    let rig = Rig::new().scripted();
    let of_plain = |code: i32| {
        let output = rig.place.run(["doctor", "--json"]);
        assert_eq!(output.code, code, "{output:?}");
        let checks: Vec<Value> = serde_json::from_str(&output.stdout).unwrap();
        let check = checks.into_iter().find(|it| it["check"] == "server plain").unwrap();
        let text = |key: &str| check[key].as_str().unwrap().to_owned();
        (text("status"), text("detail"))
    };
    let (status, detail) = of_plain(0);
    assert!(status == "ok" && detail.contains("was never started"), "{status}: {detail}");
    assert!(!rig.was_started("plain"));
    assert_eq!(rig.run(&["trust", "plain", "--yes"]).code, 0);
    let (status, detail) = of_plain(0);
    assert!(status == "ok" && detail.contains("lists 2 tools, as trusted"), "{status}: {detail}");

    rig.says("plain", &json!({"tools": [echo("Gives back, and more."), sum()]}));
    let (status, detail) = of_plain(0);
    assert!(status == "warning" && detail.contains("of which 1 withheld"), "{status}: {detail}");
    rig.says("plain", &json!({"stderr": "last words", "exit": 3}));
    let (status, detail) = of_plain(1);
    assert!(status == "failed" && detail.contains("last words"), "{status}: {detail}");
    assert_eq!(rig.left_behind(), [] as [String; 0]);
}

#[test]
fn a_person_is_shown_how_a_new_server_is_started_and_what_it_offers() {
    let rig = Rig::new();
    let mut entry = rig.entry("plain");
    entry["env"] = json!({"TOKEN": "secret-value"});
    entry["cwd"] = json!("/usr");
    rig.configure(&json!({"plain": entry}));
    let said = rig.at_terminal(&["y\\n", "yes\\n"], &["trust", "plain"]);
    assert_snapshot!(rig.seen(&said), @r#"
    plain: nothing is known of it yet; it is started in this way:
          + command: python3
          + args: [ROOT]/plain.py
          + args: [ROOT]/plain.json
          + env: TOKEN
          + cwd: /usr
          + sandbox.filesystem.allowRead: [ROOT]/plain.py
          + sandbox.filesystem.allowRead: [ROOT]/plain.json
          + sandbox.filesystem.allowWrite: [ROOT]/marks
          ~ env.TOKEN: (not shown)
    Start it in this way, to look at its tools? [y/N] y
    plain: it calls itself `plain` 1.0, and lists 2 tools
      new: echo
        description:
          + Gives back.
        inputSchema:
          + {
          +   "properties": {
          +     "text": {
          +       "type": "string"
          +     }
          +   },
          +   "type": "object"
          + }
      new: sum
        title:
          + Sum
        inputSchema:
          + {
          +   "type": "object"
          + }
    plain: tools: 2 new, 0 changed, 0 gone
    Trust this? [y/N] yes
    plain is trusted as it is now, with 2 tools
    --- exit 0
    "#);
    assert!(!rig.pins().unwrap().contains("secret-value"));
    assert_eq!(rig.identity("plain"), "trusted");
    assert_snapshot!(rig.seen(&rig.at_terminal(&[], &["trust", "plain"])), @"
    plain: nothing has changed since 2026-01-01T00:00:00.000Z: it is started in the same way, and its 2 tools are as trusted
    --- exit 0
    ");
}

#[test]
fn a_person_is_shown_what_changed() {
    let rig = Rig::new().scripted();
    let old = json!({"name": "old", "inputSchema": {}});
    rig.says("plain", &json!({"tools": [echo("One.\nTwo.\nThree."), sum(), old]}));
    assert_eq!(rig.run(&["trust", "plain", "--yes"]).code, 0);
    let before = rig.pins();
    let mut sum = sum();
    sum["title"] = json!("Total");
    sum["inputSchema"]["properties"] = json!({"a": {"type": "number"}});
    sum["annotations"] = json!({"readOnlyHint": true});
    let new = json!({"name": "new", "description": "New.", "inputSchema": {}});
    rig.says("plain", &json!({"tools": [echo("One.\nTwo and a half.\nThree."), sum, new]}));
    assert_snapshot!(rig.seen(&rig.at_terminal(&["n\\n"], &["trust", "plain"])), @r#"
    plain: it calls itself `plain` 1.0, and lists 3 tools
      changed: echo
        description:
            One.
          - Two.
          + Two and a half.
            Three.
      new: new
        description:
          + New.
        inputSchema:
          + {}
      changed: sum
        title:
          - Sum
          + Total
        inputSchema:
            {
          +   "properties": {
          +     "a": {
          +       "type": "number"
          +     }
          +   },
              "type": "object"
            }
        annotations:
          + {
          +   "readOnlyHint": true
          + }
      gone: old
    plain: tools: 1 new, 2 changed, 1 gone
    Trust this? [y/N] n
    plain is not trusted; nothing was recorded
    --- exit 1
    "#);
    assert_eq!(rig.pins(), before);
    assert_eq!(rig.run(&["trust", "plain", "--yes"]).code, 0);
    assert_ne!(rig.pins(), before);
    let test = rig.run(&["test"]);
    assert!(!test.stdout.contains("withheld"), "{test:?}");
}

#[test]
fn what_cannot_be_trusted_is_said_to_be() {
    let rig = Rig::new().scripted();
    rig.says("dies", &json!({"stderr": "last words", "exit": 3}));
    rig.configure(&json!({
        "dies": rig.entry("dies"),
        "filesystem": {"builtin": "filesystem"},
    }));
    assert_snapshot!(rig.seen(&rig.run(&["trust", "filesystem", "--yes"])), @"
    --- stderr
    error: `filesystem` is part of this program, and trusted as far as the program is
    --- exit 2
    ");
    assert_snapshot!(rig.seen(&rig.run(&["trust", "plain", "--yes"])), @"
    --- stderr
    error: there is no server `plain`

    hint: there are dies, filesystem
    --- exit 1
    ");
    assert_snapshot!(rig.seen(&rig.run(&["trust", "dies", "--yes"])), @"
    dies: nothing is known of it yet; it is started in this way:
          + command: python3
          + args: [ROOT]/plain.py
          + args: [ROOT]/dies.json
          + sandbox.filesystem.allowRead: [ROOT]/plain.py
          + sandbox.filesystem.allowRead: [ROOT]/dies.json
          + sandbox.filesystem.allowWrite: [ROOT]/marks
    --- stderr
    error: the server `dies` cannot be looked at: the server ended (exit status: 3); it wrote: last words

    hint: nothing was recorded
    --- exit 1
    ");
    assert_eq!(rig.pins(), None);
}

#[test]
fn the_help_is_complete() {
    let place = place();
    for words in [
        &["servers"][..],
        &["servers", "add"],
        &["servers", "import"],
        &["servers", "remove"],
        &["servers", "restore"],
        &["servers", "review"],
        &["servers", "list"],
        &["servers", "test"],
        &["servers", "trust"],
        &["doctor"],
    ] {
        let output = place.run([words, &["--help"]].concat());
        assert!(output.code == 0 && output.stdout.contains("Usage: ironcurtain"), "{output:?}");
        let page = place.run([&["man"], words].concat());
        assert!(page.code == 0 && page.stdout.contains(".TH"), "{page:?}");
    }
    let usage = |words: &[&str]| place.run(words).code;
    assert_eq!(usage(&["servers", "trust"]), 2);
    assert_eq!(usage(&["servers", "list", "--nope"]), 2);
    assert_eq!(usage(&["doctor", "extra"]), 2);
    assert_snapshot!(place.run(["servers", "--help"]).stdout, @"
    Add, list, test, review and trust MCP servers

    Usage: ironcurtain servers <COMMAND>

    Commands:
      add      Add an MCP server, in a cage of its own
      import   Show the MCP servers of other clients, and add those that you name
      list     Show the configured servers
      remove   Remove a server: its entry, what was installed for it, its drafts and its trusted
               identity
      restore  Switch a built-in server on again that `servers remove` switched off
      review   Confirm what was guessed about the tools of a server
      test     Start servers, list their tools, and end them again
      trust    Look at what has changed about a server since it was trusted, and trust it as it is now
      help     Print this message or the help of the given subcommand(s)

    Options:
      -h, --help  Print help
    ");
}
