//! The public everything server, which asks for both.

use std::path::Path;
use std::process::{Command, Stdio};

use ic_testkit::Proxy;
use serde_json::{Value, json};

use super::super::{Desk, approve};
use super::{asked, reply, said};
use crate::clients::Packages;
use crate::far::official::Official;

/// Writes a policy and the entry of the everything server; returns the arguments of a proxy.
fn configure(packages: &Packages, desk: &Desk) -> Vec<String> {
    let tools =
        ["trigger-sampling-request", "trigger-elicitation-request", "trigger-url-elicitation"];
    let roles = json!({"prompt": ["none"], "maxTokens": ["none"], "url": ["none"],
        "message": ["none"], "elicitationId": ["none"], "errorPath": ["none"]});
    let tools = tools.map(|tool| json!({"toolName": tool, "args": roles}));
    let annotations = json!({"servers": {"everything": {"tools": tools}}});
    desk.place.write("policy/tool-annotations.json", annotations.to_string());
    let rules = json!({"rules": [{"name": "all", "if": {}, "then": "allow", "reason": "free"}]});
    desk.place.write("policy/compiled-policy.json", rules.to_string());
    let module =
        packages.0.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    let entry = json!({"command": packages.0.join("bin/node"), "args": [module, "stdio"],
        "sandbox": {"filesystem": {"allowRead": [packages.0]}},
        "allowSampling": true, "allowElicitation": true});
    let file = desk.place.write("servers.json", json!({"everything": entry}).to_string());
    let policy = desk.place.path("policy");
    ["--policy", policy.to_str().unwrap(), "--servers", file.to_str().unwrap()]
        .map(str::to_owned)
        .into()
}

fn proxy_of(desk: &Desk, words: &[String]) -> Proxy {
    desk.start_with(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn the_everything_server_asks_and_is_answered() {
    let Some(packages) = Packages::find() else { return };
    let mut desk = Desk::new();
    let words = configure(&packages, &desk);
    let mut proxy = proxy_of(&desk, &words);

    let call = json!({"prompt": "a joke", "maxTokens": 50});
    let id = proxy.ask_call("everything__trigger-sampling-request", &call);
    approve(&desk.question());
    let request = asked(&mut proxy, "sampling/createMessage");
    let sent = request.json()["params"].take();
    assert_eq!(sent["maxTokens"], 50);
    assert!(sent["messages"][0]["content"]["text"].as_str().unwrap().ends_with("a joke"));
    reply(&mut proxy, &request, &said("knock knock"));
    let text = proxy.answer(&id).good();
    assert!(text.starts_with("LLM sampling result:") && text.contains("knock knock"), "{text}");

    let id = proxy.ask_call("everything__trigger-elicitation-request", &json!({}));
    let question = desk.question();
    let shown = desk.place.run(["approvals", "show", question.request().escalation.as_str()]);
    for field in ["name", "check", "email", "birthdate", "legacyTitledEnum"] {
        assert!(shown.stdout.contains(&format!("    \"{field}\" (")), "{field}: {}", shown.stdout);
    }
    approve(&question);
    let request = asked(&mut proxy, "elicitation/create");
    let filled = json!({"name": "Ada", "check": true, "integer": 42,
        "untitledMultipleSelectEnum": ["Piano"], "titledSingleSelectEnum": "hero-2",
        "titledMultipleSelectEnum": ["fish-1", "fish-3"], "legacyTitledEnum": "pet-2"});
    reply(&mut proxy, &request, &json!({"action": "accept", "content": filled}));
    let answer = proxy.answer(&id);
    assert!(answer.good().contains("User provided the requested information"), "{}", answer.line);
    assert!(answer.line.contains("- Name: Ada"), "{}", answer.line);

    let id = proxy.ask_call("everything__trigger-elicitation-request", &json!({}));
    approve(&desk.question());
    let request = asked(&mut proxy, "elicitation/create");
    reply(&mut proxy, &request, &json!({"action": "decline"}));
    assert!(proxy.answer(&id).good().contains("User declined"));

    // An address is refused in both ways in which a server can name one, and nobody is asked.
    for is_error in [false, true] {
        let call = json!({"url": "https://evil.example/", "errorPath": is_error});
        let answer = proxy.call("everything__trigger-url-elicitation", &call);
        assert_eq!(answer.json()["result"]["isError"], true, "{}", answer.line);
        assert!(desk.pending().is_empty());
    }
    proxy.finish();
    desk.check_log();
}

/// The official Python SDK answers for its model and its person.
#[test]
fn a_real_client_is_asked_by_a_real_server() {
    let Some(packages) = Packages::find() else { return };
    let mut desk = Desk::new();
    let mut words = configure(&packages, &desk);
    words.insert(0, "proxy".to_owned());
    let document = json!({
        "command": env!("CARGO_BIN_EXE_ironcurtain"), "args": words, "era": "legacy",
        "env": {"HOME": desk.place.path("home"), "PATH": "/usr/bin:/bin"},
        "answers": {"sampling": "knock knock", "form": {"name": "Ada", "check": true}},
        "steps": [
            {"call": "everything__trigger-sampling-request",
             "arguments": {"prompt": "a joke", "maxTokens": 50}},
            {"call": "everything__trigger-elicitation-request", "arguments": {}},
        ],
    });
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/python_client.py");
    let client = Command::new(packages.0.join("python/bin/python"))
        .arg(script)
        .arg(document.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    for tool in ["sampling/createMessage", "elicitation/create"] {
        let question = desk.question();
        assert_eq!(question.request().tool.as_str(), tool);
        approve(&question);
        desk.questions(0);
    }
    let output = client.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |at: usize| report["steps"][at]["result"]["content"][0]["text"].to_string();
    assert!(text(0).contains("knock knock"), "{report}");
    assert!(text(1).contains("User provided the requested information"), "{report}");
    let asked = &report["asked"];
    let message = asked[1]["form"]["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("[from the server `everything`] "), "{report}");
    assert_eq!(asked[0]["sampling"]["maxTokens"], 50, "{report}");
    desk.check_log();
}

/// Over HTTP the exchange in which it comes says whose call it is.
#[test]
fn a_server_on_another_machine_asks_in_its_exchange() {
    let Some(packages) = Packages::find() else { return };
    let official = Official::start(&packages);
    let words = official.configure(&json!({"allowSampling": true, "allowElicitation": true}));
    let mut desk = Desk::at(official.place);
    desk.presence = Some(ic_escalation::Presence::take(&desk.home).unwrap());
    let mut proxy = proxy_of(&desk, &words);
    let id = proxy.ask_call("far__sample", &json!({"text": "a joke"}));
    approve(&desk.question());
    let request = asked(&mut proxy, "sampling/createMessage");
    reply(&mut proxy, &request, &said("knock knock"));
    assert_eq!(proxy.answer(&id).good(), "the model said knock knock");
    let id = proxy.ask_call("far__elicit", &json!({"text": "who?"}));
    approve(&desk.question());
    let request = asked(&mut proxy, "elicitation/create");
    reply(&mut proxy, &request, &json!({"action": "cancel"}));
    assert_eq!(proxy.answer(&id).good(), "the person said {\"action\":\"cancel\"}");
    proxy.finish();
    desk.check_log();
}
