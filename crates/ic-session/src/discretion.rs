//! A model whose words hold no key of ours, whatever its provider says.
//!
//! ```text
//! provider ─▶ Model ─▶ Discreet ─▶ text as it comes, the message, errors ─▶ agent, screen, disk, tools
//! ```
//!
//! A provider knows the key that it was sent, and may repeat it: in an answer, in the input of a tool,
//! in a thought, in an error. Text and inputs are masked. What has to go back as it came, or is matched
//! by it, cannot be masked, so an answer that holds a key there is refused as a whole. A key in pieces
//! that only a program could put together is not found. No other secret is looked for.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ic_audit::Redactor;
use ic_model::{
    AssistantBlock, Completing, Completion, Listener, Model, ModelError, ModelName, Prompt, Usage,
};
use ic_types::{Json, JsonLimits, locked};
use tokio_util::sync::CancellationToken;

/// An input was within the limits of a stream before it was masked.
const LIMITS: JsonLimits =
    JsonLimits { bytes_max: usize::MAX, depth_max: usize::MAX, values_max: usize::MAX };

/// Keeps our keys out of what a model says.
#[derive(Debug)]
pub(crate) struct Discreet {
    model: Arc<dyn Model>,
    redactor: Arc<Redactor>,
}

impl Discreet {
    pub(crate) fn new(model: Arc<dyn Model>, redactor: Arc<Redactor>) -> Self {
        Self { model, redactor }
    }
}

impl Model for Discreet {
    fn name(&self) -> ModelName {
        self.model.name()
    }

    fn complete<'a>(
        &'a self,
        prompt: Prompt<'a>,
        listener: &'a dyn Listener,
        cancel: &'a CancellationToken,
    ) -> Completing<'a> {
        Box::pin(async move {
            let mask = Mask(&self.redactor);
            let ear = Ear { listener, mask, held: Mutex::new(String::new()) };
            let completed = self.model.complete(prompt, &ear, cancel).await;
            let completion = completed.map_err(|error| mask.error(error))?;
            let blocks = mask.blocks(completion.blocks)?;
            ear.end();
            Ok(Completion { blocks, ..completion })
        })
    }

    fn result_bytes_max(&self) -> usize {
        self.model.result_bytes_max()
    }
}

/// Hears text as it comes, and tells it once no key can be in it.
struct Ear<'a> {
    listener: &'a dyn Listener,
    mask: Mask<'a>,
    /// What may be the beginning of a key.
    held: Mutex<String>,
}

impl Ear<'_> {
    /// Tells what is left; nothing follows it.
    fn end(&self) {
        let rest = std::mem::take(&mut *locked(&self.held));
        self.tell(rest);
    }

    fn tell(&self, text: String) {
        if !text.is_empty() {
            self.listener.text(&self.mask.text(text));
        }
    }
}

impl Listener for Ear<'_> {
    fn text(&self, delta: &str) {
        let mut held = locked(&self.held);
        let told = match delta.char_indices().rev().find(|(_, c)| is_in_no_key(*c)) {
            None => {
                held.push_str(delta);
                return;
            }
            Some((at, c)) => {
                let (told, rest) = delta.split_at(at + c.len_utf8());
                let mut whole = std::mem::replace(&mut *held, rest.to_owned());
                whole.push_str(told);
                whole
            }
        };
        drop(held);
        self.tell(told);
    }

    fn usage(&self, usage: Usage) {
        self.listener.usage(usage);
    }

    fn waiting(&self, error: &ModelError, delay: Duration) {
        self.listener.waiting(&self.mask.error(error.clone()), delay);
    }
}

/// Returns whether `c` stands in no spelling of a key.
///
/// Keys are printable ASCII without spaces, and so are their spellings in base64 and with escapes; lines
/// may be broken in them.
fn is_in_no_key(c: char) -> bool {
    !c.is_ascii_graphic() && !matches!(c, '\r' | '\n')
}

/// Takes our keys out of things.
#[derive(Clone, Copy)]
struct Mask<'a>(&'a Redactor);

impl Mask<'_> {
    fn text(self, text: String) -> String {
        self.0.mask_own_keys(text)
    }

    fn error(self, error: ModelError) -> ModelError {
        error.map_words(|words| self.text(words))
    }

    fn is_clean(self, text: &str) -> bool {
        self.text(text.to_owned()) == text
    }

    /// Masks a message, or says what of it can be neither masked nor kept.
    fn blocks(self, blocks: Vec<AssistantBlock>) -> Result<Vec<AssistantBlock>, ModelError> {
        let blocks =
            blocks.into_iter().map(|block| self.block(block)).collect::<Result<Vec<_>, _>>()?;
        let texts = blocks.iter().filter_map(|block| match block {
            AssistantBlock::Text(text) => Some(text.as_str()),
            AssistantBlock::ToolUse { .. } | AssistantBlock::Verbatim { .. } => None,
        });
        // Each is clean, but people read them one after the other.
        match self.is_clean(&texts.collect::<String>()) {
            true => Ok(blocks),
            false => Err(ModelError::HoldsKey("in pieces of its text")),
        }
    }

    fn block(self, block: AssistantBlock) -> Result<AssistantBlock, ModelError> {
        match block {
            AssistantBlock::Text(text) => Ok(AssistantBlock::Text(self.text(text))),
            AssistantBlock::ToolUse { id, name, input } => {
                if !self.is_clean(id.as_str()) {
                    return Err(ModelError::HoldsKey("in the id of a tool use"));
                }
                if !self.is_clean(&name) {
                    return Err(ModelError::HoldsKey("in the name of a tool"));
                }
                Ok(AssistantBlock::ToolUse { id, name, input: self.input(input)? })
            }
            AssistantBlock::Verbatim { provider, block } => match self.is_clean(&block.to_string())
            {
                true => Ok(AssistantBlock::Verbatim { provider, block }),
                false => Err(ModelError::HoldsKey("in a block that has to stay as it came")),
            },
        }
    }

    /// Masks an input in its text, which stays JSON unless a key was more than a part of a string.
    fn input(self, input: Json) -> Result<Json, ModelError> {
        let text = input.to_string();
        let masked = self.text(text.clone());
        if masked == text {
            return Ok(input);
        }
        Json::parse(masked.as_bytes(), LIMITS)
            .map_err(|_| ModelError::HoldsKey("in the input of a tool"))
    }
}

#[cfg(test)]
mod tests;
