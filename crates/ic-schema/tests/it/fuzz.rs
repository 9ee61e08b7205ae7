//! Mutated schemas with arguments: whatever they say has an end, and what another validator refuses is refused.

use ic_fuzz::{Outcome, Target};
use ic_schema::Schema;
use ic_types::{Json, JsonLimits};
use serde_json::Value;

/// An input is a schema, this line, and arguments.
const BETWEEN: &[u8] = b"\n--\n";

#[test]
fn fuzz_schema() {
    Target::new("schema")
        .seeds([
            "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"minLength\":1,\"pattern\":\"^[a-c]+$\"}},\"required\":[\"a\"]}\n--\n{\"a\":\"b\"}",
            "{\"properties\":{\"a\":{\"$ref\":\"#/$defs/x\"}},\"$defs\":{\"x\":{\"anyOf\":[{\"type\":\"null\"},{\"items\":{\"$ref\":\"#/$defs/x\"}}]}}}\n--\n{\"a\":[[null]]}",
            "{\"type\":[\"object\",\"null\"],\"patternProperties\":{\"^a\":{\"multipleOf\":0.1,\"maximum\":3}},\"additionalProperties\":false}\n--\n{\"ab\":0.3}",
            "{\"allOf\":[{\"if\":{\"required\":[\"a\"]},\"then\":{\"dependentRequired\":{\"a\":[\"b\"]}},\"else\":false}],\"maxProperties\":3}\n--\n{\"a\":1,\"b\":{}}",
            "{\"properties\":{\"v\":{\"prefixItems\":[{\"const\":1},{\"enum\":[\"x\",2]}],\"contains\":{\"type\":\"integer\"},\"minContains\":1,\"uniqueItems\":true}}}\n--\n{\"v\":[1,\"x\"]}",
            "{\"oneOf\":[{\"not\":{}},{\"propertyNames\":{\"maxLength\":2}}],\"exclusiveMinimum\":true,\"minimum\":1}\n--\n{\"a\":1}",
        ])
        .words([
            "\"$ref\":\"#\"", "\"$ref\":\"#/properties/a\"", "\"type\":\"object\"", "\"items\":", "\"anyOf\":", "\"allOf\":", "\"not\":",
            "\"oneOf\":", "\"if\":", "\"properties\":", "\"additionalProperties\":false", "\"pattern\":\"(a+)+$\"", "\"pattern\":\"a{1000}\"",
            "\"enum\":", "\"const\":", "\"required\":[\"a\"]", "\"uniqueItems\":true", "\"multipleOf\":", "\"minimum\":", "\"$schema\":",
            "\"$id\":\"x\"", "\"$anchor\":\"x\"", "\"$defs\":", "\"dependencies\":", "\"unevaluatedProperties\":false", "{\"a\":1}", "{}", "[]",
            "null", "true", "1e400", "0.1", ",", "\"a\"", "\"v\"",
        ])
        .run(check);
}

fn check(bytes: &[u8]) -> Outcome {
    let at = bytes.windows(BETWEEN.len()).position(|it| it == BETWEEN);
    let Some((schema, rest)) = at.map(|at| bytes.split_at(at)) else {
        return Outcome::refused("one part");
    };
    let arguments = rest.strip_prefix(BETWEEN).unwrap_or_default();
    let Ok(schema_json) = Json::parse(schema, JsonLimits::CALL) else {
        return Outcome::refused("no JSON");
    };
    let Ok(Json::Object(arguments_object)) = Json::parse(arguments, JsonLimits::CALL) else {
        return Outcome::refused("no arguments");
    };
    let compiled = match Schema::compile(&schema_json) {
        Ok(compiled) => compiled,
        Err(fault) => {
            let again = Schema::compile(&schema_json).unwrap_err();
            assert_eq!(again.to_string(), fault.to_string(), "the fault changes");
            // Names and places would make a kind of each input.
            let kind: String = fault.to_string().split('`').skip(2).step_by(2).collect();
            return Outcome::refused(kind);
        }
    };
    let answer = compiled.check(&arguments_object);
    let again = compiled.check(&arguments_object);
    let text =
        |answer: &Result<(), ic_schema::Violation>| answer.as_ref().err().map(ToString::to_string);
    assert_eq!(text(&answer), text(&again), "the answer changes");
    if answer.is_ok() {
        must_not_be_refused_elsewhere(schema, arguments, &compiled);
    }
    Outcome::accepted((
        answer.is_ok(),
        text(&answer).map(|it| it.split('`').skip(2).step_by(2).collect::<String>()),
    ))
}

/// What is read otherwise: what is looked up from the root, what stands beside a reference, and numbers that
/// doubles cannot tell apart.
const DOCUMENTED: [&[u8]; 7] =
    [b"$ref", b"$id", b"\"id\"", b"$schema", b"$vocabulary", b"multipleOf", b"99999"];

/// What we let through, another validator must not refuse, apart from what is documented.
fn must_not_be_refused_elsewhere(schema: &[u8], arguments: &[u8], compiled: &Schema) {
    let holds = |word: &&[u8]| contains(schema, word) || contains(arguments, word);
    let is_inexact = has_fraction(schema) || has_fraction(arguments);
    let is_documented = !compiled.notes().is_empty() || is_inexact || DOCUMENTED.iter().any(holds);
    if is_documented {
        return;
    }
    let (Ok(schema), Ok(arguments)) =
        (serde_json::from_slice::<Value>(schema), serde_json::from_slice::<Value>(arguments))
    else {
        return;
    };
    let draft = jsonschema::Draft::Draft202012;
    let options = jsonschema::options().with_draft(draft).should_validate_formats(false);
    // A schema that it does not take says nothing about ours.
    let Ok(theirs) = options.build(&schema) else { return };
    assert!(theirs.is_valid(&arguments), "let through: {arguments} by {schema}");
}

fn contains(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|it| it == word)
}

fn has_fraction(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|it| matches!(it, [b'0'..=b'9', b'e' | b'E' | b'.']))
}
