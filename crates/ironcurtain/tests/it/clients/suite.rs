//! The public MCP conformance suite against a server behind the proxy.
//!
//! The suite speaks HTTP and knows no prefixes, so `tests/clients/http_bridge.py` stands in front of the
//! proxy; what the server asks of its client is approved as it is asked.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use ic_testkit::Place;
use serde_json::{Value, json};

use super::Packages;
use super::person::Person;
use crate::alone;

/// How many checks the suite makes; each passes.
const N_CHECKS: usize = 80;
/// The revision of the protocol whose checks are made.
const REVISION: &str = "2025-11-25";
const SERVER: &str = "tests/servers/conformance.py";
const BRIDGE: &str = "tests/clients/http_bridge.py";

/// A process that is ended with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// A place whose only server has what the suite calls, and whose policy allows all of it.
fn place_for_suite() -> Place {
    let place = crate::place();
    let source = std::fs::read(format!("{}/{SERVER}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let server = place.write("server/conformance.py", source);
    let entry = json!({"command": "/usr/bin/python3", "args": ["-S", "-B", server],
        "sandbox": {"filesystem": {"allowRead": [place.path("server")]}},
        "allowSampling": true, "allowElicitation": true});
    place.write("servers.json", alone(json!({"conf": entry})).to_string());
    let tool = |name: &str, arguments: &[&str]| {
        let roles = arguments.iter().map(|it| ((*it).to_owned(), json!(["none"])));
        json!({"toolName": name, "args": roles.collect::<serde_json::Map<_, _>>()})
    };
    let mut tools: Vec<Value> = [
        "simple_text",
        "image_content",
        "audio_content",
        "embedded_resource",
        "multiple_content_types",
        "tool_with_logging",
        "error_handling",
        "tool_with_progress",
        "elicitation_sep1034_defaults",
        "elicitation_sep1330_enums",
        "reconnection",
    ]
    .map(|name| tool(&format!("test_{name}"), &[]))
    .to_vec();
    tools.extend([
        tool("test_sampling", &["prompt"]),
        tool("test_elicitation", &["message"]),
        tool("json_schema_2020_12_tool", &["name", "address"]),
        tool("resources/read", &["uri"]),
        tool("resources/subscribe", &["uri"]),
        tool("prompts/get", &["name", "arguments"]),
        tool("completion/complete", &["ref", "argument", "context"]),
    ]);
    place.write(
        "policy/tool-annotations.json",
        json!({"servers": {"conf": {"tools": tools}}}).to_string(),
    );
    let rule = json!({"name": "all", "then": "allow", "reason": "harmless", "if": {}});
    place.write("policy/compiled-policy.json", json!({"rules": [rule]}).to_string());
    place
}

/// Starts the bridge with a proxy behind it for each session, and returns its port.
fn bridge(place: &Place) -> (Running, u16) {
    let mut command = Command::new("python3");
    command
        .arg(format!("{}/{BRIDGE}", env!("CARGO_MANIFEST_DIR")))
        .args(["conf__", env!("CARGO_BIN_EXE_ironcurtain"), "proxy", "--policy"])
        .arg(place.path("policy"))
        .arg("--servers")
        .arg(place.path("servers.json"))
        .env_clear()
        .env("HOME", place.path("home"))
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .current_dir(place.root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut bridge = Running(command.spawn().unwrap());
    let mut port = String::new();
    BufReader::new(bridge.0.stdout.take().unwrap()).read_line(&mut port).unwrap();
    (bridge, port.trim().parse().unwrap())
}

#[test]
fn the_conformance_suite_passes_through_the_proxy() {
    let Some(packages) = Packages::find() else { return };
    let place = place_for_suite();
    let person = Person::of(&place);
    let (_bridge, port) = bridge(&place);
    let mut desk =
        Running(place.command(["approvals", "watch", "--desk", "--json"]).spawn().unwrap());
    let events = BufReader::new(desk.0.stdout.take().unwrap());
    let suite = std::thread::scope(|scope| {
        scope.spawn(|| {
            for event in events.lines().map_while(Result::ok) {
                let event: Value = serde_json::from_str(&event).unwrap();
                if event["event"] == "asked" {
                    person.answer("approve", &event);
                }
            }
        });
        let suite = Command::new(packages.node())
            .arg(packages.module("conformance/dist/index.js"))
            .args(["server", "--url", &format!("http://localhost:{port}/mcp")])
            .args(["--suite", "all", "--spec-version", REVISION])
            .current_dir(place.dir("results"))
            .output()
            .unwrap();
        // Its output ends, and with it the thread.
        desk.0.kill().unwrap();
        suite
    });
    let said = String::from_utf8(suite.stdout).unwrap();
    let at = said.find("=== SUMMARY ===").unwrap_or_else(|| panic!("{said}"));
    let summary = said.get(at..).unwrap();
    assert!(summary.contains(&format!("Total: {N_CHECKS} passed, 0 failed")), "{summary}");
    for scenario in ["resources-subscribe", "resources-unsubscribe", "tools-call-elicitation"] {
        assert!(summary.contains(&format!("✓ {scenario}: 2 passed, 0 failed")), "{summary}");
    }
    assert_eq!(suite.status.code(), Some(0), "{summary}");
}
