//! Anthropic's Messages, version 2023-06-01.
//!
//! Mirrors the types of the provider's own library for Python, as of November 2026:
//! `MessageCreateParamsStreaming` (body), `TextBlockParam`, `ToolUseBlockParam`, `ToolResultBlockParam`,
//! `ThinkingBlockParam` and `RedactedThinkingBlockParam` (blocks), `ToolParam`,
//! `ThinkingConfigAdaptiveParam`, `CacheControlEphemeralParam`. In words the documentation adds: turns
//! alternate, a tool use is answered in the next message before anything else, thoughts come before the
//! tool uses that they are about and unmodified, and four blocks are marked for the cache at most.

use serde_json::Value;

use super::{Field, Is, Rules, list, word};
use crate::provider::script::signature;

/// How many blocks of a request are marked for the cache at most.
const MARKS_MAX: usize = 4;
const MARK: Field = ("cache_control", Is::Object);

impl Rules {
    pub(super) fn anthropic(&mut self, body: &Value) {
        let needed = [
            ("model", Is::Words),
            ("max_tokens", Is::Positive),
            ("messages", Is::List),
            ("stream", Is::True),
        ];
        let further = [("system", Is::List), ("tools", Is::List), ("thinking", Is::Object)];
        self.fields(body, "body", &needed, &further);
        if let Some(thinking) = body.get("thinking") {
            self.fields(thinking, "thinking", &[("type", Is::Just("adaptive"))], &[]);
        }
        let mut n_marks = 0;
        for tool in list(body, "tools") {
            let needed = [("name", Is::Name(128)), ("input_schema", Is::Schema)];
            self.fields(tool, "tools", &needed, &[("description", Is::Words), MARK]);
            n_marks += self.mark(tool);
        }
        for block in list(body, "system") {
            self.fields(
                block,
                "system",
                &[("type", Is::Just("text")), ("text", Is::Words)],
                &[MARK],
            );
            n_marks += self.mark(block);
        }
        n_marks += self.anthropic_messages(list(body, "messages"));
        self.require(n_marks <= MARKS_MAX, || {
            format!("A maximum of {MARKS_MAX} blocks with cache_control may be provided: {n_marks}")
        });
        self.require(0 < n_marks, || "nothing is cached".to_owned());
    }

    /// Checks the messages, and returns how many marks there are in them.
    fn anthropic_messages(&mut self, messages: &[Value]) -> usize {
        let mut wanted: Vec<&str> = Vec::new();
        let mut n_marks = 0;
        for (at, message) in messages.iter().enumerate() {
            let place = format!("messages.{at}");
            let role = if at.is_multiple_of(2) { "user" } else { "assistant" };
            let needed = [("role", Is::Just(role)), ("content", Is::List)];
            self.fields(message, &place, &needed, &[]);
            let blocks = list(message, "content");
            for block in blocks {
                self.anthropic_block(role, block, &place);
                n_marks += self.mark(block);
            }
            let ids = |kind: &str, key: &str| -> Vec<&str> {
                let of_kind = blocks.iter().filter(|it| word(it, "type") == kind);
                of_kind.map(|it| word(it, key)).collect()
            };
            if role == "user" {
                let results = ids("tool_result", "tool_use_id");
                let is_result = |it: &&Value| word(it, "type") == "tool_result";
                let n_leading = blocks.iter().take_while(is_result).count();
                self.require(results == wanted, || {
                    format!(
                        "{place}: `tool_use` ids were found without `tool_result` blocks immediately \
                         after: {wanted:?}"
                    )
                });
                self.require(n_leading == results.len(), || format!("{place}: results come first"));
            } else {
                self.thoughts_come_first(blocks, &place);
            }
            wanted = ids("tool_use", "id");
            let is_new = |(at, id): (usize, &&str)| !wanted.iter().take(at).any(|it| it == id);
            let are_new = wanted.iter().enumerate().all(is_new);
            self.require(are_new, || format!("{place}: `tool_use` ids must be unique"));
        }
        self.require(wanted.is_empty(), || "the last message waits for results".to_owned());
        let is_asked = messages.len() % 2 == 1;
        self.require(is_asked, || "the conversation must end with a user message".to_owned());
        n_marks
    }

    fn anthropic_block(&mut self, role: &str, block: &Value, at: &str) {
        let kind = word(block, "type");
        match (kind, role) {
            ("text", _) => {
                self.fields(block, at, &[("type", Is::Text), ("text", Is::Words)], &[MARK]);
            }
            ("tool_result", "user") => {
                let needed = [("type", Is::Text), ("tool_use_id", Is::Name(128))];
                let further = [("content", Is::Words), ("is_error", Is::Bool), MARK];
                self.fields(block, at, &needed, &further);
            }
            ("tool_use", "assistant") => {
                let id = ("id", Is::Name(128));
                let needed =
                    [("type", Is::Text), id, ("name", Is::Name(128)), ("input", Is::Object)];
                self.fields(block, at, &needed, &[MARK]);
            }
            ("thinking", "assistant") => {
                let needed =
                    [("type", Is::Text), ("thinking", Is::Text), ("signature", Is::Signature)];
                self.fields(block, at, &needed, &[]);
                let is_ours = word(block, "signature") == signature(word(block, "thinking"));
                self.require(is_ours, || "Invalid `signature` in `thinking` block".to_owned());
            }
            ("redacted_thinking", "assistant") => {
                self.fields(block, at, &[("type", Is::Text), ("data", Is::Words)], &[]);
            }
            (kind, role) => self.require(false, || format!("{at}: a block `{kind}` of the {role}")),
        }
    }

    fn thoughts_come_first(&mut self, blocks: &[Value], at: &str) {
        let is_use = |it: &&Value| word(it, "type") == "tool_use";
        let mut after = blocks.iter().skip_while(|it| !is_use(it));
        let are_first = !after.any(|it| word(it, "type").ends_with("thinking"));
        self.require(are_first, || format!("{at}: a thought after the tool use it is about"));
    }

    /// Checks the mark of a block, and returns how many it has.
    fn mark(&mut self, block: &Value) -> usize {
        let Some(mark) = block.get("cache_control") else { return 0 };
        self.fields(mark, "cache_control", &[("type", Is::Just("ephemeral"))], &[]);
        1
    }
}
