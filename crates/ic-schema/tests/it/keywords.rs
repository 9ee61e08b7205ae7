//! Every keyword: what fits, what does not, and what is said about it.

use crate::world::{check, check_all, check_value};

#[test]
fn boolean_schemas_allow_everything_or_nothing() {
    check_all("true", &["1", "null", "{}"], &[], "");
    check_all("{}", &["1", "null", "{}"], &[], "");
    check_all("false", &[], &["1", "null", "{}"], "`v` is not allowed");
}

#[test]
fn types() {
    let values = ["null", "true", "1", "1.5", r#""a""#, "[]", "{}"];
    for (name, fits, words) in [
        ("null", &[0][..], "null"),
        ("boolean", &[1], "true or false"),
        ("integer", &[2], "a whole number"),
        ("number", &[2, 3], "a number"),
        ("string", &[4], "a string"),
        ("array", &[5], "an array"),
        ("object", &[6], "an object"),
    ] {
        for (n, value) in values.iter().enumerate() {
            let expected =
                if fits.contains(&n) { String::new() } else { format!("`v` is not {words}") };
            check_value(&format!(r#"{{"type": "{name}"}}"#), value, &expected);
        }
    }
    let several = r#"{"type": ["string", "null"]}"#;
    check_all(several, &["null", r#""a""#], &["1", "[]"], "`v` is not a string or null");
}

/// A whole number is one by its value, and not by how it is written.
#[test]
fn whole_numbers() {
    let fits = ["5", "5.0", "-0", "-0.0", "50e-1", "1e400", "9007199254740993", "1.5e1"];
    check_all(
        r#"{"type": "integer"}"#,
        &fits,
        &["5.5", "1e-1", "1e-400"],
        "`v` is not a whole number",
    );
}

#[test]
fn choices() {
    let letters = r#"{"enum": ["a", "b", 1, null, [1, {"x": 2}]]}"#;
    let fits = [r#""a""#, "1", "1.0", "null", r#"[1.0, {"x": 2e0}]"#];
    let others = [r#""c""#, r#""1""#, "2", "false", "[]", r#"[1, {"x": 3}]"#, r#"{"x": 2}"#];
    check_all(letters, &fits, &others, r#"`v` is not one of "a", "b", 1, null, [1,{"x":2}]"#);
    check_all(r#"{"const": {"a": 1, "b": 2}}"#, &[r#"{"b": 2, "a": 1}"#], &[], "");
    check_all(r#"{"const": "x"}"#, &[r#""x""#], &["1", r#""X""#, r#"["x"]"#], r#"`v` is not "x""#);
    check_all(r#"{"const": false}"#, &["false"], &["0", "null"], "`v` is not false");
    check_all(r#"{"enum": [1, 2], "const": 2}"#, &["2"], &["1"], "`v` is not 2");
    check_all(r#"{"enum": []}"#, &[], &["1"], "`v` is not allowed");
    let many: Vec<String> = (0..100).map(|n| n.to_string()).collect();
    let expected = "`v` is not one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 88 more";
    check_value(&format!(r#"{{"enum": [{}]}}"#, many.join(",")), "100", expected);
    let exact = r#"{"const": 9007199254740993}"#;
    check_all(exact, &["9007199254740993"], &["9007199254740992"], "`v` is not 9007199254740993");
}

#[test]
fn bounds_of_numbers() {
    check_all(
        r#"{"minimum": 3}"#,
        &["3", "3.0", "1e9", r#""a""#],
        &["2.999", "-4"],
        "`v` is less than 3",
    );
    check_all(
        r#"{"maximum": 3}"#,
        &["3", "-1e9", "null"],
        &["3.001", "1e400"],
        "`v` is more than 3",
    );
    check_all(r#"{"exclusiveMinimum": 3}"#, &["3.1"], &["3", "2"], "`v` is not more than 3");
    check_all(r#"{"exclusiveMaximum": 3}"#, &["2.9"], &["3", "4"], "`v` is not less than 3");
    check_all(
        r#"{"minimum": 0}"#,
        &["0", "-0", "-0.0", "1e-400"],
        &["-1e-400"],
        "`v` is less than 0",
    );
    check_all(r#"{"minimum": 1, "exclusiveMinimum": 3}"#, &["4"], &["2"], "`v` is not more than 3");
}

/// Draft 4 writes a flag where later drafts write a number.
#[test]
fn bounds_of_numbers_in_draft_4() {
    let low = r#"{"minimum": 3, "exclusiveMinimum": true}"#;
    check_all(low, &["3.1"], &["3", "2"], "`v` is not more than 3");
    let high = r#"{"maximum": 3, "exclusiveMaximum": true}"#;
    check_all(high, &["2.9"], &["3", "4"], "`v` is not less than 3");
    check_all(r#"{"minimum": 3, "exclusiveMinimum": false}"#, &["3"], &["2"], "`v` is less than 3");
    check_all(r#"{"exclusiveMinimum": true}"#, &["3"], &[], "");
}

/// Doubles take these for the same.
#[test]
fn numbers_that_doubles_cannot_tell_apart_are_told_apart() {
    let high = r#"{"maximum": 9007199254740992}"#;
    let fits = ["9007199254740992", "9007199254740992.0"];
    check_all(high, &fits, &["9007199254740993"], "`v` is more than 9007199254740992");
    check_all(
        r#"{"exclusiveMinimum": 1e400}"#,
        &["1e401"],
        &["1e400"],
        "`v` is not more than 1e400",
    );
}

#[test]
fn multiples() {
    check_all(
        r#"{"multipleOf": 5}"#,
        &["0", "10", "-5", "1e400", "5.0", r#""a""#],
        &["3", "0.5"],
        "`v` is not a multiple of 5",
    );
    check_all(
        r#"{"multipleOf": 0.01}"#,
        &["19.99", "0.07", "4"],
        &["0.075"],
        "`v` is not a multiple of 0.01",
    );
}

#[test]
fn lengths_of_texts_are_in_characters() {
    check_all(
        r#"{"minLength": 2}"#,
        &[r#""ab""#, r#""äö""#, "1"],
        &[r#""ä""#, r#""""#],
        "`v` has fewer than 2 characters",
    );
    check_all(
        r#"{"maxLength": 1}"#,
        &[r#""😀""#, r#""""#, "[1, 2]"],
        &[r#""ab""#],
        "`v` has more than 1 character",
    );
    check_all(
        r#"{"minLength": 2.0}"#,
        &[r#""ab""#],
        &[r#""a""#],
        "`v` has fewer than 2 characters",
    );
}

#[test]
fn patterns() {
    check_all(r#"{"pattern": "b+"}"#, &[r#""abc""#, "1"], &[r#""ac""#], "`v` does not match `b+`");
    check_all(
        r#"{"pattern": "^\\d{2}$"}"#,
        &[r#""12""#],
        &[r#""123""#, r#""١٢""#],
        r"`v` does not match `^\d{2}$`",
    );
}

#[test]
fn required_keys_and_properties() {
    let schema = r#"{"properties": {"a": {"type": "string"}}, "required": ["a", "b", "a"]}"#;
    check_value(schema, r#"{"a": "x", "b": 1}"#, "");
    check_value(schema, r#"{"a": "x", "b": 1, "c": 2}"#, "");
    check_value(schema, r#"{"a": "x"}"#, "`/v/b` is missing");
    check_value(schema, r#"{"b": 1}"#, "`/v/a` is missing");
    check_value(schema, r#"{"a": 1, "b": 1}"#, "`/v/a` is not a string");
    check_value(schema, "[]", "");
    check_value(r#"{"properties": {"a": false}}"#, r#"{"a": 1}"#, "`/v/a` is not allowed");
}

#[test]
fn further_keys() {
    let none = r#"{"properties": {"a": true}, "patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": false}"#;
    check_value(none, r#"{"a": 1, "x-b": "c"}"#, "");
    check_value(none, r#"{"x-b": 1}"#, "`/v/x-b` is not a string");
    check_value(none, r#"{"b": 1}"#, "`/v/b` is not a known key; known: a");
    check_value(r#"{"additionalProperties": false}"#, r#"{"b": 1}"#, "`/v/b` is not a known key");
    let some = r#"{"properties": {"a": true}, "additionalProperties": {"type": "number"}}"#;
    check_value(some, r#"{"a": "x", "b": 1}"#, "");
    check_value(some, r#"{"a": "x", "b": "y"}"#, "`/v/b` is not a number");
    let both = r#"{"properties": {"ab": {"minimum": 2}}, "patternProperties": {"a": {"maximum": 3}, "b": {"multipleOf": 2}}}"#;
    check_value(both, r#"{"ab": 2}"#, "");
    check_value(both, r#"{"ab": 1}"#, "`/v/ab` is less than 2");
    check_value(both, r#"{"ab": 4}"#, "`/v/ab` is more than 3");
    check_value(both, r#"{"ab": 3}"#, "`/v/ab` is not a multiple of 2");
    check_value(both, r#"{"b": 3}"#, "`/v/b` is not a multiple of 2");
}

#[test]
fn names_and_numbers_of_keys() {
    check_all(
        r#"{"propertyNames": {"maxLength": 2}}"#,
        &[r#"{"ab": 1}"#, "{}", "1"],
        &[r#"{"abc": 1}"#],
        "`/v/abc` has a name that is not allowed",
    );
    check_all(r#"{"propertyNames": {"enum": ["a", "b"]}}"#, &[r#"{"a": 1}"#], &[], "");
    check_all(
        r#"{"propertyNames": false}"#,
        &["{}"],
        &[r#"{"a": 1}"#],
        "`/v/a` has a name that is not allowed",
    );
    check_all(
        r#"{"minProperties": 1}"#,
        &[r#"{"a": 1}"#, "[]"],
        &["{}"],
        "`v` has fewer than 1 key",
    );
    check_all(
        r#"{"maxProperties": 1}"#,
        &[r#"{"a": 1}"#, "{}"],
        &[r#"{"a": 1, "b": 2}"#],
        "`v` has more than 1 key",
    );
    check(
        r#"{"properties": {"a": true}, "minProperties": 1}"#,
        "{}",
        "the object of arguments has fewer than 1 key",
    );
}

#[test]
fn dependencies_of_keys() {
    let missing = "`/v/b` is missing, and goes with `/v/a`";
    let fits = [r#"{"a": 1, "b": 2}"#, r#"{"b": 2}"#, "{}", "1"];
    check_all(r#"{"dependentRequired": {"a": ["b"]}}"#, &fits, &[r#"{"a": 1}"#], missing);
    check_all(r#"{"dependencies": {"a": ["b"]}}"#, &fits, &[r#"{"a": 1}"#], missing);
    for keyword in ["dependentSchemas", "dependencies"] {
        let schema = format!(r#"{{"{keyword}": {{"a": {{"required": ["b"]}}}}}}"#);
        check_all(&schema, &fits, &[r#"{"a": 1}"#], "`/v/b` is missing");
    }
}

#[test]
fn items() {
    check_all(
        r#"{"items": {"type": "number"}}"#,
        &["[]", "[1, 2]", "{}"],
        &[r#"[1, "a"]"#],
        "`/v/1` is not a number",
    );
    check_all(r#"{"items": false}"#, &["[]"], &["[1]"], "`/v/0` is not allowed");
    check_all(r#"{"minItems": 2}"#, &["[1, 2]"], &["[1]"], "`v` has fewer than 2 items");
    check_all(r#"{"maxItems": 2}"#, &["[1, 2]"], &["[1, 2, 3]"], "`v` has more than 2 items");
}

#[test]
fn the_first_items_and_the_rest_in_both_ways_of_writing() {
    for schema in [
        r#"{"prefixItems": [{"type": "string"}, {"type": "number"}], "items": {"type": "null"}}"#,
        r#"{"items": [{"type": "string"}, {"type": "number"}], "additionalItems": {"type": "null"}}"#,
    ] {
        check_all(schema, &["[]", r#"["a"]"#, r#"["a", 1, null]"#], &[], "");
        check_value(schema, "[1]", "`/v/0` is not a string");
        check_value(schema, r#"["a", "b"]"#, "`/v/1` is not a number");
        check_value(schema, r#"["a", 1, null, 2]"#, "`/v/3` is not null");
    }
    check_all(
        r#"{"prefixItems": [{"type": "string"}]}"#,
        &[r#"["a", 1]"#],
        &["[1]"],
        "`/v/0` is not a string",
    );
    check_all(
        r#"{"items": {"type": "string"}, "additionalItems": false}"#,
        &[r#"["a", "b"]"#],
        &[],
        "",
    );
    check_all(
        r#"{"items": [true], "additionalItems": false}"#,
        &["[1]"],
        &["[1, 2]"],
        "`/v/1` is not allowed",
    );
}

#[test]
fn contained_items() {
    let fewer = "`v` has fewer than 1 item of the kind that it has to contain";
    check_all(r#"{"contains": {"type": "string"}}"#, &[r#"[1, "a"]"#, "{}"], &["[]", "[1]"], fewer);
    let more = "`v` has more than 2 items of the kind that it has to contain";
    let schema = r#"{"contains": {"const": 1}, "minContains": 0, "maxContains": 2}"#;
    check_all(schema, &["[]", "[1, 2, 1]"], &["[1, 1, 1]"], more);
    check_all(r#"{"minContains": 5}"#, &["[]"], &[], "");
}

#[test]
fn unique_items() {
    let schema = r#"{"uniqueItems": true}"#;
    check_all(
        schema,
        &["[]", r#"[1, "1", true, [1], {"a": 1}, 9007199254740993, 9007199254740992]"#, "{}"],
        &[],
        "",
    );
    check_all(
        schema,
        &[],
        &[
            "[1, 1]",
            "[1, 1.0]",
            "[0, -0]",
            r#"["a", "a"]"#,
            r#"[{"a": 1, "b": 2}, {"b": 2, "a": 1.0}]"#,
        ],
        "`/v/1` repeats an earlier item",
    );
    check_all(r#"{"uniqueItems": false}"#, &["[1, 1]"], &[], "");
}

#[test]
fn logic() {
    check_all(
        r#"{"allOf": [{"minimum": 1}, {"maximum": 3}]}"#,
        &["2"],
        &["4"],
        "`v` is more than 3",
    );
    check_all(
        r#"{"anyOf": [{"type": "string"}, {"minimum": 3}]}"#,
        &[r#""a""#, "3"],
        &["2"],
        "`v` fits none of its forms: `v` is not a string; `v` is less than 3",
    );
    let several = "`v` fits several of the forms of which it has to fit exactly one";
    check_all(r#"{"oneOf": [{"multipleOf": 2}, {"multipleOf": 3}]}"#, &["2", "3"], &["6"], several);
    check_all(
        r#"{"not": {"type": "string"}}"#,
        &["1"],
        &[r#""a""#],
        "`v` has a form that is not allowed",
    );
    check_all(
        r#"{"not": {"not": {"type": "string"}}}"#,
        &[r#""a""#],
        &["1"],
        "`v` has a form that is not allowed",
    );
}

#[test]
fn conditions() {
    let schema = r#"{"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"minimum": 2}}"#;
    check_all(schema, &[r#""ab""#, "2"], &["1"], "`v` is less than 2");
    check_value(schema, r#""a""#, "`v` has fewer than 2 characters");
    check_all(
        r#"{"if": {"type": "string"}, "else": {"minimum": 2}}"#,
        &[r#""""#],
        &["1"],
        "`v` is less than 2",
    );
    check_all(r#"{"then": false, "else": false}"#, &["1"], &[], "");
}

#[test]
fn references_stay_within_the_schema() {
    for (reference, place) in [
        ("#/$defs/text", r#""$defs": {"text": {"type": "string"}}"#),
        ("#/definitions/text", r#""definitions": {"text": {"type": "string"}}"#),
        ("#/properties/w", r#""title": "beside""#),
        ("#/$defs/a~1b~0c", r#""$defs": {"a/b~c": {"type": "string"}}"#),
        ("#/$defs/a%20b", r#""$defs": {"a b": {"type": "string"}}"#),
        ("#/$defs/list/0", r#""$defs": {"list": [{"type": "string"}]}"#),
        (
            "#/$defs/a",
            r##""$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/properties/w"}}"##,
        ),
    ] {
        let schema = format!(
            r#"{{"properties": {{"w": {{"type": "string"}}, "v": {{"$ref": "{reference}"}}}}, {place}}}"#
        );
        check(&schema, r#"{"v": "a"}"#, "");
        check(&schema, r#"{"v": 1}"#, "`v` is not a string");
    }
}

#[test]
fn what_stands_beside_a_reference_counts() {
    let schema = r##"{"properties": {"v": {"$ref": "#/$defs/text", "minLength": 2, "description": "x"}}, "$defs": {"text": {"type": "string"}}}"##;
    check(schema, r#"{"v": "ab"}"#, "");
    check(schema, r#"{"v": "a"}"#, "`v` has fewer than 2 characters");
    check(schema, r#"{"v": 1}"#, "`v` is not a string");
}

#[test]
fn a_schema_may_contain_itself_as_long_as_the_arguments_end() {
    let schema = r##"{"properties": {"v": {"$ref": "#/$defs/tree"}}, "$defs": {"tree": {
        "type": "object", "properties": {"leaf": {"type": "number"}, "branches": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
        "additionalProperties": false}}}"##;
    check(schema, r#"{"v": {"branches": [{"leaf": 1}, {"branches": [{"leaf": 2}]}]}}"#, "");
    check(
        schema,
        r#"{"v": {"branches": [{"leaf": 1}, {"branches": [{"leaf": "x"}]}]}}"#,
        "`/v/branches/1/branches/0/leaf` is not a number",
    );
}

/// What describes and what nobody knows changes nothing; a property may have any name.
#[test]
fn annotations_and_unknown_keywords_change_nothing() {
    let schema = r#"{
        "$schema": "http://json-schema.org/draft-07/schema#", "$id": "https://example.com/a", "$comment": "c",
        "title": 1, "description": "d", "default": 5, "examples": [1], "format": "email", "readOnly": true, "writeOnly": true,
        "deprecated": true, "contentEncoding": "base64", "contentMediaType": "a/b", "contentSchema": {"type": "null"},
        "x-thing": {"type": 5}, "nullable": true, "$defs": {"unused": {"type": 5}}, "$anchor": "here",
        "type": "string"}"#;
    check_value(schema, r#""no address""#, "");
    check_value(schema, "1", "`v` is not a string");
    let named = r#"{"properties": {"$ref": {"type": "string"}, "type": {"type": "string"}, "properties": {"type": "string"}}}"#;
    check(named, r##"{"$ref": "#/nowhere", "type": "x", "properties": "y"}"##, "");
    check(named, r#"{"$ref": 1}"#, "`$ref` is not a string");
}

/// As the standard says, and as decision 8 does; what restricts and is known to is never passed over.
#[test]
fn a_keyword_that_no_draft_knows_restricts_nothing() {
    for keyword in ["x-order", "markdownDescription", "maxmimum", "unevaluated", "$dynamicref"] {
        check_all(&format!(r#"{{"{keyword}": false}}"#), &["7", "null", "[]", "{}"], &[], "");
    }
}
