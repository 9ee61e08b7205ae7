//! The circuit breaker: an agent that goes in circles is stopped, and nobody else is.

use serde_json::json;

use super::{rig, rule_of};

#[test]
fn the_same_call_with_the_same_result_is_stopped_after_twenty_times() {
    let rig = rig();
    let mut proxy = rig.start();
    let same = json!({"value": "same"});
    for _ in 0..20 {
        assert_eq!(proxy.call("rec__echo", &same).good(), "{\"value\":\"same\"}");
    }
    for _ in 0..3 {
        let answer = proxy.call("rec__echo", &same);
        assert!(answer.bad().starts_with("CIRCUIT BREAKER: "), "{}", answer.line);
        assert_eq!(rule_of(&answer), "circuit-breaker");
    }
    assert_eq!(rig.received().len(), 20);
    // The order of keys and the spelling of numbers make no other call of it.
    let spelled = r#"{"jsonrpc":"2.0","id":"s","method":"tools/call","params":{"name":"rec__echo","arguments":{"value":"s\u0061me"}}}"#;
    proxy.send_line(spelled);
    assert!(proxy.answer("\"s\"").bad().starts_with("CIRCUIT BREAKER: "));
    for other in [json!({"value": "other"}), json!({"value": ["same"]}), json!({})] {
        proxy.call("rec__echo", &other).good();
    }
    proxy.call("rec__rich", &json!({})).result();
    let refused = rig.intents("deny");
    assert_eq!(refused.len(), 4);
    assert!(refused.iter().all(|it| it["rule"] == "circuit-breaker" && it["arguments"] == same));
    rig.check_received();
    proxy.finish();
}

#[test]
fn the_same_denial_is_stopped_after_five_times() {
    let rig = rig();
    let mut proxy = rig.start();
    for (tool, words) in [("rec__forbidden", "DENIED: "), ("rec__ask", "ESCALATION REQUIRED: ")] {
        for _ in 0..5 {
            let answer = proxy.call(tool, &json!({}));
            assert!(answer.bad().starts_with(words), "{}", answer.line);
        }
        for _ in 0..3 {
            assert!(proxy.call(tool, &json!({})).bad().starts_with("CIRCUIT BREAKER: "));
        }
    }
    let read = |path: &str| json!({"path": path});
    for n in 0..10 {
        let answer = proxy.call("rec__read", &read(&format!("/etc/{n}")));
        assert!(answer.bad().starts_with("DENIED: "), "another path is another call");
    }
    assert_eq!(rig.received().len(), 0);
    rig.check_unharmed(&mut proxy, "denials");
    proxy.finish();
}

/// A result that changes is progress, however often the call is made.
#[test]
fn a_call_whose_result_changes_is_not_stopped() {
    let rig = rig().hostile("bad", &["plain"]);
    let mut proxy = rig.start();
    for n in 0..60 {
        let text = proxy.call("bad__do", &json!({"what": "count"})).good();
        assert_eq!(text, format!("{}", n + 1));
    }
    proxy.finish();
}
