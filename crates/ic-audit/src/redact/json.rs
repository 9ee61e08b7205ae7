//! Redaction of parsed JSON: strings are decoded already, and keys say what values are.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use ic_types::{Json, JsonLimits, Object};

use super::names::{Manner, Name, classify};
use super::scan::mark_at;
use super::value::{is_path, is_random};
use super::{Redactor, mark};

/// A number with fewer characters is no password.
const NUMBER_LEN_MIN: usize = 4;

/// An object with more keys than this is built by the parser, which looks for duplicates in a set.
const N_KEYS_INSERTED_MAX: usize = 64;

/// Returns `value` without its secrets, or nothing if it has none.
///
/// `name` is the name of a secret that the value was given.
pub(super) fn redacted(redactor: &Redactor, value: &Json, name: Option<&Name>) -> Option<Json> {
    match value {
        Json::Null | Json::Bool(_) => None,
        Json::Number(number) => {
            let name = name.filter(|name| name.manner == Manner::Password)?;
            (NUMBER_LEN_MIN <= number.as_str().len()).then(|| Json::from(mark(name.kind)))
        }
        Json::String(text) => redacted_string(redactor, text, name).map(Json::from),
        Json::Array(items) => redacted_array(redactor, items, name).map(Json::from),
        Json::Object(object) => redacted_object(redactor, object).map(Json::from),
    }
}

fn redacted_string(redactor: &Redactor, text: &str, name: Option<&Name>) -> Option<String> {
    let clean = redactor.text(text);
    let is_mark = mark_at(clean.as_bytes()).is_some_and(|mark| mark.len == clean.len());
    match (name, clean) {
        (Some(name), _) if !is_mark && is_secret(name, text) => Some(mark(name.kind)),
        (_, Cow::Owned(clean)) => Some(clean),
        (_, Cow::Borrowed(_)) => None,
    }
}

fn is_secret(name: &Name, text: &str) -> bool {
    match name.manner {
        Manner::Password | Manner::Token | Manner::Authorization | Manner::Cookie => {
            !text.is_empty()
        }
        Manner::PasswordOrDirectory => !text.is_empty() && !is_path(text.as_bytes()),
        Manner::Doubtful => is_random(text.as_bytes()),
        Manner::Query => false,
    }
}

/// Redacts items; the one after `--password` is a password.
fn redacted_array(redactor: &Redactor, items: &[Json], name: Option<&Name>) -> Option<Vec<Json>> {
    let flag_of = |item: &Json| item.as_str().filter(|text| text.starts_with('-')).and_then(named);
    let mut flag = None;
    let mut changed = Vec::with_capacity(items.len());
    for item in items {
        changed.push(redacted(redactor, item, flag.or(name)));
        flag = flag_of(item);
    }
    let is_changed = changed.iter().any(Option::is_some);
    let pairs = changed.into_iter().zip(items);
    is_changed.then(|| pairs.map(|(new, old)| new.unwrap_or_else(|| old.clone())).collect())
}

/// Redacts keys and values; `{"name": "PASSWORD", "value": …}` names its value too.
fn redacted_object(redactor: &Redactor, object: &Object) -> Option<Object> {
    let text_under = |key| object.get(key).and_then(Json::as_str);
    let subject = text_under("name").or_else(|| text_under("key")).and_then(named);
    let mut changed = Vec::with_capacity(object.len());
    for (key, value) in object.iter() {
        let name = if key == "value" { subject } else { named(key) };
        changed.push((redactor.text(key), redacted(redactor, value, name)));
    }
    let is_new = |key: &Cow<'_, str>| matches!(key, Cow::Owned(_));
    if !changed.iter().any(|(key, value)| is_new(key) || value.is_some()) {
        return None;
    }
    let kept = changed.iter().map(|(key, _)| key).filter(|key| !is_new(key));
    let mut names =
        FreeNames { taken: kept.map(ToString::to_string).collect(), n_alike: HashMap::new() };
    let mut entries = Vec::with_capacity(changed.len());
    for ((key, value), (_, old)) in changed.into_iter().zip(object.iter()) {
        let key = match key {
            Cow::Borrowed(key) => key.to_owned(),
            Cow::Owned(key) => names.take(&key),
        };
        entries.push((key, value.unwrap_or_else(|| old.clone())));
    }
    Some(collect(entries))
}

fn named(text: &str) -> Option<&'static Name> {
    classify(text.as_bytes())
}

/// Keeps keys apart that are equal once their secrets are gone.
struct FreeNames {
    taken: HashSet<String>,
    /// How often each name was asked for.
    n_alike: HashMap<String, usize>,
}

impl FreeNames {
    /// Returns `key`, with a number if there is such a key already.
    fn take(&mut self, key: &str) -> String {
        let n_alike = self.n_alike.entry(key.to_owned()).or_insert(0);
        loop {
            *n_alike += 1;
            let name = match *n_alike {
                1 => key.to_owned(),
                n => format!("{key}#{n}"),
            };
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// Makes an object of `entries`, whose keys differ.
fn collect(entries: Vec<(String, Json)>) -> Object {
    // `Object::insert` looks through all keys, which an agent could make too many.
    if N_KEYS_INSERTED_MAX < entries.len() {
        let texts =
            entries.iter().map(|(key, value)| format!("{}:{value}", Json::from(key.as_str())));
        let text = format!("{{{}}}", texts.collect::<Vec<_>>().join(","));
        let limits =
            JsonLimits { bytes_max: usize::MAX, depth_max: usize::MAX, values_max: usize::MAX };
        if let Ok(Json::Object(object)) = Json::parse(text.as_bytes(), limits) {
            return object;
        }
    }
    let mut object = Object::new();
    for (key, value) in entries {
        object.insert(key, value);
    }
    object
}
