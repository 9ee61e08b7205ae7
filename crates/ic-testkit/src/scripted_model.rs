//! A model that follows a script: it says what it was told to say, and remembers what it was asked.
//!
//! It understands nothing. When its script is over it fails, so that no test waits for it.

#![expect(clippy::expect_used, reason = "test support: a failure is a failed test")]

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use ic_model::{
    AssistantBlock, Completing, Completion, Listener, Message, Model, ModelError, ModelName,
    Prompt, StopReason, ToolUseId, Usage,
};
use ic_types::{Json, JsonLimits};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// A model with a script.
#[derive(Debug)]
pub struct ScriptedModel {
    lines: Mutex<VecDeque<Line>>,
    asked: Mutex<Vec<Vec<Message>>>,
    hanging: Notify,
    result_bytes_max: usize,
}

/// What the model does when it is asked once.
#[derive(Clone, Debug)]
pub enum Line {
    /// It answers.
    Says(Completion),
    /// It fails.
    Fails(ModelError),
    /// It says a part of a text, and then nothing until it is cancelled.
    Hangs(String),
    /// It has counted so much, and then says nothing until it is cancelled.
    Counts(Usage),
}

impl ScriptedModel {
    /// Makes a model that follows `lines`.
    pub fn new(lines: impl IntoIterator<Item = Line>) -> Self {
        Self {
            lines: Mutex::new(lines.into_iter().collect()),
            asked: Mutex::new(Vec::new()),
            hanging: Notify::new(),
            result_bytes_max: ic_model::model::RESULT_BYTES_MAX,
        }
    }

    /// Gives the model no more than so much of one result.
    #[must_use]
    pub fn with_result_bytes_max(self, result_bytes_max: usize) -> Self {
        Self { result_bytes_max, ..self }
    }

    /// Adds lines to the script.
    pub fn push(&self, lines: impl IntoIterator<Item = Line>) {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).extend(lines);
    }

    /// Returns the messages that it was asked with, each time.
    pub fn asked(&self) -> Vec<Vec<Message>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until it hangs.
    pub async fn is_hanging(&self) {
        self.hanging.notified().await;
    }
}

impl Model for ScriptedModel {
    fn name(&self) -> ModelName {
        ModelName::Offline
    }

    fn complete<'a>(
        &'a self,
        prompt: Prompt<'a>,
        listener: &'a dyn Listener,
        cancel: &'a CancellationToken,
    ) -> Completing<'a> {
        Box::pin(async move {
            let asked = prompt.messages.to_vec();
            self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
            let line = self.lines.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            match line {
                Some(Line::Says(completion)) => {
                    for block in &completion.blocks {
                        if let AssistantBlock::Text(text) = block {
                            listener.text(text);
                        }
                    }
                    Ok(completion)
                }
                Some(Line::Fails(error)) => Err(error),
                Some(Line::Hangs(text)) => {
                    listener.text(&text);
                    self.hanging.notify_one();
                    cancel.cancelled().await;
                    Err(ModelError::Cancelled)
                }
                Some(Line::Counts(usage)) => {
                    listener.usage(usage);
                    self.hanging.notify_one();
                    cancel.cancelled().await;
                    Err(ModelError::Cancelled)
                }
                None => Err(ModelError::Protocol("the script is over".to_owned())),
            }
        })
    }

    fn result_bytes_max(&self) -> usize {
        self.result_bytes_max
    }
}

impl Line {
    /// Answers with a text.
    pub fn says(text: &str) -> Self {
        Self::blocks(vec![AssistantBlock::Text(text.to_owned())], StopReason::EndTurn)
    }

    /// Wants tools to be used, each with an id, a name and an input in JSON.
    pub fn uses(uses: &[(&str, &str, &str)]) -> Self {
        let blocks = uses.iter().map(|(id, name, input)| AssistantBlock::ToolUse {
            id: ToolUseId::try_from((*id).to_owned()).expect("an id"),
            name: (*name).to_owned(),
            input: Json::parse(input.as_bytes(), JsonLimits::CALL).expect("an input in JSON"),
        });
        Self::blocks(blocks.collect(), StopReason::ToolUse)
    }

    /// Answers with blocks.
    pub fn blocks(blocks: Vec<AssistantBlock>, stop: StopReason) -> Self {
        Self::Says(Completion { blocks, stop, usage: Usage::default() })
    }

    /// Makes it take so many tokens.
    #[must_use]
    pub fn taking(self, prompt: u64, completion: u64) -> Self {
        match self {
            Self::Says(said) => {
                let usage = Usage { prompt, completion, ..Usage::default() };
                Self::Says(Completion { usage, ..said })
            }
            Self::Fails(_) | Self::Hangs(_) | Self::Counts(_) => self,
        }
    }
}
