//! The offline model: deterministic, without network, for when there is no key.

use tokio_util::sync::CancellationToken;

use crate::message::AssistantBlock;
use crate::model::{Completing, Completion, Listener, Model, ModelName, Prompt, StopReason};
use crate::usage::Usage;

/// The tool through which the offline model acts.
pub const EXECUTE_CODE: &str = "execute_code";
/// The key of that tool's input under which the code stands.
pub const CODE: &str = "code";

/// The model that serves without a key.
#[derive(Clone, Copy, Debug)]
pub struct OfflineModel;

impl Model for OfflineModel {
    fn name(&self) -> ModelName {
        ModelName::Offline
    }

    fn complete<'a>(
        &'a self,
        _: Prompt<'a>,
        listener: &'a dyn Listener,
        _: &'a CancellationToken,
    ) -> Completing<'a> {
        Box::pin(async move {
            let text = "I am the offline model.".to_owned();
            listener.text(&text);
            let blocks = vec![AssistantBlock::Text(text)];
            Ok(Completion { blocks, stop: StopReason::EndTurn, usage: Usage::default() })
        })
    }
}
