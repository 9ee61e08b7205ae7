//! Git remotes as text: the forms that carry objects over https or ssh, and nothing else.
//!
//! Git knows many more, some of which run programs (`ext::`) or read any directory. What a *name*
//! stands for is found in a repository by [`crate::git`].

use ::url::Url;
use ic_policy::{Destination, Scheme, UrlValue};
use ic_types::Host;

use crate::url::{UrlFault, canonical_host, check_text};

/// What the text of a remote means.
#[derive(Clone, Debug)]
pub enum Remote {
    /// A repository on another host.
    Network(UrlValue),
    /// A directory of this machine.
    Local(String),
    /// The name of a remote, to be looked up in a repository.
    Name(String),
}

/// Reads the text of a remote.
pub fn parse(text: &str) -> Result<Remote, UrlFault> {
    check_text(text)?;
    if text.is_empty() {
        return Err(UrlFault::NoUrl("it is empty".to_owned()));
    }
    if let Some(helper) = helper(text) {
        return Err(UrlFault::Transport(format!("{helper}::")));
    }
    if let Some((scheme, rest)) = text.split_once("://") {
        return match scheme.to_ascii_lowercase().as_str() {
            "https" => https(text, rest).map(Remote::Network),
            "ssh" => ssh(text, rest).map(Remote::Network),
            "file" => Ok(Remote::Local(rest.to_owned())),
            other => Err(UrlFault::Transport(format!("{other}:"))),
        };
    }
    if let Some((host, path)) = scp_like(text) {
        return over_ssh(text, host, None, path).map(Remote::Network);
    }
    let is_path = matches!(text, "." | "..")
        || ["/", "./", "../", "~"].iter().any(|start| text.starts_with(start));
    Ok(if is_path { Remote::Local(text.to_owned()) } else { Remote::Name(text.to_owned()) })
}

/// Returns the helper of `helper::address`, which git would run as a program.
fn helper(text: &str) -> Option<&str> {
    let (helper, _) = text.split_once("::")?;
    let is_name =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b'_');
    helper.bytes().all(is_name).then_some(helper)
}

/// Splits `user@host:path`: a colon before any slash.
fn scp_like(text: &str) -> Option<(&str, &str)> {
    let after_address = match text.find(']') {
        Some(end) if text.contains('[') => end,
        Some(_) | None => 0,
    };
    let colon = after_address + text.get(after_address..)?.find(':')?;
    let (host, path) = (text.get(..colon)?, text.get(colon + 1..)?);
    (!host.contains('/')).then_some((host, path))
}

fn https(text: &str, rest: &str) -> Result<UrlValue, UrlFault> {
    let (authority, raw_path) = rest.split_once('/').unwrap_or((rest, ""));
    // SECURITY: git and curl read such authorities differently from a WHATWG parser, and git is
    // handed the URL of a repository's config as it stands there.
    let is_odd = |c: char| !c.is_ascii_graphic() || matches!(c, '%' | '\\');
    if authority.contains(is_odd) || 1 < authority.matches('@').count() {
        return Err(UrlFault::Host);
    }
    let mut url = Url::parse(text).map_err(|error| UrlFault::NoUrl(error.to_string()))?;
    if url.password().is_some() {
        return Err(UrlFault::UserInformation);
    }
    if url.username().starts_with('-') {
        return Err(UrlFault::Dash);
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(UrlFault::NotInRemote("query or fragment"));
    }
    if url.path().trim_start_matches('/') != raw_path.trim_start_matches('/') {
        return Err(UrlFault::NotInRemote("path that has to be rewritten"));
    }
    let host = canonical_host(&mut url)?;
    let repository = repository(url.path())?;
    let destination =
        Destination { scheme: Some(Scheme::Https), host, port: url.port(), repository };
    Ok(UrlValue { text: url.into(), destination })
}

fn ssh(text: &str, rest: &str) -> Result<UrlValue, UrlFault> {
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let after_address = authority.rfind(']').unwrap_or(0);
    let after_user = authority.rfind('@').map_or(0, |at| at + 1).max(after_address);
    let port_at = authority.get(after_user..).and_then(|host| host.rfind(':'));
    match port_at {
        Some(colon) => {
            let (host, port) =
                authority.split_at_checked(after_user + colon).ok_or(UrlFault::Host)?;
            let digits = port.get(1..).unwrap_or_default();
            let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            let port = digits.parse().ok().filter(|_| is_number).ok_or(UrlFault::Host)?;
            over_ssh(text, host, Some(port), path)
        }
        None => over_ssh(text, authority, None, path),
    }
}

fn over_ssh(
    text: &str,
    authority: &str,
    port: Option<u16>,
    path: &str,
) -> Result<UrlValue, UrlFault> {
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    if user.is_some_and(|user| user.starts_with('-')) || host.starts_with('-') {
        return Err(UrlFault::Dash);
    }
    let is_user_byte =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'+');
    if user.is_some_and(|user| user.is_empty() || !user.bytes().all(is_user_byte)) {
        return Err(UrlFault::UserInformation);
    }
    let host: Host = host.parse().map_err(|_| UrlFault::Host)?;
    let scheme = Some(Scheme::Ssh);
    let destination = Destination { scheme, host, port, repository: repository(path)? };
    Ok(UrlValue { text: text.to_owned(), destination })
}

/// Reads `owner/repo` out of a path: no `.git`, no slashes around it.
fn repository(path: &str) -> Result<Option<String>, UrlFault> {
    let path = path.trim_matches('/');
    let name = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
    if name.starts_with('-') {
        return Err(UrlFault::Dash);
    }
    if name.split('/').any(|part| matches!(part, "." | "..")) {
        return Err(UrlFault::NotInRemote("`.` or `..` in its path"));
    }
    if name.chars().any(char::is_whitespace) {
        return Err(UrlFault::NotInRemote("white space in its path"));
    }
    Ok((!name.is_empty()).then(|| name.to_owned()))
}
