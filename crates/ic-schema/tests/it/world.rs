//! Schemas and arguments from texts, and the one check that the tables go through.

use ic_schema::{Schema, SchemaFault};
use ic_types::{Json, JsonLimits, Object};

pub(crate) fn json(text: &str) -> Json {
    match Json::parse(text.as_bytes(), JsonLimits::ARTIFACT) {
        Ok(json) => json,
        Err(error) => panic!("{error}: {text}"),
    }
}

pub(crate) fn object(text: &str) -> Object {
    match json(text) {
        Json::Object(object) => object,
        other => panic!("no object: {other}"),
    }
}

pub(crate) fn compile(text: &str) -> Result<Schema, SchemaFault> {
    Schema::compile(&json(text))
}

/// Returns what a check says; nothing if the arguments fit.
pub(crate) fn answer(schema: &Schema, arguments: &Object) -> String {
    schema.check(arguments).err().map(|violation| violation.to_string()).unwrap_or_default()
}

/// Holds `arguments` against `schema` and expects the sentence, or nothing.
#[track_caller]
pub(crate) fn check(schema: &str, arguments: &str, expected: &str) {
    let compiled = match compile(schema) {
        Ok(compiled) => compiled,
        Err(fault) => panic!("{fault}: {schema}"),
    };
    assert_eq!(answer(&compiled, &object(arguments)), expected, "{arguments} against {schema}");
}

/// Holds the argument `v` against the schema of `v`.
#[track_caller]
pub(crate) fn check_value(schema: &str, value: &str, expected: &str) {
    let schema = format!(r#"{{"type": "object", "properties": {{"v": {schema}}}}}"#);
    check(&schema, &format!(r#"{{"v": {value}}}"#), expected);
}

/// Holds values that fit, and values that do not, against the schema of `v`.
#[track_caller]
pub(crate) fn check_all(schema: &str, fits: &[&str], others: &[&str], expected: &str) {
    for value in fits {
        check_value(schema, value, "");
    }
    for value in others {
        check_value(schema, value, expected);
    }
}

/// Expects that `schema` cannot be used.
#[track_caller]
pub(crate) fn check_fault(schema: &str, expected: &str) {
    match compile(schema) {
        Ok(_) => panic!("usable: {schema}"),
        Err(fault) => assert_eq!(fault.to_string(), expected, "{schema}"),
    }
}
