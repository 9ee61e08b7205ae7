//! A place to measure a proxy in: a home, a policy that allows, servers, and the commands to start.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value, json};

/// A temporary place.
#[derive(Debug)]
pub struct Ground {
    directory: tempfile::TempDir,
}

impl Ground {
    /// Makes a place whose policy allows every call of the servers in `servers`, and whose sandbox
    /// holds a small file.
    pub fn new(servers: &Value, annotations: &Value) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir()?;
        let ground = Self { directory };
        for name in ["home", "policy", "sandbox"] {
            std::fs::create_dir(ground.path(name))?;
        }
        let write =
            |name: &str, value: &Value| std::fs::write(ground.path(name), value.to_string());
        write("servers.json", servers)?;
        write("policy/tool-annotations.json", annotations)?;
        ground.allow(&["read-path", "write-path"])?;
        std::fs::write(ground.path("sandbox/file.txt"), "a small file\n")?;
        Ok(ground)
    }

    /// Replaces the policy by one that allows these roles in the sandbox, and nothing else.
    fn allow(&self, roles: &[&str]) -> std::io::Result<()> {
        let rule = json!({
            "name": "allow-in-the-sandbox", "then": "allow", "reason": "the sandbox is free",
            "if": {"paths": {"roles": roles, "within": self.path("sandbox")}},
        });
        let policy = json!({"rules": [rule]});
        std::fs::write(self.path("policy/compiled-policy.json"), policy.to_string())
    }

    /// Returns a path in the place.
    pub fn path(&self, relative: &str) -> PathBuf {
        self.directory.path().join(relative)
    }

    /// Returns the command for `binary` with the place's home.
    pub fn command(&self, binary: &Path) -> Command {
        let mut command = Command::new(binary);
        command.env_clear().env("HOME", self.path("home")).env("PATH", "/usr/bin:/bin");
        command
    }

    /// Returns the command that starts a proxy.
    pub fn proxy(&self, binary: &Path) -> Command {
        let mut command = self.command(binary);
        command.arg("proxy");
        for (flag, name) in
            [("--policy", "policy"), ("--sandbox", "sandbox"), ("--servers", "servers.json")]
        {
            command.arg(flag).arg(self.path(name));
        }
        command
    }
}

/// Annotates tools whose `path` is read; all other arguments mean nothing.
pub fn reading(tools: &[(&str, &[&str])]) -> Vec<Value> {
    let annotation = |(tool, others): &(&str, &[&str])| {
        let mut args = Map::from_iter([("path".to_owned(), json!(["read-path"]))]);
        args.extend(others.iter().map(|other| ((*other).to_owned(), json!(["none"]))));
        json!({"toolName": tool, "args": args})
    };
    tools.iter().map(annotation).collect()
}
