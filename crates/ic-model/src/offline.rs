//! The offline model: deterministic, without network, for when there is no key.
//!
//! It understands a table of requests and nothing else, acts only through `execute_code`, and says
//! that it is the offline model. It keeps nothing: what it answers follows from the conversation.
//!
//! ```text
//! latest message ─take_apart─▶ words ─clauses─▶ clauses ─Grammar─▶ requests ─scripts─▶ tool uses
//!                                                                      └──── results ─told─▶ answer
//! ```

mod answer;
mod clause;
mod grammar;
mod pattern;
mod request;
mod script;
mod words;

use ic_types::Object;
use tokio_util::sync::CancellationToken;

use crate::error::ModelError;
use crate::message::{AssistantBlock, Message, ToolUseId, UserBlock};
use crate::model::{Completing, Completion, Listener, Model, ModelName, Prompt, StopReason};
use crate::usage::Usage;

use answer::Came;
use request::Reading;
use script::{Script, scripts};

/// The tool through which the offline model acts.
pub const EXECUTE_CODE: &str = "execute_code";
/// The key of that tool's input under which the code stands.
pub const CODE: &str = "code";

/// More than the records of a script take; scripts that were given print what they like.
const RESULT_BYTES_MAX: usize = 1 << 20;

/// The model that serves without a key.
#[derive(Clone, Copy, Debug)]
pub struct OfflineModel;

impl Model for OfflineModel {
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
            if cancel.is_cancelled() {
                return Err(ModelError::Cancelled);
            }
            let blocks = respond(prompt)?;
            let is_use = |block: &AssistantBlock| matches!(block, AssistantBlock::ToolUse { .. });
            let stop = match blocks.iter().any(is_use) {
                true => StopReason::ToolUse,
                false => StopReason::EndTurn,
            };
            for block in &blocks {
                if let AssistantBlock::Text(text) = block {
                    listener.text(text);
                }
            }
            Ok(Completion { blocks, stop, usage: Usage::default() })
        })
    }

    fn result_bytes_max(&self) -> usize {
        RESULT_BYTES_MAX
    }
}

/// Answers the latest message, or acts on it if that has not been done.
fn respond(prompt: Prompt<'_>) -> Result<Vec<AssistantBlock>, ModelError> {
    let latest = prompt.messages.iter().rposition(|message| message.texts().next().is_some());
    let at =
        latest.ok_or_else(|| ModelError::Protocol("there is no message to answer".to_owned()))?;
    let (said, since) = prompt.messages.split_at_checked(at + 1).unwrap_or_default();
    let text = said.last().and_then(|message| message.texts().last()).unwrap_or_default();
    let requests = match request::read(text) {
        Reading::Requests(requests) => requests,
        Reading::Unclear(clauses) => return Ok(saying(answer::unclear(&clauses))),
        Reading::Tangled(tangle) => return Ok(saying(answer::tangled(tangle))),
        Reading::TooMuch => return Ok(saying(answer::too_much())),
        Reading::Nothing => return Ok(saying(answer::help())),
    };
    let scripts = scripts(&requests);
    if !since.is_empty() {
        return Ok(saying(answer::told(&requests, &scripts, &results(since))));
    }
    if !prompt.tools.iter().any(|tool| tool.name == EXECUTE_CODE) {
        return Ok(saying(answer::helpless()));
    }
    acting(&scripts, prompt.messages.len())
}

fn saying(text: String) -> Vec<AssistantBlock> {
    vec![AssistantBlock::Text(text)]
}

/// Makes the tool uses of scripts; their ids differ from all before them in the conversation.
fn acting(scripts: &[Script], n_messages: usize) -> Result<Vec<AssistantBlock>, ModelError> {
    let tool_use = |(at, script): (usize, &Script)| {
        let (Script::Ours { code, .. } | Script::Given { code, .. }) = script;
        let mut input = Object::new();
        input.insert(CODE, code.as_str());
        let id = ToolUseId::try_from(format!("offline-{n_messages}-{at}"));
        let id = id.map_err(|invalid| ModelError::Protocol(invalid.to_string()))?;
        Ok(AssistantBlock::ToolUse { id, name: EXECUTE_CODE.to_owned(), input: input.into() })
    };
    scripts.iter().enumerate().map(tool_use).collect()
}

/// Returns the results of tools in `messages`, in the order of their uses.
fn results(messages: &[Message]) -> Vec<Came<'_>> {
    let blocks = messages.iter().flat_map(|message| match message {
        Message::User(blocks) => blocks.as_slice(),
        Message::Assistant(_) => &[],
    });
    blocks
        .filter_map(|block| match block {
            UserBlock::ToolResult { content, is_error, .. } => {
                Some(Came { content, is_error: *is_error })
            }
            UserBlock::Text(_) | UserBlock::Note(_) => None,
        })
        .collect()
}
