//! Requests as they are recorded, held against the providers' published types: they are taken, and the rules
//! by which that is said would notice anything else.

use ic_model::{AssistantBlock, Client, Completion, Message, UserBlock};
use ic_testkit::ScriptedProvider;
use ic_testkit::provider::{Format, Reply, Request, Said, rules};
use serde_json::{Value, json};

use crate::clients::{ask, says, spec};

/// Holds a conversation with all that there is, and returns its last request.
async fn recorded(format: Format) -> Request {
    let script = [
        Said::code(&["1 + 1", "2 + 2"]).thinking("Hm, tja.").saying("I count."),
        Said::code(&["3 + 3"]).thinking("And on."),
        Said::text("Six.").thinking("Done."),
        Said::text("Bye."),
    ];
    let provider = ScriptedProvider::start(script.map(Reply::Says));
    let client = Client::new(spec(format, &provider.url())).unwrap();
    let mut messages = vec![says("count")];
    for next in ["go on", "go on", "now what?"] {
        let Completion { blocks, .. } = ask(&client, &messages).await.0.unwrap();
        let mut told = results(&blocks);
        told.push(match told.is_empty() {
            true => UserBlock::Text(next.to_owned()),
            false => UserBlock::Note("a note".to_owned()),
        });
        messages.extend([Message::Assistant(blocks), Message::User(told)]);
    }
    ask(&client, &messages).await.0.unwrap();
    provider.check();
    provider.requests().pop().unwrap()
}

/// Answers every tool use, one of them with an error.
fn results(blocks: &[AssistantBlock]) -> Vec<UserBlock> {
    let ids = blocks.iter().filter_map(|block| match block {
        AssistantBlock::ToolUse { id, .. } => Some(id.clone()),
        AssistantBlock::Text(_) | AssistantBlock::Verbatim { .. } => None,
    });
    let result =
        |(at, id)| UserBlock::ToolResult { id, content: "a result".to_owned(), is_error: at == 1 };
    ids.enumerate().map(result).collect()
}

/// What is free to hold anything: schemas, and the inputs and results of tools.
const FREE: [&str; 6] =
    ["input_schema", "parameters", "parametersJsonSchema", "input", "args", "response"];

/// Keys that a request would be taken without.
const OPTIONAL: [&str; 16] = [
    // Of all formats.
    "tools",
    "description",
    "id",
    // Anthropic's.
    "system",
    "thinking",
    "cache_control",
    "content",
    "is_error",
    // OpenAI's.
    "parallel_tool_calls",
    "include",
    "phase",
    "reasoning_content",
    // Google's.
    "generationConfig",
    "parametersJsonSchema",
    "thoughtSignature",
    "tool_calls",
];

/// Calls `visit` for every object in `value` that has a type, with the way to it.
fn objects(value: &Value, way: &mut Vec<String>, visit: &mut impl FnMut(&str, &[String])) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(object) => {
            visit(&format!("/{}", way.join("/")), &object.keys().cloned().collect::<Vec<_>>());
            let typed = object.iter().filter(|(key, _)| is_typed(key, value));
            typed.map(|(key, child)| (key.clone(), child)).collect()
        }
        Value::Array(items) => {
            items.iter().enumerate().map(|(at, item)| (at.to_string(), item)).collect()
        }
        _ => Vec::new(),
    };
    for (key, child) in children {
        way.push(key);
        objects(child, way, visit);
        way.pop();
    }
}

/// Returns whether what stands under `key` has a type of its own; `input` is the whole of a conversation,
/// or the input of a tool.
fn is_typed(key: &str, of: &Value) -> bool {
    !FREE.contains(&key) || key == "input" && of.get("instructions").is_some()
}

fn at<'a>(body: &'a mut Value, way: &str) -> &'a mut serde_json::Map<String, Value> {
    let way = if way == "/" { "" } else { way };
    body.pointer_mut(way).unwrap().as_object_mut().unwrap()
}

#[tokio::test]
async fn what_is_sent_is_what_the_published_types_allow_and_no_more() {
    for format in Format::ALL {
        let Request { path, body, .. } = recorded(format).await;
        let is_taken = |body: &Value| rules::check(format, &path, body).is_empty();
        assert!(is_taken(&body), "{format}");
        let mut n_objects = 0;
        objects(&body, &mut Vec::new(), &mut |way, keys| {
            n_objects += 1;
            let mut more = body.clone();
            at(&mut more, way).insert("unheardOf".to_owned(), json!(true));
            assert!(!is_taken(&more), "{format}: an unknown key at {way} is taken");
            for key in keys {
                let mut other = body.clone();
                at(&mut other, way).insert(key.clone(), json!(-1.5));
                assert!(!is_taken(&other), "{format}: a number at {way}.{key} is taken");
                let mut less = body.clone();
                at(&mut less, way).shift_remove(key);
                let is_optional = OPTIONAL.contains(&key.as_str());
                assert!(is_optional || !is_taken(&less), "{format}: {way} without {key} is taken");
            }
        });
        assert!(15 < n_objects, "{format}: {n_objects}");
    }
}

/// Breaks a request of `format` by `break_it`, and checks that it is noticed for this reason.
async fn check(format: Format, reason: &str, break_it: impl FnOnce(&mut Value)) {
    let Request { path, mut body, .. } = recorded(format).await;
    break_it(&mut body);
    let faults = rules::check(format, &path, &body);
    assert!(faults.iter().any(|it| it.contains(reason)), "{format}, {reason}: {faults:#?}");
}

#[tokio::test]
async fn what_is_published_in_words_is_held_to_as_well() {
    let mark = json!({"type": "ephemeral"});
    check(Format::Anthropic, "A maximum of 4 blocks", |body| {
        for at in [0, 2] {
            body["messages"][at]["content"][0]["cache_control"] = mark.clone();
        }
    })
    .await;
    check(Format::Anthropic, "nothing is cached", |body| {
        *body = serde_json::from_str(
            &body.to_string().replace(r#","cache_control":{"type":"ephemeral"}"#, ""),
        )
        .unwrap();
    })
    .await;
    check(Format::Anthropic, "results come first", |body| {
        body["messages"][2]["content"].as_array_mut().unwrap().rotate_right(1);
    })
    .await;
    check(Format::Anthropic, "without `tool_result` blocks", |body| {
        body["messages"][2]["content"].as_array_mut().unwrap().remove(0);
    })
    .await;
    check(Format::Anthropic, "a thought after the tool use", |body| {
        body["messages"][1]["content"].as_array_mut().unwrap().rotate_left(1);
    })
    .await;
    check(Format::Anthropic, "Invalid `signature`", |body| {
        body["messages"][1]["content"][0]["thinking"] = json!("Hm, ja.");
    })
    .await;
    check(Format::Responses, "required following item", |body| {
        let input = body["input"].as_array_mut().unwrap();
        input.insert(1, input[0].clone());
        input.swap(0, 2);
    })
    .await;
    check(Format::Responses, "No tool output found", |body| {
        body["input"].as_array_mut().unwrap().retain(|it| it["type"] != "function_call_output");
    })
    .await;
    check(Format::Chat, "must be followed by tool messages", |body| {
        let messages = body["messages"].as_array_mut().unwrap();
        messages.retain(|it| it["role"] != "tool");
    })
    .await;
    check(Format::Gemini, "missing a thought_signature", |body| {
        let parts = body["contents"][1]["parts"].as_array_mut().unwrap();
        for part in parts {
            part.as_object_mut().unwrap().shift_remove("thoughtSignature");
        }
    })
    .await;
    check(Format::Gemini, "function response parts must equal", |body| {
        let parts = body["contents"][2]["parts"].as_array_mut().unwrap();
        parts[0]["functionResponse"]["id"] = json!("another");
    })
    .await;
}
