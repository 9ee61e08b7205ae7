//! The schemas of the tools that the built-in policies know.

use ic_schema::Schema;
use ic_types::{Json, JsonLimits, Object};

use crate::world::{answer, object};

const ANNOTATIONS: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../ic-policy/policies/tool-annotations.json"
));

/// Returns the names of all tools with their schemas.
fn tools() -> Vec<(String, Schema)> {
    let Json::Object(file) = Json::parse(ANNOTATIONS.as_bytes(), JsonLimits::ARTIFACT).unwrap()
    else {
        panic!("the annotations are no object");
    };
    let Some(Json::Object(servers)) = file.get("servers") else { panic!("no servers") };
    let mut tools = Vec::new();
    for (_, server) in servers.iter() {
        let Json::Object(server) = server else { panic!("no server") };
        let Some(Json::Array(entries)) = server.get("tools") else { panic!("no tools") };
        for entry in entries {
            let Json::Object(entry) = entry else { panic!("no tool") };
            let name = entry.get("toolName").and_then(Json::as_str).unwrap();
            match entry.get("inputSchema").map(Schema::compile) {
                Some(Ok(schema)) => tools.push((name.to_owned(), schema)),
                Some(Err(fault)) => panic!("{name}: {fault}"),
                None => {}
            }
        }
    }
    tools
}

#[track_caller]
fn check(tool: &str, arguments: &str, expected: &str) {
    let tools = tools();
    let (_, schema) = tools.iter().find(|(name, _)| name == tool).unwrap();
    assert_eq!(answer(schema, &object(arguments)), expected);
}

#[test]
fn every_built_in_schema_can_be_used_and_is_checked_in_full() {
    let tools = tools();
    assert!(20 < tools.len(), "only {} tools have a schema", tools.len());
    for (name, schema) in &tools {
        assert!(schema.notes().is_empty(), "{name}: {:?}", schema.notes());
        let mut arguments = Object::new();
        arguments.insert("no such argument", true);
        assert!(schema.check(&arguments).is_err(), "{name} takes anything");
    }
}

#[test]
fn one_schema_serves_many_threads() {
    let tools = tools();
    std::thread::scope(|scope| {
        for (_, schema) in &tools {
            scope.spawn(|| schema.check(&Object::new()).is_ok());
        }
    });
}

#[test]
fn built_in_tools_say_what_is_wrong() {
    check("read_file", r#"{"path": "a", "head": 5}"#, "");
    check("read_file", r#"{"head": 5}"#, "`path` is missing");
    check("read_file", r#"{"path": "a", "head": -1}"#, "`head` is less than 0");
    check("read_multiple_files", r#"{"paths": []}"#, "`paths` has fewer than 1 item");
    check("read_multiple_files", r#"{"paths": ["a", 1]}"#, "`/paths/1` is not a string");
}
