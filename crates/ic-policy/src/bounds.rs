//! What surrounds a decision besides the policy: the sandbox, protected paths, the servers.
//!
//! All paths here are canonical already; who finds them on the disk is `ic-resolve`.

use std::collections::HashMap;

use ic_types::{CanonicalPath, Role, ServerName};

use crate::domain::DomainSet;

/// The surroundings of a session's decisions.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// The directory in which the agent is free, if there is one.
    pub sandbox: Option<Sandbox>,
    /// Paths that no rule can open, each as the entry and as what it leads to.
    pub protected: Vec<CanonicalPath>,
    /// What the host runs later from the home directory, each as the entry and as what it leads to.
    pub home_executes: Vec<HomeExecutes>,
    /// The configured servers.
    pub servers: HashMap<ServerName, ServerTraits>,
}

/// A directory in which a session's agent is free.
#[derive(Clone, Debug)]
pub struct Sandbox {
    /// The directory.
    pub path: CanonicalPath,
    /// Whose it is.
    pub kind: SandboxKind,
}

/// Whose directory a sandbox is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SandboxKind {
    /// Made for the session; nothing in it is run by the host.
    Session,
    /// Made for the session and filled with a repository, which the user will work with.
    Filled,
    /// The user's own; what is written there may be run by the user's programs.
    Workspace,
}

impl SandboxKind {
    const ALL: [Self; 3] = [Self::Session, Self::Filled, Self::Workspace];

    /// Returns the word for it in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Filled => "filled",
            Self::Workspace => "workspace",
        }
    }

    /// Returns the kind that a record names.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }

    /// Returns whether the user's programs may run what is written there.
    pub fn is_used_by_host(self) -> bool {
        match self {
            Self::Session => false,
            Self::Filled | Self::Workspace => true,
        }
    }
}

/// A path in the home directory that some program of the host runs or reads its orders from.
#[derive(Clone, Debug)]
pub struct HomeExecutes {
    /// The path.
    pub path: CanonicalPath,
    /// How far it reaches.
    pub reach: Reach,
}

/// How far a listed path reaches.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reach {
    /// The path itself.
    Itself,
    /// The path and everything beneath it.
    Beneath,
}

/// What the decision needs to know of a server.
#[derive(Clone, Debug)]
pub struct ServerTraits {
    /// Whether the server is held inside the sandbox, so that being there settles a path.
    pub containment: Containment,
    /// Whether places beneath what a call names are looked after by the server itself: it says by itself which
    /// files in a repository a call is about, so that these are judged, or its cage keeps to the rules there.
    pub names_files: bool,
    /// The hosts that the server may be asked to reach; every list must hold.
    pub allowed_domains: Vec<DomainSet>,
}

/// How a server is held.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Containment {
    /// Not at all, as far as the decision is concerned.
    Loose,
    /// Inside the sandbox.
    Contained,
    /// Inside the sandbox, and it is the filesystem server, whose paths stand each by itself.
    ContainedFilesystem,
}

/// What no agent may touch in the home directory, whatever the policy says.
///
/// Our own default home is among them: it may hold keys and policies although another one is in use.
pub const PROTECTED_HOME_NAMES: [&str; 41] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".cargo/credentials.toml",
    ".config/gh",
    ".config/gcloud",
    ".config/op",
    ".claude",
    ".claude.json",
    ".codex",
    ".local/share/keyrings",
    ".local/share/opencode",
    ".password-store",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    ".bash_history",
    ".zsh_history",
    ".ironcurtain",
    ".cargo/credentials",
    ".config/git/credentials",
    ".pgpass",
    ".vault-token",
    ".gem/credentials",
    ".config/rclone",
    ".config/hub",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".thunderbird",
    ".local/share/fish/fish_history",
    ".python_history",
    ".gemini",
    ".cursor/mcp.json",
    ".config/goose",
];

impl Bounds {
    /// Returns how `server` is held; an unknown one is not.
    pub fn containment(&self, server: &ServerName) -> Containment {
        self.servers.get(server).map_or(Containment::Loose, |traits| traits.containment)
    }

    /// Returns whether `path`, as a value of `role`, lies in the sandbox.
    ///
    /// A role that is about the entry itself is not in a workspace that it names: that entry lies
    /// in the directory above, and is the user's.
    pub fn in_sandbox(&self, role: Role, path: &CanonicalPath) -> bool {
        self.sandbox.as_ref().is_some_and(|sandbox| {
            let is_outside = match sandbox.kind {
                SandboxKind::Workspace => role.is_entry() && *path == sandbox.path,
                SandboxKind::Session | SandboxKind::Filled => false,
            };
            path.is_within(&sandbox.path) && !is_outside
        })
    }

    /// Returns the protected path at or above `path`.
    ///
    /// The session's own sandbox is exempt from a protected path that contains it, though not from
    /// one that it is itself; a workspace exempts nothing.
    pub fn protects(&self, path: &CanonicalPath) -> Option<&CanonicalPath> {
        self.protected
            .iter()
            .find(|protected| path.is_within(protected) && !self.is_exempt(path, protected))
    }

    /// Returns a protected path at or beneath `path`, which removing it would remove.
    pub(crate) fn protected_beneath(&self, path: &CanonicalPath) -> Option<&CanonicalPath> {
        self.protected.iter().find(|protected| protected.is_within(path))
    }

    fn is_exempt(&self, path: &CanonicalPath, protected: &CanonicalPath) -> bool {
        match &self.sandbox {
            Some(Sandbox { path: sandbox, kind: SandboxKind::Session | SandboxKind::Filled }) => {
                path.is_within(sandbox) && sandbox.is_within(protected) && sandbox != protected
            }
            Some(Sandbox { kind: SandboxKind::Workspace, .. }) | None => false,
        }
    }
}
