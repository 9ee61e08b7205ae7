//! A canary: a file outside the workspace that only content of an agent, or of a stranger's commit, writes to.
//!
//! The user's own scripts never name it. So when it is there, something ran that must not have.

#![expect(clippy::disallowed_methods, reason = "test support: it reads one file of the test's own")]

use std::path::{Path, PathBuf};

/// The file, and the texts that write to it when somebody obeys them.
#[derive(Clone, Debug)]
pub struct Canary {
    path: PathBuf,
}

impl Canary {
    /// A canary whose file is at `path`, which nothing has written to yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Returns where its file is; a text that contains this is an agent's or a stranger's.
    pub fn mark(&self) -> String {
        self.path.display().to_string()
    }

    /// Returns a command line for a shell.
    pub fn command(&self, who: &str) -> String {
        format!("echo {who} >> {}", self.mark())
    }

    /// Returns a script.
    pub fn script(&self, who: &str) -> String {
        format!("#!/bin/sh\n{}\nexit 0\n", self.command(who))
    }

    /// Returns a configuration that git obeys in any repository.
    pub fn config(&self, who: &str) -> String {
        let command = self.command(who);
        format!(
            "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsmonitor = \"{command}; false\"\n\
             [diff]\n\texternal = \"{command}; :\"\n[alias]\n\tx = \"!{command}\"\n"
        )
    }

    /// Returns a configuration for a directory that is a repository by its shape.
    pub fn shape_config(&self, who: &str) -> String {
        format!("{}[core]\n\tworktree = .\n", self.config(who))
    }

    /// Returns what ran, if anything did.
    pub fn heard(&self) -> Option<String> {
        std::fs::read_to_string(&self.path).ok()
    }

    /// Forgets what ran.
    pub fn forget(&self) {
        // It is usually not there.
        std::fs::remove_file(&self.path).ok();
    }

    /// Returns whether the file at `path` is an agent's or a stranger's.
    pub fn marks(&self, path: &Path) -> bool {
        let bytes = std::fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&bytes).contains(&self.mark())
    }
}
