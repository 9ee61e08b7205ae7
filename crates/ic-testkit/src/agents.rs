//! Real agents of others, one row for each: how its model names tools, and with which options it is started.
//!
//! Their packages are those that `scripts/test-packages` installs; nothing is installed or started here.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "test support: it writes files and asks a script, and a failure is a failed test"
)]

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::Place;
use crate::provider::{Reply, Said};

/// What has to be known of an agent.
#[derive(Debug)]
pub struct Row {
    /// The name by which people choose it.
    pub agent: &'static str,
    /// The name of its program among the packages.
    pub program: &'static str,
    /// Its tool for commands, and the name of the argument that holds one.
    shell: (&'static str, &'static str),
    /// What its model puts before the names of our tools.
    prefix: &'static str,
    /// Options that it needs here.
    pub options: &'static [&'static str],
    /// Whether a container holds it, and not the cage.
    pub is_contained: bool,
}

/// Claude Code.
pub const CLAUDE_CODE: Row = Row {
    agent: "claude-code",
    program: "claude",
    shell: ("Bash", "command"),
    prefix: "mcp__ironcurtain__",
    options: &[],
    is_contained: false,
};
/// Claude Code in a container.
pub const CONTAINED: Row = Row { is_contained: true, ..CLAUDE_CODE };
/// Codex.
pub const CODEX: Row = Row {
    agent: "codex",
    program: "codex",
    shell: ("exec_command", "cmd"),
    prefix: "mcp__ironcurtain::",
    options: &["--model", "openai:gpt-5"],
    is_contained: false,
};
/// OpenCode.
pub const OPENCODE: Row = Row {
    agent: "opencode",
    program: "opencode",
    shell: ("bash", "command"),
    prefix: "ironcurtain_",
    options: &[],
    is_contained: false,
};
/// Goose.
pub const GOOSE: Row = Row {
    agent: "goose",
    program: "goose",
    shell: ("shell", "command"),
    prefix: "ironcurtain__",
    options: &[],
    is_contained: false,
};

impl Row {
    /// The model has a command run by the agent's own shell.
    pub fn runs(&self, id: &str, command: &str) -> Reply {
        let (tool, argument) = self.shell;
        let mut input = json!({argument: command});
        if self.agent == "opencode" {
            input["description"] = "a command".into();
        }
        Reply::Says(Said::tool(id, tool, input))
    }

    /// The model calls a tool of ours.
    pub fn calls(&self, id: &str, tool: &str, input: Value) -> Reply {
        Reply::Says(Said::tool(id, &format!("{}{tool}", self.prefix), input))
    }

    /// Writes down that the agent of `packages` is installed.
    pub fn register(&self, place: &Place, packages: &Path) {
        register(place, self.agent, &packages.join("bin").join(self.program));
    }
}

/// Writes down that an agent is installed, without copying hundreds of megabytes for each place.
pub fn register(place: &Place, agent: &str, program: &Path) {
    let program = program.canonicalize().expect("a program");
    let version = ic_adapter::find(agent).expect("an agent").package().version;
    let record = json!({"version": version, "source": "the packages of the tests",
        "integrity": "checked by npm", "program": program});
    assert_eq!(place.run(["agents", "list"]).code, 0);
    let directory = format!("home/.ironcurtain/agents/{agent}");
    place.dir(&directory);
    let path = place.write(format!("{directory}/installed.json"), record.to_string());
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).expect("a mode");
}

/// Finds the packages of the tests; `None` if they are not installed.
pub fn packages() -> Option<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/test-packages");
    let output = Command::new(script).arg("--path").output().expect("a path");
    let path = PathBuf::from(String::from_utf8(output.stdout).expect("text").trim());
    path.join("bin/node").exists().then_some(path)
}
