//! The schema describes every key, and nothing else.

use ic_home::config::KEYS;
use ic_home::config::schema::schema;
use serde_json::Value;

#[test]
fn the_schema_has_every_key_and_is_closed() {
    let schema: Value = serde_json::from_str(&schema()).unwrap();
    for key in KEYS {
        let (path, is_map) = match key.name.split_once(".<") {
            Some((map, _)) => (map, true),
            None => (key.name, false),
        };
        let described = path.split('.').fold(&schema, |object, part| &object["properties"][part]);
        let described = if is_map { &described["additionalProperties"] } else { described };
        assert_eq!(described["description"], key.about, "{}", key.name);
        let default = key.default.map_or(Value::Null, |it| serde_json::from_str(it).unwrap());
        assert_eq!(described["default"], default, "{}", key.name);
    }
    assert_eq!(schema["required"], serde_json::json!(["version"]));
    assert_closed(&schema);
}

/// Checks that an object with properties allows no others.
fn assert_closed(schema: &Value) {
    if let Some(properties) = schema.get("properties") {
        assert_eq!(schema["additionalProperties"], false, "{schema}");
        properties.as_object().unwrap().values().for_each(assert_closed);
    }
}

#[test]
fn ranges_and_choices_are_those_of_the_registry() {
    let schema: Value = serde_json::from_str(&schema()).unwrap();
    let of = |path: &str| {
        path.split('.').fold(&schema, |object, part| &object["properties"][part]).clone()
    };
    let timeout = of("escalationTimeoutSeconds");
    assert_eq!(
        (&timeout["type"], &timeout["minimum"], &timeout["maximum"]),
        (&"integer".into(), &1.into(), &86_400.into())
    );
    assert_eq!(of("budget.maxSteps")["type"], serde_json::json!(["integer", "null"]));
    assert_eq!(of("confinement")["enum"], serde_json::json!(["enforce", "warn", "off"]));
    assert_eq!(of("agent.cpus")["minimum"], 0.01);
    assert_eq!(of("apiKey")["writeOnly"], true);
}
