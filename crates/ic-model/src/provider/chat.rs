//! Chat Completions, which every `OpenAI`-compatible server speaks, each in its own way.
//!
//! Read leniently: ids, indices and the end of the stream are missing in some servers. What such a
//! server adds to a tool call or says of its thoughts is kept and goes back. Nothing is sent here.

use ic_types::{Json, Object, Provider};

use super::fault::Fault;
use super::responses::arguments;
use super::sse::Event;
use super::wire::{
    Progress, Reading, Trouble, at, cut, id, input, is_whole, items, note, number, object, parse,
    text, uses_tools,
};
use crate::error::ModelError;
use crate::message::{AssistantBlock, Message, UserBlock};
use crate::model::{Completion, Listener, Prompt, StopReason, ToolSpec};
use crate::usage::Usage;

/// Under this key, thoughts that came with tool calls are kept.
const THOUGHTS: &str = "reasoning_content";
/// Under this key, what a server added to a tool call is kept.
const ADDED: &str = "tool_call";

/// Makes the body of a request.
pub(super) fn body(model: &str, prompt: Prompt<'_>) -> Json {
    let system = object([("role", Json::from("system")), ("content", Json::from(prompt.system))]);
    let said = prompt.messages.iter().flat_map(message);
    let mut body = Object::new();
    body.insert("model", model);
    body.insert("messages", std::iter::once(system).chain(said).collect::<Vec<_>>());
    if !prompt.tools.is_empty() {
        body.insert("tools", prompt.tools.iter().map(tool).collect::<Vec<_>>());
    }
    body.insert("stream", true);
    body.insert("stream_options", object([("include_usage", Json::from(true))]));
    body.into()
}

fn tool(tool: &ToolSpec) -> Json {
    let function = object([
        ("name", Json::from(tool.name.as_str())),
        ("description", Json::from(tool.description.as_str())),
        ("parameters", tool.input_schema.clone().into()),
    ]);
    object([("type", Json::from("function")), ("function", function)])
}

fn message(message: &Message) -> Vec<Json> {
    match message {
        Message::User(blocks) => user_messages(blocks),
        Message::Assistant(blocks) => vec![assistant_message(blocks)],
    }
}

/// Results are messages of their own, before what is said; the rest is one message.
fn user_messages(blocks: &[UserBlock]) -> Vec<Json> {
    let (mut messages, mut said) = (Vec::new(), Vec::new());
    for block in blocks {
        match block {
            UserBlock::Text(text) => said.push(text.clone()),
            UserBlock::Note(text) => said.push(note(text)),
            UserBlock::ToolResult { id, content, is_error: _ } => messages.push(object([
                ("role", Json::from("tool")),
                ("tool_call_id", Json::from(id.as_str())),
                ("content", Json::from(content.as_str())),
            ])),
        }
    }
    if !said.is_empty() {
        let content = Json::from(said.join("\n\n"));
        messages.push(object([("role", Json::from("user")), ("content", content)]));
    }
    messages
}

fn assistant_message(blocks: &[AssistantBlock]) -> Json {
    let (mut said, mut calls, mut thoughts) = (Vec::new(), Vec::new(), None);
    let mut added: Option<&Object> = None;
    for block in blocks {
        match block {
            AssistantBlock::Text(text) => said.push(text.as_str()),
            AssistantBlock::ToolUse { id, name, input } => {
                let function = object([
                    ("name", Json::from(name.as_str())),
                    ("arguments", Json::from(arguments(input))),
                ]);
                let mut call = Object::new();
                call.insert("id", id.as_str());
                call.insert("type", "function");
                call.insert("function", function);
                for (key, value) in added.take().into_iter().flat_map(Object::iter) {
                    call.insert(key, value.clone());
                }
                calls.push(call.into());
            }
            AssistantBlock::Verbatim { provider: Provider::OpenAiCompatible, block } => {
                thoughts = text(block, &[THOUGHTS]).or(thoughts);
                if let Some(Json::Object(of_next)) = at(block, &[ADDED]) {
                    added = Some(of_next);
                }
            }
            AssistantBlock::Verbatim { .. } => {}
        }
    }
    let mut message = Object::new();
    message.insert("role", "assistant");
    match said.is_empty() && !calls.is_empty() {
        true => message.insert("content", Json::Null),
        false => message.insert("content", said.join("\n")),
    }
    if !calls.is_empty() {
        if let Some(thoughts) = thoughts {
            message.insert(THOUGHTS, thoughts);
        }
        message.insert("tool_calls", calls);
    }
    message.into()
}

/// Reads a stream.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Reader {
    text: String,
    thoughts: String,
    refusal: String,
    calls: Vec<Call>,
    stop: Option<String>,
    usage: Usage,
    /// Tells the ids of tool uses without one apart from those of other messages.
    n_messages: usize,
}

#[derive(Debug, Default)]
#[cfg_attr(test, derive(Clone))]
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    added: Object,
}

impl Reader {
    /// Reads the answer to a conversation of `n_messages`.
    pub(super) fn new(n_messages: usize) -> Self {
        Self {
            text: String::new(),
            thoughts: String::new(),
            refusal: String::new(),
            calls: Vec::new(),
            stop: None,
            usage: Usage::default(),
            n_messages,
        }
    }
}

impl Reading for Reader {
    fn take(&mut self, event: &Event, listener: &dyn Listener) -> Result<Progress, Trouble> {
        if event.data.trim() == "[DONE]" {
            return Ok(Progress::Done);
        }
        let json = parse(&event.data)?;
        if at(&json, &["error"]).is_some_and(|it| *it != Json::Null) {
            return Err(Trouble::Fault(Fault::of_json(&json)));
        }
        self.count(&json);
        let Some(choice) = items(&json, &["choices"]).first() else { return Ok(Progress::More) };
        let delta = |key: &str| text(choice, &["delta", key]).unwrap_or_default();
        if !delta("content").is_empty() {
            listener.text(delta("content"));
            self.text.push_str(delta("content"));
        }
        self.thoughts.push_str(delta(THOUGHTS));
        self.refusal.push_str(delta("refusal"));
        for call in items(choice, &["delta", "tool_calls"]) {
            self.call(call);
        }
        if let Some(stop) = text(choice, &["finish_reason"]) {
            self.stop = Some(stop.to_owned());
        }
        Ok(Progress::More)
    }

    fn usage(&self) -> Usage {
        self.usage
    }

    fn finish(self: Box<Self>) -> Result<Completion, Trouble> {
        let Some(stop) = self.stop else { return Err(cut()) };
        if stop == "content_filter" {
            let reason = "a filter of the provider withheld the answer".to_owned();
            return Err(ModelError::Refused(reason).into());
        }
        if self.text.is_empty() && self.calls.is_empty() && !self.refusal.is_empty() {
            let words = super::fault::words(&self.refusal, None);
            return Err(ModelError::Refused(words).into());
        }
        let is_full = stop == "length";
        let mut blocks = Vec::new();
        if !self.thoughts.is_empty() && !self.calls.is_empty() {
            blocks.push(verbatim(THOUGHTS, Json::from(self.thoughts)));
        }
        if !self.text.is_empty() {
            blocks.push(AssistantBlock::Text(self.text));
        }
        for (at, call) in self.calls.into_iter().enumerate() {
            if is_full && !is_whole(&call.arguments) {
                continue;
            }
            let raw = match call.id.is_empty() {
                true => format!("call-{}-{at}", self.n_messages),
                false => call.id,
            };
            if !call.added.is_empty() {
                blocks.push(verbatim(ADDED, call.added.into()));
            }
            let (id, input) = (id(&raw)?, input(&call.arguments));
            blocks.push(AssistantBlock::ToolUse { id, name: call.name, input });
        }
        let stop = match is_full {
            true => StopReason::MaxTokens,
            false if uses_tools(&blocks) => StopReason::ToolUse,
            false => StopReason::EndTurn,
        };
        Ok(Completion { blocks, stop, usage: self.usage })
    }
}

impl Reader {
    /// Takes in a piece of a tool call: of the one with its index, of the last, or of a new one.
    fn call(&mut self, json: &Json) {
        let Json::Object(piece) = json else { return };
        let (index, id) = (number(json, &["index"]), text(json, &["id"]).unwrap_or_default());
        let name = text(json, &["function", "name"]).unwrap_or_default();
        let known = self.calls.iter().rposition(|call| match index {
            // Some servers give every call the index 0, and tell them apart by their ids.
            Some(_) => {
                call.index == index && (id.is_empty() || call.id.is_empty() || call.id == id)
            }
            None => name.is_empty() && (id.is_empty() || call.id == id),
        });
        let at = known.unwrap_or_else(|| {
            self.calls.push(Call { index, ..Call::default() });
            self.calls.len() - 1
        });
        let Some(call) = self.calls.get_mut(at) else { return };
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if call.name.is_empty() {
            name.clone_into(&mut call.name);
        }
        match super::wire::at(json, &["function", "arguments"]) {
            Some(Json::String(more)) => call.arguments.push_str(more),
            Some(whole @ Json::Object(_)) => call.arguments = whole.to_string(),
            _ => {}
        }
        for (key, value) in piece.iter() {
            if !matches!(key, "index" | "id" | "type" | "function") && *value != Json::Null {
                call.added.insert(key, value.clone());
            }
        }
    }

    fn count(&mut self, json: &Json) {
        let Some(usage) = at(json, &["usage"]).filter(|it| **it != Json::Null) else { return };
        self.usage = Usage {
            prompt: number(usage, &["prompt_tokens"]).unwrap_or(0),
            completion: number(usage, &["completion_tokens"]).unwrap_or(0),
            cached: number(usage, &["prompt_tokens_details", "cached_tokens"]).unwrap_or(0),
            cache_written: 0,
        };
    }
}

fn verbatim(key: &str, value: Json) -> AssistantBlock {
    let provider = Provider::OpenAiCompatible;
    AssistantBlock::Verbatim { provider, block: object([(key, value)]) }
}
