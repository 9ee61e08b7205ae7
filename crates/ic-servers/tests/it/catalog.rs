//! What the filesystem server offers is what the built-in policies annotate.

use std::path::Path;

use ic_servers::filesystem::Links;
use ic_servers::tools::{Caller, Cancel, Tools};
use ic_types::Object;
use serde_json::Value;

use crate::ground::Ground;

fn annotated() -> Vec<Value> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../ic-policy/policies/tool-annotations.json");
    let text = std::fs::read_to_string(path).unwrap();
    let annotations: Value = serde_json::from_str(&text).unwrap();
    annotations["servers"]["filesystem"]["tools"].as_array().unwrap().clone()
}

fn offered() -> Vec<Value> {
    let server = Ground::new().server(Links::Refuse);
    let tools = server.list().into_iter().map(|tool| tool.into_json().to_string());
    tools.map(|tool| serde_json::from_str(&tool).unwrap()).collect()
}

#[test]
fn names_and_schemas_are_those_that_the_policies_annotate() {
    let pair = |tool: &Value, name: &str| {
        (tool[name].as_str().unwrap().to_owned(), tool["inputSchema"].to_string())
    };
    let mut annotated: Vec<_> = annotated().iter().map(|tool| pair(tool, "toolName")).collect();
    let mut offered: Vec<_> = offered().iter().map(|tool| pair(tool, "name")).collect();
    annotated.sort();
    offered.sort();
    assert_eq!(offered.len(), 15);
    for (offered, annotated) in offered.iter().zip(&annotated) {
        assert_eq!(offered, annotated);
    }
    assert_eq!(offered.len(), annotated.len());
}

#[test]
fn every_tool_that_is_offered_can_be_called_and_no_other() {
    let ground = Ground::new();
    let server = ground.server(Links::Refuse);
    for tool in server.list() {
        assert!(
            server.call(tool.name, &Object::new(), Caller::silent(&Cancel::new())).is_ok(),
            "{}",
            tool.name
        );
    }
    for unknown in ["", "read", "READ_FILE", "read_file ", "filesystem__read_file", "../read_file"]
    {
        assert!(
            server.call(unknown, &Object::new(), Caller::silent(&Cancel::new())).is_err(),
            "{unknown}"
        );
    }
}

#[test]
fn what_a_tool_does_is_told_in_its_hints() {
    for tool in offered() {
        let hints = &tool["annotations"];
        let role = |role: &str| annotated_roles(tool["name"].as_str().unwrap()).contains(role);
        let changes = role("write-path") || role("delete-path");
        assert_eq!(hints["readOnlyHint"], !changes, "{tool}");
        assert_eq!(hints["openWorldHint"], false, "{tool}");
        if tool["name"] == "create_directory" {
            assert_eq!(hints["destructiveHint"], false, "{tool}");
        } else {
            assert_eq!(hints["destructiveHint"], changes, "{tool}");
        }
        assert!(hints["idempotentHint"].is_boolean());
        assert!(20 < tool["description"].as_str().unwrap().len());
    }
}

fn annotated_roles(name: &str) -> String {
    let tools = annotated();
    tools.iter().find(|tool| tool["toolName"] == name).unwrap()["args"].to_string()
}
