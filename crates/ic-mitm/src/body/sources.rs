//! What a message refers to instead of holding it: addresses that the provider would fetch, and files that
//! the account keeps. Each is replaced by a few words, so that the model knows that something is missing.

use std::collections::BTreeSet;

use ic_types::{Json, Object};

use super::{items_mut, text};
use crate::provider::Shape;
use crate::refusal::Refusal;

/// What the model reads instead.
const NOTE: &str =
    "[IronCurtain removed a reference to a URL or a stored file; include the content itself]";

/// Content in content: documents in results of tools.
const DEPTH_MAX: usize = 8;

/// Replaces the references in a body.
pub(super) fn check(
    shape: Shape,
    body: &mut Object,
    removed: &mut BTreeSet<String>,
) -> Result<(), Refusal> {
    match shape {
        Shape::Messages | Shape::Chat => {
            content(shape, body, "system", 0, removed)?;
            each(shape, body, "messages", &mut |message| {
                content(shape, message, "content", 0, removed)
            })
        }
        Shape::Responses => match body.get("input") {
            // A text alone.
            None | Some(Json::String(_)) => Ok(()),
            Some(_) => each(shape, body, "input", &mut |item| {
                content(shape, item, "content", 0, removed)?;
                content(shape, item, "output", 0, removed)
            }),
        },
        Shape::Gemini => {
            each(shape, body, "contents", &mut |item| content(shape, item, "parts", 0, removed))?;
            for key in ["systemInstruction", "system_instruction"] {
                if let Some(Json::Object(system)) = body.get_mut(key) {
                    content(shape, system, "parts", 0, removed)?;
                }
            }
            Ok(())
        }
    }
}

/// Goes through the objects under `key`.
pub(super) fn each(
    shape: Shape,
    body: &mut Object,
    key: &str,
    visit: &mut dyn FnMut(&mut Object) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let Some(items) = items_mut(shape, body, key)? else { return Ok(()) };
    for item in items {
        match item {
            Json::Object(item) => visit(item)?,
            _ => return Err(Refusal::Malformed(format!("an item of `{key}` is not an object"))),
        }
    }
    Ok(())
}

/// Goes through the parts under `key`, and through what is in them.
fn content(
    shape: Shape,
    holder: &mut Object,
    key: &str,
    depth: usize,
    removed: &mut BTreeSet<String>,
) -> Result<(), Refusal> {
    // SECURITY: a single part where a list belongs is looked at like a list of one; Google's servers take
    // it, and the output of a computer is one.
    let parts = match holder.get_mut(key) {
        Some(Json::Array(parts)) => parts.as_mut_slice(),
        Some(single @ Json::Object(_)) => std::slice::from_mut(single),
        // Text, or nothing.
        Some(_) | None => return Ok(()),
    };
    if DEPTH_MAX < depth {
        return Err(Refusal::Malformed("content nests too deep".to_owned()));
    }
    for part in parts {
        let Json::Object(part) = part else { continue };
        if let Some(what) = reference(shape, part) {
            removed.insert(what.to_owned());
            *part = note(shape);
            continue;
        }
        for inner in ["content", "output"] {
            content(shape, part, inner, depth + 1, removed)?;
        }
        for inner in ["source", "functionResponse", "function_response"] {
            if let Some(Json::Object(inner)) = part.get_mut(inner) {
                content(shape, inner, "content", depth + 1, removed)?;
                content(shape, inner, "parts", depth + 1, removed)?;
            }
        }
    }
    Ok(())
}

/// Returns what a part refers to, if it does not hold its content itself.
fn reference(shape: Shape, part: &Object) -> Option<&'static str> {
    match shape {
        Shape::Messages => {
            if text(part, "type") == Some("container_upload") {
                return Some("file reference");
            }
            match part.get("source") {
                Some(Json::Object(source)) => match text(source, "type") {
                    Some("base64" | "text" | "content") => None,
                    Some("file") => Some("file reference"),
                    Some(_) | None => Some("URL source"),
                },
                Some(_) | None => None,
            }
        }
        Shape::Chat | Shape::Responses => {
            let files = [Some(part), inner(part, "file"), inner(part, "input_audio")];
            let mut files = files.into_iter().flatten();
            if files.clone().any(|it| holds(it, "file_id")) {
                return Some("file reference");
            }
            let is_remote = files.any(|it| is_address(it, "file_data") || is_address(it, "data"))
                || part.iter().any(|(key, value)| key.ends_with("_url") && !is_inline(value));
            is_remote.then_some("URL source")
        }
        Shape::Gemini => {
            let is_file = |key: &str| key.replace('_', "").eq_ignore_ascii_case("fileData");
            part.keys().any(|key| is_file(key) && holds(part, key)).then_some("URL source")
        }
    }
}

/// Returns whether what is called an address, by itself or as the `url` of an object, holds the content.
fn is_inline(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::Object(inner) => inner.get("url").is_none_or(is_inline),
        value => value.as_str().is_some_and(|it| it.starts_with("data:")),
    }
}

/// Returns whether an address stands where content belongs; servers that speak `OpenAI`'s format take it.
fn is_address(object: &Object, key: &str) -> bool {
    text(object, key).is_some_and(|it| it.contains("://") && !it.starts_with("data:"))
}

fn holds(object: &Object, key: &str) -> bool {
    !matches!(object.get(key), None | Some(Json::Null))
}

fn inner<'a>(object: &'a Object, key: &str) -> Option<&'a Object> {
    match object.get(key) {
        Some(Json::Object(inner)) => Some(inner),
        _ => None,
    }
}

/// Returns what stands in place of a part that was removed.
pub(super) fn note(shape: Shape) -> Object {
    let mut note = Object::new();
    match shape {
        Shape::Messages | Shape::Chat => note.insert("type", "text"),
        Shape::Responses => note.insert("type", "input_text"),
        Shape::Gemini => {}
    }
    note.insert("text", NOTE);
    note
}
