//! Roles: what an argument of a tool means to the policy. One registry holds them all.
//!
//! Resolving the values of a role on this machine is the work of another crate; only the
//! canonical form of an identifier, which needs no machine, is here.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What an argument's values mean.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(try_from = "String", into = "String")]
pub enum Role {
    /// A file or directory that is read.
    ReadPath,
    /// A file or directory that is created or changed.
    WritePath,
    /// A file or directory that is removed.
    DeletePath,
    /// A repository whose history grows.
    WriteHistory,
    /// A repository whose history shrinks.
    DeleteHistory,
    /// A URL that is fetched.
    FetchUrl,
    /// A git remote, by URL or by name.
    GitRemoteUrl,
    /// The owner of a GitHub repository.
    GithubOwner,
    /// The name of a GitHub repository.
    GithubRepo,
    /// A host that a proxy connects to.
    ProxyDomain,
    /// A branch or another ref.
    BranchName,
    /// A commit message.
    CommitMessage,
    /// The address of a person.
    EmailAddress,
    /// The text of a message.
    EmailBody,
    /// Rights given to somebody.
    SharePermission,
    /// Nothing that the policy looks at.
    None,
}

/// How the values of a role are resolved.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Category {
    /// A path on this machine.
    Path,
    /// A URL or a remote.
    Url,
    /// A name that is compared in lower case.
    Identifier,
    /// Text that is only passed on.
    Opaque,
}

/// One row of the registry.
struct Entry {
    role: Role,
    name: &'static str,
    category: Category,
}

/// Text that names no role.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{}` is not a role: expected one of {}", .0.escape_debug(), all_names())]
pub struct UnknownRole(String);

const REGISTRY: [Entry; 16] = [
    Entry { role: Role::ReadPath, name: "read-path", category: Category::Path },
    Entry { role: Role::WritePath, name: "write-path", category: Category::Path },
    Entry { role: Role::DeletePath, name: "delete-path", category: Category::Path },
    Entry { role: Role::WriteHistory, name: "write-history", category: Category::Path },
    Entry { role: Role::DeleteHistory, name: "delete-history", category: Category::Path },
    Entry { role: Role::FetchUrl, name: "fetch-url", category: Category::Url },
    Entry { role: Role::GitRemoteUrl, name: "git-remote-url", category: Category::Url },
    Entry { role: Role::GithubOwner, name: "github-owner", category: Category::Identifier },
    Entry { role: Role::GithubRepo, name: "github-repo", category: Category::Identifier },
    Entry { role: Role::ProxyDomain, name: "proxy-domain", category: Category::Identifier },
    Entry { role: Role::BranchName, name: "branch-name", category: Category::Opaque },
    Entry { role: Role::CommitMessage, name: "commit-message", category: Category::Opaque },
    Entry { role: Role::EmailAddress, name: "email-address", category: Category::Opaque },
    Entry { role: Role::EmailBody, name: "email-body", category: Category::Opaque },
    Entry { role: Role::SharePermission, name: "share-permission", category: Category::Opaque },
    Entry { role: Role::None, name: "none", category: Category::Opaque },
];

impl Role {
    /// Returns every role, in the registry's order.
    pub fn all() -> impl Iterator<Item = Self> {
        REGISTRY.iter().map(|entry| entry.role)
    }

    /// Returns the name used in policy files.
    pub fn as_str(self) -> &'static str {
        self.entry().name
    }

    /// Returns how the role's values are resolved.
    pub fn category(self) -> Category {
        self.entry().category
    }

    /// Returns whether the role names a resource, that is, whether a rule has to judge it.
    pub fn is_resource(self) -> bool {
        match self.category() {
            Category::Path | Category::Url | Category::Identifier => true,
            Category::Opaque => false,
        }
    }

    /// Returns whether a path of this role is judged as the entry itself, its last link unfollowed.
    pub fn is_entry(self) -> bool {
        self == Self::DeletePath
    }

    /// Returns whether a path of this role is changed or removed.
    pub fn changes_path(self) -> bool {
        match self {
            Self::WritePath | Self::DeletePath | Self::WriteHistory | Self::DeleteHistory => true,
            Self::ReadPath
            | Self::FetchUrl
            | Self::GitRemoteUrl
            | Self::GithubOwner
            | Self::GithubRepo
            | Self::ProxyDomain
            | Self::BranchName
            | Self::CommitMessage
            | Self::EmailAddress
            | Self::EmailBody
            | Self::SharePermission
            | Self::None => false,
        }
    }

    /// Returns the form in which two texts of this role are compared.
    ///
    /// Only ASCII letters are lowered: a server that is asked for `K` (the Kelvin sign) must not
    /// have been judged as `k`.
    pub fn canonical_text(self, text: &str) -> String {
        match self.category() {
            Category::Identifier => text.to_ascii_lowercase(),
            Category::Path | Category::Url | Category::Opaque => text.to_owned(),
        }
    }

    fn entry(self) -> &'static Entry {
        // INVARIANT: the registry is in the order of the enum; a test compares them.
        #[expect(clippy::indexing_slicing, reason = "one row per variant, checked by a test")]
        &REGISTRY[self as usize]
    }
}

fn all_names() -> String {
    REGISTRY.iter().map(|entry| format!("`{}`", entry.name)).collect::<Vec<_>>().join(", ")
}

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(raw: &str) -> Result<Self, Self::Err> {
        REGISTRY
            .iter()
            .find(|entry| entry.name == raw)
            .map(|entry| entry.role)
            .ok_or_else(|| UnknownRole(raw.to_owned()))
    }
}

impl TryFrom<String> for Role {
    type Error = UnknownRole;

    fn try_from(raw: String) -> Result<Self, Self::Error> {
        raw.parse()
    }
}

impl From<Role> for String {
    fn from(role: Role) -> Self {
        role.as_str().to_owned()
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registry_is_in_the_order_of_the_enum() {
        for (index, entry) in REGISTRY.iter().enumerate() {
            assert_eq!(entry.role as usize, index, "{}", entry.name);
            assert_eq!(entry.name.parse(), Ok(entry.role));
        }
        assert_eq!(Role::None as usize, REGISTRY.len() - 1);
    }

    #[test]
    fn unknown_roles_are_refused_with_the_known_ones() {
        let error = "read-paths".parse::<Role>().unwrap_err().to_string();
        assert!(error.contains("`read-path`") && error.contains("`none`"), "{error}");
    }

    #[test]
    fn only_ascii_is_lowered() {
        assert_eq!(Role::GithubOwner.canonical_text("Acme\u{212a}"), "acme\u{212a}");
        assert_eq!(Role::CommitMessage.canonical_text("Fix"), "Fix");
    }
}
