//! What is answered to which message, in both ways of the protocol.

use serde_json::{Value, json};

use crate::serving::{Client, Fake};

/// Sends one line and returns the one answer to it.
#[track_caller]
fn ask(line: &str) -> Value {
    let answers = Client::all(&Fake::new(), &format!("{line}\n"));
    assert_eq!(answers.len(), 1, "{line}: {answers:?}");
    answers.into_iter().next().unwrap()
}

#[track_caller]
fn check_error(line: &str, code: i64, id: &Value) {
    let answer = ask(line);
    assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
    assert_eq!(answer["id"], *id, "{line}: {answer}");
    assert!(answer.get("result").is_none());
}

#[test]
fn a_handshake_agrees_on_a_revision() {
    for (asked, agreed) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("9", "2025-11-25"),
    ] {
        let answer = ask(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"},
        }}).to_string());
        assert_eq!(
            answer,
            json!({"jsonrpc": "2.0", "id": 0, "result": {
                "protocolVersion": agreed,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "ironcurtain-fake", "version": env!("CARGO_PKG_VERSION")},
            }})
        );
    }
}

/// The keys of revision 2026-07-28.
fn meta(version: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
    })
}

fn server_info() -> Value {
    let version = env!("CARGO_PKG_VERSION");
    json!({"io.modelcontextprotocol/serverInfo": {"name": "ironcurtain-fake", "version": version}})
}

#[test]
fn a_server_is_discovered_without_a_handshake() {
    let line = json!({"jsonrpc": "2.0", "id": "probe-1", "method": "server/discover",
        "params": {"_meta": meta("2026-07-28")}});
    assert_eq!(
        ask(&line.to_string()),
        json!({"jsonrpc": "2.0", "id": "probe-1", "result": {
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}},
            "ttlMs": 0,
            "cacheScope": "private",
            "resultType": "complete",
            "_meta": server_info(),
        }})
    );
}

#[test]
fn results_have_the_fields_of_the_revision_that_was_asked_in() {
    let list = |params: Value| {
        ask(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params})
            .to_string())
    };
    let (old, new) = (list(json!({})), list(json!({"_meta": meta("2026-07-28")})));
    assert_eq!(old["result"].as_object().unwrap().keys().collect::<Vec<_>>(), ["tools"]);
    assert_eq!(old["result"]["tools"], new["result"]["tools"]);
    assert_eq!(old["result"]["tools"][0]["name"], "echo");
    for (key, value) in [
        ("resultType", json!("complete")),
        ("ttlMs", json!(0)),
        ("cacheScope", json!("private")),
        ("_meta", server_info()),
    ] {
        assert_eq!(new["result"][key], value);
    }
    let call = |params: Value| {
        ask(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
            .to_string())
    };
    let old = call(json!({"name": "echo", "arguments": {"text": "hi"}}));
    let content = json!([{"type": "text", "text": "hi"}]);
    assert_eq!(old["result"], json!({"content": content, "isError": false}));
    let new =
        call(json!({"name": "echo", "arguments": {"text": "hi"}, "_meta": meta("2026-07-28")}));
    assert_eq!(
        new["result"],
        json!({"content": content, "isError": false, "resultType": "complete", "_meta": server_info()})
    );
}

#[test]
fn a_revision_that_is_not_served_is_named_with_those_that_are() {
    let line = json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover",
        "params": {"_meta": meta("2030-01-01")}});
    let answer = ask(&line.to_string());
    assert_eq!(answer["error"]["code"], -32022);
    assert_eq!(
        answer["error"]["data"],
        json!({"supported": ["2026-07-28"], "requested": "2030-01-01"})
    );
}

#[test]
fn what_is_no_message_is_refused() {
    for (line, code, id) in [
        ("not json", -32700, json!(null)),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"", -32700, json!(null)),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}", -32700, json!(null)),
        ("\u{feff}{}", -32700, json!(null)),
        ("[]", -32600, json!(null)),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600, json!(null)),
        ("1", -32600, json!(null)),
        ("{}", -32600, json!(null)),
        (r#"{"id":1,"method":"ping"}"#, -32600, json!(1)),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600, json!(1)),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, json!(null)),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, json!(null)),
        (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, -32600, json!(1)),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, -32600, json!(1)),
    ] {
        check_error(line, code, &id);
    }
    let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
    check_error(&deep, -32700, &json!(null));
}

#[test]
fn requests_that_do_not_fit_are_refused() {
    let request = |method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": "a", "method": method, "params": params}).to_string()
    };
    let mut incomplete = meta("2026-07-28");
    incomplete.as_object_mut().unwrap().remove("io.modelcontextprotocol/clientCapabilities");
    for (line, code) in [
        (request("resources/list", json!({})), -32601),
        (request("logging/setLevel", json!({"level": "debug"})), -32601),
        (request("Tools/List", json!({})), -32601),
        (request("", json!({})), -32601),
        (request("ping", json!({"_meta": meta("2026-07-28")})), -32601),
        (request("server/discover", json!({})), -32602),
        (request("server/discover", json!({"_meta": incomplete})), -32602),
        (
            request("tools/list", json!({"_meta": {"io.modelcontextprotocol/protocolVersion": 1}})),
            -32602,
        ),
        (request("tools/list", json!({"cursor": "x"})), -32602),
        (request("initialize", json!({"protocolVersion": 1})), -32602),
        (request("tools/call", json!({})), -32602),
        (request("tools/call", json!({"name": 1})), -32602),
        (request("tools/call", json!({"name": "echo", "arguments": []})), -32602),
        (request("tools/call", json!({"name": "unknown"})), -32602),
        (request("tools/call", json!({"name": "panic"})), -32603),
    ] {
        check_error(&line, code, &json!("a"));
    }
    assert_eq!(ask(&request("ping", json!({})))["result"], json!({}));
}

#[test]
fn notifications_and_responses_are_not_answered() {
    let lines = [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        "",
        "  \r",
        r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#,
    ];
    let answers = Client::all(&Fake::new(), &lines.join("\n"));
    assert_eq!(
        answers,
        [json!({"jsonrpc": "2.0", "id": 2, "result": {}})],
        "the last line has no end"
    );
}

#[test]
fn ids_come_back_as_they_were_sent() {
    for id in ["0", "-1", "18446744073709551616", "\"\"", "\"7\"", "\"\\u0000ü\""] {
        let line = format!("{{\"method\":\"ping\",\"id\":{id},\"jsonrpc\":\"2.0\"}}");
        let answer = ask(&line);
        assert_eq!(
            answer["id"].to_string(),
            serde_json::from_str::<Value>(id).unwrap().to_string()
        );
    }
}

#[test]
fn half_a_message_at_the_end_is_not_carried_out() {
    let fake = Fake::new();
    let line = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a"#;
    let answers = Client::all(&fake, line);
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0]["error"]["code"], -32700);
    assert_eq!(fake.n_calls(), 0);
}

#[test]
fn a_line_that_is_too_long_is_refused_and_the_next_one_is_served() {
    let long = format!("{{\"x\":\"{}\"}}", "x".repeat(ic_servers::serve::LINE_BYTES_MAX));
    let lines = format!("{long}\n{}\n", r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    let answers = Client::all(&Fake::new(), &lines);
    assert_eq!(answers.len(), 2);
    assert_eq!(answers[0]["error"]["code"], -32600);
    assert_eq!(answers[1]["result"], json!({}));
}
