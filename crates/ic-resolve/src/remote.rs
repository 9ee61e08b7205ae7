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
            "file" => file(scheme, rest).map(Remote::Local),
            other => Err(UrlFault::Transport(format!("{other}:"))),
        };
    }
    if is_over_ssh(text) {
        return scp_like(text).map(Remote::Network);
    }
    // SECURITY: git looks for a host in brackets anywhere, and takes the path from behind it.
    if text.contains(['[', ']']) {
        return Err(UrlFault::NotInRemote("brackets but around an address"));
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

/// Returns whether git takes the text for `user@host:path`: a colon before any slash.
fn is_over_ssh(text: &str) -> bool {
    text.find([':', '/']).is_some_and(|first| text.get(first..).is_some_and(|c| c.starts_with(':')))
}

fn scp_like(text: &str) -> Result<UrlValue, UrlFault> {
    let after_user = text.find("@[").map_or(0, |at| at + 1);
    let is_address = text.get(after_user..).is_some_and(|host| host.starts_with('['));
    let after_address = if is_address { text.find(']').ok_or(UrlFault::Host)? } else { 0 };
    let (authority, path) = text
        .get(after_address..)
        .and_then(|rest| text.split_at_checked(after_address + rest.find(':')?))
        .ok_or(UrlFault::Host)?;
    let path = path.get(1..).unwrap_or_default();
    // SECURITY: git drops the first character before any `~`, and not only a slash.
    if path.get(1..).is_some_and(|rest| rest.starts_with('~')) && !path.starts_with('/') {
        return Err(UrlFault::NotInRemote("`~` in its path but at the start"));
    }
    over_ssh(text, authority, None, repository(path)?)
}

/// Reads what follows `file://`: an absolute path that git takes as it stands.
fn file(scheme: &str, path: &str) -> Result<String, UrlFault> {
    // SECURITY: git decodes the path, takes another scheme's name for a helper's, and looks for a
    // host in brackets anywhere.
    if scheme == "file" && path.starts_with('/') && !path.contains(['%', '[', ']']) {
        Ok(path.to_owned())
    } else {
        Err(UrlFault::NotInRemote("`file:` but with three slashes and a plain path"))
    }
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
    let repository = repository(&decoded(url.path())?)?;
    let destination =
        Destination { scheme: Some(Scheme::Https), host, port: url.port(), repository };
    Ok(UrlValue { text: url.into(), destination })
}

fn ssh(text: &str, rest: &str) -> Result<UrlValue, UrlFault> {
    let path_at = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(path_at).ok_or(UrlFault::Host)?;
    let repository = repository(&decoded(path)?)?;
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
            over_ssh(text, host, Some(port), repository)
        }
        None => over_ssh(text, authority, None, repository),
    }
}

fn over_ssh(
    text: &str,
    authority: &str,
    port: Option<u16>,
    repository: Option<String>,
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
    let judged: Host = host.parse().map_err(|_| UrlFault::Host)?;
    // SECURITY: ssh is handed the host as it stands, and knows nothing of the spellings of a URL.
    let plain = host.to_ascii_lowercase();
    if plain.strip_suffix('.').unwrap_or(&plain) != judged.to_string() {
        return Err(UrlFault::Host);
    }
    let destination = Destination { scheme: Some(Scheme::Ssh), host: judged, port, repository };
    Ok(UrlValue { text: text.to_owned(), destination })
}

/// Decodes the path of a URL, as git does for ssh and a server for https.
///
/// Refuses what could be decoded to another path by one of them, or twice.
fn decoded(path: &str) -> Result<String, UrlFault> {
    let fault = UrlFault::NotInRemote("such encoding in its path");
    let mut parts = path.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2).ok_or_else(|| fault.clone())?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(fault);
        }
        let byte = u8::from_str_radix(digits, 16).map_err(|_| fault.clone())?;
        if byte.is_ascii_control() || matches!(byte, b'/' | b'.' | b'%' | b'\\' | b' ') {
            return Err(fault);
        }
        bytes.push(byte);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).map_err(|_| fault)
}

/// Reads `owner/repo` out of a path: no `.git`, no slashes around it.
fn repository(path: &str) -> Result<Option<String>, UrlFault> {
    if path.contains("//") {
        return Err(UrlFault::NotInRemote("`//` in its path"));
    }
    // SECURITY: git looks for a host in brackets behind the host too.
    if path.contains(['[', ']']) {
        return Err(UrlFault::NotInRemote("brackets but around an address"));
    }
    let path = path.trim_matches('/');
    let name = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
    if name.starts_with('-') {
        return Err(UrlFault::Dash);
    }
    if name.split('/').any(|part| matches!(part, "." | "..")) {
        return Err(UrlFault::NotInRemote("`.` or `..` in its path"));
    }
    if name.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(UrlFault::NotInRemote("white space or control characters in its path"));
    }
    Ok((!name.is_empty()).then(|| name.to_owned()))
}
