//! A model that says what a test wants, and remembers what it was asked.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ic_model::offline::{CODE, EXECUTE_CODE};
use ic_model::{
    AssistantBlock, Completing, Completion, Listener, Message, Model, ModelError, ModelName,
    Prompt, StopReason, ToolUseId, Usage, UserBlock,
};
use ic_types::Object;
use tokio_util::sync::CancellationToken;

/// What every message of the model takes.
pub(super) const USAGE: Usage = Usage { prompt: 10, completion: 5, cached: 0, cache_written: 0 };

/// What a model does when it is asked.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// It answers.
    Say(String),
    /// It runs scripts, in one message.
    Run(Vec<String>),
    /// It fails.
    Fail(ModelError),
    /// It says the beginning of something, and never comes back, cancelled or not.
    Hang,
    /// It breaks the rules.
    Panic,
}

/// A model that follows a script; what is not in it is answered with `done`.
#[derive(Debug, Default)]
pub(super) struct Scripted {
    steps: Mutex<VecDeque<Step>>,
    prompts: Mutex<Vec<Vec<Message>>>,
    n_uses: AtomicUsize,
}

pub(super) fn say(text: &str) -> Step {
    Step::Say(text.to_owned())
}

pub(super) fn run(code: &str) -> Step {
    Step::Run(vec![code.to_owned()])
}

impl Scripted {
    pub(super) fn new(steps: impl IntoIterator<Item = Step>) -> Arc<Self> {
        let scripted = Self::default();
        scripted.then(steps);
        Arc::new(scripted)
    }

    /// Adds to what it will do.
    pub(super) fn then(&self, steps: impl IntoIterator<Item = Step>) {
        self.steps.lock().unwrap().extend(steps);
    }

    /// Returns what it was asked last, a word for each part.
    pub(super) fn last_prompt(&self) -> Vec<String> {
        let prompts = self.prompts.lock().unwrap();
        prompts.last().unwrap().iter().flat_map(words).collect()
    }

    pub(super) fn n_prompts(&self) -> usize {
        self.prompts.lock().unwrap().len()
    }
}

/// Says what a message holds.
fn words(message: &Message) -> Vec<String> {
    let word = |block: &UserBlock| match block {
        UserBlock::Text(text) => format!("person: {text}"),
        UserBlock::Note(text) => format!("note: {text}"),
        UserBlock::ToolResult { content, is_error: false, .. } => format!("result: {content}"),
        UserBlock::ToolResult { content, is_error: true, .. } => format!("error: {content}"),
    };
    let said = |block: &AssistantBlock| match block {
        AssistantBlock::Text(text) => format!("model: {text}"),
        AssistantBlock::ToolUse { name, .. } => format!("model uses {name}"),
        AssistantBlock::Verbatim { .. } => "model: (verbatim)".to_owned(),
    };
    match message {
        Message::User(blocks) => blocks.iter().map(word).collect(),
        Message::Assistant(blocks) => blocks.iter().map(said).collect(),
    }
}

impl Model for Scripted {
    fn name(&self) -> ModelName {
        ModelName::Offline
    }

    fn complete<'a>(
        &'a self,
        prompt: Prompt<'a>,
        listener: &'a dyn Listener,
        _cancel: &'a CancellationToken,
    ) -> Completing<'a> {
        self.prompts.lock().unwrap().push(prompt.messages.to_vec());
        let step = self.steps.lock().unwrap().pop_front().unwrap_or_else(|| say("done"));
        Box::pin(async move {
            let (blocks, stop) = match step {
                Step::Say(text) => {
                    if !text.is_empty() {
                        listener.text(&text);
                    }
                    (vec![AssistantBlock::Text(text)], StopReason::EndTurn)
                }
                Step::Run(codes) => {
                    let uses = codes.iter().map(|code| self.tool_use(code)).collect();
                    (uses, StopReason::ToolUse)
                }
                Step::Fail(error) => return Err(error),
                Step::Hang => {
                    listener.text("I was about to say");
                    std::future::pending().await
                }
                Step::Panic => panic!("a model that breaks the rules"),
            };
            Ok(Completion { blocks, stop, usage: USAGE })
        })
    }
}

impl Scripted {
    fn tool_use(&self, code: &str) -> AssistantBlock {
        let n_uses = self.n_uses.fetch_add(1, Ordering::Relaxed);
        let mut input = Object::new();
        input.insert(CODE, code);
        let id = ToolUseId::try_from(format!("use-{n_uses}")).unwrap();
        AssistantBlock::ToolUse { id, name: EXECUTE_CODE.to_owned(), input: input.into() }
    }
}
