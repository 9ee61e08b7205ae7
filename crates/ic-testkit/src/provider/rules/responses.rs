//! `OpenAI`'s Responses.
//!
//! Mirrors the types of the provider's own library for Python, as of November 2026:
//! `ResponseCreateParamsStreaming` (body), `FunctionToolParam`, and as items of `ResponseInputItemParam`:
//! `Message` with `ResponseInputTextParam`, `ResponseOutputMessageParam` with `ResponseOutputTextParam`,
//! `ResponseFunctionToolCallParam`, `FunctionCallOutput` and `ResponseReasoningItemParam`; `include` is of
//! `ResponseIncludable`. In words the documentation adds: each call has its output, a reasoning item is
//! followed by what it was about, and without `store` it carries its encrypted content.

use serde_json::Value;

use super::{Field, Is, Rules, list, word};

const ENCRYPTED: &str = "reasoning.encrypted_content";

impl Rules {
    pub(super) fn responses(&mut self, body: &Value) {
        let needed = [
            ("model", Is::Words),
            ("input", Is::List),
            ("instructions", Is::Words),
            ("stream", Is::True),
            ("store", Is::False),
        ];
        let further =
            [("tools", Is::List), ("parallel_tool_calls", Is::Bool), ("include", Is::List)];
        self.fields(body, "body", &needed, &further);
        let included = list(body, "include");
        let is_known = included.iter().all(|it| it.as_str() == Some(ENCRYPTED));
        self.require(is_known, || format!("include: unknown value in {included:?}"));
        for tool in list(body, "tools") {
            let needed = [
                ("type", Is::Just("function")),
                ("name", Is::Name(64)),
                ("parameters", Is::Schema),
                ("strict", Is::Bool),
            ];
            self.fields(tool, "tools", &needed, &[("description", Is::Words)]);
        }
        let (mut open, mut is_thought): (Vec<&str>, bool) = (Vec::new(), false);
        for (at, item) in list(body, "input").iter().enumerate() {
            let at = format!("input.{at}");
            let kind = word(item, "type");
            let follows = kind != "function_call_output" && word(item, "role") != "user";
            self.require(!is_thought || follows, || {
                format!("{at}: 'reasoning' was provided without its required following item")
            });
            is_thought = kind == "reasoning";
            self.responses_item(item, kind, &at, &mut open);
        }
        self.require(!is_thought, || "a thought is the last that is said".to_owned());
        self.require(open.is_empty(), || {
            format!("No tool output found for function call {open:?}")
        });
    }

    fn responses_item<'a>(
        &mut self,
        item: &'a Value,
        kind: &str,
        at: &str,
        open: &mut Vec<&'a str>,
    ) {
        let call_id = ("call_id", Is::CallId);
        let of = |kind: &'static str| -> Field { ("type", Is::Just(kind)) };
        match kind {
            "message" => {
                self.responses_message(item, at);
                let is_open = word(item, "role") == "user" && !open.is_empty();
                self.require(!is_open, || format!("{at}: No tool output found for {open:?}"));
            }
            "function_call" => {
                let (name, arguments) = (("name", Is::Name(64)), ("arguments", Is::JsonText));
                self.fields(item, at, &[of("function_call"), call_id, name, arguments], &[]);
                open.push(word(item, "call_id"));
            }
            "function_call_output" => {
                let needed = [of("function_call_output"), call_id, ("output", Is::Text)];
                self.fields(item, at, &needed, &[]);
                let place = open.iter().position(|id| *id == word(item, "call_id"));
                self.require(place.is_some(), || format!("{at}: No tool call found for output"));
                place.map(|place| open.remove(place));
            }
            "reasoning" => {
                let sealed = ("encrypted_content", Is::Sealed);
                let needed = [of("reasoning"), ("id", Is::Words), ("summary", Is::Empty), sealed];
                self.fields(item, at, &needed, &[]);
            }
            other => self.require(false, || format!("{at}: Invalid value: '{other}'")),
        }
    }

    fn responses_message(&mut self, item: &Value, at: &str) {
        let is_user = word(item, "role") == "user";
        let role = ("role", Is::Just(if is_user { "user" } else { "assistant" }));
        let needed = [("type", Is::Just("message")), role, ("content", Is::List)];
        let further: &[Field] = if is_user { &[] } else { &[("phase", Is::Words)] };
        self.fields(item, at, &needed, further);
        let is_phase = matches!(word(item, "phase"), "" | "commentary" | "final_answer");
        self.require(is_phase, || format!("{at}.phase: Invalid value"));
        for part in list(item, "content") {
            let text = ("text", Is::Words);
            if is_user {
                self.fields(part, at, &[("type", Is::Just("input_text")), text], &[]);
            } else {
                let needed = [("type", Is::Just("output_text")), text, ("annotations", Is::Empty)];
                self.fields(part, at, &needed, &[]);
            }
        }
    }
}
