//! URIs of resources: how they have to be written, and what they name.
//!
//! Parsers differ in what they overlook. Those of Node and Python drop spaces and control characters, and
//! read `" fi\nle:"` as `file:`; so a URI whose scheme could be read in two ways is refused, whatever it
//! names. Nothing is judged here.

use std::path::Path;

use std::path::PathBuf;

/// What a URI names.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Named {
    /// A path of this machine.
    File,
    /// A page.
    Http,
    /// Something that only the server knows.
    Other,
}

impl Named {
    /// Returns the word for it in the arguments that are judged.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Http => "http",
            Self::Other => "other",
        }
    }
}

/// Says what is wrong with how a URI is written, if anything.
///
/// A path is no URI, and what is wrong with it is found out where it is resolved.
pub(super) fn fault(uri: &str) -> Option<&'static str> {
    if uri.starts_with('/') {
        return None;
    }
    if uri.chars().any(char::is_control) {
        return Some("the URI contains control characters");
    }
    if uri.chars().any(is_unseen) {
        return Some("the URI contains invisible characters");
    }
    if uri.trim() != uri {
        return Some("a URI neither begins nor ends with a space");
    }
    if uri.contains('\\') {
        return Some("the URI contains backslashes");
    }
    let is_rest = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'+' | b'-' | b'.');
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_lowercase()) && scheme.bytes().all(is_rest)
    };
    match uri.split_once(':') {
        Some((scheme, _)) if is_scheme(scheme) => None,
        Some(_) | None => Some("a URI begins with a scheme in lower case, such as `file:`"),
    }
}

/// Characters that nobody sees, and that some parsers drop.
fn is_unseen(c: char) -> bool {
    let is_odd_space = c.is_whitespace() && c != ' ';
    is_odd_space
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// Says what a URI names, and writes it so.
pub(super) fn named(uri: String) -> (String, Named) {
    if uri.starts_with('/') {
        return (uri, Named::File);
    }
    let scheme = uri.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    match scheme.as_deref() {
        // What is no path stays as it is, and is denied as none.
        Some("file") => match path_of(&uri) {
            Some(path) => (path, Named::File),
            None => (uri, Named::File),
        },
        Some("http" | "https") => (uri, Named::Http),
        _ => (uri, Named::Other),
    }
}

/// Takes a template apart: what it says for certain, and what begins with the first gap.
///
/// Of a path only whole directories are certain.
pub(super) fn certain(template: &str) -> (&str, &str) {
    let Some(gap) = template.find('{') else { return (template, "") };
    let (certain, rest) = template.split_at(gap);
    let is_path = certain.starts_with("file:") || certain.starts_with('/');
    match certain.rfind('/').filter(|_| is_path) {
        Some(slash) => template.split_at(slash + 1),
        None => (certain, rest),
    }
}

/// Reads the path of a `file:` URI; one on another machine, or with anything besides a path, is none.
fn path_of(uri: &str) -> Option<String> {
    let (_, rest) = uri.split_once(':')?;
    let path = match rest.strip_prefix("//") {
        Some(rest) => {
            let (host, _) = rest.split_once('/')?;
            matches!(host, "" | "localhost").then(|| rest.get(host.len()..)).flatten()?
        }
        None => rest,
    };
    if !path.starts_with('/') || path.contains(['?', '#']) {
        return None;
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                let digits = std::str::from_utf8(&digits).ok()?;
                u8::from_str_radix(digits, 16).ok()?
            }
            byte => byte,
        });
    }
    let path = String::from_utf8(bytes).ok()?;
    // Another spelling of the root could stand for something else to another program.
    PathBuf::from(&path).is_absolute().then_some(path)
}

/// Writes a path as a `file:` URI.
pub fn file_uri(path: &Path) -> Option<String> {
    use std::fmt::Write as _;
    let mut uri = String::from("file://");
    for byte in path.to_str()?.bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            // Writing to a string cannot fail.
            byte => write!(uri, "%{byte:02X}").ok()?,
        }
    }
    Some(uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the parsers of Node and Python would read as another scheme, or as a scheme at all.
    #[test]
    fn a_uri_that_can_be_read_in_two_ways_is_refused() {
        for scheme in ["file", "demo"] {
            for odd in [
                " {}:///a",
                "\t{}:///a",
                "\n{}:///a",
                "\r\n{}:///a",
                "\0{}:///a",
                "\u{1f}{}:///a",
                "\u{7f}{}:///a",
                "\u{85}{}:///a",
                "\u{a0}{}:///a",
                "\u{feff}{}:///a",
                "\u{200b}{}:///a",
                "\u{3000}{}:///a",
                "\u{202e}{}:///a",
                "\u{ad}{}:///a",
                "{}\n:///a",
                "{} :///a",
                "{}:///a\n",
                "{}:///a ",
                "{}:\t///a",
                "{}:///a\0b",
                "{}:///a\u{2028}",
                "%66{}:///a",
                "<{}:///a>",
                "URL:{}:///a",
                "url:\\{}",
                "{}:\\\\\\a",
                "{}%3a///a",
                "local_{}:///a",
                "//{}:///a:",
                "X{}:///a",
                "1{}:///a",
                "+{}:///a",
                ":{}:///a",
                "é{}:///a",
                "ｆ{}:///a",
            ] {
                let uri = odd.replace("{}", scheme);
                // A path is judged as one.
                assert!(fault(&uri).is_some() || uri.starts_with('/'), "accepted {uri:?}");
            }
        }
        for bad in
            ["", "x", "%66ile:///a", "FILE:///a", "File:///a", "fi\nle:///a", "HTTP://a", "?a:b"]
        {
            assert!(fault(bad).is_some(), "accepted {bad:?}");
        }
        for good in [
            "file:///a",
            "file:///a b/ü",
            "http://a.example/?q=x%20y",
            "demo://x",
            "x-a+b.c:y",
            "urn:x:y",
            "/a b ",
            "git://R/Path#x",
            "mem:\u{1f600}",
            "weather://{city}/now",
        ] {
            assert_eq!(fault(good), None, "{good:?}");
        }
    }

    #[test]
    fn a_template_is_certain_up_to_its_first_gap() {
        for (template, expected) in [
            ("file:///a/b{x}/c", ("file:///a/", "b{x}/c")),
            ("file:///{x}", ("file:///", "{x}")),
            ("/a/{x}", ("/a/", "{x}")),
            ("file:{x}", ("file:", "{x}")),
            ("http://h/a{x}", ("http://h/a", "{x}")),
            ("file:///a", ("file:///a", "")),
            ("demo://{x}/y", ("demo://", "{x}/y")),
        ] {
            assert_eq!(certain(template), expected, "{template}");
        }
    }
}
