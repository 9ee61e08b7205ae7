//! A JSON Schema of `config.json`, made from the registry, for editors and other programs.
//!
//! The program itself does not use it: some of what it checks cannot be said in a schema.

use ic_types::{Json, Object, Provider};

use crate::config::Registry;
use crate::config::document::LIMITS;
use crate::config::key::{AGENTS, KEYS, Key};
use crate::config::value::{Kind, object};
use crate::environment::KEY_BYTES_MAX;

/// Returns the schema, readably laid out.
pub fn schema() -> String {
    let mut root = group();
    root.insert("$schema", "https://json-schema.org/draft/2020-12/schema");
    root.insert("title", "IronCurtain configuration (config.json)");
    root.insert("required", Json::Array(vec!["version".into()]));
    let version =
        object([("const", Json::from(1_u64)), ("description", "version of the format".into())]);
    add(&mut root, &["version"], version.into());
    for key in KEYS {
        let parts: Vec<&str> = key.name.split('.').collect();
        match (key.map(), parts.split_last()) {
            (Some(_), Some((_, above))) => add(&mut root, above, map(key).into()),
            (_, _) => add(&mut root, &parts, value(key).into()),
        }
    }
    crate::config::value::pretty(&root.into())
}

/// Puts `schema` at the end of `parts`, making the groups on the way.
fn add(parent: &mut Object, parts: &[&str], schema: Json) {
    let [first, rest @ ..] = parts else { return };
    let Some(Json::Object(properties)) = parent.get_mut("properties") else { return };
    if rest.is_empty() {
        properties.insert(*first, schema);
        return;
    }
    if properties.get(first).is_none() {
        properties.insert(*first, group());
    }
    if let Some(Json::Object(inner)) = properties.get_mut(first) {
        add(inner, rest, schema);
    }
}

fn group() -> Object {
    object([
        ("type", "object".into()),
        ("additionalProperties", Json::Bool(false)),
        ("properties", Object::new().into()),
    ])
}

/// Describes a map whose entries `key` describes.
fn map(key: &Key) -> Object {
    let names = match key.name {
        "agent.apiKeys.<agent>" | "agent.login.<agent>" => Some(words(AGENTS)),
        "mitm.allowKeys.<provider>" => Some(words(&Provider::ALL.map(Provider::as_str))),
        // A host: more than a pattern says.
        _ => None,
    };
    let mut map = object([("type", "object".into()), ("additionalProperties", value(key).into())]);
    if let Some(names) = names {
        map.insert("propertyNames", object([("enum", names)]));
    }
    map
}

fn value(key: &Key) -> Object {
    let mut schema = of_kind(key.kind);
    schema.insert("description", key.about);
    if let Some(default) = key.default.and_then(|it| Json::parse(it.as_bytes(), LIMITS).ok()) {
        schema.insert("default", default);
    }
    schema
}

fn of_kind(kind: Kind) -> Object {
    match kind {
        Kind::Switch => object([("type", "boolean".into())]),
        Kind::Whole { min, max } => range("integer".into(), Json::from(min), Json::from(max)),
        Kind::WholeOrOff { min, max } => {
            range(words(&["integer", "null"]), Json::from(min), Json::from(max))
        }
        Kind::Decimal { min, max } => range("number".into(), number(min), number(max)),
        Kind::DecimalOrOff { min, max } => {
            range(words(&["number", "null"]), number(min), number(max))
        }
        Kind::Choice(choices) => object([("enum", words(choices))]),
        Kind::Model => text(1, 160),
        Kind::Secret => {
            let mut schema = text(1, KEY_BYTES_MAX as u64);
            schema.insert("writeOnly", Json::Bool(true));
            schema
        }
        Kind::Url => url(),
        Kind::Paths => list(text(1, 4096)),
        Kind::Policy => text(1, 4096),
        Kind::Command => {
            let mut schema = list(text(0, 4096));
            schema.insert("type", words(&["string", "array", "null"]));
            for (key, limit) in [("minLength", 1_u64), ("minItems", 1), ("maxItems", 64)] {
                schema.insert(key, Json::from(limit));
            }
            schema
        }
        Kind::Image => text(1, 255),
        Kind::Packages => list(text(2, 128)),
        Kind::Registries => {
            let mut name = Object::new();
            let names = Registry::ALL.map(|it| Json::from(it.as_str()));
            name.insert("enum", Json::Array(names.into()));
            list(name)
        }
        Kind::RequestKeys => list(text(1, 64)),
        Kind::Upstream => {
            let mut schema = group();
            add(&mut schema, &["url"], url().into());
            add(&mut schema, &["caFile"], text(1, 4096).into());
            schema.insert("required", Json::Array(vec!["url".into()]));
            schema
        }
    }
}

fn url() -> Object {
    object([("type", "string".into()), ("format", "uri".into())])
}

fn text(min: u64, max: u64) -> Object {
    object([
        ("type", "string".into()),
        ("minLength", Json::from(min)),
        ("maxLength", Json::from(max)),
    ])
}

fn list(items: Object) -> Object {
    object([("type", "array".into()), ("items", items.into()), ("maxItems", Json::from(1024_u64))])
}

fn range(kind: Json, min: Json, max: Json) -> Object {
    object([("type", kind), ("minimum", min), ("maximum", max)])
}

fn words(words: &[&str]) -> Json {
    Json::Array(words.iter().map(|word| Json::from(*word)).collect())
}

fn number(number: f64) -> Json {
    // The limits of the registry are finite, so they are JSON.
    Json::parse(number.to_string().as_bytes(), LIMITS).unwrap_or(Json::Null)
}
