//! Bytes that are no message: none of them reaches a server, and none of them stops the proxy.

use base64::Engine as _;
use ic_testkit::proxy::Reads;
use ic_testkit::shared;
use serde_json::json;

use super::{audit_log, check_serves, rig};

const PARSE_ERROR: i64 = -32_700;
const INVALID_REQUEST: i64 = -32_600;

/// A call that would be allowed, with `arguments` as they are written, under the id 0.
fn call_with(arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{{"name":"rec__echo","arguments":{arguments}}}}}"#
    )
}

/// Each class of what is not valid JSON, or JSON that two programs could read in two ways.
#[test]
fn what_could_be_read_in_two_ways_reaches_no_backend() {
    let rig = rig();
    let mut proxy = rig.start();
    let good = call_with(r#"{"value":1}"#);
    let classes: Vec<Vec<u8>> = vec![
        b"{".to_vec(),
        b"}".to_vec(),
        b"nonsense".to_vec(),
        b"\0".to_vec(),
        b"\x1b[2J".to_vec(),
        b"\xff\xfe{\0}\0".to_vec(),
        [b"\xef\xbb\xbf", good.as_bytes()].concat(),
        [good.as_bytes(), b"\0"].concat(),
        [good.as_bytes(), b"{}"].concat(),
        [good.as_bytes(), good.as_bytes()].concat(),
        [good.as_bytes(), b","].concat(),
        [b")]}'", good.as_bytes()].concat(),
        good.replace('"', "'").into_bytes(),
        good.replace("\"value\"", "value").into_bytes(),
        good.replace('}', ",}").into_bytes(),
        good.replace(":1}", ":1 /* x */}").into_bytes(),
        format!("// x\r{good}").into_bytes(),
        // The same key twice, at every level; escapes do not hide it.
        good.replace("\"id\":0", "\"id\":0,\"id\":0").into_bytes(),
        good.replace("\"id\":0", "\"id\":0,\"\\u0069d\":1").into_bytes(),
        good.replace("\"method\":", "\"method\":\"ping\",\"method\":").into_bytes(),
        good.replace("\"name\":", "\"name\":\"rec__forbidden\",\"name\":").into_bytes(),
        good.replace("\"params\":", "\"params\":{},\"params\":").into_bytes(),
        good.replace("\"arguments\":", "\"arguments\":{},\"arguments\":").into_bytes(),
        call_with(r#"{"value":1,"value":2}"#).into_bytes(),
        call_with(r#"{"value":1,"v\u0061lue":2}"#).into_bytes(),
        call_with(r#"{"value":{"a":{"b":1,"b":2}}}"#).into_bytes(),
        call_with(r#"{"value":[{"":1,"":2}]}"#).into_bytes(),
        // Text that is none.
        call_with(r#"{"value":"\ud800"}"#).into_bytes(),
        call_with(r#"{"value":"\udc00\ud800"}"#).into_bytes(),
        call_with(r#"{"value":"\x41"}"#).into_bytes(),
        call_with(r#"{"value":"\u00g0"}"#).into_bytes(),
        call_with("{\"value\":\"a\tb\"}").into_bytes(),
        call_with("{\"value\":\"a\0b\"}").into_bytes(),
        [b"{\"value\":\"\xc0\xaf\"}".as_slice()].concat(),
        call_with("{\"value\":\"X\"}")
            .into_bytes()
            .iter()
            .map(|b| if *b == b'X' { 0xff } else { *b })
            .collect(),
        // Numbers that are none.
        call_with(r#"{"value":01}"#).into_bytes(),
        call_with(r#"{"value":+1}"#).into_bytes(),
        call_with(r#"{"value":.5}"#).into_bytes(),
        call_with(r#"{"value":1.}"#).into_bytes(),
        call_with(r#"{"value":0x1}"#).into_bytes(),
        call_with(r#"{"value":NaN}"#).into_bytes(),
        call_with(r#"{"value":-Infinity}"#).into_bytes(),
        call_with(r#"{"value":True}"#).into_bytes(),
        // Too deep.
        call_with(&format!("{{\"value\":{}1{}}}", "[".repeat(100), "]".repeat(100))).into_bytes(),
        "[".repeat(1_000_000).into_bytes(),
        "{\"a\":".repeat(1_000_000).into_bytes(),
    ];
    let n_classes = classes.len();
    for line in classes {
        let shown = String::from_utf8_lossy(&line).chars().take(120).collect::<String>();
        proxy.send([&line[..], b"\n"].concat());
        let (code, _) = proxy.answer("null").error();
        assert!([PARSE_ERROR, INVALID_REQUEST].contains(&code), "{shown}: {code}");
        rig.check_unharmed(&mut proxy, &shown);
    }
    assert_eq!(rig.received().len(), n_classes, "only the calls in between");
    assert_eq!(rig.intents("deny").len(), n_classes, "each is recorded");
    proxy.finish();
}

/// The corpus of the well-known suite, as whole lines and as arguments of a call.
#[test]
fn malformed_json_of_the_public_suite_reaches_no_backend() {
    let Some(vectors) = shared::corpus("json_parsing") else { return };
    let rig = rig();
    let mut proxy = rig.start();
    proxy.call("rec__echo", &json!({})).good();
    let (mut n_sent, mut n_passed) = (0, 0);
    for vector in &vectors {
        let bytes = match (vector["b64"].as_str(), &vector["generator"]) {
            (Some(text), _) => base64::engine::general_purpose::STANDARD.decode(text).unwrap(),
            (None, made) => {
                let times = usize::try_from(made["times"].as_u64().unwrap()).unwrap();
                made["repeat"].as_str().unwrap().repeat(times).into_bytes()
            }
        };
        // A line break ends a line, so what holds one is two lines, and none of them is a call.
        if bytes.contains(&b'\n') {
            continue;
        }
        let before = format!(
            r#"{{"jsonrpc":"2.0","id":"v{n_sent}","method":"tools/call","params":{{"name":"rec__echo","arguments":{{"value":"#
        );
        proxy.send([before.as_bytes(), &bytes, b"}}}\n"].concat());
        let answer = proxy.answer_to_any(&["null", &format!("\"v{n_sent}\"")]);
        let is_passed = answer.line.contains("\"result\"");
        let expect = vector["expect"].as_str().unwrap();
        match expect.split([':', ',', ' ']).next().unwrap() {
            "parser_must_reject" => assert!(!is_passed, "{vector}"),
            "parser_must_accept" => {
                // A key that occurs twice is JSON, and is refused all the same.
                let is_double = vector["name"].as_str().unwrap().contains("duplicated_key");
                assert_ne!(is_passed, is_double, "{vector}");
            }
            "either" => {}
            other => panic!("unknown expectation {other}"),
        }
        n_sent += 1;
        n_passed += usize::from(is_passed);
    }
    check_serves(&mut proxy, "the suite");
    proxy.finish();
    assert!(300 < n_sent && 0 < n_passed, "{n_sent} sent, {n_passed} passed");
    // Some of the numbers are too large for this test to read, so lines are counted.
    let log = std::fs::read_to_string(audit_log(&rig.place)).unwrap();
    let allowed = log.lines().filter(|it| it.contains("\"intent\"") && it.contains("\"allow\""));
    let received = rig.lines("rec", "received").into_iter().filter(|it| it.contains("tools/call"));
    assert_eq!(
        received.count(),
        allowed.count(),
        "what was received is what is recorded as allowed"
    );
}

/// JSON that is no request: it is answered, and the answer never pretends to know an id.
#[test]
fn what_is_no_message_is_answered_and_recorded() {
    let rig = rig();
    let mut proxy = rig.start();
    let long = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"ping"}}"#, "i".repeat(300));
    let huge = format!(r#"{{"jsonrpc":"2.0","id":{},"method":"ping"}}"#, "9".repeat(300));
    let lines = [
        "7",
        "null",
        "\"tools/call\"",
        "{}",
        r#"{"id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1e3,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":["1"],"method":"ping"}"#,
        &long,
        &huge,
        r#"{"jsonrpc":"2.0","id":"odd","method":7}"#,
        r#"{"jsonrpc":"2.0","id":"odd","method":null}"#,
        r#"{"jsonrpc":"2.0","id":"odd","method":["tools/call"]}"#,
        r#"{"jsonrpc":"2.0","id":"odd","method":"tools/call","params":[]}"#,
        r#"{"jsonrpc":"2.0","id":"odd","method":"tools/call","params":null}"#,
        r#"{"jsonrpc":"2.0","id":"odd","method":"tools/call","params":"rec__echo"}"#,
        r#"{"jsonrpc":"2.0","id":"odd","method":"ping","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"odd","method":"ping","error":{"code":1,"message":""}}"#,
    ];
    for line in lines {
        proxy.send_line(line);
        // An id that could be read is given back, so that whoever waits is answered.
        let id = match () {
            () if line.contains("odd") => "\"odd\"",
            () if line.contains("\"id\":1,") => "1",
            () => "null",
        };
        assert_eq!(proxy.answer(id).error().0, INVALID_REQUEST, "{line}");
        let shown: String = line.chars().take(100).collect();
        rig.check_unharmed(&mut proxy, &shown);
    }
    assert_eq!(rig.intents("deny").len(), lines.len());
    proxy.finish();
}

#[test]
fn a_batch_reaches_no_backend() {
    let rig = rig();
    let mut proxy = rig.start();
    let call = |id: u64, tool: &str| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": tool, "arguments": {}}})
    };
    for batch in [
        json!([]),
        json!([call(900, "rec__echo")]),
        json!([call(900, "rec__echo"), call(901, "rec__forbidden")]),
        json!([call(900, "rec__forbidden"), call(901, "rec__echo")]),
        json!([[call(900, "rec__echo")]]),
        json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}]),
        json!([1, 2]),
    ] {
        proxy.send_line(&batch.to_string());
        assert_eq!(
            proxy.answer("null").error(),
            (INVALID_REQUEST, "batches are not accepted".to_owned())
        );
        rig.check_unharmed(&mut proxy, &batch.to_string());
    }
    assert!(proxy.unread().is_empty(), "no part of a batch is answered by itself");
    proxy.finish();
}

#[test]
fn a_line_beyond_the_limit_is_refused_and_not_held() {
    let rig = rig();
    let mut proxy = rig.start();
    rig.check_unharmed(&mut proxy, "nothing");
    let before = proxy.process().peak_mib();
    let long = call_with(&json!({"value": "x".repeat(17 << 20)}).to_string());
    for _ in 0..3 {
        proxy.send_line(&long);
        let error = proxy.answer("null").error();
        assert_eq!(error, (INVALID_REQUEST, "the message is longer than 16 MiB".to_owned()));
    }
    // A hundred megabytes before the line ends.
    let part = vec![b'['; 1 << 20];
    for _ in 0..100 {
        proxy.send(&part);
    }
    proxy.send("\n");
    assert_eq!(proxy.answer("null").error().0, INVALID_REQUEST);
    rig.check_unharmed(&mut proxy, "long lines");
    let peak = proxy.process().peak_mib();
    assert!(peak < before + 64, "{before} MiB before, {peak} MiB after");
    proxy.finish();
}

/// How bytes come in makes no difference.
#[test]
fn messages_may_come_in_any_pieces() {
    let rig = rig();
    let mut proxy = rig.start();
    let line = |id: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":"{id}","method":"tools/call","params":{{"name":"rec__echo","arguments":{{"value":"ä{id}"}}}}}}"#
        )
    };
    for byte in format!("{}\n", line("slowly")).bytes() {
        proxy.send([byte]);
    }
    assert_eq!(proxy.answer("\"slowly\"").good(), "{\"value\":\"äslowly\"}");
    let several: String = (0..50).map(|n| format!("{}\n", line(&format!("n{n}")))).collect();
    proxy.send(several);
    for n in 0..50 {
        assert_eq!(proxy.answer(&format!("\"n{n}\"")).good(), format!("{{\"value\":\"än{n}\"}}"));
    }
    proxy.send(format!("{}\r\n\r\n\n  \t\n{}\n", line("crlf"), line("last")));
    for id in ["crlf", "last"] {
        assert_eq!(proxy.answer(&format!("\"{id}\"")).good(), format!("{{\"value\":\"ä{id}\"}}"));
    }
    proxy.send(format!("   {}   \n", line("spaces")));
    proxy.answer("\"spaces\"").good();
    assert!(proxy.unread().is_empty(), "empty lines are nothing");
    // What is never ended by a line break is never done.
    proxy.send(line("unfinished"));
    proxy.finish();
    rig.check_received();
    assert!(!rig.records().iter().any(|it| it.to_string().contains("unfinished")));
}

#[test]
fn garbage_before_the_first_word_does_not_keep_a_client_out() {
    let rig = rig();
    let mut proxy = rig.start_silent(Reads::Everything);
    for garbage in ["{", "[]", "\u{1}", "7", r#"{"jsonrpc":"2.0","id":1,"result":{}}"#] {
        proxy.send_line(garbage);
    }
    proxy.initialize();
    rig.check_unharmed(&mut proxy, "garbage");
    proxy.finish();
}
