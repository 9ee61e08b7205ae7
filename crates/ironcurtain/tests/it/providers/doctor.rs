//! `ironcurtain doctor` asks providers which models they have, and completes nothing.

use std::net::TcpListener;

use ic_testkit::ScriptedProvider;
use ic_testkit::provider::{Format, KEY};
use serde_json::Value;

use super::{World, for_all, variables};
use crate::place;

/// Checks what the doctor says of a provider, and returns the remedy.
#[track_caller]
fn check(place: &ic_testkit::Place, check: &str, status: &str, detail: &str) -> String {
    let output = place.run(["doctor", "--json"]);
    let checks: Vec<Value> = serde_json::from_str(&output.stdout).unwrap();
    let found = checks.iter().find(|it| it["check"] == check);
    let found = found.unwrap_or_else(|| panic!("no `{check}` in {output:?}"));
    assert_eq!(found["status"], status, "{found}");
    assert!(found["detail"].as_str().unwrap().contains(detail), "{found}");
    assert!(!output.stdout.contains(KEY) && !output.stderr.contains(KEY), "{output:?}");
    found["remedy"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_key_is_checked_without_spending() {
    for_all(|format| {
        let world = World::new(format, []);
        let name = format!("model {format}");
        check(&world.desk.place, &name, "ok", "accepts the key, and has 4 models");
        assert!(world.provider.requests().is_empty(), "nothing is completed");
    });
}

#[test]
fn a_wrong_key_fails_with_its_remedy() {
    for_all(|format| {
        let provider = ScriptedProvider::start([]);
        let world = World::with_key(format, provider, "sk-wrong-key-123456");
        let name = format!("model {format}");
        let remedy = check(&world.desk.place, &name, "failed", "does not accept the key");
        assert!(remedy.contains(variables(format).1), "{remedy}");
    });
}

#[test]
fn a_model_that_is_not_there_is_a_warning() {
    let world = World::new(Format::Responses, []);
    world.set("agentModelId", "openai:gpt-0");
    check(&world.desk.place, "model openai", "warning", "`gpt-0` is not among them");
}

#[test]
fn nobody_there_is_no_wrong_key() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    let place =
        place().with_variable("ANTHROPIC_BASE_URL", &url).with_variable("ANTHROPIC_API_KEY", KEY);
    let remedy = check(&place, "model anthropic", "warning", "not tried: the connection");
    assert!(remedy.contains("HTTPS_PROXY"), "{remedy}");
}

#[test]
fn without_a_key_nobody_is_asked() {
    check(&place(), "models", "info", "no provider key is set, so the offline model is used");
}
