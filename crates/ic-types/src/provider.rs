//! Model providers, and models written as `provider:model`.
//!
//! Knows no endpoint, no price and no key.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A provider of models.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(try_from = "String", into = "String")]
pub enum Provider {
    /// Anthropic.
    Anthropic,
    /// `OpenAI`.
    OpenAi,
    /// Google.
    Google,
    /// Any server that speaks `OpenAI`'s chat format.
    OpenAiCompatible,
}

/// A model of a provider.
///
/// Invariant: the model's name is 1 to 128 printable ASCII characters without spaces.
#[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct ModelId {
    provider: Provider,
    model: String,
}

/// Text that names no provider or no model.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum InvalidModel {
    /// The provider is not one of ours.
    #[error("`{}` is not a provider: expected `anthropic`, `openai`, `google` or `openai-compatible`", .0.escape_debug())]
    Provider(String),
    /// The model's name is empty, too long, or holds spaces or control characters.
    #[error("`{}` is not a model name: expected 1 to 128 printable ASCII characters without spaces", .0.escape_debug())]
    Model(String),
}

impl Provider {
    /// Every provider.
    pub const ALL: [Self; 4] =
        [Self::Anthropic, Self::OpenAi, Self::Google, Self::OpenAiCompatible];

    /// Returns the name used in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Google => "google",
            Self::OpenAiCompatible => "openai-compatible",
        }
    }
}

impl FromStr for Provider {
    type Err = InvalidModel;

    fn from_str(raw: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|provider| provider.as_str() == raw)
            .ok_or_else(|| InvalidModel::Provider(raw.to_owned()))
    }
}

impl TryFrom<String> for Provider {
    type Error = InvalidModel;

    fn try_from(raw: String) -> Result<Self, Self::Error> {
        raw.parse()
    }
}

impl From<Provider> for String {
    fn from(provider: Provider) -> Self {
        provider.as_str().to_owned()
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl ModelId {
    /// Returns the provider.
    pub fn provider(&self) -> Provider {
        self.provider
    }

    /// Returns the model's name, as the provider knows it.
    pub fn model(&self) -> &str {
        &self.model
    }
}

/// Reads `provider:model`; a bare name is a model of Anthropic.
impl FromStr for ModelId {
    type Err = InvalidModel;

    fn from_str(raw: &str) -> Result<Self, Self::Err> {
        let (provider, model) = match raw.split_once(':') {
            Some((provider, model)) => (provider.parse()?, model),
            None => (Provider::Anthropic, raw),
        };
        let is_valid =
            (1..=128).contains(&model.len()) && model.bytes().all(|b| b.is_ascii_graphic());
        if !is_valid {
            return Err(InvalidModel::Model(model.to_owned()));
        }
        Ok(Self { provider, model: model.to_owned() })
    }
}

impl TryFrom<String> for ModelId {
    type Error = InvalidModel;

    fn try_from(raw: String) -> Result<Self, Self::Error> {
        raw.parse()
    }
}

impl From<ModelId> for String {
    fn from(id: ModelId) -> Self {
        id.to_string()
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.provider, self.model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_model_is_anthropics() {
        let model: ModelId = "claude-sonnet-4-6".parse().unwrap();
        assert_eq!(model.to_string(), "anthropic:claude-sonnet-4-6");
        let local: ModelId = "openai-compatible:qwen3:32b".parse().unwrap();
        assert_eq!((local.provider(), local.model()), (Provider::OpenAiCompatible, "qwen3:32b"));
    }

    #[test]
    fn unknown_providers_and_empty_models_are_refused() {
        for bad in ["", "anthropic:", "acme:x", "openai:a b", "google:\n", "Anthropic:x"] {
            assert!(bad.parse::<ModelId>().is_err(), "accepted {bad:?}");
        }
    }
}
