//! Names, addresses and other texts that a policy cannot tell apart.

use std::collections::BTreeSet;

use ic_policy::Destination;
use ic_policy::rule::addresses;

use super::hosts::{DestinationClass, Hosts};

/// A text, as far as policies can tell.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct TextClass {
    /// The text itself, if something names it.
    pub named: Option<String>,
    /// The same without the case of ASCII letters.
    pub ascii: Option<String>,
    /// The same without the case of any letter.
    pub folded: Option<String>,
    /// The addresses in it that something names, without the case of letters, if they are not all of it.
    pub mentioned: Vec<String>,
    /// Where it leads, if it can be read as a host.
    pub destination: Option<DestinationClass>,
}

/// All texts that something names.
#[derive(Debug)]
pub(crate) struct Texts {
    named: BTreeSet<String>,
}

impl Texts {
    pub(crate) fn new<'a>(named: impl Iterator<Item = &'a str>) -> Self {
        Self { named: named.map(str::to_owned).collect() }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.named.iter().map(String::as_str)
    }

    pub(crate) fn contains(&self, text: &str) -> bool {
        self.named.contains(text)
    }

    /// Returns what `text` is.
    pub(crate) fn class(&self, text: &str, hosts: &Hosts) -> TextClass {
        let known = |text: String| self.named.contains(&text).then_some(text);
        TextClass {
            named: known(text.to_owned()),
            ascii: known(text.to_ascii_lowercase()),
            folded: known(text.to_lowercase()),
            mentioned: self.mentioned(text),
            destination: Destination::parse_authority(text).map(|there| hosts.class(&there)),
        }
    }

    fn mentioned(&self, text: &str) -> Vec<String> {
        let parts = addresses(text).into_iter().filter(|part| *part != text);
        let parts = parts.map(|it| it.to_lowercase());
        let mut named: Vec<String> = parts.filter(|it| self.named.contains(it)).collect();
        named.sort();
        named.dedup();
        named
    }

    /// Returns texts among which there is one of each class.
    pub(crate) fn examples(&self, hosts: &Hosts) -> Vec<String> {
        let numbered = (2_usize..).map(|n| format!("example {n}"));
        let mut fresh = std::iter::once("an example".to_owned()).chain(numbered);
        let mut texts: Vec<String> =
            fresh.find(|it| !self.named.contains(it)).into_iter().collect();
        let written = hosts.examples(&[None], false).into_iter().map(|it| authority(&it));
        for text in self.named.iter().cloned().chain(written) {
            // The same host, or the same address, in another spelling.
            let is_host = Destination::parse_authority(&text).is_some();
            let dotted = (is_host && self.named.contains(&text)).then(|| dotted(&text));
            let upper = text.to_uppercase();
            texts.extend([text.to_lowercase(), upper.to_ascii_lowercase(), upper]);
            texts.extend(dotted.flatten());
            // The same address with a name before it, as mail programs write it.
            let lower = text.to_lowercase();
            texts.extend(text.contains('@').then(|| format!("somebody <{lower}>")));
            texts.push(text);
        }
        texts
    }
}

/// Writes a destination as `host` or `host:port`.
fn authority(there: &Destination) -> String {
    match there.port {
        Some(port) => format!("{}:{port}", there.host),
        None => there.host.to_string(),
    }
}

/// Writes a host with the trailing dot that a name may have.
fn dotted(text: &str) -> Option<String> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') => (host, format!(":{port}")),
        Some(_) => return None,
        None => (text, String::new()),
    };
    Some(format!("{host}.{port}"))
}
