//! Anthropic: Messages.

use ic_types::Provider;

use super::{Beta, Endpoint, Format, Place, Purpose, Rules, Shape, ToolType, UsageFields, Verb};

pub(super) const RULES: Rules = Rules {
    provider: Provider::Anthropic,
    host: "api.anthropic.com",
    endpoints: &[
        Endpoint { verb: Verb::Post, path: "/v1/messages", purpose: Purpose::Complete(&MESSAGES) },
        Endpoint {
            verb: Verb::Post,
            path: "/v1/messages/count_tokens",
            purpose: Purpose::Count(&MESSAGES),
        },
        Endpoint { verb: Verb::Get, path: "/v1/models", purpose: Purpose::List },
        Endpoint { verb: Verb::Get, path: "/v1/models/*", purpose: Purpose::List },
    ],
    housekeeping: &["/api/"],
    place: Place::Header("x-api-key"),
    key_prefix: "sk-ant-api03-",
    key_variables: &["ANTHROPIC_API_KEY"],
    base_variables: &[],
    headers: &["anthropic-version", "anthropic-dangerous-direct-browser-access", "x-app"],
    beta: Some(Beta { header: "anthropic-beta", values: BETAS }),
    query_refused: &[],
    models_refused: &[],
};

/// What is known, and lets the provider reach nothing. Not here on purpose: the betas for web search and
/// fetch, for code execution, for remote MCP servers, for files and for skills.
const BETAS: &[&str] = &[
    "adaptive-thinking-2026-01-28",
    "advanced-tool-use-2025-11-20",
    "claude-code-20250219",
    "computer-use-2024-10-22",
    "computer-use-2025-01-24",
    "computer-use-2025-11-24",
    "context-1m-2025-08-07",
    "context-management-2025-06-27",
    "effort-2025-11-24",
    "extended-cache-ttl-2025-04-11",
    "fast-mode-2026-02-01",
    "fine-grained-tool-streaming-2025-05-14",
    "interleaved-thinking-2025-05-14",
    "max-tokens-3-5-sonnet-2024-07-15",
    "oauth-2025-04-20",
    "output-128k-2025-02-19",
    "prompt-caching-2024-07-31",
    "prompt-caching-scope-2026-01-05",
    "redact-thinking-2026-02-12",
    "structured-outputs-2025-11-13",
    "structured-outputs-2025-12-15",
    "token-counting-2024-11-01",
    "token-efficient-tools-2025-02-19",
    "tool-examples-2025-10-29",
    "tool-search-tool-2025-10-19",
];

static MESSAGES: Format = Format {
    shape: Shape::Messages,
    keys: &[
        "cache_control",
        "context_management",
        "max_tokens",
        "messages",
        "metadata",
        "model",
        "output_config",
        "output_format",
        "service_tier",
        "speed",
        "stop_sequences",
        "stream",
        "system",
        "temperature",
        "thinking",
        "tool_choice",
        "tools",
        "top_k",
        "top_p",
    ],
    removed_keys: &["container", "mcp_servers"],
    tools: &[
        ToolType::Is("custom"),
        ToolType::Versions("bash"),
        ToolType::Versions("computer"),
        ToolType::Versions("memory"),
        ToolType::Versions("text_editor"),
        // The provider looks through the tools of the request itself, and reaches nothing.
        ToolType::Versions("tool_search_tool_bm25"),
        ToolType::Versions("tool_search_tool_regex"),
    ],
    removed_tools: &[
        ToolType::Versions("code_execution"),
        ToolType::Versions("mcp_toolset"),
        ToolType::Versions("web_fetch"),
        ToolType::Versions("web_search"),
    ],
    usage: UsageFields {
        at: &[&["message", "usage"], &["usage"]],
        prompt: &[&["input_tokens"]],
        completion: &[&["output_tokens"]],
        cached: &["cache_read_input_tokens"],
        cache_written: &["cache_creation_input_tokens"],
        prompt_is_uncached: true,
    },
};
