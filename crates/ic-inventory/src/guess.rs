//! What a review offers as the meaning of a draft: no wider than what the tool seems to do.
//!
//! A draft itself stays as wide as can be, because calls are judged by it before anybody has looked. What is
//! offered here counts only once a person confirms it. A tool has to seem harmless in everything that its
//! server says of it; hints (`readOnlyHint`, `destructiveHint`) can only make a guess stricter.

mod verbs;

use ic_types::{Json, Object};

use crate::draft::names::words;
use crate::draft::{self, PATH_ROLES};

/// How the names of tools begin that only look at something.
const LOOKING: [&str; 10] =
    ["read", "list", "search", "get", "find", "show", "view", "stat", "describe", "query"];
/// How the descriptions of such tools begin besides.
const TOLD: [&str; 12] = [
    "browse", "check", "count", "display", "fetch", "inspect", "look", "lookup", "obtain",
    "preview", "retrieve", "return",
];
/// How deep the texts of a schema are read.
const DEPTH_MAX: usize = 16;

/// Returns the annotation that a review offers for a draft, if that is not the draft itself.
pub fn offered(draft: &Object, listed: Option<&Object>) -> Option<Object> {
    if !draft::is_draft(draft) || !only_looks(draft::name_of(draft), listed) {
        return None;
    }
    let Some(Json::Object(args)) = draft.get("args") else { return None };
    let (mut narrowed, mut is_narrower) = (Object::new(), false);
    for (argument, roles) in args.iter() {
        let is_any_path = matches!(roles, Json::Array(roles)
            if roles.iter().map(Json::as_str).eq(PATH_ROLES.iter().map(|role| Some(*role))));
        match is_any_path {
            true => narrowed.insert(argument, vec![Json::from("read-path")]),
            false => narrowed.insert(argument, roles.clone()),
        }
        is_narrower |= is_any_path;
    }
    let mut offered = draft.clone();
    offered.insert("args", narrowed);
    is_narrower.then_some(offered)
}

/// Returns whether a tool seems to change nothing.
fn only_looks(name: &str, listed: Option<&Object>) -> bool {
    let is_looking = words(name).first().is_some_and(|first| LOOKING.contains(&first.as_str()));
    if !is_looking || verbs::tell_of_change(name) {
        return false;
    }
    let Some(listed) = listed else { return true };
    let text = |key: &str| listed.get(key).and_then(Json::as_str);
    let is_told_to_look =
        text("description").is_none_or(|text| text.trim().is_empty() || begins_by_looking(text));
    let tells = ["description", "title"].into_iter().filter_map(text).any(verbs::tell_of_change);
    let schema_tells = listed.get("inputSchema").is_some_and(|it| tells_of_change(it, DEPTH_MAX));
    is_told_to_look && !tells && !schema_tells && !warns(listed)
}

/// Returns whether the first verb of a description is one of looking: "Recursively lists …", "The tool reads …".
fn begins_by_looking(text: &str) -> bool {
    let words = words(text);
    let is_empty = |word: &&String| {
        ["a", "allows", "an", "it", "lets", "the", "this", "to", "tool", "used", "you"]
            .contains(&word.as_str())
            || word.ends_with("ly")
    };
    let first = words.iter().find(|word| !is_empty(word));
    let is_form = |word: &str, verb: &str| {
        word.strip_prefix(verb).is_some_and(|rest| ["", "s", "es"].contains(&rest))
            || (verb == "query" && word == "queries")
    };
    first.is_some_and(|word| LOOKING.iter().chain(&TOLD).any(|verb| is_form(word, verb)))
}

/// Returns whether the server itself warns of the tool.
fn warns(listed: &Object) -> bool {
    match listed.get("annotations") {
        Some(Json::Object(hints)) => {
            matches!(hints.get("readOnlyHint"), Some(Json::Bool(false)))
                || matches!(hints.get("destructiveHint"), Some(Json::Bool(true)))
                || hints.get("title").and_then(Json::as_str).is_some_and(verbs::tell_of_change)
        }
        _ => false,
    }
}

/// Returns whether an argument of a tool tells of a change, by its name or description.
fn tells_of_change(schema: &Json, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return true };
    match schema {
        Json::Object(object) => object.iter().any(|(key, value)| match (key, value) {
            ("description" | "title", Json::String(text)) => verbs::tell_of_change(text),
            ("properties", Json::Object(named)) => named.iter().any(|(name, schema)| {
                verbs::tell_of_change(name) || tells_of_change(schema, depth)
            }),
            (_, value) => tells_of_change(value, depth),
        }),
        Json::Array(values) => values.iter().any(|value| tells_of_change(value, depth)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draft::annotation;
    use ic_types::JsonLimits;
    use serde_json::json;

    /// Returns what is offered for the argument `path` of a tool.
    fn offered_path(name: &str, described: &serde_json::Value) -> String {
        let mut listed = described.clone();
        if listed.get("inputSchema").is_none() {
            listed["inputSchema"] = json!({"type": "object", "properties": {"path": {"type": "string"},
                "note": {"type": "string"}}});
        }
        let listed = Json::parse(listed.to_string().as_bytes(), JsonLimits::CALL);
        let Ok(Json::Object(listed)) = listed else { panic!("{described}") };
        let draft = annotation("s", name, &listed);
        let offered = offered(&draft, Some(&listed)).unwrap_or(draft);
        let Some(Json::Object(args)) = offered.get("args") else { panic!("{name}") };
        assert_eq!(args.get("note").map(ToString::to_string).as_deref(), Some("[\"none\"]"));
        args.get("path").map(ToString::to_string).unwrap_or_default()
    }

    #[test]
    fn a_tool_that_only_looks_is_offered_as_one_that_reads() {
        const READS: &str = r#"["read-path"]"#;
        const ANY: &str = r#"["read-path","write-path","delete-path"]"#;
        let told = |text: &str| json!({"description": text});
        let hints = |hints: serde_json::Value| json!({"annotations": hints});
        let argument = |name: &str, described: &str| {
            json!({"inputSchema": {"type": "object", "properties": {"note": {"type": "string"},
                "path": {"type": "string", "description": described}, name: {"type": "boolean"}}}})
        };
        for (name, listed, expected) in [
            ("read_file", told("Reads a file, with the time it was last modified."), READS),
            ("list_directory", told("Lists what is there."), READS),
            ("searchFiles", json!({}), READS),
            ("get-info", told("Get information, settings and addresses."), READS),
            ("search", told("Recursively search for files. This tool shows hidden ones."), READS),
            ("get_x", told("Retrieve the text."), READS),
            ("get_x", told("  "), READS),
            ("read_x", argument("recursive", "Path of the file"), READS),
            ("read_file", hints(json!({"readOnlyHint": true, "destructiveHint": false})), READS),
            ("read_and_delete", told("Reads."), ANY),
            ("get_file", told("Gets a file and removes it."), ANY),
            ("list_all", told("Lists, creating an index on the way."), ANY),
            ("read_file", told("Setting the cursor, reads on."), ANY),
            ("read_x", json!({"title": "Overwrites"}), ANY),
            ("write_file", json!({}), ANY),
            ("forget", json!({}), ANY),
            // Verbs in the past, as nouns, in another script or language, hidden, or first of all.
            ("read_x", told("Returns the file, which is deleted afterwards."), ANY),
            ("get_x", told("Returns the file before its removal."), ANY),
            ("get_x", told("Returns it. The file is overwritten."), ANY),
            ("get_purge", json!({}), ANY),
            ("get_unlink", json!({}), ANY),
            ("get_rm", json!({}), ANY),
            ("get_x", told("Löscht die Datei."), ANY),
            ("get_x", told("Entfernt die Datei."), ANY),
            ("read_x", told("Reads and ｄｅｌｅｔｅｓ it"), ANY),
            ("read_x", told("Reads and del\u{200b}etes it"), ANY),
            ("read_x", told("Reads and de-letes it"), ANY),
            ("read_x", argument("delete", "Path of the file"), ANY),
            ("read_x", argument("recursive", "File to delete"), ANY),
            // A hint frees nothing, and may warn.
            ("look", hints(json!({"readOnlyHint": true})), ANY),
            ("delete_file", hints(json!({"readOnlyHint": true})), ANY),
            (
                "look",
                json!({"description": "Deletes all.", "annotations": {"readOnlyHint": true}}),
                ANY,
            ),
            ("read_x", hints(json!({"readOnlyHint": false})), ANY),
            ("read_x", hints(json!({"readOnlyHint": true, "destructiveHint": true})), ANY),
            ("read_x", hints(json!({"title": "Deletes"})), ANY),
        ] {
            assert_eq!(offered_path(name, &listed), expected, "{name} {listed}");
        }
    }
}
