//! A second opinion: random schemas and values, judged here and by the `jsonschema` crate.
//!
//! Left out is what is known to differ: unknown keys at the root, numbers that doubles cannot tell
//! apart, multiples of fractions, and what stands beside a `$ref` in drafts in which that does not
//! count.

use ic_schema::Schema;
use ic_types::Object;
use jsonschema::Draft;
use proptest::prelude::*;
use proptest::strategy::Union;
use serde_json::{Map, Value, json};

use crate::world;

/// Small values, so that schemas and values have a chance to agree.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..7).prop_map(Value::from),
        prop::sample::select(vec![0.0, 1.0, 2.5, -0.5, 3.25, 1e10]).prop_map(Value::from),
        prop::sample::select(vec!["", "a", "b", "ab", "abc", "ä", "1", "x-y", "😀"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(any_key(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn any_key() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "ab", "c", "x-y"]).prop_map(str::to_owned)
}

fn any_pattern() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "a",
        "^a",
        "b$",
        "^[a-c]+$",
        r"^\d$",
        r"\W",
        r"^\w+$",
        r"^.$",
        "^(a|b)?$",
        "[^a]",
        "a{2}",
        "",
        r"\S",
        r"^\p{L}+$",
        r"^[\w-]+$",
        r"\.",
        "x-",
    ])
    .prop_map(str::to_owned)
}

type Keyword = BoxedStrategy<(String, Value)>;

fn named(name: &'static str, value: BoxedStrategy<Value>) -> Keyword {
    value.prop_map(move |value| (name.to_owned(), value)).boxed()
}

fn any_count() -> BoxedStrategy<Value> {
    (0_u64..4).prop_map(Value::from).boxed()
}

fn any_number() -> BoxedStrategy<Value> {
    (-2_i64..6).prop_map(Value::from).boxed()
}

fn any_flag() -> BoxedStrategy<Value> {
    any::<bool>().prop_map(Value::from).boxed()
}

fn any_keys() -> BoxedStrategy<Value> {
    prop::collection::btree_set(any_key(), 1..3).prop_map(|keys| json!(keys)).boxed()
}

fn several(inner: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    prop::collection::vec(inner, 1..4).prop_map(Value::from).boxed()
}

/// One keyword with a value, given schemas to put below it.
fn any_keyword(draft: Draft, inner: &BoxedStrategy<Value>) -> Keyword {
    let mut keywords = keywords_of_all_drafts(inner);
    if draft != Draft::Draft4 {
        keywords.extend([
            named("const", any_value().boxed()),
            named("exclusiveMinimum", any_number()),
            named("exclusiveMaximum", any_number()),
            named("propertyNames", inner.clone()),
            named("contains", inner.clone()),
        ]);
    }
    if matches!(draft, Draft::Draft7 | Draft::Draft202012) {
        keywords.extend(["if", "then", "else"].map(|name| named(name, inner.clone())));
    }
    if draft == Draft::Draft202012 {
        keywords.extend([
            named("prefixItems", several(inner.clone())),
            named("minContains", any_count()),
            named("maxContains", any_count()),
            named("dependentRequired", by(any_key().boxed(), any_keys())),
            named("dependentSchemas", by(any_key().boxed(), inner.clone())),
        ]);
    } else {
        let dependency = prop_oneof![any_keys(), inner.clone()].boxed();
        keywords.extend([
            named("items", several(inner.clone())),
            named("additionalItems", inner.clone()),
            named("dependencies", by(any_key().boxed(), dependency)),
        ]);
    }
    if draft == Draft::Draft4 {
        keywords.push(named("exclusiveMinimum", any_flag()));
        keywords.push(named("exclusiveMaximum", any_flag()));
    }
    Union::new(keywords).boxed()
}

fn keywords_of_all_drafts(inner: &BoxedStrategy<Value>) -> Vec<Keyword> {
    let choices = prop::collection::vec(any_value(), 1..5).prop_map(|values| json!(unique(values)));
    vec![
        named("type", any_type()),
        named("type", any_type()),
        named("enum", choices.boxed()),
        named("properties", by(any_key().boxed(), inner.clone())),
        named("properties", by(any_key().boxed(), inner.clone())),
        named("required", any_keys()),
        named("additionalProperties", inner.clone()),
        named("patternProperties", by(any_pattern().boxed(), inner.clone())),
        named("minItems", any_count()),
        named("maxItems", any_count()),
        named("minLength", any_count()),
        named("maxLength", any_count()),
        named("minProperties", any_count()),
        named("maxProperties", any_count()),
        named("uniqueItems", any_flag()),
        named("minimum", any_number()),
        named("maximum", any_number()),
        named("multipleOf", (1_i64..4).prop_map(Value::from).boxed()),
        named("pattern", any_pattern().prop_map(Value::from).boxed()),
        named("items", inner.clone()),
        named("allOf", several(inner.clone())),
        named("anyOf", several(inner.clone())),
        named("oneOf", several(inner.clone())),
        named("not", inner.clone()),
        named("format", Just(json!("email")).boxed()),
    ]
}

fn any_type() -> BoxedStrategy<Value> {
    let name = prop::sample::select(vec![
        "null", "boolean", "integer", "number", "string", "array", "object",
    ]);
    let several = prop::sample::subsequence(vec!["null", "integer", "string", "array"], 1..3);
    prop_oneof![3 => name.prop_map(Value::from), 1 => several.prop_map(|names| json!(names))]
        .boxed()
}

fn by(keys: BoxedStrategy<String>, values: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    prop::collection::btree_map(keys, values, 1..3)
        .prop_map(|map| Value::Object(map.into_iter().collect()))
        .boxed()
}

fn unique(values: Vec<Value>) -> Vec<Value> {
    let mut kept: Vec<Value> = Vec::new();
    for value in values {
        if !kept.contains(&value) {
            kept.push(value);
        }
    }
    kept
}

/// Schemas of a draft, which refer to definitions below the values that they are about.
fn any_schema(draft: Draft) -> BoxedStrategy<Value> {
    let leaf = match draft {
        Draft::Draft4 => Just(json!({})).boxed(),
        _ => any::<bool>().prop_map(Value::from).boxed(),
    };
    let reference =
        prop::sample::select(vec!["#/definitions/x", "#/definitions/y", "#/properties/v"]);
    // A reference stands where the value gets smaller, so that it cannot lead in a circle.
    let below = (prop::sample::select(vec!["additionalProperties", "items"]), reference)
        .prop_map(|(keyword, reference)| json!({keyword: {"$ref": reference}}));
    prop_oneof![1 => leaf, 1 => below]
        .prop_recursive(3, 24, 4, move |inner| {
            prop::collection::vec(any_keyword(draft, &inner.boxed()), 1..5)
                .prop_map(|keywords| Value::Object(well_formed(keywords.into_iter().collect())))
        })
        .boxed()
}

/// Takes out the flags of draft 4 that have nothing to be about.
fn well_formed(mut schema: Map<String, Value>) -> Map<String, Value> {
    for (flag, limit) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        if schema.get(flag).is_some_and(Value::is_boolean) && !schema.contains_key(limit) {
            schema.remove(flag);
        }
    }
    schema
}

/// Returns the schema of a call whose only argument is `v`.
fn any_root(draft: Draft) -> impl Strategy<Value = Value> {
    (any_schema(draft), any_schema(draft), any_schema(draft)).prop_map(
        |(schema, x, y)| json!({"type": "object", "properties": {"v": schema}, "definitions": {"x": x, "y": y}}),
    )
}

/// Draft 4 takes `1.0` for a number that is not whole.
fn has_whole_fraction(value: &Value) -> bool {
    match value {
        Value::Number(number) => {
            number.as_f64().is_some_and(|n| number.is_f64() && n.fract() == 0.0)
        }
        Value::Array(items) => items.iter().any(has_whole_fraction),
        Value::Object(map) => map.values().any(has_whole_fraction),
        _ => false,
    }
}

/// Judges calls with these values here and there.
fn check(draft: Draft, schema: &Value, values: &[Value]) -> Result<(), TestCaseError> {
    let options = jsonschema::options().with_draft(draft).should_validate_formats(false);
    let theirs = options.build(schema).unwrap();
    let ours = match Schema::compile(&world::json(&schema.to_string())) {
        Ok(schema) => schema,
        Err(fault) => panic!("{fault}: {schema}"),
    };
    for value in values {
        let mut arguments = Object::new();
        arguments.insert("v", world::json(&value.to_string()));
        let answer = world::answer(&ours, &arguments);
        let is_valid = theirs.is_valid(&json!({"v": value}));
        prop_assert_eq!(answer.is_empty(), is_valid, "{:?} for {} by {}", answer, value, schema);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn agrees_with_another_validator_on_draft_2020_12(
        schema in any_root(Draft::Draft202012), values in prop::collection::vec(any_value(), 12),
    ) {
        check(Draft::Draft202012, &schema, &values)?;
    }

    #[test]
    fn agrees_with_another_validator_on_draft_7(
        schema in any_root(Draft::Draft7), values in prop::collection::vec(any_value(), 12),
    ) {
        check(Draft::Draft7, &schema, &values)?;
    }

    #[test]
    fn agrees_with_another_validator_on_draft_4(
        schema in any_root(Draft::Draft4), mut values in prop::collection::vec(any_value(), 12),
    ) {
        values.retain(|value| !has_whole_fraction(value));
        check(Draft::Draft4, &schema, &values)?;
    }
}
