//! How each agent is set up and started for one message, as `docs/clients.md` says.
//!
//! What it does then is judged in the parent.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use ic_testkit::provider::KEY;
use serde_json::{Value, json};

use super::guide::{blocks, put, two_blocks};

/// An agent that is tried.
#[derive(Clone, Copy, Debug)]
pub(super) enum Agent {
    ClaudeCode,
    Codex,
    OpenCode,
}

/// What an agent is given: what it starts as its MCP server, and who is the model behind it.
pub(super) struct Server<'a> {
    pub(super) provider: String,
    pub(super) program: &'a str,
    pub(super) arguments: &'a [String],
    pub(super) home: PathBuf,
    /// How long a call may take before the agent gives it up.
    pub(super) call_max: Duration,
}

impl Server<'_> {
    fn environment(&self) -> Value {
        json!({"HOME": self.home, "PATH": "/usr/bin:/bin"})
    }

    fn call_ms_max(&self) -> u64 {
        self.call_max.as_millis().try_into().unwrap()
    }
}

impl Agent {
    pub(super) fn program(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude",
            Self::Codex => "codex",
            Self::OpenCode => "opencode",
        }
    }

    /// Returns the name under which a model knows a tool of the proxy's.
    pub(super) fn tool(self, name: &str) -> String {
        match self {
            Self::ClaudeCode => format!("mcp__ironcurtain__{name}"),
            // It shows models no hyphen.
            Self::Codex => format!("mcp__ironcurtain::{}", name.replace('-', "_")),
            Self::OpenCode => format!("ironcurtain_{name}"),
        }
    }

    /// Returns how long it has to be allowed for a call at the least.
    pub(super) fn call_max_at_least(self) -> Duration {
        match self {
            Self::ClaudeCode | Self::Codex => Duration::from_secs(6),
            // What is said here goes for the start of the proxy too.
            Self::OpenCode => Duration::from_secs(12),
        }
    }

    /// Writes what the agent reads, and says how it is started for one message.
    pub(super) fn set_up(self, command: &mut Command, home: &Path, server: &Server<'_>) {
        match self {
            Self::ClaudeCode => claude_code(command, home, server),
            Self::Codex => codex(command, home, server),
            Self::OpenCode => opencode(command, home, server),
        }
    }
}

fn claude_code(command: &mut Command, home: &Path, server: &Server<'_>) {
    let Server { program, arguments, .. } = server;
    let [servers, settings] = two_blocks("Claude Code", "json");
    let mut servers: Value = serde_json::from_str(&servers).unwrap();
    servers["mcpServers"]["ironcurtain"] =
        json!({"command": program, "args": arguments, "env": server.environment()});
    write(home, ".claude.json", &servers.to_string());
    let wait = format!("\"{}\"", server.call_ms_max());
    write(home, ".claude/settings.json", &put(&settings, "\"600000\"", &wait));
    claude_code_started(command, home, &server.provider);
}

/// Starts it as the guide says, for one message.
pub(super) fn claude_code_started(command: &mut Command, home: &Path, provider: &str) {
    let line = blocks("Claude Code", "console").pop().unwrap();
    let config = home.join(".claude.json");
    let line = put(&line, "~/.claude.json", config.to_str().unwrap());
    let options = line.trim().strip_prefix("$ claude ").unwrap();
    command
        .args(options.split_whitespace())
        .args(["-p", "--", "Go ahead."])
        .env("ANTHROPIC_BASE_URL", provider)
        .env("ANTHROPIC_API_KEY", KEY)
        .env("MCP_TIMEOUT", "300000")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
}

fn codex(command: &mut Command, home: &Path, server: &Server<'_>) {
    let Server { program, arguments, .. } = server;
    let [told, off] = two_blocks("Codex", "toml");
    let told = put(&told, "\"ironcurtain\"", &json!(program).to_string());
    let told = put(&told, "[\"proxy\"]", &json!(arguments).to_string());
    let told = put(&told, "= 600\n", &format!("= {}\n", server.call_max.as_secs()));
    let person = json!(server.home);
    let text = format!(
        "{}{off}\n{told}\
         startup_timeout_sec = 300\nenv = {{HOME = {person}, PATH = \"/usr/bin:/bin\"}}\n{}",
        CODEX_MODEL,
        codex_provider(&server.provider)
    );
    write(home, ".codex/config.toml", &text);
    codex_started(command);
}

/// What a test needs at the top of the file.
pub(super) const CODEX_MODEL: &str = "model = \"gpt-5\"\nmodel_provider = \"scripted\"\n";

/// What a test needs at the end of the file.
pub(super) fn codex_provider(provider: &str) -> String {
    let provider = json!(format!("{provider}/v1"));
    format!(
        "[analytics]\nenabled = false\n\
         [model_providers.scripted]\nname = \"scripted\"\nbase_url = {provider}\n\
         env_key = \"OPENAI_API_KEY\"\nwire_api = \"responses\"\nsupports_websockets = false\n"
    )
}

pub(super) fn codex_started(command: &mut Command) {
    command
        .args(["exec", "--skip-git-repo-check", "Go ahead."])
        .env("OPENAI_API_KEY", KEY)
        .stdin(Stdio::null());
}

fn opencode(command: &mut Command, home: &Path, server: &Server<'_>) {
    let Server { program, arguments, .. } = server;
    let [told, off] = two_blocks("OpenCode", "json");
    let mut config: Value = serde_json::from_str(&told).unwrap();
    let off: Value = serde_json::from_str(&off).unwrap();
    config["permission"] = off["permission"].clone();
    let entry = &mut config["mcp"]["ironcurtain"];
    assert_eq!(entry["timeout"], 600_000);
    let words: Vec<&str> =
        std::iter::once(*program).chain(arguments.iter().map(String::as_str)).collect();
    entry["command"] = json!(words);
    entry["environment"] = server.environment();
    entry["timeout"] = json!(server.call_ms_max());
    for (key, value) in opencode_model(&server.provider).as_object().unwrap() {
        config[key] = value.clone();
    }
    write(home, ".config/opencode/opencode.json", &config.to_string());
    opencode_started(command);
}

/// What a test needs in the file.
pub(super) fn opencode_model(provider: &str) -> Value {
    json!({
        "model": "anthropic/claude-sonnet-4-6",
        "autoupdate": false,
        "provider": {"anthropic": {"options": {"baseURL": format!("{provider}/v1"), "apiKey": KEY}}},
    })
}

pub(super) fn opencode_started(command: &mut Command) {
    command.args(["run", "--pure"]).env("OPENCODE_DISABLE_MODELS_FETCH", "1");
}

pub(super) fn write(home: &Path, name: &str, text: &str) -> PathBuf {
    let path = home.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path
}
