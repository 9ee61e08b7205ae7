//! The public everything server, which asks for both.

use serde_json::{Value, json};

use super::super::{Desk, approve};
use super::{asked, reply, said};
use crate::clients::Packages;

#[test]
fn the_everything_server_asks_and_is_answered() {
    let Some(packages) = Packages::find() else { return };
    let mut desk = Desk::new();
    let tools =
        ["trigger-sampling-request", "trigger-elicitation-request", "trigger-url-elicitation"];
    let roles = json!({"prompt": ["none"], "maxTokens": ["none"], "url": ["none"],
        "message": ["none"], "elicitationId": ["none"], "errorPath": ["none"]});
    let tools: Vec<Value> =
        tools.iter().map(|tool| json!({"toolName": tool, "args": roles})).collect();
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
    let words = ["--policy", policy.to_str().unwrap(), "--servers", file.to_str().unwrap()];
    let mut proxy = desk.start_with(&words);

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
    proxy.finish();
    desk.check_log();
}
