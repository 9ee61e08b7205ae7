//! What is a message, what is none, and that every message survives its own line.

mod fuzz;

use super::*;
use proptest::prelude::*;

fn parse(line: &str) -> Result<Message, MessageFault> {
    Message::parse(line.as_bytes(), JsonLimits::CALL)
}

/// Returns why `line` is no message.
#[track_caller]
fn fault(line: &str) -> String {
    parse(line).expect_err(line).to_string()
}

#[test]
fn each_kind_of_message_is_told_by_its_fields() {
    let kind = |line| match parse(line).expect(line) {
        Message::Request(_) => "request",
        Message::Notification(_) => "notification",
        Message::Response(_) => "response",
    };
    for (line, expected) in [
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "request"),
        (r#"{"jsonrpc":"2.0","id":"a","method":"ping","params":{}}"#, "request"),
        (r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, "notification"),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "response"),
        (r#"{"jsonrpc":"2.0","id":1,"result":null}"#, "response"),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m"}}"#, "response"),
        (r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"m"}}"#, "response"),
        (r#"{"jsonrpc":"2.0","error":{"code":-1,"message":"m"}}"#, "response"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"x","unknown":[1]}"#, "request"),
    ] {
        assert_eq!(kind(line), expected, "{line}");
    }
}

#[test]
fn whatever_could_be_read_in_two_ways_is_no_message() {
    for (line, reason) in [
        (r#"{"id":1,"method":"ping"}"#, "`jsonrpc` is not \"2.0\""),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, "`jsonrpc` is not \"2.0\""),
        (r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#, "`jsonrpc` is not \"2.0\""),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#, "`id` is neither a whole number nor a text"),
        (r#"{"jsonrpc":"2.0","id":1e3,"method":"x"}"#, "`id` is neither a whole number nor a text"),
        (
            r#"{"jsonrpc":"2.0","id":true,"method":"x"}"#,
            "`id` is neither a whole number nor a text",
        ),
        (r#"{"jsonrpc":"2.0","id":[1],"method":"x"}"#, "`id` is neither a whole number nor a text"),
        (r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#, "`id` is null"),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, "`method` is not text"),
        (r#"{"jsonrpc":"2.0","id":1,"method":null}"#, "`method` is not text"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"x","params":[]}"#, "`params` is not an object"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"x","params":null}"#, "`params` is not an object"),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"x","result":{}}"#,
            "a message is a request or a response, not both",
        ),
        (r#"{"jsonrpc":"2.0","result":{}}"#, "a result has no `id`"),
        (
            r#"{"jsonrpc":"2.0","id":1}"#,
            "a message has a `method`, or either a `result` or an `error`",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":"m"}}"#,
            "a message has a `method`, or either a `result` or an `error`",
        ),
        (r#"{"jsonrpc":"2.0","id":1,"error":"no"}"#, "`error` is not an object"),
        (r#"{"jsonrpc":"2.0","id":1,"error":{}}"#, "`error` has no `code` or no `message`"),
        ("[]", "batches are not accepted"),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"x"}]"#, "batches are not accepted"),
        ("7", "a message is an object"),
    ] {
        assert_eq!(fault(line), reason, "{line}");
    }
    assert!(fault(r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}"#).contains("duplicate key"));
    let long = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"x"}}"#, "i".repeat(257));
    assert_eq!(fault(&long), "`id` is longer than 256 bytes");
}

#[test]
fn a_faulty_message_keeps_its_id_so_that_it_can_be_answered() {
    let line = r#"{"jsonrpc":"2.0","id":"7","method":"x","params":3}"#;
    let Err(MessageFault::Shape { id, is_response, .. }) = parse(line) else { panic!() };
    assert_eq!(id.unwrap().to_string(), "\"7\"");
    assert!(!is_response);
}

#[test]
fn ids_are_what_was_written() {
    let id = |text: &str| Id::of_json(Json::parse(text.as_bytes(), JsonLimits::CALL).unwrap());
    assert_ne!(id("1"), id("\"1\""));
    assert_ne!(id("9007199254740993"), id("9007199254740992"), "one double holds both");
    assert_ne!(id("0"), id("-0"));
    assert_eq!(id("7").unwrap(), Id::number(7));
    assert_eq!(id("7").unwrap().as_number(), Some(7));
    assert_eq!(id("-7").unwrap().as_number(), None);
    assert_eq!(id("\"7\"").unwrap().as_number(), None);
    assert_eq!(id("123456789012345678901234567890").unwrap().as_number(), None);
}

proptest! {
    #[test]
    fn a_message_survives_its_line(
        id in "\\PC{0,20}",
        method in "\\PC{0,20}",
        text in proptest::collection::vec(any::<char>(), 0..30),
    ) {
        let text: String = text.into_iter().collect();
        let mut params = Object::new();
        params.insert(text.clone(), text.as_str());
        let id = Id::of_json(Json::from(id)).unwrap();
        let messages = [
            Message::from(Request { id: id.clone(), method: method.clone(), params: params.clone() }),
            Message::from(Notification { method, params: params.clone() }),
            Message::from(Response { id: Some(id.clone()), outcome: Ok(Json::Object(params)) }),
            Message::from(Response { id: Some(id), outcome: Err(RpcError::new(-3, text)) }),
        ];
        for message in messages {
            let line = message.to_line();
            prop_assert_eq!(line.matches('\n').count(), 1);
            prop_assert!(line.ends_with('\n'));
            prop_assert_eq!(&parse(&line).unwrap(), &message);
        }
    }
}

#[test]
fn a_line_that_cannot_be_read_may_tell_what_it_answers() {
    let number = |n: u64| Some(Id::number(n));
    for (line, expected) in [
        (r#"{"id":7,"result":{"a":1,"a":2}}"#, number(7)),
        (r#" { "result" : "\ud800" , "\u0069d" : 7 } "#, number(7)),
        (r#"{"result":{"id":8,"x":"},{\"id\":9"},"id":7}"#, number(7)),
        (r#"{"id":"a","result":[[[[}"#, None),
        (r#"{"id":"a","result":nonsense}"#, Id::of_json(Json::from("a")).ok()),
        (r#"{"id":7,"id":7,"result":1}"#, None),
        (r#"{"id":7,"method":"x","a":1,"a":2}"#, None),
        (r#"{"id":7,"m\u0065thod":"x"}"#, None),
        (r#"{"id":7.5,"result":1,}"#, None),
        (r#"{"id":7,"result":1,}"#, None),
        (r#"{"id":null,"result":1}"#, None),
        (r#"{"result":{"id":7}}"#, None),
        (r#"{"id":7"#, None),
        (r#"[{"id":7}]"#, None),
        ("{}", None),
        ("", None),
    ] {
        assert_eq!(answered_id(line.as_bytes()), expected, "{line}");
    }
}
