//! Google's Gemini: a conversation as its request, and its stream as a message.
//!
//! A signature goes back on the part that it came on; it is kept in a block before the one it belongs
//! to. Nothing is sent here.

use ic_types::{Json, Object, Provider};

use super::fault::Fault;
use super::sse::Event;
use super::wire::{
    Progress, Reading, Traits, Trouble, at, cut, id, input_object, items, note, number, object,
    parse, text, uses_tools,
};
use crate::error::ModelError;
use crate::message::{AssistantBlock, Message, ToolUseId, UserBlock};
use crate::model::{Completion, Listener, Prompt, StopReason, ToolSpec};
use crate::usage::Usage;

/// What the signature of a part is called.
const SIGNATURE: &str = "thoughtSignature";
/// How ids begin that we made up, since the provider gave none; it gets none back.
const OUR_ID: &str = "ic-";

/// Makes the body of a request.
pub(super) fn body(traits: Traits, prompt: Prompt<'_>) -> Json {
    let mut contents = Vec::new();
    let mut uses: Vec<(&ToolUseId, &str)> = Vec::new();
    for message in prompt.messages {
        contents.push(content(message, &uses));
        if let Message::Assistant(blocks) = message {
            uses = blocks.iter().filter_map(named).collect();
        }
    }
    let mut body = Object::new();
    let system = Json::Array(vec![object([("text", Json::from(prompt.system))])]);
    body.insert("systemInstruction", object([("parts", system)]));
    body.insert("contents", contents);
    if !prompt.tools.is_empty() {
        let functions = prompt.tools.iter().map(tool).collect::<Vec<_>>();
        body.insert("tools", vec![object([("functionDeclarations", Json::Array(functions))])]);
    }
    body.insert("generationConfig", object([("maxOutputTokens", Json::from(traits.max_output))]));
    body.into()
}

fn tool(tool: &ToolSpec) -> Json {
    object([
        ("name", Json::from(tool.name.as_str())),
        ("description", Json::from(tool.description.as_str())),
        ("parametersJsonSchema", tool.input_schema.clone().into()),
    ])
}

fn named(block: &AssistantBlock) -> Option<(&ToolUseId, &str)> {
    match block {
        AssistantBlock::ToolUse { id, name, .. } => Some((id, name)),
        AssistantBlock::Text(_) | AssistantBlock::Verbatim { .. } => None,
    }
}

/// Makes a content; `uses` are the tool uses whose results may stand in it.
fn content(message: &Message, uses: &[(&ToolUseId, &str)]) -> Json {
    let (role, parts) = match message {
        Message::User(blocks) => {
            ("user", blocks.iter().map(|block| user_part(block, uses)).collect::<Vec<_>>())
        }
        Message::Assistant(blocks) => ("model", model_parts(blocks)),
    };
    object([("role", Json::from(role)), ("parts", Json::Array(parts))])
}

fn user_part(block: &UserBlock, uses: &[(&ToolUseId, &str)]) -> Json {
    match block {
        UserBlock::Text(text) => object([("text", Json::from(text.as_str()))]),
        UserBlock::Note(text) => object([("text", Json::from(note(text)))]),
        UserBlock::ToolResult { id, content, is_error } => {
            let name = uses.iter().find(|(of, _)| *of == id).map_or("", |(_, name)| *name);
            let key = if *is_error { "error" } else { "output" };
            let mut response = Object::new();
            insert_id(&mut response, id);
            response.insert("name", name);
            response.insert("response", object([(key, Json::from(content.as_str()))]));
            object([("functionResponse", response.into())])
        }
    }
}

fn model_parts(blocks: &[AssistantBlock]) -> Vec<Json> {
    let mut parts = Vec::new();
    let mut signature: Option<&Json> = None;
    for block in blocks {
        let mut part = Object::new();
        match block {
            AssistantBlock::Text(text) => part.insert("text", text.as_str()),
            AssistantBlock::ToolUse { id, name, input } => {
                let mut call = Object::new();
                insert_id(&mut call, id);
                call.insert("name", name.as_str());
                call.insert("args", input_object(input));
                part.insert("functionCall", call);
            }
            AssistantBlock::Verbatim { provider: Provider::Google, block } => {
                match of_next(block) {
                    Some(of_next) => signature = Some(of_next),
                    None => parts.push(block.clone()),
                }
                continue;
            }
            AssistantBlock::Verbatim { .. } => continue,
        }
        if let Some(signature) = signature.take() {
            part.insert(SIGNATURE, signature.clone());
        }
        parts.push(part.into());
    }
    if parts.is_empty() {
        // All that was said was for another provider.
        parts.push(object([("text", Json::from("(nothing that can be repeated)"))]));
    }
    parts
}

/// Returns the signature of a block that holds nothing else: that of the block after it.
fn of_next(block: &Json) -> Option<&Json> {
    match block {
        Json::Object(object) if object.len() == 1 => object.get(SIGNATURE),
        _ => None,
    }
}

fn insert_id(object: &mut Object, id: &ToolUseId) {
    if !id.as_str().starts_with(OUR_ID) {
        object.insert("id", id.as_str());
    }
}

/// Reads a stream.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Reader {
    blocks: Vec<AssistantBlock>,
    /// Whether the last text goes on.
    is_text_open: bool,
    n_uses: usize,
    n_messages: usize,
    stop: Option<String>,
    withheld: Option<String>,
    usage: Usage,
}

impl Reader {
    /// Reads the answer to a conversation of `n_messages`.
    pub(super) fn new(n_messages: usize) -> Self {
        Self {
            blocks: Vec::new(),
            is_text_open: false,
            n_uses: 0,
            n_messages,
            stop: None,
            withheld: None,
            usage: Usage::default(),
        }
    }
}

impl Reading for Reader {
    fn take(&mut self, event: &Event, listener: &dyn Listener) -> Result<Progress, Trouble> {
        let json = parse(&event.data)?;
        if at(&json, &["error"]).is_some() {
            return Err(Trouble::Fault(Fault::of_json(&json)));
        }
        self.count(&json);
        if let Some(reason) = text(&json, &["promptFeedback", "blockReason"]) {
            self.withheld = Some(reason.to_owned());
        }
        let Some(candidate) = items(&json, &["candidates"]).first() else {
            return Ok(Progress::More);
        };
        for part in items(candidate, &["content", "parts"]) {
            self.part(part, listener)?;
        }
        if let Some(stop) = text(candidate, &["finishReason"]) {
            self.stop = Some(stop.to_owned());
        }
        // Nothing says that this was the last event: the stream just ends.
        Ok(Progress::More)
    }

    fn usage(&self) -> Usage {
        self.usage
    }

    fn finish(self: Box<Self>) -> Result<Completion, Trouble> {
        if let Some(reason) = &self.withheld {
            return Err(refused(reason).into());
        }
        let stop = match self.stop.as_deref() {
            None => return Err(cut()),
            Some("MAX_TOKENS") => StopReason::MaxTokens,
            Some("MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL") => {
                let what = "the model wrote a tool call that its provider could not read";
                return Err(ModelError::Protocol(what.to_owned()).into());
            }
            Some("STOP" | "FINISH_REASON_UNSPECIFIED") if uses_tools(&self.blocks) => {
                StopReason::ToolUse
            }
            Some("STOP" | "FINISH_REASON_UNSPECIFIED") => StopReason::EndTurn,
            Some(reason) => return Err(refused(reason).into()),
        };
        Ok(Completion { blocks: self.blocks, stop, usage: self.usage })
    }
}

impl Reader {
    fn part(&mut self, part: &Json, listener: &dyn Listener) -> Result<(), ModelError> {
        let Json::Object(fields) = part else { return Ok(()) };
        if fields.get("thought") == Some(&Json::Bool(true)) {
            // A summary of its thoughts, for people; it is not wanted back.
            return Ok(());
        }
        let signature = fields.get(SIGNATURE);
        if let Some(call) = fields.get("functionCall") {
            self.is_text_open = false;
            self.sign(signature);
            let raw = match text(call, &["id"]) {
                Some(raw) if !raw.is_empty() => raw.to_owned(),
                _ => format!("{OUR_ID}{}-{}", self.n_messages, self.n_uses),
            };
            self.n_uses += 1;
            let name = text(call, &["name"]).unwrap_or_default().to_owned();
            let input = at(call, &["args"]).cloned().unwrap_or_else(|| Object::new().into());
            self.blocks.push(AssistantBlock::ToolUse { id: id(&raw)?, name, input });
            return Ok(());
        }
        let Some(said) = fields.get("text").and_then(Json::as_str) else {
            self.is_text_open = false;
            self.keep(part);
            return Ok(());
        };
        match (said.is_empty(), signature) {
            (true, None) => {}
            // A part of its own, with nothing but a signature.
            (true, Some(_)) => self.keep(part),
            (false, signature) => {
                listener.text(said);
                self.say(said, signature);
            }
        }
        Ok(())
    }

    /// Adds text; with a signature it is a part of its own.
    fn say(&mut self, said: &str, signature: Option<&Json>) {
        if let (true, None, Some(AssistantBlock::Text(text))) =
            (self.is_text_open, signature, self.blocks.last_mut())
        {
            text.push_str(said);
            return;
        }
        self.sign(signature);
        self.blocks.push(AssistantBlock::Text(said.to_owned()));
        self.is_text_open = signature.is_none();
    }

    fn sign(&mut self, signature: Option<&Json>) {
        if let Some(signature) = signature {
            self.keep(&object([(SIGNATURE, signature.clone())]));
        }
    }

    fn keep(&mut self, part: &Json) {
        self.is_text_open = false;
        let provider = Provider::Google;
        self.blocks.push(AssistantBlock::Verbatim { provider, block: part.clone() });
    }

    fn count(&mut self, json: &Json) {
        let Some(usage) = at(json, &["usageMetadata"]) else { return };
        let tokens = |key: &str| number(usage, &[key]).unwrap_or(0);
        let thoughts = tokens("thoughtsTokenCount");
        self.usage = Usage {
            prompt: tokens("promptTokenCount").saturating_add(tokens("toolUsePromptTokenCount")),
            completion: tokens("candidatesTokenCount").saturating_add(thoughts),
            cached: tokens("cachedContentTokenCount"),
            cache_written: 0,
        };
    }
}

fn refused(reason: &str) -> ModelError {
    ModelError::Refused(format!(
        "its provider withheld the answer ({})",
        super::fault::words(reason, None)
    ))
}

/// Returns the names of the models in a listing.
pub(super) fn listed(json: &Json) -> Vec<String> {
    let names = items(json, &["models"]).iter().filter_map(|it| text(it, &["name"]));
    names.map(|it| it.trim_start_matches("models/").to_owned()).collect()
}
