//! Sets of patterns that rules and servers compare the hosts of a call or of a connection with.
//!
//! Compares names by labels, never as strings, and never resolves them. How one pattern is written is in
//! `pattern.rs`, what it is compared with in `destination.rs`.

mod destination;
mod order;
mod pattern;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;

use ic_types::Host;
use ic_types::host::DnsName;

use crate::effect::Effect;
pub use destination::{Destination, Scheme};
use pattern::{Constraint, Reading};
pub use pattern::{DomainPattern, HostPattern, InvalidPattern};

/// A set of patterns, looked up by host.
#[derive(Clone, Debug)]
pub struct DomainSet {
    patterns: Vec<DomainPattern>,
    any_public: Vec<Constraint>,
    exact: HashMap<Host, HostEntry>,
    under: HashMap<String, HostEntry>,
    /// Whether an address counts in each form that leads to it.
    is_wide: bool,
}

/// The patterns for one host, those with a repository apart.
#[derive(Clone, Debug, Default)]
struct HostEntry {
    any_repository: Vec<Constraint>,
    repositories: HashMap<String, Vec<Constraint>>,
    /// Those of which the case of letters does not count, in lower case.
    alike: HashMap<String, Vec<Constraint>>,
}

// === impl DomainSet ===

impl DomainSet {
    /// Makes the set of `patterns`, each taken for what it says; an empty set holds nothing.
    pub fn new(patterns: Vec<DomainPattern>) -> Self {
        let set = Self::holding(&patterns);
        Self { patterns, ..set }
    }

    /// Makes the set of `patterns` for a rule with this `effect`.
    ///
    /// A rule that restricts takes them for as much as they can mean: `host` for each of its ports, `*` for
    /// public addresses too, an address in IPv6 as well, and `host/owner/repo` in any case of its letters. The
    /// patterns themselves stay as they are written.
    pub fn of_rule(effect: Effect, patterns: Vec<DomainPattern>) -> Self {
        let read: Vec<_> = patterns.iter().map(|it| it.read_by(effect)).collect();
        Self { patterns, is_wide: effect != Effect::Allow, ..Self::holding(&read) }
    }

    fn holding(patterns: &[DomainPattern]) -> Self {
        let mut set = Self {
            patterns: Vec::new(),
            any_public: Vec::new(),
            exact: HashMap::new(),
            under: HashMap::new(),
            is_wide: false,
        };
        for pattern in patterns {
            let constraint = pattern.constraint.clone();
            let entry = match &pattern.host {
                HostPattern::AnyPublic => {
                    set.any_public.push(constraint);
                    continue;
                }
                HostPattern::Under(name) => set.under.entry(name.clone()).or_default(),
                HostPattern::Exact(host) => set.exact.entry(host.clone()).or_default(),
            };
            match &pattern.repository {
                Some(repository) if pattern.reading == Reading::Widely => {
                    let lower = repository.to_ascii_lowercase();
                    entry.alike.entry(lower).or_default().push(constraint);
                }
                Some(repository) => {
                    entry.repositories.entry(repository.clone()).or_default().push(constraint);
                }
                None => entry.any_repository.push(constraint),
            }
        }
        set
    }

    /// Reads every text as a pattern.
    pub fn parse<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, InvalidPattern> {
        texts.into_iter().map(DomainPattern::parse).collect::<Result<_, _>>().map(Self::new)
    }

    /// Returns whether a pattern holds for `destination`.
    pub fn contains(&self, destination: &Destination) -> bool {
        // `*` is any public name; at every port it is whatever is not local.
        let is_meant = |constraint: &Constraint| match constraint.is_any_port {
            true => destination.host.can_be_outside(),
            false => constraint.holds(destination) && destination.host.is_public_name(),
        };
        if self.any_public.iter().any(is_meant) {
            return true;
        }
        let is_exact = |host| self.exact.get(host).is_some_and(|entry| entry.holds(destination));
        if is_exact(&destination.host) || self.is_wide && is_exact(&destination.host.unmapped()) {
            return true;
        }
        match &destination.host {
            Host::Name(name) if !self.under.is_empty() => name
                .suffixes()
                .any(|name| self.under.get(name).is_some_and(|entry| entry.holds(destination))),
            Host::Name(_) | Host::V4(_) | Host::V6(_) => false,
        }
    }

    /// Returns whether a pattern admits a connection to `host` at `port`, whatever is spoken on it.
    ///
    /// A connection is judged before anything is said on it, so other than in [`Self::contains`] a
    /// scheme stands for its port: a pattern admits the port that it writes, else the port of its
    /// scheme, else 80 and 443. A pattern for one repository admits nothing, as a repository cannot
    /// be seen from outside a connection.
    pub fn admits(&self, host: &Host, port: u16) -> bool {
        self.constraints(host).any(|constraint| constraint.admits(port))
    }

    /// Returns whether a pattern admits a connection to `host` at `port` on which `spoken` is spoken.
    ///
    /// A pattern without a scheme does not mind, not even if it is none that we know.
    pub fn admits_speech(&self, host: &Host, port: u16, spoken: Option<Scheme>) -> bool {
        let minds =
            |constraint: &Constraint| constraint.scheme.is_some() && constraint.scheme != spoken;
        self.constraints(host).any(|constraint| constraint.admits(port) && !minds(constraint))
    }

    /// Returns whether a pattern names `host` itself, and writes `port`.
    ///
    /// Only that opens a way to addresses that are not public; `*` and `*.x` name nobody.
    pub fn names(&self, host: &Host, port: u16) -> bool {
        self.exact.get(host).is_some_and(|entry| {
            entry.any_repository.iter().any(|constraint| constraint.port == Some(port))
        })
    }

    /// Returns whether a pattern of a list of what is denied holds for a connection.
    ///
    /// Here a pattern is taken for as much as it can mean: without scheme and port it holds for
    /// every port, and with a repository for its whole host.
    pub fn forbids(&self, host: &Host, port: u16) -> bool {
        let names_any =
            |constraint: &Constraint| constraint.scheme.is_none() && constraint.port.is_none();
        let names_repository =
            |entry: &HostEntry| !entry.repositories.is_empty() || !entry.alike.is_empty();
        self.entries(host).any(names_repository)
            || self.constraints(host).any(|it| names_any(it) || it.admits(port))
    }

    /// Returns the ports that the patterns write or that their schemes stand for.
    pub fn ports(&self) -> impl Iterator<Item = u16> {
        self.patterns
            .iter()
            .filter(|it| !it.names_repository())
            .filter_map(|it| it.constraint.port.or(it.constraint.scheme.map(Scheme::port)))
    }

    /// Returns the addresses that patterns name.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.patterns.iter().filter(|it| !it.names_repository()).filter_map(|it| match it.host {
            HostPattern::Exact(Host::V4(address)) => Some(address.into()),
            HostPattern::Exact(Host::V6(address)) => Some(address.into()),
            HostPattern::Exact(Host::Name(_)) | HostPattern::Under(_) | HostPattern::AnyPublic => {
                None
            }
        })
    }

    /// Returns what the patterns that hold for `host`, and for any repository on it, say beyond it.
    fn constraints(&self, host: &Host) -> impl Iterator<Item = &Constraint> {
        let any_public: &[Constraint] = if host.is_public_name() { &self.any_public } else { &[] };
        any_public.iter().chain(self.entries(host).flat_map(|entry| &entry.any_repository))
    }

    /// Returns the entries of `host` and of the names that it lies under.
    fn entries(&self, host: &Host) -> impl Iterator<Item = &HostEntry> {
        let name = match host {
            Host::Name(name) => Some(name),
            Host::V4(_) | Host::V6(_) => None,
        };
        let above = name.into_iter().flat_map(DnsName::suffixes);
        self.exact.get(host).into_iter().chain(above.filter_map(|name| self.under.get(name)))
    }

    /// Returns the patterns, in their order.
    pub fn patterns(&self) -> &[DomainPattern] {
        &self.patterns
    }

    /// Returns the hosts that the patterns speak of, for the index.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = &HostPattern> {
        self.patterns.iter().map(|pattern| &pattern.host)
    }
}

/// Prints the patterns, as many as fit a line.
impl fmt::Display for DomainSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN_MAX: usize = 4;
        let shown: Vec<_> = self.patterns.iter().take(SHOWN_MAX).map(ToString::to_string).collect();
        f.write_str(&shown.join(", "))?;
        match self.patterns.len() {
            0 => f.write_str("an empty list"),
            n if SHOWN_MAX < n => write!(f, " and {} more", n - SHOWN_MAX),
            _ => Ok(()),
        }
    }
}

impl HostEntry {
    fn holds(&self, destination: &Destination) -> bool {
        let holds = |constraints: &[Constraint]| constraints.iter().any(|c| c.holds(destination));
        let repository = destination.repository.as_deref();
        let alike = |name: &str| self.alike.get(&name.to_ascii_lowercase());
        holds(&self.any_repository)
            || repository.and_then(|name| self.repositories.get(name)).is_some_and(|c| holds(c))
            || !self.alike.is_empty() && repository.and_then(alike).is_some_and(|c| holds(c))
    }
}
