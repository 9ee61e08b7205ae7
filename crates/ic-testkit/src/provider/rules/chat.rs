//! `OpenAI`'s Chat Completions, as compatible servers speak it.
//!
//! Mirrors the types of the provider's own library for Python, as of November 2026:
//! `CompletionCreateParamsStreaming` (body), `ChatCompletionStreamOptionsParam`,
//! `ChatCompletionFunctionToolParam` with `FunctionDefinition`, and the messages
//! `ChatCompletionSystemMessageParam`, `…UserMessageParam`, `…AssistantMessageParam` with
//! `ChatCompletionMessageFunctionToolCallParam`, and `…ToolMessageParam`. Two things that compatible servers
//! add come back to them: `reasoning_content` of a message, and `extra_content` of a tool call. In words the
//! documentation adds: calls are followed by a message for each of their results.

use serde_json::Value;

use super::{Is, Rules, list, word};

impl Rules {
    pub(super) fn chat(&mut self, body: &Value) {
        let needed = [
            ("model", Is::Words),
            ("messages", Is::List),
            ("stream", Is::True),
            ("stream_options", Is::Object),
        ];
        self.fields(body, "body", &needed, &[("tools", Is::List)]);
        if let Some(options) = body.get("stream_options") {
            self.fields(options, "stream_options", &[("include_usage", Is::True)], &[]);
        }
        for tool in list(body, "tools") {
            let needed = [("type", Is::Just("function")), ("function", Is::Object)];
            self.fields(tool, "tools", &needed, &[]);
            let needed = [("name", Is::Name(64)), ("parameters", Is::Schema)];
            let function = tool.get("function").unwrap_or(&Value::Null);
            self.fields(function, "tools.function", &needed, &[("description", Is::Words)]);
        }
        let mut open: Vec<&str> = Vec::new();
        for (at, message) in list(body, "messages").iter().enumerate() {
            let (place, role) = (format!("messages.{at}"), word(message, "role"));
            self.require(role == "tool" || open.is_empty(), || {
                format!(
                    "{place}: An assistant message with 'tool_calls' must be followed by tool messages \
                     responding to each 'tool_call_id': {open:?}"
                )
            });
            self.require((role == "system") == (at == 0), || format!("{place}: {role}"));
            self.chat_message(message, role, &place, &mut open);
        }
        self.require(open.is_empty(), || "tool calls without results".to_owned());
    }

    fn chat_message<'a>(
        &mut self,
        message: &'a Value,
        role: &str,
        at: &str,
        open: &mut Vec<&'a str>,
    ) {
        match role {
            "system" | "user" => {
                self.fields(message, at, &[("role", Is::Text), ("content", Is::Words)], &[]);
            }
            "assistant" => {
                let needed = [("role", Is::Text), ("content", Is::WordsOrNull)];
                let further = [("tool_calls", Is::List), ("reasoning_content", Is::Words)];
                self.fields(message, at, &needed, &further);
                let calls = list(message, "tool_calls");
                let is_said = message.get("content").is_some_and(Value::is_string);
                self.require(is_said || !calls.is_empty(), || format!("{at}: nothing is said"));
                for call in calls {
                    let needed = [
                        ("id", Is::Words),
                        ("type", Is::Just("function")),
                        ("function", Is::Object),
                    ];
                    self.fields(call, at, &needed, &[("extra_content", Is::Object)]);
                    let needed = [("name", Is::Name(64)), ("arguments", Is::JsonText)];
                    self.fields(call.get("function").unwrap_or(&Value::Null), at, &needed, &[]);
                    open.push(word(call, "id"));
                }
            }
            "tool" => {
                let content = ("content", Is::Text);
                let needed = [("role", Is::Text), ("tool_call_id", Is::Words), content];
                self.fields(message, at, &needed, &[]);
                let place = open.iter().position(|id| *id == word(message, "tool_call_id"));
                self.require(place.is_some(), || format!("{at}: a result of nothing"));
                place.map(|place| open.remove(place));
            }
            role => self.require(false, || format!("{at}: the role `{role}`")),
        }
    }
}
