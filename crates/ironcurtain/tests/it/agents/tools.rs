//! How agents come to our tools: whether they did at all, and by scripts in code mode.

use std::path::Path;

use ic_testkit::agents::{CLAUDE_CODE, CODEX, GOOSE, OPENCODE, Row, register};
use ic_testkit::provider::{KEY, Request};
use ic_testkit::proxy::records;
use serde_json::{Value, json};

use super::{Stage, says};
use crate::place;
use crate::proxy::python;

/// Finds our server in the settings that a turn of Claude Code has, as `$bridge`.
const FINDS_BRIDGE: &str = r#"
for word; do [ "$before" = --mcp-config ] && file=$word; before=$word; done
bridge=$(sed 's/.*"command":"\([^"]*\)".*/\1/' "$file")
"#;
const ANSWERS: &str =
    r#"echo '{"type":"result","subtype":"success","is_error":false,"result":"Done."}'"#;
const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#;

/// The exit code and the answer of an agent say nothing of whether it had our tools.
#[test]
fn a_turn_without_an_mcp_connection_is_an_error() {
    for (does, is_answered) in [
        ("true".to_owned(), false),
        // A connection in which nothing is said.
        (": | \"$bridge\" agent-bridge 8701".to_owned(), false),
        (format!("echo '{HELLO}' | \"$bridge\" agent-bridge 8701 >&2"), true),
    ] {
        let place = place().with_variable("ANTHROPIC_API_KEY", KEY);
        let script = format!("#!/bin/sh\n{FINDS_BRIDGE}\n{does}\n{ANSWERS}\n");
        let path = place.write("agent", script);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&path, mode).unwrap();
        register(&place, "claude-code", &path);
        let output = place.run(["start", "--agent", "claude-code", "Go ahead."]);
        if is_answered {
            assert_eq!((output.code, output.stdout.trim()), (0, "Done."), "{does}: {output:?}");
        } else {
            assert_eq!(output.code, 1, "{does}: {output:?}");
            let said = "the agent never connected to IronCurtain's MCP server";
            assert!(output.stderr.contains(said), "{does}: {}", output.stderr);
        }
    }
}

#[test]
fn an_agent_in_code_mode_has_one_tool_of_ours_and_its_scripts_are_judged() {
    let Some(stage) = Stage::claude([]) else { return };
    stage.place.write("home/.ssh/id_ed25519", "a key of the user");
    let path = stage.place.path("home/.ssh/id_ed25519").display().to_string();
    let script = format!(
        "console.log(filesystem.read_text_file({{path: 'a.txt'}}));
         try {{ filesystem.read_text_file({{path: {}}}) }} catch (error) {{ console.log(error.message) }}",
        json!(path)
    );
    let tool = "ironcurtain__run_script";
    stage.provider.push([
        stage.row.calls("toolu_1", tool, json!({"script": script})),
        says("One was denied."),
    ]);
    let output = stage.start(&["--code-mode", "Read both files."]);
    assert_eq!((output.code, output.stdout.trim()), (0, "One was denied."), "{output:?}");
    let told = stage.last_request();
    assert!(told.contains("what was there") && told.contains("DENIED: "), "{told}");
    assert!(!told.contains("a key of the user"), "{told}");
    assert!(told.contains("run_script, runs TypeScript"), "{told}");
    assert!(!told.contains("filesystem__read_text_file"), "{told}");
    assert!(output.stderr.contains("1 call made, 1 refused"), "{}", output.stderr);
    let judged = records(&stage.place).into_iter().filter(|it| it["kind"] == "intent");
    assert_eq!(judged.count(), 2);
}

/// Prints how many bytes our tools take in a request, for docs/benchmarks.md.
#[test]
fn code_mode_makes_the_tools_of_a_request_small() {
    for row in [&CLAUDE_CODE, &CODEX, &OPENCODE, &GOOSE] {
        for more in [None, Some(N_TOOLS)] {
            let code = n_bytes(row, more, &["--code-mode"]);
            let (Some(plain), Some(code)) = (n_bytes(row, more, &[]), code) else { return };
            let of = more.map_or_else(|| "our servers".to_owned(), |it| format!("{it} tools"));
            eprintln!("{}, {of}: {plain} bytes in a request, {code} in code mode", row.agent);
            assert!(0 < code && code * 10 < plain, "{}: {plain}, {code}", row.agent);
        }
    }
}

/// As many tools as people have with a few servers.
const N_TOOLS: usize = 80;

/// Lets the session have one server with `n` tools, and none of ours.
fn add_many(stage: &Stage, n: usize) {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers");
    let directory = stage.place.dir("many");
    let cage = json!({"filesystem": {"allowRead": [scripts], "allowWrite": [directory]}});
    let arguments = json!(["-S", "-B", scripts.join("many.py"), directory, n.to_string()]);
    let entry = json!({"command": python(), "args": arguments, "sandbox": cage});
    let servers = crate::alone(json!({"many": entry}));
    stage.place.write("home/.ironcurtain/mcp-servers.json", servers.to_string());
    let trusted = stage.place.run(["servers", "test", "many"]);
    assert_eq!(trusted.code, 0, "{trusted:?}");
}

/// Returns how many bytes our tools take in the first request that offers tools.
fn n_bytes(row: &'static Row, more: Option<usize>, options: &[&str]) -> Option<usize> {
    let stage = Stage::set(row, [says("Hello.")])?;
    if let Some(n) = more {
        add_many(&stage, n);
    }
    let output = stage.start(&[options, &["Say hello."]].concat());
    assert_eq!(output.code, 0, "{output:?}");
    let request = stage.provider.requests().into_iter().find(Request::offers_tools).unwrap();
    let mut sum = 0;
    count(&request.body, &mut sum);
    Some(sum)
}

/// Adds up the definitions of tools that are ours, wherever an agent puts them.
fn count(holder: &Value, sum: &mut usize) {
    let items = holder["input"].as_array().into_iter().flatten();
    items.filter(|it| it.get("tools").is_some()).for_each(|it| count(it, sum));
    for tool in holder["tools"].as_array().into_iter().flatten() {
        let function = tool.get("function").unwrap_or(tool);
        let name = function["name"].as_str().unwrap_or_default();
        if name.contains("ironcurtain") {
            *sum += tool.to_string().len();
        }
    }
}
