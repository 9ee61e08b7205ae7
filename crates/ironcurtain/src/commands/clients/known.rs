//! The clients that we know how to connect: their files, what belongs into them, and what to say besides.
//!
//! What is written, what `--print` shows and the blocks of `docs/clients.md` all come from here; a test
//! compares the guide.

use serde_json::{Map, Value, json};

use super::edit::Want;
use crate::commands::servers::import::formats::Format;

/// The name of our entry.
const NAME: &str = "ironcurtain";
/// How long a client waits for a call: longer than an approval request may wait.
const CALL_SECONDS_MAX: u64 = 600;

/// A client.
#[derive(Debug)]
pub(super) struct Client {
    /// What it is called on the command line.
    pub(super) name: &'static str,
    /// What people call it.
    pub(super) title: &'static str,
    /// The files that are changed.
    pub(super) files: &'static [ConfigFile],
    /// What people have to know about its own tools.
    pub(super) own_tools: OwnTools,
}

/// A file of a client.
#[derive(Debug)]
pub(super) struct ConfigFile {
    /// The variable that names its directory.
    pub(super) variable: Option<&'static str>,
    /// That directory in the user's home if the variable is not set.
    pub(super) directory: &'static str,
    /// Its names: the first one that is there is taken, or else the first.
    pub(super) names: &'static [&'static str],
    pub(super) format: Format,
    /// What belongs into it.
    pub(super) wants: fn(&Proxy) -> Vec<Want>,
}

/// How a client is kept from using tools of its own, which nobody judges.
#[derive(Debug)]
pub(super) struct OwnTools {
    /// What to do, in a sentence.
    pub(super) how: &'static str,
    /// What to write or to type.
    pub(super) block: Option<&'static str>,
}

/// How a client starts the proxy.
#[derive(Debug)]
pub(super) struct Proxy {
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
    /// Where our own files are, if that is not where a client would look for them.
    pub(super) home: Option<String>,
}

pub(super) const CLIENTS: [Client; 6] = [
    Client {
        name: "claude-code",
        title: "Claude Code",
        files: &[
            ConfigFile {
                variable: Some("CLAUDE_CONFIG_DIR"),
                directory: "",
                names: &[".claude.json"],
                format: Format::Json,
                wants: |proxy| vec![entry(&["mcpServers", NAME], proxy.usual())],
            },
            ConfigFile {
                variable: Some("CLAUDE_CONFIG_DIR"),
                directory: ".claude",
                names: &["settings.json"],
                format: Format::Json,
                wants: |_| claude_settings(),
            },
        ],
        own_tools: OwnTools {
            how: "Start Claude Code without its own tools, and without the servers of a project:",
            block: Some("claude --tools= --strict-mcp-config --mcp-config ~/.claude.json"),
        },
    },
    Client {
        name: "codex",
        title: "Codex",
        files: &[ConfigFile {
            variable: Some("CODEX_HOME"),
            directory: ".codex",
            names: &["config.toml"],
            format: Format::Toml,
            wants: |proxy| vec![entry(&["mcp_servers", NAME], proxy.codex())],
        }],
        own_tools: OwnTools {
            how: "To turn Codex's own tools off, put this at the top of the same file:",
            block: Some(
                "web_search = \"disabled\"\nsandbox_mode = \"read-only\"\napproval_policy = \"never\"\n\n\
                 [features]\nshell_tool = false\nview_image = false\nmulti_agent = false\ngoals = false\n\
                 apps = false\nplugins = false",
            ),
        },
    },
    Client {
        name: "opencode",
        title: "OpenCode",
        files: &[ConfigFile {
            variable: Some("XDG_CONFIG_HOME"),
            directory: ".config",
            names: &["opencode/opencode.json", "opencode/opencode.jsonc"],
            format: Format::Json,
            wants: |proxy| vec![entry(&["mcp", NAME], proxy.opencode())],
        }],
        own_tools: OwnTools {
            how: "To turn OpenCode's own tools off, add this setting to the same file:",
            block: Some("{ \"permission\": { \"*\": \"deny\", \"ironcurtain_*\": \"allow\" } }"),
        },
    },
    Client {
        name: "goose",
        title: "Goose",
        files: &[ConfigFile {
            variable: Some("XDG_CONFIG_HOME"),
            directory: ".config",
            names: &["goose/config.yaml"],
            format: Format::Yaml,
            wants: |proxy| vec![entry(&["extensions", NAME], proxy.goose())],
        }],
        own_tools: OwnTools {
            how: "To turn Goose's own tools off, add these entries to `extensions` in the same file:",
            block: Some(GOOSE_OFF),
        },
    },
    Client {
        name: "cursor",
        title: "Cursor",
        files: &[ConfigFile {
            variable: None,
            directory: ".cursor",
            names: &["mcp.json"],
            format: Format::Json,
            wants: |proxy| vec![entry(&["mcpServers", NAME], proxy.usual())],
        }],
        own_tools: OwnTools {
            how: "Cursor has no setting that turns its own terminal and its edits off. In Settings, \
                  Agents, choose `Allowlist` and no sandbox, and write this to \
                  `~/.cursor/permissions.json`, so that each command asks you first:",
            block: Some("{\"terminalAllowlist\": []}"),
        },
    },
    Client {
        name: "vscode",
        title: "VS Code",
        files: &[ConfigFile {
            variable: Some("XDG_CONFIG_HOME"),
            directory: ".config",
            names: &["Code/User/mcp.json"],
            format: Format::Json,
            wants: |proxy| vec![entry(&["servers", NAME], proxy.vscode())],
        }],
        own_tools: OwnTools {
            how: "VS Code has no setting that turns its own tools off for good. With the command \
                  `Chat: New Custom Agent` make the agent `ironcurtain.agent.md`, and choose it in \
                  each chat:",
            block: Some(
                "---\ndescription: Works through IronCurtain only\ntools: ['ironcurtain/*']\n\
                 agents: []\n---",
            ),
        },
    },
];

const GOOSE_OFF: &str = "extensions:
  developer: { type: platform, name: developer, description: \"\", enabled: false }
  extensionmanager: { type: platform, name: Extension Manager, description: \"\", enabled: false }
  analyze: { type: platform, name: analyze, description: \"\", enabled: false }
  apps: { type: platform, name: apps, description: \"\", enabled: false }
  scheduler: { type: platform, name: scheduler, description: \"\", enabled: false }
  skills: { type: platform, name: skills, description: \"\", enabled: false }
  summon: { type: platform, name: summon, description: \"\", enabled: false }";

fn entry(path: &'static [&'static str], keys: Map<String, Value>) -> Want {
    Want::Entry { path, keys }
}

/// Lets calls of our tools through without a second question, lets them wait, and shows all of them.
fn claude_settings() -> Vec<Want> {
    let wait = (CALL_SECONDS_MAX * 1000).to_string();
    vec![
        Want::Item { path: &["permissions", "allow"], value: json!("mcp__ironcurtain") },
        Want::Setting { path: &["env", "MCP_TOOL_TIMEOUT"], value: json!(wait) },
        Want::Setting { path: &["env", "ENABLE_TOOL_SEARCH"], value: json!("false") },
    ]
}

impl Proxy {
    fn usual(&self) -> Map<String, Value> {
        let mut keys = object(json!({"command": self.program, "args": self.arguments}));
        self.add_home(&mut keys, "env");
        keys
    }

    fn vscode(&self) -> Map<String, Value> {
        let mut keys = object(json!({"type": "stdio"}));
        keys.extend(self.usual());
        keys
    }

    fn codex(&self) -> Map<String, Value> {
        let mut keys = self.usual();
        keys.extend(object(json!({
            // Its first request would not wait for the tools.
            "required": true,
            "tool_timeout_sec": CALL_SECONDS_MAX,
            // It would refuse every call of a tool that can change something: we ask about those.
            "default_tools_approval_mode": "approve",
        })));
        keys
    }

    fn opencode(&self) -> Map<String, Value> {
        let words: Vec<&String> = [&self.program].into_iter().chain(&self.arguments).collect();
        let mut keys = object(json!({"type": "local", "command": words}));
        self.add_home(&mut keys, "environment");
        keys.insert("timeout".to_owned(), json!(CALL_SECONDS_MAX * 1000));
        keys
    }

    fn goose(&self) -> Map<String, Value> {
        let mut keys = object(json!({
            "type": "stdio",
            "name": NAME,
            "description": "",
            "enabled": true,
            "cmd": self.program,
            "args": self.arguments,
            "timeout": CALL_SECONDS_MAX,
        }));
        self.add_home(&mut keys, "envs");
        keys
    }

    fn add_home(&self, keys: &mut Map<String, Value>, name: &str) {
        if let Some(home) = &self.home {
            keys.insert(name.to_owned(), json!({"IRONCURTAIN_HOME": home}));
        }
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
