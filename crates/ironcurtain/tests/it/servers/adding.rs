//! `servers add`, `review` and `remove`, with a registry on loopback that has what the tests need.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use ic_testkit::proxy::records;
use ic_testkit::{Output, Place, Proxy};
use serde_json::{Value, json};

use super::{RUNGS, script};
use crate::clients::Packages;
use crate::place;
use crate::proxy::{python, until};

/// A registry of packages, for as long as it is held.
pub(crate) struct Registry {
    child: Child,
    pub(crate) port: u16,
}

impl Registry {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(python())
            .arg(script("servers/registry.py"))
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { port: line.trim().parse().unwrap(), child }
    }

    /// Runs `ironcurtain servers` with this registry as the user's own.
    pub(super) fn run(&self, place: &Place, words: &[&str]) -> Output {
        let url = format!("http://127.0.0.1:{}/", self.port);
        let output = place
            .command([&["servers"], words].concat())
            .env("npm_config_registry", &url)
            .env("npm_config_cache", place.path("npm-cache"))
            .env("PIP_INDEX_URL", format!("{url}simple/"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Output {
            code: output.status.code().unwrap(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A server in JavaScript, with one tool.
pub(super) const TINY: &str = r#"#!/usr/bin/env node
const tool = {name: "do", description: "Does it.", inputSchema: {type: "object",
    properties: {path: {type: "string"}, url: {type: "string"}, note: {type: "string"}}}};
require("readline").createInterface({input: process.stdin}).on("line", line => {
    const {id, method, params} = JSON.parse(line);
    if (id === undefined) return;
    const result = method === "initialize" ? {protocolVersion: "2025-11-25", capabilities: {tools: {}},
            serverInfo: {name: "tiny", version: "1"}}
        : method === "tools/list" ? {tools: [tool]}
        : {content: [{type: "text", text: "did " + (params.arguments.note || "") + process.argv.slice(2)}]};
    console.log(JSON.stringify({jsonrpc: "2.0", id, result}));
});
"#;

/// Writes a package whose scripts would leave a mark.
fn tiny(place: &Place) -> String {
    place.write("tiny/index.js", TINY);
    let mark = place.path("script-was-run");
    let script = format!("touch '{}'", mark.display());
    let manifest = json!({"name": "@test/tiny", "version": "1.2.3", "bin": {"tiny": "index.js"},
        "scripts": {"preinstall": script, "install": script, "postinstall": script, "prepare": script}});
    place.write("tiny/package.json", manifest.to_string());
    place.path("tiny").to_str().unwrap().to_owned()
}

pub(crate) fn has_npm() -> bool {
    let is_there =
        Command::new("npm").arg("--version").output().is_ok_and(|it| it.status.success());
    assert!(is_there || std::env::var_os("CI").is_none(), "in CI npm is there");
    if !is_there {
        eprintln!("SKIPPED: npm is needed to test what installs with it");
    }
    is_there
}

fn scripted(place: &Place) {
    place.let_scripts_answer();
}

/// Returns what the policy says of a call of the tiny server.
fn rule(place: &Place, arguments: &Value) -> (i32, String) {
    let checked = place.run(["policy", "check", "tiny", "do", &arguments.to_string()]);
    (checked.code, checked.stdout)
}

/// Answers the next question with a yes, as a person's script would.
fn approve_next(place: &Place) {
    let mut id = None;
    until("a question", || {
        let listed = place.run(["approvals", "list", "--json"]);
        let waiting: Vec<Value> = serde_json::from_str(&listed.stdout).unwrap();
        id = waiting.first().map(|it| it["escalationId"].as_str().unwrap().to_owned());
        id.is_some()
    });
    let approved = place.run(["approvals", "approve", &id.unwrap()]);
    assert_eq!(approved.code, 0, "{approved:?}");
}

#[test]
fn a_package_is_installed_pinned_drafted_reviewed_and_removed_and_none_of_its_scripts_is_run() {
    if !has_npm() {
        return;
    }
    let place = place();
    let registry = Registry::start(&["--npm", &tiny(&place)]);
    let added = registry.run(&place, &["add", "tiny", "--", "npx", "-y", "@test/tiny", "--flag"]);
    assert_eq!(added.code, 0, "{added:?}");
    assert!(added.stdout.contains("@test/tiny 1.2.3 from npm"), "{}", added.stdout);
    for line in [
        "  do  guessed  path  a path that is read, written or deleted",
        "               url   a web address that is fetched",
        "               note  data (not a path or an address)",
    ] {
        assert!(added.stdout.contains(line), "{}", added.stdout);
    }
    assert!(!place.path("script-was-run").exists(), "a script of the package was run");
    let home = place.path("home/.ironcurtain");
    let file: Value =
        serde_json::from_slice(&std::fs::read(home.join("mcp-servers.json")).unwrap()).unwrap();
    let names: Vec<&String> = file.as_object().unwrap().keys().collect();
    assert_eq!(names, ["tiny"], "the built-in ones are there anyway");
    let listed = place.run(["servers", "list"]).stdout;
    for name in ["filesystem", "git", "fetch", "shell", "tiny"] {
        assert!(listed.lines().any(|line| line.starts_with(name)), "{listed}");
    }
    let run = file["tiny"]["args"][0].as_str().unwrap();
    assert!(run.starts_with(home.join("servers/tiny/pkg-").to_str().unwrap()), "{run}");
    let record = std::fs::read_to_string(home.join("servers/tiny/installed.json")).unwrap();
    assert!(record.contains("\"integrity\":\"sha512-"), "{record}");

    // Every call over a draft needs a person, whatever the rules say.
    let (code, said) = rule(&place, &json!({"note": "x"}));
    assert!(code == 3 && said.contains("structural-draft"), "{said}");
    scripted(&place);
    let mut proxy = Proxy::start(&place, &["--wait"]);
    proxy.initialize();
    let id = proxy.ask_call("tiny__do", &json!({"note": "x"}));
    approve_next(&place);
    assert_eq!(proxy.answer(&id).good(), "did x--flag");
    proxy.finish();

    let set = "--set=do.path=read-path";
    let reviewed = place.run(["servers", "review", "tiny", "--yes", set]);
    assert_eq!(reviewed.code, 0, "{reviewed:?}");
    assert!(reviewed.stdout.contains("path  a path that is read\n"), "{}", reviewed.stdout);
    let (_, said) = rule(&place, &json!({"note": "x", "path": "/etc/hosts"}));
    assert!(
        !said.contains("structural-draft") && said.contains("escalate-reading-files-anywhere-else"),
        "{said}"
    );
    assert_eq!(place.run(["servers", "review", "tiny"]).code, 0, "nothing is left");

    let again = registry.run(&place, &["add", "tiny", "--", "npx", "@test/tiny"]);
    assert!(again.code == 2 && again.stderr.contains("already"), "{again:?}");
    let removed = place.run(["servers", "remove", "tiny", "--yes"]);
    assert_eq!(removed.code, 0, "{removed:?}");
    assert!(!home.join("servers/tiny").exists());
    let pins = std::fs::read_to_string(home.join("servers.lock.json")).unwrap();
    assert!(!pins.contains("tiny"), "{pins}");
    let (code, said) = rule(&place, &json!({"note": "x"}));
    assert!(code == 4 && said.contains("structural-unknown-tool"), "{said}");
}

#[test]
fn what_is_not_what_it_was_said_to_be_is_not_installed_and_leaves_nothing() {
    if !has_npm() {
        return;
    }
    let place = place();
    let package = tiny(&place);
    let tampered = Registry::start(&["--npm", &package, "--tampered"]);
    let honest = Registry::start(&["--npm", &package]);
    for (registry, command) in [
        (&tampered, &["npx", "@test/tiny"][..]),
        (&honest, &["npx", "@test/tiny@9.9.9"]),
        (&honest, &["npx", "@test/absent"]),
        (&honest, &["npx", "git+https://a.example/x"]),
        (&honest, &["npx", "--registry=http://a.example", "@test/tiny"]),
        // Installed, but no server.
        (&honest, &["npx", "-p", "@test/tiny", "other"]),
        (&honest, &["/usr/bin/false"]),
        (&honest, &["no-such-program-anywhere"]),
    ] {
        let added = registry.run(&place, &[&["add", "tiny", "--"], command].concat());
        assert_ne!(added.code, 0, "{command:?}: {added:?}");
        let home = place.path("home/.ironcurtain");
        assert!(!home.join("mcp-servers.json").exists(), "{command:?}");
        assert!(!home.join("servers/tiny").exists(), "{command:?}");
        assert!(!home.join("servers.lock.json").exists(), "{command:?}");
    }
    assert!(!place.path("script-was-run").exists(), "a script of the package was run");
}

/// Another version is another way to be started: it is withheld until somebody looked at it.
#[test]
fn an_installation_that_is_replaced_is_another_identity() {
    if !has_npm() {
        return;
    }
    let place = place();
    let package = tiny(&place);
    let registry = Registry::start(&["--npm", &package]);
    let added = registry.run(&place, &["add", "tiny", "--", "npx", "@test/tiny"]);
    assert_eq!(added.code, 0, "{added:?}");
    let file = place.path("home/.ironcurtain/mcp-servers.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let (before, rest) = text.split_once("/pkg-").unwrap();
    let (old, after) = rest.split_at(16);
    let home = place.path("home/.ironcurtain/servers/tiny");
    let other = "0123456789abcdef";
    std::fs::rename(home.join(format!("pkg-{old}")), home.join(format!("pkg-{other}"))).unwrap();
    std::fs::write(&file, format!("{before}/pkg-{other}{after}")).unwrap();
    let mut proxy = Proxy::start(&place, &[]);
    proxy.initialize();
    let answer = proxy.call("tiny__do", &json!({"note": "x"}));
    assert!(answer.bad().contains("how it is started has changed"), "{}", answer.text());
    proxy.finish();
}

/// From a fresh home to the first approved calls of a public server, in its cage: add, start, approve.
///
/// All calls are made by each of two sessions, one after the other.
#[track_caller]
fn check_public(name: &str, words: &[&str], calls: &[(&str, Value, &str)]) -> Option<Place> {
    let packages = Packages::find()?;
    let modules = packages.0.join("node_modules");
    let python = std::fs::read_dir(packages.0.join("python/lib")).unwrap().next().unwrap();
    let site = python.unwrap().path().join("site-packages");
    let registry = Registry::start(&[
        "--node-modules",
        modules.to_str().unwrap(),
        "--site-packages",
        site.to_str().unwrap(),
    ]);
    let place = place();
    scripted(&place);
    let added = registry.run(&place, &[&["add", name], words].concat());
    assert_eq!(added.code, 0, "{name}: {added:?}");
    assert!(added.stdout.contains("runs confined: "), "{name}: {added:?}");
    let (sandbox, repository) = (place.dir("sandbox"), place.dir("sandbox/repository"));
    let git = Command::new("git").arg("-C").arg(&repository).args(["init", "--quiet"]).status();
    assert!(git.unwrap().success());
    place.write("sandbox/repository/new.txt", "new\n");
    for _ in 0..2 {
        let mut proxy = Proxy::start(&place, &["--wait", "--sandbox", sandbox.to_str().unwrap()]);
        proxy.initialize();
        for (tool, arguments, expected) in calls {
            let id = proxy.ask_call(&format!("{name}__{tool}"), arguments);
            approve_next(&place);
            let answer = proxy.answer(&id).good();
            assert!(answer.contains(expected), "{name}: {tool}: {answer}");
        }
        proxy.finish();
    }
    let is_served = |it: &Value| it["kind"] == "intent" && it["verdict"] == "allow";
    let served = records(&place).into_iter().filter(is_served);
    let held: Vec<Value> = served.map(|it| it["confined"].clone()).collect();
    let is_caged = |it: &Value| RUNGS.iter().any(|rung| it == rung);
    assert!(!held.is_empty() && held.iter().all(is_caged), "{name}: {held:?}");
    Some(place)
}

#[test]
fn the_public_filesystem_server_is_added_and_called_in_three_commands() {
    let words = ["--", "npx", "-y", "@modelcontextprotocol/server-filesystem", "${SANDBOX}"];
    let calls = [
        ("list_directory", json!({"path": "."}), "[DIR] repository"),
        ("write_file", json!({"path": "written.txt", "content": "by it"}), "Successfully wrote"),
        ("read_text_file", json!({"path": "written.txt"}), "by it"),
    ];
    let Some(place) = check_public("files", &words, &calls) else { return };
    let written = std::fs::read_to_string(place.path("sandbox/written.txt")).unwrap();
    assert_eq!(written, "by it");
}

#[test]
fn the_public_memory_server_is_added_and_called_in_three_commands() {
    let file = "MEMORY_FILE_PATH=${DATA}/memory.jsonl";
    let words = ["--env", file, "--", "npx", "-y", "@modelcontextprotocol/server-memory"];
    let ada = json!({"entities": [{"name": "Ada", "entityType": "person", "observations": ["x"]}]});
    let calls = [("create_entities", ada, ""), ("read_graph", json!({}), "Ada")];
    let Some(place) = check_public("memory", &words, &calls) else { return };
    // What it keeps is its own, outlives its sessions, and is not thrown away with it.
    let kept = place.path("home/.ironcurtain/servers/memory/data/memory.jsonl");
    let text = std::fs::read_to_string(&kept).unwrap();
    assert_eq!(text.matches("Ada").count(), 1, "the second session knew it: {text}");
    let removed = place.run(["servers", "remove", "memory", "--yes"]);
    assert!(removed.stdout.contains("what it kept stays in"), "{removed:?}");
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), text);
    let beside = std::fs::read_dir(place.path("home/.ironcurtain/servers/memory")).unwrap();
    assert_eq!(beside.count(), 1, "only that is left");
}

#[test]
fn the_public_everything_server_is_added_and_called_in_three_commands() {
    let words = ["--", "npx", "-y", "@modelcontextprotocol/server-everything"];
    check_public("everything", &words, &[("echo", json!({"message": "hi"}), "Echo: hi")]);
}

#[test]
fn the_public_git_server_is_added_and_called_in_three_commands() {
    let at = |more: Value| {
        let mut arguments = json!({"repo_path": "repository"});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    let calls = [
        ("git_status", at(json!({})), "branch"),
        // It reads; git's own files are written by the built-in server alone, outside of session sandboxes.
        ("git_diff_unstaged", at(json!({})), ""),
        ("git_diff_staged", at(json!({})), ""),
    ];
    check_public("repository", &["--contained", "--", "uvx", "mcp-server-git"], &calls);
}

#[test]
fn the_public_fetch_server_is_added_and_called_in_three_commands() {
    let page = Page::serve();
    let host = format!("127.0.0.1:{}", page.port);
    let url = json!({"url": format!("http://{host}/page")});
    // In a cage every name leads to the host's own door, which is a private address.
    let server = ["--", "uvx", "mcp-server-fetch", "--allow-private-ips", "--ignore-robots-txt"];
    let words = [&["--allow-domain", &host][..], &server].concat();
    check_public("web", &words, &[("fetch", url, "a page on loopback")]);
}

/// A page on loopback.
struct Page {
    port: u16,
}

impl Page {
    fn serve() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for stream in listener.incoming() {
                use std::io::{Read as _, Write as _};
                let Ok(mut stream) = stream else { return };
                stream.set_read_timeout(Some(Duration::from_mins(1))).ok();
                let mut request = [0; 4096];
                let _n_bytes = stream.read(&mut request).unwrap_or_default();
                let body = "a page on loopback";
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n";
                write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len()).ok();
            }
        });
        Self { port }
    }
}
