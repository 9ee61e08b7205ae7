//! What can be told of a turn while it runs, and who is told.
//!
//! Nothing here decides anything. What the model or a tool said is shortened, and still untrusted:
//! whoever shows it to a person makes it visible first.

use std::time::Duration;

use ic_model::{AssistantBlock, Cost, Message, ModelError, ModelName, Usage};
use serde::Serialize;

use crate::budget::Spent;

/// The longest piece of somebody else's text in a diagnostic, in characters.
pub const PREVIEW_CHARS_MAX: usize = 200;

/// Something that happened in a turn.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Diagnostic {
    /// A tool is about to be used.
    ToolCall {
        /// The tool, as the model named it.
        tool: String,
        /// The beginning of its input.
        preview: String,
    },
    /// The model said something.
    AgentText {
        /// The beginning of it.
        preview: String,
    },
    /// A message of the model came, and its tools were used.
    StepFinish {
        /// Which step of the turn, from 1.
        step: u64,
        /// Tokens that went in.
        prompt: u64,
        /// Tokens that came out.
        completion: u64,
    },
    /// A good part of a budget is used.
    BudgetWarning {
        /// Which, and how much.
        #[serde(flatten)]
        spent: Spent,
    },
    /// A budget is used up, and the turn ends.
    BudgetExhausted {
        /// Which, and how much.
        #[serde(flatten)]
        spent: Spent,
    },
    /// The model does the same again and again.
    LoopDetection {
        /// The tool.
        tool: String,
        /// How often in a row.
        repeats: usize,
        /// Whether the turn ends for it.
        is_stopped: bool,
    },
    /// A result was too long for the model.
    ResultTruncation {
        /// The tool.
        tool: String,
        /// Its length.
        bytes: usize,
        /// What was kept of it.
        kept_bytes: usize,
    },
    /// A cage refused something.
    ConfinementViolation {
        /// What is known of it.
        detail: String,
    },
}

/// Hears what happens in a turn, in order.
///
/// It is called between two steps, so it hands on and returns.
pub trait Observer: Send + Sync {
    /// Takes the next piece of the model's text.
    fn text(&self, delta: &str);

    /// Takes what happened.
    fn diagnostic(&self, diagnostic: Diagnostic);

    /// Takes a message of the model whose tools are about to be used.
    ///
    /// It is no part of the conversation before they were. But if this program ends meanwhile, whoever
    /// goes on with the conversation has to know what may have been done.
    fn tools_begin(&self, said: &[AssistantBlock]) {
        let _ = said;
    }

    /// Hears that a request to the model failed for `error`, and is sent again after `delay`.
    fn waiting(&self, error: &ModelError, delay: Duration) {
        let _ = (error, delay);
    }

    /// Takes what one request to the model came to.
    fn asked(&self, asked: &Asked) {
        let _ = asked;
    }

    /// Takes the whole conversation at a moment at which it should be saved.
    fn save_point(&self, at: SavePoint, messages: &[Message]);
}

/// One request to a model that is over, for the record.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Asked {
    /// The model.
    pub model: ModelName,
    /// What it took; of a request that came to nothing, what the provider counted until then.
    pub usage: Usage,
    /// Why there is no message, if there is none.
    pub failed: Option<String>,
    /// What that costs.
    pub cost: Cost,
    /// How long it took.
    pub duration: Duration,
}

/// The moments at which a conversation should be saved.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SavePoint {
    /// A person's message was taken in.
    UserMessage,
    /// The tools of one message of the model were used.
    ToolStep,
    /// The answer is there.
    Answer,
    /// The turn was cut, and the conversation is as it stays.
    Cut,
}

/// Shortens a text to [`PREVIEW_CHARS_MAX`].
pub(crate) fn preview(text: &str) -> String {
    let mut chars = text.chars();
    let mut shown: String = chars.by_ref().take(PREVIEW_CHARS_MAX).collect();
    if chars.next().is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Dimension;

    #[track_caller]
    fn check(diagnostic: &Diagnostic, written: &str) {
        assert_eq!(serde_json::to_string(diagnostic).unwrap(), written);
    }

    #[test]
    fn diagnostics_have_the_names_that_people_know() {
        let spent = Spent { dimension: Dimension::Tokens, used: 9, max: Some(10) };
        check(
            &Diagnostic::ToolCall { tool: "t".into(), preview: "p".into() },
            r#"{"kind":"tool_call","tool":"t","preview":"p"}"#,
        );
        check(
            &Diagnostic::AgentText { preview: "p".into() },
            r#"{"kind":"agent_text","preview":"p"}"#,
        );
        check(
            &Diagnostic::StepFinish { step: 1, prompt: 2, completion: 3 },
            r#"{"kind":"step_finish","step":1,"prompt":2,"completion":3}"#,
        );
        check(
            &Diagnostic::BudgetWarning { spent },
            r#"{"kind":"budget_warning","dimension":"tokens","used":9,"max":10}"#,
        );
        check(
            &Diagnostic::BudgetExhausted { spent },
            r#"{"kind":"budget_exhausted","dimension":"tokens","used":9,"max":10}"#,
        );
        check(
            &Diagnostic::LoopDetection { tool: "t".into(), repeats: 3, is_stopped: false },
            r#"{"kind":"loop_detection","tool":"t","repeats":3,"isStopped":false}"#,
        );
        check(
            &Diagnostic::ResultTruncation { tool: "t".into(), bytes: 9, kept_bytes: 5 },
            r#"{"kind":"result_truncation","tool":"t","bytes":9,"keptBytes":5}"#,
        );
        check(
            &Diagnostic::ConfinementViolation { detail: "d".into() },
            r#"{"kind":"confinement_violation","detail":"d"}"#,
        );
    }

    #[test]
    fn a_preview_is_short_however_long_the_text() {
        assert_eq!(preview("short"), "short");
        assert_eq!(preview(&"ä".repeat(200)).chars().count(), 200);
        assert_eq!(preview(&"ä".repeat(100_000)).chars().count(), 201);
    }
}
