//! Bodies in tables: what passes, what is removed, what is refused.

#![expect(clippy::too_many_lines, reason = "tables are long")]

mod turns;

use ic_types::Provider;
use proptest::prelude::*;

use super::*;
use crate::provider::{Purpose, Shape, rules};

fn expected(provider: Provider, shape: Shape) -> Expected<'static> {
    let rules = rules(provider);
    let format = rules.endpoints.iter().find_map(|it| match it.purpose {
        Purpose::Complete(format) if format.shape == shape => Some(format),
        _ => None,
    });
    let model = (shape == Shape::Gemini).then_some("gemini-2.5-pro");
    Expected { rules, format: format.unwrap(), allow_keys: &[], model }
}

pub(super) fn shapes() -> [(Shape, Expected<'static>); 4] {
    [
        (Shape::Messages, expected(Provider::Anthropic, Shape::Messages)),
        (Shape::Responses, expected(Provider::OpenAi, Shape::Responses)),
        (Shape::Chat, expected(Provider::OpenAi, Shape::Chat)),
        (Shape::Gemini, expected(Provider::Google, Shape::Gemini)),
    ]
}

fn of(shape: Shape) -> Expected<'static> {
    shapes().into_iter().find(|(it, _)| *it == shape).unwrap().1
}

/// Checks a body, given without its model.
#[track_caller]
fn check(shape: Shape, body: &str, becomes: &str) {
    let with_model = |body: &str| match (shape, body) {
        (Shape::Gemini, body) => body.to_owned(),
        (_, "{}") => r#"{"model":"m"}"#.to_owned(),
        (_, body) => body.replacen('{', r#"{"model":"m","#, 1),
    };
    let checked = of(shape).check(with_model(body).as_bytes()).unwrap();
    assert_eq!(String::from_utf8(checked.bytes).unwrap(), with_model(becomes), "{shape:?} {body}");
}

#[track_caller]
fn check_refused(shape: Shape, body: &str, part: &str) {
    let refused = of(shape).check(body.as_bytes()).unwrap_err().to_string();
    assert!(refused.contains(part), "{shape:?} {body}: {refused}");
}

#[test]
fn what_is_sent_on_is_written_anew() {
    check(
        Shape::Messages,
        "{ \"messages\" : [ ] ,\n\"max_tokens\": 1e3, \"system\": \"\\u0041\" }",
        r#"{"messages":[],"max_tokens":1e3,"system":"A"}"#,
    );
}

#[test]
fn what_two_parsers_could_read_differently_is_refused() {
    for (shape, _) in shapes() {
        for (body, part) in [
            (r#"{"model":"m","model":"n"}"#, "duplicate key"),
            (r#"{"model":"m","messages":[{"role":"a","role":"b"}]}"#, "duplicate key"),
            ("\u{feff}{\"model\":\"m\"}", "not valid"),
            (r#"{"model":"m"} x"#, "not valid"),
            (r#"{"model":"m"}{}"#, "not valid"),
            (r#"{"model":"m",}"#, "not valid"),
            (r#"{"model":"\ud800"}"#, "surrogate"),
            (r"{'model':'m'}", "not valid"),
            (r#"{"model":NaN}"#, "not valid"),
            ("", "not valid"),
            ("[]", "not a JSON object"),
            ("null", "not a JSON object"),
        ] {
            check_refused(shape, body, part);
        }
        let deep = format!("{{\"messages\":{}{}}}", "[".repeat(200), "]".repeat(200));
        check_refused(shape, &deep, "nest deeper");
        let expected = of(shape);
        assert!(expected.check(b"{\"model\":\"\xff\"}").is_err());
        let long = format!("{{\"model\":\"{}\"}}", "x".repeat(BYTES_MAX));
        assert!(expected.check(long.as_bytes()).is_err());
    }
}

#[test]
fn an_unknown_top_level_key_is_named() {
    for (shape, expected) in shapes() {
        check_refused(shape, r#"{"model":"m","surprise":1}"#, "`surprise`");
        let allowed = ["surprise".to_owned()];
        let expected = Expected { allow_keys: &allowed, ..expected };
        assert!(expected.check(br#"{"model":"m","surprise":1}"#).is_ok(), "{shape:?}");
    }
    for (shape, key) in [
        (Shape::Responses, "prompt"),
        (Shape::Responses, "conversation"),
        (Shape::Responses, "background"),
        (Shape::Gemini, "cachedContent"),
        (Shape::Gemini, "cached_content"),
        (Shape::Messages, "Messages"),
        (Shape::Messages, "betas"),
    ] {
        check_refused(shape, &format!(r#"{{"model":"m","{key}":"x"}}"#), &format!("`{key}`"));
    }
}

#[test]
fn keys_that_let_the_provider_reach_out_are_removed() {
    check(
        Shape::Messages,
        r#"{"mcp_servers":[{"type":"url","url":"https://evil.example"}]}"#,
        "{}",
    );
    check(Shape::Messages, r#"{"container":"c"}"#, "{}");
    check(Shape::Chat, r#"{"web_search_options":{}}"#, "{}");
}

#[test]
fn tools_of_the_agent_stay_and_tools_of_the_provider_are_removed() {
    let own = [
        (Shape::Messages, r#"{"name":"Bash","input_schema":{"type":"object"}}"#),
        (Shape::Messages, r#"{"type":"custom","name":"x"}"#),
        (Shape::Messages, r#"{"type":"bash_20250124","name":"bash"}"#),
        (Shape::Messages, r#"{"type":"text_editor_20250728","name":"e"}"#),
        (Shape::Messages, r#"{"type":"tool_search_tool_bm25_20251119","name":"t"}"#),
        (Shape::Responses, r#"{"type":"function","name":"x"}"#),
        (Shape::Responses, r#"{"type":"custom","name":"x"}"#),
        (Shape::Responses, r#"{"type":"local_shell"}"#),
        (Shape::Responses, r#"{"type":"shell","environment":{"type":"local"}}"#),
        (Shape::Chat, r#"{"type":"function","function":{"name":"x"}}"#),
        (Shape::Gemini, r#"{"functionDeclarations":[{"name":"x"}]}"#),
        (Shape::Gemini, r#"{"function_declarations":[{"name":"x"}]}"#),
    ];
    for (shape, tool) in own {
        let body = format!(r#"{{"tools":[{tool}]}}"#);
        check(shape, &body, &body);
    }
    let mine = |shape| own.iter().find(|(it, _)| *it == shape).unwrap().1;
    let types: [(Shape, &[&str]); 3] = [
        (
            Shape::Messages,
            &[
                "web_search_20250305",
                "web_search_20260209",
                "web_fetch_20250910",
                "code_execution_20250522",
                "code_execution_20250825",
                "mcp_toolset",
            ],
        ),
        (
            Shape::Responses,
            &[
                "web_search",
                "web_search_2025_08_26",
                "web_search_preview",
                "web_search_preview_2025_03_11",
                "file_search",
                "code_interpreter",
                "mcp",
                "image_generation",
                "shell",
            ],
        ),
        (Shape::Chat, &["web_search", "mcp", "code_interpreter"]),
    ];
    let typed = types.iter().flat_map(|(shape, names)| {
        names.iter().map(|name| (*shape, format!(r#"{{"type":"{name}","name":"served"}}"#)))
    });
    let keyed = [
        "googleSearch",
        "google_search",
        "googleSearchRetrieval",
        "codeExecution",
        "code_execution",
        "urlContext",
        "url_context",
        "fileSearch",
        "googleMaps",
        "mcpServers",
        "retrieval",
    ];
    let keyed = keyed.iter().map(|name| (Shape::Gemini, format!(r#"{{"{name}":{{}}}}"#)));
    for (shape, tool) in typed.chain(keyed) {
        let mine = mine(shape);
        check(
            shape,
            &format!(r#"{{"tools":[{tool},{mine},{tool}]}}"#),
            &format!(r#"{{"tools":[{mine}]}}"#),
        );
        check(shape, &format!(r#"{{"tools":[{tool}]}}"#), "{}");
        check(
            shape,
            &format!(r#"{{"tools":[{tool}],"tool_choice":"auto"}}"#).replace(
                r#","tool_choice":"auto""#,
                if shape == Shape::Gemini {
                    r#","toolConfig":{}"#
                } else {
                    r#","tool_choice":"auto""#
                },
            ),
            "{}",
        );
    }
    // A tool that can do both keeps what is the agent's.
    check(
        Shape::Gemini,
        r#"{"tools":[{"googleSearch":{},"functionDeclarations":[]}]}"#,
        r#"{"tools":[{"functionDeclarations":[]}]}"#,
    );
    // In a namespace of Codex's.
    check(
        Shape::Responses,
        r#"{"tools":[{"type":"namespace","name":"n","tools":[{"type":"mcp"},{"type":"function"}]}]}"#,
        r#"{"tools":[{"type":"namespace","name":"n","tools":[{"type":"function"}]}]}"#,
    );
    check_refused(
        Shape::Responses,
        r#"{"model":"m","tools":[{"type":"namespace","tools":[{"type":"teleport"}]}]}"#,
        "`teleport`",
    );
}

#[test]
fn an_unknown_tool_is_named() {
    for (shape, tool) in [
        (Shape::Messages, r#"{"type":"teleport_20270101"}"#),
        (Shape::Messages, r#"{"type":"web_search_20250305 "}"#),
        (Shape::Messages, r#"{"type":"WEB_SEARCH_20250305"}"#),
        (Shape::Responses, r#"{"type":"teleport"}"#),
        (Shape::Chat, r#"{"type":"teleport"}"#),
        (Shape::Gemini, r#"{"teleport":{}}"#),
        (Shape::Gemini, r#"{"GoogleSearch":{}}"#),
    ] {
        let body = format!(r#"{{"model":"m","tools":[{tool}]}}"#);
        let refused = of(shape).check(body.as_bytes()).unwrap_err();
        assert!(matches!(refused, Refusal::Tool(_)), "{shape:?} {tool}: {refused}");
    }
    for (shape, tools) in [
        (Shape::Messages, r#"{"type":"web_search_20250305"}"#),
        (Shape::Messages, r#"["web_search_20250305"]"#),
        (Shape::Messages, r#"[{"type":7}]"#),
        (Shape::Chat, r#"[{"name":"x"}]"#),
        (Shape::Responses, "\"web_search\""),
    ] {
        check_refused(shape, &format!(r#"{{"model":"m","tools":{tools}}}"#), "not valid");
    }
}

#[test]
fn a_choice_of_a_removed_tool_is_taken_back() {
    let mine = r#"{"type":"custom","name":"x"}"#;
    check(
        Shape::Messages,
        &format!(
            r#"{{"tools":[{{"type":"web_search_20250305","name":"s"}},{mine}],"tool_choice":{{"type":"tool","name":"s"}}}}"#
        ),
        &format!(r#"{{"tools":[{mine}]}}"#),
    );
    check(
        Shape::Responses,
        r#"{"tools":[{"type":"function","name":"x"}],"tool_choice":{"type":"web_search_preview"}}"#,
        r#"{"tools":[{"type":"function","name":"x"}]}"#,
    );
    check(
        Shape::Responses,
        r#"{"tool_choice":{"type":"allowed_tools","tools":[{"type":"mcp"},{"type":"function"}]}}"#,
        r#"{"tool_choice":{"type":"allowed_tools","tools":[{"type":"function"}]}}"#,
    );
    check_refused(Shape::Chat, r#"{"model":"m","tool_choice":{"type":"teleport"}}"#, "`teleport`");
}

#[test]
fn references_are_replaced_and_content_stays() {
    let kept = [
        (
            Shape::Messages,
            "messages",
            "content",
            r#"{"type":"image","source":{"type":"base64","data":"AA"}}"#,
        ),
        (
            Shape::Messages,
            "messages",
            "content",
            r#"{"type":"document","source":{"type":"text","data":"x"}}"#,
        ),
        (
            Shape::Messages,
            "messages",
            "content",
            r#"{"type":"search_result","source":"https://a.example"}"#,
        ),
        (
            Shape::Chat,
            "messages",
            "content",
            r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}"#,
        ),
        (
            Shape::Responses,
            "input",
            "content",
            r#"{"type":"input_image","image_url":"data:image/png;base64,AA"}"#,
        ),
        (
            Shape::Responses,
            "input",
            "content",
            r#"{"type":"input_file","file_data":"AA","file_id":null}"#,
        ),
        (Shape::Gemini, "contents", "parts", r#"{"inlineData":{"data":"AA"}}"#),
        (
            Shape::Gemini,
            "contents",
            "parts",
            r#"{"functionCall":{"name":"x","args":{"fileData":1}}}"#,
        ),
    ];
    for (shape, list, key, part) in kept {
        let body = format!(r#"{{"{list}":[{{"role":"user","{key}":[{part}]}}]}}"#);
        check(shape, &body, &body);
    }
    let replaced = [
        (
            Shape::Messages,
            "messages",
            "content",
            r#"{"type":"image","source":{"type":"url","url":"https://e.example/?d=1"}}"#,
        ),
        (
            Shape::Messages,
            "messages",
            "content",
            r#"{"type":"document","source":{"type":"file","file_id":"f"}}"#,
        ),
        (
            Shape::Messages,
            "messages",
            "content",
            r#"{"type":"image","source":{"type":"teleport"}}"#,
        ),
        (Shape::Messages, "messages", "content", r#"{"type":"container_upload","file_id":"f"}"#),
        (
            Shape::Chat,
            "messages",
            "content",
            r#"{"type":"image_url","image_url":{"url":"https://e.example"}}"#,
        ),
        (
            Shape::Chat,
            "messages",
            "content",
            r#"{"type":"image_url","image_url":{"url":"HTTPS://e.example"}}"#,
        ),
        (Shape::Chat, "messages", "content", r#"{"type":"file","file":{"file_id":"f"}}"#),
        (
            Shape::Responses,
            "input",
            "content",
            r#"{"type":"input_image","image_url":"http://e.example"}"#,
        ),
        (Shape::Responses, "input", "content", r#"{"type":"input_image","file_id":"f"}"#),
        (
            Shape::Responses,
            "input",
            "output",
            r#"{"type":"input_file","file_url":"https://e.example"}"#,
        ),
        (Shape::Gemini, "contents", "parts", r#"{"fileData":{"fileUri":"https://e.example"}}"#),
        (Shape::Gemini, "contents", "parts", r#"{"file_data":{"file_uri":"gs://x"}}"#),
    ];
    for (shape, list, key, part) in replaced {
        let model = if shape == Shape::Gemini { "" } else { r#""model":"m","# };
        let bodies = [
            format!(r#"{{{model}"{list}":[{{"role":"user","{key}":[{part}]}}]}}"#),
            // In the result of a tool.
            format!(
                r#"{{{model}"{list}":[{{"role":"user","{key}":[{{"type":"tool_result","content":[{part}]}}]}}]}}"#
            ),
        ];
        for body in bodies {
            let checked = of(shape).check(body.as_bytes()).unwrap();
            let sent = String::from_utf8(checked.bytes).unwrap();
            assert!(sent.contains("[IronCurtain removed a reference"), "{shape:?} {body}: {sent}");
            assert!(!sent.contains("e.example") && !sent.contains("file_id"), "{sent}");
            assert_eq!(checked.removed.len(), 1, "{body}");
        }
    }
    for (shape, body) in [
        // Beside the conversation.
        (
            Shape::Messages,
            r#"{"model":"m","system":[{"type":"image","source":{"type":"url","url":"https://e.example"}}]}"#,
        ),
        (
            Shape::Gemini,
            r#"{"systemInstruction":{"parts":[{"fileData":{"fileUri":"https://e.example"}}]}}"#,
        ),
        // What servers that speak OpenAI's format take besides.
        (
            Shape::Chat,
            r#"{"model":"m","messages":[{"content":[{"type":"file","file":{"file_data":"https://e.example/x.pdf"}}]}]}"#,
        ),
        (
            Shape::Chat,
            r#"{"model":"m","messages":[{"content":[{"type":"input_audio","input_audio":{"data":"http://e.example"}}]}]}"#,
        ),
        (
            Shape::Chat,
            r#"{"model":"m","messages":[{"content":[{"type":"audio_url","audio_url":{"url":"https://e.example"}}]}]}"#,
        ),
        (
            Shape::Chat,
            r#"{"model":"m","messages":[{"content":[{"type":"document_url","document_url":"https://e.example"}]}]}"#,
        ),
        (
            Shape::Chat,
            r#"{"model":"m","messages":[{"content":[{"type":"image_url","image_url":["https://e.example"]}]}]}"#,
        ),
        // A third spelling.
        (
            Shape::Gemini,
            r#"{"contents":[{"parts":[{"FileData":{"fileUri":"https://e.example"}}]}]}"#,
        ),
    ] {
        let sent = of(shape).check(body.as_bytes()).unwrap();
        assert!(!String::from_utf8(sent.bytes).unwrap().contains("e.example"), "{body}");
        assert_eq!(sent.removed.len(), 1, "{body}");
    }
    check(
        Shape::Chat,
        r#"{"messages":[{"content":[{"type":"file","file":{"file_data":"data:application/pdf;base64,AA//","filename":"x"}}]}]}"#,
        r#"{"messages":[{"content":[{"type":"file","file":{"file_data":"data:application/pdf;base64,AA//","filename":"x"}}]}]}"#,
    );
    let nested = format!("{}{}{}", r#"{"content":["#.repeat(12), "{}", "]}".repeat(12));
    check_refused(
        Shape::Messages,
        &format!(r#"{{"model":"m","messages":[{nested}]}}"#),
        "too deep",
    );
    for (body, part) in [
        (r#"{"model":"m","messages":{"role":"user"}}"#, "not an array"),
        (r#"{"model":"m","messages":["x"]}"#, "not an object"),
        (r#"{"model":"m","tools":["web_search"]}"#, "not an object"),
        (r#"{"model":"m","tools":{"type":"web_search"}}"#, "not an array"),
    ] {
        check_refused(Shape::Messages, body, part);
    }
    let part = r#"{"fileData":{"fileUri":"https://e.example"}}"#;
    let body =
        format!(r#"{{"contents":[{{"parts":[{{"functionResponse":{{"parts":[{part}]}}}}]}}]}}"#);
    let sent = of(Shape::Gemini).check(body.as_bytes()).unwrap();
    assert!(!String::from_utf8(sent.bytes).unwrap().contains("e.example"));
}

#[test]
fn models_that_search_by_themselves_are_refused() {
    for model in [
        "gpt-4o-search-preview",
        "gpt-4o-mini-search-preview-2025-03-11",
        "gpt-5-search-api",
        "o3-deep-research",
    ] {
        for shape in [Shape::Chat, Shape::Responses] {
            check_refused(shape, &format!(r#"{{"model":"{model}"}}"#), "searches the web");
        }
    }
    check_refused(Shape::Messages, r#"{"messages":[]}"#, "names no model");
    check_refused(Shape::Messages, r#"{"model":7}"#, "names no model");
}

proptest! {
    /// What was checked stays as it is when it is checked again.
    #[test]
    fn checking_is_idempotent(
        tools in prop::collection::vec(prop::sample::select(vec![
            r#"{"name":"a"}"#, r#"{"type":"web_search_20250305","name":"s"}"#, r#"{"type":"bash_20250124"}"#,
            r#"{"type":"mcp_toolset"}"#, r#"{"type":"custom","name":"c"}"#,
        ]), 0..6),
        parts in prop::collection::vec(prop::sample::select(vec![
            r#"{"type":"text","text":"x"}"#, r#"{"type":"image","source":{"type":"url","url":"u"}}"#,
            r#"{"type":"tool_result","content":[{"type":"image","source":{"type":"file"}}]}"#,
        ]), 0..6),
    ) {
        let (tools, parts) = (tools.join(","), parts.join(","));
        let body = format!(r#"{{"model":"m","tools":[{tools}],"messages":[{{"content":[{parts}]}}]}}"#);
        let first = of(Shape::Messages).check(body.as_bytes()).unwrap();
        let second = of(Shape::Messages).check(&first.bytes).unwrap();
        prop_assert_eq!(&first.bytes, &second.bytes);
        prop_assert!(second.removed.is_empty());
        let sent = String::from_utf8(first.bytes).unwrap();
        for word in ["web_search", "mcp_toolset", "\"url\"", "\"file\""] {
            prop_assert!(!sent.contains(word), "{}", sent);
        }
    }
}
