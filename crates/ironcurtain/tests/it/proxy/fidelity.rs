//! What is allowed arrives as it was meant, and what comes back is what was answered.

use ic_testkit::shared;
use serde_json::{Value, json};

use super::{listed, rig, rule_of};

/// Sends a call with `value` as it is written, and returns the text that came back.
fn echo_of(proxy: &mut ic_testkit::Proxy, value: &str) -> ic_testkit::proxy::Message {
    proxy.send_line(&format!(
        r#"{{"params":{{"arguments":{{"value":{value}}},"name":"rec__echo"}},"method":"tools/call","id":"e","jsonrpc":"2.0"}}"#
    ));
    proxy.answer("\"e\"")
}

#[test]
fn numbers_keys_and_texts_travel_as_they_were_written() {
    let rig = rig();
    let mut proxy = rig.start();
    let values = [
        "1.0",
        "1e2",
        "1E+2",
        "9007199254740993",
        "-0",
        "-0.0",
        "0.1000",
        "1E400",
        "-1E400",
        "1e-400",
        "123456789012345678901234567890",
        "0.30000000000000004",
        "5e-324",
        "null",
        "true",
        "[]",
        "{}",
        "\"\"",
        "[[],{},null]",
        // The order of keys, keys that look like numbers, empty keys.
        r#"{"z":1,"a":2,"10":3,"2":4,"":5,"constructor":6,"__proto__":7}"#,
        r#"{" ":{"\t":{"\n":0}}}"#,
        // What needs an escape has one, and nothing else does.
        r#""\"\\/\b\f\n\r\t""#,
        "\"ä€😀\u{7f}\u{80}\u{2028}\u{2029}\u{feff}\u{202e}\u{fffd}\u{10ffff}\"",
        // `e` and a combining accent are two characters, and stay two.
        "\"e\u{301}\"",
    ];
    for value in values {
        let answer = echo_of(&mut proxy, value);
        let sent = format!(r#""arguments":{{"value":{value}}}"#);
        let received = rig.lines("rec", "received").pop().unwrap();
        assert!(received.contains(&sent), "{value} was sent as {received}");
        let back = format!(r#""structuredContent":{{"value":{value}}}"#);
        assert!(answer.line.contains(&back), "{value} came back as {}", answer.line);
    }
    // Spaces and escapes are no part of the meaning, and what is sent is our own serialisation.
    let answer = echo_of(&mut proxy, " { \"\\u0061\" : [ 1 , \"\\ud83d\\ude00\" ] } ");
    assert!(answer.line.contains(r#""structuredContent":{"value":{"a":[1,"😀"]}}"#));
    let received = rig.lines("rec", "received").pop().unwrap();
    let id: Value = serde_json::from_str::<Value>(&received).unwrap()["id"].take();
    assert_eq!(
        received,
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{{"value":{{"a":[1,"😀"]}}}}}}}}"#
        )
    );
    proxy.finish();
}

#[test]
fn naughty_strings_arrive_as_they_were_sent() {
    let Some(vectors) = shared::corpus("naughty_strings") else { return };
    let rig = rig();
    let mut proxy = rig.start();
    let mut n_arrived = 0;
    for vector in &vectors {
        let text = &vector["input"];
        let answer = proxy.call("rec__echo", &json!({"value": text}));
        let result = answer.result();
        if result["isError"] == true {
            // A text that names a protected path needs a person, wherever it stands.
            assert_eq!(rule_of(&answer), "structural-unannotated-path", "{vector}");
            continue;
        }
        assert_eq!(&result["structuredContent"]["value"], text, "{vector}");
        n_arrived += 1;
    }
    assert!(500 < n_arrived, "only {n_arrived} arrived");
    let received = rig.received();
    let arrived = received.iter().map(|it| &it["arguments"]["value"]);
    assert!(arrived.clone().all(|it| vectors.iter().any(|vector| vector["input"] == *it)));
    assert_eq!(arrived.count(), n_arrived);
    rig.check_unharmed(&mut proxy, "naughty strings");
    proxy.finish();
}

#[test]
fn ids_are_given_back_as_they_were_written() {
    let rig = rig();
    let mut proxy = rig.start();
    let longest = format!("\"{}\"", "i".repeat(256));
    for id in [
        "0",
        "-0",
        "-1",
        "7",
        "9007199254740993",
        "-9223372036854775809",
        "123456789012345678901234567890",
        "\"0\"",
        "\"\"",
        "\" \"",
        "\"null\"",
        "\"\\u0000\"",
        "\"\\\"},{\\\"\"",
        "\"\\n\"",
        "\"ä😀\u{202e}\"",
        &longest,
    ] {
        for method in ["ping", "tools/call", "made/up"] {
            proxy.send_line(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"name":"rec__echo"}}}}"#
            ));
            let answer = proxy.answer(id);
            assert_eq!(answer.line.contains("\"error\""), method == "made/up", "{id} {method}");
        }
    }
    // Our own ids are what the backend sees.
    for line in rig.lines("rec", "received") {
        let message: Value = serde_json::from_str(&line).unwrap();
        assert!(message.get("id").is_none_or(Value::is_u64), "{line}");
    }
    proxy.finish();
}

#[test]
fn progress_comes_under_the_clients_token_and_the_backend_never_sees_it() {
    let rig = rig();
    let mut proxy = rig.start();
    for token in [json!(0), json!(7), json!("7"), json!("secret-token"), json!(u64::MAX), json!("")]
    {
        let params =
            json!({"name": "rec__steps", "arguments": {"n": 3}, "_meta": {"progressToken": token}});
        assert_eq!(proxy.request("tools/call", &params).good(), "done");
        let notes: Vec<Value> =
            proxy.unread().iter().map(|it| it.json()["params"].take()).collect();
        let expected: Vec<Value> = (0..3)
            .map(|n| json!({"progressToken": token, "progress": n, "total": 3, "message": "step"}))
            .collect();
        assert_eq!(notes, expected);
        let sent = rig.received().pop().unwrap();
        assert!(sent["_meta"]["progressToken"].is_u64(), "{sent}");
    }
    // Nobody asked, so the backend has no token to use.
    let params = json!({"name": "rec__steps", "arguments": {"n": 3}});
    assert_eq!(proxy.request("tools/call", &params).good(), "done");
    assert!(proxy.unread().is_empty());
    assert!(!rig.lines("rec", "received").iter().any(|it| it.contains("secret-token")));
    proxy.finish();
}

#[test]
fn results_keep_what_we_do_not_know() {
    let rig = rig();
    let mut proxy = rig.start();
    assert_eq!(
        proxy.call("rec__rich", &json!({})).result().to_string(),
        r#"{"content":[{"type":"new-kind","x":{"y":[]},"annotations":{"priority":1}}],"structuredContent":{"z":1,"a":2,"redirect":{"location":"https://a.example/"}},"x-new":{"a":[1,null]},"_meta":{"their.own/key":1}}"#
    );
    assert_eq!(
        proxy.call("rec__add", &json!({"a": 1, "b": 2})).result()["structuredContent"],
        json!({"sum": 3})
    );
    let failed = proxy.call("rec__fail", &json!({})).json();
    assert_eq!(
        failed["error"],
        json!({"code": -32050, "message": "failed on purpose", "data": {"why": [1]}})
    );
    proxy.finish();
}

#[test]
fn tools_are_listed_under_their_servers_name_with_all_that_was_said_of_them() {
    let rig = rig().recorder("b-2");
    let mut proxy = rig.start();
    let names = listed(&mut proxy);
    assert_eq!(names.len(), 22);
    assert!(names.is_sorted(), "{names:?}");
    let result = proxy.request("tools/list", &json!({})).result();
    let add =
        result["tools"].as_array().unwrap().iter().find(|it| it["name"] == "rec__add").unwrap();
    assert_eq!(
        *add,
        json!({"name": "rec__add", "description": "The tool add.",
            "inputSchema": {"type": "object", "required": ["a", "b"],
                "properties": {"a": {"type": "number"}, "b": {"type": "number"}}},
            // A refusal fits it too, for clients that hold every result against it.
            "outputSchema": {"type": "object", "anyOf": [
                {"type": "object", "properties": {"sum": {}}, "required": ["sum"]},
                {"required": ["ironcurtain"]}]}})
    );
    assert_eq!(proxy.call("b-2__echo", &json!({"value": 1})).good(), "{\"value\":1}");
    assert!(rig.received().is_empty(), "the other server has it");
    proxy.finish();
}

/// `a` and `a_` can both have a tool that is offered as `a___echo`; a call never goes to the other.
#[test]
fn names_under_which_two_servers_could_be_meant_are_refused() {
    let place = crate::place();
    let entry = json!({"command": "/bin/true"});
    let file = place.write("servers.json", json!({"a": entry, "a_": entry}).to_string());
    let output = place.run(["proxy", "--servers", file.to_str().unwrap()]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(
        output.stderr.contains("a_: another server has this name without the `_`"),
        "{output:?}"
    );
}

/// A relative path is judged in the sandbox, and the judged path is the one that is sent.
#[test]
fn a_path_is_sent_as_it_was_judged() {
    let rig = rig();
    let secret = rig.place.write("secret", "");
    rig.place.write("allowed/file", "");
    rig.place.link("allowed/link", "file");
    rig.place.link("allowed/out", &secret);
    let mut proxy = rig.start();
    let allowed = rig.place.path("allowed");
    let allowed = allowed.to_str().unwrap();
    assert_eq!(
        proxy.call("rec__read", &json!({"path": format!("{allowed}/./link")})).good(),
        "did read"
    );
    assert_eq!(rig.received()[0]["arguments"], json!({"path": format!("{allowed}/file")}));
    for path in [
        format!("{allowed}/../secret"),
        format!("{allowed}/out"),
        format!("{allowed}_evil/x"),
        format!("{allowed}/\0"),
        "/etc/passwd".to_owned(),
        "~/.ssh/id_rsa".to_owned(),
        String::new(),
    ] {
        let answer = proxy.call("rec__read", &json!({"path": path}));
        assert!(answer.bad().starts_with("DENIED: "), "{path}: {}", answer.line);
    }
    assert_eq!(rig.received().len(), 1);
    proxy.finish();
}
