//! What the values of an argument were in calls that were made: paths, URLs, hosts or addresses of mail.
//!
//! SECURITY: values are an agent's, so what is seen in them can only bring up a question, and never take one
//! back. No value is kept, only what kind of value it was, and where.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ic_types::{Json, Object};
use url::Url;

/// How deep into the arguments of a call we look.
const DEPTH_MAX: usize = 16;
/// How many values of one call are looked at.
const VALUES_MAX: usize = 10_000;
/// How many places of one tool are remembered; the keys of a call are the agent's.
const PLACES_MAX: usize = 256;
/// The longest text that can be a path, a URL or an address.
const TEXT_BYTES_MAX: usize = 4096;
/// The longest ending of a file's name.
const ENDING_CHARS_MAX: usize = 8;

/// What a value looks like.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Kind {
    /// A path, or the name of a file.
    Path,
    /// A URL, or a remote of git.
    Url,
    /// A host that is known, or an address of a machine.
    Host,
    /// An address of mail.
    Email,
}

/// What was seen in the calls of one tool.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    places: BTreeMap<String, BTreeSet<Kind>>,
}

impl Observed {
    /// Takes in the arguments of one call; `is_known` says whether a text is a host that is known.
    pub fn see(&mut self, arguments: &Object, is_known: &dyn Fn(&str) -> bool) {
        let mut n_left = VALUES_MAX;
        for (argument, value) in arguments.iter() {
            let mut seen = Seeing { observed: self, is_known, n_left: &mut n_left };
            seen.value(argument.to_owned(), argument, value, DEPTH_MAX);
        }
    }

    /// Returns each place with the worst that was seen there.
    pub(super) fn places(&self) -> impl Iterator<Item = (&str, Kind)> {
        self.places.iter().filter_map(|(place, kinds)| Some((place.as_str(), *kinds.first()?)))
    }
}

/// One look at the values of a call.
struct Seeing<'a> {
    observed: &'a mut Observed,
    is_known: &'a dyn Fn(&str) -> bool,
    n_left: &'a mut usize,
}

impl Seeing<'_> {
    /// Looks at a value; `place` names it as annotations do.
    fn value(&mut self, place: String, argument: &str, value: &Json, depth: usize) {
        let (Some(depth), Some(n_left)) = (depth.checked_sub(1), self.n_left.checked_sub(1)) else {
            return;
        };
        *self.n_left = n_left;
        let below = |place: &str, key: &str| match place == argument {
            true => format!("/{}/{key}", super::escaped(argument)),
            false => format!("{place}/{key}"),
        };
        match value {
            Json::String(text) => self.text(place, text),
            Json::Array(items) => {
                for item in items {
                    // A list of texts is named like one text.
                    let place = match item {
                        Json::String(_) => place.clone(),
                        _ => below(&place, "*"),
                    };
                    self.value(place, argument, item, depth);
                }
            }
            Json::Object(object) => {
                for (key, value) in object.iter() {
                    self.value(below(&place, &super::escaped(key)), argument, value, depth);
                }
            }
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
        }
    }

    fn text(&mut self, place: String, text: &str) {
        let Some(kind) = kind(text, self.is_known) else { return };
        let places = &mut self.observed.places;
        if places.contains_key(&place) || places.len() < PLACES_MAX {
            places.entry(place).or_default().insert(kind);
        }
    }
}

/// Says what a value looks like; what has several lines, or is too long, is a text.
fn kind(text: &str, is_known: &dyn Fn(&str) -> bool) -> Option<Kind> {
    let text = text.trim();
    if text.is_empty() || TEXT_BYTES_MAX < text.len() || text.contains(['\n', '\0']) {
        return None;
    }
    match () {
        () if is_url(text) => Some(Kind::Url),
        () if is_email(text) => Some(Kind::Email),
        () if is_known(text) || is_machine(text) => Some(Kind::Host),
        () if is_path(text) => Some(Kind::Path),
        () => None,
    }
}

fn is_url(text: &str) -> bool {
    // `C:\x` and `note: this` parse as URLs, too.
    let is_remote = || {
        let (before, after) = text.split_once(':').unwrap_or_default();
        before.contains('@') && !after.is_empty() && !text.contains(char::is_whitespace)
    };
    Url::parse(text).is_ok_and(|url| url.has_host()) || text.starts_with("data:") || is_remote()
}

fn is_email(text: &str) -> bool {
    let inside = text.rsplit_once('<').map_or(text, |(_, inside)| inside.trim_end_matches('>'));
    let inside = inside.strip_prefix("mailto:").unwrap_or(inside);
    inside.split_once('@').is_some_and(|(user, host)| {
        let is_bare =
            |it: &str| !it.is_empty() && !it.contains(|c: char| c.is_whitespace() || c == '/');
        is_bare(user) && is_bare(host) && host.contains('.') && !host.contains('@')
    })
}

/// Returns whether a text is the address of a machine, with a port or without.
fn is_machine(text: &str) -> bool {
    let is_port = |it: &str| !it.is_empty() && it.chars().all(|c| c.is_ascii_digit());
    let host = match text.rsplit_once(':') {
        Some((host, port)) if is_port(port) => host,
        _ => text,
    };
    host == "localhost"
        || host.ends_with(".localhost")
        || text.parse::<IpAddr>().is_ok()
        || host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok()
}

fn is_path(text: &str) -> bool {
    let begins = |with: &[&str]| with.iter().any(|beginning| text.starts_with(beginning));
    let has_drive = || matches!(text.as_bytes(), [drive, b':', b'\\' | b'/', ..] if drive.is_ascii_alphabetic());
    let is_one_word = !text.contains(char::is_whitespace);
    // `a/b` and `notes.md`, and neither `3.14` nor the end of a sentence.
    let has_ending = || {
        text.rsplit_once('.').is_some_and(|(name, ending)| {
            !name.is_empty()
                && (1..=ENDING_CHARS_MAX).contains(&ending.chars().count())
                && ending.chars().all(|c| c.is_ascii_alphanumeric())
                && !ending.chars().all(|c| c.is_ascii_digit())
        })
    };
    text == ".."
        || text == "."
        || begins(&["/", "~", "./", "../", "file:", "\\\\"])
        || has_drive()
        || (is_one_word && (text.contains(['/', '\\']) || has_ending()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ic_types::JsonLimits;

    fn seen(arguments: &str) -> Vec<String> {
        let Ok(Json::Object(arguments)) = Json::parse(arguments.as_bytes(), JsonLimits::CALL)
        else {
            panic!("{arguments}")
        };
        let mut observed = Observed::default();
        observed.see(&arguments, &|text| text == "intern");
        observed.places().map(|(place, kind)| format!("{place} {kind:?}")).collect()
    }

    #[test]
    fn values_are_paths_urls_hosts_and_addresses() {
        use Kind::{Email, Host, Path, Url};
        for (text, expected) in [
            ("/etc/passwd", Some(Path)),
            ("~/notes", Some(Path)),
            ("../up", Some(Path)),
            ("..", Some(Path)),
            ("src/main.rs", Some(Path)),
            ("notes.md", Some(Path)),
            (r"C:\Users\x", Some(Path)),
            (r"\\server\share", Some(Path)),
            ("file:notes", Some(Path)),
            ("  /etc/shadow  ", Some(Path)),
            ("/a name with spaces", Some(Path)),
            ("https://a.example/x", Some(Url)),
            ("HTTPS://A.EXAMPLE", Some(Url)),
            ("postgresql://u:p@db/x", Some(Url)),
            ("file:///etc/passwd", Some(Path)),
            ("git@forge.example:a/b.git", Some(Url)),
            ("data:text/html,x", Some(Url)),
            ("bob@a.example", Some(Email)),
            ("Bob <bob@a.example>", Some(Email)),
            ("intern", Some(Host)),
            ("127.0.0.1", Some(Host)),
            ("127.0.0.1:80", Some(Host)),
            ("[::1]:80", Some(Host)),
            ("::1", Some(Host)),
            ("localhost:3000", Some(Host)),
            ("", None),
            ("10", None),
            ("3.14", None),
            ("1.2.3", None),
            ("desc", None),
            ("en-US", None),
            ("2024-05-01T10:00:00Z", None),
            ("note: this", None),
            ("A sentence. Another.", None),
            ("and/or in a sentence", None),
            ("a\n/etc/passwd", None),
            ("/a\0b", None),
        ] {
            assert_eq!(kind(text, &|text| text == "intern"), expected, "{text:?}");
        }
        assert_eq!(kind(&format!("/{}", "a".repeat(TEXT_BYTES_MAX)), &|_| true), None);
    }

    #[test]
    fn values_are_found_wherever_they_stand() {
        assert_eq!(
            seen(
                r#"{"a":"/x","b":["plain","/y"],"c":{"d":[{"e/f":"bob@a.example"}],"n":7},"g":[["/z"]]}"#
            ),
            ["/c/d/*/e~1f Email", "/g/* Path", "a Path", "b Path"]
        );
    }

    #[test]
    fn hostile_calls_are_bounded() {
        let many: Vec<String> = (0..5_000).map(|n| format!(r#""k{n}":"/x""#)).collect();
        assert_eq!(seen(&format!("{{{}}}", many.join(","))).len(), PLACES_MAX);
        let deep = format!(r#"{{"a":{}"/x"{}}}"#, "[".repeat(40), "]".repeat(40));
        assert_eq!(seen(&deep), [""; 0]);
        // Names of keys are parts of a place and nothing else.
        assert_eq!(seen(r#"{"/a/*":{"~":"/x"}}"#), ["/~1a~1*/~0 Path"]);
    }
}
