//! Hostile inputs from public collections, through the real binary: nothing is allowed that must not
//! be, and nothing crashes.
//!
//! The collections lie beside the project. Below them, the classes that they hold, as tables of our
//! own that run everywhere.

use ic_testkit::{Place, shared};
use serde_json::{Value, json};

use crate::{batch, json_lines, place};

/// A policy with one rule, for one tool with one argument `value` of `role`.
fn policy(place: &Place, role: &str, condition: &Value) -> Vec<String> {
    let compiled = json!({"rules": [
        {"name": "allow-it", "if": condition, "then": "allow", "reason": "the one rule"}
    ]});
    let annotations = json!({"servers": {"s": {"tools": [
        {"toolName": "t", "args": {"value": [role]}}
    ]}}});
    place.write("policy/compiled-policy.json", compiled.to_string());
    place.write("policy/tool-annotations.json", annotations.to_string());
    ["policy", "check", "--requests", "-", "--policy"]
        .map(String::from)
        .into_iter()
        .chain([place.path("policy").to_str().unwrap().to_owned()])
        .collect()
}

/// Asks about each value; returns the decisions in order.
fn decisions(place: &Place, arguments: &[String], values: &[Value]) -> Vec<String> {
    let input = batch("s", "t", "value", values);
    let output = place.run_with_input(arguments, input.as_bytes());
    assert_eq!(output.code, 0, "{}", output.stderr);
    let decisions: Vec<String> = json_lines(&output)
        .iter()
        .map(|answer| answer["decision"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(decisions.len(), values.len());
    decisions
}

/// Asks about each value and expects the same decision for all.
#[track_caller]
fn check_each(place: &Place, arguments: &[String], expected: &str, values: &[&str]) {
    let values: Vec<Value> = values.iter().map(|value| json!(value)).collect();
    for (value, decision) in values.iter().zip(decisions(place, arguments, &values)) {
        assert_eq!(decision, expected, "{value}");
    }
}

fn inputs(vectors: &[Value]) -> Vec<Value> {
    vectors.iter().map(|vector| vector["input"].clone()).collect()
}

fn paths_in_sandbox(place: &Place) -> Vec<String> {
    let condition = json!({"paths": {"roles": ["read-path"], "within": "/srv/sandbox"}});
    let mut arguments = policy(place, "read-path", &condition);
    arguments.extend(["--sandbox".to_owned(), "/srv/sandbox".to_owned()]);
    arguments
}

fn urls_allowed(place: &Place, pattern: &str) -> Vec<String> {
    policy(place, "fetch-url", &json!({"domains": {"roles": ["fetch-url"], "allowed": [pattern]}}))
}

#[test]
fn path_traversals_stay_out() {
    let Some(vectors) = shared::corpus("path_traversal") else { return };
    let place = place();
    let decisions = decisions(&place, &paths_in_sandbox(&place), &inputs(&vectors));
    let mut n_not_inside = 0;
    for (vector, decision) in vectors.iter().zip(&decisions) {
        match vector["expect"].as_str().unwrap() {
            "not_inside" | "must_reject" | "must_reject_or_resolve_as_file_url" => {
                n_not_inside += 1;
                assert_ne!(decision, "allow", "{vector}");
            }
            "inside" => assert_eq!(decision, "allow", "{vector}"),
            // What is sent has the bytes that were judged; a test of the resolver shows it.
            "inside_only_if_byte_identical" | "either" | "not_inside_if_downstream_expands" => {}
            other => panic!("unknown expectation {other}"),
        }
    }
    assert!(300 < n_not_inside);
    let n_allowed = decisions.iter().filter(|decision| *decision == "allow").count();
    assert!(0 < n_allowed, "a policy that denies everything would pass, too");
}

#[test]
fn confusing_urls_are_not_the_allowed_host() {
    for (corpus, pattern) in [
        ("url_allowlist_confusion", "https://docs.example.com"),
        ("url_schemes", "https://docs.example.com"),
        ("url_ssrf", "*"),
    ] {
        let Some(vectors) = shared::corpus(corpus) else { return };
        let place = place();
        let decisions = decisions(&place, &urls_allowed(&place, pattern), &inputs(&vectors));
        for (vector, decision) in vectors.iter().zip(&decisions) {
            match vector["expect"].as_str().unwrap() {
                "must_not_allow"
                | "must_reject"
                | "must_not_be_public"
                | "must_not_allow (scheme)" => {
                    assert_eq!(decision, "deny", "{vector}");
                }
                "allow_ok" => assert_eq!(decision, "allow", "{vector}"),
                other => assert!(other.starts_with("either"), "unknown expectation {other}"),
            }
        }
    }
}

/// The host that is judged is the one that a WHATWG parser connects to, or the call is refused.
#[test]
fn the_judged_host_is_the_one_that_is_connected_to() {
    let Some(vectors) = shared::corpus("url_whatwg") else { return };
    let mut n_same = 0;
    for (host, of_host) in by_expected_host(&vectors) {
        let place = place();
        let arguments = match host.as_deref() {
            None | Some("") => urls_allowed(&place, "*"),
            // Each host is allowed on every port that the vectors name, and `*` is not.
            Some(_) => host_policy(&place, &of_host),
        };
        let decisions = decisions(&place, &arguments, &inputs(&of_host));
        for (vector, decision) in of_host.iter().zip(decisions) {
            let is_web =
                ["http:", "https:"].contains(&vector["expect"]["protocol"].as_str().unwrap_or(""));
            if !is_web || host.as_deref().is_none_or(str::is_empty) {
                assert_ne!(decision, "allow", "{vector}");
            }
            n_same += usize::from(decision == "allow");
        }
    }
    assert!(60 < n_same, "only {n_same} URLs had the expected host");
}

fn by_expected_host(vectors: &[Value]) -> Vec<(Option<String>, Vec<Value>)> {
    let mut groups: Vec<(Option<String>, Vec<Value>)> = Vec::new();
    for vector in vectors {
        let host = vector["expect"]["hostname"].as_str().map(ToOwned::to_owned);
        match groups.iter_mut().find(|(other, _)| *other == host) {
            Some((_, group)) => group.push(vector.clone()),
            None => groups.push((host, vec![vector.clone()])),
        }
    }
    groups
}

/// Allows just the host that the vectors expect, on the ports that they expect.
fn host_policy(place: &Place, of_host: &[Value]) -> Vec<String> {
    let mut patterns: Vec<String> = Vec::new();
    for vector in of_host {
        let expect = &vector["expect"];
        let host = expect["hostname"].as_str().unwrap();
        match expect["port"].as_str().unwrap_or("") {
            "" => patterns.push(host.to_owned()),
            port => patterns.push(format!("{host}:{port}")),
        }
    }
    // Some hosts, such as `a&b`, no pattern can name; then nothing may be allowed.
    patterns.retain(|pattern| ic_policy::DomainPattern::parse(pattern).is_ok());
    policy(place, "fetch-url", &json!({"domains": {"roles": ["fetch-url"], "allowed": patterns}}))
}

#[test]
fn naughty_strings_change_no_verdict() {
    let Some(vectors) = shared::corpus("naughty_strings") else { return };
    for role in ["none", "commit-message", "email-body", "email-address", "share-permission"] {
        let place = place();
        let arguments = policy(&place, role, &json!({"server": ["s"]}));
        for (vector, decision) in
            vectors.iter().zip(decisions(&place, &arguments, &inputs(&vectors)))
        {
            assert_eq!(decision, "allow", "{role} {vector}");
        }
    }
}

#[test]
fn naughty_strings_are_shown_escaped() {
    let Some(vectors) = shared::corpus("naughty_strings") else { return };
    let place = place();
    let arguments = policy(&place, "none", &json!({"server": ["s"]}));
    let policy = arguments.last().unwrap();
    for vector in vectors.iter().filter(|vector| !vector["input"].as_str().unwrap().contains('\0'))
    {
        // An argument of that name is unknown, so the name comes back in the reason.
        let name = vector["input"].as_str().unwrap();
        let call = json!({name: 1}).to_string();
        let output = place.run(["policy", "check", "--policy", policy, "s", "t", &call]);
        assert_eq!(output.code, 4, "{vector}: {}", output.stderr);
        assert!(
            !output.stdout.contains('\u{1b}') && !output.stdout.contains('\u{202e}'),
            "{vector}"
        );
        assert_eq!(output.stdout.lines().count(), 3, "{vector}: {}", output.stdout);
    }
}

#[test]
fn json_documents_are_refused_or_judged_as_they_are() {
    let Some(vectors) = shared::corpus("json_parsing") else { return };
    let place = place();
    let arguments = policy(&place, "none", &json!({"server": ["s"]}));
    let mut whole = Vec::new();
    let mut spliced = Vec::new();
    let mut expected = Vec::new();
    for vector in vectors.iter().filter(|vector| vector["b64"].is_string()) {
        let document = base64(vector["b64"].as_str().unwrap());
        // A newline would end the line of the batch; JSON takes a space in its place, or refuses both.
        let line: Vec<u8> = document.iter().map(|b| if *b == b'\n' { b' ' } else { *b }).collect();
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        whole.extend_from_slice(&line);
        whole.push(b'\n');
        spliced.extend_from_slice(br#"{"server":"s","tool":"t","arguments":{"value":"#);
        spliced.extend_from_slice(&line);
        spliced.extend_from_slice(b"}}\n");
        expected.push(vector);
    }
    // As a whole frame, no document is a request.
    let output = place.run_with_input(&arguments, &whole);
    assert_eq!((output.code, json_lines(&output).len()), (1, expected.len()), "{}", output.stderr);
    assert!(
        json_lines(&output).iter().all(|answer| answer["rule"] == "structural-invalid-request")
    );
    let output = place.run_with_input(&arguments, &spliced);
    let answers = json_lines(&output);
    assert_eq!(answers.len(), expected.len());
    for (vector, answer) in expected.iter().zip(&answers) {
        let name = vector["name"].as_str().unwrap();
        match vector["expect"].as_str().unwrap() {
            // A newline in a string is refused; we made a space of it, which is not.
            _ if name == "n_string_unescaped_newline.json" => {}
            expect if expect.starts_with("parser_must_reject") => {
                assert_eq!(answer["rule"], "structural-invalid-request", "{vector}");
            }
            "parser_must_accept" if name.contains("duplicated_key") => {
                assert_eq!(answer["rule"], "structural-invalid-request", "{vector}");
            }
            "parser_must_accept" => assert_eq!(answer["decision"], "allow", "{vector}"),
            _ => {}
        }
    }
}

fn base64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut bytes = Vec::new();
    let (mut bits, mut n_bits) = (0_u32, 0);
    for byte in text.bytes().filter(|byte| *byte != b'=') {
        bits = bits << 6 | u32::from(digit(byte));
        n_bits += 6;
        if 8 <= n_bits {
            n_bits -= 8;
            bytes.push(u8::try_from(bits >> n_bits & 0xff).unwrap());
        }
    }
    bytes
}

#[test]
fn classes_of_path_traversal() {
    let place = place();
    let arguments = paths_in_sandbox(&place);
    let check = |expected: &str, values: &[&str]| check_each(&place, &arguments, expected, values);
    check(
        "allow",
        &[
            "a",
            "a/b/../c",
            "./a",
            "/srv/sandbox",
            "/srv//sandbox/./x",
            "a..b",
            "..a",
            "%2e%2e/x",
            "a\\..\\b",
            "ünï",
        ],
    );
    check(
        "deny",
        &[
            "..",
            "../x",
            "a/../../x",
            "/srv/sandbox/../../etc/passwd",
            "/srv/sandbox-evil/x",
            "/srv",
            "/",
            "/etc/passwd",
            "a\0b",
            "a\nb",
            "",
            "-rf",
            "~root/x",
            "~evil",
            "file:///etc/passwd",
            "file:/srv/sandbox/a",
            "FILE:a",
            "http://x/y",
            &"a/".repeat(2100),
            &"../".repeat(2000),
        ],
    );
}

#[test]
fn classes_of_url_confusion() {
    let place = place();
    let arguments = urls_allowed(&place, "https://docs.example.com");
    let check = |expected: &str, values: &[&str]| check_each(&place, &arguments, expected, values);
    check(
        "allow",
        &[
            "https://docs.example.com",
            "HTTPS://DOCS.example.com:443/x?y#z",
            "https://docs.example.com./x",
            " https://docs.example.com ",
        ],
    );
    check(
        "deny",
        &[
            "http://docs.example.com/",
            "https://docs.example.com:444/",
            "https://docs.example.com.evil.test/",
            "https://evil.test/docs.example.com",
            "https://docs.example.com@evil.test/",
            "https://user@docs.example.com/",
            "https://evil.test\\@docs.example.com/",
            "https://evil.test#@docs.example.com",
            "https://docs.example.com%00.evil.test/",
            "https://docs.example.com%2eevil.test/",
            "https://docs\u{3002}example.com.evil.test/",
            "//docs.example.com/",
            "docs.example.com",
            "ftp://docs.example.com/",
            "javascript:alert(1)//https://docs.example.com",
            "file://docs.example.com/etc/passwd",
            "data:text/plain,x",
            "https://docs.example.com\n.evil.test",
            "\thttps://docs.example.com",
            "-https://docs.example.com",
            "https://",
            "",
        ],
    );
}

#[test]
fn classes_of_server_side_request_forgery() {
    let place = place();
    let arguments = urls_allowed(&place, "*");
    let values: Vec<Value> = [
        "http://127.0.0.1/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0177.0.0.1/",
        "http://0/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[fe80::1]/",
        "http://169.254.169.254/latest/meta-data",
        "http://metadata.google.internal/",
        "http://localhost/",
        "http://a.localhost/",
        "http://printer/",
        "http://router.lan/",
        "http://kubernetes.default.svc/",
        "http://example.com:8080/",
        "http://8.8.8.8/",
        "gopher://example.com/",
    ]
    .iter()
    .map(|value| json!(value))
    .collect();
    for (value, decision) in values.iter().zip(decisions(&place, &arguments, &values)) {
        assert_eq!(decision, "deny", "{value}");
    }
    assert_eq!(decisions(&place, &arguments, &[json!("https://example.com/")]), ["allow"]);
}
