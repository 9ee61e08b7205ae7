//! `OpenAI`: Responses and Chat Completions, with an API key or with a `ChatGPT` login of Codex.

use ic_types::Provider;

use super::login::{FileShape, LoginRules, Reply};
use super::{Beta, COMMON, Endpoint, Format, Rules, Shape, ToolType, UsageFields};

pub(super) const RULES: Rules = Rules {
    provider: Provider::OpenAi,
    host: "api.openai.com",
    endpoints: &[
        Endpoint::complete("/v1/responses", &RESPONSES),
        Endpoint::complete("/v1/chat/completions", &CHAT),
        Endpoint::list("/v1/models"),
        Endpoint::list("/v1/models/*"),
    ],
    key_prefix: "sk-proj-",
    key_variables: &["OPENAI_API_KEY", "CODEX_API_KEY"],
    headers: HEADERS,
    beta: Some(BETA),
    models_refused: MODELS_REFUSED,
    ..COMMON
};

/// A login pays at another host, which Codex is told of as the address of its provider.
pub(super) const LOGIN: LoginRules = LoginRules {
    agent: "codex",
    rules: &Rules {
        provider: Provider::OpenAi,
        host: "chatgpt.com",
        endpoints: &[Endpoint::complete("/backend-api/codex/responses", &RESPONSES)],
        housekeeping: &["/backend-api/", "/ces/"],
        key_prefix: "sk-ic-",
        key_variables: &["OPENAI_API_KEY", "CODEX_API_KEY"],
        base_variables: &["OPENAI_BASE_URL"],
        headers: HEADERS,
        beta: Some(BETA),
        models_refused: MODELS_REFUSED,
        ..COMMON
    },
    base_path: "/backend-api/codex",
    token_host: "auth.openai.com",
    token_path: "/oauth/token",
    client_id: "app_EMoamEEZ73f0CkXaXp7hrann",
    file: FileShape {
        at: &["tokens"],
        access: "access_token",
        refresh: "refresh_token",
        expires_ms: None,
        account: Some(("account_id", "chatgpt-account-id")),
        refreshed: Some("last_refresh"),
        lock: None,
    },
    reply: Reply { kept: &["id_token"] },
};

const HEADERS: &[&str] = &["originator", "session_id", "conversation_id", "version"];

/// Not here on purpose: what turns on assistants, real-time sessions, and whatever is new.
const BETA: Beta = Beta { header: "openai-beta", values: &["responses=experimental"] };

/// They search the web without being asked to.
const MODELS_REFUSED: &[&str] = &["-search-preview", "-search-api", "-deep-research"];

/// Not here on purpose: `prompt` and `conversation`, which stand for what the account keeps elsewhere and
/// nobody has looked at; `background`, after which the answer is fetched from another endpoint.
static RESPONSES: Format = Format {
    shape: Shape::Responses,
    keys: &[
        "client_metadata",
        "context_management",
        "include",
        "input",
        "instructions",
        "max_output_tokens",
        "max_tool_calls",
        "metadata",
        "model",
        "moderation",
        "parallel_tool_calls",
        "previous_response_id",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "reasoning",
        "safety_identifier",
        "service_tier",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "text",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "truncation",
        "user",
    ],
    removed_keys: &[],
    tools: &[
        ToolType::Is("apply_patch"),
        ToolType::Is("computer"),
        ToolType::Versions("computer_use"),
        ToolType::Is("custom"),
        ToolType::Is("function"),
        ToolType::Is("local_shell"),
        // Of these two, what is in them is looked at.
        ToolType::Is("namespace"),
        ToolType::Is("shell"),
        // The provider looks through the tools of the request itself, and reaches nothing.
        ToolType::Is("tool_search"),
    ],
    removed_tools: &[
        ToolType::Is("code_interpreter"),
        ToolType::Is("file_search"),
        ToolType::Is("image_generation"),
        ToolType::Is("mcp"),
        ToolType::Is("programmatic_tool_calling"),
        ToolType::Versions("web_search"),
    ],
    usage: UsageFields {
        at: &[&["response", "usage"], &["usage"]],
        prompt: &[&["input_tokens"]],
        completion: &[&["output_tokens"]],
        cached: &["input_tokens_details", "cached_tokens"],
        cache_written: &[],
        prompt_is_uncached: false,
    },
};

pub(super) static CHAT: Format = Format {
    shape: Shape::Chat,
    keys: &[
        "audio",
        "frequency_penalty",
        "function_call",
        "functions",
        "logit_bias",
        "logprobs",
        "max_completion_tokens",
        "max_tokens",
        "messages",
        "metadata",
        "modalities",
        "model",
        "moderation",
        "n",
        "parallel_tool_calls",
        "prediction",
        "presence_penalty",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "reasoning_effort",
        "response_format",
        "safety_identifier",
        "seed",
        "service_tier",
        "stop",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "user",
        "verbosity",
    ],
    removed_keys: &["web_search_options"],
    tools: &[ToolType::Is("custom"), ToolType::Is("function")],
    removed_tools: &[
        ToolType::Is("code_interpreter"),
        ToolType::Is("file_search"),
        ToolType::Is("mcp"),
        ToolType::Versions("web_search"),
    ],
    usage: UsageFields {
        at: &[&["usage"]],
        prompt: &[&["prompt_tokens"]],
        completion: &[&["completion_tokens"]],
        cached: &["prompt_tokens_details", "cached_tokens"],
        cache_written: &[],
        prompt_is_uncached: false,
    },
};
