//! What we want in a client's file, and how it gets there: by changes to the text, so that comments,
//! order and everything that is not ours stay as they are.
//!
//! ```text
//! text ─▶ changed for its format ─▶ read again ─▶ says just what was meant?  yes: the new text
//!                                                                            no: NotEditable, and a person does it
//! ```
//!
//! No file is touched here.

mod jsonc;
mod toml;
mod yaml;

use serde_json::{Map, Value};

use crate::commands::servers::import::formats::{Format, parse};

/// Something that belongs into a client's file.
#[derive(Clone, Debug)]
pub(super) enum Want {
    /// Our entry among the servers: its keys are set, and other keys in it stay.
    Entry { path: &'static [&'static str], keys: Map<String, Value> },
    /// A setting of the client: one that the user has set stays as it is.
    Setting { path: &'static [&'static str], value: Value },
    /// An item of a list.
    Item { path: &'static [&'static str], value: Value },
    /// A value that takes the place of whatever is there.
    Whole { path: &'static [&'static str], value: Value },
    /// An entry that is switched off: one that is there keeps its other keys.
    Off { path: &'static [&'static str], keys: Map<String, Value> },
}

/// Why a file cannot be changed by us.
#[derive(Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum NotEditable {
    /// It is not in its format.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// It is not in its format, and we do not know where.
    #[error("it is not in the format that is expected")]
    Syntax,
    /// A value is of another type than the client expects.
    #[error("a value in it is not of the expected type")]
    Shape,
    /// A key is there twice.
    #[error("the key `{0}` is in it twice")]
    Twice(String),
    /// The result would not be what was meant.
    #[error("it is written in a way that cannot be changed automatically")]
    Unusual,
}

/// Returns `text` with everything that is wanted in it.
pub(super) fn with(text: &str, format: Format, wants: &[Want]) -> Result<String, NotEditable> {
    let before = read(text, format)?;
    let mut meant = before.clone();
    let mut after = text.to_owned();
    for want in wants {
        match want {
            Want::Entry { path, keys } => {
                after = put_entry(&after, format, (path, keys), &mut meant)?;
            }
            Want::Off { path, keys } => {
                let is_there = at(&meant, path).is_some_and(Value::is_object);
                let kept = |(key, _): &(&String, &Value)| !is_there || *key == "enabled";
                let keys = keys.iter().filter(kept).map(|(key, it)| (key.clone(), it.clone()));
                after = put_entry(&after, format, (path, &keys.collect()), &mut meant)?;
            }
            Want::Whole { path, value } => {
                if at(&meant, path) != Some(value) {
                    after = jsonc::set(&after, path, value)?;
                    *at_mut(&mut meant, path)? = value.clone();
                }
            }
            Want::Setting { path, value } => {
                if at(&meant, path).is_none() {
                    after = jsonc::set(&after, path, value)?;
                    *at_mut(&mut meant, path)? = value.clone();
                }
            }
            Want::Item { path, value } => match at_mut(&mut meant, path)? {
                Value::Array(items) if items.contains(value) => {}
                Value::Array(items) => {
                    after = jsonc::push(&after, path, value)?;
                    items.push(value.clone());
                }
                none @ Value::Null => {
                    after = jsonc::push(&after, path, value)?;
                    *none = Value::Array(vec![value.clone()]);
                }
                _ => return Err(NotEditable::Shape),
            },
        }
    }
    checked(after, format, &meant)
}

/// Returns `text` without what was wanted in it.
///
/// Of the client's settings only those go that are as we would have set them.
pub(super) fn without(text: &str, format: Format, wants: &[Want]) -> Result<String, NotEditable> {
    let before = read(text, format)?;
    let mut meant = before.clone();
    let mut after = text.to_owned();
    for want in wants {
        match want {
            Want::Entry { path, .. } if at(&meant, path).is_some() => {
                after = match format {
                    Format::Json => jsonc::remove(&after, path)?,
                    Format::Toml => toml::remove(&after, path)?,
                    Format::Yaml => yaml::remove(&after, path)?,
                };
                take(&mut meant, path);
            }
            Want::Setting { path, value } if at(&meant, path) == Some(value) => {
                after = jsonc::remove(&after, path)?;
                take(&mut meant, path);
            }
            Want::Item { path, value } => {
                let is_there = |it: &Value| it.as_array().is_some_and(|it| it.contains(value));
                if at(&meant, path).is_some_and(is_there) {
                    after = jsonc::remove_item(&after, path, value)?;
                    if let Value::Array(items) = at_mut(&mut meant, path)? {
                        items.retain(|it| it != value);
                        if items.is_empty() {
                            take(&mut meant, path);
                        }
                    }
                }
            }
            // What turns tools off stays: it may be the user's own.
            Want::Entry { .. } | Want::Setting { .. } | Want::Whole { .. } | Want::Off { .. } => {}
        }
    }
    checked(after, format, &meant)
}

/// Returns the settings that are not as we would set them: where, what is there, and what we would set.
pub(super) fn kept(text: &str, format: Format, wants: &[Want]) -> Vec<(String, Value, Value)> {
    let Ok(before) = read(text, format) else { return Vec::new() };
    let differing = wants.iter().filter_map(|want| match want {
        Want::Setting { path, value } => {
            let now = at(&before, path).filter(|now| *now != value)?;
            Some((path.join("."), now.clone(), value.clone()))
        }
        Want::Entry { .. } | Want::Item { .. } | Want::Whole { .. } | Want::Off { .. } => None,
    });
    differing.collect()
}

/// Returns the keys that turn a client's own tools off and are in `text` as we would set them.
pub(super) fn turned_off(text: &str, format: Format, wants: &[Want]) -> Vec<String> {
    let Ok(now) = read(text, format) else { return Vec::new() };
    let mut names = Vec::new();
    for want in wants {
        match want {
            Want::Entry { path, keys } => {
                let is_so = |(key, value): &(&String, &Value)| {
                    at(&now, path).and_then(|it| it.get(key.as_str())) == Some(*value)
                };
                let name = |key: &String| {
                    path.iter().copied().chain([key.as_str()]).collect::<Vec<_>>().join(".")
                };
                names.extend(keys.iter().filter(is_so).map(|(key, _)| name(key)));
            }
            Want::Whole { path, value } if at(&now, path) == Some(value) => {
                names.push(path.join("."));
            }
            Want::Off { path, .. } => {
                let is_off = |it: &Value| it.get("enabled") == Some(&Value::Bool(false));
                if at(&now, path).is_some_and(is_off) {
                    names.push(path.join("."));
                }
            }
            Want::Setting { .. } | Want::Item { .. } | Want::Whole { .. } => {}
        }
    }
    names
}

/// Returns whether nothing is said in `text`.
pub(super) fn is_empty(text: &str, format: Format) -> bool {
    matches!(text.trim(), "" | "{}")
        && read(text, format).is_ok_and(|it| it.as_object().is_some_and(Map::is_empty))
}

/// Sets keys of an entry, in the text and in what is meant.
fn put_entry(
    text: &str,
    format: Format,
    (path, keys): (&[&str], &Map<String, Value>),
    meant: &mut Value,
) -> Result<String, NotEditable> {
    let after = set_entry(text, format, path, keys, at(meant, path))?;
    let entry = at_mut(meant, path)?;
    if !entry.is_object() {
        *entry = Value::Object(Map::new());
    }
    let Value::Object(entry) = entry else { return Err(NotEditable::Shape) };
    entry.extend(keys.clone());
    Ok(after)
}

/// Returns the entries beside ours that start or reach a server, and what ours starts if it is not our proxy.
pub(super) fn neighbours(
    text: &str,
    format: Format,
    wants: &[Want],
    is_proxy: impl Fn(&[String]) -> bool,
) -> (Vec<String>, Option<String>) {
    let (Ok(value), Some(Want::Entry { path, .. })) = (read(text, format), wants.first()) else {
        return (Vec::new(), None);
    };
    let Some((own, above)) = path.split_last() else { return (Vec::new(), None) };
    let entries = at(&value, above).and_then(Value::as_object);
    let mut others = Vec::new();
    let mut foreign = None;
    for (name, entry) in entries.into_iter().flatten() {
        let words = words_of(entry);
        if name == own {
            foreign = (!is_proxy(&words)).then(|| words.join(" "));
        } else if !words.is_empty() {
            others.push(name.clone());
        }
    }
    (others, foreign)
}

/// Returns the command line of our entry, if there is one.
pub(super) fn own_words(text: &str, format: Format, wants: &[Want]) -> Option<Vec<String>> {
    let value = read(text, format).ok()?;
    match wants.first()? {
        Want::Entry { path, .. } => at(&value, path).map(words_of),
        Want::Setting { .. } | Want::Item { .. } | Want::Whole { .. } | Want::Off { .. } => None,
    }
}

/// Returns the command line of an entry, or where it leads.
fn words_of(entry: &Value) -> Vec<String> {
    let texts = |value: &Value| match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => {
            items.iter().filter_map(|it| Some(it.as_str()?.to_owned())).collect()
        }
        _ => Vec::new(),
    };
    let keys = ["command", "cmd", "url", "uri", "httpUrl", "serverUrl", "args"];
    keys.iter().filter_map(|key| entry.get(key)).flat_map(texts).collect()
}

fn set_entry(
    text: &str,
    format: Format,
    path: &[&str],
    keys: &Map<String, Value>,
    now: Option<&Value>,
) -> Result<String, NotEditable> {
    let is_set = |(key, value): (&String, &Value)| now.and_then(|it| it.get(key)) == Some(value);
    if keys.iter().all(is_set) {
        return Ok(text.to_owned());
    }
    match format {
        Format::Json if now.is_none_or(|it| !it.is_object()) => {
            jsonc::set(text, path, &Value::Object(keys.clone()))
        }
        Format::Json => {
            keys.iter().filter(|it| !is_set(*it)).try_fold(text.to_owned(), |text, (key, value)| {
                let path: Vec<&str> = path.iter().copied().chain([key.as_str()]).collect();
                jsonc::set(&text, &path, value)
            })
        }
        Format::Toml => toml::set(text, path, keys),
        Format::Yaml => {
            let mut all = now.and_then(Value::as_object).cloned().unwrap_or_default();
            all.extend(keys.clone());
            yaml::set(text, path, &all)
        }
    }
}

fn read(text: &str, format: Format) -> Result<Value, NotEditable> {
    if text.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    let value = parse(format, text.as_bytes()).map_err(NotEditable::Unreadable)?;
    // A YAML file of comments alone says nothing.
    match value {
        Value::Null => Ok(Value::Object(Map::new())),
        Value::Object(_) => Ok(value),
        _ => Err(NotEditable::Shape),
    }
}

/// Checks that a text that we changed says what was meant, and nothing else.
fn checked(text: String, format: Format, meant: &Value) -> Result<String, NotEditable> {
    match pruned(read(&text, format)?) == pruned(meant.clone()) {
        true => Ok(text),
        false => Err(NotEditable::Unusual),
    }
}

/// Leaves out objects and lists with nothing in them: one with a comment in it stays in the text.
fn pruned(value: Value) -> Value {
    let is_empty = |it: &Value| match it {
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    match value {
        Value::Object(members) => {
            let members = members.into_iter().map(|(key, value)| (key, pruned(value)));
            Value::Object(members.filter(|(_, value)| !is_empty(value)).collect())
        }
        other => other,
    }
}

fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |it, key| it.get(key))
}

/// Returns what is at a path; objects on the way are made.
fn at_mut<'a>(value: &'a mut Value, path: &[&str]) -> Result<&'a mut Value, NotEditable> {
    path.iter().try_fold(value, |it, key| match it {
        Value::Object(members) => Ok(members.entry(*key).or_insert(Value::Null)),
        none @ Value::Null => {
            *none = Value::Object(Map::new());
            match none {
                Value::Object(members) => Ok(members.entry(*key).or_insert(Value::Null)),
                _ => Err(NotEditable::Shape),
            }
        }
        _ => Err(NotEditable::Shape),
    })
}

/// Takes out what is at a path, and each object above it that is empty then.
fn take(value: &mut Value, path: &[&str]) {
    let Some((last, above)) = path.split_last() else { return };
    let Ok(Value::Object(members)) = at_mut(value, above) else { return };
    members.shift_remove(*last);
    if members.is_empty() {
        take(value, above);
    }
}

#[cfg(test)]
mod tests;
