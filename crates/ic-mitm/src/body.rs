//! The body of a request: read strictly, checked, and written anew from what was understood.
//!
//! What is sent on is never the agent's own bytes, so the provider reads what was checked. What lets the
//! provider reach the network for the agent is removed; what nobody knows is refused.

mod sources;
mod tools;
mod turns;

use std::collections::BTreeSet;

use ic_types::{Json, JsonLimits, Object, Provider};

use crate::provider::{Format, Rules, Shape};
use crate::refusal::{Refusal, named};

/// The longest body; providers take about as much.
pub const BYTES_MAX: usize = 32 << 20;

const LIMITS: JsonLimits =
    JsonLimits { bytes_max: BYTES_MAX, depth_max: 128, values_max: 2_000_000 };

/// A body that was checked.
#[derive(Debug)]
pub struct CheckedBody {
    /// What is sent on.
    pub bytes: Vec<u8>,
    /// The model that is asked.
    pub model: String,
    /// What was removed, by name.
    pub removed: BTreeSet<String>,
}

/// What is known of a request before its body.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// The provider.
    pub rules: &'static Rules,
    /// The format.
    pub format: &'static Format,
    /// Further top-level keys that the user allows.
    pub allow_keys: &'a [String],
    /// The model that the path names.
    pub model: Option<&'a str>,
}

impl Expected<'_> {
    /// Checks a body.
    pub fn check(self, bytes: &[u8]) -> Result<CheckedBody, Refusal> {
        let json = Json::parse(bytes, LIMITS)
            .map_err(|error| Refusal::Malformed(named(&error.to_string())))?;
        let Json::Object(mut body) = json else {
            return Err(Refusal::Malformed("it is not a JSON object".to_owned()));
        };
        let mut removed = BTreeSet::new();
        for key in self.format.removed_keys {
            if body.remove(key).is_some() {
                removed.insert((*key).to_owned());
            }
        }
        self.check_keys(&body)?;
        let model = self.model(&body)?;
        tools::check(self.format, &mut body, &mut removed)?;
        turns::check(self.format, &mut body, &mut removed)?;
        sources::check(self.format.shape, &mut body, &mut removed)?;
        Ok(CheckedBody { bytes: Json::Object(body).to_string().into_bytes(), model, removed })
    }

    fn check_keys(self, body: &Object) -> Result<(), Refusal> {
        let is_known =
            |key: &str| self.format.takes(key) || self.allow_keys.iter().any(|it| it == key);
        match body.keys().find(|key| !is_known(key)) {
            Some(key) => Err(Refusal::Key { key: named(key), provider: self.rules.provider }),
            None => Ok(()),
        }
    }

    fn model(self, body: &Object) -> Result<String, Refusal> {
        let missing = || Refusal::Malformed("it names no model".to_owned());
        let model = match (self.model, self.rules.provider) {
            (Some(model), _) => model,
            (None, Provider::Google) => return Err(missing()),
            (None, _) => body.get("model").and_then(Json::as_str).ok_or_else(missing)?,
        };
        match self.rules.models_refused.iter().any(|part| model.contains(part)) {
            true => Err(Refusal::Model(named(model))),
            false => Ok(model.to_owned()),
        }
    }
}

/// Returns the items under `key`, to change them; a value that is not an array is refused.
///
/// Google's servers take a single item for a list of one, and so do its clients; it becomes the list.
fn items_mut<'a>(
    shape: Shape,
    object: &'a mut Object,
    key: &str,
) -> Result<Option<&'a mut Vec<Json>>, Refusal> {
    if shape == Shape::Gemini
        && let Some(single @ Json::Object(_)) = object.get_mut(key)
    {
        *single = Json::Array(vec![std::mem::replace(single, Json::Null)]);
    }
    match object.get_mut(key) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::Array(items)) => Ok(Some(items)),
        Some(_) => Err(Refusal::Malformed(format!("`{key}` is not an array"))),
    }
}

/// Returns the text under `key`.
fn text<'a>(object: &'a Object, key: &str) -> Option<&'a str> {
    object.get(key).and_then(Json::as_str)
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
