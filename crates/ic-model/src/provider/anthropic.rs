//! Anthropic's Messages: a conversation as its request, and its stream as a message.
//!
//! Thoughts and whatever else only Anthropic understands are kept as they came. Nothing is sent here.

use std::collections::BTreeMap;

use ic_types::{Json, Object, Provider};

use super::fault::Fault;
use super::sse::Event;
use super::wire::{
    Progress, Reading, Traits, Trouble, at, cut, id, input, input_object, is_whole, items, note,
    number, object, parse, text,
};
use crate::error::ModelError;
use crate::message::{AssistantBlock, Message, ToolUseId, UserBlock};
use crate::model::{Completion, Listener, Prompt, StopReason};
use crate::usage::Usage;

/// Makes the body of a request.
///
/// What was said before is marked for the cache: the tools and the system prompt by one mark, and
/// the conversation up to the last and to the one before the last message of the user, so that each
/// request finds what the one before it has put there.
pub(super) fn body(model: &str, traits: Traits, prompt: Prompt<'_>) -> Json {
    let users = prompt.messages.iter().enumerate().rev();
    let users = users.filter(|(_, message)| matches!(message, Message::User(_)));
    let marked: Vec<usize> = users.map(|(at, _)| at).take(2).collect();
    let messages = prompt.messages.iter().enumerate();
    let messages = messages.map(|(at, it)| message(it, marked.contains(&at))).collect::<Vec<_>>();
    let mut system = text_block(prompt.system);
    mark(&mut system);
    let mut body = Object::new();
    body.insert("model", model);
    body.insert("max_tokens", traits.max_output);
    body.insert("stream", true);
    if traits.is_thinking {
        body.insert("thinking", object([("type", Json::from("adaptive"))]));
    }
    if !prompt.tools.is_empty() {
        let tool = |it: &crate::model::ToolSpec| {
            object([
                ("name", Json::from(it.name.as_str())),
                ("description", Json::from(it.description.as_str())),
                ("input_schema", it.input_schema.clone().into()),
            ])
        };
        body.insert("tools", prompt.tools.iter().map(tool).collect::<Vec<_>>());
    }
    body.insert("system", vec![system]);
    body.insert("messages", messages);
    body.into()
}

fn message(message: &Message, is_marked: bool) -> Json {
    let (role, mut blocks) = match message {
        Message::User(blocks) => ("user", blocks.iter().map(user_block).collect::<Vec<_>>()),
        Message::Assistant(blocks) => {
            ("assistant", blocks.iter().filter_map(assistant_block).collect())
        }
    };
    if blocks.is_empty() {
        // All that was said was for another provider.
        blocks.push(text_block("(nothing that can be repeated)"));
    }
    if is_marked && let Some(last) = blocks.last_mut() {
        mark(last);
    }
    object([("role", Json::from(role)), ("content", Json::Array(blocks))])
}

fn user_block(block: &UserBlock) -> Json {
    match block {
        UserBlock::Text(text) => text_block(text),
        UserBlock::Note(text) => text_block(&note(text)),
        UserBlock::ToolResult { id, content, is_error } => object([
            ("type", Json::from("tool_result")),
            ("tool_use_id", Json::from(plain(id))),
            ("content", Json::from(content.as_str())),
            ("is_error", Json::from(*is_error)),
        ]),
    }
}

fn assistant_block(block: &AssistantBlock) -> Option<Json> {
    match block {
        AssistantBlock::Text(text) => Some(text_block(text)),
        AssistantBlock::ToolUse { id, name, input } => Some(object([
            ("type", Json::from("tool_use")),
            ("id", Json::from(plain(id))),
            ("name", Json::from(name.as_str())),
            ("input", input_object(input)),
        ])),
        AssistantBlock::Verbatim { provider: Provider::Anthropic, block } => Some(block.clone()),
        AssistantBlock::Verbatim { .. } => None,
    }
}

/// Returns an id in the letters that Anthropic takes; those of other providers may have more.
fn plain(id: &ToolUseId) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    id.as_str().chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

fn text_block(text: &str) -> Json {
    object([("type", Json::from("text")), ("text", Json::from(text))])
}

fn mark(block: &mut Json) {
    if let Json::Object(block) = block {
        block.insert("cache_control", object([("type", Json::from("ephemeral"))]));
    }
}

/// Reads a stream.
#[derive(Debug, Default)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Reader {
    blocks: BTreeMap<u64, Partial>,
    stop: Option<String>,
    usage: Usage,
    uncached: u64,
    is_done: bool,
}

/// A block that is coming.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
enum Partial {
    Text(String),
    Tool {
        id: String,
        name: String,
        input: String,
    },
    /// What is not ours to understand.
    Other(Object),
}

impl Reading for Reader {
    fn take(&mut self, event: &Event, listener: &dyn Listener) -> Result<Progress, Trouble> {
        let json = parse(&event.data)?;
        match text(&json, &["type"]).unwrap_or_default() {
            "message_start" => self.count(at(&json, &["message", "usage"])),
            "content_block_start" => self.begin(&json, listener)?,
            "content_block_delta" => self.go_on(&json, listener)?,
            "message_delta" => {
                if let Some(stop) = text(&json, &["delta", "stop_reason"]) {
                    self.stop = Some(stop.to_owned());
                }
                self.count(at(&json, &["usage"]));
            }
            "message_stop" => {
                self.is_done = true;
                return Ok(Progress::Done);
            }
            "error" => return Err(Trouble::Fault(Fault::of_json(&json))),
            // A ping, the end of a block, or something that was made up since.
            _ => {}
        }
        Ok(Progress::More)
    }

    fn usage(&self) -> Usage {
        self.usage
    }

    fn finish(self: Box<Self>) -> Result<Completion, Trouble> {
        if !self.is_done {
            return Err(cut());
        }
        let stop = match self.stop.as_deref() {
            Some("tool_use") => StopReason::ToolUse,
            Some("max_tokens") => StopReason::MaxTokens,
            Some("refusal") => {
                let reason = "its provider withheld the answer".to_owned();
                return Err(ModelError::Refused(reason).into());
            }
            Some("model_context_window_exceeded") => return Err(ModelError::ContextExceeded.into()),
            _ => StopReason::EndTurn,
        };
        let mut blocks = Vec::new();
        for block in self.blocks.into_values() {
            blocks.extend(block.finish(stop)?);
        }
        Ok(Completion { blocks, stop, usage: self.usage })
    }
}

impl Reader {
    fn begin(&mut self, json: &Json, listener: &dyn Listener) -> Result<(), ModelError> {
        let missing = || ModelError::Protocol("a block without its beginning".to_owned());
        let index = number(json, &["index"]).ok_or_else(missing)?;
        let Some(Json::Object(block)) = at(json, &["content_block"]) else {
            return Err(missing());
        };
        let field = |key: &str| block.get(key).and_then(Json::as_str).unwrap_or_default();
        let partial = match field("type") {
            "text" => {
                tell(field("text"), listener);
                Partial::Text(field("text").to_owned())
            }
            "tool_use" => {
                let (id, name) = (field("id").to_owned(), field("name").to_owned());
                let input = match block.get("input") {
                    Some(Json::Object(input)) if !input.is_empty() => {
                        Json::from(input.clone()).to_string()
                    }
                    _ => String::new(),
                };
                Partial::Tool { id, name, input }
            }
            _ => Partial::Other(block.clone()),
        };
        self.blocks.insert(index, partial);
        Ok(())
    }

    fn go_on(&mut self, json: &Json, listener: &dyn Listener) -> Result<(), ModelError> {
        let block = number(json, &["index"]).and_then(|index| self.blocks.get_mut(&index));
        let block =
            block.ok_or_else(|| ModelError::Protocol("a block that never began".to_owned()))?;
        let delta = |key: &str| text(json, &["delta", key]).unwrap_or_default();
        match (block, delta("type")) {
            (Partial::Text(text), "text_delta") => {
                tell(delta("text"), listener);
                text.push_str(delta("text"));
            }
            (Partial::Tool { input, .. }, "input_json_delta") => {
                input.push_str(delta("partial_json"));
            }
            (Partial::Other(block), "thinking_delta") => {
                append(block, "thinking", delta("thinking"));
            }
            (Partial::Other(block), "signature_delta") => {
                append(block, "signature", delta("signature"));
            }
            // Something that was made up since, such as citations.
            _ => {}
        }
        Ok(())
    }

    /// Takes in usage, which comes twice: the later figures are those of the whole.
    fn count(&mut self, usage: Option<&Json>) {
        let Some(usage) = usage else { return };
        let set = |slot: &mut u64, key: &str| {
            if let Some(n_tokens) = number(usage, &[key]) {
                *slot = n_tokens;
            }
        };
        set(&mut self.uncached, "input_tokens");
        set(&mut self.usage.cached, "cache_read_input_tokens");
        set(&mut self.usage.cache_written, "cache_creation_input_tokens");
        set(&mut self.usage.completion, "output_tokens");
        let parts = [self.uncached, self.usage.cached, self.usage.cache_written];
        self.usage.prompt = parts.into_iter().fold(0, u64::saturating_add);
    }
}

impl Partial {
    fn finish(self, stop: StopReason) -> Result<Option<AssistantBlock>, ModelError> {
        Ok(match self {
            Self::Text(text) if text.is_empty() => None,
            Self::Text(text) => Some(AssistantBlock::Text(text)),
            // There was no room for all of it.
            Self::Tool { input, .. } if stop == StopReason::MaxTokens && !is_whole(&input) => None,
            Self::Tool { id: raw, name, input: text } => {
                Some(AssistantBlock::ToolUse { id: id(&raw)?, name, input: input(&text) })
            }
            Self::Other(block) => {
                let provider = Provider::Anthropic;
                Some(AssistantBlock::Verbatim { provider, block: block.into() })
            }
        })
    }
}

fn tell(text: &str, listener: &dyn Listener) {
    if !text.is_empty() {
        listener.text(text);
    }
}

fn append(block: &mut Object, key: &str, more: &str) {
    match block.get_mut(key) {
        Some(Json::String(text)) => text.push_str(more),
        _ => block.insert(key, more),
    }
}

/// Returns the names of the models in a listing.
pub(super) fn listed(json: &Json) -> Vec<String> {
    let ids = items(json, &["data"]).iter().filter_map(|it| text(it, &["id"]));
    ids.map(ToOwned::to_owned).collect()
}
