//! How a message, and an error, look in each of the four formats.
//!
//! Written from the providers' documentation, by hand, and shared with no client: a client that reads
//! these reads what it was not made with.

use std::fmt;

use serde_json::{Value, json};

use super::script::{Fault, Said, Stop, Use, encrypted, signature};

/// A wire format.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Format {
    /// Anthropic's Messages.
    Anthropic,
    /// `OpenAI`'s Responses.
    Responses,
    /// `OpenAI`'s Chat Completions, as compatible servers speak it.
    Chat,
    /// Google's Gemini.
    Gemini,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 4] = [Self::Anthropic, Self::Responses, Self::Chat, Self::Gemini];

    /// Returns the format that a path means; listings count as those of the likeliest.
    pub(super) fn of_path(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default();
        match path {
            "/v1/messages" => Some(Self::Anthropic),
            "/v1/responses" => Some(Self::Responses),
            "/v1/chat/completions" | "/v1/models" => Some(Self::Chat),
            "/v1beta/models" => Some(Self::Gemini),
            _ if (path.starts_with("/v1beta/models/") || path.starts_with("/v1/models/"))
                && (path.ends_with(":streamGenerateContent")
                    || path.ends_with(":generateContent")) =>
            {
                Some(Self::Gemini)
            }
            _ => None,
        }
    }

    /// Returns the header that the key stands in.
    pub fn key_header(self) -> &'static str {
        match self {
            Self::Anthropic => "x-api-key",
            Self::Gemini => "x-goog-api-key",
            Self::Responses | Self::Chat => "authorization",
        }
    }

    /// Returns the word for the provider, as in the name of a model.
    pub fn provider(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Responses => "openai",
            Self::Chat => "openai-compatible",
            Self::Gemini => "google",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.provider())
    }
}

/// Returns the events of a message, in order.
pub fn of(format: Format, said: &Said, model: &str) -> Vec<String> {
    match format {
        Format::Anthropic => anthropic(said, model),
        Format::Responses => responses(said, model),
        Format::Chat => chat(said, model),
        Format::Gemini => gemini(said, model),
    }
}

/// Splits a text in two at a character, as it would come.
fn halves(text: &str) -> Vec<&str> {
    let (head, tail) = text.split_at(text.floor_char_boundary(text.len() / 2));
    [head, tail].into_iter().filter(|it| !it.is_empty()).collect()
}

fn named(data: &Value) -> String {
    let name = data.get("type").and_then(Value::as_str).unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n")
}

fn plain(data: &Value) -> String {
    format!("data: {data}\n\n")
}

fn anthropic(said: &Said, model: &str) -> Vec<String> {
    let tokens = said.tokens;
    let uncached = tokens.input.saturating_sub(tokens.cached).saturating_sub(tokens.written);
    let usage = |output: u64| {
        json!({"input_tokens": uncached, "cache_creation_input_tokens": tokens.written,
               "cache_read_input_tokens": tokens.cached, "output_tokens": output})
    };
    let mut events = vec![
        json!({"type": "message_start", "message": {"id": "msg_1", "type": "message",
            "role": "assistant", "model": model, "content": [], "stop_reason": null,
            "stop_sequence": null, "usage": usage(1)}}),
        json!({"type": "ping"}),
    ];
    let mut index = 0;
    let mut block = |start: Value, deltas: Vec<Value>| {
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        for delta in deltas {
            events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        events.push(json!({"type": "content_block_stop", "index": index}));
        index += 1;
    };
    if let Some(thought) = &said.thought {
        let mut deltas: Vec<Value> = halves(thought)
            .into_iter()
            .map(|it| json!({"type": "thinking_delta", "thinking": it}))
            .collect();
        deltas.push(json!({"type": "signature_delta", "signature": signature(thought)}));
        block(json!({"type": "thinking", "thinking": "", "signature": ""}), deltas);
    }
    if !said.text.is_empty() {
        let deltas = halves(&said.text).into_iter();
        let deltas = deltas.map(|it| json!({"type": "text_delta", "text": it})).collect();
        block(json!({"type": "text", "text": ""}), deltas);
    }
    for used in &said.uses {
        let input = used.input.to_string();
        let deltas = std::iter::once("").chain(halves(&input));
        let deltas = deltas.map(|it| json!({"type": "input_json_delta", "partial_json": it}));
        let start = json!({"type": "tool_use", "id": used.id, "name": used.name, "input": {}});
        block(start, deltas.collect());
    }
    let stop = match said.stop {
        Stop::Done if said.uses.is_empty() => "end_turn",
        Stop::Done => "tool_use",
        Stop::Full => "max_tokens",
        Stop::Refused => "refusal",
    };
    events.push(json!({"type": "message_delta",
        "delta": {"stop_reason": stop, "stop_sequence": null}, "usage": usage(tokens.output)}));
    events.push(json!({"type": "message_stop"}));
    events.iter().map(named).collect()
}

/// The events of a response, and the items of its output so far.
#[derive(Default)]
struct Response {
    events: Vec<Value>,
    output: Vec<Value>,
}

impl Response {
    fn event(&mut self, kind: &str, mut data: Value) {
        let number = self.events.len();
        if let Some(data) = data.as_object_mut() {
            data.insert("type".to_owned(), json!(kind));
            data.insert("sequence_number".to_owned(), json!(number));
        }
        self.events.push(data);
    }

    /// Adds an item: its beginning, the pieces in between, and the whole of it.
    fn item(&mut self, begun: &Value, pieces: &[(&str, Value)], whole: Value) {
        let at = self.output.len();
        self.event("response.output_item.added", json!({"output_index": at, "item": begun}));
        for (kind, piece) in pieces {
            let mut piece = piece.clone();
            if let Some(piece) = piece.as_object_mut() {
                piece.insert("output_index".to_owned(), json!(at));
            }
            self.event(kind, piece);
        }
        self.event("response.output_item.done", json!({"output_index": at, "item": whole}));
        self.output.push(whole);
    }

    fn message(&mut self, said: &Said) {
        let phase = if said.uses.is_empty() { "final_answer" } else { "commentary" };
        let begun = json!({"type": "message", "id": "msg_1", "role": "assistant",
                           "status": "in_progress", "phase": phase, "content": []});
        let (part, pieces) = match said.stop {
            Stop::Refused => {
                (json!({"type": "refusal", "refusal": "I cannot help with that."}), Vec::new())
            }
            Stop::Done | Stop::Full => {
                let piece = |it: &str| {
                    let delta = json!({"item_id": "msg_1", "content_index": 0, "delta": it});
                    ("response.output_text.delta", delta)
                };
                let mut pieces: Vec<_> = halves(&said.text).into_iter().map(piece).collect();
                let whole = json!({"item_id": "msg_1", "content_index": 0, "text": said.text});
                pieces.push(("response.output_text.done", whole));
                (json!({"type": "output_text", "text": said.text, "annotations": []}), pieces)
            }
        };
        let whole = json!({"type": "message", "id": "msg_1", "role": "assistant",
                           "status": "completed", "phase": phase, "content": [part]});
        self.item(&begun, &pieces, whole);
    }

    fn function_call(&mut self, n: usize, used: &Use) {
        let arguments = used.input.to_string();
        let item = |arguments: &str| {
            let mut item = json!({"type": "function_call", "id": format!("fc_{n}"),
                "call_id": used.id, "name": used.name, "arguments": arguments,
                "status": "completed"});
            if let (Some((space, name)), Some(item)) =
                (used.name.split_once("::"), item.as_object_mut())
            {
                item.insert("namespace".to_owned(), json!(space));
                item.insert("name".to_owned(), json!(name));
            }
            item
        };
        let piece = |it: &str| {
            let delta = json!({"item_id": format!("fc_{n}"), "delta": it});
            ("response.function_call_arguments.delta", delta)
        };
        let pieces: Vec<_> = halves(&arguments).into_iter().map(piece).collect();
        self.item(&item(""), &pieces, item(&arguments));
    }
}

fn responses(said: &Said, model: &str) -> Vec<String> {
    let mut response = Response::default();
    let begun = json!({"id": "resp_1", "object": "response", "created_at": 1,
                       "status": "in_progress", "model": model, "output": []});
    response.event("response.created", json!({"response": begun}));
    response.event("response.in_progress", json!({"response": begun}));
    if let Some(thought) = &said.thought {
        let begun = json!({"type": "reasoning", "id": "rs_1", "summary": []});
        let whole = json!({"type": "reasoning", "id": "rs_1", "summary": [],
                           "encrypted_content": encrypted(thought)});
        response.item(&begun, &[], whole);
    }
    if !said.text.is_empty() || said.stop == Stop::Refused {
        response.message(said);
    }
    for (n, used) in said.uses.iter().enumerate() {
        response.function_call(n, used);
    }
    let (kind, status, details) = match said.stop {
        Stop::Full => ("response.incomplete", "incomplete", json!({"reason": "max_output_tokens"})),
        Stop::Done | Stop::Refused => ("response.completed", "completed", Value::Null),
    };
    let (tokens, output) = (said.tokens, response.output.clone());
    let usage = json!({
        "input_tokens": tokens.input, "output_tokens": tokens.output,
        "input_tokens_details": {"cached_tokens": tokens.cached},
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": tokens.input + tokens.output});
    let ended = json!({"id": "resp_1", "object": "response", "created_at": 1, "status": status,
        "model": model, "output": output, "incomplete_details": details, "usage": usage});
    response.event(kind, json!({"response": ended}));
    response.events.iter().map(named).collect()
}

fn chat(said: &Said, model: &str) -> Vec<String> {
    let chunk = |choices: Value, usage: Value| {
        plain(&json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1,
                      "model": model, "choices": choices, "usage": usage}))
    };
    let delta = |delta: Value| {
        chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}]), Value::Null)
    };
    let mut events =
        vec![": keep-alive\n\n".to_owned(), delta(json!({"role": "assistant", "content": ""}))];
    for piece in said.thought.iter().flat_map(|it| halves(it)) {
        events.push(delta(json!({"reasoning_content": piece})));
    }
    for piece in halves(&said.text) {
        events.push(delta(json!({"content": piece})));
    }
    for (at, used) in said.uses.iter().enumerate() {
        let start = json!({"index": at, "id": used.id, "type": "function",
                           "function": {"name": used.name, "arguments": ""}});
        events.push(delta(json!({"tool_calls": [start]})));
        for piece in halves(&used.input.to_string()) {
            let more = json!({"index": at, "function": {"arguments": piece}});
            events.push(delta(json!({"tool_calls": [more]})));
        }
    }
    let stop = match said.stop {
        Stop::Done if said.uses.is_empty() => "stop",
        Stop::Done => "tool_calls",
        Stop::Full => "length",
        Stop::Refused => "content_filter",
    };
    events.push(chunk(json!([{"index": 0, "delta": {}, "finish_reason": stop}]), Value::Null));
    let tokens = said.tokens;
    let usage = json!({"prompt_tokens": tokens.input, "completion_tokens": tokens.output,
        "total_tokens": tokens.input + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cached}});
    events.push(chunk(json!([]), usage));
    events.push("data: [DONE]\n\n".to_owned());
    events
}

fn gemini(said: &Said, model: &str) -> Vec<String> {
    let tokens = said.tokens;
    // Thoughts are counted apart from what is said.
    let usage = |output: u64| {
        let thoughts = if said.thought.is_some() { output / 2 } else { 0 };
        json!({"promptTokenCount": tokens.input, "candidatesTokenCount": output - thoughts,
               "thoughtsTokenCount": thoughts, "cachedContentTokenCount": tokens.cached,
               "totalTokenCount": tokens.input + output})
    };
    let chunk = |parts: Value, stop: Option<&str>, output: u64| {
        let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
        if let (Some(stop), Some(candidate)) = (stop, candidate.as_object_mut()) {
            candidate.insert("finishReason".to_owned(), json!(stop));
        }
        plain(&json!({"candidates": [candidate], "usageMetadata": usage(output),
                      "modelVersion": model, "responseId": "r1"}))
    };
    let mut events = Vec::new();
    if said.thought.is_some() {
        events.push(chunk(json!([{"text": "(thinks)", "thought": true}]), None, 0));
    }
    for piece in halves(&said.text) {
        events.push(chunk(json!([{"text": piece}]), None, 1));
    }
    for (at, used) in said.uses.iter().enumerate() {
        let mut part = json!({"functionCall": {"name": used.name, "args": used.input}});
        // Models that think give their calls ids; older ones do not.
        let call = part.get_mut("functionCall").and_then(Value::as_object_mut);
        if let (true, Some(call)) = (said.thought.is_some(), call) {
            call.insert("id".to_owned(), json!(used.id));
        }
        if let (0, Some(part)) = (at, part.as_object_mut()) {
            let thought = said.thought.as_deref().unwrap_or_default();
            part.insert("thoughtSignature".to_owned(), json!(signature(thought)));
        }
        events.push(chunk(json!([part]), None, 1));
    }
    let stop = match said.stop {
        Stop::Done => "STOP",
        Stop::Full => "MAX_TOKENS",
        Stop::Refused => "SAFETY",
    };
    // What follows a text may be signed by a part of its own.
    let last = match (&said.thought, said.uses.is_empty()) {
        (Some(thought), true) => json!([{"text": "", "thoughtSignature": signature(thought)}]),
        _ => json!([{"text": ""}]),
    };
    events.push(chunk(last, Some(stop), tokens.output));
    events
}

/// Returns an error in the middle of a stream.
pub fn error(format: Format, fault: &Fault) -> String {
    let (_, _, body) = failure(format, fault);
    match format {
        Format::Anthropic => format!("event: error\ndata: {body}\n\n"),
        Format::Responses => {
            let error = body.get("error").cloned().unwrap_or_default();
            plain(&json!({"type": "response.failed", "response": {"status": "failed",
                          "error": error}}))
        }
        Format::Chat | Format::Gemini => plain(&body),
    }
}

/// Returns the status, the headers and the body of an answer that is none.
pub fn failure(format: Format, fault: &Fault) -> (u16, Vec<(&'static str, String)>, Value) {
    let (status, retry_after) = match fault {
        Fault::BadKey if format == Format::Gemini => (400, None),
        Fault::BadKey => (401, None),
        Fault::UnknownModel => (404, None),
        Fault::NoCredit if format == Format::Anthropic => (400, None),
        Fault::NoCredit if format == Format::Gemini => (402, None),
        Fault::NoCredit => (429, None),
        Fault::RateLimit(after) => (429, Some(*after)),
        Fault::Overloaded(after) if format == Format::Anthropic => (529, Some(*after)),
        Fault::Overloaded(after) => (503, Some(*after)),
        Fault::Failing(after) => (500, Some(*after)),
        Fault::TooLong | Fault::Rejected(_) => (400, None),
    };
    let message = message(fault);
    let body = match format {
        Format::Anthropic => {
            let kind = match fault {
                Fault::BadKey => "authentication_error",
                Fault::UnknownModel => "not_found_error",
                Fault::RateLimit(_) => "rate_limit_error",
                Fault::Overloaded(_) => "overloaded_error",
                Fault::Failing(_) => "api_error",
                Fault::NoCredit | Fault::TooLong | Fault::Rejected(_) => "invalid_request_error",
            };
            json!({"type": "error", "error": {"type": kind, "message": message}})
        }
        Format::Responses | Format::Chat => {
            let (kind, code) = match fault {
                Fault::BadKey => ("invalid_request_error", json!("invalid_api_key")),
                Fault::UnknownModel => ("invalid_request_error", json!("model_not_found")),
                Fault::NoCredit => ("insufficient_quota", json!("insufficient_quota")),
                Fault::RateLimit(_) => ("requests", json!("rate_limit_exceeded")),
                Fault::Overloaded(_) => ("server_error", json!("server_is_overloaded")),
                Fault::Failing(_) => ("server_error", json!("server_error")),
                Fault::TooLong => ("invalid_request_error", json!("context_length_exceeded")),
                Fault::Rejected(_) => ("invalid_request_error", Value::Null),
            };
            json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
        }
        Format::Gemini => {
            let (word, details) = match fault {
                Fault::BadKey => ("INVALID_ARGUMENT", json!([{"reason": "API_KEY_INVALID"}])),
                Fault::UnknownModel => ("NOT_FOUND", json!([])),
                Fault::NoCredit => ("FAILED_PRECONDITION", json!([])),
                Fault::RateLimit(_) => ("RESOURCE_EXHAUSTED", json!([])),
                Fault::Overloaded(_) => ("UNAVAILABLE", json!([])),
                Fault::Failing(_) => ("INTERNAL", json!([])),
                Fault::TooLong | Fault::Rejected(_) => ("INVALID_ARGUMENT", json!([])),
            };
            json!({"error": {"code": status, "message": message, "status": word,
                             "details": details}})
        }
    };
    let headers = retry_after.map(|after| ("retry-after", after.to_owned()));
    (status, headers.into_iter().collect(), body)
}

fn message(fault: &Fault) -> String {
    match fault {
        Fault::BadKey => "API key not valid. Please pass a valid API key.",
        Fault::UnknownModel => "The model does not exist or you do not have access to it.",
        Fault::NoCredit => "Your credit balance is too low to access the API.",
        Fault::RateLimit(_) => "This request would exceed your rate limit.",
        Fault::Overloaded(_) => "Overloaded",
        Fault::Failing(_) => "Internal server error",
        Fault::TooLong => {
            "prompt is too long: the input token count (210000) exceeds the maximum (200000)"
        }
        Fault::Rejected(reason) => reason,
    }
    .to_owned()
}
