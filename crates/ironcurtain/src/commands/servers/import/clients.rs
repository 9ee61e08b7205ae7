//! Where each client keeps its MCP servers, and how it writes them.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::formats::{Format, parse};
use super::secrets::{self, Kept};
use super::{far, name_of};
use crate::commands::servers::add::Far;

/// A client whose configuration is read.
#[derive(Debug)]
pub(super) struct Client {
    /// What it is called on the command line.
    pub(super) name: &'static str,
    /// Its files, below the user's home.
    pub(super) paths: &'static [&'static str],
    format: Format,
    /// Where in the file the servers are.
    keys: &'static [&'static str],
    shape: Shape,
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

/// A server that was found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) name: String,
    pub(super) client: &'static str,
    pub(super) file: PathBuf,
    /// How it is started, or why it cannot be.
    pub(super) line: Result<Line, String>,
    /// The variables that stand for secrets.
    pub(super) secrets: Vec<String>,
}

/// How a server is started, without secrets.
#[derive(Debug, Default)]
pub(super) struct Line {
    pub(super) command: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    /// Where it is, if it is on another machine; then there is no command.
    pub(super) far: Option<Far>,
}

pub(super) const CLIENTS: [Client; 7] = [
    Client {
        name: "claude-desktop",
        paths: &[
            ".config/Claude/claude_desktop_config.json",
            "Library/Application Support/Claude/claude_desktop_config.json",
        ],
        format: Format::Json,
        keys: &["mcpServers"],
        shape: Shape::Usual,
    },
    Client {
        name: "claude-code",
        paths: &[".claude.json"],
        format: Format::Json,
        keys: &["mcpServers"],
        shape: Shape::Usual,
    },
    Client {
        name: "cursor",
        paths: &[".cursor/mcp.json"],
        format: Format::Json,
        keys: &["mcpServers"],
        shape: Shape::Usual,
    },
    Client {
        name: "vscode",
        paths: &[".config/Code/User/mcp.json", "Library/Application Support/Code/User/mcp.json"],
        format: Format::Json,
        keys: &["servers"],
        shape: Shape::Usual,
    },
    Client {
        name: "codex",
        paths: &[".codex/config.toml"],
        format: Format::Toml,
        keys: &["mcp_servers"],
        shape: Shape::Codex,
    },
    Client {
        name: "goose",
        paths: &[".config/goose/config.yaml"],
        format: Format::Yaml,
        keys: &["extensions"],
        shape: Shape::Goose,
    },
    Client {
        name: "opencode",
        paths: &[".config/opencode/opencode.json", ".config/opencode/opencode.jsonc"],
        format: Format::Json,
        keys: &["mcp"],
        shape: Shape::OpenCode,
    },
];

impl Client {
    /// Reads the servers of a file.
    pub(super) fn read(&self, path: &Path, bytes: &[u8]) -> Result<Vec<Found>, String> {
        let file = parse(self.format, bytes).map_err(|why| format!("{}: {why}", name_of(path)))?;
        let servers = self.keys.iter().try_fold(&file, |it, key| it.get(key));
        let mut found = Vec::new();
        if let Some(Value::Object(servers)) = servers {
            found.extend(servers.iter().filter_map(|(name, it)| self.server(name, it, path)));
        }
        // Claude Code keeps some for one directory each.
        if let Some(Value::Object(projects)) = file.get("projects") {
            for project in projects.values() {
                if let Some(Value::Object(servers)) = project.get("mcpServers") {
                    found.extend(
                        servers.iter().filter_map(|(name, it)| self.server(name, it, path)),
                    );
                }
            }
        }
        Ok(found)
    }

    /// Reads one server; `None` if it is none of ours to read, or is the proxy itself.
    fn server(&self, name: &str, entry: &Value, path: &Path) -> Option<Found> {
        let Value::Object(entry) = entry else { return None };
        if let (Shape::Goose, Some("builtin" | "platform")) = (self.shape, text(entry, "type")) {
            return None;
        }
        let words = match self.shape {
            Shape::Usual | Shape::Codex => started(entry, "command", "args"),
            Shape::Goose => started(entry, "cmd", "args"),
            Shape::OpenCode => texts(entry.get("command")),
        };
        let is_us = words.as_ref().is_some_and(|words| {
            let program = words.first().and_then(|word| word.rsplit('/').next());
            program == Some("ironcurtain")
        });
        if is_us {
            return None;
        }
        let environment = match self.shape {
            Shape::Usual | Shape::Codex => entry.get("env"),
            Shape::Goose => entry.get("envs"),
            Shape::OpenCode => entry.get("environment"),
        };
        let (line, secrets) = match words {
            Some(words) => {
                let Kept { command, env, secrets } =
                    secrets::keep_out(name, words, pairs(environment));
                (Ok(Line { command, env, far: None }), secrets)
            }
            None => match far::read(name, self.shape, entry) {
                Some(Ok((far, secrets))) => {
                    (Ok(Line { far: Some(far), ..Line::default() }), secrets)
                }
                Some(Err(why)) => (Err(why), Vec::new()),
                None => (Err("it says no command".to_owned()), Vec::new()),
            },
        };
        // SECURITY: what is no name could be anything, and would be printed as one.
        let named = line.iter().flat_map(|line| line.env.iter().map(|(name, _)| name));
        let (line, secrets) = match named.chain(&secrets).all(|it| secrets::is_variable(it)) {
            true => (line, secrets),
            false => (Err("a variable of it has a name that is none".to_owned()), Vec::new()),
        };
        let (name, file) = (name.to_owned(), path.to_owned());
        Some(Found { name, client: self.name, file, line, secrets })
    }
}

pub(super) fn text<'a>(entry: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    entry.get(key).and_then(Value::as_str)
}

fn started(entry: &Map<String, Value>, command: &str, args: &str) -> Option<Vec<String>> {
    let mut words = vec![text(entry, command).filter(|it| !it.is_empty())?.to_owned()];
    words.extend(texts(entry.get(args)).unwrap_or_default());
    Some(words)
}

fn texts(value: Option<&Value>) -> Option<Vec<String>> {
    let texts = value?.as_array()?.iter().map(|it| it.as_str().map(str::to_owned));
    texts.collect::<Option<Vec<_>>>().filter(|it| !it.is_empty())
}

pub(super) fn pairs(value: Option<&Value>) -> Vec<(String, String)> {
    let pair = |(name, value): (&String, &Value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (name.clone(), value)
    };
    value.and_then(Value::as_object).map(|it| it.iter().map(pair).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(client: &str, file: &str, expected: &[(&str, &str)]) {
        let client = CLIENTS.iter().find(|it| it.name == client).unwrap();
        let found = client.read(Path::new("/x/file"), file.as_bytes()).unwrap();
        let shown: Vec<(String, String)> = found
            .into_iter()
            .map(|it| {
                let line = it.line.map(|line| {
                    if let Some(Far { url, headers }) = line.far {
                        let headers: Vec<String> =
                            headers.iter().map(|(k, v)| format!("{k}: {v}")).collect();
                        return format!("{url} [{}]", headers.join(", "));
                    }
                    let env: Vec<String> =
                        line.env.iter().map(|(k, v)| format!("{k}={v}")).collect();
                    format!("{} [{}]", line.command.join(" "), env.join(" "))
                });
                (it.name, line.unwrap_or_else(|why| why))
            })
            .collect();
        let expected: Vec<(String, String)> =
            expected.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn every_client_is_read_in_its_own_way() {
        let usual = r#"{"mcpServers":{"a":{"command":"npx","args":["-y","x"],"env":{"B":"c"}},
            "us":{"command":"/usr/bin/ironcurtain","args":["proxy"]},"web":{"url":"https://a.example"}}}"#;
        for client in ["claude-desktop", "claude-code", "cursor"] {
            check(client, usual, &[("a", "npx -y x [B=c]"), ("web", "https://a.example []")]);
        }
        check(
            "claude-code",
            r#"{"mcpServers":{},"projects":{"/p":{"mcpServers":{"b":{"command":"y"}}},"/q":{}}}"#,
            &[("b", "y []")],
        );
        check(
            "vscode",
            "{ // a comment\n \"servers\": {\"a\": {\"type\": \"stdio\", \"command\": \"x\",}} /* more */ }",
            &[("a", "x []")],
        );
        check(
            "codex",
            "model = \"x\"\n[mcp_servers.a]\ncommand = \"uvx\"\nargs = [\n  'y',\n]\n\
             [mcp_servers.a.env]\nB = \"c\"\n[other]\nz = 1979-05-27\n",
            &[("a", "uvx y [B=c]")],
        );
        check(
            "goose",
            "GOOSE_MODE: auto\nextensions:\n  developer:\n    type: builtin\n    enabled: true\n  a:\n    \
             type: stdio\n    cmd: npx\n    args:\n      - -y\n      - \"x y\"\n    envs:\n      B: c\n    \
             timeout: 300\n",
            &[("a", "npx -y x y [B=c]")],
        );
        check(
            "opencode",
            r#"{"mcp":{"a":{"type":"local","command":["npx","x"],"environment":{"B":"c"}},
                "r":{"type":"remote","url":"https://a.example"}}}"#,
            &[("a", "npx x [B=c]"), ("r", "https://a.example []")],
        );
    }

    /// Each in its own spelling; the same entry comes of it, and no secret with it.
    #[test]
    fn servers_by_address_are_read_without_their_secrets() {
        let sse = "it speaks the older transport with two endpoints (`sse`), which is not spoken here; \
                   most such servers have a streamable HTTP address as well";
        let at = "https://a.example/mcp";
        let kept =
            "https://a.example/mcp [Authorization: Bearer ${ENV:FAR_AUTHORIZATION}, X-Team: blue]";
        let named = "https://a.example/mcp [Authorization: Bearer ${ENV:A_TOKEN}]";
        let headers = r#"{"Authorization":"Bearer hunter2","X-Team":"blue"}"#;
        for (client, key) in
            [("claude-code", "mcpServers"), ("cursor", "mcpServers"), ("vscode", "servers")]
        {
            check(
                client,
                &format!(
                    r#"{{"{key}":{{"far":{{"type":"http","url":"{at}","headers":{headers}}},
                        "named":{{"url":"{at}","headers":{{"Authorization":"Bearer ${{env:A_TOKEN}}"}}}},
                        "old":{{"type":"sse","url":"{at}"}}}}}}"#
                ),
                &[("far", kept), ("named", named), ("old", sse)],
            );
        }
        check(
            "codex",
            &format!(
                "[mcp_servers.far]\nurl = \"{at}\"\nhttp_headers = {{ Authorization = \"Bearer hunter2\", \
                 X-Team = \"blue\" }}\n[mcp_servers.named]\nurl = \"{at}\"\nbearer_token_env_var = \
                 \"A_TOKEN\"\n[mcp_servers.more]\nurl = \"{at}\"\nenv_http_headers = {{ X-Key = \"K\" }}\n"
            ),
            &[("far", kept), ("more", "https://a.example/mcp [X-Key: ${ENV:K}]"), ("named", named)],
        );
        check(
            "goose",
            &format!(
                "extensions:\n  far:\n    type: streamable_http\n    uri: {at}\n    headers:\n      \
                 Authorization: Bearer hunter2\n      X-Team: blue\n  old:\n    type: sse\n    uri: {at}\n"
            ),
            &[("far", kept), ("old", sse)],
        );
        check(
            "opencode",
            &format!(
                r#"{{"mcp":{{"far":{{"type":"remote","url":"{at}","headers":{headers}}},"named":{{"type":"remote",
                    "url":"{at}","headers":{{"Authorization":"Bearer {{env:A_TOKEN}}"}}}}}}}}"#
            ),
            &[("far", kept), ("named", named)],
        );
    }

    #[test]
    fn a_variable_whose_name_is_none_makes_no_entry() {
        let why = "a variable of it has a name that is none";
        for entry in [
            r#"{"command":"x","env":{"A\u001b[2J_TOKEN":"hunter2"}}"#,
            r#"{"command":"x","env":{"A B":"c"}}"#,
            r#"{"command":"x","env":{"":"c"}}"#,
        ] {
            check("cursor", &format!(r#"{{"mcpServers":{{"a":{entry}}}}}"#), &[("a", why)]);
        }
        for line in ["bearer_token_env_var = \"A\\u001b[2J\"", "env_http_headers = { X = \"a}b\" }"]
        {
            let file = format!("[mcp_servers.a]\nurl = \"https://a.example/mcp\"\n{line}\n");
            check("codex", &file, &[("a", why)]);
        }
    }

    #[test]
    fn a_file_that_is_broken_is_an_error_and_no_panic() {
        for client in &CLIENTS {
            assert!(
                client.read(Path::new("/x/file"), b"{\"mcpServers\": [").is_err(),
                "{}",
                client.name
            );
        }
        check("cursor", r#"{"mcpServers":[1],"projects":7}"#, &[]);
        check(
            "cursor",
            r#"{"mcpServers":{"a":7,"b":{"command":7}}}"#,
            &[("b", "it says no command")],
        );
    }
}
