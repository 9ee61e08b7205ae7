//! What can be a value of a list, and the values that stand in what a tool returned.
//!
//! SECURITY: a result is a stranger's text, so a value from there is literal: no pattern, no address of this
//! machine. What cannot be read is an error: a shorter list would forbid less than its sentence says.

use ic_policy::DomainPattern;
use ic_types::{Json, JsonLimits};

/// The most values of a list.
pub const VALUES_MAX: usize = 10_000;
/// The longest value.
const CHARS_MAX: usize = 320;

/// What the values of a list are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// Names of hosts.
    Domains,
    /// Addresses of mail.
    Emails,
    /// Names that are compared as they are.
    Identifiers,
}

impl Kind {
    /// Reads a kind as `matchType` has it.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "domains" => Some(Self::Domains),
            "emails" => Some(Self::Emails),
            "identifiers" => Some(Self::Identifiers),
            _ => None,
        }
    }

    /// Returns the word of `matchType`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Domains => "domains",
            Self::Emails => "emails",
            Self::Identifiers => "identifiers",
        }
    }

    /// Says what the values are.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Domains => "host names",
            Self::Emails => "email addresses",
            Self::Identifiers => "names",
        }
    }
}

/// Returns a value as it is kept, or says why it cannot be one.
pub fn usable(kind: Kind, text: &str, may_be_pattern: bool) -> Result<String, String> {
    let text = text.trim();
    let is_hidden = |it: char| {
        it.is_control()
            || matches!(it, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    if text.is_empty() || text.starts_with(['@', '=']) {
        return Err(format!("`{text}` is not a value"));
    }
    if CHARS_MAX < text.chars().count() || text.chars().any(is_hidden) {
        return Err("a value is too long, or has characters that cannot be seen".to_owned());
    }
    match kind {
        Kind::Domains => host(text, may_be_pattern),
        Kind::Emails => email(text),
        Kind::Identifiers => Ok(text.to_owned()),
    }
}

fn host(text: &str, may_be_pattern: bool) -> Result<String, String> {
    let refused = |why: &str| Err(format!("`{text}` {why}"));
    let low = text.to_ascii_lowercase();
    if low.contains(['/', ':', '?', '#', ' ', '@']) || !low.is_ascii() {
        return refused("is not the name of a host");
    }
    let name = match low.strip_prefix("*.") {
        Some(name) if may_be_pattern => name,
        Some(_) => return refused("is a pattern, and a tool names hosts one by one"),
        None => low.as_str(),
    };
    if name.contains('*') || !name.contains('.') {
        return refused("is about more than one name, or about this network");
    }
    let web = DomainPattern::parse("*");
    match (DomainPattern::parse(&low), DomainPattern::parse(name), web) {
        (Ok(_), Ok(name), Ok(web)) if web.covers(&name) => Ok(low),
        _ => refused("is not the name of a public host"),
    }
}

fn email(text: &str) -> Result<String, String> {
    // `Ann <ann@example.com>`
    let address = match text.split_once('<') {
        Some((_, rest)) => rest.strip_suffix('>').unwrap_or_default(),
        None => text,
    };
    let is_fit = |it: char| it.is_ascii_alphanumeric() || ".!#$%&'+/=?^_{|}~-".contains(it);
    match address.split_once('@') {
        Some((who, host))
            if !who.is_empty() && who.chars().all(is_fit) && self::host(host, false).is_ok() =>
        {
            Ok(address.to_owned())
        }
        _ => Err(format!("`{text}` is not an email address")),
    }
}

/// Returns the values that a tool returned: under `field`, or all that there are.
pub fn found_in(
    kind: Kind,
    text: &str,
    structured: Option<&Json>,
    field: Option<&str>,
) -> Result<Vec<String>, String> {
    let parsed = Json::parse(text.trim().as_bytes(), JsonLimits::CALL).ok();
    let json = structured.or(parsed.as_ref()).filter(|it| !matches!(it, Json::String(_)));
    let mut texts: Vec<&str> = Vec::new();
    match (json, field) {
        (Some(json), Some(field)) => {
            let mut n_found = 0;
            under(json, field, &mut n_found, &mut texts)?;
            if n_found == 0 {
                return Err(format!("there is no `{field}` in the result"));
            }
        }
        (Some(json), None) => texts = listed(json).ok_or(
            "the result is not a list of texts; say which key the values have: `is each KEY that … returns`",
        )?,
        (None, Some(field)) => {
            return Err(format!("the result is not JSON, so there is no `{field}` in it"));
        }
        (None, None) => {
            let bare = |line: &'_ str| line.trim().is_empty();
            let lines = text.lines().filter(|it| !bare(it));
            texts = lines.map(|it| it.trim().trim_start_matches("- ").trim()).collect();
        }
    }
    let mut values: Vec<String> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for text in texts {
        let value = usable(kind, text, false)?;
        if seen.insert(value.clone()) {
            values.push(value);
        }
    }
    match values.len() {
        0 => Err("the result has no values".to_owned()),
        n if VALUES_MAX < n => Err(format!("there are more than {VALUES_MAX} values")),
        _ => Ok(values),
    }
}

/// Collects the texts under a key, wherever it stands.
fn under<'a>(
    json: &'a Json,
    field: &str,
    n_found: &mut usize,
    texts: &mut Vec<&'a str>,
) -> Result<(), String> {
    let refused = || Err(format!("a `{field}` in the result is not a text"));
    match json {
        Json::Array(all) => all.iter().try_for_each(|it| under(it, field, n_found, texts)),
        Json::Object(object) => object.iter().try_for_each(|(key, value)| {
            if key != field {
                return under(value, field, n_found, texts);
            }
            *n_found += 1;
            match value {
                Json::Null => Ok(()),
                Json::String(_) => {
                    texts.extend(value.as_str());
                    Ok(())
                }
                Json::Array(all) => all.iter().try_for_each(|it| match it.as_str() {
                    Some(text) => {
                        texts.push(text);
                        Ok(())
                    }
                    None => refused(),
                }),
                Json::Bool(_) | Json::Number(_) | Json::Object(_) => refused(),
            }
        }),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => Ok(()),
    }
}

/// Returns the texts of a list, or of the only list of an object.
fn listed(json: &Json) -> Option<Vec<&str>> {
    match json {
        Json::Array(all) => all.iter().map(Json::as_str).collect(),
        Json::Object(object) => {
            let mut lists = object.iter().filter(|(_, it)| matches!(it, Json::Array(_)));
            match (lists.next(), lists.next()) {
                (Some((_, list)), None) => listed(list),
                _ => None,
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => None,
    }
}

/// Returns whether a value stands in a text by itself, and not as a part of a longer one.
pub(super) fn stands_in(value: &str, text: &str) -> bool {
    let (value, text) = (value.to_lowercase(), text.to_lowercase());
    let is_part = |it: char| it.is_alphanumeric() || "._-@+".contains(it);
    text.match_indices(&value).any(|(at, found)| {
        let before = text.get(..at).and_then(|it| it.chars().next_back());
        let mut after = text.get(at + found.len()..).unwrap_or_default().chars();
        // A full stop ends a sentence as well.
        let is_longer = match after.next() {
            Some('.') => after.next().is_some_and(is_part),
            next => next.is_some_and(is_part),
        };
        !before.is_some_and(is_part) && !is_longer
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: Kind, text: &str, field: Option<&str>, expected: Result<&[&str], &str>) {
        let found = found_in(kind, text, None, field);
        match (found, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{text}"),
            (Err(why), Err(part)) => assert!(why.contains(part), "{text}: {why}"),
            (found, _) => panic!("{text}: {found:?}"),
        }
    }

    #[test]
    fn values_are_all_of_a_result_or_what_stands_under_a_key() {
        use Kind::{Domains, Emails, Identifiers};
        check(
            Emails,
            "- Ann <ann@a.example>\n\nbob@b.example\n",
            None,
            Ok(&["ann@a.example", "bob@b.example"]),
        );
        check(Identifiers, r#"["a b","c","c"]"#, None, Ok(&["a b", "c"]));
        check(Identifiers, r#"{"total":2,"names":["a","c"]}"#, None, Ok(&["a", "c"]));
        let people = r#"{"people":[{"email":"a@a.example","boss":{"email":["b@a.example"]}},{"email":null}]}"#;
        check(Emails, people, Some("email"), Ok(&["a@a.example", "b@a.example"]));
        check(Emails, people, None, Err("which key"));
        check(Emails, people, Some("mail"), Err("there is no `mail`"));
        check(Emails, "a@a.example", Some("email"), Err("not JSON"));
        check(Emails, r#"[{"email":7}]"#, Some("email"), Err("not a text"));
        check(Domains, "Docs.RS\nwww.rust-lang.org", None, Ok(&["docs.rs", "www.rust-lang.org"]));
        check(Identifiers, "\n \n", None, Err("no values"));
    }

    /// One value that cannot be read refuses all: a shorter list might forbid less.
    #[test]
    fn what_a_stranger_returns_is_literal_and_public() {
        for text in [
            "*",
            "*.example",
            "*.a.example",
            "localhost",
            "127.0.0.1",
            "10.0.0.1",
            "a.internal",
            "[::1]",
            "com",
            "a.example:22",
            "https://a.example",
            "a.example/x",
            "=a.example",
            "@other",
            "xn--",
            "a b.example",
            "dоcs.rs",
            "a.example\u{202e}",
            "router.lan",
        ] {
            check(Kind::Domains, &format!("docs.rs\n{text}"), None, Err(""));
        }
        for text in
            ["*@a.example", "@a.example", "a@localhost", "a@b@c.example", "a, b@c.example", "all"]
        {
            check(Kind::Emails, &format!("ann@a.example\n{text}"), None, Err(""));
        }
    }

    #[test]
    fn a_model_may_name_patterns_and_not_the_whole_web() {
        assert_eq!(usable(Kind::Domains, "*.Nytimes.com", true), Ok("*.nytimes.com".to_owned()));
        for text in ["*", "*.com", "*.*.com", "a.*.com", "*.local"] {
            assert!(usable(Kind::Domains, text, true).is_err(), "{text}");
        }
    }

    #[test]
    fn a_value_stands_in_a_result_as_a_whole() {
        let result = "Mail Ann (ann@a.example) or joan@b.example.";
        for (value, expected) in [
            ("ann@a.example", true),
            ("ANN@a.example", true),
            ("joan@b.example", true),
            ("an@a.example", false),
            ("nn@a.example", false),
            ("oan@b.example", false),
            ("b.example", false),
            ("ann@a.exam", false),
        ] {
            assert_eq!(stands_in(value, result), expected, "{value}");
        }
    }
}
