//! What providers take: the rules of their published schemas, written down as assertions.
//!
//! Written from knowledge of the documentation, not generated from it: keys and types that we send, the
//! order of blocks, which block may follow which, how many marks for a cache there may be, and that
//! signed blocks come back unaltered. What we never send is not described.

#![expect(clippy::indexing_slicing, reason = "what JSON does not have is null")]

use serde_json::{Map, Value};

use super::frames::Format;
use super::script::signature;

/// Returns what a real provider would not take of a request.
pub fn check(format: Format, path: &str, body: &Value) -> Vec<String> {
    let mut rules = Rules { faults: Vec::new() };
    let Some(body) = body.as_object() else { return vec!["the body is no object".to_owned()] };
    match format {
        Format::Anthropic => rules.anthropic(body),
        Format::Responses => rules.responses(body),
        Format::Chat => rules.chat(body),
        Format::Gemini => rules.gemini(path, body),
    }
    rules.faults
}

struct Rules {
    faults: Vec<String>,
}

type Fields = Map<String, Value>;

impl Rules {
    fn require(&mut self, is_so: bool, what: impl Into<String>) {
        if !is_so {
            self.faults.push(what.into());
        }
    }

    /// Checks that an object has these keys with these types, and perhaps those.
    fn fields(&mut self, of: &Fields, at: &str, needed: &[(&str, Is)], further: &[(&str, Is)]) {
        for (key, is) in needed {
            self.require(of.contains_key(*key), format!("{at}.{key}: Field required"));
            self.typed(of, at, key, *is);
        }
        for (key, is) in further {
            self.typed(of, at, key, *is);
        }
        let is_known = |key: &str| needed.iter().chain(further).any(|(it, _)| *it == key);
        for key in of.keys().filter(|key| !is_known(key)) {
            self.require(false, format!("{at}.{key}: Extra inputs are not permitted"));
        }
    }

    fn typed(&mut self, of: &Fields, at: &str, key: &str, is: Is) {
        if let Some(value) = of.get(key) {
            self.require(is.holds(value), format!("{at}.{key}: should be {is:?}, is {value}"));
        }
    }

    fn anthropic(&mut self, body: &Fields) {
        let further = [("system", Is::List), ("tools", Is::List), ("thinking", Is::Object)];
        let needed = [
            ("model", Is::Text),
            ("max_tokens", Is::Positive),
            ("messages", Is::List),
            ("stream", Is::Bool),
        ];
        self.fields(body, "body", &needed, &further);
        for tool in &list(body, "tools") {
            let needed =
                [("name", Is::Name), ("description", Is::Text), ("input_schema", Is::Object)];
            self.fields(&fields(tool), "tools", &needed, &[("cache_control", Is::Object)]);
            self.require(tool["input_schema"]["type"] == "object", "input_schema.type");
        }
        for block in &list(body, "system") {
            self.anthropic_block("system", block);
        }
        let messages = list(body, "messages");
        let mut wanted: Vec<Value> = Vec::new();
        for (at, message) in messages.iter().enumerate() {
            let place = format!("messages.{at}");
            self.fields(
                &fields(message),
                &place,
                &[("role", Is::Text), ("content", Is::List)],
                &[],
            );
            let role = if at.is_multiple_of(2) { "user" } else { "assistant" };
            self.require(message["role"] == role, format!("{place}: roles must alternate"));
            let blocks = list(&fields(message), "content");
            self.require(!blocks.is_empty(), format!("{place}: content is empty"));
            for block in &blocks {
                self.anthropic_block(role, block);
            }
            let ids = |kind: &str, key: &str| -> Vec<Value> {
                let of_kind = blocks.iter().filter(|it| it["type"] == kind);
                of_kind.map(|it| it[key].clone()).collect()
            };
            if role == "user" {
                let results = ids("tool_result", "tool_use_id");
                let n_leading = blocks.iter().take_while(|it| it["type"] == "tool_result").count();
                self.require(results == wanted, format!(
                    "{place}: `tool_use` ids were found without `tool_result` blocks immediately \
                     after: {wanted:?}"
                ));
                self.require(n_leading == results.len(), format!("{place}: results come first"));
            }
            wanted = ids("tool_use", "id");
        }
        self.require(wanted.is_empty(), "the last message waits for results");
        self.require(messages.len() % 2 == 1, "the conversation must end with a user message");
        let n_marks = Value::from(body.clone()).to_string().matches("\"cache_control\"").count();
        self.require(n_marks <= 4, format!("{n_marks} blocks with cache_control, at most 4"));
        self.require(0 < n_marks, "nothing is cached");
    }

    fn anthropic_block(&mut self, role: &str, block: &Value) {
        let of = fields(block);
        let mark = [("cache_control", Is::Object)];
        let kind = ("type", Is::Text);
        match (block["type"].as_str().unwrap_or_default(), role) {
            ("text", _) => self.fields(&of, role, &[kind, ("text", Is::Words)], &mark),
            ("tool_result", "user") => {
                let needed = [kind, ("tool_use_id", Is::Name), ("content", Is::Words)];
                self.fields(&of, role, &needed, &[("is_error", Is::Bool), mark[0]]);
            }
            ("tool_use", "assistant") => {
                let needed = [kind, ("id", Is::Name), ("name", Is::Name), ("input", Is::Object)];
                self.fields(&of, role, &needed, &mark);
            }
            ("thinking", "assistant") => {
                let needed = [kind, ("thinking", Is::Text), ("signature", Is::Text)];
                self.fields(&of, role, &needed, &[]);
                let thought = block["thinking"].as_str().unwrap_or_default();
                let is_ours = block["signature"] == signature(thought);
                self.require(is_ours, "Invalid `signature` in `thinking` block");
            }
            (kind, role) => self.require(false, format!("a block `{kind}` of the {role}")),
        }
        if let Some(mark) = of.get("cache_control") {
            self.require(mark["type"] == "ephemeral", "cache_control.type");
        }
    }

    fn responses(&mut self, body: &Fields) {
        let needed = [
            ("model", Is::Text),
            ("input", Is::List),
            ("instructions", Is::Text),
            ("stream", Is::Bool),
            ("store", Is::Bool),
        ];
        let further =
            [("tools", Is::List), ("parallel_tool_calls", Is::Bool), ("include", Is::List)];
        self.fields(body, "body", &needed, &further);
        for tool in &list(body, "tools") {
            let needed = [("type", Is::Text), ("name", Is::Name), ("parameters", Is::Object)];
            let further = [("description", Is::Text), ("strict", Is::Bool)];
            self.fields(&fields(tool), "tools", &needed, &further);
        }
        let (mut open, mut thought): (Vec<Value>, bool) = (Vec::new(), false);
        for (at, item) in list(body, "input").iter().enumerate() {
            let at = format!("input.{at}");
            let is_answered = item["type"] != "function_call_output" && item["role"] != "user";
            let what =
                "an item of type 'reasoning' was provided without its required following item";
            self.require(!thought || is_answered, format!("{at}: {what}"));
            thought = item["type"] == "reasoning";
            self.responses_item(item, &at, &mut open);
        }
        self.require(open.is_empty(), format!("No tool output found for function call {open:?}"));
    }

    fn responses_item(&mut self, item: &Value, at: &str, open: &mut Vec<Value>) {
        let (of, kind) = (fields(item), ("type", Is::Text));
        match item["type"].as_str().unwrap_or_default() {
            "message" => {
                let needed = [kind, ("role", Is::Text), ("content", Is::List)];
                self.fields(&of, at, &needed, &[]);
                let part = if item["role"] == "user" { "input_text" } else { "output_text" };
                let parts = list(&of, "content");
                let fits = |it: &Value| it["type"] == part && Is::Words.holds(&it["text"]);
                self.require(parts.iter().all(fits) && !parts.is_empty(), format!("{at}.content"));
                let is_open = item["role"] == "user" && !open.is_empty();
                self.require(!is_open, format!("{at}: No tool output found for {open:?}"));
            }
            "function_call" => {
                let needed =
                    [kind, ("call_id", Is::Words), ("name", Is::Name), ("arguments", Is::JsonText)];
                self.fields(&of, at, &needed, &[]);
                open.push(item["call_id"].clone());
            }
            "function_call_output" => {
                let needed = [kind, ("call_id", Is::Words), ("output", Is::Text)];
                self.fields(&of, at, &needed, &[]);
                let place = open.iter().position(|id| *id == item["call_id"]);
                self.require(place.is_some(), format!("{at}: No tool call found for output"));
                place.map(|place| open.remove(place));
            }
            "reasoning" => {
                let sealed = ("encrypted_content", Is::Sealed);
                let needed = [kind, ("id", Is::Text), ("summary", Is::List), sealed];
                self.fields(&of, at, &needed, &[]);
            }
            other => self.require(false, format!("{at}: Invalid value: '{other}'")),
        }
    }

    fn chat(&mut self, body: &Fields) {
        let needed = [
            ("model", Is::Text),
            ("messages", Is::List),
            ("stream", Is::Bool),
            ("stream_options", Is::Object),
        ];
        self.fields(body, "body", &needed, &[("tools", Is::List)]);
        let options = body.get("stream_options").cloned().unwrap_or_default();
        self.require(options["include_usage"] == true, "usage is not asked for");
        for tool in &list(body, "tools") {
            let function = fields(&tool["function"]);
            let needed =
                [("name", Is::Name), ("description", Is::Text), ("parameters", Is::Object)];
            self.require(tool["type"] == "function", "tools.type");
            self.fields(&function, "tools.function", &needed, &[]);
        }
        let mut open: Vec<Value> = Vec::new();
        for (at, message) in list(body, "messages").iter().enumerate() {
            let (of, at) = (fields(message), format!("messages.{at}"));
            let role = message["role"].as_str().unwrap_or_default();
            self.require(role == "tool" || open.is_empty(), format!(
                "{at}: An assistant message with 'tool_calls' must be followed by tool messages \
                 responding to each 'tool_call_id': {open:?}"));
            self.require((role == "system") == (at == "messages.0"), format!("{at}: {role}"));
            match role {
                "system" | "user" => {
                    self.fields(&of, &at, &[("role", Is::Text), ("content", Is::Words)], &[]);
                }
                "assistant" => {
                    let needed = [("role", Is::Text), ("content", Is::TextOrNull)];
                    let further = [("tool_calls", Is::List), ("reasoning_content", Is::Words)];
                    self.fields(&of, &at, &needed, &further);
                    let calls = list(&of, "tool_calls");
                    self.require(
                        !calls.is_empty() || Is::Words.holds(&message["content"]),
                        format!("{at}: nothing is said"),
                    );
                    for call in calls {
                        let function = fields(&call["function"]);
                        let needed = [("name", Is::Name), ("arguments", Is::JsonText)];
                        self.fields(&function, &at, &needed, &[]);
                        self.require(call["type"] == "function", format!("{at}: type"));
                        open.push(call["id"].clone());
                    }
                }
                "tool" => {
                    let needed =
                        [("role", Is::Text), ("tool_call_id", Is::Words), ("content", Is::Text)];
                    self.fields(&of, &at, &needed, &[]);
                    let place = open.iter().position(|id| *id == message["tool_call_id"]);
                    self.require(place.is_some(), format!("{at}: a result of nothing"));
                    place.map(|place| open.remove(place));
                }
                role => self.require(false, format!("{at}: the role `{role}`")),
            }
        }
        self.require(open.is_empty(), "tool calls without results");
    }

    fn gemini(&mut self, path: &str, body: &Fields) {
        self.require(path.ends_with("?alt=sse"), "the stream would be no stream of events");
        let further = [("tools", Is::List), ("generationConfig", Is::Object)];
        let needed = [("contents", Is::List), ("systemInstruction", Is::Object)];
        self.fields(body, "body", &needed, &further);
        for tool in &list(body, "tools") {
            for function in &list(&fields(tool), "functionDeclarations") {
                let needed = [("name", Is::Name), ("description", Is::Text)];
                let further = [("parametersJsonSchema", Is::Object)];
                self.fields(&fields(function), "functionDeclarations", &needed, &further);
            }
        }
        let mut wanted: Vec<Value> = Vec::new();
        let contents = list(body, "contents");
        for (at, content) in contents.iter().enumerate() {
            let (of, place) = (fields(content), format!("contents.{at}"));
            self.fields(&of, &place, &[("role", Is::Text), ("parts", Is::List)], &[]);
            let role = if at.is_multiple_of(2) { "user" } else { "model" };
            self.require(content["role"] == role, format!("{place}: roles must alternate"));
            let parts = list(&of, "parts");
            self.require(!parts.is_empty(), format!("{place}: no parts"));
            let names = |key: &str| -> Vec<Value> {
                let parts = parts.iter().filter_map(|it| it.get(key));
                parts.map(|it| it["name"].clone()).collect()
            };
            let responses = names("functionResponse");
            self.require(responses == wanted, format!(
                "{place}: the number of function response parts must equal the number of function \
                 call parts: {wanted:?} and {responses:?}"));
            wanted = names("functionCall");
            for (n, part) in parts.iter().enumerate() {
                self.gemini_part(part, &format!("{place}.{n}"));
            }
            let first = parts.iter().find(|it| it.get("functionCall").is_some());
            let is_signed = |it: &Value| Is::Signature.holds(&it["thoughtSignature"]);
            self.require(
                first.is_none_or(is_signed),
                format!("{place}: Function call is missing a thought_signature"),
            );
        }
        self.require(wanted.is_empty(), "function calls without responses");
    }

    fn gemini_part(&mut self, part: &Value, at: &str) {
        let of = fields(part);
        let signed = [("thoughtSignature", Is::Signature)];
        if let Some(call) = of.get("functionCall") {
            self.fields(&of, at, &[("functionCall", Is::Object)], &signed);
            let needed = [("name", Is::Name), ("args", Is::Object)];
            self.fields(&fields(call), at, &needed, &[("id", Is::Words)]);
        } else if let Some(response) = of.get("functionResponse") {
            self.fields(&of, at, &[("functionResponse", Is::Object)], &[]);
            let needed = [("name", Is::Name), ("response", Is::Object)];
            self.fields(&fields(response), at, &needed, &[("id", Is::Words)]);
        } else {
            self.fields(&of, at, &[("text", Is::Text)], &signed);
        }
    }
}

/// What a value has to be.
#[derive(Clone, Copy, Debug)]
enum Is {
    Text,
    /// Text that is not blank.
    Words,
    TextOrNull,
    /// Letters, digits, `_` and `-`.
    Name,
    /// Text that is JSON.
    JsonText,
    /// A signature that was given here.
    Signature,
    /// A thought that was encrypted here.
    Sealed,
    Positive,
    Bool,
    List,
    Object,
}

impl Is {
    fn holds(self, value: &Value) -> bool {
        let text = value.as_str();
        match self {
            Self::Text => text.is_some(),
            Self::Words => text.is_some_and(|it| !it.trim().is_empty()),
            Self::TextOrNull => text.is_some() || value.is_null(),
            Self::Name => text.is_some_and(|it| {
                let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
                !it.is_empty() && it.len() <= 128 && it.chars().all(is_plain)
            }),
            Self::JsonText => {
                text.is_some_and(|it| serde_json::from_str::<Map<String, Value>>(it).is_ok())
            }
            Self::Signature => text.is_some_and(|it| it.starts_with("sig") && it.ends_with("==")),
            Self::Sealed => text.is_some_and(|it| it.starts_with("gAAAA") && it.ends_with("==")),
            Self::Positive => value.as_u64().is_some_and(|it| 0 < it),
            Self::Bool => value.is_boolean(),
            Self::List => value.is_array(),
            Self::Object => value.is_object(),
        }
    }
}

fn fields(value: &Value) -> Fields {
    value.as_object().cloned().unwrap_or_default()
}

fn list(of: &Fields, key: &str) -> Vec<Value> {
    of.get(key).and_then(Value::as_array).cloned().unwrap_or_default()
}
