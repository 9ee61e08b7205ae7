//! Where a URL or a remote leads, and the patterns that rules and servers compare it with.
//!
//! Compares names by labels, never as strings, and never resolves them.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;

use ic_types::Host;
use ic_types::host::DnsName;

/// Where a call would connect to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Destination {
    /// How it would speak, if that is known.
    pub scheme: Option<Scheme>,
    /// The host, canonical.
    pub host: Host,
    /// The port in force; `None` means the scheme's default.
    pub port: Option<u16>,
    /// The repository on that host (`owner/repo`), for git remotes.
    pub repository: Option<String>,
}

/// A way to speak to a host.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Scheme {
    /// Plain HTTP.
    Http,
    /// HTTP over TLS.
    Https,
    /// SSH, for git.
    Ssh,
}

/// A set of patterns, looked up by host.
#[derive(Clone, Debug)]
pub struct DomainSet {
    patterns: Vec<DomainPattern>,
    any_public: Vec<Constraint>,
    exact: HashMap<Host, HostEntry>,
    under: HashMap<String, HostEntry>,
}

/// One pattern of `domains.allowed`, of a list, or of a server's `allowedDomains`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DomainPattern {
    host: HostPattern,
    constraint: Constraint,
    repository: Option<String>,
}

/// Text that is no pattern.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{}` is no domain pattern: {reason}", .text.escape_debug())]
pub struct InvalidPattern {
    text: String,
    reason: &'static str,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum HostPattern {
    /// `*`: any DNS name that can be public.
    AnyPublic,
    /// `*.x`: the name and everything under it.
    Under(String),
    /// A host.
    Exact(Host),
}

/// What a pattern says beyond the host.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Constraint {
    scheme: Option<Scheme>,
    port: Option<u16>,
}

/// The patterns for one host, those with a repository apart.
#[derive(Clone, Debug, Default)]
struct HostEntry {
    any_repository: Vec<Constraint>,
    repositories: HashMap<String, Vec<Constraint>>,
}

// === impl Destination ===

impl Destination {
    /// Reads `host` or `host:port`, as an argument of a proxy tool gives it.
    pub fn parse_authority(text: &str) -> Option<Self> {
        let (host, port) = split_port(text)?;
        Some(Self { scheme: None, host: host.parse().ok()?, port, repository: None })
    }
}

/// Prints the host, the port if it is not the default, and the repository.
impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_default = self.port.is_none_or(|port| Some(port) == self.scheme.map(Scheme::port));
        write!(f, "{}", self.host)?;
        if let (Some(port), false) = (self.port, is_default) {
            write!(f, ":{port}")?;
        }
        match &self.repository {
            Some(repository) => write!(f, "/{repository}"),
            None => Ok(()),
        }
    }
}

impl Scheme {
    /// Returns the port that is meant where none is written.
    pub fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
            Self::Ssh => 22,
        }
    }

    /// Returns how the scheme is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::Ssh => "ssh",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        match text {
            "http" => Some(Self::Http),
            "https" => Some(Self::Https),
            "ssh" => Some(Self::Ssh),
            _ => None,
        }
    }
}

// === impl DomainSet ===

impl DomainSet {
    /// Makes the set of `patterns`; an empty set holds nothing.
    pub fn new(patterns: Vec<DomainPattern>) -> Self {
        let mut set = Self {
            patterns: Vec::new(),
            any_public: Vec::new(),
            exact: HashMap::new(),
            under: HashMap::new(),
        };
        for pattern in &patterns {
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
                Some(repository) => {
                    entry.repositories.entry(repository.clone()).or_default().push(constraint);
                }
                None => entry.any_repository.push(constraint),
            }
        }
        set.patterns = patterns;
        set
    }

    /// Reads every text as a pattern.
    pub fn parse<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, InvalidPattern> {
        texts.into_iter().map(DomainPattern::parse).collect::<Result<_, _>>().map(Self::new)
    }

    /// Returns whether a pattern holds for `destination`.
    pub fn contains(&self, destination: &Destination) -> bool {
        let is_public = || destination.host.is_public_name();
        if self.any_public.iter().any(|constraint| constraint.holds(destination)) && is_public() {
            return true;
        }
        if self.exact.get(&destination.host).is_some_and(|entry| entry.holds(destination)) {
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
        self.entries(host).any(|entry| !entry.repositories.is_empty())
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

impl HostEntry {
    fn holds(&self, destination: &Destination) -> bool {
        let holds = |constraints: &[Constraint]| constraints.iter().any(|c| c.holds(destination));
        let repository = destination.repository.as_deref();
        holds(&self.any_repository)
            || repository.and_then(|name| self.repositories.get(name)).is_some_and(|c| holds(c))
    }
}

impl Constraint {
    /// Returns whether a connection to `port` may be meant, of which no scheme is known.
    fn admits(&self, port: u16) -> bool {
        match (self.port, self.scheme) {
            (Some(wanted), _) => port == wanted,
            (None, Some(scheme)) => port == scheme.port(),
            (None, None) => matches!(port, 80 | 443),
        }
    }

    fn holds(&self, destination: &Destination) -> bool {
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

// === impl DomainPattern ===

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
                _ => return Err(invalid("`*` stands alone, or before `.` and a name")),
            },
            None => HostPattern::Exact(
                host.parse().map_err(|_| invalid("it holds no host name or address"))?,
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

    /// Returns whether the pattern holds for one repository only, so for nothing but git remotes.
    pub(crate) fn names_repository(&self) -> bool {
        self.repository.is_some()
    }
}

/// Splits `host:port`; `[v6]:port` too.
fn split_port(authority: &str) -> Option<(&str, Option<u16>)> {
    let port_at = authority.rfind(']').map_or(0, |end| end + 1);
    let after = authority.get(port_at..)?;
    match after.rsplit_once(':') {
        Some((_, port)) => {
            let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
            let host = authority.get(..authority.len() - port.len() - 1)?;
            if is_number { Some((host, Some(port.parse().ok()?))) } else { None }
        }
        None => Some((authority, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn destination(scheme: &str, authority: &str, repository: &str) -> Destination {
        Destination {
            scheme: Scheme::parse(scheme),
            repository: (!repository.is_empty()).then(|| repository.to_owned()),
            ..Destination::parse_authority(authority).unwrap()
        }
    }

    #[track_caller]
    fn check(pattern: &str, holds: &[(&str, &str)], fails: &[(&str, &str)]) {
        let set = DomainSet::parse([pattern]).unwrap();
        for (expected, cases) in [(true, holds), (false, fails)] {
            for (scheme, rest) in cases {
                let (authority, repository) = rest.split_once('/').unwrap_or((rest, ""));
                let destination = destination(scheme, authority, repository);
                assert_eq!(set.contains(&destination), expected, "{pattern}: {scheme} {rest}");
            }
        }
    }

    #[test]
    fn a_host_means_the_default_port_of_either_web_scheme() {
        check(
            "Docs.Example.com",
            &[
                ("https", "docs.example.com"),
                ("http", "docs.example.com:80"),
                ("ssh", "docs.example.com/a/b"),
            ],
            &[
                ("https", "docs.example.com:8443"),
                ("https", "docs.example.com:80"),
                ("https", "a.docs.example.com"),
                ("https", "docs.example.com.evil.example"),
                ("https", "evildocs.example.com"),
            ],
        );
        check("example.com:8080", &[("http", "example.com:8080")], &[("http", "example.com")]);
        check("example.com:443", &[("https", "example.com")], &[("http", "example.com")]);
        check(
            "https://example.com",
            &[("https", "example.com:443")],
            &[("http", "example.com"), ("", "example.com")],
        );
        check(
            "example.com",
            &[("", "example.com"), ("", "example.com:443")],
            &[("", "example.com:22")],
        );
    }

    #[test]
    fn a_star_is_any_public_name_and_nothing_else() {
        check(
            "*",
            &[("https", "example.com"), ("http", "a.b.example")],
            &[
                ("https", "127.0.0.1"),
                ("https", "8.8.8.8"),
                ("https", "[::1]"),
                ("https", "localhost"),
                ("https", "printer"),
                ("https", "x.internal"),
                ("https", "example.com:8443"),
            ],
        );
        check(
            "*.example.com",
            &[("https", "example.com"), ("https", "a.b.example.com")],
            &[
                ("https", "notexample.com"),
                ("https", "example.com.evil"),
                ("https", "example.com:1"),
            ],
        );
        check("https://*", &[("https", "example.com")], &[("http", "example.com")]);
    }

    #[test]
    fn a_repository_is_exact() {
        check(
            "github.com/acme/app.git",
            &[("https", "github.com/acme/app"), ("ssh", "github.com/acme/app")],
            &[
                ("https", "github.com/acme/app2"),
                ("https", "github.com/acme"),
                ("https", "github.com"),
                ("https", "github.com:444/acme/app"),
                ("ssh", "gitlab.com/acme/app"),
            ],
        );
    }

    #[test]
    fn one_git_is_left_off_a_repository_as_in_remotes() {
        check(
            "github.com/acme/app.git.git",
            &[("https", "github.com/acme/app.git")],
            &[("https", "github.com/acme/app")],
        );
        assert!(DomainPattern::parse("github.com/.git").is_err());
        assert_eq!(
            DomainPattern::parse("github.com/acme/.git"),
            DomainPattern::parse("github.com/acme/")
        );
    }

    #[test]
    fn addresses_are_named_literally() {
        check(
            "127.0.0.1:8080",
            &[("http", "127.0.0.1:8080")],
            &[("http", "127.0.0.2:8080"), ("http", "localhost:8080")],
        );
        check("[::1]:9", &[("http", "[::1]:9")], &[("http", "[::1]")]);
    }

    #[test]
    fn an_empty_set_holds_nothing() {
        assert!(!DomainSet::new(Vec::new()).contains(&destination("https", "example.com", "")));
    }

    /// Checks at which of some ports `pattern` admits, names and forbids connections to `host`.
    #[track_caller]
    fn check_ports(pattern: &str, host: &str, admits: &[u16], names: &[u16], forbids: &[u16]) {
        const PORTS: [u16; 5] = [22, 80, 443, 8080, 8443];
        let set = DomainSet::parse([pattern]).unwrap();
        let host = host.parse().unwrap();
        let ports = |holds: &dyn Fn(u16) -> bool| -> Vec<u16> {
            PORTS.into_iter().filter(|port| holds(*port)).collect()
        };
        assert_eq!(ports(&|port| set.admits(&host, port)), admits, "{pattern} admits {host}");
        assert_eq!(ports(&|port| set.names(&host, port)), names, "{pattern} names {host}");
        assert_eq!(ports(&|port| set.forbids(&host, port)), forbids, "{pattern} forbids {host}");
    }

    #[test]
    fn a_connection_is_admitted_by_host_and_port() {
        const ALL: &[u16] = &[22, 80, 443, 8080, 8443];
        check_ports("a.example", "a.example", &[80, 443], &[], ALL);
        check_ports("a.example:8080", "a.example", &[8080], &[8080], &[8080]);
        check_ports("https://a.example", "a.example", &[443], &[], &[443]);
        check_ports("ssh://a.example", "a.example", &[22], &[], &[22]);
        check_ports("https://a.example:8443", "a.example", &[8443], &[8443], &[8443]);
        check_ports("a.example", "b.a.example", &[], &[], &[]);
        check_ports("*.a.example", "b.a.example", &[80, 443], &[], ALL);
        check_ports("*.a.example:8080", "a.example", &[8080], &[], &[8080]);
        check_ports("*", "a.example", &[80, 443], &[], ALL);
        check_ports("*:8080", "a.example", &[8080], &[], &[8080]);
        check_ports("*", "10.0.0.1", &[], &[], &[]);
        check_ports("*", "localhost", &[], &[], &[]);
        check_ports("10.0.0.1:8080", "10.0.0.1", &[8080], &[8080], &[8080]);
        check_ports("10.0.0.1", "10.0.0.1", &[80, 443], &[], ALL);
        check_ports("[::1]:22", "[::1]", &[22], &[22], &[22]);
    }

    #[test]
    fn a_repository_admits_no_connection_and_forbids_its_host() {
        let all = &[22, 80, 443, 8080, 8443];
        check_ports("a.example/o/r", "a.example", &[], &[], all);
        check_ports("a.example:22/o/r", "a.example", &[], &[], all);
    }

    #[test]
    fn a_scheme_binds_what_is_spoken() {
        let host = "a.example".parse().unwrap();
        for (pattern, port, spoken, expected) in [
            ("a.example", 443, Some(Scheme::Https), true),
            ("a.example:22", 22, None, true),
            ("a.example:22", 22, Some(Scheme::Http), true),
            ("https://a.example:8443", 8443, Some(Scheme::Https), true),
            ("https://a.example:8443", 8443, Some(Scheme::Http), false),
            ("https://a.example:8443", 8443, None, false),
            ("ssh://a.example", 22, Some(Scheme::Ssh), true),
            ("ssh://a.example", 22, None, false),
            ("ssh://a.example", 443, Some(Scheme::Ssh), false),
        ] {
            let set = DomainSet::parse([pattern]).unwrap();
            assert_eq!(set.admits_speech(&host, port, spoken), expected, "{pattern} {spoken:?}");
        }
    }

    #[test]
    fn ports_and_addresses_are_those_that_patterns_name() {
        let patterns =
            ["a.example", "b.example:8080", "ssh://*", "10.0.0.1", "[::1]:9", "10.0.0.2/o/r"];
        let set = DomainSet::parse(patterns).unwrap();
        assert_eq!(set.ports().collect::<Vec<_>>(), [8080, 22, 9]);
        let addresses: Vec<String> = set.addresses().map(|it| it.to_string()).collect();
        assert_eq!(addresses, ["10.0.0.1", "::1"]);
    }

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
