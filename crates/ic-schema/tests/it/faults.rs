//! Schemas that cannot be used, and what is not checked in those that can.

use crate::world::{check, check_fault, compile};

#[test]
fn a_schema_is_for_an_object() {
    let reason = "at the root: the schema of a tool's arguments has to describe an object";
    for schema in [
        "true",
        "false",
        "null",
        "[]",
        "5",
        r#""object""#,
        r#"{"type": "string"}"#,
        r#"{"type": []}"#,
        r#"{"type": ["string", "null"]}"#,
        r#"{"type": 5}"#,
    ] {
        check_fault(schema, reason);
    }
}

#[test]
fn a_keyword_with_a_wrong_value_is_a_fault_and_not_a_licence() {
    let count = "a whole number of 0 or more";
    for (schema, keyword, expected) in [
        (r#"{"type": "text"}"#, "type", "the name of a type or an array of such names"),
        (r#"{"type": []}"#, "type", "the name of a type or an array of such names"),
        (r#"{"type": ["string", 5]}"#, "type", "the name of a type or an array of such names"),
        (r#"{"enum": "a"}"#, "enum", "an array"),
        (r#"{"minimum": "1"}"#, "minimum", "a number"),
        (r#"{"exclusiveMaximum": null}"#, "exclusiveMaximum", "a number"),
        (r#"{"multipleOf": 0}"#, "multipleOf", "a number above 0 of at most 19 digits"),
        (r#"{"multipleOf": -1}"#, "multipleOf", "a number above 0 of at most 19 digits"),
        (r#"{"minLength": -1}"#, "minLength", count),
        (r#"{"maxLength": 1.5}"#, "maxLength", count),
        (r#"{"minItems": "1"}"#, "minItems", count),
        (r#"{"maxContains": null}"#, "maxContains", count),
        (r#"{"pattern": 1}"#, "pattern", "a string"),
        (r#"{"uniqueItems": 1}"#, "uniqueItems", "true or false"),
        (r#"{"items": 1}"#, "items", "a schema"),
        (r#"{"items": [], "prefixItems": [true]}"#, "items", "a schema"),
        (r#"{"prefixItems": []}"#, "prefixItems", "an array of schemas that is not empty"),
        (r#"{"prefixItems": {}}"#, "prefixItems", "an array of schemas that is not empty"),
        (r#"{"contains": null}"#, "contains", "a schema"),
        (r#"{"properties": []}"#, "properties", "an object of schemas"),
        (r#"{"properties": {"a": "string"}}"#, "properties", "an object of schemas"),
        (r#"{"patternProperties": {"a": 1}}"#, "patternProperties", "an object of schemas"),
        (r#"{"additionalProperties": "no"}"#, "additionalProperties", "a schema"),
        (r#"{"propertyNames": 1}"#, "propertyNames", "a schema"),
        (r#"{"required": true}"#, "required", "an array of strings"),
        (r#"{"required": ["a", 1]}"#, "required", "an array of strings"),
        (r#"{"dependentRequired": {"a": "b"}}"#, "dependentRequired", "an array of strings"),
        (r#"{"dependentSchemas": {"a": ["b"]}}"#, "dependentSchemas", "an object of schemas"),
        (r#"{"dependencies": {"a": "b"}}"#, "dependencies", "an object of schemas"),
        (r#"{"allOf": []}"#, "allOf", "an array of schemas that is not empty"),
        (r#"{"anyOf": {}}"#, "anyOf", "an array of schemas that is not empty"),
        (r#"{"oneOf": [1]}"#, "oneOf", "an array of schemas that is not empty"),
        (r#"{"not": []}"#, "not", "a schema"),
        (r#"{"if": 1}"#, "if", "a schema"),
        (r#"{"$ref": 1}"#, "$ref", "a string"),
    ] {
        let schema = format!(r#"{{"properties": {{"a": {{"items": {schema}}}}}}}"#);
        check_fault(&schema, &format!("at `/properties/a/items`: `{keyword}` is not {expected}"));
    }
}

#[test]
fn what_restricts_and_is_not_supported_is_a_fault() {
    for (keyword, value) in [
        ("unevaluatedProperties", "false"),
        ("unevaluatedProperties", r#"{"type": "string"}"#),
        ("unevaluatedItems", "false"),
        ("$dynamicRef", r##""#a""##),
        ("$recursiveRef", r##""#""##),
    ] {
        let schema = format!(r#"{{"allOf": [true, {{"{keyword}": {value}}}]}}"#);
        let reason = format!("`{keyword}` is not supported, and without it too much would pass");
        check_fault(&schema, &format!("at `/allOf/1`: {reason}"));
    }
    check(r#"{"unevaluatedProperties": {}, "unevaluatedItems": true}"#, r#"{"a": 1}"#, "");
}

#[test]
fn a_reference_that_leads_out_or_nowhere_is_a_fault() {
    for reference in
        ["https://example.com/a.json", "other.json#/a", "/etc/passwd", "", "#here", "#$defs/a"]
    {
        let schema = format!(r#"{{"properties": {{"a": {{"$ref": "{reference}"}}}}}}"#);
        let expected =
            format!("at `/properties/a`: `$ref` leads out of this schema: `{reference}`");
        check_fault(&schema, &expected);
    }
    for reference in [
        "#/$defs/b",
        "#/properties/a/b/c",
        "#/",
        "#/allOf/1",
        "#/allOf/01",
        "#/allOf/-",
        "#/a~2",
        "#/%zz",
    ] {
        let schema =
            format!(r#"{{"properties": {{"a": {{"$ref": "{reference}"}}}}, "allOf": [true]}}"#);
        check_fault(&schema, &format!("at `/properties/a`: `$ref` leads nowhere: `{reference}`"));
    }
    let not_a_schema = r##"{"properties": {"a": {"$ref": "#/required"}}, "required": ["a"]}"##;
    check_fault(not_a_schema, "at `/properties/a`: `$ref` is not the place of a schema");
}

#[test]
fn a_fault_behind_a_reference_is_named_by_its_own_place() {
    let schema = r##"{"properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {"not": {"minItems": -1}}}}"##;
    check_fault(schema, "at `/$defs/b/not`: `minItems` is not a whole number of 0 or more");
}

#[test]
fn a_pattern_that_cannot_be_checked_is_noted_and_lets_everything_pass() {
    let schema = r#"{"properties": {"a": {"type": "string", "pattern": "^(?!x)"}, "b": {"patternProperties": {"(.)\\1": false}, "additionalProperties": false}}}"#;
    assert_eq!(
        compile(schema).unwrap().notes(),
        [
            "`pattern` with `^(?!x)` at `/properties/a`: it is not checked: look-around cannot be checked",
            r"`patternProperties` with `(.)\1` at `/properties/b`: it is not checked: back-references cannot be checked",
        ]
    );
    check(schema, r#"{"a": "x", "b": {"cc": 1}}"#, "");
    check(schema, r#"{"a": 1}"#, "`a` is not a string");
}

#[test]
fn a_subschema_with_an_identity_of_its_own_is_noted() {
    let schema = r##"{"$id": "https://example.com/a", "properties": {"a": {"$id": "b"}, "c": {"$id": "#d"}, "d": {"$ref": "#"}}}"##;
    let notes = compile(schema).unwrap();
    assert_eq!(
        notes.notes(),
        ["`$id` at `/properties/a`: each `$ref` is looked up from the root all the same"]
    );
    assert!(compile(r#"{"properties": {"a": {"pattern": "^a$"}}}"#).unwrap().notes().is_empty());
}

#[test]
fn there_is_an_end_to_notes() {
    let entries: Vec<String> =
        (0..300).map(|n| format!(r#""p{n}": {{"pattern": "(?={n})"}}"#)).collect();
    let schema = compile(&format!(r#"{{"properties": {{{}}}}}"#, entries.join(","))).unwrap();
    assert_eq!(schema.notes().len(), 51);
    assert_eq!(schema.notes().last().unwrap(), "there is more of this kind");
}
