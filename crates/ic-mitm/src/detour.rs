//! The way to the provider through the proxy of a company.
//!
//! Only proxies that are spoken to in the clear, as `HTTPS_PROXY=http://…` says; the connection through
//! them is TLS with the provider all the same.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ic_home::environment::Network;
use ic_types::{Host, Secret};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use url::Url;

/// The longest answer of a proxy to `CONNECT`.
const HEAD_BYTES_MAX: usize = 16 << 10;

/// A proxy, and what it is told.
#[derive(Debug)]
pub struct Detour {
    /// Its host.
    pub host: Host,
    /// Its port.
    pub port: u16,
    credentials: Option<Secret<String>>,
}

/// A proxy that cannot be used; what it is said to be may hold a password, and is not repeated.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "`HTTPS_PROXY` has to be `http://HOST:PORT`; a proxy that itself speaks TLS is not supported"
)]
pub struct UnusableProxy;

impl Detour {
    /// Returns the proxy that leads to `host`, if one is to be used.
    pub fn to(host: &Host, network: &Network) -> Result<Option<Self>, UnusableProxy> {
        let Some(address) = &network.https_proxy else { return Ok(None) };
        if network.no_proxy.as_deref().is_some_and(|list| is_exempt(&host.to_string(), list)) {
            return Ok(None);
        }
        let address = match address.contains("://") {
            true => address.clone(),
            false => format!("http://{address}"),
        };
        let url = Url::parse(&address).map_err(|_| UnusableProxy)?;
        if url.scheme() != "http" {
            return Err(UnusableProxy);
        }
        let host = url.host().and_then(|it| Host::from_url_host(&it).ok()).ok_or(UnusableProxy)?;
        let port = url.port_or_known_default().ok_or(UnusableProxy)?;
        let decoded = |text: &str| {
            let pair = format!("={text}");
            let mut pairs = url::form_urlencoded::parse(pair.as_bytes());
            // In user names a plus is a plus.
            pairs.next().map(|(_, it)| it.into_owned()).unwrap_or_default()
        };
        let credentials = (!url.username().is_empty()).then(|| {
            let user = decoded(&url.username().replace('+', "%2B"));
            let password = decoded(&url.password().unwrap_or_default().replace('+', "%2B"));
            Secret::new(STANDARD.encode(format!("{user}:{password}")))
        });
        Ok(Some(Self { host, port, credentials }))
    }

    /// Asks the proxy for a connection to `authority`; returns why there is none.
    pub async fn pass(&self, stream: &mut TcpStream, authority: &str) -> Result<(), String> {
        let mut head = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n");
        if let Some(credentials) = &self.credentials {
            let credentials = crate::key::shown_text(credentials);
            head.extend(["Proxy-Authorization: Basic ", credentials, "\r\n"]);
        }
        head.push_str("\r\n");
        let head = zeroize::Zeroizing::new(head);
        let failed = |error: std::io::Error| format!("the proxy of `HTTPS_PROXY` fails: {error}");
        stream.write_all(head.as_bytes()).await.map_err(failed)?;
        let mut answer = Vec::new();
        // Byte by byte: what comes behind the head is not ours to read.
        while !answer.ends_with(b"\r\n\r\n") {
            let byte = stream.read_u8().await.map_err(failed)?;
            answer.push(byte);
            if HEAD_BYTES_MAX < answer.len() {
                return Err("the proxy of `HTTPS_PROXY` answers without end".to_owned());
            }
        }
        let line = String::from_utf8_lossy(answer.split(|it| *it == b'\r').next().unwrap_or(&[]));
        let mut words = line.split(' ');
        let is_http = words.next().is_some_and(|it| it.starts_with("HTTP/1."));
        match words.next() {
            Some(status) if is_http && status.len() == 3 && status.starts_with('2') => Ok(()),
            Some(status) => {
                let status: String = status.chars().filter(char::is_ascii_digit).take(3).collect();
                Err(format!("the proxy of `HTTPS_PROXY` refuses the connection (HTTP {status})"))
            }
            None => Err("the proxy of `HTTPS_PROXY` does not speak HTTP".to_owned()),
        }
    }
}

/// Returns whether `list` exempts `host`: by its name, by a domain that it is in, or with everything.
fn is_exempt(host: &str, list: &str) -> bool {
    list.split(',').map(str::trim).filter(|it| !it.is_empty()).any(|entry| {
        let entry = entry.to_ascii_lowercase();
        let domain = entry.trim_start_matches("*.").trim_start_matches('.');
        entry == "*"
            || host == domain
            || host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(proxy: &str, no_proxy: Option<&str>) -> Network {
        Network {
            https_proxy: Some(proxy.to_owned()),
            no_proxy: no_proxy.map(ToOwned::to_owned),
            extra_roots: None,
        }
    }

    #[test]
    fn a_proxy_is_used_unless_the_host_is_exempt() {
        let host: Host = "api.anthropic.com".parse().unwrap();
        let detour = |proxy: &str, exempt: Option<&str>| {
            Detour::to(&host, &network(proxy, exempt))
                .map(|it| it.map(|it| (it.host.to_string(), it.port)))
        };
        let found = Ok(Some(("proxy.corp.example".to_owned(), 3128)));
        assert_eq!(detour("http://proxy.corp.example:3128", None), found);
        assert_eq!(detour("proxy.corp.example:3128", Some("localhost,.internal")), found);
        assert_eq!(
            detour("http://proxy.corp.example:3128", Some("thropic.com,x.api.anthropic.com")),
            found
        );
        for exempt in
            ["*", "api.anthropic.com", ".anthropic.com", "*.anthropic.com", "x, Anthropic.com"]
        {
            assert_eq!(
                detour("http://proxy.corp.example:3128", Some(exempt)),
                Ok(None),
                "{exempt}"
            );
        }
        for bad in ["https://proxy.corp.example", "socks5://p:1", "http://", "::"] {
            assert_eq!(detour(bad, None), Err(UnusableProxy), "{bad}");
        }
        assert_eq!(Detour::to(&host, &Network::default()).unwrap().map(|it| it.port), None);
    }

    #[test]
    fn a_password_is_decoded_and_not_shown() {
        let host: Host = "api.anthropic.com".parse().unwrap();
        let detour = Detour::to(&host, &network("http://me:p%40ss+1@proxy.example:80", None))
            .unwrap()
            .unwrap();
        let credentials = crate::key::shown_text(detour.credentials.as_ref().unwrap());
        assert_eq!(STANDARD.decode(credentials).unwrap(), b"me:p@ss+1");
        assert!(!format!("{detour:?}").contains(credentials));
    }
}
