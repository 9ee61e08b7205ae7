//! `OpenAI`'s Responses: a conversation as its request, and its stream as a message.
//!
//! Nothing is left with the provider: the conversation is sent each time, and thoughts go back as
//! they came, encrypted. Nothing is sent here.

use std::collections::BTreeMap;

use ic_types::{Json, Object, Provider};

use super::fault::Fault;
use super::sse::Event;
use super::wire::{
    Progress, Reading, Traits, Trouble, at, cut, id, input, is_whole, items, note, number, object,
    parse, text, uses_tools,
};
use crate::error::ModelError;
use crate::message::{AssistantBlock, Message, UserBlock};
use crate::model::{Completion, Listener, Prompt, StopReason, ToolSpec};
use crate::usage::Usage;

/// Makes the body of a request.
pub(super) fn body(model: &str, traits: Traits, prompt: Prompt<'_>) -> Json {
    let mut body = Object::new();
    body.insert("model", model);
    body.insert("instructions", prompt.system);
    body.insert("input", prompt.messages.iter().flat_map(message).collect::<Vec<_>>());
    if !prompt.tools.is_empty() {
        body.insert("tools", prompt.tools.iter().map(tool).collect::<Vec<_>>());
        body.insert("parallel_tool_calls", true);
    }
    if traits.is_thinking {
        body.insert("include", vec![Json::from("reasoning.encrypted_content")]);
    }
    body.insert("store", false);
    body.insert("stream", true);
    body.into()
}

fn tool(tool: &ToolSpec) -> Json {
    object([
        ("type", Json::from("function")),
        ("name", Json::from(tool.name.as_str())),
        ("description", Json::from(tool.description.as_str())),
        ("parameters", tool.input_schema.clone().into()),
        ("strict", Json::from(false)),
    ])
}

fn message(message: &Message) -> Vec<Json> {
    match message {
        Message::User(blocks) => blocks.iter().map(user_item).collect(),
        Message::Assistant(blocks) => blocks.iter().filter_map(assistant_item).collect(),
    }
}

fn user_item(block: &UserBlock) -> Json {
    let said = |text: &str| {
        let part = object([("type", Json::from("input_text")), ("text", Json::from(text))]);
        object([
            ("type", Json::from("message")),
            ("role", Json::from("user")),
            ("content", Json::Array(vec![part])),
        ])
    };
    match block {
        UserBlock::Text(text) => said(text),
        UserBlock::Note(text) => said(&note(text)),
        UserBlock::ToolResult { id, content, is_error: _ } => object([
            ("type", Json::from("function_call_output")),
            ("call_id", Json::from(id.as_str())),
            ("output", Json::from(content.as_str())),
        ]),
    }
}

fn assistant_item(block: &AssistantBlock) -> Option<Json> {
    match block {
        AssistantBlock::Text(text) => {
            let part =
                object([("type", Json::from("output_text")), ("text", Json::from(text.as_str()))]);
            Some(object([
                ("type", Json::from("message")),
                ("role", Json::from("assistant")),
                ("content", Json::Array(vec![part])),
            ]))
        }
        AssistantBlock::ToolUse { id, name, input } => Some(object([
            ("type", Json::from("function_call")),
            ("call_id", Json::from(id.as_str())),
            ("name", Json::from(name.as_str())),
            ("arguments", Json::from(arguments(input))),
        ])),
        AssistantBlock::Verbatim { provider: Provider::OpenAi, block } => Some(block.clone()),
        AssistantBlock::Verbatim { .. } => None,
    }
}

/// Writes an input as the text that it came as.
pub(super) fn arguments(input: &Json) -> String {
    match input {
        Json::String(raw) => raw.clone(),
        other => other.to_string(),
    }
}

/// Reads a stream.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// The finished items, by their place in the output.
    items: BTreeMap<u64, Json>,
    stop: Option<StopReason>,
    is_withheld: bool,
    usage: Usage,
}

impl Reading for Reader {
    fn take(&mut self, event: &Event, listener: &dyn Listener) -> Result<Progress, Trouble> {
        let json = parse(&event.data)?;
        match text(&json, &["type"]).unwrap_or_default() {
            "response.output_text.delta" => {
                let delta = text(&json, &["delta"]).unwrap_or_default();
                if !delta.is_empty() {
                    listener.text(delta);
                }
            }
            "response.output_item.done" => {
                let place = number(&json, &["output_index"]);
                let place = place.unwrap_or(self.items.len() as u64);
                if let Some(item) = at(&json, &["item"]) {
                    self.items.insert(place, item.clone());
                }
            }
            "response.completed" => {
                self.count(&json);
                self.stop = Some(StopReason::EndTurn);
                return Ok(Progress::Done);
            }
            "response.incomplete" => {
                self.count(&json);
                let reason = text(&json, &["response", "incomplete_details", "reason"]);
                self.is_withheld = reason == Some("content_filter");
                self.stop = Some(StopReason::MaxTokens);
                return Ok(Progress::Done);
            }
            "response.failed" => {
                let failed = at(&json, &["response"]).unwrap_or(&json);
                return Err(Trouble::Fault(Fault::of_json(failed)));
            }
            "error" => return Err(Trouble::Fault(Fault::of_json(&json))),
            // Beginnings, pieces of what comes as a whole later, or something that was made up since.
            _ => {}
        }
        Ok(Progress::More)
    }

    fn finish(self: Box<Self>) -> Result<Completion, Trouble> {
        let Some(stop) = self.stop else { return Err(cut()) };
        if self.is_withheld {
            let reason = "a filter of the provider withheld the answer".to_owned();
            return Err(ModelError::Refused(reason).into());
        }
        let (mut blocks, mut refusals) = (Vec::new(), Vec::new());
        for item in self.items.into_values() {
            blocks.extend(block(item, stop, &mut refusals)?);
        }
        let is_said = blocks.iter().any(|it| !matches!(it, AssistantBlock::Verbatim { .. }));
        if !is_said && !refusals.is_empty() {
            let words = super::fault::words(&refusals.join(" "), None);
            return Err(ModelError::Refused(words).into());
        }
        let stop = match stop {
            StopReason::EndTurn if uses_tools(&blocks) => StopReason::ToolUse,
            stop => stop,
        };
        Ok(Completion { blocks, stop, usage: self.usage })
    }
}

impl Reader {
    fn count(&mut self, json: &Json) {
        let usage = |path: &[&str]| {
            let path: Vec<&str> = ["response", "usage"].iter().chain(path).copied().collect();
            number(json, &path).unwrap_or(0)
        };
        self.usage = Usage {
            prompt: usage(&["input_tokens"]),
            completion: usage(&["output_tokens"]),
            cached: usage(&["input_tokens_details", "cached_tokens"]),
            cache_written: 0,
        };
    }
}

/// Makes a block of an item; what the model declined to say goes to `refusals`.
fn block(
    item: Json,
    stop: StopReason,
    refusals: &mut Vec<String>,
) -> Result<Option<AssistantBlock>, ModelError> {
    match text(&item, &["type"]).unwrap_or_default() {
        "message" => {
            let mut said = String::new();
            for part in items(&item, &["content"]) {
                said.push_str(text(part, &["text"]).unwrap_or_default());
                refusals.extend(text(part, &["refusal"]).map(ToOwned::to_owned));
            }
            Ok((!said.is_empty()).then_some(AssistantBlock::Text(said)))
        }
        "function_call" => {
            let field = |key: &str| text(&item, &[key]).unwrap_or_default();
            let arguments = field("arguments");
            if stop == StopReason::MaxTokens && !is_whole(arguments) {
                return Ok(None);
            }
            let (id, name) = (id(field("call_id"))?, field("name").to_owned());
            Ok(Some(AssistantBlock::ToolUse { id, name, input: input(arguments) }))
        }
        _ => Ok(Some(AssistantBlock::Verbatim { provider: Provider::OpenAi, block: item })),
    }
}
