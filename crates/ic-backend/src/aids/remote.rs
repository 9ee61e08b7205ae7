//! A remote that a call was judged about, in the words in which aids are asked for.
//!
//! Says nothing about whether anything is lent.

use ic_policy::{Scheme, UrlValue};
use ic_servers::git::user_of;

/// A remote that a call was judged about.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct JudgedRemote {
    /// The URL that git is given.
    pub(super) url: String,
    scheme: Scheme,
    /// The host as the URL has it, without user and port; an IPv6 address has no brackets.
    pub(super) host: String,
    pub(super) port: Option<u16>,
    /// The user that the URL names.
    pub(super) user: Option<String>,
    /// What follows the host, without the slash.
    pub(super) path: String,
}

impl JudgedRemote {
    /// Takes a judged URL; `None` if nothing is lent for such ones.
    pub(super) fn of(url: &UrlValue) -> Option<Self> {
        let scheme = match url.destination.scheme? {
            scheme @ (Scheme::Https | Scheme::Ssh) => scheme,
            Scheme::Http => return None,
        };
        let rest = url.text.split_once("://").map(|(_, rest)| rest);
        let path = rest.and_then(|rest| rest.split_once('/')).map_or("", |(_, path)| path);
        let host = url.destination.host.to_string();
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        Some(Self {
            url: url.text.clone(),
            scheme,
            host: bare.unwrap_or(&host).to_owned(),
            port: url.destination.port,
            user: user_of(&url.text).map(str::to_owned),
            path: path.to_owned(),
        })
    }

    pub(super) fn is_ssh(&self) -> bool {
        self.scheme == Scheme::Ssh
    }

    /// Returns the user as whom ssh logs in there.
    pub(super) fn ssh_user(&self) -> Option<&str> {
        self.user.as_deref().filter(|_| self.is_ssh())
    }

    /// Returns the host and port as git writes them for a credential helper.
    pub(super) fn authority(&self) -> String {
        let host = match self.host.contains(':') {
            true => format!("[{}]", self.host),
            false => self.host.clone(),
        };
        match self.port {
            Some(port) => format!("{host}:{port}"),
            None => host,
        }
    }

    /// Returns whether a credential that is asked for is the one for this remote.
    pub(super) fn is_asked_for(&self, protocol: &str, host: &str, path: &str) -> bool {
        self.scheme == Scheme::Https
            && protocol == "https"
            && host == self.authority()
            && path == self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ic_resolve::remote::{Remote, parse};

    fn judged(text: &str) -> JudgedRemote {
        match parse(text) {
            Ok(Remote::Network(url)) => JudgedRemote::of(&url).unwrap(),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn a_remote_is_taken_apart_as_git_does() {
        for (text, authority, user, path) in [
            ("https://A.example/o/r.git", "a.example", None, "o/r.git"),
            ("https://ada@a.example:8443/o/r", "a.example:8443", Some("ada"), "o/r"),
            ("https://[::1]:8443/r", "[::1]:8443", None, "r"),
            ("ssh://git@a.example:2222/o/r", "a.example:2222", Some("git"), "o/r"),
            ("git@a.example:o/r", "a.example", Some("git"), ""),
        ] {
            let remote = judged(text);
            assert_eq!(remote.authority(), authority, "{text}");
            assert_eq!(remote.user.as_deref(), user, "{text}");
            assert_eq!(remote.path, path, "{text}");
        }
    }

    #[test]
    fn a_credential_is_for_one_host_port_and_repository() {
        let remote = judged("https://a.example:8443/o/r.git");
        assert!(remote.is_asked_for("https", "a.example:8443", "o/r.git"));
        for (protocol, host, path) in [
            ("http", "a.example:8443", "o/r.git"),
            ("https", "a.example", "o/r.git"),
            ("https", "a.example:443", "o/r.git"),
            ("https", "b.example:8443", "o/r.git"),
            ("https", "a.example:8443", "o/other.git"),
            ("https", "a.example:8443\nhost=b.example", "o/r.git"),
        ] {
            assert!(!remote.is_asked_for(protocol, host, path), "{protocol} {host} {path}");
        }
        assert!(!judged("ssh://git@a.example/o/r").is_asked_for("https", "a.example", "o/r"));
    }
}
