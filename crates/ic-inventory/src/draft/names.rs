//! What the name of an argument, its description and its values say: a path, a URL, or neither.
//!
//! Schemas are walked by the parent. Names come from a server that nobody trusts yet, so in doubt they say
//! that something is a path.

use ic_resolve::PATH_WORDS;
use ic_types::{Json, Object};

/// How the names of arguments end that name something by a number or a code, and not by its place.
pub(super) const ID_WORDS: [&str; 6] = ["id", "ids", "uuid", "uuids", "guid", "guids"];
/// The last words of names that may hold a path, besides those that say so.
const MAYBE_PATH_WORDS: [&str; 21] = [
    "attachment",
    "attachments",
    "dest",
    "destination",
    "destinations",
    "dst",
    "location",
    "out",
    "output",
    "outputs",
    "repo",
    "repos",
    "repositories",
    "repository",
    "root",
    "roots",
    "source",
    "sources",
    "src",
    "target",
    "targets",
];
/// Words behind one of these that change nothing about it: `repo_name` is a `repo`.
const EMPTY_WORDS: [&str; 4] = ["list", "name", "names", "spec"];
/// What the name of one with a URL in it has.
const URL_WORDS: [&str; 16] = [
    "callback", "endpoint", "host", "hostname", "href", "link", "links", "site", "uri", "uris",
    "url", "urls", "webhook", "webhooks", "webpage", "website",
];
/// Words before `address` that make it one of a machine.
const MACHINE_WORDS: [&str; 6] = ["base", "ip", "proxy", "remote", "server", "web"];
/// How words end, or begin, that are made of a word for a path: `srcpath`, `outfile`, `pathname`.
const ENDINGS: [&str; 10] = [
    "path",
    "paths",
    "file",
    "files",
    "dir",
    "dirs",
    "directory",
    "directories",
    "folder",
    "folders",
];
const BEGINNINGS: [&str; 4] = ["path", "file", "folder", "directory"];
/// How a description goes on that shows a URL as an example.
const SHOWN_BY: [&str; 5] =
    ["such as http", "e.g. http", "for example http", "example: http", "like http"];
/// The last words of what a database or a machine is connected by, behind `connection`.
const CONNECTED_BY: [&str; 2] = ["string", "str"];
/// Words that are not, although they look like it.
const NOT_MADE_OF_THEM: [&str; 3] = ["profile", "patho", "pathetic"];
/// Words that say what kind of path a description is about.
const KINDS: [&str; 19] = [
    "a", "absolute", "all", "an", "complete", "existing", "full", "list", "local", "new", "of",
    "optional", "or", "output", "relative", "required", "source", "target", "the",
];

/// What an argument looks like.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Looks {
    /// Like a path.
    Path,
    /// Like a URL.
    Url,
    /// Like neither.
    Nothing,
}

/// Says what an argument looks like that may hold a text; `is_in_path` if it lies in something that is
/// called a path.
pub(super) fn of_argument<'a>(
    name: &str,
    description: Option<&str>,
    is_in_path: bool,
    values: impl Iterator<Item = &'a Json>,
) -> Looks {
    let words = words(name);
    let last = words.last().map(String::as_str).unwrap_or_default();
    if ID_WORDS.contains(&last) {
        return Looks::Nothing;
    }
    if is_in_path && ["", "name", "names", "value", "values"].contains(&last) {
        return Looks::Path;
    }
    let by_values = || values.filter_map(Json::as_str).map(of_value);
    [of_words(&words), description.map_or(Looks::Nothing, of_description)]
        .into_iter()
        .chain(by_values())
        .find(|looks| *looks != Looks::Nothing)
        .unwrap_or(Looks::Nothing)
}

/// Says what a name alone looks like.
pub(super) fn of_name(name: &str) -> Looks {
    of_words(&words(name))
}

/// Returns the values that a schema gives as its own.
pub(super) fn of_values(part: &Object) -> impl Iterator<Item = &Json> {
    let single = ["default", "const", "example"].into_iter().filter_map(|key| part.get(key));
    let several = ["enum", "examples"].into_iter().filter_map(|key| match part.get(key) {
        Some(Json::Array(values)) => Some(values.as_slice()),
        _ => None,
    });
    single.chain(several.flatten())
}

/// Splits a name at its capitals and at whatever is no letter; numbers at the end of a word say nothing.
pub(crate) fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        if let (true, Some(word)) = (c.is_alphanumeric(), words.last_mut()) {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase() || c.is_numeric();
    }
    for word in &mut words {
        word.truncate(word.trim_end_matches(char::is_numeric).len());
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The last word that says something decides: `site_dir` is a path, and `file_url` a URL.
fn of_words(words: &[String]) -> Looks {
    if let [.., before, last] = words
        && before == "connection"
        && CONNECTED_BY.contains(&last.as_str())
    {
        return Looks::Url;
    }
    for (at, word) in words.iter().enumerate().rev() {
        let rest = words.get(at + 1..).unwrap_or_default();
        let is_last = rest.iter().all(|word| EMPTY_WORDS.contains(&word.as_str()));
        let before = at.checked_sub(1).and_then(|at| words.get(at));
        if is_path_word(word) || (is_last && MAYBE_PATH_WORDS.contains(&word.as_str())) {
            return Looks::Path;
        }
        let is_machine = word == "address"
            && before.is_some_and(|before| MACHINE_WORDS.contains(&before.as_str()));
        if is_machine || is_url_word(word) {
            return Looks::Url;
        }
    }
    Looks::Nothing
}

fn is_path_word(word: &str) -> bool {
    let is_made = ENDINGS.iter().any(|ending| word.ends_with(ending))
        || BEGINNINGS.iter().any(|beginning| word.starts_with(beginning));
    PATH_WORDS.contains(&word)
        || (is_made && !NOT_MADE_OF_THEM.iter().any(|other| word.contains(other)))
}

fn is_url_word(word: &str) -> bool {
    let is_made = ["url", "urls", "uri"].iter().any(|ending| word.ends_with(ending));
    URL_WORDS.contains(&word) || (is_made && word != "curl")
}

/// Says what the first thing is that a description names: "Absolute path of the file" a path, "Text to write
/// to the file" neither.
fn of_description(text: &str) -> Looks {
    let low = text.to_lowercase();
    if SHOWN_BY.iter().any(|shown| low.contains(shown)) {
        return Looks::Url;
    }
    for word in words(text).iter().take(12) {
        match word.as_str() {
            word if is_path_word(word) => return Looks::Path,
            word if is_url_word(word) => return Looks::Url,
            "name" | "names" => {}
            word if KINDS.contains(&word) => {}
            _ => return Looks::Nothing,
        }
    }
    Looks::Nothing
}

fn of_value(text: &str) -> Looks {
    let begins = |with: &[&str]| with.iter().any(|beginning| text.starts_with(beginning));
    match () {
        () if begins(&["http://", "https://"]) => Looks::Url,
        () if text == "." || begins(&["/", "~", "./", "../", "file:"]) => Looks::Path,
        () => Looks::Nothing,
    }
}
