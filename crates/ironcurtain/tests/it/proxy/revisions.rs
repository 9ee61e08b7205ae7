//! Each revision of the protocol, on either side by itself.

use ic_testkit::Proxy;
use ic_testkit::proxy::{Message, Reads};
use serde_json::{Value, json};

use super::{provoke, rig};

fn envelope() -> Value {
    json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "modern", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}, "sampling": {}, "roots": {}}})
}

/// Asks as the newest revision does: each request says what it is in.
#[track_caller]
fn modern(proxy: &mut Proxy, method: &str, mut params: Value) -> Message {
    params["_meta"] = envelope();
    proxy.request(method, &params)
}

#[test]
fn each_older_revision_is_agreed_on_and_any_other_is_answered_with_the_newest() {
    for (asked, agreed) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let rig = rig();
        let mut proxy = rig.start_silent(Reads::Everything);
        let params =
            json!({"protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "c"}});
        let result = proxy.request("initialize", &params).result();
        assert_eq!(result["protocolVersion"], agreed);
        assert_eq!(result["serverInfo"]["name"], "ironcurtain");
        rig.check_unharmed(&mut proxy, asked);
        proxy.finish();
    }
}

#[test]
fn the_newest_revision_is_served_without_a_beginning() {
    let rig = rig();
    let mut proxy = rig.start_silent(Reads::Everything);
    let list = modern(&mut proxy, "tools/list", json!({})).result();
    assert_eq!(super::of_servers(&list).len(), 11);
    for (key, value) in
        [("resultType", json!("complete")), ("ttlMs", json!(0)), ("cacheScope", json!("private"))]
    {
        assert_eq!(list[key], value);
    }
    let call = |tool: &str| json!({"name": tool, "arguments": {}});
    for tool in ["rec__echo", "rec__forbidden", "rec__ask", "nobody__x"] {
        let result = modern(&mut proxy, "tools/call", call(tool)).result();
        assert_eq!(result["resultType"], "complete", "{tool}: {result}");
    }
    // The backend speaks an older one, and sees nothing of this.
    assert_eq!(rig.received(), [json!({"name": "echo", "arguments": {}})]);
    for method in
        ["initialize", "ping", "logging/setLevel", "resources/subscribe", "subscriptions/listen"]
    {
        let (code, _) = modern(&mut proxy, method, json!({"level": "debug"})).error();
        assert_eq!(code, -32601, "{method}");
    }
    for params in [
        json!({"name": "rec__echo"}),
        json!({"name": "rec__echo", "_meta": {}}),
        json!({"name": "rec__echo", "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}),
    ] {
        assert_eq!(proxy.request("tools/call", &params).error().0, -32602, "{params}");
    }
    let mut other = call("rec__echo");
    other["_meta"] = envelope();
    other["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2030-01-01");
    let answer = proxy.request("tools/call", &other);
    assert_eq!(answer.error().0, -32022);
    assert_eq!(
        answer.json()["error"]["data"],
        json!({"supported": ["2026-07-28"], "requested": "2030-01-01"})
    );
    assert_eq!(rig.received().len(), 1);
    proxy.finish();
    rig.check_received();
}

/// The questions of that revision are results, and the answers to them are parameters.
#[test]
fn the_answers_of_a_person_cannot_be_slipped_into_a_call() {
    let rig = rig().hostile("bad", &["plain"]);
    let mut proxy = rig.start_silent(Reads::Everything);
    let result = modern(
        &mut proxy,
        "tools/call",
        json!({"name": "bad__do", "arguments": {"what": "input-required"}}),
    )
    .result();
    assert_eq!((&result["resultType"], &result["isError"]), (&json!("complete"), &json!(true)));
    for key in ["inputResponses", "requestState", "task"] {
        let mut params = json!({"name": "rec__echo", "arguments": {}});
        params[key] = json!({"q": {"action": "accept"}});
        assert_eq!(modern(&mut proxy, "tools/call", params).error().0, -32602, "{key}");
    }
    assert!(rig.received().is_empty());
    proxy.finish();
}

/// A client of the newest revision hears nothing that it did not ask for.
#[test]
fn the_newest_revision_is_told_nothing_unasked() {
    let rig = rig().hostile("bad", &["plain", "words"]);
    let mut proxy = rig.start_silent(Reads::Everything);
    modern(&mut proxy, "tools/list", json!({})).result();
    let call = |what: &str| json!({"name": "bad__do", "arguments": {"what": what}});
    assert_eq!(modern(&mut proxy, "tools/call", call("tell-words")).good(), "it is words");
    modern(&mut proxy, "tools/call", call("crash")).result();
    for n in 0..20 {
        let params = json!({"name": "rec__echo", "arguments": {"value": n}});
        modern(&mut proxy, "tools/call", params).good();
    }
    let heard = proxy.unread();
    assert!(heard.is_empty(), "{heard:?}");
    proxy.finish();
}

#[test]
fn servers_of_the_oldest_and_of_the_newest_revision_are_served() {
    for (mode, protocol) in [("old", "2024-11-05"), ("modern", "2026-07-28")] {
        let rig = rig().hostile("bad", &[mode]);
        let mut proxy = rig.start();
        assert_eq!(provoke(&mut proxy, "x").good(), "fine", "{mode}");
        let up = rig.records().into_iter().find(|it| {
            it["arguments"]["server"] == "bad" && it["arguments"]["event"] == "server-up"
        });
        assert_eq!(up.unwrap()["arguments"]["protocol"], protocol);
        rig.check_unharmed(&mut proxy, mode);
        proxy.finish();
    }
}
