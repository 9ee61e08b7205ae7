//! Where a URL or a remote leads: how to speak, to which host, at which port, about which repository.
//!
//! It does not read URLs, and it looks no host up.

use std::fmt;

use ic_types::Host;

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

    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "http" => Some(Self::Http),
            "https" => Some(Self::Https),
            "ssh" => Some(Self::Ssh),
            _ => None,
        }
    }
}

/// Splits `host:port`; `[v6]:port` too.
pub(super) fn split_port(authority: &str) -> Option<(&str, Option<u16>)> {
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
