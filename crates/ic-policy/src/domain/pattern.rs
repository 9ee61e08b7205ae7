//! One pattern of hosts: how it is written, and which ports and schemes it means.
//!
//! Whether its host is the one that a call leads to is the set's to find out, which looks hosts up by name.

use std::fmt;

use ic_types::Host;

use super::destination::{Destination, Scheme, split_port};
use crate::effect::Effect;

/// One pattern of `domains.allowed`, of a list, or of a server's `allowedDomains`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DomainPattern {
    pub(super) host: HostPattern,
    pub(super) constraint: Constraint,
    pub(super) repository: Option<String>,
    pub(super) reading: Reading,
}

/// For how much a pattern is taken.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Reading {
    /// For what it says; but a rule that restricts takes it for more.
    AsWritten,
    /// For what it says, whoever reads it: `=host`.
    Exactly,
    /// For as much as it can mean: without scheme and port for every port, and for a repository in any case of
    /// its letters, as most hosts do not mind that.
    Widely,
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
    /// Whether every port is meant: `host:*`, or a bare host that is taken widely.
    pub(super) is_any_port: bool,
}

/// Text that is no pattern.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{}` is not a valid domain pattern: {reason}", .text.escape_debug())]
pub struct InvalidPattern {
    text: String,
    reason: &'static str,
}

impl DomainPattern {
    /// Reads a pattern: `*`, `*.x`, `host`, `host:port`, `host:*`, `scheme://host`, `host/owner/repo`, and
    /// each of them behind a `=`.
    pub fn parse(text: &str) -> Result<Self, InvalidPattern> {
        let invalid = |reason| InvalidPattern { text: text.to_owned(), reason };
        let (reading, written) = match text.strip_prefix('=') {
            Some(rest) => (Reading::Exactly, rest),
            None => (Reading::AsWritten, text),
        };
        let (scheme, rest) = match written.split_once("://") {
            Some((scheme, rest)) => {
                let scheme = Scheme::parse(&scheme.to_ascii_lowercase())
                    .ok_or_else(|| invalid("the scheme must be `https`, `http` or `ssh`"))?;
                (Some(scheme), rest)
            }
            None => (None, written),
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        // As in a remote: one `.git` is left off, so a repository called `x.git` can be named.
        let path = path.trim_matches('/');
        let repository = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
        let (host, port, is_any_port) = match authority.strip_suffix(":*") {
            Some(host) if scheme.is_none() => (host, None, true),
            Some(_) => {
                return Err(invalid("a scheme has one port, so `:*` cannot stand behind it"));
            }
            None => split_port(authority)
                .map(|(host, port)| (host, port, false))
                .ok_or_else(|| invalid("the port must be a number up to 65535, or `*`"))?,
        };
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
            constraint: Constraint { scheme, port, is_any_port },
            repository: (!repository.is_empty()).then(|| repository.to_owned()),
            reading,
        })
    }

    /// Makes the pattern that one host at one port fits, and nothing else.
    pub fn exactly(scheme: Option<Scheme>, host: Host, port: u16) -> Self {
        let constraint = Constraint { scheme, port: Some(port), is_any_port: false };
        let (host, reading) = (HostPattern::Exact(host), Reading::AsWritten);
        Self { host, constraint, repository: None, reading }
    }

    /// Returns the pattern as a rule that restricts reads it: for as much as it can mean.
    ///
    /// Who forbids a host means every door of it. What is written behind a `=` stays what it is.
    #[must_use]
    fn widely(&self) -> Self {
        let Constraint { scheme, port, is_any_port: is_any } = self.constraint;
        let is_any_port = scheme.is_none() && port.is_none();
        let means_more = is_any_port && !is_any || self.repository.is_some();
        if self.reading == Reading::Exactly || !means_more {
            return self.clone();
        }
        let constraint = Constraint { scheme, port, is_any_port };
        let host = match &self.host {
            HostPattern::Exact(host) => HostPattern::Exact(host.unmapped()),
            HostPattern::AnyPublic | HostPattern::Under(_) => self.host.clone(),
        };
        Self { host, constraint, reading: Reading::Widely, ..self.clone() }
    }

    /// Returns the pattern as a rule with this `effect` reads it.
    #[must_use]
    pub fn read_by(&self, effect: Effect) -> Self {
        match effect {
            Effect::Allow => self.clone(),
            Effect::Escalate | Effect::Deny => self.widely(),
        }
    }

    /// Returns whether the pattern is taken for as much as it can mean.
    pub fn is_wide(&self) -> bool {
        self.reading == Reading::Widely
    }

    /// Returns the pattern as it has to be written in a rule with this `effect` to mean the same there.
    #[must_use]
    pub fn written_for(&self, effect: Effect) -> Self {
        match (self.reading, effect) {
            // An allowing rule says so itself; a repository it does not take widely.
            (Reading::Widely, Effect::Allow) => {
                Self { reading: Reading::AsWritten, ..self.clone() }
            }
            (Reading::AsWritten, Effect::Escalate | Effect::Deny) if self.widely() != *self => {
                Self { reading: Reading::Exactly, ..self.clone() }
            }
            (Reading::AsWritten | Reading::Exactly | Reading::Widely, _) => self.clone(),
        }
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
        if self.reading == Reading::Exactly {
            f.write_str("=")?;
        }
        if let Some(scheme) = self.constraint.scheme {
            write!(f, "{}://", scheme.as_str())?;
        }
        match &self.host {
            HostPattern::AnyPublic => f.write_str("*")?,
            HostPattern::Under(name) => write!(f, "*.{name}")?,
            HostPattern::Exact(host) => write!(f, "{host}")?,
        }
        match self.constraint.port {
            Some(port) => write!(f, ":{port}")?,
            None if self.constraint.is_any_port && !self.is_wide() => f.write_str(":*")?,
            None => {}
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
        if self.is_any_port {
            return true;
        }
        match (self.port, self.scheme) {
            (Some(wanted), _) => port == wanted,
            (None, Some(scheme)) => port == scheme.port(),
            (None, None) => matches!(port, 80 | 443),
        }
    }

    /// Returns whether `destination` may be meant, as far as scheme and port go.
    pub(super) fn holds(&self, destination: &Destination) -> bool {
        if self.is_any_port {
            return true;
        }
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
            "x.com:**",
            "https://x.com:*",
            ":*",
            "=",
            "==x.com",
            "https://=x.com",
        ] {
            assert!(DomainPattern::parse(bad).is_err(), "accepted {bad:?}");
        }
    }
}
