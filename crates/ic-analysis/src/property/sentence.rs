//! The directories and hosts that the sentence behind a rule names.

use ic_policy::{DomainPattern, Effect, HostPattern, Policy};
use ic_types::{CanonicalPath, Host};

use super::PlaceOf;

/// What a sentence names.
#[derive(Clone, Debug)]
pub(super) struct Named {
    /// Directories that it writes as paths.
    pub(super) places: Vec<CanonicalPath>,
    /// Directories that it calls by their names alone, as in "the Downloads directory".
    pub(super) directories: Vec<String>,
    /// Hosts.
    pub(super) hosts: Vec<String>,
}

/// Returns what the sentences behind rules that allow name, by the rules' positions.
///
/// Nothing is known of a sentence that names no place.
pub(super) fn named(policy: &Policy, place_of: PlaceOf<'_>) -> Vec<Option<Named>> {
    let of_rule = |rule: &ic_policy::Rule| {
        let named = read(rule.principle(), place_of);
        let names_something =
            !named.places.is_empty() || !named.directories.is_empty() || !named.hosts.is_empty();
        (rule.effect() == Effect::Allow && names_something).then_some(named)
    };
    policy.rules().iter().map(of_rule).collect()
}

fn read(sentence: &str, place_of: PlaceOf<'_>) -> Named {
    let mut named = Named { places: Vec::new(), directories: Vec::new(), hosts: Vec::new() };
    let is_mark = |c: char| matches!(c, '`' | '"' | '\'' | '(' | ')' | ',' | ';' | ':' | '!' | '?');
    let words: Vec<&str> = sentence
        .split_whitespace()
        .map(|word| word.trim_matches(is_mark).trim_end_matches('.').trim_matches(is_mark))
        .collect();
    for (position, word) in words.iter().enumerate() {
        let next = words.get(position + 1).copied().unwrap_or_default();
        let is_name = word.chars().next().is_some_and(char::is_uppercase);
        if word.starts_with('/') || *word == "~" || word.starts_with("~/") {
            named.places.extend(place_of(word));
        } else if matches!(next, "directory" | "folder") && is_name {
            named.directories.push((*word).to_owned());
        } else if word.contains('.') {
            named.hosts.extend(host_in(word));
        }
    }
    named
}

/// Returns the host that a word names, if it can only be meant as a host, an address or a repository.
fn host_in(word: &str) -> Option<String> {
    match DomainPattern::parse(word).ok()?.host() {
        HostPattern::Exact(host @ Host::Name(name)) => {
            host.is_public_name().then(|| name.as_str().to_owned())
        }
        HostPattern::Under(name) => Some(name.clone()),
        HostPattern::Exact(Host::V4(_) | Host::V6(_)) | HostPattern::AnyPublic => None,
    }
}

impl Named {
    /// Returns whether the sentence speaks of `path`.
    pub(super) fn speaks_of_path(&self, path: &CanonicalPath) -> bool {
        let is_named = |name: &std::ffi::OsStr| {
            self.directories.iter().any(|it| name.eq_ignore_ascii_case(it))
        };
        let names_none = self.places.is_empty() && self.directories.is_empty();
        names_none
            || self.places.iter().any(|it| path.is_within(it))
            || path.components().any(is_named)
    }

    /// Returns whether the sentence speaks of `host`.
    pub(super) fn speaks_of_host(&self, host: &Host) -> bool {
        self.hosts.is_empty()
            || match host {
                Host::Name(name) => self.hosts.iter().any(|it| name.is_under(it)),
                Host::V4(_) | Host::V6(_) => false,
            }
    }
}
