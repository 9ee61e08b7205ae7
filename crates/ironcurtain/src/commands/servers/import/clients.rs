//! Where each client keeps its MCP servers, and how it writes them.
//!
//! What an entry means is for `entry.rs`; which of the files are there, for `places.rs`.

use serde_json::Value;

use super::entry::{self, Found};
use super::formats::{Format, parse};
use super::name_of;
use super::places::Origin;
use super::references::{Machine, Style};

/// A client whose configuration is read.
#[derive(Debug)]
pub(super) struct Client {
    /// What it is called on the command line.
    pub(super) name: &'static str,
    /// The user's own files.
    pub(super) files: &'static [(Base, &'static str)],
    /// Its files in a project.
    pub(super) project_files: &'static [&'static str],
    format: Format,
    /// Where in a file the servers are; the ways to them differ from file to file.
    ways: &'static [&'static [&'static str]],
    /// How it writes a server.
    pub(super) shape: Shape,
    /// What it fills in.
    pub(super) style: Style,
}

/// Where a path begins.
#[derive(Clone, Copy, Debug)]
pub(super) enum Base {
    /// In the user's home.
    Home,
    /// In the directory that a variable names, or else in this one of the user's home.
    Named(&'static str, &'static str),
    /// It is the file that a variable names.
    File(&'static str),
    /// In every directory of this one, which lies where configuration does.
    Each(&'static str),
}

/// How a client writes a server.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// `command`, `args`, `env`; or `url`, `headers`.
    Usual,
    /// The same, and headers under names of its own.
    Codex,
    /// `cmd`, `args`, `envs`; or `uri`, `headers`.
    Goose,
    /// `command` with its arguments, `environment`; or `url`, `headers`.
    OpenCode,
}

/// Where configuration lies.
pub(super) const CONFIG: Base = Base::Named("XDG_CONFIG_HOME", ".config");
const CLAUDE: Base = Base::Named("CLAUDE_CONFIG_DIR", "");
const CODEX: Base = Base::Named("CODEX_HOME", ".codex");
const APPLICATIONS: Base = Base::Named("", "Library/Application Support");

pub(super) const CLIENTS: [Client; 7] = [
    Client {
        name: "claude-desktop",
        files: &[
            (CONFIG, "Claude/claude_desktop_config.json"),
            (APPLICATIONS, "Claude/claude_desktop_config.json"),
        ],
        project_files: &[],
        format: Format::Json,
        ways: &[&["mcpServers"]],
        shape: Shape::Usual,
        style: Style::Plain,
    },
    Client {
        name: "claude-code",
        files: &[(CLAUDE, ".claude.json")],
        project_files: &[".mcp.json"],
        format: Format::Json,
        ways: &[&["mcpServers"]],
        shape: Shape::Usual,
        style: Style::Plain,
    },
    Client {
        name: "cursor",
        files: &[(Base::Home, ".cursor/mcp.json")],
        project_files: &[".cursor/mcp.json"],
        format: Format::Json,
        ways: &[&["mcpServers"]],
        shape: Shape::Usual,
        style: Style::Editor,
    },
    Client {
        name: "vscode",
        files: &[
            (CONFIG, "Code/User/mcp.json"),
            (CONFIG, "Code/User/settings.json"),
            (Base::Each("Code/User/profiles"), "mcp.json"),
            (CONFIG, "Code - Insiders/User/mcp.json"),
            (CONFIG, "VSCodium/User/mcp.json"),
            (APPLICATIONS, "Code/User/mcp.json"),
        ],
        project_files: &[".vscode/mcp.json"],
        format: Format::Json,
        ways: &[&["servers"], &["mcp", "servers"], &["mcp.servers"]],
        shape: Shape::Usual,
        style: Style::Editor,
    },
    Client {
        name: "codex",
        files: &[(CODEX, "config.toml")],
        project_files: &[".codex/config.toml"],
        format: Format::Toml,
        ways: &[&["mcp_servers"]],
        shape: Shape::Codex,
        style: Style::Plain,
    },
    Client {
        name: "goose",
        files: &[(CONFIG, "goose/config.yaml")],
        project_files: &[],
        format: Format::Yaml,
        ways: &[&["extensions"]],
        shape: Shape::Goose,
        style: Style::Goose,
    },
    Client {
        name: "opencode",
        files: &[
            (CONFIG, "opencode/opencode.json"),
            (CONFIG, "opencode/opencode.jsonc"),
            (CONFIG, "opencode/config.json"),
            (Base::File("OPENCODE_CONFIG"), ""),
        ],
        project_files: &[
            "opencode.json",
            "opencode.jsonc",
            ".opencode/opencode.json",
            ".opencode/opencode.jsonc",
        ],
        format: Format::Json,
        ways: &[&["mcp"]],
        shape: Shape::OpenCode,
        style: Style::OpenCode,
    },
];

impl Client {
    /// Reads the servers of a file.
    pub(super) fn read(
        &'static self,
        origin: &Origin,
        bytes: &[u8],
        machine: Machine<'_>,
    ) -> Result<Vec<Found>, String> {
        let file =
            parse(self.format, bytes).map_err(|why| format!("{}: {why}", name_of(&origin.file)))?;
        let mut found = Vec::new();
        for way in self.ways {
            if let Some(Value::Object(servers)) = way.iter().try_fold(&file, |it, key| it.get(key))
            {
                found.extend(servers.iter().filter_map(|(name, entry)| {
                    entry::read(self, (name, entry), origin.clone(), machine)
                }));
            }
        }
        // Claude Code keeps some for one directory each.
        if let Some(Value::Object(projects)) = file.get("projects") {
            for (directory, project) in projects {
                let origin = Origin { project: Some(directory.clone()), ..origin.clone() };
                let Some(Value::Object(servers)) = project.get("mcpServers") else { continue };
                let off = project.get("disabledMcpServers").and_then(Value::as_array);
                for (name, entry) in servers {
                    let Some(mut it) = entry::read(self, (name, entry), origin.clone(), machine)
                    else {
                        continue;
                    };
                    it.is_off |= off.is_some_and(|off| off.iter().any(|it| it == name));
                    found.push(it);
                }
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests;
