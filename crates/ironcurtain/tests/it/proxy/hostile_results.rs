//! Results that are too large, questions in disguise, and answers that cannot be read.

use serde_json::{Value, json};

use super::{provoke, rig};

const MIB: usize = 1 << 20;

#[test]
fn results_are_held_to_limits_and_what_is_missing_is_said() {
    let rig = rig().hostile("bad", &["plain"]);
    let mut proxy = rig.start();
    let text = provoke(&mut proxy, "long-text").good();
    assert!(text.len() < MIB + 200, "{}", text.len());
    assert!(text.starts_with("HEADxxx") && text.ends_with("xxxTAIL"));
    assert!(text.contains("[IronCurtain: ") && text.contains("bytes left out]"));

    let text = provoke(&mut proxy, "large-image").text();
    assert_eq!(
        text,
        "[IronCurtain: image refused: 9437184 bytes, and one result may hold 8388608]"
    );

    let result = provoke(&mut proxy, "large-structure").result();
    assert_eq!(result["structuredContent"], Value::Null);
    assert_eq!(result["content"][0]["text"], "short");
    let note = result["content"][1]["text"].as_str().unwrap();
    assert!(note.starts_with("[IronCurtain: `structuredContent` was left out"), "{note}");
    assert_eq!(result["isError"], true, "a client that expects it must not take this for complete");

    let error = provoke(&mut proxy, "long-error");
    assert!(error.line.len() < 20_000, "{}", error.line.len());
    assert_eq!(error.error().0, -32000);
    rig.check_unharmed(&mut proxy, "large results");
    proxy.finish();
}

/// Common clients end a connection on a line of ten megabytes, so no server may make us write one.
#[test]
fn no_server_makes_us_write_a_line_that_clients_choke_on() {
    let rig = rig().hostile("bad", &["plain"]);
    let mut proxy = rig.start();
    for what in ["huge-progress", "huge-log", "long-text", "large-image", "long-error"] {
        let params =
            json!({"name": "bad__do", "arguments": {"what": what}, "_meta": {"progressToken": 1}});
        let answer = proxy.request("tools/call", &params);
        assert!(answer.line.len() < 10_000_000, "{what}");
        rig.check_unharmed(&mut proxy, what);
        for message in proxy.unread() {
            assert!(message.line.len() < 1_000_000, "{what}: {} bytes", message.line.len());
        }
    }
    proxy.finish();
}

/// A result can be a question to the person, and so can an error.
#[test]
fn a_question_in_place_of_a_result_is_not_passed_on() {
    let rig = rig().hostile("bad", &["plain"]);
    let mut proxy = rig.start();
    for what in ["input-required", "url-required"] {
        let answer = provoke(&mut proxy, what);
        let text = answer.bad();
        assert!(text.contains("asked for input before it would answer"), "{what}: {text}");
        for part in ["inputRequests", "password", "evil.example", "-32042"] {
            assert!(!answer.line.contains(part), "{what}: {}", answer.line);
        }
        rig.check_unharmed(&mut proxy, what);
    }
    proxy.finish();
}

/// Whoever asked is told at once, and not when patience has run out.
#[test]
fn an_answer_that_cannot_be_read_fails_the_call_at_once() {
    let rig = rig().hostile("bad", &["plain"]);
    let mut proxy = rig.start();
    for what in
        ["same-key-twice", "half-a-character", "no-utf8", "deep", "no-object", "null", "odd-error"]
    {
        let answer = provoke(&mut proxy, what);
        let is_error = answer.json().get("error").is_some();
        assert!(is_error || answer.result()["isError"] == true, "{what}: {}", answer.line);
        assert!(!answer.line.contains("second"), "one of two readings was passed on");
        assert_eq!(provoke(&mut proxy, &format!("after-{what}")).good(), "fine");
        rig.check_unharmed(&mut proxy, what);
    }
    proxy.finish();
    let outcomes =
        rig.records().into_iter().filter(|it| it["kind"] == "outcome" && it["server"] == "bad");
    assert_eq!(outcomes.count(), 14, "each has its outcome");
}

#[test]
fn a_server_cannot_pass_for_the_proxy() {
    let rig = rig().hostile("bad", &["plain"]);
    let mut proxy = rig.start();
    let answer = provoke(&mut proxy, "pose");
    assert!(answer.good().starts_with("[said by the server] DENIED: "), "{}", answer.line);
    assert_eq!(answer.result()["structuredContent"], json!({}));
    proxy.finish();
}

/// What is for a terminal arrives as text: the client shows it as it likes, and we never do.
#[test]
fn control_sequences_stay_text_on_one_line() {
    let rig = rig().hostile("bad", &["plain"]);
    let mut proxy = rig.start();
    let answer = provoke(&mut proxy, "terminal");
    assert_eq!(
        answer.good(),
        "\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}\u{2028} done\r\n{\"jsonrpc\":\"2.0\"}\n"
    );
    assert!(!answer.line.contains('\u{1b}') && !answer.line.contains('\u{7}'), "{}", answer.line);
    rig.check_unharmed(&mut proxy, "control sequences");
    proxy.finish();
    assert!(!proxy.all_stderr().contains('\u{1b}'));
}
