//! URLs to fetch: one parser, one spelling, http and https only.
//!
//! Does not look up names; an address in any spelling is recognised as one.

use ::url::Url;
use ic_policy::{Destination, Scheme, UrlValue};
use ic_types::Host;

/// Why a URL or a remote cannot be used.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum UrlFault {
    /// The text holds control characters, or white space at an end.
    #[error("it contains control characters, or white space around it")]
    Control,
    /// The text, or a part of it, could be taken for an option.
    #[error(
        "it, its user, its host or its path begins with `-`, which programs take for an option"
    )]
    Dash,
    /// The text is no URL.
    #[error("it is not a URL: {0}")]
    NoUrl(String),
    /// Another scheme than `http` or `https`.
    #[error("`{0}:` is not fetched, only `https:` and `http:`")]
    Scheme(String),
    /// The URL holds a user name or a password.
    #[error("it contains a user name or password")]
    UserInformation,
    /// The URL names no host that could exist.
    #[error("it has no valid host")]
    Host,
    /// A git remote of a kind that can do more than carry objects.
    #[error("only `https:`, `ssh:` and `host:path` remotes are used, not `{0}`")]
    Transport(String),
    /// A git remote with a part that a remote does not have.
    #[error("a remote has no {0}")]
    NotInRemote(&'static str),
}

/// Reads a URL that is to be fetched.
///
/// Spaces around it are left out, as the URL standard does; the standard would leave control characters
/// out, too, and those are refused.
pub fn parse_fetch_url(text: &str) -> Result<UrlValue, UrlFault> {
    let text = text.trim_matches(' ');
    check_text(text)?;
    let mut url = Url::parse(text).map_err(|error| UrlFault::NoUrl(error.to_string()))?;
    let scheme = match url.scheme() {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        other => return Err(UrlFault::Scheme(other.to_owned())),
    };
    if !url.username().is_empty() || url.password().is_some() {
        return Err(UrlFault::UserInformation);
    }
    let host = canonical_host(&mut url)?;
    let destination =
        Destination { scheme: Some(scheme), host, port: url.port(), repository: None };
    Ok(UrlValue { text: url.into(), destination })
}

/// Refuses what no URL and no remote may hold.
pub(crate) fn check_text(text: &str) -> Result<(), UrlFault> {
    match text {
        text if text.chars().any(char::is_control) || text.trim() != text => Err(UrlFault::Control),
        text if text.starts_with('-') => Err(UrlFault::Dash),
        _ => Ok(()),
    }
}

/// Reads the host, and writes it back where a trailing dot was dropped.
pub(crate) fn canonical_host(url: &mut Url) -> Result<Host, UrlFault> {
    let host =
        Host::from_url_host(&url.host().ok_or(UrlFault::Host)?).map_err(|_| UrlFault::Host)?;
    let text = host.to_string();
    if url.host_str() != Some(text.as_str()) {
        url.set_host(Some(&text)).map_err(|_| UrlFault::Host)?;
    }
    Ok(host)
}
