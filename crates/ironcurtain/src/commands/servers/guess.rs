//! What a review offers as the meaning of a draft: no wider than what the tool seems to do.
//!
//! A draft itself stays as wide as can be, because calls are judged by it before anybody has looked. What is
//! offered here counts only once a person confirms it; that the server says that a tool changes nothing
//! (`readOnlyHint`) and how the tool is called are reasons to offer it, and no more.

use ic_types::{Json, Object};

use super::draft::{PATH_ROLES, words};
use super::drafts;

/// How the names of tools begin that only look at something.
const LOOKING: [&str; 10] =
    ["read", "list", "search", "get", "find", "show", "view", "stat", "describe", "query"];
/// What a tool does that changes something.
const CHANGING: [&str; 40] = [
    "add",
    "append",
    "apply",
    "assign",
    "change",
    "clear",
    "commit",
    "copy",
    "create",
    "delete",
    "drop",
    "edit",
    "execute",
    "import",
    "insert",
    "install",
    "make",
    "merge",
    "mkdir",
    "modify",
    "move",
    "overwrite",
    "patch",
    "post",
    "publish",
    "push",
    "put",
    "remove",
    "rename",
    "replace",
    "reset",
    "run",
    "save",
    "send",
    "set",
    "store",
    "truncate",
    "update",
    "upload",
    "write",
];

/// Returns the annotation that a review offers for a draft, if that is not the draft itself.
pub(super) fn offered(draft: &Object, listed: Option<&Object>) -> Option<Object> {
    if !drafts::is_draft(draft) || !only_looks(drafts::name_of(draft), listed) {
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
    let named = words(name);
    if named.iter().any(|word| is_changing(word)) {
        return false;
    }
    let text = |key: &str| listed.and_then(|it| it.get(key)).and_then(Json::as_str);
    let told = [text("description"), text("title")].into_iter().flatten().flat_map(words);
    let is_said_to_change = told.into_iter().any(|word| is_changing(&word));
    let hint = match listed.and_then(|it| it.get("annotations")) {
        Some(Json::Object(hints)) => matches!(hints.get("readOnlyHint"), Some(Json::Bool(true))),
        _ => false,
    };
    let is_looking = named
        .iter()
        .find(|word| !word.is_empty())
        .is_some_and(|first| LOOKING.contains(&first.as_str()));
    hint || (is_looking && !is_said_to_change)
}

/// Returns whether a word is a verb of change: as it is, in the third person, or going on.
fn is_changing(word: &str) -> bool {
    CHANGING.iter().any(|verb| {
        let stem = verb.strip_suffix('e').unwrap_or(verb);
        let rest = word.strip_prefix(stem);
        rest.is_some_and(|rest| {
            let forms = ["ing", "s", "es"];
            let doubled =
                stem.chars().last().is_some_and(|last| rest.strip_prefix(last) == Some("ing"));
            word == *verb || doubled || (forms.contains(&rest) && (rest != "s" || stem == *verb))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::draft::annotation;
    use super::*;
    use ic_types::JsonLimits;
    use serde_json::json;

    /// Returns what is offered for the argument `path` of a tool.
    fn offered_path(name: &str, described: &serde_json::Value) -> String {
        let mut listed = described.clone();
        listed["inputSchema"] = json!({"type": "object", "properties": {"path": {"type": "string"},
            "note": {"type": "string"}}});
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
        let hint = |hint: bool| json!({"annotations": {"readOnlyHint": hint}});
        for (name, listed, expected) in [
            ("read_file", told("Reads a file, with the time it was last modified."), READS),
            ("list_directory", told("Lists what is there."), READS),
            ("searchFiles", json!({}), READS),
            ("get-info", told("Information, settings and addresses."), READS),
            ("read_and_delete", told("Reads."), ANY),
            ("get_file", told("Gets a file and removes it."), ANY),
            ("list_all", told("Lists, creating an index on the way."), ANY),
            ("read_file", told("Setting the cursor, reads on."), ANY),
            ("read_x", json!({"title": "Overwrites"}), ANY),
            ("write_file", json!({}), ANY),
            ("forget", json!({}), ANY),
            ("look", hint(true), READS),
            ("look", hint(false), ANY),
            ("delete_file", hint(true), ANY),
        ] {
            assert_eq!(offered_path(name, &listed), expected, "{name} {listed}");
        }
    }
}
