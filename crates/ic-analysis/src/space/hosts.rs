//! Hosts, ports and repositories that a policy cannot tell apart.

use std::collections::{BTreeSet, HashMap};
use std::net::{Ipv4Addr, Ipv6Addr};

use ic_policy::{Destination, DomainPattern, HostPattern, Scheme};
use ic_types::Host;

/// A host, as far as policies can tell.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum HostClass {
    /// A DNS name.
    Name {
        /// The longest name at or above it that something names.
        under: Option<String>,
        /// Whether it is that very name.
        is_it: bool,
        /// Whether it can be public.
        is_public: bool,
    },
    /// An IPv4 address: one that something names, or any other.
    V4(Option<Ipv4Addr>, Reach),
    /// An IPv6 address: one that something names, or any other.
    V6(Option<Ipv6Addr>, Reach),
}

/// Where an address can lead.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Reach {
    /// Out of the local network.
    Outside,
    /// Not out of it.
    Local,
}

/// A port, as far as policies can tell.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum PortClass {
    /// The scheme's own; without a scheme, none is written.
    Usual,
    /// One that something names, or that a bare host stands for.
    Named(u16),
    /// Any other.
    Other,
}

/// A repository on a host, as far as policies can tell.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum RepositoryClass {
    /// None.
    None,
    /// One that something names.
    Named(String),
    /// One that something names with other letters large or small, here all small.
    Alike(String),
    /// Any other.
    Other,
}

/// A destination, as far as policies can tell.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct DestinationClass {
    /// How it would speak.
    pub scheme: Option<Scheme>,
    /// The host.
    pub host: HostClass,
    /// The port.
    pub port: PortClass,
    /// The repository.
    pub repository: RepositoryClass,
}

/// All hosts, ports and repositories that something names.
#[derive(Debug)]
pub(crate) struct Hosts {
    names: BTreeSet<String>,
    v4: BTreeSet<Ipv4Addr>,
    v6: BTreeSet<Ipv6Addr>,
    /// By the host's text; those of `*` under the empty text.
    ports: HashMap<String, BTreeSet<u16>>,
    repositories: HashMap<String, BTreeSet<String>>,
}

/// A name that cannot be public, beneath one that can.
const PRIVATE_BENEATH_PUBLIC: &str = "home.arpa";
const EVERYWHERE: &str = "";
/// The ports that a bare host stands for where no scheme is known.
const WEB_PORTS: [u16; 2] = [80, 443];

impl Hosts {
    pub(crate) fn new<'a>(patterns: impl Iterator<Item = &'a DomainPattern>) -> Self {
        let mut hosts = Self {
            names: BTreeSet::from([PRIVATE_BENEATH_PUBLIC.to_owned()]),
            v4: BTreeSet::new(),
            v6: BTreeSet::new(),
            ports: HashMap::new(),
            repositories: HashMap::new(),
        };
        patterns.for_each(|pattern| hosts.add(pattern));
        hosts
    }

    fn add(&mut self, pattern: &DomainPattern) {
        let key = match pattern.host() {
            HostPattern::AnyPublic => EVERYWHERE.to_owned(),
            HostPattern::Under(name) => {
                self.names.insert(name.clone());
                name.clone()
            }
            HostPattern::Exact(host) => {
                match host {
                    Host::Name(name) => _ = self.names.insert(name.as_str().to_owned()),
                    // A rule that restricts one restricts it in the other form too.
                    Host::V4(address) => {
                        self.v4.insert(*address);
                        self.v6.insert(address.to_ipv6_mapped());
                    }
                    Host::V6(address) => {
                        self.v6.insert(*address);
                        self.v4.extend(address.to_ipv4_mapped());
                    }
                }
                host.to_string()
            }
        };
        if let Some(port) = pattern.port() {
            self.ports.entry(key.clone()).or_default().insert(port);
        }
        if let Some(repository) = pattern.repository() {
            self.repositories.entry(key).or_default().insert(repository.to_owned());
        }
    }

    /// Returns what `destination` is.
    pub(crate) fn class(&self, destination: &Destination) -> DestinationClass {
        let host = self.host(&destination.host);
        let ports = named_at(&self.ports, &host);
        let usual = destination.scheme.map(Scheme::port);
        let port = match destination.port {
            None => PortClass::Usual,
            Some(port) if Some(port) == usual => PortClass::Usual,
            Some(port) if ports.contains(&port) => PortClass::Named(port),
            Some(port) if usual.is_none() && WEB_PORTS.contains(&port) => PortClass::Named(port),
            Some(_) => PortClass::Other,
        };
        let repository = match &destination.repository {
            None => RepositoryClass::None,
            Some(it) => {
                let named = named_at(&self.repositories, &host);
                match named.iter().find(|known| known.eq_ignore_ascii_case(it)) {
                    Some(_) if named.contains(it) => RepositoryClass::Named(it.clone()),
                    Some(_) => RepositoryClass::Alike(it.to_ascii_lowercase()),
                    None => RepositoryClass::Other,
                }
            }
        };
        DestinationClass { scheme: destination.scheme, host, port, repository }
    }

    fn host(&self, host: &Host) -> HostClass {
        match host {
            Host::Name(name) => {
                let under = name.suffixes().find(|it| self.names.contains(*it));
                HostClass::Name {
                    is_it: under == Some(name.as_str()),
                    under: under.map(str::to_owned),
                    is_public: host.is_public_name(),
                }
            }
            Host::V4(address) => HostClass::V4(self.v4.get(address).copied(), reach(host)),
            Host::V6(address) => HostClass::V6(self.v6.get(address).copied(), reach(host)),
        }
    }

    /// Returns a destination for each class that there is with one of `schemes`.
    pub(crate) fn examples(
        &self,
        schemes: &[Option<Scheme>],
        with_repository: bool,
    ) -> Vec<Destination> {
        let mut found = Vec::new();
        for host in self.example_hosts() {
            let class = self.host(&host);
            let mut ports: Vec<Option<u16>> = vec![None];
            let named = named_at(&self.ports, &class);
            let web = WEB_PORTS.into_iter().filter(|_| schemes.contains(&None));
            ports.extend(named.iter().copied().chain(web).map(Some));
            ports.extend((8000..=u16::MAX).find(|port| !named.contains(port)).map(Some));
            let mut repositories: Vec<Option<String>> = vec![None];
            if with_repository {
                let named = named_at(&self.repositories, &class);
                let numbered = (2_usize..).map(|n| format!("example/example-{n}"));
                let mut fresh = std::iter::once("example/example".to_owned()).chain(numbered);
                let is_other = |it: &String| !named.iter().any(|of| of.eq_ignore_ascii_case(it));
                let other = fresh.find(is_other);
                let alike: Vec<String> = named.iter().filter_map(|it| alike(it, &named)).collect();
                let all = named.into_iter().chain(alike).chain(other);
                repositories = all.map(Some).collect();
            }
            for scheme in schemes {
                for port in &ports {
                    found.extend(repositories.iter().map(|repository| Destination {
                        scheme: *scheme,
                        host: host.clone(),
                        port: *port,
                        repository: repository.clone(),
                    }));
                }
            }
        }
        found
    }

    fn example_hosts(&self) -> Vec<Host> {
        let mut hosts: Vec<Host> = Vec::new();
        let public = (1_usize..).map(|n| match n {
            1 => "example.com".to_owned(),
            2 => "example.org".to_owned(),
            n => format!("example.example-{n}"),
        });
        let bare = (1_usize..).map(|n| match n {
            1 => "printer".to_owned(),
            n => format!("printer-{n}"),
        });
        for (mut candidates, is_public) in
            [(Box::new(public) as Box<dyn Iterator<Item = String>>, true), (Box::new(bare), false)]
        {
            let wanted = HostClass::Name { under: None, is_it: false, is_public };
            hosts.extend(candidates.find_map(|name| {
                name.parse::<Host>().ok().filter(|host| self.host(host) == wanted)
            }));
        }
        for name in &self.names {
            hosts.extend(name.parse::<Host>());
            let numbered = (1_usize..).map(|n| match n {
                1 => format!("www.{name}"),
                n => format!("www-{n}.{name}"),
            });
            let fresh = numbered.take_while(|it| it.len() <= 253);
            let mut beneath = fresh.filter_map(|it| it.parse::<Host>().ok());
            hosts.extend(beneath.find(|host| match self.host(host) {
                HostClass::Name { under, is_it, .. } => under.as_ref() == Some(name) && !is_it,
                HostClass::V4(..) | HostClass::V6(..) => false,
            }));
        }
        hosts.extend(self.v4.iter().copied().map(Host::V4));
        hosts.extend(self.v6.iter().copied().map(Host::V6));
        // One of each that leads out of the local network, and one that does not.
        for network in [0xc000_0200_u32, 0x0a00_0000] {
            let mut v4 = (1_u32..).map(|n| Ipv4Addr::from(network + n));
            hosts.extend(v4.find(|it| !self.v4.contains(it)).map(Host::V4));
        }
        for network in [0x2001_0db8_u128 << 96, 0xfd00_u128 << 112] {
            let mut v6 = (1_u128..).map(|n| Ipv6Addr::from(network | n));
            hosts.extend(v6.find(|it| !self.v6.contains(it)).map(Host::V6));
        }
        hosts
    }
}

fn reach(host: &Host) -> Reach {
    if host.can_be_outside() { Reach::Outside } else { Reach::Local }
}

/// Writes a name with other letters large or small, as none of the `named` ones is written.
fn alike(name: &str, named: &BTreeSet<String>) -> Option<String> {
    let turned = |letter: char| match letter.is_ascii_lowercase() {
        true => letter.to_ascii_uppercase(),
        false => letter.to_ascii_lowercase(),
    };
    let spellings =
        [name.to_ascii_uppercase(), name.to_ascii_lowercase(), name.chars().map(turned).collect()];
    spellings.into_iter().find(|it| !named.contains(it))
}

/// Returns what is named for a host, for the names above it, and everywhere.
fn named_at<T: Clone + Ord>(named: &HashMap<String, BTreeSet<T>>, host: &HostClass) -> BTreeSet<T> {
    let above: Vec<String> = match host {
        HostClass::Name { under, .. } => {
            let parent = |name: &String| name.split_once('.').map(|(_, it)| it.to_owned());
            std::iter::successors(under.clone(), parent).collect()
        }
        HostClass::V4(address, _) => address.iter().map(|it| Host::V4(*it).to_string()).collect(),
        HostClass::V6(address, _) => {
            let both = |it: &Ipv6Addr| [Host::V6(*it), Host::V6(*it).unmapped()];
            address.iter().flat_map(both).map(|it| it.to_string()).collect()
        }
    };
    let everywhere = std::iter::once(EVERYWHERE.to_owned());
    let keys = above.into_iter().chain(everywhere);
    keys.filter_map(|key| named.get(&key)).flatten().cloned().collect()
}
