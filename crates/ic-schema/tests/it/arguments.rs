//! What a model gets to read, and which arguments a tool has at all.

use crate::world::{check, check_value};

const TOOL: &str = r#"{
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "sortBy": {"enum": ["name", "size"]},
        "edits": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"oldText": {"type": "string"}, "newText": {"type": "string"}},
                "required": ["oldText", "newText"],
                "additionalProperties": false
            }
        }
    },
    "required": ["path"]
}"#;

#[test]
fn a_violation_is_a_sentence_about_one_place() {
    for (arguments, expected) in [
        (r#"{"path": "a"}"#, ""),
        (r#"{"path": "a", "edits": [{"oldText": "x", "newText": "y"}]}"#, ""),
        ("{}", "`path` is missing"),
        (r#"{"path": 5}"#, "`path` is not a string"),
        (r#"{"path": null}"#, "`path` is not a string"),
        (r#"{"path": "a", "edits": [{"oldText": 1}]}"#, "`/edits/0/oldText` is not a string"),
        (
            r#"{"path": "a", "edits": [{"newText": "y", "oldText": "x"}, {"oldText": "x"}]}"#,
            "`/edits/1/newText` is missing",
        ),
        (
            r#"{"path": "a", "edits": [{"text": "x"}]}"#,
            "`/edits/0/text` is not a known key; known: oldText, newText",
        ),
        (
            r#"{"path": "a", "colour": 1}"#,
            "`colour` is not an argument of this tool; known: path, sortBy, edits",
        ),
        (r#"{"path": "a", "sortBy": "age"}"#, r#"`sortBy` is not one of "name", "size""#),
    ] {
        check(TOOL, arguments, expected);
    }
}

#[test]
fn the_first_violation_is_reported_and_what_is_missing_comes_last() {
    check(TOOL, r#"{"sortBy": 1, "path": 2}"#, r#"`sortBy` is not one of "name", "size""#);
    check(TOOL, r#"{"path": 2, "sortBy": 1}"#, "`path` is not a string");
    let typo = "`pth` is not an argument of this tool; known: path, sortBy, edits";
    check(TOOL, r#"{"pth": "a"}"#, typo);
}

#[test]
fn sentences_are_short_and_hold_no_control_characters() {
    let schema = r#"{"type": "object", "properties": {"v": {"enum": ["\u001b[31m"]}}}"#;
    check(schema, r#"{"v": 1}"#, r#"`v` is not one of "\u001b[31m""#);
    let key = "k".repeat(100_000);
    let expected = format!("`{}…` is not an argument of this tool, which has none", "k".repeat(60));
    let none = r#"{"properties": {}}"#;
    check(none, &format!(r#"{{"{key}": 1}}"#), &expected);
    let sneaky = r#"{"a`\u001b\u202e\n": 1}"#;
    let expected = r"`a'\u{1b}\u{202e}\n` is not an argument of this tool, which has none";
    check(none, sneaky, expected);
    let long = format!(r#"{{"enum": ["{}"]}}"#, "x".repeat(1000));
    check_value(&long, "1", &format!("`v` is not one of \"{}…", "x".repeat(39)));
    let number = "7".repeat(1000);
    let expected = format!("`v` is less than {}…", "7".repeat(40));
    check_value(&format!(r#"{{"minimum": {number}}}"#), "1", &expected);
}

/// A tool has the arguments that its schema names.
#[test]
fn unknown_arguments_are_refused_unless_the_schema_opens_itself() {
    let unknown = "`b` is not an argument of this tool; known: a";
    for (schema, expected) in [
        (r#"{"properties": {"a": true}}"#, unknown),
        (r#"{"type": "object", "properties": {"a": true}}"#, unknown),
        (r#"{"type": ["object", "null"], "properties": {"a": true}}"#, unknown),
        (r#"{"properties": {"a": true}, "additionalProperties": false}"#, unknown),
        (r#"{"properties": {"a": true}, "minProperties": 1}"#, unknown),
        (r#"{"properties": {"a": true}, "not": {"required": ["c"]}}"#, unknown),
        (r#"{"properties": {"a": true}, "dependentRequired": {"c": ["d"]}}"#, unknown),
        (r#"{"properties": {"a": true}, "dependencies": {"c": ["d"]}}"#, unknown),
        (r#"{"properties": {"a": true}, "$defs": {"b": true}}"#, unknown),
        (r#"{"properties": {"a": true}, "required": ["b"]}"#, unknown),
        (r#"{"properties": {"a": true}, "additionalProperties": true}"#, ""),
        (r#"{"properties": {"a": true}, "additionalProperties": {}}"#, ""),
        (r#"{"properties": {"a": true}, "unevaluatedProperties": true}"#, ""),
        (r#"{"properties": {"a": true}, "patternProperties": {"^x": true}}"#, ""),
        (r#"{"properties": {"a": true}, "allOf": [{"properties": {"b": true}}]}"#, ""),
        (r#"{"properties": {"a": true}, "anyOf": [{"properties": {"b": true}}]}"#, ""),
        (r#"{"properties": {"a": true}, "oneOf": [{"properties": {"b": true}}]}"#, ""),
        (r#"{"properties": {"a": true}, "if": {"properties": {"b": true}}}"#, ""),
        (r##"{"properties": {"a": true}, "$ref": "#/$defs/b", "$defs": {"b": true}}"##, ""),
        (r#"{"properties": {"a": true}, "dependentSchemas": {"c": true}}"#, ""),
        (r#"{"properties": {"a": true}, "dependencies": {"c": {}}}"#, ""),
    ] {
        check(schema, r#"{"b": 1}"#, expected);
    }
    check("{}", r#"{"b": 1}"#, "");
    check(r#"{"type": "object"}"#, r#"{"b": 1}"#, "");
    let none = r#"{"properties": {}}"#;
    check(none, "{}", "");
    check(none, r#"{"b": 1}"#, "`b` is not an argument of this tool, which has none");
}

/// The rule is for the call; where a `$ref` leads back to the root, the schema says what it says.
#[test]
fn below_the_root_unknown_keys_are_as_the_schema_says() {
    let tree = r##"{"properties": {"name": {"type": "string"}, "child": {"$ref": "#"}}}"##;
    check(tree, r#"{"child": {"child": {"size": 1}}}"#, "");
    check(tree, r#"{"child": {"child": {"name": 1}}}"#, "`/child/child/name` is not a string");
    check(tree, r#"{"size": 1}"#, "`size` is not an argument of this tool; known: name, child");
    check_value(r#"{"properties": {"a": true}}"#, r#"{"b": 1}"#, "");
}

#[test]
fn alternatives_say_why_none_of_them_fits() {
    let optional = r#"{"anyOf": [{"type": "string"}, {"type": "null"}]}"#;
    check_value(optional, "null", "");
    check_value(optional, "1", "`v` fits none of its forms: `v` is not a string; `v` is not null");
    let union = r#"{"oneOf": [
        {"properties": {"kind": {"const": "move"}, "to": {"type": "string"}}, "required": ["kind", "to"]},
        {"properties": {"kind": {"const": "drop"}}, "required": ["kind"]}
    ]}"#;
    check_value(union, r#"{"kind": "drop"}"#, "");
    check_value(
        union,
        r#"{"kind": "move"}"#,
        r#"`v` fits none of its forms: `/v/to` is missing; `/v/kind` is not "drop""#,
    );
    let many =
        r#"{"anyOf": [{"const": 1}, {"const": 2}, {"const": 3}, {"const": 4}, {"const": 5}]}"#;
    check_value(many, "5", "");
    check_value(
        many,
        "6",
        "`v` fits none of its forms: `v` is not 1; `v` is not 2; `v` is not 3; `v` is not 4; and so on",
    );
}
