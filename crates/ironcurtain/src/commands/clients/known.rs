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
    /// What belongs into the first of its files for that, if a file can do it.
    pub(super) off: Option<fn() -> Vec<Want>>,
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
            off: None,
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
            how: "This turns them off in the same file:",
            block: Some("ironcurtain clients install codex --own-tools-off"),
            off: Some(codex_off),
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
            how: "This turns them off in the same file:",
            block: Some("ironcurtain clients install opencode --own-tools-off"),
            off: Some(|| {
                let value = json!({"*": "deny", "ironcurtain_*": "allow"});
                vec![Want::Whole { path: &["permission"], value }]
            }),
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
            how: "This turns them off in the same file:",
            block: Some("ironcurtain clients install goose --own-tools-off"),
            off: Some(goose_off),
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
            off: None,
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
            off: None,
        },
    },
];

/// The keys at the top of the file, and its features.
fn codex_off() -> Vec<Want> {
    let top = json!({
        "web_search": "disabled",
        "sandbox_mode": "read-only",
        "approval_policy": "never",
    });
    let features = json!({
        "shell_tool": false,
        "view_image": false,
        "multi_agent": false,
        "goals": false,
        "apps": false,
        "plugins": false,
    });
    vec![entry(&[], object(top)), entry(&["features"], object(features))]
}

/// An extension of its own that the file does not name is on, so all of them are named.
fn goose_off() -> Vec<Want> {
    let off = |path: &'static [&'static str; 2], name: &str| Want::Off {
        path,
        keys: object(
            json!({"type": "platform", "name": name, "description": "", "enabled": false}),
        ),
    };
    vec![
        off(&["extensions", "developer"], "developer"),
        off(&["extensions", "extensionmanager"], "Extension Manager"),
        off(&["extensions", "analyze"], "analyze"),
        off(&["extensions", "apps"], "apps"),
        off(&["extensions", "scheduler"], "scheduler"),
        off(&["extensions", "skills"], "skills"),
        off(&["extensions", "summon"], "summon"),
    ]
}

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
    /// Returns whether the tools work in a directory that the user chose.
    pub(super) fn has_place(&self) -> bool {
        self.arguments
            .iter()
            .any(|it| ["--workspace", "--sandbox"].iter().any(|flag| it.starts_with(flag)))
    }

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
