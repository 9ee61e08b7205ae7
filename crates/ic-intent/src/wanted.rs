//! A call that waits for approval, as far as a message is compared with it.
//!
//! Made of an escalation by whoever has one; nothing of a result of any tool is in it.

use ic_types::Role;

/// What is to be compared.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Wanted {
    /// What the tool is called.
    pub tool: String,
    /// The roles that somebody has to decide about.
    pub escalated: Vec<Role>,
    /// Every role of the call that names a resource, and what it names.
    pub roles: Vec<WantedRole>,
    /// What else is sent, unless it is absent, `null` or `false`.
    pub others: Vec<Other>,
}

/// What the call names in one role.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WantedRole {
    /// The role.
    pub role: Role,
    /// The values as the agent wrote them.
    pub written: Vec<String>,
    /// The values as they were resolved.
    pub named: Vec<Named>,
}

/// A resource as it was resolved.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Named {
    /// An absolute path, without links on its way.
    Path(String),
    /// A URL in canonical form.
    Url(String),
    /// A remote repository: `host/owner/repo`.
    Remote(String),
}

/// An argument that names no resource.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Other {
    /// Its name.
    pub name: String,
    /// Its value, if that is a text.
    pub text: Option<String>,
    /// Whether it is plainly content: what is written, sent or replaced.
    pub is_content: bool,
}

impl Wanted {
    /// Returns the resources, each once.
    pub fn resources(&self) -> Vec<&Named> {
        let mut resources: Vec<&Named> = Vec::new();
        for named in self.roles.iter().flat_map(|it| &it.named) {
            if !resources.contains(&named) {
                resources.push(named);
            }
        }
        resources
    }
}

/// Returns a remote as `host/owner/repo`, if it is one that can be said so.
///
/// A port, a password, a query or any other path than `owner/repo` has no such name.
pub fn remote(text: &str) -> Option<String> {
    let rest = match text.split_once("://") {
        Some(("https" | "http", rest)) => rest.to_owned(),
        Some(("ssh", rest)) => rest.strip_prefix("git@").unwrap_or(rest).to_owned(),
        Some(_) => return None,
        None => match text.strip_prefix("git@") {
            Some(rest) => rest.replacen(':', "/", 1),
            None => text.to_owned(),
        },
    };
    let rest = rest.strip_suffix('/').unwrap_or(&rest);
    let rest = rest.strip_suffix(".git").unwrap_or(rest);
    let parts: Vec<&str> = rest.split('/').collect();
    let [host, owner, repo] = parts.as_slice() else { return None };
    let is_name = |part: &&str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        !part.is_empty() && part.chars().all(is_plain) && !part.starts_with(['.', '-'])
    };
    let is_host = host.contains('.') && !host.ends_with('.');
    if !is_host || ![host, owner, repo].into_iter().all(is_name) {
        return None;
    }
    Some(format!("{}/{owner}/{repo}", host.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_is_its_host_owner_and_repository() {
        for text in [
            "https://github.com/acme/tool",
            "https://github.com/acme/tool.git",
            "ssh://git@GitHub.com/acme/tool",
            "git@github.com:acme/tool.git",
            "github.com/acme/tool",
        ] {
            assert_eq!(remote(text).as_deref(), Some("github.com/acme/tool"), "{text}");
        }
        for text in [
            "origin",
            "acme/tool",
            "https://github.com/acme",
            "https://github.com/acme/tool/tree/main",
            "https://github.com:8443/acme/tool",
            "https://user:pw@github.com/acme/tool",
            "https://github.com/acme/tool?x",
            "file:///srv/tool",
            "/srv/acme/tool",
            "github.com/../tool",
        ] {
            assert_eq!(remote(text), None, "{text}");
        }
    }
}
