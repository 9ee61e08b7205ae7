//! Messages become JSON and come back, and nothing else does.

use ic_types::{Json, JsonLimits, Object, Provider};
use proptest::prelude::*;

use super::*;

fn parse(text: &str) -> Json {
    Json::parse(text.as_bytes(), JsonLimits::CALL).unwrap()
}

fn id(text: &str) -> ToolUseId {
    ToolUseId::try_from(text.to_owned()).unwrap()
}

/// The message is written like this, and read from it.
#[track_caller]
fn check(message: &Message, written: &str) {
    assert_eq!(message.to_json().to_string(), written);
    assert_eq!(Message::from_json(&parse(written)).as_ref(), Ok(message));
}

#[test]
fn messages_have_a_form_that_stays() {
    check(
        &Message::User(vec![
            UserBlock::Text("hi \"there\"".into()),
            UserBlock::Note("cut".into()),
            UserBlock::ToolResult { id: id("t1"), content: String::new(), is_error: true },
        ]),
        r#"{"role":"user","content":[{"type":"text","text":"hi \"there\""},{"type":"note","text":"cut"},{"type":"tool_result","toolUseId":"t1","content":"","isError":true}]}"#,
    );
    check(
        &Message::Assistant(vec![
            AssistantBlock::Verbatim {
                provider: Provider::Anthropic,
                block: parse(r#"{"type":"thinking","signature":"x==","n":1.50}"#),
            },
            AssistantBlock::Text("done".into()),
            AssistantBlock::ToolUse {
                id: id("t 2"),
                name: "execute_code".into(),
                input: parse(r#"{"code":"1","n":100000000000000000001}"#),
            },
        ]),
        r#"{"role":"assistant","content":[{"type":"verbatim","provider":"anthropic","block":{"type":"thinking","signature":"x==","n":1.50}},{"type":"text","text":"done"},{"type":"tool_use","id":"t 2","name":"execute_code","input":{"code":"1","n":100000000000000000001}}]}"#,
    );
}

#[test]
fn what_is_no_message_is_refused_with_its_fault() {
    for (written, fault) in [
        ("[]", "expected an object"),
        (r#"{"role":"user"}"#, "the key `content` is missing"),
        (r#"{"content":[]}"#, "the key `role` is missing"),
        (r#"{"role":"system","content":[]}"#, "unknown role `system`"),
        (r#"{"role":1,"content":[]}"#, "expected a string"),
        (r#"{"role":"user","content":{}}"#, "expected an array of blocks"),
        (r#"{"role":"user","content":[],"x":1}"#, "unknown key `x`"),
        (r#"{"role":"user","content":["a"]}"#, "expected a block"),
        (r#"{"role":"user","content":[{}]}"#, "the key `type` is missing"),
        (r#"{"role":"user","content":[{"type":1}]}"#, "expected `type` to be a string"),
        (
            r#"{"role":"user","content":[{"type":"tool_use","id":"a","name":"b","input":1}]}"#,
            "unknown type of block `tool_use`",
        ),
        (
            r#"{"role":"assistant","content":[{"type":"note","text":""}]}"#,
            "unknown type of block `note`",
        ),
        (r#"{"role":"user","content":[{"type":"text"}]}"#, "the key `text` is missing"),
        (r#"{"role":"user","content":[{"type":"text","text":"a","b":1}]}"#, "unknown key `b`"),
        (
            r#"{"role":"user","content":[{"type":"tool_result","toolUseId":"","content":"","isError":true}]}"#,
            "expected an id of a tool use",
        ),
        (
            r#"{"role":"user","content":[{"type":"tool_result","toolUseId":"a","content":"","isError":0}]}"#,
            "expected `isError` to be true or false",
        ),
        (
            r#"{"role":"assistant","content":[{"type":"verbatim","provider":"acme","block":1}]}"#,
            "unknown provider `acme`",
        ),
    ] {
        let refused = Message::from_json(&parse(written)).unwrap_err();
        assert_eq!(refused.to_string(), fault, "{written}");
    }
}

#[test]
fn ids_are_short_and_printable() {
    for bad in ["", "a\nb", "\u{7f}", &"x".repeat(257)] {
        assert!(ToolUseId::try_from(bad.to_owned()).is_err(), "{bad:?}");
    }
    assert_eq!(id(&"x".repeat(256)).as_str().len(), 256);
}

#[test]
fn only_a_person_writes_text() {
    let message = Message::User(vec![
        UserBlock::Text("a".into()),
        UserBlock::Note("n".into()),
        UserBlock::ToolResult { id: id("t"), content: "c".into(), is_error: false },
        UserBlock::Text("b".into()),
    ]);
    assert_eq!(message.texts().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(Message::Assistant(vec![AssistantBlock::Text("a".into())]).texts().count(), 0);
}

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<String>().prop_map(Json::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::Array),
            prop::collection::vec((any::<String>(), inner), 0..4).prop_map(|entries| {
                let mut object = Object::new();
                for (key, value) in entries {
                    object.insert(key, value);
                }
                object.into()
            }),
        ]
    })
}

fn any_message() -> impl Strategy<Value = Message> {
    let any_id = || "[a-z]{1,9}".prop_map(|text| id(&text));
    let user = prop_oneof![
        any::<String>().prop_map(UserBlock::Text),
        any::<String>().prop_map(UserBlock::Note),
        (any_id(), any::<String>(), any::<bool>()).prop_map(|(id, content, is_error)| {
            UserBlock::ToolResult { id, content, is_error }
        }),
    ];
    let assistant = prop_oneof![
        any::<String>().prop_map(AssistantBlock::Text),
        (any_id(), any::<String>(), any_json())
            .prop_map(|(id, name, input)| AssistantBlock::ToolUse { id, name, input }),
        (prop::sample::select(Provider::ALL.to_vec()), any_json())
            .prop_map(|(provider, block)| AssistantBlock::Verbatim { provider, block }),
    ];
    prop_oneof![
        prop::collection::vec(user, 0..5).prop_map(Message::User),
        prop::collection::vec(assistant, 0..5).prop_map(Message::Assistant),
    ]
}

proptest! {
    #[test]
    fn every_message_comes_back_as_it_was(message in any_message()) {
        let written = message.to_json().to_string();
        let read = Message::from_json(&parse(&written)).unwrap();
        prop_assert_eq!(&read, &message);
        prop_assert_eq!(read.to_json().to_string(), written);
    }
}
