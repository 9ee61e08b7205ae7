//! Anthropic: Messages, with an API key or with a login of Claude Code.

use ic_types::Provider;

use super::login::{FileShape, LoginRules, Reply};
use super::{Beta, COMMON, Endpoint, Format, Place, Rules, Shape, ToolType, UsageFields};

pub(super) const RULES: Rules = Rules {
    provider: Provider::Anthropic,
    host: "api.anthropic.com",
    endpoints: &[
        Endpoint::complete("/v1/messages", &MESSAGES),
        Endpoint::count("/v1/messages/count_tokens", &MESSAGES),
        Endpoint::list("/v1/models"),
        Endpoint::list("/v1/models/*"),
    ],
    housekeeping: &["/api/"],
    // Agents use the first, the SDKs of late 2026 the second.
    places: &[Place::Header("x-api-key"), Place::Bearer],
    key_prefix: "sk-ant-api03-",
    key_variables: &["ANTHROPIC_API_KEY"],
    headers: &["anthropic-version", "anthropic-dangerous-direct-browser-access", "x-app"],
    beta: Some(Beta { header: "anthropic-beta", values: BETAS }),
    ..COMMON
};

pub(super) const LOGIN: LoginRules = LoginRules {
    agent: "claude-code",
    rules: &Rules {
        places: &[Place::Bearer],
        key_prefix: "sk-ant-oat01-",
        key_variables: &["CLAUDE_CODE_OAUTH_TOKEN"],
        ..RULES
    },
    base_path: "",
    token_host: "platform.claude.com",
    token_path: "/v1/oauth/token",
    client_id: "9d1c250a-e61b-44d9-88ed-5944d1962f5e",
    file: FileShape {
        at: &["claudeAiOauth"],
        access: "accessToken",
        refresh: "refreshToken",
        expires_ms: Some("expiresAt"),
        account: None,
        refreshed: None,
        lock: Some(".oauth_refresh.lock"),
    },
    reply: Reply { kept: &[] },
};

/// What clients send or their documentation names, as far as it lets the provider reach nothing. Not here
/// on purpose: the betas for web search and fetch, code execution, the advisor, remote MCP servers, files,
/// skills, and for whatever the account keeps (threads, profiles, memory, agents).
const BETAS: &[&str] = &[
    "advanced-tool-use-2025-11-20",
    "cache-diagnosis-2026-04-07",
    "claude-code-20250219",
    "compact-2026-01-12",
    "compact-2026-09-04",
    "computer-use-2024-10-22",
    "computer-use-2025-01-24",
    "computer-use-2025-11-24",
    "context-1m-2025-08-07",
    "context-management-2025-06-27",
    "effort-2025-11-24",
    "extended-cache-ttl-2025-04-11",
    "fast-mode-2026-02-01",
    "fine-grained-tool-streaming-2025-05-14",
    "inline-tools-2026-09-15",
    "interleaved-thinking-2025-05-14",
    "mid-conversation-output-config-2026-07-01",
    "mid-conversation-system-2026-04-07",
    "mid-conversation-system-clear-at-2026-08-21",
    "mid-conversation-tool-changes-2026-07-01",
    "model-context-window-exceeded-2025-08-26",
    "oauth-2025-04-20",
    "output-128k-2025-02-19",
    "output-300k-2026-03-24",
    "pdfs-2024-09-25",
    "per-turn-control-2026-07-01",
    "prompt-caching-2024-07-31",
    "prompt-caching-scope-2026-01-05",
    "redact-thinking-2026-02-12",
    "structured-outputs-2025-11-13",
    "structured-outputs-2025-12-15",
    "task-budgets-2026-03-13",
    "thinking-binding-controls-2026-08-01",
    "thinking-display-updates-2026-08-18",
    "thinking-token-count-2026-05-13",
    "token-counting-2024-11-01",
    "token-efficient-tools-2025-02-19",
    "tool-search-tool-2025-10-19",
];

/// Not here on purpose: `thread`, `user_profile_id` and `workspace_id`, which stand for what the account
/// keeps elsewhere; `fallbacks`, which asks other models at other prices.
static MESSAGES: Format = Format {
    shape: Shape::Messages,
    keys: &[
        "cache_control",
        "compaction",
        "context_management",
        "diagnostics",
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
        ToolType::Versions("browser_toolset"),
        ToolType::Versions("computer"),
        ToolType::Versions("computer_toolset"),
        ToolType::Versions("memory"),
        ToolType::Versions("text_editor"),
        // The provider looks through the tools of the request itself, and reaches nothing.
        ToolType::Versions("tool_search_tool_bm25"),
        ToolType::Versions("tool_search_tool_regex"),
    ],
    removed_tools: &[
        // Another model, whose tokens are not counted with those of the request.
        ToolType::Versions("advisor"),
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
