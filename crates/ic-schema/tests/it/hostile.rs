//! Schemas and arguments that were made to cost: each ends soon, and none is let through by that.

use std::thread;

use ic_schema::{FaultReason, Schema};
use ic_types::{Json, Object};
use proptest::prelude::*;

use crate::world::{answer, check, check_fault, check_value, compile, json, object};

const COMPLEX: &str = "the arguments are too complex to be checked";
const CIRCULAR: &str = "the schema refers to itself without end";

/// Returns definitions `d0` to `d40` in which each asks the next one twice.
fn doubling(of_two: impl Fn(&str) -> String, last: &str) -> String {
    let definition = |n: usize| {
        format!(r#""d{n}": {}"#, of_two(&format!(r##"{{"$ref": "#/$defs/d{}"}}"##, n + 1)))
    };
    let all: Vec<String> = (0..40).map(definition).collect();
    format!(r#""$defs": {{{}, "d40": {last}}}"#, all.join(", "))
}

/// Two to the power of forty ways, and some of them are taken.
#[test]
fn a_schema_that_doubles_forty_times_is_given_up() {
    let never = r#"{"type": "string"}"#;
    for (keyword, last) in [("allOf", "true"), ("anyOf", never), ("oneOf", never)] {
        let defs = doubling(|next| format!(r#"{{"{keyword}": [{next}, {next}]}}"#), last);
        check(
            &format!(r##"{{"properties": {{"v": {{"$ref": "#/$defs/d0"}}}}, {defs}}}"##),
            r#"{"v": 1}"#,
            COMPLEX,
        );
    }
    let defs = doubling(|next| format!(r#"{{"if": {next}, "then": {next}}}"#), "true");
    check(
        &format!(r##"{{"properties": {{"v": {{"$ref": "#/$defs/d0"}}}}, {defs}}}"##),
        r#"{"v": 1}"#,
        COMPLEX,
    );
    let defs = doubling(|next| format!(r#"{{"items": {{"allOf": [{next}, {next}]}}}}"#), "true");
    let deep = format!(r#"{{"v": {}1{}}}"#, "[".repeat(40), "]".repeat(40));
    check(
        &format!(r##"{{"properties": {{"v": {{"$ref": "#/$defs/d0"}}}}, {defs}}}"##),
        &deep,
        COMPLEX,
    );
}

/// Whoever asks a question that nobody can answer has not got a no, and not a yes either.
#[test]
fn a_check_that_gave_up_is_never_taken_for_an_answer() {
    let defs = doubling(|next| format!(r#"{{"allOf": [{next}, {next}]}}"#), "true");
    let endless = r##"{"$ref": "#/$defs/d0"}"##;
    for (schema, value) in [
        (format!(r#"{{"not": {endless}}}"#), "1"),
        (format!(r#"{{"not": {{"not": {endless}}}}}"#), "1"),
        (format!(r#"{{"anyOf": [{endless}, true]}}"#), "1"),
        (format!(r#"{{"oneOf": [{endless}, true]}}"#), "1"),
        (format!(r#"{{"if": {endless}, "then": true, "else": true}}"#), "1"),
        (format!(r#"{{"contains": {endless}, "minContains": 0}}"#), "[1]"),
        (format!(r#"{{"not": {{"contains": {endless}}}}}"#), "[1]"),
        (format!(r#"{{"propertyNames": {endless}}}"#), r#"{"a": 1}"#),
        (format!(r#"{{"not": {{"propertyNames": {endless}}}}}"#), r#"{"a": 1}"#),
        (format!(r#"{{"dependentSchemas": {{"a": {endless}}}}}"#), r#"{"a": 1}"#),
    ] {
        let schema = format!(r#"{{"properties": {{"v": {schema}}}, {defs}}}"#);
        check(&schema, &format!(r#"{{"v": {value}}}"#), COMPLEX);
    }
}

#[test]
fn a_schema_that_leads_back_to_itself_is_a_fault() {
    check_fault(r##"{"$ref": "#"}"##, &format!("at the root: {CIRCULAR}"));
    for schema in [
        r##"{"$ref": "#/$defs/b"}"##,
        r##"{"allOf": [true, {"$ref": "#/$defs/a"}]}"##,
        r##"{"anyOf": [{"$ref": "#/$defs/a"}]}"##,
        r##"{"oneOf": [{"$ref": "#/$defs/a"}]}"##,
        r##"{"not": {"$ref": "#/$defs/a"}}"##,
        r##"{"if": {"$ref": "#/$defs/a"}}"##,
        r##"{"if": true, "then": {"$ref": "#/$defs/a"}}"##,
        r##"{"if": true, "else": {"$ref": "#/$defs/a"}}"##,
        r##"{"dependentSchemas": {"x": {"$ref": "#/$defs/a"}}}"##,
        r##"{"dependencies": {"x": {"$ref": "#/$defs/a"}}}"##,
    ] {
        let defs = format!(
            r##"{{"a": {schema}, "b": {{"$ref": "#/$defs/c"}}, "c": {{"$ref": "#/$defs/a"}}}}"##
        );
        let schema =
            format!(r##"{{"properties": {{"v": {{"$ref": "#/$defs/a"}}}}, "$defs": {defs}}}"##);
        let fault = compile(&schema).unwrap_err();
        assert_eq!(*fault.reason(), FaultReason::Circular, "{schema}");
    }
}

/// A chain that is no circle, and longer than any stack.
#[test]
fn a_long_chain_of_references_costs_neither_the_stack_nor_the_check() {
    let chain = |n: usize| {
        let link = |n: usize| format!(r##""c{n}": {{"$ref": "#/$defs/c{}"}}"##, n + 1);
        let links: Vec<String> = (0..n).map(link).collect();
        format!(
            r##"{{"properties": {{"v": {{"$ref": "#/$defs/c0"}}}}, "$defs": {{{}, "c{n}": {{"type": "string"}}}}}}"##,
            links.join(", ")
        )
    };
    check(&chain(200), r#"{"v": 1}"#, "`v` is not a string");
    check(&chain(500), r#"{"v": "a"}"#, COMPLEX);
    let fault = compile(&chain(6000)).unwrap_err();
    assert_eq!(*fault.reason(), FaultReason::TooManyReferences);
}

#[test]
fn a_schema_that_is_too_large_is_a_fault() {
    let list = |n: usize| vec!["1"; n].join(",");
    assert!(
        compile(&format!(r#"{{"properties": {{"v": {{"enum": [{}]}}}}}}"#, list(19_990))).is_ok()
    );
    check_fault(
        &format!(r#"{{"x-data": [{}]}}"#, list(20_000)),
        "at the root: the schema holds more than 20000 values",
    );
    let long = format!(r#"{{"description": "{}"}}"#, "x".repeat(5 << 20));
    check_fault(&long, "at the root: the texts in the schema are longer than 4194304 bytes");
    let deep = format!(r#"{{"x-data": {}{}}}"#, "[".repeat(63), "]".repeat(63));
    assert!(compile(&deep).is_ok());
    let mut nested = Json::from(true);
    for _ in 0..1_000_000 {
        nested = Json::from(vec![nested]);
    }
    let mut root = Object::new();
    root.insert("not", nested);
    let mut schema = Json::from(root);
    let fault = Schema::compile(&schema).unwrap_err();
    assert_eq!(fault.to_string(), "at the root: the schema nests deeper than 64");
    // Taken apart by hand, because dropping it at once would need a stack of its depth.
    loop {
        schema = match schema {
            Json::Object(mut object) => object.remove("not").unwrap(),
            Json::Array(mut items) => items.pop().unwrap(),
            _ => break,
        };
    }
}

#[test]
fn regular_expressions_that_explode_elsewhere_do_not_here() {
    let value = format!(r#""{}!""#, "a".repeat(100_000));
    check_value(r#"{"pattern": "(a+)+$"}"#, &value, "`v` does not match `(a+)+$`");
    check_value(r#"{"pattern": "^(a|a?)+$"}"#, &value, "`v` does not match `^(a|a?)+$`");
    check_value(r#"{"pattern": "(a*)*b"}"#, &value, "`v` does not match `(a*)*b`");
    let heavy = r#"{"pattern": "[ab]*a[ab]{1000}x"}"#;
    check_value(heavy, &value, COMPLEX);
    let huge = compile(r#"{"properties": {"v": {"pattern": "a{1000}{1000}"}}}"#).unwrap();
    assert_eq!(
        huge.notes(),
        ["`pattern` with `a{1000}{1000}` at `/properties/v`: it is not checked: it is too large"]
    );
}

#[test]
fn too_many_patterns_are_a_fault() {
    let entry = |n: usize| format!(r#""p{n}": {{"pattern": "^a{n}$"}}"#);
    let schema = |n: usize| {
        let entries: Vec<String> = (0..n).map(entry).collect();
        format!(r#"{{"properties": {{{}}}}}"#, entries.join(","))
    };
    assert!(compile(&schema(500)).is_ok());
    let expected = "at `/properties/p500`: the schema has too many patterns, or too large ones";
    check_fault(&schema(501), expected);
}

#[test]
fn many_patterns_for_many_keys_are_given_up() {
    let patterns: Vec<String> = (0..400).map(|n| format!(r#""^a{n}$": true"#)).collect();
    let keys: Vec<String> = (0..3000).map(|n| format!(r#""b{n}": 1"#)).collect();
    let schema = format!(r#"{{"patternProperties": {{{}}}}}"#, patterns.join(","));
    check_value(&schema, &format!("{{{}}}", keys.join(",")), COMPLEX);
}

#[test]
fn many_dependencies_among_many_keys_are_given_up() {
    let entries: Vec<String> = (0..9000).map(|n| format!(r#""a{n}": []"#)).collect();
    let keys: Vec<String> = (0..3000).map(|n| format!(r#""b{n}": 1"#)).collect();
    let schema = format!(r#"{{"dependentRequired": {{{}}}}}"#, entries.join(","));
    check_value(&schema, &format!("{{{}}}", keys.join(",")), COMPLEX);
}

#[test]
fn unique_items_are_found_in_one_pass() {
    let schema = compile(r#"{"properties": {"v": {"uniqueItems": true}}}"#).unwrap();
    let arguments = |n: u64, last: u64| {
        let mut items: Vec<Json> = (0..n).map(Json::from).collect();
        items.push(Json::from(last));
        let mut arguments = Object::new();
        arguments.insert("v", items);
        arguments
    };
    assert_eq!(answer(&schema, &arguments(100_000, 100_000)), "");
    assert_eq!(answer(&schema, &arguments(100_000, 99_999)), "`/v/100000` repeats an earlier item");
    assert_eq!(answer(&schema, &arguments(300_000, 0)), COMPLEX);
}

#[test]
fn long_lists_of_arguments_are_given_up() {
    let value = format!("[{}]", vec!["1"; 1_200_000].join(","));
    check_value(r#"{"items": {"type": "number"}}"#, &value, COMPLEX);
    // What no rule is about costs nothing.
    check_value(r#"{"type": "array", "maxItems": 2000000}"#, &value, "");
}

#[test]
fn long_numbers_cost_no_more_than_long_texts() {
    let digits = "7".repeat(1_000_000);
    let schema = r#"{"type": "integer", "minimum": 0, "multipleOf": 7}"#;
    check_value(schema, &digits, "");
    check_value(schema, &format!("{digits}.5"), "`v` is not a whole number");
    check_value(schema, &format!("-{digits}"), "`v` is less than 0");
    check_value(schema, "7e999999999999999999999999", "");
    check_value(schema, "7e-999999999999999999999999", "`v` is not a whole number");
}

/// A long number that is asked about often, and a long limit that many numbers are held to.
#[test]
fn long_numbers_that_are_looked_at_often_are_given_up() {
    let types = vec![r#"{"type": "integer"}"#; 5000].join(",");
    let digits = "7".repeat(1_000_000);
    check_value(&format!(r#"{{"allOf": [{types}]}}"#), &digits, COMPLEX);
    let items = format!("[{}]", vec!["1"; 1000].join(","));
    check_value(&format!(r#"{{"items": {{"maximum": {digits}}}}}"#), &items, COMPLEX);
}

/// Long keys that differ only at their ends.
#[test]
fn long_keys_that_are_looked_for_often_are_given_up() {
    let key = |n: usize| format!("{}{n:04}", "k".repeat(4000));
    let entries: Vec<String> = (0..900).map(|n| format!(r#""{}": []"#, key(n))).collect();
    let keys: Vec<String> = (1000..3000).map(|n| format!(r#""{}": 1"#, key(n))).collect();
    let schema = format!(r#"{{"dependentRequired": {{{}}}}}"#, entries.join(","));
    check_value(&schema, &format!("{{{}}}", keys.join(",")), COMPLEX);
}

const TREE: &str = r##"{"properties": {"v": {"$ref": "#/$defs/tree"}}, "$defs": {"tree": {
    "anyOf": [{"type": "array", "items": {"$ref": "#/$defs/tree"}}, {"type": "null"}]}}}"##;

#[test]
fn arguments_as_deep_as_a_call_may_be_are_checked() {
    let deep = |inside: &str| format!(r#"{{"v": {}{inside}{}}}"#, "[".repeat(63), "]".repeat(63));
    check(TREE, &deep(""), "");
    let simple = r##"{"properties": {"v": {"$ref": "#/$defs/tree"}}, "$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}}"##;
    check(simple, &deep(""), "");
}

/// The depth is limited, and so a small stack is enough, whatever the arguments are.
#[test]
fn arguments_without_an_end_are_given_up_before_the_stack_is() {
    let run = || {
        let tree = compile(TREE).unwrap();
        let choice = compile(r#"{"properties": {"v": {"enum": [[]]}}}"#).unwrap();
        let unique = compile(r#"{"properties": {"v": {"uniqueItems": true}}}"#).unwrap();
        let mut value = Json::from(Vec::new());
        for _ in 0..100_000 {
            value = Json::from(vec![value]);
        }
        let mut arguments = Object::new();
        arguments.insert("v", value);
        let answers = [&tree, &choice, &unique].map(|schema| answer(schema, &arguments));
        let mut value = arguments.remove("v").unwrap();
        while let Json::Array(mut items) = value {
            let Some(inside) = items.pop() else { break };
            value = inside;
        }
        answers
    };
    let small = thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap();
    assert_eq!(small.join().unwrap(), [COMPLEX; 3]);
}

/// Saying why is no way to make a check cost more than it may.
#[test]
fn reasons_within_reasons_stay_short() {
    let definition = |n: usize| {
        format!(
            r##""d{n}": {{"anyOf": [{{"$ref": "#/$defs/d{}"}}, {{"type": "string"}}, {{"const": {n}}}]}}"##,
            n + 1
        )
    };
    let all: Vec<String> = (0..80).map(definition).collect();
    let schema = format!(
        r##"{{"properties": {{"v": {{"$ref": "#/$defs/d0"}}}}, "$defs": {{{}, "d80": false}}}}"##,
        all.join(",")
    );
    let sentence = answer(&compile(&schema).unwrap(), &object(r#"{"v": true}"#));
    assert!(sentence.starts_with("`v` fits none of its forms"), "{sentence}");
    assert!(sentence.chars().count() <= 601, "{sentence}");
}

/// Returns any small document, in which keywords have values that make no sense.
fn any_document() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "$ref",
        "$defs",
        "$id",
        "type",
        "enum",
        "const",
        "properties",
        "required",
        "additionalProperties",
        "patternProperties",
        "propertyNames",
        "minProperties",
        "items",
        "prefixItems",
        "additionalItems",
        "contains",
        "minContains",
        "uniqueItems",
        "maxItems",
        "minimum",
        "exclusiveMinimum",
        "multipleOf",
        "maxLength",
        "pattern",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "dependentRequired",
        "dependentSchemas",
        "dependencies",
        "a",
        "b",
    ]);
    let leaf = prop::sample::select(vec![
        "null",
        "true",
        "false",
        "0",
        "-1",
        "1.5",
        "1e400",
        r#""a""#,
        r##""#""##,
        r##""#/$defs/a""##,
        r##""#/properties/a""##,
        r#""object""#,
        r#""string""#,
        r#""^[a-z]+(""#,
        r#""(?=a)""#,
        "[]",
        "{}",
        r#"["a"]"#,
        "[true]",
    ]);
    leaf.prop_map(str::to_owned).prop_recursive(4, 40, 6, move |inner| {
        let entries = prop::collection::btree_map(word.clone(), inner.clone(), 0..6);
        prop_oneof![
            3 => entries.prop_map(|entries| {
                let entries: Vec<String> =
                    entries.iter().map(|(key, value)| format!(r#""{key}": {value}"#)).collect();
                format!("{{{}}}", entries.join(", "))
            }),
            1 => prop::collection::vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(", "))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn no_schema_and_no_arguments_are_a_reason_to_panic(schema in any_document(), value in any_document()) {
        if let Ok(schema) = Schema::compile(&json(&schema)) {
            let mut arguments = Object::new();
            arguments.insert("a", json(&value));
            let answer = answer(&schema, &arguments);
            prop_assert!(answer.chars().count() <= 601);
            prop_assert!(!answer.contains(char::is_control));
        }
    }
}
