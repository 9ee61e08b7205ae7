//! The conversation as it is sent: it is always one that a provider accepts.
//!
//! Pure. Nothing is saved here, and no model is asked.

use std::collections::BTreeSet;

use ic_model::{AssistantBlock, Message, ToolUseId, UserBlock};

use crate::turn::CUT_SHORT;

/// How the note begins that says that a turn has no answer.
const CUT: &str = "The previous turn was cut before it was answered";

/// The messages of a conversation.
///
/// Invariant: the first message is the user's, the two sides take turns, and none is empty; the ids of
/// the tool uses in one message differ, and the message after it begins with exactly one result for
/// each, in order. Results stand nowhere else.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History(Vec<Message>);

/// Why messages are no conversation.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum HistoryFault {
    /// The model speaks first, or one side speaks twice in a row.
    #[error("message {0} does not take turns with the one before it")]
    Turns(usize),
    /// A message says nothing.
    #[error("message {0} is empty")]
    Empty(usize),
    /// Two tool uses of one message have the same id.
    #[error("message {0} has two tool uses with the same id")]
    SameId(usize),
    /// The results do not fit the tool uses before them.
    #[error("the results in message {0} are not those of the tool uses before it")]
    Results(usize),
    /// The last message waits for results that will not come.
    #[error("the last message has tool uses without results")]
    Open,
}

/// A place in a history to which one can go back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    n_messages: usize,
    n_blocks: usize,
}

impl History {
    /// Makes the history of a conversation that has not begun.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Takes messages for a history, if they are one.
    pub fn from_messages(messages: Vec<Message>) -> Result<Self, HistoryFault> {
        let mut wanted: Vec<&ToolUseId> = Vec::new();
        for (at, message) in messages.iter().enumerate() {
            match message {
                Message::User(blocks) => {
                    check_user(at, blocks, &wanted)?;
                    wanted.clear();
                }
                Message::Assistant(blocks) => wanted = check_assistant(at, blocks)?,
            }
        }
        if wanted.is_empty() { Ok(Self(messages)) } else { Err(HistoryFault::Open) }
    }

    /// Takes up the conversation that a process has left behind, however it ended.
    ///
    /// `pending` is a message of the model whose tools were being used. It counts, since they may have
    /// done something; a turn without an answer gets the note that every cut turn gets.
    pub fn taken_up(
        mut messages: Vec<Message>,
        pending: Option<Message>,
    ) -> Result<Self, HistoryFault> {
        if let Some(Message::Assistant(said)) = pending {
            let results = said.iter().filter_map(use_id).map(|id| UserBlock::ToolResult {
                id: id.clone(),
                content: CUT_SHORT.to_owned(),
                is_error: true,
            });
            let results = Message::User(results.collect());
            messages.extend([Message::Assistant(said), results]);
        }
        let mut history = Self::from_messages(messages)?;
        if history.is_open_ended() {
            history.note(cut_note(&"the program ended"));
        }
        Ok(history)
    }

    /// Returns whether the last turn has neither an answer nor a note that says so.
    fn is_open_ended(&self) -> bool {
        let Some(Message::User(blocks)) = self.0.last() else { return false };
        !matches!(blocks.last(), Some(UserBlock::Note(note)) if note.starts_with(CUT))
    }

    /// Returns the messages.
    pub fn messages(&self) -> &[Message] {
        &self.0
    }

    /// Says something as the person; returns the place before it.
    pub(crate) fn say(&mut self, text: &str) -> Mark {
        let n_blocks = match self.0.last() {
            Some(Message::User(blocks)) => blocks.len(),
            Some(Message::Assistant(_)) | None => 0,
        };
        let mark = Mark { n_messages: self.0.len(), n_blocks };
        self.tell(UserBlock::Text(text.to_owned()));
        mark
    }

    /// Says something as the program.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.tell(UserBlock::Note(text.into()));
    }

    /// Adds a message of the model together with the results of all its tool uses.
    ///
    /// `said` has tool uses with different ids, and `results` has one for each.
    pub(crate) fn step(&mut self, said: Vec<AssistantBlock>, results: Vec<UserBlock>) {
        self.0.extend([Message::Assistant(said), Message::User(results)]);
    }

    /// Adds a message of the model that has no tool uses.
    pub(crate) fn answer(&mut self, said: Vec<AssistantBlock>) {
        self.0.push(Message::Assistant(said));
    }

    /// Goes back to `mark`.
    pub(crate) fn rewind(&mut self, mark: Mark) {
        self.0.truncate(mark.n_messages);
        if let Some(Message::User(blocks)) = self.0.last_mut() {
            blocks.truncate(mark.n_blocks);
        }
    }

    /// Adds to what the model is told next; two messages of one side in a row are one.
    fn tell(&mut self, block: UserBlock) {
        match self.0.last_mut() {
            Some(Message::User(blocks)) => blocks.push(block),
            Some(Message::Assistant(_)) | None => self.0.push(Message::User(vec![block])),
        }
    }
}

/// Tells the model, in the next turn, why the last one has no answer.
pub(crate) fn cut_note(why: &dyn std::fmt::Display) -> String {
    format!("{CUT}: {why}. Its steps above happened.")
}

fn check_user(at: usize, blocks: &[UserBlock], wanted: &[&ToolUseId]) -> Result<(), HistoryFault> {
    if !at.is_multiple_of(2) {
        return Err(HistoryFault::Turns(at));
    }
    if blocks.is_empty() {
        return Err(HistoryFault::Empty(at));
    }
    let leading: Vec<&ToolUseId> = blocks.iter().map_while(result_id).collect();
    let n_results = blocks.iter().filter_map(result_id).count();
    if leading == wanted && n_results == wanted.len() {
        Ok(())
    } else {
        Err(HistoryFault::Results(at))
    }
}

fn check_assistant(at: usize, blocks: &[AssistantBlock]) -> Result<Vec<&ToolUseId>, HistoryFault> {
    if at.is_multiple_of(2) {
        return Err(HistoryFault::Turns(at));
    }
    if blocks.is_empty() {
        return Err(HistoryFault::Empty(at));
    }
    let uses: Vec<&ToolUseId> = blocks.iter().filter_map(use_id).collect();
    if are_distinct(&uses) { Ok(uses) } else { Err(HistoryFault::SameId(at)) }
}

/// Returns the id of the tool use that a result belongs to.
fn result_id(block: &UserBlock) -> Option<&ToolUseId> {
    match block {
        UserBlock::ToolResult { id, .. } => Some(id),
        UserBlock::Text(_) | UserBlock::Note(_) => None,
    }
}

/// Returns the id of a tool use.
pub(crate) fn use_id(block: &AssistantBlock) -> Option<&ToolUseId> {
    match block {
        AssistantBlock::ToolUse { id, .. } => Some(id),
        AssistantBlock::Text(_) | AssistantBlock::Verbatim { .. } => None,
    }
}

/// Returns whether no id occurs twice.
pub(crate) fn are_distinct(ids: &[&ToolUseId]) -> bool {
    ids.iter().collect::<BTreeSet<_>>().len() == ids.len()
}

#[cfg(test)]
mod tests;
