//! Google: `generateContent`.
//!
//! Its servers take each name in two spellings, so both stand here.

use ic_types::Provider;

use super::{Endpoint, Format, Place, Purpose, Rules, Shape, ToolType, UsageFields, Verb};

pub(super) const RULES: Rules = Rules {
    provider: Provider::Google,
    host: "generativelanguage.googleapis.com",
    endpoints: &[
        Endpoint {
            verb: Verb::Post,
            path: "/v1beta/models/*:generateContent",
            purpose: Purpose::Complete(&GENERATE),
        },
        Endpoint {
            verb: Verb::Post,
            path: "/v1beta/models/*:streamGenerateContent",
            purpose: Purpose::Complete(&GENERATE),
        },
        Endpoint {
            verb: Verb::Post,
            path: "/v1/models/*:generateContent",
            purpose: Purpose::Complete(&GENERATE),
        },
        Endpoint {
            verb: Verb::Post,
            path: "/v1/models/*:streamGenerateContent",
            purpose: Purpose::Complete(&GENERATE),
        },
        Endpoint {
            verb: Verb::Post,
            path: "/v1beta/models/*:countTokens",
            purpose: Purpose::Count(&COUNT),
        },
        Endpoint { verb: Verb::Get, path: "/v1beta/models", purpose: Purpose::List },
        Endpoint { verb: Verb::Get, path: "/v1beta/models/*", purpose: Purpose::List },
    ],
    housekeeping: &[],
    place: Place::Header("x-goog-api-key"),
    key_prefix: "AIzaSyF",
    key_variables: &["GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "GOOGLE_API_KEY"],
    base_variables: &[],
    headers: &["x-goog-api-client"],
    beta: None,
    // By these a query replaces the method, the headers or the body of its request.
    query_refused: &["$httpmethod", "$httpheaders", "$req", "$ct", "$outputdefaults", "callback"],
    models_refused: &[],
};

/// Not here on purpose: `cachedContent`, which stands for what the account keeps elsewhere, with tools
/// that nobody has looked at.
const KEYS: &[&str] = &[
    "contents",
    "generationConfig",
    "generation_config",
    "labels",
    "model",
    "safetySettings",
    "safety_settings",
    "systemInstruction",
    "system_instruction",
    "toolConfig",
    "tool_config",
    "tools",
];

const TOOLS: &[ToolType] = &[
    ToolType::Is("computerUse"),
    ToolType::Is("computer_use"),
    ToolType::Is("functionDeclarations"),
    ToolType::Is("function_declarations"),
];

const REMOVED_TOOLS: &[ToolType] = &[
    ToolType::Is("codeExecution"),
    ToolType::Is("code_execution"),
    ToolType::Is("enterpriseWebSearch"),
    ToolType::Is("enterprise_web_search"),
    ToolType::Is("fileSearch"),
    ToolType::Is("file_search"),
    ToolType::Is("googleMaps"),
    ToolType::Is("google_maps"),
    ToolType::Is("googleSearch"),
    ToolType::Is("google_search"),
    ToolType::Is("googleSearchRetrieval"),
    ToolType::Is("google_search_retrieval"),
    ToolType::Is("mcpServers"),
    ToolType::Is("mcp_servers"),
    ToolType::Is("parallelAiSearch"),
    ToolType::Is("parallel_ai_search"),
    ToolType::Is("retrieval"),
    ToolType::Is("urlContext"),
    ToolType::Is("url_context"),
];

static GENERATE: Format = Format {
    shape: Shape::Gemini,
    keys: KEYS,
    removed_keys: &[],
    tools: TOOLS,
    removed_tools: REMOVED_TOOLS,
    usage: USAGE,
};

/// `generateContentRequest` would be a second request inside of the first, so it is not passed on.
static COUNT: Format = Format {
    shape: Shape::Gemini,
    keys: &["contents"],
    removed_keys: &[],
    tools: TOOLS,
    removed_tools: REMOVED_TOOLS,
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
