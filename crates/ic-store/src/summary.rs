//! What a person is told about a conversation that is resumed. It is never sent to a model.

use ic_model::{Message, UserBlock};

use crate::stored::Stored;

/// Tells in a few lines where a conversation was left.
pub fn lines(stored: &Stored) -> Vec<String> {
    let metadata = &stored.metadata;
    let mut lines = vec![
        "You are resuming a previous conversation session.".to_owned(),
        format!("Session: {} ({})", metadata.name, metadata.id),
        format!("Created: {}", metadata.created_at),
        format!("Last activity: {}", metadata.last_activity_at),
        counts(&stored.messages),
    ];
    if let Some(description) = &metadata.description {
        lines.push(format!("Description: {description}"));
    }
    if !metadata.first_message.is_empty() {
        lines.push(format!("First topic: {}", metadata.first_message));
    }
    if let Some(damage) = &stored.damage {
        lines.push(format!(
            "The end of its journal is damaged and was set aside ({damage}); what is before it is here."
        ));
    }
    lines
}

/// Counts messages by who wrote them; results of tools are nobody's.
fn counts(messages: &[Message]) -> String {
    let of_tools = |blocks: &[UserBlock]| {
        blocks.iter().any(|block| matches!(block, UserBlock::ToolResult { .. }))
    };
    let (mut user, mut assistant, mut tools) = (0, 0, 0);
    for message in messages {
        match message {
            Message::Assistant(_) => assistant += 1,
            Message::User(blocks) if of_tools(blocks) => tools += 1,
            Message::User(_) => user += 1,
        }
    }
    let rest = match tools {
        0 => String::new(),
        _ => format!(", {tools} with results of tools"),
    };
    let total = messages.len();
    format!("Total messages: {total} ({user} from user, {assistant} from assistant{rest})")
}
