//! The agents, one row for each: how its model names tools, and with which options it is started.

use ic_testkit::provider::Reply;
use serde_json::{Value, json};

use super::uses;

/// What the tests have to know of an agent.
pub(crate) struct Row {
    pub(crate) agent: &'static str,
    /// The name of its program among the packages of the tests.
    pub(crate) program: &'static str,
    /// Its tool for commands, and the name of the argument that holds one.
    shell: (&'static str, &'static str),
    /// What its model puts before the names of our tools.
    prefix: &'static str,
    /// Options that it needs here.
    pub(crate) options: &'static [&'static str],
    /// Whether a container holds it, and not the cage.
    pub(crate) is_contained: bool,
}

pub(crate) const CLAUDE_CODE: Row = Row {
    agent: "claude-code",
    program: "claude",
    shell: ("Bash", "command"),
    prefix: "mcp__ironcurtain__",
    options: &[],
    is_contained: false,
};
pub(crate) const CONTAINED: Row = Row { is_contained: true, ..CLAUDE_CODE };
pub(crate) const CODEX: Row = Row {
    agent: "codex",
    program: "codex",
    shell: ("exec_command", "cmd"),
    prefix: "mcp__ironcurtain::",
    options: &["--model", "openai:gpt-5"],
    is_contained: false,
};
pub(crate) const OPENCODE: Row = Row {
    agent: "opencode",
    program: "opencode",
    shell: ("bash", "command"),
    prefix: "ironcurtain_",
    options: &[],
    is_contained: false,
};
pub(crate) const GOOSE: Row = Row {
    agent: "goose",
    program: "goose",
    shell: ("shell", "command"),
    prefix: "ironcurtain__",
    options: &[],
    is_contained: false,
};

impl Row {
    /// The model has a command run by the agent's own shell.
    pub(crate) fn runs(&self, id: &str, command: &str) -> Reply {
        let (tool, argument) = self.shell;
        let mut input = json!({argument: command});
        if self.agent == "opencode" {
            input["description"] = "a command".into();
        }
        uses(id, tool, input)
    }

    /// The model calls a tool of ours.
    pub(crate) fn calls(&self, id: &str, tool: &str, input: Value) -> Reply {
        uses(id, &format!("{}{tool}", self.prefix), input)
    }
}
