//! Where packages come from: the addresses that the user's own settings name, and nothing else.
//!
//! An address on this machine or in a private network is reached because the user wrote it, with its port.

use ic_egress::Allowed;
use ic_policy::{DomainPattern, DomainSet, Scheme};
use ic_types::Host;
use url::Url;

use crate::error::Failure;

/// The hosts of a package index.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    origins: Vec<Origin>,
}

/// A host, how it is spoken to, and at which port.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Origin {
    scheme: Scheme,
    host: Host,
    port: u16,
}

impl Index {
    /// Adds the host of an address.
    pub(crate) fn add(&mut self, text: &str) -> Result<(), Failure> {
        let origin = Url::parse(text).ok().and_then(|url| Origin::of(&url)).ok_or_else(|| {
            let shown = crate::screen::visible(text.split('@').next_back().unwrap_or_default());
            Failure::config(format!(
                "`{shown}` in your package settings is not an http or https address"
            ))
        })?;
        if !self.origins.contains(&origin) {
            self.origins.push(origin);
        }
        Ok(())
    }

    /// Adds a host that is named without scheme, with or without a port.
    pub(crate) fn add_host(&mut self, text: &str) -> Result<(), Failure> {
        self.add(&format!("https://{text}"))?;
        // A host that is trusted without a certificate may be spoken to in the clear.
        self.add(&format!("http://{text}"))
    }

    /// Returns whether packages may come from `text`, an address written out in full.
    pub(crate) fn holds(&self, text: &str) -> bool {
        // SECURITY: `https:host`, backslashes and blanks are read differently by different programs.
        let is_plain = text.split_once("://").is_some_and(|(scheme, rest)| {
            scheme.bytes().all(|byte| byte.is_ascii_alphabetic()) && !rest.starts_with('/')
        });
        let is_plain =
            is_plain && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
        let origin = Url::parse(text).ok().filter(|_| is_plain).and_then(|url| Origin::of(&url));
        origin.is_some_and(|origin| self.origins.contains(&origin))
    }

    /// Returns whether credentials for `host`, with or without a port, are credentials for the index.
    pub(crate) fn is_host(&self, authority: &str) -> bool {
        self.holds(&format!("https://{authority}/")) || self.holds(&format!("http://{authority}/"))
    }

    /// Returns what an installer may reach.
    pub(crate) fn allowed(&self) -> Result<Allowed, Failure> {
        let patterns = self.origins.iter().map(|Origin { scheme, host, port }| {
            DomainPattern::exactly(Some(*scheme), host.clone(), *port)
        });
        let (lists, nobody) =
            (vec![DomainSet::new(patterns.collect())], DomainSet::new(Vec::new()));
        Allowed::new(lists, nobody).map_err(|error| {
            Failure::config("your package settings name too many hosts").with_source(error)
        })
    }
}

impl Origin {
    fn of(url: &Url) -> Option<Self> {
        let scheme = match url.scheme() {
            "https" => Scheme::Https,
            "http" => Scheme::Http,
            _ => return None,
        };
        let host = url.host_str()?.trim_start_matches('[').trim_end_matches(']').parse().ok()?;
        Some(Self { scheme, host, port: url.port_or_known_default()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_scheme_host_and_port() {
        let mut index = Index::default();
        index.add("https://user:secret@packages.example/npm/").unwrap();
        index.add("http://127.0.0.1:4873").unwrap();
        for (text, expected) in [
            ("https://packages.example/other/x.tgz", true),
            ("https://packages.example:443/x.tgz", true),
            ("http://packages.example/x.tgz", false),
            ("https://packages.example:8443/x.tgz", false),
            ("https://packages.example.evil.example/x.tgz", false),
            ("https://packages.example@evil.example/x.tgz", false),
            ("http://127.0.0.1:4873/x.tgz", true),
            ("http://127.0.0.1:4874/x.tgz", false),
            ("git+https://packages.example/x", false),
            ("file:///x.tgz", false),
            ("x.tgz", false),
            // Found by mutated inputs: some programs read these as the host, and some do not.
            ("https:packages.example/x.tgz", false),
            ("https:///packages.example/x.tgz", false),
            ("https:\\\\packages.example\\x.tgz", false),
            (" https://packages.example/x.tgz", false),
            ("https://packages.example/x\t.tgz", false),
        ] {
            assert_eq!(index.holds(text), expected, "{text}");
        }
        assert!(index.is_host("packages.example") && index.is_host("127.0.0.1:4873"));
        assert!(!index.is_host("127.0.0.1") && !index.is_host("evil.example"));
        for bad in ["", "packages.example", "ftp://packages.example/", "file:///x"] {
            assert!(index.add(bad).is_err(), "{bad}");
        }
    }
}
