//! Tools in conversations, and lists of one.

use super::*;

/// Every tool that the documentation of a provider says the provider runs, in each of its forms.
fn run_by_providers(provider: Provider, path: &str) -> Vec<String> {
    let text = match provider {
        Provider::Anthropic => include_str!("../../provider/anthropic.recorded.json"),
        Provider::OpenAi | Provider::OpenAiCompatible => {
            include_str!("../../provider/openai.recorded.json")
        }
        Provider::Google => include_str!("../../provider/google.recorded.json"),
    };
    let recorded: serde_json::Value = serde_json::from_str(text).unwrap();
    let documented = recorded["documented"].as_array().unwrap().iter();
    let tools = documented.filter(|it| it["path"] == path).flat_map(|it| {
        it["providerRuns"].as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned())
    });
    tools.collect()
}

#[test]
fn no_documented_tool_of_a_provider_gets_into_a_conversation() {
    let tools = run_by_providers(Provider::OpenAi, "/v1/responses");
    assert!(9 <= tools.len());
    for tool in tools {
        for kind in ["additional_tools", "tool_search_output", "nobody_knows"] {
            for wrapped in [
                format!(r#"{{"type":"{tool}"}}"#),
                format!(r#"{{"type":"namespace","name":"n","tools":[{{"type":"{tool}"}}]}}"#),
            ] {
                let body = format!(
                    r#"{{"model":"m","input":[{{"type":"{kind}","role":"developer","tools":[{wrapped},{{"type":"function","name":"f"}}]}}]}}"#
                );
                let checked = of(Shape::Responses).check(body.as_bytes()).unwrap();
                let sent = String::from_utf8(checked.bytes).unwrap();
                assert!(!sent.contains(&format!(r#""type":"{tool}""#)), "{kind}: {sent}");
                assert!(sent.contains(r#""name":"f""#), "{kind}: {sent}");
                assert!(checked.removed.contains(&tool), "{kind}: {tool}");
            }
        }
    }
    let tools = run_by_providers(Provider::Anthropic, "/v1/messages");
    assert!(12 <= tools.len());
    for tool in tools {
        for part in [
            format!(
                r#"{{"type":"tool_addition","tool":{{"type":"tool_definition","definition":{{"type":"{tool}","name":"x"}}}}}}"#
            ),
            format!(
                r#"{{"type":"compaction","content":"s","tool_changes":[{{"type":"tool_addition","tool":{{"type":"tool_definition","definition":{{"type":"{tool}"}}}}}}]}}"#
            ),
            format!(
                r#"{{"type":"compaction","content":"s","tool_changes":[{{"type":"tool_definition","definition":{{"type":"{tool}"}}}}]}}"#
            ),
        ] {
            let body =
                format!(r#"{{"model":"m","messages":[{{"role":"system","content":[{part}]}}]}}"#);
            let checked = of(Shape::Messages).check(body.as_bytes()).unwrap();
            let sent = String::from_utf8(checked.bytes).unwrap();
            assert!(!sent.contains(&tool), "{sent}");
            assert!(checked.removed.contains(&tool), "{tool}");
        }
    }
}

#[test]
fn tools_of_the_agent_stay_in_a_conversation() {
    for body in [
        r#"{"input":[{"type":"additional_tools","role":"developer","tools":[{"type":"namespace","name":"functions","tools":[{"type":"custom","name":"exec"}]}]}]}"#,
        r#"{"input":[{"type":"tool_search_output","call_id":"c","tools":[{"type":"function","name":"f"}]}]}"#,
        r#"{"input":"Say hello."}"#,
    ] {
        check(Shape::Responses, body, body);
    }
    for body in [
        r#"{"messages":[{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_reference","name":"f"}}]}]}"#,
        r#"{"messages":[{"role":"system","content":[{"type":"tool_removal","tool":{"type":"tool_reference","name":"f"}}]}]}"#,
        r#"{"messages":[{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"f","input_schema":{}}}}]}]}"#,
        r#"{"messages":[{"role":"assistant","content":[{"type":"compaction","content":"s","tool_changes":[{"type":"tool_reference","name":"f"}]}]}]}"#,
    ] {
        check(Shape::Messages, body, body);
    }
}

#[test]
fn tools_of_remote_servers_and_unknown_ones_do_not_stay() {
    for part in [
        r#"{"type":"tool_addition","tool":{"type":"mcp_toolset_reference","server_name":"s"}}"#,
        r#"{"type":"tool_addition","tool":{"type":"mcp_tool_reference","server_name":"s","name":"n"}}"#,
        r#"{"type":"mcp_tool_listing","mcp_server_name":"s","tools":[{"name":"n"}]}"#,
    ] {
        let body =
            format!(r#"{{"model":"m","messages":[{{"role":"system","content":[{part}]}}]}}"#);
        let checked = of(Shape::Messages).check(body.as_bytes()).unwrap();
        assert!(checked.removed.contains("mcp"), "{part}");
        assert!(!String::from_utf8(checked.bytes).unwrap().contains("mcp"), "{part}");
    }
    check(
        Shape::Responses,
        r#"{"input":[{"type":"mcp_list_tools","server_label":"s","tools":[{"name":"n"}]}]}"#,
        r#"{"input":[{"type":"mcp_list_tools","server_label":"s","tools":[]}]}"#,
    );
    for (shape, body, part) in [
        (
            Shape::Responses,
            r#"{"model":"m","input":[{"type":"additional_tools","tools":[{"type":"surprise"}]}]}"#,
            "surprise",
        ),
        (Shape::Responses, r#"{"model":"m","input":[{"type":"x","tools":{}}]}"#, "`tools`"),
        (Shape::Responses, r#"{"model":"m","input":{"type":"message"}}"#, "`input`"),
        (
            Shape::Messages,
            r#"{"model":"m","messages":[{"role":"system","content":[{"type":"tool_addition","tool":{"type":"surprise"}}]}]}"#,
            "surprise",
        ),
        (
            Shape::Messages,
            r#"{"model":"m","messages":[{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"type":"surprise_20270101"}}}]}]}"#,
            "surprise_20270101",
        ),
        (
            Shape::Messages,
            r#"{"model":"m","messages":[{"role":"system","content":[{"type":"tool_addition"}]}]}"#,
            "names none",
        ),
    ] {
        check_refused(shape, body, part);
    }
}

/// Google's servers take a single item for a list, and an agent sends one.
#[test]
fn a_list_of_one_is_looked_at_like_a_list() {
    check(
        Shape::Gemini,
        r#"{"tools":{"functionDeclarations":[{"name":"f"}],"googleSearch":{}}}"#,
        r#"{"tools":[{"functionDeclarations":[{"name":"f"}]}]}"#,
    );
    for body in [
        r#"{"contents":{"parts":[{"fileData":{"fileUri":"https://evil.example/x"}}]}}"#,
        r#"{"contents":[{"parts":{"fileData":{"fileUri":"https://evil.example/x"}}}]}"#,
        r#"{"contents":{"parts":{"file_data":{"file_uri":"https://evil.example/x"}}}}"#,
        r#"{"systemInstruction":{"parts":{"fileData":{"fileUri":"https://evil.example/x"}}}}"#,
    ] {
        let checked = of(Shape::Gemini).check(body.as_bytes()).unwrap();
        let sent = String::from_utf8(checked.bytes).unwrap();
        assert!(!sent.contains("evil.example"), "{sent}");
        assert!(checked.removed.contains("URL source"), "{body}");
    }
    let body = r#"{"model":"m","input":[{"type":"computer_call_output","call_id":"c","output":{"type":"computer_screenshot","image_url":"https://evil.example/x.png"}}]}"#;
    let checked = of(Shape::Responses).check(body.as_bytes()).unwrap();
    assert!(!String::from_utf8(checked.bytes).unwrap().contains("evil.example"));
    let local = r#"{"input":[{"type":"computer_call_output","output":{"type":"computer_screenshot","image_url":"data:image/png;base64,AA=="}}]}"#;
    check(Shape::Responses, local, local);
}
