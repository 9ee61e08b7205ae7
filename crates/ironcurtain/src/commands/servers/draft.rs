//! What the arguments of a tool may mean, guessed from their names and schemas, without a model.
//!
//! A guess is a draft: every call over it needs a person at least, until somebody has confirmed it. So
//! it may be too wide, and never too narrow: what looks like a path may be read, written and deleted.
//! Nothing is asked or written here.

use ic_resolve::PATH_WORDS;
use ic_types::{Json, Object};

/// How deep into an argument we look.
const DEPTH_MAX: usize = 4;
/// What may be done to whatever looks like a path.
pub(super) const PATH_ROLES: [&str; 3] = ["read-path", "write-path", "delete-path"];
/// How the names of arguments end that name something by a number or a code, and not by its place.
const ID_WORDS: [&str; 6] = ["id", "ids", "uuid", "uuids", "guid", "guids"];
/// Words in the name of an argument that may hold a path, besides those that say so.
const MAYBE_PATH_WORDS: [&str; 5] = ["root", "roots", "source", "destination", "repo"];
/// How the names of arguments end that say what kind of thing something is, and not where it is.
const KIND_WORDS: [&str; 10] = [
    "timezone", "zone", "tz", "language", "lang", "locale", "currency", "encoding", "unit", "units",
];
/// What the name of one with a URL in it has.
const URL_WORDS: [&str; 13] = [
    "url", "urls", "uri", "uris", "href", "link", "links", "endpoint", "host", "hostname",
    "website", "site", "webpage",
];
/// The formats of texts that are URLs.
const URL_FORMATS: [&str; 4] = ["uri", "url", "uri-reference", "iri"];

/// What an argument looks like.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Looks {
    /// Like a path.
    Path,
    /// Like a URL.
    Url,
    /// Like neither.
    Nothing,
}

impl Looks {
    fn roles(self) -> &'static [&'static str] {
        match self {
            Self::Path => &PATH_ROLES,
            Self::Url => &["fetch-url"],
            Self::Nothing => &["none"],
        }
    }
}

/// Drafts the annotation of a tool that its server lists in this way.
pub(super) fn annotation(server: &str, name: &str, listed: &Object) -> Object {
    let schema = object(listed.get("inputSchema"));
    let mut drafted: Vec<(String, Looks)> = Vec::new();
    if let Some(Json::Object(properties)) = schema.and_then(|schema| schema.get("properties")) {
        for (argument, schema) in properties.iter() {
            draft(argument, schema, &mut drafted);
        }
    }
    let mut args = Object::new();
    for (argument, looks) in drafted {
        let roles: Vec<Json> = looks.roles().iter().map(|role| Json::from(*role)).collect();
        args.insert(argument, roles);
    }
    let mut annotation = Object::new();
    annotation.insert("toolName", name);
    annotation.insert("serverName", server);
    annotation.insert("comment", "drafted from names and schemas; not confirmed yet");
    annotation.insert("args", args);
    annotation.insert("draft", true);
    annotation
}

/// Drafts one argument of a tool.
fn draft(argument: &str, schema: &Json, drafted: &mut Vec<(String, Looks)>) {
    match looks(argument, schema) {
        Looks::Nothing => {
            let mut inside = Vec::new();
            look_inside(&format!("/{}", escaped(argument)), schema, DEPTH_MAX, &mut inside);
            match inside.is_empty() {
                true => drafted.push((argument.to_owned(), Looks::Nothing)),
                false => drafted.extend(inside),
            }
        }
        looks => drafted.push((argument.to_owned(), looks)),
    }
}

/// Finds texts that look like something inside of objects and lists.
fn look_inside(pointer: &str, schema: &Json, depth: usize, found: &mut Vec<(String, Looks)>) {
    let (Some(schema), Some(depth)) = (object(Some(schema)), depth.checked_sub(1)) else { return };
    if let Some(Json::Object(properties)) = schema.get("properties") {
        for (key, schema) in properties.iter() {
            let pointer = format!("{pointer}/{}", escaped(key));
            match looks(key, schema) {
                Looks::Nothing => look_inside(&pointer, schema, depth, found),
                looks => found.push((pointer, looks)),
            }
        }
    }
    if let Some(items) = schema.get("items") {
        let pointer = format!("{pointer}/*");
        look_inside(&pointer, items, depth, found);
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        if let Some(Json::Array(parts)) = schema.get(key) {
            for part in parts {
                look_inside(pointer, part, depth, found);
            }
        }
    }
}

/// Says what a value looks like by its name and schema; only texts and lists of them look like anything.
fn looks(name: &str, schema: &Json) -> Looks {
    if !holds_text(schema, DEPTH_MAX) {
        return Looks::Nothing;
    }
    let format = object(Some(schema)).and_then(|schema| schema.get("format"));
    if format.and_then(Json::as_str).is_some_and(|format| URL_FORMATS.contains(&format)) {
        return Looks::Url;
    }
    let words = words(name);
    if words.last().is_some_and(|last| ID_WORDS.contains(&last.as_str())) {
        return Looks::Nothing;
    }
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    let is_kind = words.last().is_some_and(|last| KIND_WORDS.contains(&last.as_str()));
    match (has(&URL_WORDS), has(&PATH_WORDS) || (has(&MAYBE_PATH_WORDS) && !is_kind)) {
        (true, _) => Looks::Url,
        (false, true) => Looks::Path,
        (false, false) => Looks::Nothing,
    }
}

/// Returns whether a text, or a list of texts, may stand there.
fn holds_text(schema: &Json, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return true };
    let Some(schema) = object(Some(schema)) else { return true };
    let is = |kind: &Json, name: &str| kind.as_str() == Some(name);
    let names_type = |name: &str| match schema.get("type") {
        Some(Json::Array(kinds)) => kinds.iter().any(|kind| is(kind, name)),
        Some(kind) => is(kind, name),
        // Nothing is said, so anything may stand there.
        None => {
            !["anyOf", "oneOf", "allOf", "enum", "const"].iter().any(|it| schema.get(it).is_some())
        }
    };
    let of_parts = ["anyOf", "oneOf", "allOf"].iter().any(|key| match schema.get(key) {
        Some(Json::Array(parts)) => parts.iter().any(|part| holds_text(part, depth)),
        _ => false,
    });
    let of_items =
        names_type("array") && schema.get("items").is_none_or(|it| holds_text(it, depth));
    names_type("string") || of_items || of_parts
}

/// Splits a name at its capitals and at whatever is no letter.
pub(super) fn words(name: &str) -> Vec<String> {
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
    words
}

/// Writes a key as part of a JSON pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn object(json: Option<&Json>) -> Option<&Object> {
    match json {
        Some(Json::Object(object)) => Some(object),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ic_types::JsonLimits;

    /// Drafts a tool with these properties, and returns each argument with its roles.
    fn drafted(properties: &str) -> Vec<String> {
        let text = format!(r#"{{"inputSchema":{{"type":"object","properties":{properties}}}}}"#);
        let listed = Json::parse(text.as_bytes(), JsonLimits::CALL).unwrap();
        let Json::Object(listed) = listed else { panic!("an object") };
        let annotation = annotation("s", "t", &listed);
        assert_eq!(annotation.get("draft").map(ToString::to_string).as_deref(), Some("true"));
        let Some(Json::Object(args)) = annotation.get("args") else { panic!("no args") };
        args.iter().map(|(name, roles)| format!("{name} {roles}").replace('"', "")).collect()
    }

    const PATH: &str = "[read-path,write-path,delete-path]";

    #[test]
    fn what_looks_like_a_path_may_be_anything_that_is_done_to_one() {
        for name in ["path", "filePath", "repo_path", "paths", "source", "outputDir", "cwd", "File"]
        {
            assert_eq!(
                drafted(&format!(r#"{{"{name}":{{"type":"string"}}}}"#)),
                [format!("{name} {PATH}")]
            );
        }
        for schema in [
            r#"{"type":"array","items":{"type":"string"}}"#,
            r#"{"anyOf":[{"type":"string"},{"type":"null"}]}"#,
            r#"{"type":["string","null"]}"#,
            "{}",
            "true",
        ] {
            assert_eq!(
                drafted(&format!(r#"{{"path":{schema}}}"#)),
                [format!("path {PATH}")],
                "{schema}"
            );
        }
    }

    #[test]
    fn what_looks_like_a_url_is_fetched() {
        for property in [
            r#""url":{"type":"string"}"#,
            r#""imageUrl":{"type":"string"}"#,
            r#""where":{"type":"string","format":"uri"}"#,
            r#""host":{"type":"string"}"#,
        ] {
            let drafted = drafted(&format!("{{{property}}}"));
            assert!(drafted.iter().all(|it| it.ends_with("[fetch-url]")), "{drafted:?}");
        }
    }

    #[test]
    fn what_is_no_text_looks_like_nothing() {
        for property in [
            r#""path":{"type":"integer"}"#,
            r#""message":{"type":"string"}"#,
            r#""profile":{"type":"string"}"#,
            r#""dry_run":{"type":"boolean"}"#,
            r#""pathology":{"type":"string"}"#,
            r#""file_id":{"type":"string"}"#,
            r#""folderIds":{"type":"array","items":{"type":"string"}}"#,
            r#""link-uuid":{"type":"string"}"#,
            r#""id":{"type":"string"}"#,
            r#""source_timezone":{"type":"string"}"#,
            r#""sourceLanguage":{"type":"string"}"#,
        ] {
            let drafted = drafted(&format!("{{{property}}}"));
            assert!(drafted.iter().all(|it| it.ends_with("[none]")), "{drafted:?}");
        }
        assert_eq!(drafted("{}"), [""; 0]);
    }

    #[test]
    fn what_is_inside_is_found() {
        assert_eq!(
            drafted(
                r#"{"edits":{"type":"array","items":{"type":"object","properties":
                    {"path":{"type":"string"},"text":{"type":"string"},"at/b":{"type":"object","properties":{"url":{}}}}}}}"#
            ),
            [format!("/edits/*/path {PATH}"), "/edits/*/at~1b/url [fetch-url]".to_owned()]
        );
    }
}
