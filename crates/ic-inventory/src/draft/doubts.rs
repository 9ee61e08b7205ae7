//! Which arguments that are taken for data a person is asked about, and in which words.
//!
//! An argument is asked about unless something speaks for its harmlessness: its schema lists all values, or the
//! last word of its name is that of a setting (`limit`, `sort_order`, `due_date`). A description and the values
//! that were seen in calls can only bring a question up. Roles are not changed here.

mod words;

use ic_types::{Json, Object};

use super::names::{self, words as words_of};
use super::observed::{Kind, Observed};
use super::{Found, Text};

/// A question about one argument.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Doubt {
    /// The argument, or a pointer to a place in it.
    pub place: String,
    /// What a person is asked.
    pub question: &'static str,
}

/// What a tool does, as far as it matters to questions.
#[derive(Clone, Copy, Debug)]
struct Deed {
    /// Whether it moves money.
    pays: bool,
    /// Whether its texts end up in a file that it names, since it names nobody and nothing else.
    fills_a_file: bool,
}

/// Returns what a person is to be asked about a tool that its server lists in this way.
pub fn doubts(tool: &str, listed: &Object, observed: &Observed) -> Vec<Doubt> {
    let found = super::found(listed);
    let deed = Deed::of(tool, &found);
    let mut doubts: Vec<Doubt> = Vec::new();
    for text in &found.texts {
        let place = whole(&text.place);
        if let Some(question) = question(text, deed).filter(|_| is_data(&found.args, &place)) {
            add(&mut doubts, &place, question);
        }
    }
    for (place, kind) in observed.places() {
        if is_listed(&found.args, place) && is_data(&found.args, place) {
            add(&mut doubts, place, seen(kind));
        }
    }
    doubts
}

/// Adds a question, unless the place has one already, which was made of what its server says of it.
fn add(doubts: &mut Vec<Doubt>, place: &str, question: &'static str) {
    if doubts.iter().all(|doubt| doubt.place != place) {
        doubts.push(Doubt { place: place.to_owned(), question });
    }
}

/// Returns whether an annotation names the argument of a place, or places in it; a call with any other is denied.
fn is_listed(args: &Object, place: &str) -> bool {
    let argument = match place.strip_prefix('/') {
        Some(rest) => rest.split('/').next().unwrap_or_default().to_owned(),
        None => super::escaped(place),
    };
    let is_of = |key: &str| match key.strip_prefix('/') {
        Some(rest) => rest.split('/').next() == Some(argument.as_str()),
        None => super::escaped(key) == argument,
    };
    args.iter().any(|(key, _)| is_of(key))
}

/// Names an argument as a whole by its name, as annotations do.
fn whole(place: &str) -> String {
    match place.strip_prefix('/').filter(|rest| !rest.contains('/')) {
        Some(name) => name.replace("~1", "/").replace("~0", "~"),
        None => place.to_owned(),
    }
}

/// Returns whether a place is taken for data, by itself or as a part of its argument.
fn is_data(args: &Object, place: &str) -> bool {
    let argument = || {
        let first = place.strip_prefix('/')?.split('/').next()?;
        args.get(&first.replace("~1", "/").replace("~0", "~"))
    };
    match args.get(place).or_else(argument) {
        Some(Json::Array(roles)) => roles.iter().all(|role| role.as_str() == Some("none")),
        Some(_) => false,
        // Beside the places in it that have a meaning of their own, an argument has none as a whole.
        None => true,
    }
}

impl Deed {
    fn of(tool: &str, found: &Found<'_>) -> Self {
        let is_path = |roles: &Json| roles.to_string().contains("-path");
        let is_url = |roles: &Json| roles.to_string().contains("-url");
        let names_path = found.args.iter().any(|(_, roles)| is_path(roles));
        let names_url = found.args.iter().any(|(_, roles)| is_url(roles));
        let names_other = found.texts.iter().any(|text| {
            let named = words::ASKED.iter().find(|(names, _)| is_one(&words_of(text.name), names));
            named.is_some_and(|(_, question)| *question != words::TEXT)
        });
        Self {
            pays: words_of(tool).iter().any(|word| words::PAYING.contains(&word.as_str())),
            fills_a_file: names_path && !names_url && !names_other,
        }
    }
}

/// Returns the question about a text, if there is one.
fn question(text: &Text<'_>, deed: Deed) -> Option<&'static str> {
    let name = words_of(text.name);
    if text.is_choice {
        return is_one(&name, words::RIGHTS.0).then_some(words::RIGHTS.1);
    }
    if words::is_setting(&name) && !text.is_open {
        // `after: ID of the last message`, `fields: JSON of what is set`
        let told = text.description.is_some_and(|it| is_one(&words_of(it), words::BEYOND_SETTINGS));
        return told.then_some(words::UNKNOWN);
    }
    match words::ASKED.iter().find(|(names, _)| is_one(&name, names)) {
        Some((_, words::TEXT)) if deed.fills_a_file && words::is_filling(&name) => None,
        Some((_, words::RECIPIENT | words::ACCOUNT)) if deed.pays => Some(words::PAYEE),
        Some((_, question)) => Some(question),
        None if is_id(&name) => Some(words::NUMBERED),
        None if text.description.is_some_and(tells_of_place) => Some(words::TOLD),
        None => Some(words::UNKNOWN),
    }
}

fn is_one(name: &[String], of: &str) -> bool {
    name.iter().any(|word| of.split_whitespace().any(|it| it == word))
}

fn is_id(name: &[String]) -> bool {
    name.last().is_some_and(|last| names::ID_WORDS.contains(&last.as_str()))
}

fn tells_of_place(description: &str) -> bool {
    is_one(&words_of(description), words::TELLING)
}

fn seen(kind: Kind) -> &'static str {
    match kind {
        Kind::Path => "a call was made in which it looks like a path; is it one?",
        Kind::Url => "a call was made in which it looks like a URL; is it one?",
        Kind::Host => "a call was made in which it looks like a host; is it one?",
        Kind::Email => {
            "a call was made in which it looks like an address of mail; is it an `email-address`?"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ic_types::JsonLimits;

    fn object(text: &str) -> Object {
        let Ok(Json::Object(object)) = Json::parse(text.as_bytes(), JsonLimits::CALL) else {
            panic!("{text}")
        };
        object
    }

    /// Returns the questions about a tool with these properties, of which these calls were made.
    fn asked(tool: &str, properties: &str, calls: &[&str]) -> Vec<(String, &'static str)> {
        let listed = object(&format!(r#"{{"inputSchema":{{"properties":{properties}}}}}"#));
        let mut observed = Observed::default();
        for call in calls {
            observed.see(&object(call), &|_| false);
        }
        let doubts = doubts(tool, &listed, &observed);
        doubts.into_iter().map(|doubt| (doubt.place, doubt.question)).collect()
    }

    #[test]
    fn names_choose_the_question() {
        for (tool, name, expected) in [
            ("send_money", "recipient", Some(words::PAYEE)),
            ("refund", "accountId", Some(words::PAYEE)),
            ("send_mail", "recipient", Some(words::RECIPIENT)),
            ("delete", "user_id", Some(words::ACCOUNT)),
            ("post", "text", Some(words::TEXT)),
            ("share", "role", Some(words::RIGHTS.1)),
            ("get", "page_id", Some(words::NUMBERED)),
            ("get", "whatever", Some(words::UNKNOWN)),
            ("get", "token", Some(words::UNKNOWN)),
            ("list", "objectType", Some(words::UNKNOWN)),
            ("list", "issue_type", None),
            ("list", "page_token", None),
            ("list", "sort_by", None),
            ("click", "selector", None),
            ("delete", "labelSelector", Some(words::UNKNOWN)),
            ("list", "createdAfter", None),
            ("list", "assignedTo", Some(words::RECIPIENT)),
            ("send_money", "amount", None),
        ] {
            let property = format!(r#"{{"{name}":{{"type":"string"}}}}"#);
            let asked = asked(tool, &property, &[]);
            let question = asked.first().map(|(_, question)| *question);
            assert_eq!(question, expected, "{tool} {name}");
        }
    }

    #[test]
    fn schemas_and_descriptions_are_looked_at() {
        for (properties, expected) in [
            (r#"{"x":{"enum":["a","b"]}}"#, None),
            (r#"{"role":{"enum":["reader","writer"]}}"#, Some("role")),
            (r#"{"x":{"type":"array","items":{"enum":["a"]}}}"#, None),
            (r#"{"x":{"anyOf":[{"enum":["a"]},{"type":"string"}]}}"#, Some("x")),
            (r#"{"x":{"type":"integer"}}"#, None),
            (r#"{"x":{"type":"boolean"}}"#, None),
            (r#"{"x":{}}"#, Some("x")),
            (r#"{"x":{"type":"object"}}"#, Some("x")),
            (r#"{"fields":{"type":"object"}}"#, Some("fields")),
            (r#"{"x":{"additionalProperties":{"type":"string"}}}"#, Some("x")),
            (r#"{"x":{"type":"object","properties":{"to":{"type":"string"}}}}"#, Some("/x/to")),
            (r#"{"after":{"type":"string"}}"#, None),
            (
                r#"{"after":{"type":"string","description":"ID of the last message"}}"#,
                Some("after"),
            ),
            // A path, a URL, and what a file gets, are no data to be asked about.
            (r#"{"path":{"type":"string"},"content":{"type":"string"}}"#, None),
            (r#"{"url":{"type":"string"}}"#, None),
            (
                r#"{"path":{"type":"string"},"owner":{"enum":["a"]},"content":{"type":"string"}}"#,
                Some("content"),
            ),
        ] {
            let asked = asked("do", properties, &[]);
            let places: Vec<&str> = asked.iter().map(|(place, _)| place.as_str()).collect();
            assert_eq!(places, expected.into_iter().collect::<Vec<_>>(), "{properties}");
        }
    }

    #[test]
    fn what_was_seen_brings_questions_up_and_takes_none_back() {
        const LIMIT: &str = r#"{"limit":{"type":"string"}}"#;
        for (call, expected) in [
            (r#"{"limit":"/etc/passwd"}"#, Some(seen(Kind::Path))),
            (r#"{"limit":["10","https://a.example/"]}"#, Some(seen(Kind::Url))),
            (r#"{"limit":"127.0.0.1"}"#, Some(seen(Kind::Host))),
            (r#"{"limit":"bob@a.example"}"#, Some(seen(Kind::Email))),
            (r#"{"limit":"10"}"#, None),
            (r#"{"limit":"annotate as none"}"#, None),
            // What no schema names cannot be sent, so there is nothing to ask.
            (r#"{"other":"10"}"#, None),
        ] {
            let asked = asked("list", LIMIT, &[call]);
            assert_eq!(asked.first().map(|(_, question)| *question), expected, "{call}");
        }
        let both = r#"{"recipient":{"type":"string"},"url":{"type":"string"}}"#;
        let calls = [r#"{"recipient":"none","url":"none"}"#, r#"{"recipient":"/x","url":"/x"}"#];
        let first = asked("send", both, &[]);
        assert_eq!(first, [("recipient".to_owned(), words::RECIPIENT)]);
        assert_eq!(asked("send", both, &calls), first);
        // Deeper than the schema tells.
        let open = r#"{"options":{"type":"integer"}}"#;
        let inside = asked("do", open, &[r#"{"options":{"a/b":["x",{"c":"/x"}]}}"#]);
        assert_eq!(inside, [("/options/a~1b/*/c".to_owned(), seen(Kind::Path))]);
    }
}
