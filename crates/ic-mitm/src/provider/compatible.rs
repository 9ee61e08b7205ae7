//! Any server that speaks `OpenAI`'s Chat Completions, wherever it is.
//!
//! Agents know it by a name that exists nowhere else, so that a server without a name or a certificate of
//! its own can be behind the gate; `baseUrls.openaiCompatible` says where it is.

use ic_types::Provider;

use super::openai::CHAT;
use super::{COMMON, Endpoint, Rules};

pub(super) const RULES: Rules = Rules {
    provider: Provider::OpenAiCompatible,
    host: "compatible.ironcurtain.internal",
    endpoints: &[
        Endpoint::complete("/v1/chat/completions", &CHAT),
        Endpoint::list("/v1/models"),
        Endpoint::list("/v1/models/*"),
    ],
    key_prefix: "sk-ic-",
    key_variables: &["OPENAI_API_KEY"],
    base_variables: &["OPENAI_BASE_URL", "OPENAI_API_BASE"],
    ..COMMON
};
