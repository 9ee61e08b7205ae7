//! Google's Gemini, version `v1beta`.
//!
//! Mirrors the messages of `google.ai.generativelanguage.v1beta`, as JSON: `GenerateContentRequest` (body),
//! `GenerationConfig`, `Tool` with `FunctionDeclaration`, and `Content` with `Part`, whose data is one of
//! `text`, `FunctionCall` and `FunctionResponse`. In words the documentation adds: turns alternate, a call is
//! answered in the next turn under its name and, if it has one, its id, and the first call of a turn comes
//! back with its signature on it.

use serde_json::Value;

use super::{Is, Rules, list, word};

const CALL: &str = "functionCall";
const RESPONSE: &str = "functionResponse";
const SIGNATURE: (&str, Is) = ("thoughtSignature", Is::Signature);

impl Rules {
    pub(super) fn gemini(&mut self, path: &str, body: &Value) {
        let is_stream = path.ends_with("?alt=sse");
        self.require(is_stream, || "the stream would be no stream of events".to_owned());
        let further = [("tools", Is::List), ("generationConfig", Is::Object)];
        let needed = [("contents", Is::List), ("systemInstruction", Is::Object)];
        self.fields(body, "body", &needed, &further);
        if let Some(system) = body.get("systemInstruction") {
            self.fields(system, "systemInstruction", &[("parts", Is::List)], &[]);
            for part in list(system, "parts") {
                self.fields(part, "systemInstruction.parts", &[("text", Is::Words)], &[]);
            }
        }
        if let Some(config) = body.get("generationConfig") {
            self.fields(config, "generationConfig", &[("maxOutputTokens", Is::Positive)], &[]);
        }
        for tool in list(body, "tools") {
            self.fields(tool, "tools", &[("functionDeclarations", Is::List)], &[]);
            for function in list(tool, "functionDeclarations") {
                let needed = [("name", Is::Name(63)), ("description", Is::Words)];
                let further = [("parametersJsonSchema", Is::Schema)];
                self.fields(function, "functionDeclarations", &needed, &further);
            }
        }
        self.gemini_contents(list(body, "contents"));
    }

    fn gemini_contents(&mut self, contents: &[Value]) {
        let mut wanted: Vec<(&str, &str)> = Vec::new();
        for (at, content) in contents.iter().enumerate() {
            let place = format!("contents.{at}");
            let role = if at.is_multiple_of(2) { "user" } else { "model" };
            self.fields(content, &place, &[("role", Is::Just(role)), ("parts", Is::List)], &[]);
            let parts = list(content, "parts");
            let named = |key: &str| -> Vec<(&str, &str)> {
                let parts = parts.iter().filter_map(|it| it.get(key));
                parts.map(|it| (word(it, "name"), word(it, "id"))).collect()
            };
            let responses = named(RESPONSE);
            self.require(responses == wanted, || {
                format!(
                    "{place}: the number of function response parts must equal the number of function \
                     call parts: {wanted:?} and {responses:?}"
                )
            });
            wanted = named(CALL);
            for part in parts {
                self.gemini_part(part, role, &place);
            }
            let first = parts.iter().find(|it| it.get(CALL).is_some());
            let is_signed = |it: &Value| it.get(SIGNATURE.0).is_some();
            self.require(first.is_none_or(is_signed), || {
                format!("{place}: Function call is missing a thought_signature")
            });
        }
        self.require(wanted.is_empty(), || "function calls without responses".to_owned());
        let is_asked = contents.len() % 2 == 1;
        self.require(is_asked, || "the conversation must end with the user's turn".to_owned());
    }

    fn gemini_part(&mut self, part: &Value, role: &str, at: &str) {
        if let (Some(call), "model") = (part.get(CALL), role) {
            self.fields(part, at, &[(CALL, Is::Object)], &[SIGNATURE]);
            let needed = [("name", Is::Name(63)), ("args", Is::Object)];
            self.fields(call, at, &needed, &[("id", Is::Words)]);
        } else if let (Some(response), "user") = (part.get(RESPONSE), role) {
            self.fields(part, at, &[(RESPONSE, Is::Object)], &[]);
            let needed = [("name", Is::Name(63)), ("response", Is::Object)];
            self.fields(response, at, &needed, &[("id", Is::Words)]);
        } else if part.get(SIGNATURE.0).is_some() && role == "model" {
            self.fields(part, at, &[("text", Is::Text), SIGNATURE], &[]);
        } else {
            self.fields(part, at, &[("text", Is::Words)], &[]);
        }
    }
}
