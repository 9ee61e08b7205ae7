//! What is written out for a server on another machine: its address, whom it may lead to, its headers.
//!
//! Nothing is connected to here.

use std::sync::Arc;

use ic_egress::{Allowed, Target};
use ic_inventory::servers_file::{RemoteServer, ServerConfig, Start};
use ic_policy::{Destination, DomainSet, Scheme};
use ic_servers::fetch::tls::Trust;
use ic_types::{Host, Secret};

use super::{LaunchFault, Recipe};
use crate::server::remote::RemoteSpec;
use crate::server::remote::headers::{self, Headers};

impl Recipe {
    /// Writes out how a server on another machine is connected to.
    ///
    /// SECURITY: its host is judged as a call's would be. That it stands in `url` makes it reachable if
    /// it is public; what is not public has to stand in `allowedDomains` too, with its port.
    pub(crate) fn remote(&self) -> Result<RemoteSpec, LaunchFault> {
        let Start::Url(RemoteServer { url, headers }) = &self.config.start else {
            return Err(LaunchFault::Address("it runs on this machine".to_owned()));
        };
        let address = |reason: &str| LaunchFault::Address(reason.to_owned());
        let host: Host = url
            .host_str()
            .and_then(|it| it.trim_matches(['[', ']']).parse().ok())
            .ok_or_else(|| address("it has no host"))?;
        let port = url.port_or_known_default().unwrap_or(Scheme::Https.port());
        let target = Target::new(host, port).ok_or_else(|| address("port 0 cannot be used"))?;
        let destination = Destination {
            scheme: Some(Scheme::Https),
            host: target.host().clone(),
            port: Some(port),
            repository: None,
        };
        let named = self.config.allowed_domains.first().cloned();
        let nobody = || DomainSet::new(Vec::new());
        let named = named.filter(|_| !self.config.is_cut_off()).unwrap_or_else(nobody);
        let allowed = Allowed::judged(&[destination], named, nobody());
        let filled = headers
            .iter()
            .map(|(name, text)| self.lent.fill("headers", text).map(|value| (name.clone(), value)));
        let headers = Headers::new(filled.collect::<Result<_, _>>()?);
        let trust = match &self.lent.certificates {
            Some(file) => Trust::File(file.as_path().to_owned()),
            None => Trust::System,
        };
        Ok(RemoteSpec {
            url: url.clone(),
            target,
            allowed: allowed.map_err(LaunchFault::Hosts)?,
            headers: headers.map_err(|fault| LaunchFault::Header(fault.to_string()))?,
            trust,
        })
    }
}

/// Returns what must be masked of the headers that a server on another machine is sent; `variables` are
/// what `${ENV:NAME}` stand for.
pub fn secrets_of(
    config: &ServerConfig,
    variables: &[(String, String)],
) -> Vec<Arc<Secret<String>>> {
    let Start::Url(remote) = &config.start else { return Vec::new() };
    let filled = |text: &str| {
        variables.iter().fold(text.to_owned(), |text, (name, value)| {
            text.replace(&format!("${{ENV:{name}}}"), value)
        })
    };
    let of = |(name, text): (&String, &String)| headers::secrets(name, text, &filled(text));
    remote.headers.iter().flat_map(of).collect()
}
