//! What one call may reach of other machines: what it was judged about, and nothing else.
//!
//! A server that is started for one call gets doors to the hosts of that call. Addresses that are not
//! public are behind them only if a person named the host with its port: in the policy, or among the
//! `allowedDomains` of the server. Nothing is resolved or connected here.

use ic_egress::{Allowed, TooManyDoors};
use ic_inventory::servers_file::ServerConfig;
use ic_policy::{Destination, DomainPattern, DomainSet, Policy, ResolvedCall, Scheme, Value};
use ic_types::{Role, ServerName};

/// A call that reaches no other machine.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum NoReach {
    /// The server is cut off.
    #[error("the servers file leaves the server `{0}` no host to reach")]
    CutOff(ServerName),
    /// There are too many hosts.
    #[error("{0}")]
    TooMany(#[from] TooManyDoors),
}

/// What is spoken on the way.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Talk {
    /// Nothing but the web's.
    Web,
    /// Ssh too, which asks an agent over a socket.
    Ssh,
}

impl Talk {
    /// Returns what a call about the URLs in `role` needs.
    pub fn of_call(call: &ResolvedCall, role: Role) -> Self {
        let is_ssh = |value: &Value| match value {
            Value::Url(url) => url.destination.scheme == Some(Scheme::Ssh),
            Value::Path(_) | Value::LocalRemote(_) | Value::Text(_) => false,
        };
        if call.values(role).iter().any(is_ssh) { Self::Ssh } else { Self::Web }
    }
}

/// Works out what a call about the URLs in `role` may reach.
pub(crate) fn of_call(
    call: &ResolvedCall,
    role: Role,
    policy: &Policy,
    config: &ServerConfig,
) -> Result<Allowed, NoReach> {
    if config.is_cut_off() {
        return Err(NoReach::CutOff(call.server().clone()));
    }
    let destinations: Vec<Destination> = call
        .values(role)
        .iter()
        .filter_map(|value| match value {
            Value::Url(url) => Some(url.destination.clone()),
            Value::Path(_) | Value::LocalRemote(_) | Value::Text(_) => None,
        })
        .collect();
    let named = destinations.iter().filter_map(|destination| {
        let port = is_named(destination, call.server(), policy, config)?;
        Some(DomainPattern::exactly(None, destination.host.clone(), port))
    });
    let denied = config.cage.denied_domains.clone();
    let denied = denied.unwrap_or_else(|| DomainSet::new(Vec::new()));
    Ok(Allowed::judged(&destinations, DomainSet::new(named.collect()), denied)?)
}

/// Returns the port of a destination that a person named with it.
fn is_named(
    destination: &Destination,
    server: &ServerName,
    policy: &Policy,
    config: &ServerConfig,
) -> Option<u16> {
    let Destination { scheme, host, port, .. } = destination;
    let port = port.or(scheme.map(Scheme::port))?;
    let lists = &config.allowed_domains;
    let by_entry = !lists.is_empty() && lists.iter().all(|list| list.names(host, port));
    (by_entry || policy.names_host(server, host, port)).then_some(port)
}

/// The one place that a page is fetched from, for a server that makes its connections itself.
#[derive(Clone, Debug)]
pub struct Origin {
    /// Where it is.
    pub(crate) destination: Destination,
    /// Whether a person named it, so that its addresses need not be public.
    pub(crate) is_named: bool,
}

impl Origin {
    /// Finds the one origin of a call of our fetch server, unless the server's entry forbids it.
    pub fn of_call(call: &ResolvedCall, policy: &Policy, config: &ServerConfig) -> Option<Self> {
        let [Value::Url(url)] = call.values(Role::FetchUrl) else { return None };
        let destination = url.destination.clone();
        let port = destination.port.or(destination.scheme.map(Scheme::port))?;
        let denied = config.cage.denied_domains.as_ref();
        if denied.is_some_and(|denied| denied.forbids(&destination.host, port)) {
            return None;
        }
        let is_named = is_named(&destination, call.server(), policy, config).is_some();
        Some(Self { destination, is_named })
    }
}
