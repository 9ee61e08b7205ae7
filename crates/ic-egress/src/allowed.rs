//! What one cage may reach, and the proofs that it was asked.
//!
//! ```text
//! Target ──admit──▶ Admitted ──(resolve)──▶ check ──▶ Checked ──record──▶ Recorded ──▶ connect
//! ```
//!
//! Pure: it resolves nothing and connects nowhere.
//!
//! A pattern without scheme and port admits ports 80 and 443 only; one with a scheme admits the
//! port of that scheme, and only that scheme may be spoken; one with a port admits that port.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use ic_policy::{Destination, DomainPattern, DomainSet, Scheme};
use ic_types::Host;
use ic_types::host::DnsName;

use crate::address::{Naming, Special, carried, special};
use crate::names::is_synthetic;
use crate::refusal::Refusal;
use crate::target::{Target, host_of};

/// What one cage may reach.
#[derive(Clone, Debug)]
pub struct Allowed {
    lists: Vec<DomainSet>,
    denied: DomainSet,
    ports: Vec<u16>,
    addresses: Vec<IpAddr>,
    /// What somebody named literally, if the lists were made from a call.
    ///
    /// SECURITY: a call names its host too. Whoever makes calls could otherwise name what is on this
    /// machine, and beside it.
    named: Option<DomainSet>,
}

/// More ports or addresses than a cage can have doors for.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the allowed domains name {n} {what}; at most {max} can be served")]
pub struct TooManyDoors {
    what: &'static str,
    n: usize,
    max: usize,
}

/// A target that patterns admit; what it resolves to has not been looked at.
#[derive(Debug)]
pub(crate) struct Admitted {
    target: Target,
}

/// A target with addresses, every one of which may be connected to.
///
/// Only [`Allowed::check`] makes one, and a connection is made to nothing else.
#[derive(Debug)]
#[must_use = "a check that is dropped connects nowhere"]
pub(crate) struct Checked {
    target: Target,
    addresses: Vec<SocketAddr>,
}

/// The most ports that a cage has doors for.
const PORTS_MAX: usize = 64;
/// The most addresses that a cage has doors for.
const ADDRESSES_MAX: usize = 64;
/// How many of a host's addresses are tried; all are checked.
const TRIED_MAX: usize = 8;

// === impl Allowed ===

impl Allowed {
    /// Allows what every one of `lists` admits and `denied` does not forbid.
    ///
    /// No list at all allows nothing.
    pub fn new(lists: Vec<DomainSet>, denied: DomainSet) -> Result<Self, TooManyDoors> {
        let mut ports: BTreeSet<u16> = lists.iter().flat_map(DomainSet::ports).collect();
        ports.extend([80, 443]);
        ports.remove(&0);
        let addresses: BTreeSet<IpAddr> =
            lists.iter().flat_map(DomainSet::addresses).filter(|it| needs_door(*it)).collect();
        let within = |what, n, max| {
            if max < n { Err(TooManyDoors { what, n, max }) } else { Ok(()) }
        };
        within("ports", ports.len(), PORTS_MAX)?;
        within("addresses", addresses.len(), ADDRESSES_MAX)?;
        let (ports, addresses) = (ports.into_iter().collect(), addresses.into_iter().collect());
        Ok(Self { lists, denied, ports, addresses, named: None })
    }

    /// Allows the destinations of a call that was judged, at their ports, spoken to in their schemes.
    ///
    /// Of these, what is not public is reached only if `named` names it; so `named` is made of what a
    /// person wrote. A destination with neither a port nor a scheme is not reached.
    pub fn judged(
        destinations: &[Destination],
        named: DomainSet,
        denied: DomainSet,
    ) -> Result<Self, TooManyDoors> {
        let patterns = destinations.iter().filter_map(|destination| {
            let Destination { scheme, host, port, .. } = destination;
            let port = port.or(scheme.map(Scheme::port))?;
            Some(DomainPattern::exactly(*scheme, host.clone(), port))
        });
        let allowed = Self::new(vec![DomainSet::new(patterns.collect())], denied)?;
        Ok(Self { named: Some(named), ..allowed })
    }

    /// Allows the same, but no address that is not public, whoever names it.
    #[must_use]
    pub fn public_only(self) -> Self {
        Self { named: Some(DomainSet::new(Vec::new())), ..self }
    }

    /// Returns the ports that a cage needs doors for: 80, 443 and every one that a pattern names.
    pub fn ports(&self) -> &[u16] {
        &self.ports
    }

    /// Returns the addresses that must lead to those doors, beside loopback ones.
    pub fn addresses(&self) -> &[IpAddr] {
        &self.addresses
    }

    /// Judges whether `name` may be reached at one port at least.
    pub(crate) fn admit_name(&self, name: &DnsName) -> Result<(), Refusal> {
        let host = Host::Name(name.clone());
        let mut refusal = Refusal::NotAllowed;
        for port in &self.ports {
            match self.judge(&host, *port) {
                Ok(()) => return Ok(()),
                Err(Refusal::Denied) => refusal = Refusal::Denied,
                Err(_) => {}
            }
        }
        Err(refusal)
    }

    /// Judges `target` by its host and port.
    pub(crate) fn admit(&self, target: Target) -> Result<Admitted, Refusal> {
        self.judge(target.host(), target.port())?;
        Ok(Admitted { target })
    }

    fn judge(&self, host: &Host, port: u16) -> Result<(), Refusal> {
        if self.denied.forbids(host, port) {
            return Err(Refusal::Denied);
        }
        // SECURITY: no list would otherwise mean that all of none agree.
        let is_admitted =
            !self.lists.is_empty() && self.lists.iter().all(|list| list.admits(host, port));
        if is_admitted { Ok(()) } else { Err(Refusal::NotAllowed) }
    }

    /// Judges what is spoken with `target`; `None` is nothing that we know.
    pub(crate) fn admit_speech(
        &self,
        target: &Target,
        spoken: Option<Scheme>,
    ) -> Result<(), Refusal> {
        let (host, port) = (target.host(), target.port());
        let admits = |list: &DomainSet| list.admits_speech(host, port, spoken);
        if self.lists.iter().all(admits) { Ok(()) } else { Err(Refusal::Speech) }
    }

    /// Checks every address that an admitted target was resolved to.
    ///
    /// SECURITY: one bad address refuses all of them. A name whose owner mixes public and private
    /// addresses waits for us to try the other one.
    pub(crate) fn check(
        &self,
        admitted: Admitted,
        addresses: &[IpAddr],
    ) -> Result<Checked, Refusal> {
        let target = admitted.target;
        for address in addresses {
            self.check_address(&target, *address)?;
        }
        let socket = |address: &IpAddr| SocketAddr::new(address.to_canonical(), target.port());
        let addresses = addresses.iter().take(TRIED_MAX).map(socket).collect();
        Ok(Checked { target, addresses })
    }

    fn check_address(&self, target: &Target, address: IpAddr) -> Result<(), Refusal> {
        let address = address.to_canonical();
        let is_denied = |it: IpAddr| self.denied.forbids(&host_of(it), target.port());
        if carried(address).any(is_denied) {
            return Err(Refusal::DeniedAddress(address));
        }
        let Some(special) = special(address) else { return Ok(()) };
        self.require_named(target, address, special)
    }

    /// Checks where a connection came out that has just been made to `address` from `local`.
    ///
    /// SECURITY: no table holds the public addresses of this machine, at which everything that
    /// listens for its neighbours would answer. A connection that begins where it ends is one.
    pub(crate) fn check_made(
        &self,
        target: &Target,
        local: IpAddr,
        address: IpAddr,
    ) -> Result<(), Refusal> {
        if local.to_canonical() != address.to_canonical() {
            return Ok(());
        }
        self.require_named(target, address, Special::Own)
    }

    /// Requires that every list names what must be named for a special address.
    fn require_named(
        &self,
        target: &Target,
        address: IpAddr,
        special: Special,
    ) -> Result<(), Refusal> {
        let port = target.port();
        let names_address = |list: &DomainSet| list.names(&host_of(address), port);
        let names_either =
            |list: &DomainSet| names_address(list) || list.names(target.host(), port);
        let lists = match &self.named {
            Some(named) => std::slice::from_ref(named),
            None => &self.lists,
        };
        let is_named = match special.naming() {
            Naming::HostOrAddress => lists.iter().all(names_either),
            Naming::Address => lists.iter().all(names_address),
            Naming::Never => false,
        };
        if is_named { Ok(()) } else { Err(Refusal::Special(address, special)) }
    }
}

/// Returns whether connections to `address` can be made at all, and would not reach a door anyway.
fn needs_door(address: IpAddr) -> bool {
    let is_loopback = match address {
        IpAddr::V4(address) => address.is_loopback(),
        IpAddr::V6(address) => address.is_loopback(),
    };
    let is_disguised = address.to_canonical() != address;
    let is_never = special(address).is_some_and(|special| special.naming() == Naming::Never);
    !is_loopback && !is_disguised && !is_never
}

// === impl Admitted ===

impl Admitted {
    pub(crate) fn target(&self) -> &Target {
        &self.target
    }
}

// === impl Checked ===

impl Checked {
    pub(crate) fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Gives up the proof for what it proved.
    pub(crate) fn into_parts(self) -> (Target, Vec<SocketAddr>) {
        (self.target, self.addresses)
    }
}

/// Returns what a connection to `address` at `port`, made in the cage, may have meant.
///
/// A synthetic address means its name and is not asked about here.
pub(crate) fn meant(address: IpAddr, port: u16) -> Vec<Target> {
    let address = address.to_canonical();
    if matches!(address, IpAddr::V4(address) if is_synthetic(address)) {
        return Vec::new();
    }
    let is_localhost = match address {
        IpAddr::V4(address) => address == Ipv4Addr::LOCALHOST,
        IpAddr::V6(address) => address.is_loopback(),
    };
    let localhost = is_localhost.then(|| "localhost".parse().ok()).flatten();
    let hosts = std::iter::once(host_of(address)).chain(localhost);
    hosts.filter_map(|host| Target::new(host, port)).collect()
}

#[cfg(test)]
mod tests;
