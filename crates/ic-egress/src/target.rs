//! A host and a port that somebody in a cage wants to reach.
//!
//! Says nothing about whether they may.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ic_types::Host;

/// A host and a port, each in its one spelling.
///
/// Invariant: the port is not 0, and an IPv4 address is not written as IPv6.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Target {
    host: Host,
    port: u16,
}

/// A host and perhaps a port, as proxy requests and `Host` fields write them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Authority {
    pub(crate) host: Host,
    pub(crate) port: Option<u16>,
}

impl Target {
    /// Makes the target of `host` and `port`; port 0 is nobody's.
    pub fn new(host: Host, port: u16) -> Option<Self> {
        (port != 0).then(|| Self { host: canonical(host), port })
    }

    /// Returns the host.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns whether `host` is this target's host, or both are this machine.
    ///
    /// Programs say `localhost` and connect to `127.0.0.1`; from a cage all of them are one place,
    /// whose address has been checked.
    pub(crate) fn is_named_by(&self, host: &Host) -> bool {
        *host == self.host || is_localhost(host) && is_localhost(&self.host)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl Authority {
    /// Reads `host` or `host:port` strictly: no user, no path, IPv6 in brackets, a port without
    /// signs and leading zeros.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let after_bracket = text.rfind(']').map_or(0, |end| end + 1);
        let (host, port) = match text.get(after_bracket..)?.rfind(':') {
            Some(colon) => {
                let (host, port) = text.split_at_checked(after_bracket + colon)?;
                (host, Some(parse_port(port.strip_prefix(':')?)?))
            }
            None => (text, None),
        };
        // SECURITY: the host's own parser would read wide digits and dots as narrow ones; what
        // needs that is not what the next program reads.
        let host = host.is_ascii().then(|| host.parse().ok())??;
        Some(Self { host: canonical(host), port })
    }
}

fn parse_port(text: &str) -> Option<u16> {
    let is_canonical = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    is_canonical.then(|| text.parse().ok())?
}

/// Returns the host with an IPv4 address as IPv4.
fn canonical(host: Host) -> Host {
    match host {
        Host::V6(address) => host_of(address.into()),
        Host::Name(_) | Host::V4(_) => host,
    }
}

/// Returns `address` as a host, an IPv4 address in IPv6 as IPv4.
pub(crate) fn host_of(address: IpAddr) -> Host {
    match address.to_canonical() {
        IpAddr::V4(address) => Host::V4(address),
        IpAddr::V6(address) => Host::V6(address),
    }
}

fn is_localhost(host: &Host) -> bool {
    match host {
        Host::Name(name) => name.as_str() == "localhost",
        Host::V4(address) => *address == Ipv4Addr::LOCALHOST,
        Host::V6(address) => *address == Ipv6Addr::LOCALHOST,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let read = Authority::parse(text).map(|it| match it.port {
            Some(port) => format!("{}:{port}", it.host),
            None => it.host.to_string(),
        });
        assert_eq!(read.as_deref(), expected, "{text:?}");
    }

    #[test]
    fn every_spelling_is_one_authority() {
        check("Example.COM:443", Some("example.com:443"));
        check("example.com.:443", Some("example.com:443"));
        check("example.com", Some("example.com"));
        check("[::1]:80", Some("[::1]:80"));
        check("[::1]", Some("[::1]"));
        check("[0:0::0:1]", Some("[::1]"));
        check("[::ffff:127.0.0.1]:80", Some("127.0.0.1:80"));
        for loopback in
            ["127.1", "2130706433", "0x7f000001", "017700000001", "0x7F.0.0.1", "127.0.0.1."]
        {
            check(loopback, Some("127.0.0.1"));
        }
    }

    #[test]
    fn what_two_programs_could_read_differently_is_no_authority() {
        for bad in [
            "",
            ":443",
            "example.com:",
            "example.com:0443",
            "example.com:+443",
            "example.com:443 ",
            "example.com:65536",
            "example.com:0x1bb",
            "example.com:443:443",
            "user@example.com:443",
            "user:pw@example.com:443",
            "example.com/:443",
            "example.com:443/",
            "example.com:443/x",
            "example.com\\:443",
            "example.com#:443",
            "example.com?:443",
            "::1:443",
            "[::1:443",
            "::1]:443",
            "[::1]443",
            "[::1%25eth0]:443",
            "[fe80::1%eth0]:443",
            "[example.com]:443",
            "[127.0.0.1]:443",
            "evil\0.example.com:443",
            "evil%00.example.com:443",
            "exa\tmple.com:443",
            "１２７.0.0.1:443",
            "127。0。0。1:443",
            "bücher.example:443",
            "1.2.3.4.5:443",
            "256.256.256.256:443",
            "*.example.com:443",
        ] {
            check(bad, None);
        }
    }

    #[test]
    fn port_zero_and_disguised_ipv4_are_no_targets() {
        let host = |text: &str| text.parse::<Host>().unwrap();
        assert_eq!(Target::new(host("example.com"), 0), None);
        let target = Target::new(host("[::ffff:10.0.0.1]"), 80).unwrap();
        assert_eq!(target.to_string(), "10.0.0.1:80");
        assert!(!target.is_named_by(&host("localhost")));
        let localhost = Target::new(host("127.0.0.1"), 80).unwrap();
        assert!(localhost.is_named_by(&host("localhost")) && localhost.is_named_by(&host("[::1]")));
        assert!(!localhost.is_named_by(&host("127.0.0.2")));
    }
}
