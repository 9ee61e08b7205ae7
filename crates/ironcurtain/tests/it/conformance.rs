//! The recorded answers of the public implementation, asked again of the real binary.
//!
//! The data lies beside the project; where it is missing, the tests of `ic-policy` and `ic-resolve`
//! still hold the classes behind it.

use std::process::Command;

use ic_testkit::{Place, shared};
use serde_json::{Map, Value, json};

use crate::{json_lines, place};

#[test]
fn every_recorded_answer_is_given_again() {
    let Some(folder) = shared::find("conformance") else { return };
    let place = place();
    let root = place.path("fixture").to_str().unwrap().to_owned();
    let fixture = Command::new("bash")
        .arg(folder.join("make-fixture.sh"))
        .arg(&root)
        .output()
        .expect("bash runs");
    assert!(fixture.status.success(), "{}", String::from_utf8_lossy(&fixture.stderr));
    let place = place.with_variable("HOME", &format!("{root}/home"));
    let text =
        |name: &str| std::fs::read_to_string(folder.join(name)).unwrap().replace("${ROOT}", &root);

    let configs: Value = serde_json::from_str(&text("configs.json")).unwrap();
    let vectors: Vec<Value> = text("policy-vectors.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut n_checked = 0;
    for (name, config) in configs["configs"].as_object().unwrap() {
        let of_config: Vec<&Value> =
            vectors.iter().filter(|vector| vector["config"] == **name).collect();
        let arguments = arguments(&place, &folder, name, config, &configs["protectedPaths"]);
        let input: String = of_config.iter().map(|vector| format!("{vector}\n")).collect();
        let output = place.run_with_input(&arguments, input.as_bytes());
        assert_eq!(output.code, 0, "{}", output.stderr);
        let answers = json_lines(&output);
        assert_eq!(answers.len(), of_config.len());
        for (vector, answer) in of_config.iter().zip(&answers) {
            check(vector, answer);
        }
        n_checked += answers.len();
    }
    assert_eq!(n_checked, vectors.len());
}

#[track_caller]
fn check(vector: &Value, answer: &Value) {
    for key in ["decision", "rule", "escalatedRoles"] {
        // The original stops at the domain gate; we list every role that escalated.
        if key == "escalatedRoles" && vector["rule"] == "structural-domain-escalate" {
            continue;
        }
        assert_eq!(answer[key], vector[key], "{key} of {vector}: {answer}");
    }
}

/// Lays out a policy directory and a servers file, and returns the command line.
fn arguments(
    place: &Place,
    folder: &std::path::Path,
    name: &str,
    config: &Value,
    protected: &Value,
) -> Vec<String> {
    let policy = format!("policies/{name}");
    let copy = |to: &str, from: &Value| {
        if let Some(from) = from.as_str() {
            place.write(format!("{policy}/{to}"), std::fs::read(folder.join(from)).unwrap());
        }
    };
    copy(
        "compiled-policy.json",
        &json!(format!("{}/compiled-policy.json", config["policyDir"].as_str().unwrap())),
    );
    copy("tool-annotations.json", &config["annotations"]);
    copy("dynamic-lists.json", &config["dynamicLists"]);
    let mut servers = Map::new();
    for server in ["filesystem", "git", "fetch"] {
        servers.insert(server.to_owned(), json!({"builtin": server}));
    }
    for (server, domains) in config["serverDomainAllowlists"].as_object().unwrap() {
        servers[server]["allowedDomains"] = domains.clone();
    }
    let servers = place.write(format!("{policy}.servers.json"), Value::Object(servers).to_string());
    let mut arguments: Vec<String> =
        ["policy", "check", "--requests", "-", "--servers"].map(String::from).into();
    arguments.push(servers.to_str().unwrap().to_owned());
    arguments.extend(["--policy".to_owned(), place.path(&policy).to_str().unwrap().to_owned()]);
    if let Some(sandbox) = config["allowedDirectory"].as_str() {
        arguments.extend(["--sandbox".to_owned(), sandbox.to_owned()]);
    }
    for path in protected.as_array().unwrap() {
        arguments.extend(["--protected".to_owned(), path.as_str().unwrap().to_owned()]);
    }
    arguments
}

/// Whoever has a policy of an existing installation finds the tools and arguments that it names.
#[test]
fn tools_and_arguments_are_those_of_existing_installations() {
    let file = "conformance/policies/generated/tool-annotations.json";
    let Some(path) = shared::find(file) else { return };
    let theirs: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let properties = |schema: &Value| {
        let properties = schema["properties"].as_object().unwrap();
        properties.keys().cloned().collect::<std::collections::BTreeSet<String>>()
    };
    let offered = ic_servers::git::tools().into_iter().chain(ic_servers::fetch::tools());
    let offered: Vec<Value> =
        offered.map(|tool| serde_json::from_str(&tool.into_json().to_string()).unwrap()).collect();
    let mut n_tools = 0;
    for server in ["git", "fetch"] {
        for tool in theirs["servers"][server]["tools"].as_array().unwrap() {
            let name = tool["toolName"].as_str().unwrap();
            // It takes a provider of searches, which is not part of this program.
            if name == "web_search" {
                continue;
            }
            let ours = offered.iter().find(|it| it["name"] == name);
            let (ours, theirs) = (&ours.expect(name)["inputSchema"], &tool["inputSchema"]);
            assert_eq!(properties(ours), properties(theirs), "{name}");
            assert_eq!(ours["required"], theirs["required"], "{name}");
            n_tools += 1;
        }
    }
    assert_eq!(n_tools, offered.len());
}
