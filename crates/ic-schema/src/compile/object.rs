//! The keywords about objects, and the rule that a root has no keys that it does not name.
//!
//! Does not read the schemas of the entries; it finds them.

use std::collections::HashMap;
use std::sync::Arc;

use ic_types::Json;

use super::keywords::{Keywords, texts};
use super::{Compiler, Origin};
use crate::fault::FaultReason;
use crate::rules::{Additional, Dependency, Key, KeyPattern, ObjectRules};

/// What may give a root further keys; a root without any of it has none.
const OPENING: [&str; 9] = [
    "additionalProperties",
    "unevaluatedProperties",
    "patternProperties",
    "$ref",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "dependentSchemas",
];

impl<'a> Compiler<'a> {
    pub(super) fn object_rules(
        &mut self,
        keywords: Keywords<'a>,
        is_root: bool,
    ) -> Result<Option<Box<ObjectRules>>, FaultReason> {
        let mut rules = ObjectRules {
            size: keywords.span("minProperties", "maxProperties", 0)?,
            keys: HashMap::new(),
            known: Vec::new(),
            required: Vec::new(),
            patterns: self.key_patterns(keywords)?,
            additional: self.additional(keywords)?,
            names: self.child_under(keywords, "propertyNames")?,
            dependencies: self.dependencies(keywords)?,
        };
        self.properties(keywords, &mut rules)?;
        required(keywords, &mut rules)?;
        if is_root && is_closed_root(keywords) {
            rules.additional = Additional::Refused;
        }
        let is_free = rules.size.is_any()
            && rules.keys.is_empty()
            && rules.patterns.is_empty()
            && matches!(rules.additional, Additional::Free)
            && rules.names.is_none()
            && rules.dependencies.is_empty();
        Ok((!is_free).then(|| Box::new(rules)))
    }

    fn properties(
        &mut self,
        keywords: Keywords<'a>,
        rules: &mut ObjectRules,
    ) -> Result<(), FaultReason> {
        let Some(properties) = keywords.entries("properties")? else { return Ok(()) };
        for (key, json) in properties.iter() {
            let node = self.child(json, Origin::Key(self.here(), "properties", key))?;
            let key: Arc<str> = key.into();
            rules.known.push(Arc::clone(&key));
            rules.keys.insert(key, Key { node: Some(node), is_required: false });
        }
        Ok(())
    }

    fn key_patterns(&mut self, keywords: Keywords<'a>) -> Result<Vec<KeyPattern>, FaultReason> {
        let Some(patterns) = keywords.entries("patternProperties")? else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for (text, json) in patterns.iter() {
            let node = self.child(json, Origin::Key(self.here(), "patternProperties", text))?;
            found.push(KeyPattern { pattern: self.pattern("patternProperties", text)?, node });
        }
        Ok(found)
    }

    fn additional(&mut self, keywords: Keywords<'a>) -> Result<Additional, FaultReason> {
        Ok(match keywords.get("additionalProperties") {
            None | Some(Json::Bool(true)) => Additional::Free,
            Some(Json::Bool(false)) => Additional::Refused,
            Some(json) => {
                let origin = Origin::Keyword(self.here(), "additionalProperties");
                Additional::Held(self.child(json, origin)?)
            }
        })
    }

    /// Reads `dependentRequired`, `dependentSchemas`, and `dependencies`, which was both.
    fn dependencies(&mut self, keywords: Keywords<'a>) -> Result<Vec<Dependency>, FaultReason> {
        let mut found = Vec::new();
        for keyword in ["dependentRequired", "dependentSchemas", "dependencies"] {
            let Some(entries) = keywords.entries(keyword)? else { continue };
            for (key, json) in entries.iter() {
                let names_keys = match keyword {
                    "dependentRequired" => true,
                    "dependentSchemas" => false,
                    _ => matches!(json, Json::Array(_)),
                };
                let (required, node) = if names_keys {
                    (texts(keyword, json)?, None)
                } else {
                    (Vec::new(), Some(self.child(json, Origin::Key(self.here(), keyword, key))?))
                };
                let required = required.into_iter().map(Into::into).collect();
                found.push(Dependency { key: key.into(), required, node });
            }
        }
        Ok(found)
    }
}

/// Reads `required`, in which a key may stand twice.
fn required(keywords: Keywords<'_>, rules: &mut ObjectRules) -> Result<(), FaultReason> {
    let Some(json) = keywords.get("required") else { return Ok(()) };
    for name in texts("required", json)? {
        let name: Arc<str> = name.into();
        let key = rules.keys.entry(Arc::clone(&name));
        let key = key.or_insert(Key { node: None, is_required: false });
        if !key.is_required {
            key.is_required = true;
            rules.required.push(name);
        }
    }
    Ok(())
}

/// Returns whether a root names all its keys itself.
///
/// One that names none at all describes nothing; what may be sent then is for the policy to know.
fn is_closed_root(keywords: Keywords<'_>) -> bool {
    let is_schema = |(_, json): (&str, &Json)| !matches!(json, Json::Array(_));
    let has_schemas = match keywords.get("dependencies") {
        Some(Json::Object(dependencies)) => dependencies.iter().any(is_schema),
        Some(_) | None => false,
    };
    keywords.get("properties").is_some() && !keywords.has_one_of(&OPENING) && !has_schemas
}
