//! `ironcurtain usage`: what models took, over the logs of all sessions; and the same figures of one session.

use ic_testkit::Place;
use ic_testkit::provider::{KEY, Reply, Said, ScriptedProvider};
use serde_json::{Value, json};

use crate::place;

/// What a program behind the gate does: it asks as often as it is told to.
const CLIENT: &str = r#"
import json, os, sys, urllib.request
body = {"model": "claude-sonnet-4-6", "max_tokens": 9, "stream": True,
        "messages": [{"role": "user", "content": "x"}]}
headers = {"content-type": "application/json", "anthropic-version": "2023-06-01",
           "x-api-key": os.environ["ANTHROPIC_API_KEY"]}
for _ in range(int(sys.argv[1])):
    asked = urllib.request.Request("https://api.anthropic.com/v1/messages", json.dumps(body).encode(), headers)
    urllib.request.urlopen(asked).read()
"#;

/// Runs the program behind the gate.
fn behind_the_gate(place: &Place, n_requests: usize) {
    let replies = (0..n_requests).map(|_| Reply::Says(Said::text("Hello.")));
    let provider = ScriptedProvider::start_for_stranger(replies);
    let upstream = format!(r#"{{"url":"{}"}}"#, provider.url());
    let set = place.run(["config", "set", "mitm.upstreams.api.anthropic.com", &upstream]);
    assert_eq!(set.code, 0, "{}", set.stderr);
    let n_requests = n_requests.to_string();
    let words = ["mitm", "--provider", "anthropic", "--", "python3", "-c", CLIENT, &n_requests];
    let output = place.run(words);
    assert_eq!(output.code, 0, "{}", output.stderr);
}

/// Writes the log of an old session of the built-in agent that is cleaned up.
fn old_session(place: &Place, id: &str) {
    let session = |event: Value| json!({"kind": "session", "timestamp": "2026-01-02T03:04:05.000Z", "arguments": event});
    let asked = |model: &str, tokens: u64, cost: u64| {
        json!({"kind": "llm", "timestamp": "2026-01-02T03:04:06.000Z", "arguments": {
            "model": model, "promptTokens": tokens, "completionTokens": 2, "cachedTokens": 1,
            "cacheWrittenTokens": 0, "costBillionths": cost}})
    };
    let lines = [
        session(json!({"event": "opened", "name": "old", "agent": "builtin"})),
        asked("openai:gpt-5", 100, 7_000_000_000),
        asked("anthropic:claude-sonnet-4-6", 10, 1_000_000_000),
        json!({"kind": "llm", "timestamp": "2026-01-02T03:04:07.000Z",
            "arguments": {"model": "openai:gpt-5", "error": "the provider is overloaded"}}),
    ];
    let text: String = lines.iter().map(|it| format!("{it}\n")).collect();
    place.write(format!("home/.ironcurtain/audit/{id}/audit.jsonl"), text);
}

fn usage(place: &Place, words: &[&str]) -> Vec<Value> {
    let output = place.run([&["usage", "--json"], words].concat());
    assert_eq!(output.code, 0, "{output:?}");
    let found: Value = serde_json::from_str(&output.stdout).unwrap();
    found.as_array().unwrap().clone()
}

#[test]
fn all_sessions_are_added_up_in_every_way() {
    let place = place().with_variable("ANTHROPIC_API_KEY", KEY);
    assert_eq!(usage(&place, &[]), Vec::<Value>::new());
    assert_eq!(place.run(["usage"]).stdout, "No model was asked.\n");
    behind_the_gate(&place, 3);
    old_session(&place, "2026-01-02-03-04-05-000-abcd");

    let by_model = usage(&place, &[]);
    let of = |all: &[Value], key: &str, name: &str| {
        all.iter().find(|it| it[key] == name).unwrap_or_else(|| panic!("{name}: {all:?}")).clone()
    };
    let openai = of(&by_model, "model", "openai:gpt-5");
    assert_eq!(
        (&openai["requests"], &openai["failed"], &openai["promptTokens"], &openai["costUsd"]),
        (&json!(2), &json!(1), &json!(100), &json!(7.0))
    );
    let anthropic = of(&by_model, "model", "anthropic:claude-sonnet-4-6");
    assert_eq!(anthropic["requests"], 4, "{anthropic}");

    let by_agent = usage(&place, &["--by", "agent"]);
    let gate = of(&by_agent, "agent", "python3");
    assert_eq!((&gate["requests"], &gate["estimated"]), (&json!(3), &json!(0)), "{gate}");
    assert_eq!(of(&by_agent, "agent", "builtin")["requests"], 3);

    let by_session = usage(&place, &["--by", "session"]);
    assert_eq!(by_session.len(), 2, "{by_session:?}");
    assert_eq!(of(&by_session, "name", "old")["costBillionths"], 8_000_000_000_u64);

    let by_day = usage(&place, &["--by", "day"]);
    assert_eq!(of(&by_day, "day", "2026-01-02")["requests"], 3);
    let fresh = usage(&place, &["--since", "1d"]);
    assert_eq!(fresh.len(), 1, "{fresh:?}");
    assert_eq!((&fresh[0]["model"], &fresh[0]["requests"]), (&anthropic["model"], &json!(3)));
    assert_eq!(usage(&place, &["--since", "2026-01-02"]).len(), 2);

    let shown = place.run(["usage"]).stdout;
    let lines: Vec<Vec<&str>> = shown.lines().map(|it| it.split_whitespace().collect()).collect();
    assert_eq!(lines[1][..3], ["openai:gpt-5", "2", "100"], "{shown}");
    assert_eq!(lines[3][..2], ["total", "6"], "{shown}");
    assert!(shown.ends_with("failed: 1; charged by their size: 0\n"), "{shown}");
}

#[test]
fn one_session_shows_what_each_model_took() {
    let place = place().with_variable("ANTHROPIC_API_KEY", KEY);
    behind_the_gate(&place, 2);
    let sum = &usage(&place, &[])[0];
    let [prompt, completion] = ["promptTokens", "completionTokens"].map(|it| sum[it].to_string());
    let cost = format!("${:.4}", sum["costUsd"].as_f64().unwrap());
    let expected = format!(
        "anthropic:claude-sonnet-4-6: 2 requests, {prompt} tokens in, {completion} out, {cost}"
    );
    assert_ne!((prompt.as_str(), completion.as_str()), ("0", "0"));
    let audit = place.run(["audit", "show"]);
    assert!(audit.stdout.ends_with(&format!("Models:\n  {expected}\n")), "{}", audit.stdout);
    let filtered = place.run(["audit", "show", "--kind", "session"]);
    assert!(!filtered.stdout.contains("Models:"), "{}", filtered.stdout);
    let id = place.sessions().pop().unwrap();
    let id = id.file_name().unwrap().to_str().unwrap();
    let session = place.run(["sessions", "show", id]);
    assert!(session.stdout.contains(&format!("asked          {expected}\n")), "{session:?}");
}

#[test]
fn a_log_that_cannot_be_read_is_named_and_makes_the_sum_incomplete() {
    let place = place();
    old_session(&place, "2026-01-02-03-04-05-000-abcd");
    place.write("home/.ironcurtain/audit/2026-01-02-03-04-05-000-efgh/audit.jsonl", "not JSON\n");
    let output = place.run(["usage"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("000-efgh"), "{}", output.stderr);
    assert!(output.stdout.contains("openai:gpt-5"), "{}", output.stdout);
    let output = place.run(["usage", "--since", "yesterday"]);
    assert_eq!(output.code, 2, "{output:?}");
}
