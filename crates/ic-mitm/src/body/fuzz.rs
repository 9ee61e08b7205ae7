//! Mutated bodies: what is sent on is read by `serde_json` as it was checked, and holds nothing that the
//! provider would run or fetch.

use ic_fuzz::{Outcome, Target};
use serde_json::Value;

use super::*;

const SEEDS: [&str; 6] = [
    r#"{"model":"m","max_tokens":1,"system":[{"type":"text","text":"x"}],"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://a.example"}},{"type":"tool_result","content":[{"type":"document","source":{"type":"file","file_id":"f"}}]}]}],"tools":[{"type":"web_search_20250305","name":"w"},{"name":"Bash","input_schema":{}}],"mcp_servers":[]}"#,
    r#"{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"https://a.example"},{"type":"input_file","file_id":"f"}]},{"type":"additional_tools","tools":[{"type":"mcp"}]}],"tools":[{"type":"namespace","name":"n","tools":[{"type":"web_search"},{"type":"function","name":"f"}]},{"type":"shell"}],"tool_choice":{"type":"allowed_tools","tools":[{"type":"mcp"}]}}"#,
    r#"{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://a.example"}},{"type":"file","file":{"file_id":"f"}}]}],"tools":[{"type":"function","function":{"name":"f"}}],"web_search_options":{}}"#,
    r#"{"contents":[{"role":"user","parts":[{"fileData":{"fileUri":"https://a.example"}},{"functionResponse":{"parts":[{"file_data":{}}]}}]}],"tools":[{"googleSearch":{},"functionDeclarations":[]},{"url_context":{}}],"systemInstruction":{"parts":{"file_data":{}}}}"#,
    r#"{"model":"m","messages":[{"role":"user","content":[{"type":"tool_addition","tool":{"definition":{"type":"web_fetch_20250910"}}},{"type":"compaction","tool_changes":[{"tool":{"type":"mcp_toolset_reference"}}]}]}]}"#,
    "{}",
];

const WORDS: [&str; 48] = [
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "\\u0073",
    "null",
    "1e400",
    "\u{feff}",
    "\"type\":",
    "\"tools\":",
    "\"messages\":",
    "\"content\":",
    "\"source\":",
    "\"input\":",
    "\"output\":",
    "\"contents\":",
    "\"parts\":",
    "\"model\":\"m\",",
    "\"url\"",
    "\"file\"",
    "\"file_id\":\"f\"",
    "\"image_url\":\"https://a\"",
    "\"fileData\":{}",
    "\"file_data\":\"http://a\"",
    "\"mcp_servers\":[]",
    "\"container\":{}",
    "\"web_search_20250305\"",
    "\"web_search_preview\"",
    "\"mcp\"",
    "\"code_interpreter\"",
    "\"googleSearch\":{}",
    "\"url_context\":{}",
    "\"codeExecution\":{}",
    "\"custom\"",
    "\"function\"",
    "\"namespace\"",
    "\"shell\"",
    "\"environment\":",
    "{\"type\":\"local\"}",
    "\"definition\":",
    "\"tool_changes\":",
    "\"tool_choice\":",
    "\"system\":",
    "\"systemInstruction\":",
    "\"functionResponse\":",
];

/// Types that stand for what a provider runs, wherever a tool can be.
const FOREIGN: [&str; 8] = [
    "web_search",
    "web_fetch",
    "code_execution",
    "code_interpreter",
    "mcp",
    "file_search",
    "image_generation",
    "advisor",
];

fn list(value: Option<&Value>) -> Vec<&Value> {
    match value {
        Some(Value::Array(items)) => items.iter().collect(),
        Some(Value::Null) | None => Vec::new(),
        Some(single) => vec![single],
    }
}

/// Looks for tools of the provider's, and for what it would fetch, in a part and in what is in it.
fn look(shape: Shape, part: &Value, depth: usize) {
    if let Some(source) = part.get("source").filter(|it| it.is_object() && shape == Shape::Messages)
    {
        assert!(matches!(source["type"].as_str(), Some("base64" | "text" | "content")), "{part}");
    }
    match shape {
        Shape::Messages => {}
        Shape::Responses | Shape::Chat => {
            assert!(part.get("file_id").is_none_or(Value::is_null), "{part}");
            let remote = part.get("image_url").and_then(Value::as_str);
            assert!(remote.is_none_or(|it| it.starts_with("data:")), "{part}");
        }
        Shape::Gemini => {
            for key in ["fileData", "file_data"] {
                assert!(part.get(key).is_none_or(Value::is_null), "{part}");
            }
        }
    }
    for inner in ["content", "output"] {
        for part in list(part.get(inner)).into_iter().filter(|it| it.is_object() && depth < 4) {
            look(shape, part, depth + 1);
        }
    }
}

fn look_at_tool(shape: Shape, tool: &Value) {
    if shape == Shape::Gemini {
        let keys = tool.as_object().into_iter().flat_map(|it| it.keys());
        for key in keys.map(|it| it.replace('_', "").to_lowercase()) {
            assert!(["computeruse", "functiondeclarations"].contains(&key.as_str()), "{tool}");
        }
        return;
    }
    let kind = tool["type"].as_str().unwrap_or_default();
    assert!(!FOREIGN.iter().any(|it| kind.starts_with(it)), "{tool}");
    assert!(kind != "shell" || tool["environment"]["type"] == "local", "{tool}");
    if shape == Shape::Responses {
        for it in list(tool.get("tools")) {
            look_at_tool(shape, it);
        }
    }
}

fn look_through(shape: Shape, body: &Value) {
    for key in ["mcp_servers", "container", "web_search_options", "prompt", "cachedContent"] {
        assert!(body.get(key).is_none(), "{body}");
    }
    for it in list(body.get("tools")) {
        look_at_tool(shape, it);
    }
    for (key, inner) in [("messages", "content"), ("input", "content"), ("contents", "parts")] {
        for message in list(body.get(key)) {
            for part in list(message.get(inner)).into_iter().filter(|it| it.is_object()) {
                look(shape, part, 0);
                if let Some(tool) = part.get("tool").and_then(|it| it.get("definition")) {
                    let is_change = shape == Shape::Messages && part["type"] == "tool_addition";
                    assert!(!is_change || tool.is_object());
                    if is_change {
                        look_at_tool(shape, tool);
                    }
                }
            }
            if key == "input" {
                for it in list(message.get("tools")) {
                    look_at_tool(shape, it);
                }
            }
        }
    }
}

#[test]
fn fuzz_gate_body() {
    Target::new("gate-body").seeds(SEEDS).corpus("json").words(WORDS).run(|bytes| {
        let mut kinds = Vec::new();
        for (shape, expected) in tests::shapes() {
            let Ok(checked) = expected.check(bytes) else {
                kinds.push(None);
                continue;
            };
            let again = expected.check(&checked.bytes).expect("what is sent on is let in");
            assert_eq!(again.bytes, checked.bytes, "it is checked differently");
            assert!(again.removed.is_empty(), "{:?}", again.removed);
            // Numbers may be larger than those that are read here.
            if let Ok(sent) = serde_json::from_slice::<Value>(&checked.bytes) {
                look_through(shape, &sent);
                if checked.removed.is_empty() && shape != Shape::Gemini {
                    let came: Value = serde_json::from_slice(bytes).expect("it is JSON");
                    assert_eq!(came, sent, "what was not removed is changed");
                }
            }
            kinds.push(Some(checked.removed.len().min(4)));
        }
        match kinds.iter().any(Option::is_some) {
            true => Outcome::accepted(kinds),
            false => Outcome::refused(Json::parse(bytes, LIMITS).is_ok()),
        }
    });
}
