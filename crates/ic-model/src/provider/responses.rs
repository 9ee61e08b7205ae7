//! `OpenAI`'s Responses: a conversation as its request, and its stream as a message.
//!
//! Nothing is left with the provider: the conversation is sent each time, and thoughts go back as
//! they came, encrypted. What the model says of a message, whether it is the answer or is only said in
//! between, goes back on it; it is kept in a block before it. Nothing is sent here.

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

/// What says whether a message is the answer, or is said in between.
const PHASE: &str = "phase";

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
        Message::Assistant(blocks) => assistant_items(blocks),
    }
}

fn assistant_items(blocks: &[AssistantBlock]) -> Vec<Json> {
    let mut items = Vec::new();
    let mut phase: Option<&Json> = None;
    for block in blocks {
        match block {
            AssistantBlock::Text(text) => items.push(said(text, phase.take())),
            AssistantBlock::ToolUse { id, name, input } => items.push(object([
                ("type", Json::from("function_call")),
                ("call_id", Json::from(id.as_str())),
                ("name", Json::from(name.as_str())),
                ("arguments", Json::from(arguments(input))),
            ])),
            AssistantBlock::Verbatim { provider: Provider::OpenAi, block } => {
                match of_next(block) {
                    Some(of_next) => phase = Some(of_next),
                    None => items.push(block.clone()),
                }
            }
            AssistantBlock::Verbatim { .. } => {}
        }
    }
    items
}

fn said(text: &str, phase: Option<&Json>) -> Json {
    let part = object([
        ("type", Json::from("output_text")),
        ("text", Json::from(text)),
        ("annotations", Json::Array(Vec::new())),
    ]);
    let mut message = Object::new();
    message.insert("type", "message");
    message.insert("role", "assistant");
    message.insert("content", vec![part]);
    if let Some(phase) = phase {
        message.insert(PHASE, phase.clone());
    }
    message.into()
}

/// Returns the phase of a block that holds nothing else: that of the message after it.
fn of_next(block: &Json) -> Option<&Json> {
    match block {
        Json::Object(object) if object.len() == 1 => object.get(PHASE),
        _ => None,
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

/// Writes an input as the text that it came as.
pub(super) fn arguments(input: &Json) -> String {
    match input {
        Json::String(raw) => raw.clone(),
        other => other.to_string(),
    }
}

/// Reads a stream.
#[derive(Debug, Default)]
#[cfg_attr(test, derive(Clone))]
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

    fn usage(&self) -> Usage {
        self.usage
    }

    fn finish(self: Box<Self>) -> Result<Completion, Trouble> {
        let Some(stop) = self.stop else { return Err(cut()) };
        if self.is_withheld {
            let reason = "a filter of the provider withheld the answer".to_owned();
            return Err(ModelError::Refused(reason).into());
        }
        let (mut blocks, mut refusals) = (Vec::new(), Vec::new());
        for item in self.items.into_values() {
            blocks.extend(read(item, stop, &mut refusals)?);
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

/// Makes blocks of an item; what the model declined to say goes to `refusals`.
fn read(
    item: Json,
    stop: StopReason,
    refusals: &mut Vec<String>,
) -> Result<Vec<AssistantBlock>, ModelError> {
    match text(&item, &["type"]).unwrap_or_default() {
        "message" => {
            let mut said = String::new();
            for part in items(&item, &["content"]) {
                said.push_str(text(part, &["text"]).unwrap_or_default());
                refusals.extend(text(part, &["refusal"]).map(ToOwned::to_owned));
            }
            if said.is_empty() {
                return Ok(Vec::new());
            }
            let phase = at(&item, &[PHASE]).filter(|it| it.as_str().is_some());
            let phase = phase.map(|it| verbatim(object([(PHASE, it.clone())])));
            Ok(phase.into_iter().chain([AssistantBlock::Text(said)]).collect())
        }
        "function_call" => {
            let field = |key: &str| text(&item, &[key]).unwrap_or_default();
            let arguments = field("arguments");
            if stop == StopReason::MaxTokens && !is_whole(arguments) {
                return Ok(Vec::new());
            }
            let (id, name) = (id(field("call_id"))?, field("name").to_owned());
            Ok(vec![AssistantBlock::ToolUse { id, name, input: input(arguments) }])
        }
        _ => Ok(vec![verbatim(item)]),
    }
}

fn verbatim(block: Json) -> AssistantBlock {
    AssistantBlock::Verbatim { provider: Provider::OpenAi, block }
}
