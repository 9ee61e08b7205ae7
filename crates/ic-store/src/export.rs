//! A conversation for people and other programs: as JSON, or as Markdown.

use ic_model::{AssistantBlock, Message, UserBlock};
use ic_types::Json;

use crate::stored::{Stored, Writing};

/// Writes the whole conversation as JSON, in the form of `conversation.json`.
pub fn json(stored: &Stored) -> String {
    let messages: Vec<Message> = stored.messages.iter().chain(&stored.pending).cloned().collect();
    Writing {
        metadata: &stored.metadata,
        messages: &messages,
        turns: &stored.turns,
        context_summary: stored.context_summary.as_deref(),
        covers: None,
    }
    .to_text()
}

/// Writes the conversation as Markdown, for reading.
pub fn markdown(stored: &Stored) -> String {
    let metadata = &stored.metadata;
    let mut out = format!("# {}\n\n", metadata.name);
    let mut fact = |name: &str, value: &str| {
        if !value.is_empty() {
            out.extend([format!("- {name}: {value}\n")]);
        }
    };
    fact("Session", metadata.id.as_str());
    fact("Description", metadata.description.as_deref().unwrap_or_default());
    fact("Created", &metadata.created_at.to_string());
    fact("Last activity", &metadata.last_activity_at.to_string());
    fact("Agent", &metadata.agent);
    fact("Model", &metadata.model);
    fact("Workspace", metadata.workspace.as_deref().unwrap_or_default());
    for message in stored.messages.iter().chain(&stored.pending) {
        match message {
            Message::User(blocks) => blocks.iter().for_each(|block| user(&mut out, block)),
            Message::Assistant(blocks) => blocks.iter().for_each(|block| said(&mut out, block)),
        }
    }
    out
}

fn user(out: &mut String, block: &UserBlock) {
    match block {
        UserBlock::Text(text) => out.extend([format!("\n## User\n\n{text}\n")]),
        UserBlock::Note(text) => out.extend([format!("\n> {}\n", text.replace('\n', "\n> "))]),
        UserBlock::ToolResult { content, is_error, .. } => {
            let title = if *is_error { "Result (failed)" } else { "Result" };
            out.extend([format!("\n### {title}\n\n{}", fenced("", content))]);
        }
    }
}

fn said(out: &mut String, block: &AssistantBlock) {
    match block {
        AssistantBlock::Text(text) => out.extend([format!("\n## Assistant\n\n{text}\n")]),
        AssistantBlock::ToolUse { name, input, .. } => {
            out.extend([format!("\n### `{}`\n\n", name.replace('`', "'"))]);
            out.push_str(&match code(input) {
                Some(code) => fenced("ts", code),
                None => fenced("json", &input.to_string()),
            });
        }
        // Only its provider understands it.
        AssistantBlock::Verbatim { .. } => {}
    }
}

/// Returns the text of an input that has only one.
fn code(input: &Json) -> Option<&str> {
    let Json::Object(object) = input else { return None };
    let (_, only) = object.iter().next().filter(|_| object.len() == 1)?;
    only.as_str()
}

/// Puts text between fences that are longer than any in it.
fn fenced(language: &str, text: &str) -> String {
    let longest = text.lines().map(|line| line.chars().take_while(|c| *c == '`').count()).max();
    let fence = "`".repeat(longest.unwrap_or(0).max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}\n")
}
