//! What the git server offers is what the built-in policies annotate.

use std::path::Path;

use ic_servers::tools::{Caller, Cancel, Tools as _};
use ic_types::Object;
use serde_json::Value;

use super::bench::Bench;

fn annotated() -> Vec<Value> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../ic-policy/policies/tool-annotations.json");
    let text = std::fs::read_to_string(path).unwrap();
    let annotations: Value = serde_json::from_str(&text).unwrap();
    annotations["servers"]["git"]["tools"].as_array().unwrap().clone()
}

#[test]
fn names_and_schemas_of_git_are_those_that_the_policies_annotate() {
    let bench = Bench::empty();
    let offered: Vec<Value> = bench
        .server
        .list()
        .into_iter()
        .map(|tool| serde_json::from_str(&tool.into_json().to_string()).unwrap())
        .collect();
    let pair = |tool: &Value, name: &str| {
        (tool[name].as_str().unwrap().to_owned(), tool["inputSchema"].to_string())
    };
    let mut annotated: Vec<_> = annotated().iter().map(|tool| pair(tool, "toolName")).collect();
    let mut names: Vec<_> = offered.iter().map(|tool| pair(tool, "name")).collect();
    annotated.sort();
    names.sort();
    assert_eq!(names.len(), 28);
    assert_eq!(names, annotated);
    for tool in offered {
        let is_open = tool["annotations"]["openWorldHint"] == true;
        let name = tool["name"].as_str().unwrap();
        let reaches = ["git_clone", "git_fetch", "git_pull", "git_push"].contains(&name);
        assert_eq!(is_open, reaches, "{name}");
        assert!(20 < tool["description"].as_str().unwrap().len());
    }
}

#[test]
fn every_tool_of_git_can_be_called_and_no_other() {
    let bench = Bench::empty();
    for tool in bench.server.list() {
        let called = bench.server.call(tool.name, &Object::new(), Caller::silent(&Cancel::new()));
        assert!(called.is_ok(), "{}", tool.name);
    }
    for unknown in ["", "git", "git_gc", "GIT_STATUS", "git_status ", "git__git_status"] {
        let called = bench.server.call(unknown, &Object::new(), Caller::silent(&Cancel::new()));
        assert!(called.is_err(), "{unknown}");
    }
}
