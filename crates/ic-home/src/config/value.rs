//! What a key may hold: each kind of value is checked, read and described here.
//!
//! A value is read by one function, whether it is only checked or used; so what passes the check
//! is what the program gets.

use std::fmt::Write as _;
use std::path::PathBuf;

use ic_types::{AbsolutePath, Host, Json, ModelId, Object};
use url::Url;

use crate::config::Registry;
use crate::environment::{self, Environment};
use crate::policy_name::PolicyChoice;

/// What a key may hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// `true` or `false`.
    Switch,
    /// A whole number.
    Whole {
        /// The smallest.
        min: u64,
        /// The largest.
        max: u64,
    },
    /// A whole number, or `null` for no limit.
    WholeOrOff {
        /// The smallest.
        min: u64,
        /// The largest.
        max: u64,
    },
    /// A number.
    Decimal {
        /// The smallest.
        min: f64,
        /// The largest.
        max: f64,
    },
    /// A number, or `null` for no limit.
    DecimalOrOff {
        /// The smallest.
        min: f64,
        /// The largest.
        max: f64,
    },
    /// One of some words.
    Choice(&'static [&'static str]),
    /// A model.
    Model,
    /// A key of a provider, which is never shown.
    Secret,
    /// The address of a server.
    Url,
    /// A list of paths.
    Paths,
    /// A policy: its name, or its directory.
    Policy,
    /// A program of the user's with its arguments, or `null` for none.
    Command,
    /// A container image.
    Image,
    /// A list of Debian packages.
    Packages,
    /// A list of package registries.
    Registries,
    /// Where requests for a host are sent.
    Upstream,
    /// A list of keys of a request.
    RequestKeys,
}

/// Where requests for a provider's host are sent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Upstream {
    /// The server.
    pub url: Url,
    /// The certificate authority that it is checked against, if not the system's.
    pub ca_file: Option<AbsolutePath>,
}

/// A program of the user's.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UserCommand {
    /// The program: an absolute path, or a name to be looked for.
    pub program: PathBuf,
    /// Its arguments, each as it is to arrive.
    pub arguments: Vec<String>,
}

/// The longest list.
const ITEMS_MAX: usize = 1024;
/// The longest command line, in words.
const WORDS_MAX: usize = 64;
/// The longest word of a command line.
const WORD_BYTES_MAX: usize = 4096;
/// How much of a wrong value is shown.
const SHOWN_CHARS_MAX: usize = 60;

impl Kind {
    /// Says why `json` cannot be a value of this kind; never repeats a secret.
    pub fn check(self, json: &Json, environment: &Environment) -> Result<(), String> {
        let reason = match self {
            Self::Switch => switch(json).err(),
            Self::Whole { min, max } => whole(json, min, max).err(),
            Self::WholeOrOff { min, max } => or_off(json, |it| whole(it, min, max)).err(),
            Self::Decimal { min, max } => decimal(json, min, max).err(),
            Self::DecimalOrOff { min, max } => or_off(json, |it| decimal(it, min, max)).err(),
            Self::Choice(words) => choice(json, words).err(),
            Self::Model => model(json).err(),
            Self::Secret => secret(json).err(),
            Self::Url => url(json).err(),
            Self::Paths => paths(json, environment).err(),
            Self::Policy => policy(json, environment).err(),
            Self::Command => or_off(json, |it| command(it, environment)).err(),
            Self::Image => image(json).err(),
            Self::Packages => packages(json).err(),
            Self::Registries => registries(json).err(),
            Self::Upstream => upstream(json, environment).err(),
            Self::RequestKeys => request_keys(json).err(),
        };
        match reason {
            None => Ok(()),
            Some(reason) => Err(format!("{reason}; allowed is {}", self.allowed())),
        }
    }

    /// Says what a value may be.
    pub fn allowed(self) -> String {
        match self {
            Self::Switch => "`true` or `false`".to_owned(),
            Self::Whole { min, max } => format!("a whole number from {min} to {max}"),
            Self::WholeOrOff { min, max } => {
                format!("a whole number from {min} to {max}, or `null` for no limit")
            }
            Self::Decimal { min, max } => format!("a number from {min} to {max}"),
            Self::DecimalOrOff { min, max } => {
                format!("a number from {min} to {max}, or `null` for no limit")
            }
            Self::Choice(words) => format!("one of `{}`", words.join("`, `")),
            Self::Model => "a model as `provider:model`, with `anthropic`, `openai`, `google` or \
                            `openai-compatible` as provider, or the bare name of one of Anthropic's"
                .to_owned(),
            Self::Secret => format!(
                "a key of 1 to {} printable ASCII characters without spaces",
                environment::KEY_BYTES_MAX
            ),
            Self::Url => ALLOWED_URL.to_owned(),
            Self::Paths => {
                format!("a list of up to {ITEMS_MAX} paths, absolute or beginning with `~/`")
            }
            Self::Policy => "the name of a policy, or its directory as a path that is absolute or \
                             begins with `~/`"
                .to_owned(),
            Self::Command => format!(
                "a program, or a list of up to {WORDS_MAX} words that begins with it, or `null` for none; the \
                 program is a name without `/`, or a path that is absolute or begins with `~/`"
            ),
            Self::Image => "an image name such as `debian:bookworm-slim`".to_owned(),
            Self::Packages => format!("a list of up to {ITEMS_MAX} names of Debian packages"),
            Self::Registries => {
                format!("a list of {}", Registry::ALL.map(|it| format!("`{it}`")).join(", "))
            }
            Self::Upstream => format!(
                "an object with `url`, {ALLOWED_URL}, and perhaps `caFile`, a path that is \
                 absolute or begins with `~/`"
            ),
            Self::RequestKeys => {
                format!("a list of up to {ITEMS_MAX} names of 1 to 64 letters, digits and `_`")
            }
        }
    }

    /// Returns whether values are plain text, which needs no quotes on the command line.
    pub fn is_text(self) -> bool {
        match self {
            Self::Choice(_)
            | Self::Model
            | Self::Secret
            | Self::Url
            | Self::Policy
            | Self::Command
            | Self::Image => true,
            Self::Switch
            | Self::Whole { .. }
            | Self::WholeOrOff { .. }
            | Self::Decimal { .. }
            | Self::DecimalOrOff { .. }
            | Self::Paths
            | Self::Packages
            | Self::Registries
            | Self::Upstream
            | Self::RequestKeys => false,
        }
    }
}

const ALLOWED_URL: &str = "an `https:` URL without user, query or fragment, or an `http:` one of \
                           this machine or a private network";

pub(crate) fn switch(json: &Json) -> Result<bool, String> {
    match json {
        Json::Bool(value) => Ok(*value),
        other => Err(unexpected(other)),
    }
}

pub(crate) fn whole(json: &Json, min: u64, max: u64) -> Result<u64, String> {
    let number = match json {
        Json::Number(number) => number.as_str().parse().ok(),
        _ => None,
    };
    number.filter(|number| (min..=max).contains(number)).ok_or_else(|| unexpected(json))
}

pub(crate) fn decimal(json: &Json, min: f64, max: f64) -> Result<f64, String> {
    let number: Option<f64> = match json {
        Json::Number(number) => number.as_str().parse().ok(),
        _ => None,
    };
    number.filter(|number| (min..=max).contains(number)).ok_or_else(|| unexpected(json))
}

pub(crate) fn or_off<T>(
    json: &Json,
    read: impl Fn(&Json) -> Result<T, String>,
) -> Result<Option<T>, String> {
    match json {
        Json::Null => Ok(None),
        json => read(json).map(Some),
    }
}

pub(crate) fn choice<'a>(json: &'a Json, words: &[&str]) -> Result<&'a str, String> {
    json.as_str().filter(|text| words.contains(text)).ok_or_else(|| unexpected(json))
}

pub(crate) fn model(json: &Json) -> Result<ModelId, String> {
    let text = json.as_str().ok_or_else(|| unexpected(json))?;
    text.parse().map_err(|_| unexpected(json))
}

/// Reads a key; the reason never repeats it.
pub(crate) fn secret(json: &Json) -> Result<&str, String> {
    let text = json.as_str().ok_or_else(|| "it is not text".to_owned())?;
    environment::check_key(text.as_bytes()).map_err(str::to_owned)
}

pub(crate) fn url(json: &Json) -> Result<Url, String> {
    let text = json.as_str().ok_or_else(|| unexpected(json))?;
    let url = Url::parse(text).map_err(|error| format!("{}: {error}", unexpected(json)))?;
    let is_plain = url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    let host = url.host().and_then(|host| {
        let host = host.to_owned();
        let borrowed = match &host {
            url::Host::Domain(name) => url::Host::Domain(name.as_str()),
            url::Host::Ipv4(address) => url::Host::Ipv4(*address),
            url::Host::Ipv6(address) => url::Host::Ipv6(*address),
        };
        Host::from_url_host(&borrowed).ok()
    });
    // SECURITY: a key sent over plain HTTP can be read by everyone on the way.
    let is_safe = match (url.scheme(), &host) {
        ("https", Some(_)) => true,
        ("http", Some(host)) => is_near(host),
        _ => false,
    };
    if is_plain && is_safe { Ok(url) } else { Err(unexpected(json)) }
}

/// Returns whether a host can only be this machine or one of a private network.
fn is_near(host: &Host) -> bool {
    match host {
        Host::Name(_) => !host.is_public_name(),
        Host::V4(address) => {
            address.is_loopback() || address.is_private() || address.is_link_local()
        }
        Host::V6(address) => {
            address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local()
        }
    }
}

pub(crate) fn paths(json: &Json, environment: &Environment) -> Result<Vec<AbsolutePath>, String> {
    list(json)?.iter().map(|item| path(item, environment)).collect()
}

pub(crate) fn path(json: &Json, environment: &Environment) -> Result<AbsolutePath, String> {
    let text = json.as_str().ok_or_else(|| unexpected(json))?;
    let path = match text.strip_prefix('~') {
        Some("") => environment.home().map_err(|error| error.to_string())?.as_path().to_owned(),
        Some(rest) => match rest.strip_prefix('/') {
            Some(rest) => {
                let home = environment.home().map_err(|error| error.to_string())?;
                home.as_path().join(rest.trim_start_matches('/'))
            }
            None => return Err(unexpected(json)),
        },
        None => text.into(),
    };
    AbsolutePath::new(path).map_err(|reason| format!("{}: {reason}", unexpected(json)))
}

pub(crate) fn policy(json: &Json, environment: &Environment) -> Result<PolicyChoice, String> {
    let text = json.as_str().ok_or_else(|| unexpected(json))?;
    match text.starts_with(['/', '~']) {
        true => path(json, environment).map(PolicyChoice::Directory),
        false => text.parse().map(PolicyChoice::Named).map_err(|_| unexpected(json)),
    }
}

/// Reads a command: a program alone, or a list of words that begins with it.
pub(crate) fn command(json: &Json, environment: &Environment) -> Result<UserCommand, String> {
    let words = match json {
        Json::Array(words) if words.len() <= WORDS_MAX => words.as_slice(),
        Json::Array(words) => return Err(format!("it has {} words", words.len())),
        one => std::slice::from_ref(one),
    };
    let word = |item: &Json| match item.as_str() {
        Some(text) if text.len() <= WORD_BYTES_MAX && !text.contains('\0') => Ok(text.to_owned()),
        Some(_) | None => Err(unexpected(item)),
    };
    let words = words.iter().map(word).collect::<Result<Vec<String>, String>>()?;
    let [program, arguments @ ..] = words.as_slice() else { return Err(unexpected(json)) };
    let program = match program.as_str() {
        // SECURITY: what a relative path means would depend on where a session is started.
        name if !name.is_empty() && !name.contains('/') && !name.starts_with('~') => name.into(),
        name => path(&Json::from(name), environment)?.as_path().to_owned(),
    };
    Ok(UserCommand { program, arguments: arguments.to_vec() })
}

pub(crate) fn image(json: &Json) -> Result<&str, String> {
    let is_image = |text: &&str| {
        (1..=255).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./:@".contains(&b))
            && text.starts_with(|first: char| first.is_ascii_alphanumeric())
    };
    json.as_str().filter(is_image).ok_or_else(|| unexpected(json))
}

pub(crate) fn packages(json: &Json) -> Result<Vec<String>, String> {
    let is_package = |text: &str| {
        (2..=128).contains(&text.len())
            && text
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"+-.".contains(&b))
            && text.starts_with(|first: char| first.is_ascii_alphanumeric())
    };
    words(json, is_package)
}

pub(crate) fn registries(json: &Json) -> Result<Vec<Registry>, String> {
    let names = words(json, |text| Registry::of(text).is_some())?;
    Ok(names.iter().filter_map(|it| Registry::of(it)).collect())
}

pub(crate) fn request_keys(json: &Json) -> Result<Vec<String>, String> {
    let is_key = |text: &str| {
        (1..=64).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    words(json, is_key)
}

pub(crate) fn upstream(json: &Json, environment: &Environment) -> Result<Upstream, String> {
    let Json::Object(object) = json else { return Err(unexpected(json)) };
    if let Some(key) = object.keys().find(|key| !matches!(*key, "url" | "caFile")) {
        return Err(format!("there is no key `{}` in it", key.escape_debug()));
    }
    let server = object.get("url").ok_or_else(|| "`url` is missing".to_owned())?;
    let ca_file = object.get("caFile").map(|it| path(it, environment)).transpose();
    Ok(Upstream {
        url: url(server).map_err(|reason| format!("`url`: {reason}"))?,
        ca_file: ca_file.map_err(|reason| format!("`caFile`: {reason}"))?,
    })
}

fn words(json: &Json, is_word: impl Fn(&str) -> bool) -> Result<Vec<String>, String> {
    let word = |item: &Json| match item.as_str().filter(|text| is_word(text)) {
        Some(text) => Ok(text.to_owned()),
        None => Err(unexpected(item)),
    };
    list(json)?.iter().map(word).collect()
}

fn list(json: &Json) -> Result<&[Json], String> {
    match json {
        Json::Array(items) if items.len() <= ITEMS_MAX => Ok(items),
        Json::Array(items) => Err(format!("it has {} items", items.len())),
        other => Err(unexpected(other)),
    }
}

/// Shows a value that was not expected, shortened.
fn unexpected(json: &Json) -> String {
    let text = json.to_string();
    let mut shown: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    if shown.len() < text.len() {
        // Writing to a string cannot fail.
        write!(shown, "…").ok();
    }
    format!("found `{shown}`")
}

/// Writes a document with one line for each value, as people edit it.
pub(crate) fn pretty(json: &Json) -> String {
    let mut out = String::new();
    write_pretty(&mut out, json, 0);
    out.push('\n');
    out
}

fn write_pretty(out: &mut String, json: &Json, depth: usize) {
    let new_line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    };
    match json {
        Json::Object(object) if !object.is_empty() => {
            out.push('{');
            for (at, (key, value)) in object.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                new_line(out, depth + 1);
                out.push_str(&Json::from(key).to_string());
                out.push_str(": ");
                write_pretty(out, value, depth + 1);
            }
            new_line(out, depth);
            out.push('}');
        }
        Json::Array(items) if !items.is_empty() => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                new_line(out, depth + 1);
                write_pretty(out, item, depth + 1);
            }
            new_line(out, depth);
            out.push(']');
        }
        plain => out.push_str(&plain.to_string()),
    }
}

/// Makes an object of `entries`.
pub(crate) fn object<const N: usize>(entries: [(&str, Json); N]) -> Object {
    let mut object = Object::new();
    for (key, value) in entries {
        object.insert(key, value);
    }
    object
}
