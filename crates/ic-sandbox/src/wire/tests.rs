use super::*;
use crate::catalogue::{ServerEntry, ToolEntry};

fn object(text: &str) -> Object {
    match Json::parse(text.as_bytes(), FRAME) {
        Ok(Json::Object(object)) => object,
        other => panic!("{text}: {other:?}"),
    }
}

#[track_caller]
fn check_said(said: &Said) {
    let text = said.write();
    assert_eq!(Said::read(text.as_bytes()).expect(&text), *said, "{text}");
}

#[track_caller]
fn check_refused(text: &str) {
    assert!(Said::read(text.as_bytes()).is_err(), "{text}");
}

#[track_caller]
fn check_reply(reply: &Reply) {
    let text = reply.write(7);
    assert_eq!(Reply::read(text.as_bytes(), 7).expect(&text), *reply, "{text}");
    assert!(Reply::read(text.as_bytes(), 8).is_err(), "{text}");
}

#[test]
fn what_a_worker_says_is_read_as_it_was_meant() {
    check_said(&Said::Ready);
    check_said(&Said::Started);
    check_said(&Said::Memory);
    check_said(&Said::Print { text: "a\n\"ä\u{0}😀".to_owned(), n_missing: 12 });
    let arguments = object(r#"{"path": "a", "deep": [{"say": "done"}], "n": 1.50}"#);
    let call = ToolCall {
        server: "files".parse().expect("a name"),
        tool: "read/it".parse().expect("a name"),
        arguments,
    };
    check_said(&Said::Call { id: u64::MAX, call });
    check_said(&Said::Done { value: None });
    check_said(&Said::Done { value: Some(String::new()) });
    check_said(&Said::Threw(Thrown {
        message: "Error: x".to_owned(),
        line: Some(3),
        column: None,
        stack: "at f".to_owned(),
    }));
}

#[test]
fn what_has_another_shape_is_no_message() {
    check_refused("");
    check_refused("null");
    check_refused("[]");
    check_refused("{}");
    check_refused(r#"{"say": "ready", "more": 1}"#);
    check_refused(r#"{"say": "ready"} {"say": "ready"}"#);
    check_refused(r#"{"say": "ready", "say": "ready"}"#);
    check_refused(r#"{"say": "unknown"}"#);
    check_refused(r#"{"say": "print", "text": "\ud800", "missing": 0}"#);
    check_refused(r#"{"say": "print", "text": "a"}"#);
    check_refused(r#"{"say": "print", "text": "a", "missing": -1}"#);
    check_refused(r#"{"say": "done"}"#);
    check_refused(r#"{"say": "done", "value": 1}"#);
    let call = r#"{"say": "call", "id": 1, "server": "a", "tool": "b", "arguments": {}}"#;
    assert!(Said::read(call.as_bytes()).is_ok());
    check_refused(&call.replace("{}", "[]"));
    check_refused(&call.replace(": 1", ": 1.5"));
    check_refused(&call.replace(": 1", ": \"1\""));
    check_refused(&call.replace("\"a\"", "\"../a\""));
    check_refused(&call.replace("\"b\"", "\"\""));
    check_refused(&call.replace("{}", &format!("{{\"a\": {}{}}}", "[".repeat(70), "]".repeat(70))));
}

#[test]
fn an_order_and_replies_arrive() {
    let tool = ToolEntry {
        name: "read".parse().expect("a name"),
        description: Some("Reads".to_owned()),
        input_schema: object(r#"{"type": "object"}"#),
        output_schema: None,
    };
    let other = ToolEntry { output_schema: Some(object("{}")), description: None, ..tool.clone() };
    let server = ServerEntry {
        name: "files".parse().expect("a name"),
        description: None,
        tools: vec![tool, other],
    };
    let order = RunOrder {
        source: "1\n2".to_owned(),
        arguments: vec!["a".to_owned(), String::new()],
        catalogue: Catalogue { servers: vec![server] },
        calls_max: 3,
        output_bytes_max: 4,
    };
    assert_eq!(RunOrder::read(order.write().as_bytes()).expect("an order"), order);
    check_reply(&Reply::Value(Json::Null));
    check_reply(&Reply::Value(Json::Object(object(r#"{"a": [1, "b"]}"#))));
    check_reply(&Reply::Failed("no".to_owned()));
    check_reply(&Reply::Denied(Denial {
        message: "DENIED".to_owned(),
        decision: "deny".to_owned(),
        rule: "r".to_owned(),
        reason: "because".to_owned(),
        next_step: Some("do not".to_owned()),
    }));
}
