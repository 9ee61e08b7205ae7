//! Names of files that the host runs later, or takes orders from: hooks, editor tasks, CI, profiles.
//!
//! Writing one is not denied, since people ask agents to do just that; but a person decides.
//! Whether a file exists, or is a link, is found out by `ic-resolve`.

use ic_types::CanonicalPath;

use crate::bounds::{Bounds, Reach, SandboxKind};

/// A name that counts at any depth of a workspace.
#[derive(Clone, Copy, Debug)]
pub struct WorkspaceName {
    /// The components, from the directory that holds the first.
    pub components: &'static [&'static str],
    /// How far the name reaches.
    pub reach: Reach,
}

const fn itself(components: &'static [&'static str]) -> WorkspaceName {
    WorkspaceName { components, reach: Reach::Itself }
}

const fn beneath(components: &'static [&'static str]) -> WorkspaceName {
    WorkspaceName { components, reach: Reach::Beneath }
}

/// What counts in a workspace, at any depth.
pub const WORKSPACE_NAMES: [WorkspaceName; 31] = [
    itself(&[".git"]),
    itself(&[".git", "config"]),
    beneath(&[".git", "hooks"]),
    beneath(&[".git", "info"]),
    beneath(&[".git", "modules"]),
    beneath(&[".git", "worktrees"]),
    itself(&[".gitmodules"]),
    itself(&[".gitattributes"]),
    itself(&[".envrc"]),
    beneath(&[".vscode"]),
    beneath(&[".idea"]),
    beneath(&[".devcontainer"]),
    itself(&[".github"]),
    beneath(&[".github", "workflows"]),
    itself(&[".gitlab-ci.yml"]),
    beneath(&[".circleci"]),
    beneath(&[".husky"]),
    itself(&[".pre-commit-config.yaml"]),
    beneath(&[".claude"]),
    beneath(&[".cursor"]),
    beneath(&[".codex"]),
    beneath(&[".opencode"]),
    beneath(&[".gemini"]),
    itself(&[".mcp.json"]),
    itself(&[".cargo"]),
    itself(&[".cargo", "config.toml"]),
    // Cargo reads the name without an ending too, and prefers it.
    itself(&[".cargo", "config"]),
    itself(&[".npmrc"]),
    itself(&["mise.toml"]),
    itself(&[".mise.toml"]),
    itself(&[".tool-versions"]),
];

/// What counts in the home directory, wherever the sandbox is.
pub const HOME_NAMES: [(&str, Reach); 9] = [
    (".bashrc", Reach::Itself),
    (".profile", Reach::Itself),
    (".zshrc", Reach::Itself),
    (".config", Reach::Itself),
    (".config/autostart", Reach::Beneath),
    (".config/systemd", Reach::Beneath),
    (".config/fish", Reach::Beneath),
    (".local", Reach::Itself),
    (".local/bin", Reach::Beneath),
];

impl Bounds {
    /// Returns whether the host would later run what is at `path`, or be led by it.
    pub(crate) fn host_executes(&self, path: &CanonicalPath) -> bool {
        let at_home = self.home_executes.iter().any(|listed| match listed.reach {
            Reach::Itself => *path == listed.path,
            Reach::Beneath => path.is_within(&listed.path),
        });
        at_home || self.in_workspace(path).is_some_and(|depth| counts_in_workspace(path, depth))
    }

    /// Returns how many components of `path` lead to the workspace, if it lies in one.
    fn in_workspace(&self, path: &CanonicalPath) -> Option<usize> {
        let sandbox = self.sandbox.as_ref()?;
        let is_inside = sandbox.kind == SandboxKind::Workspace && path.is_within(&sandbox.path);
        is_inside.then(|| sandbox.path.components().count())
    }
}

fn counts_in_workspace(path: &CanonicalPath, depth: usize) -> bool {
    let components: Vec<_> = path.components().skip(depth).collect();
    (0..components.len()).any(|start| {
        let below = components.get(start..).unwrap_or_default();
        WORKSPACE_NAMES.iter().any(|name| {
            let n = name.components.len();
            let is_prefix = below
                .get(..n)
                .is_some_and(|head| head.iter().zip(name.components).all(|(a, b)| a == b));
            is_prefix && (name.reach == Reach::Beneath || below.len() == n)
        })
    })
}
