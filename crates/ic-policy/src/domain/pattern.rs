//! One pattern of hosts: how it is written, and which ports and schemes it means.
//!
//! Whether its host is the one that a call leads to is the set's to find out, which looks hosts up by name.

use std::fmt;

use ic_types::Host;

use super::destination::{Destination, Scheme, split_port};

/// One pattern of `domains.allowed`, of a list, or of a server's `allowedDomains`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DomainPattern {
    pub(super) host: HostPattern,
    pub(super) constraint: Constraint,
    pub(super) repository: Option<String>,
}

/// The hosts that a pattern is about.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum HostPattern {
    /// `*`: any DNS name that can be public.
    AnyPublic,
    /// `*.x`: the name and everything under it.
    Under(String),
    /// A host.
    Exact(Host),
}

/// What a pattern says beyond the host.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Constraint {
    pub(super) scheme: Option<Scheme>,
    pub(super) port: Option<u16>,
}

/// Text that is no pattern.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{}` is not a valid domain pattern: {reason}", .text.escape_debug())]
pub struct InvalidPattern {
    text: String,
    reason: &'static str,
}

impl DomainPattern {
    /// Reads a pattern: `*`, `*.x`, `host`, `host:port`, `scheme://host`, `host/owner/repo`.
    pub fn parse(text: &str) -> Result<Self, InvalidPattern> {
        let invalid = |reason| InvalidPattern { text: text.to_owned(), reason };
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme, rest)) => {
                let scheme = Scheme::parse(&scheme.to_ascii_lowercase())
                    .ok_or_else(|| invalid("the scheme must be `https`, `http` or `ssh`"))?;
                (Some(scheme), rest)
            }
            None => (None, text),
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        // As in a remote: one `.git` is left off, so a repository called `x.git` can be named.
        let path = path.trim_matches('/');
        let repository = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
        let (host, port) = split_port(authority)
            .ok_or_else(|| invalid("the port must be a number up to 65535"))?;
        let host = match host.strip_prefix('*') {
            Some("") => HostPattern::AnyPublic,
            Some(rest) => match rest.strip_prefix('.').map(str::parse::<Host>) {
                Some(Ok(Host::Name(name))) => HostPattern::Under(name.as_str().to_owned()),
                _ => return Err(invalid("`*` is used alone, or before `.` and a name")),
            },
            None => HostPattern::Exact(
                host.parse().map_err(|_| invalid("it has no host name or address"))?,
            ),
        };
        if host == HostPattern::AnyPublic && !repository.is_empty() {
            return Err(invalid("`*` takes no repository"));
        }
        // SECURITY: without this, `host/.git` would mean every repository of the host.
        if repository.is_empty() && !path.is_empty() {
            return Err(invalid("it names no repository"));
        }
        Ok(Self {
            host,
            constraint: Constraint { scheme, port },
            repository: (!repository.is_empty()).then(|| repository.to_owned()),
        })
    }

    /// Makes the pattern that one host at one port fits, and nothing else.
    pub fn exactly(scheme: Option<Scheme>, host: Host, port: u16) -> Self {
        let constraint = Constraint { scheme, port: Some(port) };
        Self { host: HostPattern::Exact(host), constraint, repository: None }
    }

    /// Returns the way to speak that the pattern asks for.
    pub fn scheme(&self) -> Option<Scheme> {
        self.constraint.scheme
    }

    /// Returns the hosts that the pattern is about.
    pub fn host(&self) -> &HostPattern {
        &self.host
    }

    /// Returns the port that the pattern writes.
    pub fn port(&self) -> Option<u16> {
        self.constraint.port
    }

    /// Returns the repository that the pattern is limited to.
    pub fn repository(&self) -> Option<&str> {
        self.repository.as_deref()
    }

    /// Returns whether the pattern holds for one repository only, so for nothing but git remotes.
    pub fn names_repository(&self) -> bool {
        self.repository.is_some()
    }
}

/// Prints the pattern as it would be written.
impl fmt::Display for DomainPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(scheme) = self.constraint.scheme {
            write!(f, "{}://", scheme.as_str())?;
        }
        match &self.host {
            HostPattern::AnyPublic => f.write_str("*")?,
            HostPattern::Under(name) => write!(f, "*.{name}")?,
            HostPattern::Exact(host) => write!(f, "{host}")?,
        }
        if let Some(port) = self.constraint.port {
            write!(f, ":{port}")?;
        }
        match &self.repository {
            Some(repository) => write!(f, "/{repository}"),
            None => Ok(()),
        }
    }
}

impl Constraint {
    /// Returns whether a connection to `port` may be meant, of which no scheme is known.
    pub(super) fn admits(&self, port: u16) -> bool {
        match (self.port, self.scheme) {
            (Some(wanted), _) => port == wanted,
            (None, Some(scheme)) => port == scheme.port(),
            (None, None) => matches!(port, 80 | 443),
        }
    }

    /// Returns whether `destination` may be meant, as far as scheme and port go.
    pub(super) fn holds(&self, destination: &Destination) -> bool {
        if self.scheme.is_some() && self.scheme != destination.scheme {
            return false;
        }
        let default = destination.scheme.map(Scheme::port);
        match (self.port, destination.port) {
            (Some(wanted), port) => port.or(default) == Some(wanted),
            (None, None) => true,
            // Without a scheme, both web ports are what a bare host means.
            (None, Some(port)) => match default {
                Some(default) => port == default,
                None => matches!(port, 80 | 443),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_is_no_pattern() {
        for bad in [
            "",
            "*example.com",
            "a.*.com",
            "*.*",
            "ftp://x.com",
            "x.com:0x50",
            "x.com:99999",
            "a b",
            "*/a/b",
            "exa\0mple.com",
            "*.1.2.3.4",
            "x.com:",
        ] {
            assert!(DomainPattern::parse(bad).is_err(), "accepted {bad:?}");
        }
    }
}
