//! The home directory: where each of our files is.
//!
//! Names only: nothing here looks at a disk. Making the directory fit for use is in `prepare.rs`.

use std::path::PathBuf;

use ic_types::{AbsolutePath, SessionId};

pub use crate::prepare::{HomeError, Look};

/// The home directory, usually `~/.ironcurtain`; it need not exist.
#[derive(Clone, Debug)]
pub struct Home {
    root: AbsolutePath,
}

impl Home {
    /// Names the home at `root`; nothing is looked at or made.
    pub fn new(root: AbsolutePath) -> Self {
        Self { root }
    }

    /// Returns the directory itself.
    pub fn root(&self) -> PathBuf {
        self.root.as_path().to_owned()
    }

    /// Returns the configuration file.
    pub fn config(&self) -> PathBuf {
        self.at("config.json")
    }

    /// Returns the lock that is held while the configuration is changed.
    pub fn config_lock(&self) -> PathBuf {
        self.at("config.lock")
    }

    /// Returns the file that names the MCP servers.
    pub fn servers(&self) -> PathBuf {
        self.at("mcp-servers.json")
    }

    /// Returns the file of the servers' trusted identities.
    pub fn servers_lock(&self) -> PathBuf {
        self.at("servers.lock.json")
    }

    /// Returns the lock that is held while the trusted identities are changed.
    pub fn servers_lock_lock(&self) -> PathBuf {
        self.at("servers.lock")
    }

    /// Returns where the directories of policies led when the user confirmed them.
    pub fn roots(&self) -> PathBuf {
        self.at("roots.json")
    }

    /// Returns the list of directories in which agents could write.
    pub fn grounds(&self) -> PathBuf {
        self.at("grounds.json")
    }

    /// Returns the lock that is held while that is changed.
    pub fn grounds_lock(&self) -> PathBuf {
        self.at("grounds.lock")
    }

    /// Returns where the user said once and for all in which directories the agent works.
    pub fn workspaces(&self) -> PathBuf {
        self.at("workspaces.json")
    }

    /// Returns the lock that is held while that is changed.
    pub fn workspaces_lock(&self) -> PathBuf {
        self.at("workspaces.lock")
    }

    /// Returns the file that says that a new user was greeted.
    pub fn greeted(&self) -> PathBuf {
        self.at("greeted")
    }

    /// Returns the file of messages that were typed before.
    pub fn history(&self) -> PathBuf {
        self.at("history")
    }

    /// Returns the user's constitution.
    pub fn constitution(&self) -> PathBuf {
        self.at("constitution.md")
    }

    /// Returns the directory of the compiled policy.
    pub fn generated(&self) -> PathBuf {
        self.at("generated")
    }

    /// Returns the directory in which each policy of the user's own has a directory.
    pub fn policies(&self) -> PathBuf {
        self.at("policies")
    }

    /// Returns the lock that is held while a policy of the user's own is changed.
    pub fn policies_lock(&self) -> PathBuf {
        self.at("policies.lock")
    }

    /// Returns the file in which each change of a policy is noted.
    pub fn policy_changes(&self) -> PathBuf {
        self.logs().join("policy-changes.jsonl")
    }

    /// Returns the directory of our own keys.
    pub fn keys(&self) -> PathBuf {
        self.at("keys")
    }

    /// Returns the key that audit logs start from.
    pub fn audit_key(&self) -> PathBuf {
        self.keys().join("audit.key")
    }

    /// Returns the directory of the copies of the heads of audit logs.
    pub fn audit_heads(&self) -> PathBuf {
        self.keys().join("heads")
    }

    /// Returns the directory of the certificate authority of the model gate.
    pub fn ca(&self) -> PathBuf {
        self.at("ca")
    }

    /// Returns the certificate that agents behind the model gate have to trust.
    pub fn ca_certificate(&self) -> PathBuf {
        self.ca().join("ca-cert.pem")
    }

    /// Returns the key of that certificate.
    pub fn ca_key(&self) -> PathBuf {
        self.ca().join("ca-key.pem")
    }

    /// Returns the lock that is held while the certificate authority is made.
    pub fn ca_lock(&self) -> PathBuf {
        self.ca().join("ca.lock")
    }

    /// Returns the directory in which each server that we installed has one of its own.
    pub fn installed_servers(&self) -> PathBuf {
        self.at("servers")
    }

    /// Returns the directory in which each agent of others that we installed has one of its own.
    pub fn installed_agents(&self) -> PathBuf {
        self.at("agents")
    }

    /// Returns the lock of a place among the sessions of agents that may run at the same time.
    pub fn agent_place(&self, number: u64) -> PathBuf {
        self.locks().join(format!("agent-{number}.lock"))
    }

    /// Returns the directory of Python packages that were installed before, by their hash.
    pub fn wheels(&self) -> PathBuf {
        self.at("wheels")
    }

    /// Returns the directory of all sessions.
    pub fn sessions(&self) -> PathBuf {
        self.at("sessions")
    }

    /// Returns the directory of one session.
    pub fn session(&self, id: &SessionId) -> PathBuf {
        self.sessions().join(id.as_str())
    }

    /// Returns the directory of a session's questions and their answers.
    pub fn escalations(&self, id: &SessionId) -> PathBuf {
        self.session(id).join("escalations")
    }

    /// Returns the file of a session's grants.
    pub fn grants(&self, id: &SessionId) -> PathBuf {
        self.session(id).join("grants.json")
    }

    /// Returns the socket at which terminals come to the interface of a session's agent.
    pub fn interface(&self, id: &SessionId) -> PathBuf {
        self.session(id).join("interface.sock")
    }

    /// Returns the file with what the person who runs a session said last.
    pub fn user_context(&self, id: &SessionId) -> PathBuf {
        self.session(id).join("user-context.json")
    }

    /// Returns the directory in which running sessions are listed.
    pub fn registry(&self) -> PathBuf {
        self.at("registry")
    }

    /// Returns the lock that is held while the list of running sessions is changed.
    pub fn registry_lock(&self) -> PathBuf {
        self.registry().join("registry.lock")
    }

    /// Returns the file that holds the number of the last question that was asked.
    pub fn question_number(&self) -> PathBuf {
        self.registry().join("questions.number")
    }

    /// Returns the lock that is held while a question gets its number.
    pub fn question_number_lock(&self) -> PathBuf {
        self.registry().join("questions.lock")
    }

    /// Returns the entry of a running session.
    pub fn session_entry(&self, id: &SessionId) -> PathBuf {
        self.registry().join(format!("session-{id}.json"))
    }

    /// Returns the lock of the listener, of which there is one at a time; it says which process that is.
    pub fn listener_lock(&self) -> PathBuf {
        self.at("escalation-listener.lock")
    }

    /// Returns the lock that says that somebody at process `pid` answers questions.
    pub fn desk_lock(&self, pid: u32) -> PathBuf {
        self.registry().join(format!("desk-{pid}.lock"))
    }

    /// Returns the directory of the locks by which sessions wait for each other's calls.
    pub fn locks(&self) -> PathBuf {
        self.at("locks")
    }

    /// Returns the directory of the answers that the compiler has paid for.
    pub fn compiler_answers(&self) -> PathBuf {
        self.at("compiler")
    }

    /// Returns the directory of our own logs.
    pub fn logs(&self) -> PathBuf {
        self.at("logs")
    }

    /// Returns the directory of the audit logs of sessions that were cleaned up.
    pub fn audit(&self) -> PathBuf {
        self.at("audit")
    }

    /// Returns the directory in which the policy of each session is kept, by its hash.
    pub fn recorded_policies(&self) -> PathBuf {
        self.audit().join("policies")
    }

    /// Returns the index of sessions.
    pub fn index(&self) -> PathBuf {
        self.sessions().join("index.json")
    }

    /// Returns the lock that is held while sessions are named, removed or listed anew.
    pub fn index_lock(&self) -> PathBuf {
        self.sessions().join("index.lock")
    }

    /// Returns the lock that whoever runs a session holds.
    pub fn session_lock(&self, id: &SessionId) -> PathBuf {
        self.session(id).join("session.lock")
    }

    /// Returns the file that names the last session.
    pub fn last_session(&self) -> PathBuf {
        self.sessions().join("last_session")
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.as_path().join(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_has_its_place() {
        let home = Home::new(AbsolutePath::new("/h o/.ironcurtain").unwrap());
        let session = "2026-11-15-00-00-00-123-aaaa".parse().unwrap();
        for (path, expected) in [
            (home.root(), ""),
            (home.config(), "config.json"),
            (home.config_lock(), "config.lock"),
            (home.servers(), "mcp-servers.json"),
            (home.servers_lock(), "servers.lock.json"),
            (home.servers_lock_lock(), "servers.lock"),
            (home.wheels(), "wheels"),
            (home.greeted(), "greeted"),
            (home.constitution(), "constitution.md"),
            (home.generated(), "generated"),
            (home.policies(), "policies"),
            (home.policies_lock(), "policies.lock"),
            (home.policy_changes(), "logs/policy-changes.jsonl"),
            (home.keys(), "keys"),
            (home.audit_key(), "keys/audit.key"),
            (home.audit_heads(), "keys/heads"),
            (home.ca(), "ca"),
            (home.ca_certificate(), "ca/ca-cert.pem"),
            (home.ca_key(), "ca/ca-key.pem"),
            (home.ca_lock(), "ca/ca.lock"),
            (home.sessions(), "sessions"),
            (home.session(&session), "sessions/2026-11-15-00-00-00-123-aaaa"),
            (home.escalations(&session), "sessions/2026-11-15-00-00-00-123-aaaa/escalations"),
            (home.grants(&session), "sessions/2026-11-15-00-00-00-123-aaaa/grants.json"),
            (home.registry(), "registry"),
            (home.locks(), "locks"),
            (home.registry_lock(), "registry/registry.lock"),
            (home.session_entry(&session), "registry/session-2026-11-15-00-00-00-123-aaaa.json"),
            (home.desk_lock(17), "registry/desk-17.lock"),
            (home.logs(), "logs"),
            (home.audit(), "audit"),
            (home.recorded_policies(), "audit/policies"),
            (home.index(), "sessions/index.json"),
            (home.index_lock(), "sessions/index.lock"),
            (home.session_lock(&session), "sessions/2026-11-15-00-00-00-123-aaaa/session.lock"),
            (home.last_session(), "sessions/last_session"),
        ] {
            assert_eq!(path, PathBuf::from("/h o/.ironcurtain").join(expected));
        }
    }
}
