//! The name or address of a host, validated once.
//!
//! Does not look anything up, and does not know whether an address is reachable. "Public" here is
//! a fact about the name; what it resolves to is checked where connections are made.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A host: a DNS name in ASCII and lower case, or an address.
///
/// Invariant of the name: 1 to 253 bytes; labels of 1 to 63 bytes of `a-z`, `0-9`, `-` and `_`
/// that neither start nor end with `-`; no trailing dot; the last label is not a number, so the
/// name can be taken for no address.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Host {
    /// A DNS name.
    Name(DnsName),
    /// An IPv4 address.
    V4(Ipv4Addr),
    /// An IPv6 address.
    V6(Ipv6Addr),
}

/// The validated text of a DNS name; see [`Host`] for its invariant.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct DnsName(String);

/// Text that is no host.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{}` is not a host name or address", .0.escape_debug())]
pub struct InvalidHost(String);

/// Names under these are never public, however many labels stand before them.
const PRIVATE_SUFFIXES: [&str; 11] = [
    "localhost",
    "localdomain",
    "local",
    "internal",
    "intranet",
    "private",
    "corp",
    "home",
    "lan",
    "svc",
    "home.arpa",
];

// === impl Host ===

impl Host {
    /// Takes over the host of a URL that the WHATWG parser read.
    pub fn from_url_host(host: &url::Host<&str>) -> Result<Self, InvalidHost> {
        match host {
            url::Host::Domain(name) => DnsName::from_ascii(name).map(Self::Name),
            url::Host::Ipv4(address) => Ok(Self::V4(*address)),
            url::Host::Ipv6(address) => Ok(Self::V6(*address)),
        }
    }

    /// Returns whether this is a DNS name that can be public.
    ///
    /// An address, a single label, and a name under a suffix kept for private networks cannot.
    pub fn is_public_name(&self) -> bool {
        match self {
            Self::Name(name) => {
                name.0.contains('.') && !PRIVATE_SUFFIXES.iter().any(|suffix| name.is_under(suffix))
            }
            Self::V4(_) | Self::V6(_) => false,
        }
    }

    /// Returns whether this can lead out of the local network: a public name, or an address that is not
    /// kept for this machine or a network of one's own. In doubt it can.
    pub fn can_be_outside(&self) -> bool {
        match self.unmapped() {
            Self::Name(_) => self.is_public_name(),
            Self::V4(it) => {
                let is_shared = it.octets()[0] == 100 && it.octets()[1] & 0xc0 == 64;
                let is_near = it.is_private() || it.is_loopback() || it.is_link_local();
                !(is_near || is_shared || it.octets()[0] == 0)
            }
            Self::V6(it) => {
                let is_near = it.is_unique_local() || it.is_unicast_link_local();
                !(is_near || it.is_loopback() || it.is_unspecified())
            }
        }
    }

    /// Returns the IPv4 address that an IPv6 address only wraps (`::ffff:127.0.0.1`), else the host itself.
    #[must_use]
    pub fn unmapped(&self) -> Self {
        match self {
            Self::V6(address) => match address.to_ipv4_mapped() {
                Some(wrapped) => Self::V4(wrapped),
                None => self.clone(),
            },
            Self::Name(_) | Self::V4(_) => self.clone(),
        }
    }
}

/// Reads a host as a URL would: IDNA, any spelling of an IPv4 address, one trailing dot dropped.
impl FromStr for Host {
    type Err = InvalidHost;

    fn from_str(raw: &str) -> Result<Self, Self::Err> {
        let invalid = || InvalidHost(raw.to_owned());
        // SECURITY: the parser drops tabs and newlines and decodes `%00`; a name that needs any of
        // that is a name that two programs read differently.
        if raw.chars().any(|c| c.is_control() || c.is_whitespace() || c == '%') {
            return Err(invalid());
        }
        let host = url::Host::parse(raw).map_err(|_| invalid())?;
        match &host {
            url::Host::Domain(name) => Self::from_url_host(&url::Host::Domain(name.as_str())),
            url::Host::Ipv4(address) => Ok(Self::V4(*address)),
            url::Host::Ipv6(address) => Ok(Self::V6(*address)),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(&name.0),
            Self::V4(address) => address.fmt(f),
            Self::V6(address) => write!(f, "[{address}]"),
        }
    }
}

// === impl DnsName ===

impl DnsName {
    fn from_ascii(raw: &str) -> Result<Self, InvalidHost> {
        let lower = raw.to_ascii_lowercase();
        let name = lower.strip_suffix('.').unwrap_or(&lower);
        let is_label = |label: &str| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        let is_number =
            |label: &str| !label.is_empty() && label.bytes().all(|b| b.is_ascii_digit());
        let is_valid = name.len() <= 253
            && name.split('.').all(is_label)
            && !name.rsplit('.').next().is_some_and(is_number);
        if is_valid { Ok(Self(name.to_owned())) } else { Err(InvalidHost(raw.to_owned())) }
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether the name is `suffix` or one of its subdomains, by whole labels.
    pub fn is_under(&self, suffix: &str) -> bool {
        match self.0.strip_suffix(suffix) {
            Some(rest) => rest.is_empty() || rest.ends_with('.'),
            None => false,
        }
    }

    /// Returns the name and every name it lies under, longest first.
    pub fn suffixes(&self) -> impl Iterator<Item = &str> {
        std::iter::successors(Some(self.0.as_str()), |name| {
            name.split_once('.').map(|(_, parent)| parent)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(raw: &str, expected: &str) {
        assert_eq!(raw.parse::<Host>().unwrap().to_string(), expected, "{raw}");
    }

    #[test]
    fn every_spelling_of_a_host_is_one_host() {
        check("Example.COM", "example.com");
        check("example.com.", "example.com");
        check("bücher.example", "xn--bcher-kva.example");
        check("0x7f.1", "127.0.0.1");
        check("017700000001", "127.0.0.1");
        check("2130706433", "127.0.0.1");
        check("[::1]", "[::1]");
        check("[::ffff:127.0.0.1]", "[::ffff:127.0.0.1]");
        check("_dmarc.example.com", "_dmarc.example.com");
    }

    #[test]
    fn what_two_programs_could_read_differently_is_refused() {
        for bad in [
            "",
            ".",
            "evil\0.example.com",
            "evil%00.example.com",
            "evil\n.example.com",
            "exa mple.com",
            "example.com..",
            ".example.com",
            "-a.example.com",
            "a-.example.com",
            "a&b.example.com",
            "example.com/x",
            "a@example.com",
            "example.com:80",
            "1.2.3.4.5",
            "example.123",
            &format!("{}.com", "a".repeat(64)),
            &"a.".repeat(128),
        ] {
            assert!(bad.parse::<Host>().is_err(), "accepted {bad:?}");
        }
    }

    #[test]
    fn private_names_and_addresses_are_not_public() {
        for private in [
            "localhost",
            "a.localhost",
            "printer",
            "router.lan",
            "db.internal",
            "x.home.arpa",
            "api.default.svc",
            "8.8.8.8",
            "[2001:4860:4860::8888]",
        ] {
            assert!(!private.parse::<Host>().unwrap().is_public_name(), "{private} is public");
        }
        for public in ["example.com", "notlocal.example", "mylocalhost.com", "home.example"] {
            assert!(public.parse::<Host>().unwrap().is_public_name(), "{public} is not public");
        }
    }
}
