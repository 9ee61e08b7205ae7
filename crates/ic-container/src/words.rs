//! Small helpers to read and write the engine's JSON.

use ic_types::{Json, Object};

/// Returns the value at a path of keys.
pub(crate) fn at<'a>(object: &'a Object, keys: &[&str]) -> Option<&'a Json> {
    let (first, rest) = keys.split_first()?;
    let found = object.get(first)?;
    match (rest.is_empty(), found) {
        (true, found) => Some(found),
        (false, Json::Object(object)) => at(object, rest),
        (false, _) => None,
    }
}

pub(crate) fn text<'a>(object: &'a Object, keys: &[&str]) -> Option<&'a str> {
    at(object, keys)?.as_str()
}

pub(crate) fn number(object: &Object, keys: &[&str]) -> Option<i64> {
    match at(object, keys)? {
        Json::Number(number) => number.as_str().parse().ok(),
        _ => None,
    }
}

pub(crate) fn flag(object: &Object, keys: &[&str]) -> Option<bool> {
    match at(object, keys)? {
        Json::Bool(flag) => Some(*flag),
        _ => None,
    }
}

/// Returns the texts of a list; an absent one and `null` are empty, and anything else is no such list.
pub(crate) fn texts(object: &Object, keys: &[&str]) -> Option<Vec<String>> {
    match at(object, keys) {
        None | Some(Json::Null) => Some(Vec::new()),
        Some(Json::Array(list)) => list.iter().map(|it| it.as_str().map(str::to_owned)).collect(),
        Some(_) => None,
    }
}

/// Returns whether there is nothing: absent, `null`, and what is empty.
pub(crate) fn is_nothing(object: &Object, keys: &[&str]) -> bool {
    match at(object, keys) {
        None | Some(Json::Null) => true,
        Some(Json::Array(list)) => list.is_empty(),
        Some(Json::Object(object)) => object.is_empty(),
        Some(Json::String(text)) => text.is_empty(),
        Some(Json::Bool(_) | Json::Number(_)) => false,
    }
}

/// Builds an object.
pub(crate) fn object<const N: usize>(entries: [(&str, Json); N]) -> Object {
    let mut object = Object::new();
    for (key, value) in entries {
        object.insert(key, value);
    }
    object
}

/// Builds a list of texts.
pub(crate) fn list<'a>(texts: impl IntoIterator<Item = &'a str>) -> Json {
    Json::Array(texts.into_iter().map(Json::from).collect())
}

/// Writes a text as a part of a query.
pub(crate) fn query(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            _ => {
                const DIGITS: [char; 16] = [
                    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F',
                ];
                out.push('%');
                for nibble in [byte >> 4, byte & 15] {
                    out.extend(DIGITS.get(usize::from(nibble)));
                }
            }
        }
    }
    out
}
