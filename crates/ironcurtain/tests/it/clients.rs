//! Real hosts in front of the proxy, real servers behind it: the official SDKs, the inspector and agents
//! with our filesystem and git servers and the public filesystem, everything and memory servers, over pipes
//! and over a socket; and the public git server, with which nothing is in its cage but itself and a
//! repository.
//!
//! The packages come from `scripts/test-packages`; where they are missing these tests say so and do
//! nothing, except in CI, where they fail.

mod agents;
mod heard;
mod inspector;
mod installing;
mod person;
mod suite;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ic_testkit::proxy::{Reads, records};
use ic_testkit::{Caller, Place, Proxy};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::proxy::{python, until};
use person::Person;

/// A tool that tells how far it is, and takes as long as it is told.
const SLOW: &str = "everything__trigger-long-running-operation";

/// Where the packages are.
pub(crate) struct Packages(pub(crate) PathBuf);

impl Packages {
    /// Finds the packages; `None`, loudly, if they are not installed.
    pub(crate) fn find() -> Option<Self> {
        if let Some(path) = ic_testkit::agents::packages() {
            return Some(Self(path));
        }
        assert!(std::env::var_os("CI").is_none(), "in CI the packages are installed first");
        eprintln!("SKIPPED: run scripts/test-packages to test with real clients and servers");
        None
    }

    /// Returns what a server from here has to see: itself, and nothing of its user's.
    fn cage(&self) -> Value {
        json!({"filesystem": {"allowRead": [self.0]}})
    }

    pub(crate) fn node(&self) -> String {
        self.0.join("bin/node").display().to_string()
    }

    fn python(&self) -> PathBuf {
        self.0.join("python/bin/python")
    }

    /// Returns what the cage of a server in Python needs: its installation, and nothing else where the
    /// packages were installed for the system's own Python.
    fn python_cage(&self) -> Value {
        let mut command = Command::new(self.python());
        let output = command.args(["-c", "import sys; print(sys.base_prefix)"]).output().unwrap();
        let prefix = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        if prefix == "/usr" {
            return self.cage();
        }
        assert!(std::env::var_os("CI").is_none(), "in CI the system's Python is used: {prefix}");
        eprintln!("NOTE: {prefix} is shown as well, since this Python is not the system's own");
        json!({"filesystem": {"allowRead": [self.0, prefix]}})
    }

    pub(crate) fn module(&self, path: &str) -> String {
        let modules = self.0.join("node_modules/@modelcontextprotocol");
        modules.join(path).display().to_string()
    }
}

/// A place with a proxy that has three servers behind it, and a policy for all of them.
fn place_with_servers(packages: &Packages) -> Place {
    let place = crate::place();
    let path = |roles: &[&str]| json!({"path": roles});
    let files = json!([
        {"toolName": "read_text_file", "args": {"path": ["read-path"], "head": ["none"], "tail": ["none"]}},
        {"toolName": "list_directory", "args": path(&["read-path"])},
        {"toolName": "create_directory", "args": path(&["write-path"])},
    ]);
    let everything = json!([
        {"toolName": "echo", "args": {"message": ["none"]}},
        {"toolName": "get-sum", "args": {"a": ["none"], "b": ["none"]}},
        {"toolName": "get-structured-content", "args": {"location": ["none"]}},
        {"toolName": "get-tiny-image", "args": {}},
        {"toolName": "get-env", "args": {}},
        {"toolName": "trigger-long-running-operation",
         "args": {"duration": ["none"], "steps": ["none"]}},
    ]);
    place.write(
        "policy/tool-annotations.json",
        json!({"servers": {
            "filesystem": {"tools": files}, "public": {"tools": files},
            "git": {"tools": [{"toolName": "git_status", "args": path(&["read-path"])}]},
            "everything": {"tools": everything},
            "memory": {"tools": [{"toolName": "read_graph", "args": {}}]},
        }})
        .to_string(),
    );
    let within = place.dir("sandbox");
    place.write(
        "policy/compiled-policy.json",
        json!({"rules": [
            {"name": "files", "then": "allow", "reason": "the sandbox is free",
             "if": {"paths": {"roles": ["read-path", "write-path"], "within": within}}},
            {"name": "rest", "then": "allow", "reason": "harmless", "if": {"server": ["everything", "memory"]}},
            {"name": "ask", "then": "escalate", "reason": "a person decides", "if": {}},
        ]})
        .to_string(),
    );
    place.write(
        "servers.json",
        json!({
            "filesystem": {"builtin": "filesystem"},
            "git": {"builtin": "git"},
            "public": {"command": packages.node(), "sandbox": packages.cage(), "args": [
                packages.module("server-filesystem/dist/index.js"), "${SANDBOX}"]},
            "everything": {"command": packages.node(), "sandbox": packages.cage(), "args": [
                packages.module("server-everything/dist/index.js"), "stdio"]},
            "memory": {"command": packages.node(), "sandbox": packages.cage(), "args": [
                packages.module("server-memory/dist/index.js")]},
        })
        .to_string(),
    );
    place.write("sandbox/note.txt", "a note\n");
    place.write("elsewhere/found.txt", "");
    place.write("home/.ssh/id_ed25519", "secret");
    let sandbox = place.path("sandbox");
    let made = Command::new("git").args(["init", "--quiet"]).arg(sandbox).status().unwrap();
    assert!(made.success());
    place
}

/// Makes a way into the proxy of a place.
type Open = fn(&Place) -> Way;

/// How a host comes to the proxy.
struct Way {
    /// What the host starts.
    command: Vec<String>,
    /// The proxy, if the host does not start it.
    proxy: Option<Proxy>,
}

impl Way {
    /// The host starts the proxy.
    fn pipes(place: &Place) -> Self {
        let program = env!("CARGO_BIN_EXE_ironcurtain").to_owned();
        let mut command = vec![program, "proxy".to_owned()];
        command.extend(proxy_options(place));
        Self { command, proxy: None }
    }

    /// The host starts what connects it to a proxy that runs.
    fn socket(place: &Place) -> Self {
        let socket = socket(place);
        let mut words = proxy_options(place);
        words.extend(["--socket".to_owned(), socket.display().to_string()]);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let proxy = Proxy::start_reading(place, &words, Reads::Everything);
        // Connecting waits until somebody listens.
        drop(Caller::connect(&socket));
        let connect = [&python(), &script("connect.py"), &socket];
        Self { command: connect.map(|it| it.display().to_string()).into(), proxy: Some(proxy) }
    }

    /// Each way in, with the name that a failure tells.
    fn each() -> [(&'static str, Open); 2] {
        [("pipes", Self::pipes), ("socket", Self::socket)]
    }

    /// Ends the proxy, if it is not the host's.
    fn end(self) {
        if let Some(mut proxy) = self.proxy {
            proxy.signal(Signal::TERM);
            assert_eq!(proxy.end(), 0, "{}", proxy.stderr());
        }
    }
}

/// Returns the socket at which the proxy of a place listens.
fn socket(place: &Place) -> PathBuf {
    place.path("sockets/proxy.sock")
}

fn proxy_options(place: &Place) -> Vec<String> {
    let option = |name: &str, file: &str| [name.to_owned(), place.path(file).display().to_string()];
    let options = [("--policy", "policy"), ("--sandbox", "sandbox"), ("--servers", "servers.json")];
    let mut words = vec!["--wait".to_owned()];
    words.extend(options.into_iter().flat_map(|(name, file)| option(name, file)));
    words
}

/// Returns what a host is told to do, and how it comes to the proxy.
fn document(place: &Place, way: &Way, more: &Value) -> String {
    let inside = place.path("sandbox/note.txt");
    let key = place.path("home/.ssh/id_ed25519");
    let elsewhere = place.path("elsewhere");
    let (program, arguments) = way.command.split_first().unwrap();
    let mut document = json!({
        "command": program,
        "args": arguments,
        "env": {"HOME": place.path("home"), "PATH": "/usr/bin:/bin"},
        "steps": [
            {"list": true},
            {"call": "filesystem__read_text_file", "arguments": {"path": inside}},
            {"call": "public__read_text_file", "arguments": {"path": inside}},
            {"call": "everything__echo", "arguments": {"message": "grüße 😀"}},
            {"call": "everything__get-sum", "arguments": {"a": 2, "b": 3}},
            {"call": "everything__get-structured-content", "arguments": {"location": "Chicago"}},
            {"call": "everything__get-env"},
            {"call": "public__read_text_file", "arguments": {"path": key}},
            {"call": "filesystem__list_directory", "arguments": {"path": elsewhere}},
            {"call": "public__list_directory", "arguments": {"path": elsewhere}},
            {"follow": SLOW, "arguments": {"duration": 0.3, "steps": 3}},
            {"abandon": SLOW, "arguments": {"duration": 300, "steps": 300}},
            {"call": "git__git_status", "arguments": {"path": place.path("sandbox")}},
            {"call": "memory__read_graph"},
            {"ping": true},
        ],
    });
    for (key, value) in more.as_object().unwrap() {
        document[key] = value.clone();
    }
    document.to_string()
}

/// Checks what a host reports of the steps above.
#[track_caller]
fn check(place: &Place, host: &str, report: &Value) {
    let step = |at: usize| report["steps"][at].clone();
    let tools = step(0)["tools"].to_string();
    for tool in ["filesystem__delete_file", "public__write_file", "everything__get-tiny-image"] {
        assert!(tools.contains(tool), "{host}: {tool} in {report}");
    }
    let text = |at: usize| step(at)["result"]["content"][0]["text"].as_str().map(str::to_owned);
    let texts: Vec<Option<String>> = (1..=4).map(text).collect();
    let expected = ["a note\n", "a note\n", "Echo: grüße 😀", "The sum of 2 and 3 is 5."]
        .map(|text| Some(text.to_owned()));
    assert_eq!(texts, expected, "{host}: {report}");
    assert!(step(5)["result"]["structuredContent"]["temperature"].is_number(), "{host}: {report}");

    let environment: Value = serde_json::from_str(&text(6).unwrap()).unwrap();
    let mut names: Vec<&String> = environment.as_object().unwrap().keys().collect();
    names.sort();
    assert_eq!(names, ["HOME", "LANG", "PATH", "TMPDIR", "TZ"], "{host}: what was written out");

    let refusal = |at: usize| step(at)["result"]["structuredContent"]["ironcurtain"].clone();
    assert_eq!(refusal(7)["rule"], "structural-protected-path", "{host}: {report}");
    assert!(text(7).unwrap().starts_with("DENIED: "), "{host}: {report}");
    assert_eq!(text(8).unwrap(), "[FILE] found.txt", "{host}: a person said yes");
    assert_eq!(refusal(9)["decision"], "deny", "{host}: a person said no: {report}");
    assert!(text(9).unwrap().starts_with("ESCALATION DENIED: "), "{host}: {report}");
    let progress = step(10)["progress"][0].clone();
    let numbers = [0, 1].map(|at: usize| progress[at].as_f64());
    assert_eq!(numbers, [Some(1.0), Some(3.0)], "{host}: {report}");
    assert!(text(10).unwrap().starts_with("Long running operation completed"), "{host}: {report}");
    assert_eq!(step(11), json!({"abandoned": true}), "{host}: {report}");
    assert!(text(12).unwrap().contains("note.txt"), "{host}: {report}");
    assert!(text(13).unwrap().contains("entities"), "{host}: {report}");
    let slow =
        |it: &Value| it["tool"] == "trigger-long-running-operation" && it["kind"] == "outcome";
    let outcomes: Vec<Value> = records(place).into_iter().filter(slow).collect();
    let reasons: Vec<&str> = outcomes.iter().filter_map(|it| it["reason"].as_str()).collect();
    assert!(reasons.iter().any(|it| it.contains("cancelled")), "{host}: {outcomes:?}");
    let verified = place.run(["audit", "verify"]);
    assert_eq!(verified.code, 0, "{host}: {verified:?}");
}

/// Runs a host to its end, while a person approves the first question and denies the second.
fn run(host: &str, place: &Place, command: &mut Command) -> Value {
    let host_runs = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let person = Person::of(place);
    for word in ["approve", "deny"] {
        let mut asked = None;
        until("a person is asked", || {
            asked = person.questions().pop();
            asked.is_some()
        });
        person.answer(word, &asked.unwrap());
    }
    let output = host_runs.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{host}: {} {stderr}", output.status);
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{host}: {error}: {stderr}"))
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(name)
}

#[test]
fn the_python_sdk_lists_and_calls_through_the_proxy() {
    let Some(packages) = Packages::find() else { return };
    for (era, is_socket) in
        [("auto", false), ("legacy", false), ("modern", false), ("legacy", true), ("modern", true)]
    {
        let place = place_with_servers(&packages);
        let way = if is_socket { Way::socket(&place) } else { Way::pipes(&place) };
        let report = run(
            era,
            &place,
            Command::new(packages.python()).arg(script("python_client.py")).arg(document(
                &place,
                &way,
                &json!({"era": era}),
            )),
        );
        way.end();
        let expected = if era == "legacy" { "2025-11-25" } else { "2026-07-28" };
        assert_eq!(report["protocol"], expected, "{era}: {report}");
        check(&place, era, &report);
    }
}

/// The command that the guide names for clients that start what they talk to.
#[test]
fn the_guides_command_connects_a_client_to_a_socket() {
    let Some(packages) = Packages::find() else { return };
    let socat = Path::new("/usr/bin/socat");
    if !socat.exists() {
        eprintln!("SKIPPED: socat is not installed");
        return;
    }
    let place = place_with_servers(&packages);
    let way = Way::socket(&place);
    let connect = format!("UNIX-CONNECT:{}", socket(&place).display());
    let more = json!({"era": "legacy", "command": socat, "args": ["STDIO", connect]});
    let mut command = Command::new(packages.python());
    command.arg(script("python_client.py")).arg(document(&place, &way, &more));
    let report = run("socat", &place, &mut command);
    way.end();
    check(&place, "socat", &report);
}

#[test]
fn the_typescript_sdk_lists_and_calls_through_the_proxy() {
    let Some(packages) = Packages::find() else { return };
    let second = json!({"sdk": 2, "era": "auto"});
    for (more, is_socket) in [
        (json!({"sdk": 1}), false),
        (json!({"sdk": 2}), false),
        (second.clone(), false),
        (json!({"sdk": 1}), true),
        (second, true),
    ] {
        let place = place_with_servers(&packages);
        let way = if is_socket { Way::socket(&place) } else { Way::pipes(&place) };
        let host = more.to_string();
        let report = run(
            &host,
            &place,
            Command::new(packages.node())
                .arg(script("typescript_client.mjs"))
                .arg(document(&place, &way, &more))
                .env("PACKAGES", &packages.0),
        );
        way.end();
        check(&place, &host, &report);
    }
}

/// A public server that starts another program, with nothing in its cage but itself and the sandbox.
#[test]
fn the_public_git_server_works_in_a_cage() {
    let Some(packages) = Packages::find() else { return };
    let place = crate::place();
    let git = |directory: &Path, words: &[&str]| {
        let mut command = Command::new("git");
        let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"];
        let output = command.arg("-C").arg(directory).args(who).args(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
    };
    for name in ["sandbox", "other"] {
        place.write(format!("{name}/note.txt"), "a note\n");
        let directory = place.path(name);
        git(&directory, &["init", "--quiet"]);
        git(&directory, &["add", "note.txt"]);
        git(&directory, &["commit", "--quiet", "-m", "Add a note"]);
        place.write(format!("{name}/new.txt"), "new\n");
    }
    let entry = json!({"command": packages.python(), "args": ["-B", "-m", "mcp_server_git"],
        "sandbox": packages.python_cage()});
    let servers = place.write("servers.json", json!({"repository": entry}).to_string());
    let tool = |name: &str| json!({"toolName": name, "args": {"repo_path": ["read-path"]}});
    let tools = json!([tool("git_status"), tool("git_log"), tool("git_diff_unstaged")]);
    place.write(
        "policy/tool-annotations.json",
        json!({"servers": {"repository": {"tools": tools}}}).to_string(),
    );
    place.write(
        "policy/compiled-policy.json",
        json!({"rules": [{"name": "all", "if": {}, "then": "allow", "reason": "a test"}]})
            .to_string(),
    );
    let path = |name: &str| place.path(name).to_str().unwrap().to_owned();
    let (policy, sandbox) = (path("policy"), path("sandbox"));
    let servers = servers.to_str().unwrap();
    let words = ["--policy", &policy, "--sandbox", &sandbox, "--servers", servers];
    let mut proxy = Proxy::start(&place, &words);
    proxy.initialize();
    let status = proxy.call("repository__git_status", &json!({"repo_path": sandbox}));
    assert!(status.good().contains("new.txt"), "{}", status.text());
    let log = proxy.call("repository__git_log", &json!({"repo_path": sandbox}));
    assert!(log.good().contains("Add a note"), "{}", log.text());
    let other = proxy.call("repository__git_status", &json!({"repo_path": path("other")}));
    assert!(other.bad().contains("`repository.sandbox.filesystem.allowRead`"), "{}", other.text());
    proxy.finish();
    let caged = |record: &Value| record["confined"].as_str().is_some_and(|it| it != "none");
    let served = records(&place).into_iter().filter(|it| it["verdict"] == "allow");
    assert!(served.clone().count() == 2 && served.clone().all(|it| caged(&it)));
}
