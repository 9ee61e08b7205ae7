//! Google: `generateContent`.
//!
//! Its servers take each name in two spellings; the lists have the first, and stand for both.

use ic_types::Provider;

use super::{COMMON, Endpoint, Format, Place, Rules, Shape, ToolType, UsageFields};

pub(super) const RULES: Rules = Rules {
    provider: Provider::Google,
    host: "generativelanguage.googleapis.com",
    endpoints: &[
        Endpoint::complete("/v1beta/models/*:generateContent", &GENERATE),
        Endpoint::complete("/v1beta/models/*:streamGenerateContent", &GENERATE),
        Endpoint::complete("/v1/models/*:generateContent", &GENERATE),
        Endpoint::complete("/v1/models/*:streamGenerateContent", &GENERATE),
        Endpoint::count("/v1beta/models/*:countTokens", &COUNT),
        Endpoint::list("/v1beta/models"),
        Endpoint::list("/v1beta/models/*"),
    ],
    places: &[Place::Header("x-goog-api-key")],
    key_prefix: "AIzaSyF",
    key_variables: &["GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "GOOGLE_API_KEY"],
    headers: &["x-goog-api-client"],
    // By these a query replaces the method, the headers or the body of its request.
    query_refused: &[
        "$httpmethod",
        "$httpheaders",
        "$req",
        "$ct",
        "$outputdefaults",
        "callback",
        "$callback",
    ],
    ..COMMON
};

/// Not here on purpose: `cachedContent` and `store`, by which the account keeps content that nobody has
/// looked at.
static GENERATE: Format = Format {
    shape: Shape::Gemini,
    keys: &[
        "contents",
        "generationConfig",
        "labels",
        "model",
        "safetySettings",
        "serviceTier",
        "systemInstruction",
        "toolConfig",
        "tools",
    ],
    removed_keys: &[],
    tools: &[ToolType::Is("computerUse"), ToolType::Is("functionDeclarations")],
    removed_tools: &[
        ToolType::Is("codeExecution"),
        ToolType::Is("enterpriseWebSearch"),
        ToolType::Is("exaAiSearch"),
        ToolType::Is("fileSearch"),
        ToolType::Is("googleMaps"),
        ToolType::Is("googleSearch"),
        ToolType::Is("googleSearchRetrieval"),
        ToolType::Is("mcpServers"),
        ToolType::Is("parallelAiSearch"),
        ToolType::Is("retrieval"),
        ToolType::Is("urlContext"),
    ],
    usage: USAGE,
};

/// `generateContentRequest` would be a second request inside of the first, so it is not passed on.
static COUNT: Format = Format {
    shape: Shape::Gemini,
    keys: &["contents"],
    removed_keys: &[],
    tools: &[],
    removed_tools: &[],
    usage: USAGE,
};

const USAGE: UsageFields = UsageFields {
    at: &[&["usageMetadata"]],
    prompt: &[&["promptTokenCount"], &["toolUsePromptTokenCount"]],
    completion: &[&["candidatesTokenCount"], &["thoughtsTokenCount"]],
    cached: &["cachedContentTokenCount"],
    cache_written: &[],
    prompt_is_uncached: false,
};
