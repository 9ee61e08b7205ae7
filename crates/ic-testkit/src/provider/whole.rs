//! How a message looks in each format if it is not streamed.
//!
//! Written from the providers' documentation, like the events in `frames`.

use serde_json::{Value, json};

use super::frames::{self, Format};
use super::script::{Said, Stop, signature};

/// Returns the body of a message that comes at once.
pub fn of(format: Format, said: &Said, model: &str) -> Value {
    match format {
        Format::Anthropic => anthropic(said, model),
        Format::Responses => responses(said, model),
        Format::Chat => chat(said, model),
        Format::Gemini => gemini(said, model),
    }
}

fn anthropic(said: &Said, model: &str) -> Value {
    let mut content = Vec::new();
    if let Some(thought) = &said.thought {
        let signature = signature(thought);
        content.push(json!({"type": "thinking", "thinking": thought, "signature": signature}));
    }
    if !said.text.is_empty() {
        content.push(json!({"type": "text", "text": said.text}));
    }
    for used in &said.uses {
        let (id, name, input) = (&used.id, &used.name, &used.input);
        content.push(json!({"type": "tool_use", "id": id, "name": name, "input": input}));
    }
    let stop = match said.stop {
        Stop::Done if said.uses.is_empty() => "end_turn",
        Stop::Done => "tool_use",
        Stop::Full => "max_tokens",
        Stop::Refused => "refusal",
    };
    let tokens = said.tokens;
    let uncached = tokens.input.saturating_sub(tokens.cached).saturating_sub(tokens.written);
    json!({"id": "msg_1", "type": "message", "role": "assistant", "model": model,
        "content": content, "stop_reason": stop, "stop_sequence": null,
        "usage": {"input_tokens": uncached, "cache_creation_input_tokens": tokens.written,
            "cache_read_input_tokens": tokens.cached, "output_tokens": tokens.output}})
}

/// The last event of a stream holds the whole response.
fn responses(said: &Said, model: &str) -> Value {
    let last = frames::of(Format::Responses, said, model).pop().unwrap_or_default();
    let data = last.split_once("data: ").map(|(_, data)| data.trim()).unwrap_or_default();
    let event: Value = serde_json::from_str(data).unwrap_or_default();
    event.get("response").cloned().unwrap_or_default()
}

fn chat(said: &Said, model: &str) -> Value {
    let uses: Vec<Value> = said
        .uses
        .iter()
        .map(|it| {
            json!({"id": it.id, "type": "function",
                "function": {"name": it.name, "arguments": it.input.to_string()}})
        })
        .collect();
    let mut message = json!({"role": "assistant", "content": said.text});
    if let (false, Some(message)) = (uses.is_empty(), message.as_object_mut()) {
        message.insert("tool_calls".to_owned(), json!(uses));
    }
    let stop = match said.stop {
        Stop::Done if said.uses.is_empty() => "stop",
        Stop::Done => "tool_calls",
        Stop::Full => "length",
        Stop::Refused => "content_filter",
    };
    let tokens = said.tokens;
    json!({"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": stop}],
        "usage": {"prompt_tokens": tokens.input, "completion_tokens": tokens.output,
            "total_tokens": tokens.input + tokens.output,
            "prompt_tokens_details": {"cached_tokens": tokens.cached}}})
}

fn gemini(said: &Said, model: &str) -> Value {
    let mut parts = Vec::new();
    if !said.text.is_empty() {
        parts.push(json!({"text": said.text}));
    }
    for used in &said.uses {
        parts.push(json!({"functionCall": {"name": used.name, "args": used.input}}));
    }
    let stop = match said.stop {
        Stop::Done => "STOP",
        Stop::Full => "MAX_TOKENS",
        Stop::Refused => "SAFETY",
    };
    let tokens = said.tokens;
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0,
            "finishReason": stop}],
        "usageMetadata": {"promptTokenCount": tokens.input,
            "candidatesTokenCount": tokens.output, "cachedContentTokenCount": tokens.cached,
            "totalTokenCount": tokens.input + tokens.output},
        "modelVersion": model, "responseId": "r1"})
}
