//! Mutated streams of lines: however they are cut they are the same, and a message survives its own line.

use ic_fuzz::{Outcome, Target, splits};

use super::*;
use crate::line::{Line, Lines};

/// Short, so that mutated lines are often too long.
const LINE_BYTES_MAX: usize = 600;

#[test]
fn fuzz_mcp_line() {
    Target::new("mcp-line")
        .seeds([
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"read_file\",\"arguments\":{\"path\":\"/a\"}}}\n",
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"x\"}}\n\n",
            "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{\"content\":[]}}\r\n{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"m\",\"data\":1}}\n",
            "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]\n",
        ])
        .corpus("json_parsing")
        .words([
            "\"id\":", "\"method\":", "\"params\":", "\"result\":", "\"error\":", "\"jsonrpc\":\"2.0\"", "\"code\":",
            "\"message\":", "\"data\":", "null", "1", "-1", "1.0", "1e3", "\"a\"", "{}", "[]", ",", "\n", "\r\n",
            "\\n", "\\u000a", "\u{2028}",
        ])
        .run(check);
}

#[test]
fn fuzz_answered_id() {
    Target::new("answered-id")
        .seeds([
            r#"{"jsonrpc":"2.0","id":1,"result":{"a":[1,{"id":2}],"b":"}\",{"}}"#,
            r#" {"id" : 18446744073709551615 , "error":{"code":1,"message":"x"}, "a":1, "a":2} "#,
            r#"{"id":7,"method":"x"}"#,
            r#"{"\u0069d":7,"result":"\ud800"}"#,
        ])
        .words([
            "\"id\":",
            "\"method\":",
            "\"result\":",
            "\"",
            "\\\"",
            "\\",
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "1",
            "-1",
            "1.0",
            "null",
            "\u{e9}",
        ])
        .run(|bytes| {
            let ours = answered_id(bytes);
            // What both can read they read alike; ours also reads lines that are not valid.
            if let Ok(theirs) = by_serde(bytes) {
                assert_eq!(ours, theirs, "it is read differently");
            }
            match ours {
                Some(id) => Outcome::accepted((id.as_number().is_some(), bytes.len().ilog2())),
                None => Outcome::refused(Message::parse(bytes, JsonLimits::CALL).is_ok()),
            }
        });
}

/// A line that another parser cannot read as an object.
struct Unread;

/// The id by the derived reader of another parser.
fn by_serde(line: &[u8]) -> Result<Option<Id>, Unread> {
    #[derive(serde::Deserialize)]
    struct Head {
        id: Option<serde_json::Value>,
        method: Option<serde::de::IgnoredAny>,
    }
    if line.trim_ascii().first() != Some(&b'{') {
        return Err(Unread);
    }
    let head: Head = serde_json::from_slice(line).map_err(|_| Unread)?;
    let Some(id) = head.id.filter(|_| head.method.is_none()) else { return Ok(None) };
    // Numbers come back as they were written only where they are whole and fit.
    match id {
        serde_json::Value::Number(id) if id.is_u64() => Ok(id.as_u64().map(Id::number)),
        serde_json::Value::String(id) => Ok(Id::of_json(Json::from(id)).ok()),
        _ => Err(Unread),
    }
}

fn check(bytes: &[u8]) -> Outcome {
    let whole = lines(&[bytes]);
    for pieces in splits(bytes) {
        assert_eq!(lines(&pieces), whole, "a cut makes a difference");
    }
    let expected: Vec<Option<Vec<u8>>> = bytes
        .split_inclusive(|byte| *byte == b'\n')
        .filter_map(|line| line.strip_suffix(b"\n"))
        .map(|line| (line.len() <= LINE_BYTES_MAX).then(|| line.to_vec()))
        .collect();
    assert_eq!(whole, expected);
    let rest = bytes.rsplit(|byte| *byte == b'\n').next().unwrap_or_default().to_vec();
    let kinds: Vec<&str> =
        whole.iter().flatten().chain([&rest]).map(|line| survives(line)).collect();
    let is_accepted =
        kinds.iter().any(|kind| ["request", "notification", "response"].contains(kind));
    if is_accepted {
        Outcome::accepted(kinds.iter().take(3).collect::<Vec<_>>())
    } else {
        Outcome::refused(kinds.last())
    }
}

/// Takes every line out, however many there are in a piece; one that is too long is `None`.
fn lines(pieces: &[&[u8]]) -> Vec<Option<Vec<u8>>> {
    let (mut lines, mut found) = (Lines::new(LINE_BYTES_MAX), Vec::new());
    for piece in pieces {
        lines.feed(piece);
        while let Some(line) = lines.next() {
            found.push(match line {
                Line::Whole(bytes) => Some(bytes.to_vec()),
                Line::TooLong => None,
            });
        }
    }
    found
}

fn survives(line: &[u8]) -> &'static str {
    match Message::parse(line, JsonLimits::CALL) {
        Ok(message) => {
            let text = message.to_line();
            assert_eq!(text.matches('\n').count(), 1, "it is written on several lines");
            let again = Message::parse(text.trim_end_matches('\n').as_bytes(), JsonLimits::CALL);
            assert_eq!(again.as_ref(), Ok(&message), "it is not written back as it was");
            let json = Json::parse(line, JsonLimits::CALL).unwrap();
            let Json::Object(object) = json else { panic!("a message is an object") };
            match &message {
                Message::Request(request) => {
                    assert_eq!(Some(&request.id.to_json()), object.get("id"));
                    assert_eq!(
                        Some(request.method.as_str()),
                        object.get("method").and_then(Json::as_str)
                    );
                    "request"
                }
                Message::Notification(note) => {
                    assert_eq!(None, object.get("id"));
                    assert_eq!(
                        Some(note.method.as_str()),
                        object.get("method").and_then(Json::as_str)
                    );
                    "notification"
                }
                Message::Response(_) => {
                    assert_eq!(None, object.get("method"), "a request is taken for a response");
                    "response"
                }
            }
        }
        Err(MessageFault::Json(_)) => "no JSON",
        Err(MessageFault::Batch) => "batch",
        Err(MessageFault::Shape { reason, .. }) => reason,
    }
}
