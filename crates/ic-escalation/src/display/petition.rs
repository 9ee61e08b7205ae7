//! What a person is shown of what a server itself asks: whose it is, whom it asks, and every word of it.
//!
//! A form can ask for much behind a friendly sentence, and a text for a model hide its point in the middle:
//! so nothing is left out or shortened, however short the view. That it can be read is seen to before.

use ic_policy::Structural;
use ic_policy::petition::{self, ELICITATION, REGISTRY, SAMPLING};
use ic_types::{Json, Object};

use super::{View, text, value};
use crate::request::Request;

/// Says in one line who wants what.
pub fn headline(request: &Request) -> String {
    let Request { server, tool, .. } = request;
    if let Some(ours) = super::kept::headline(request).or_else(|| super::plan::headline(request)) {
        return ours;
    }
    if !is_petition(request) {
        return format!("{server} wants to call {tool}");
    }
    if tool.as_str() == REGISTRY {
        let host = request.arguments.get("host").map(whole).unwrap_or_default();
        return format!(
            "Let programs in the cage of {server} read packages from {host} in this session? ({tool})"
        );
    }
    let what = match tool.as_str() {
        SAMPLING => "asks your client's model for an answer",
        ELICITATION => "asks you to fill in a form, in your client",
        _ => "asks for something of your client's",
    };
    format!("FROM THE SERVER {server}, not from the agent: it {what} ({tool})")
}

/// Shows what is asked, and of whom, word by word.
pub(super) fn word_lines(request: &Request) -> Vec<String> {
    if !is_petition(request) {
        return Vec::new();
    }
    if request.tool.as_str() == REGISTRY {
        let lines = request.arguments.iter();
        return lines
            .map(|(key, it)| format!("  {}: {}", ic_types::visible(key), whole(it)))
            .collect();
    }
    let client = request.client.as_deref().filter(|name| !name.is_empty());
    let client = client.map_or_else(
        || "one that has not said what it is called".to_owned(),
        |name| format!("one that calls itself {}", whole(&Json::from(name))),
    );
    let mut lines = vec![format!("  client: {client}")];
    let arguments = &request.arguments;
    let others =
        arguments.iter().filter(|(key, _)| !matches!(*key, "messages" | "requestedSchema"));
    lines.extend(others.map(|(key, it)| format!("  {}: {}", ic_types::visible(key), whole(it))));
    if let Some(Json::Array(messages)) = arguments.get("messages") {
        lines.push("  asks the model:".to_owned());
        lines.extend(messages.iter().map(message_line));
    }
    if let Some(Json::Object(schema)) = arguments.get("requestedSchema") {
        let others = schema.iter().filter(|(key, _)| matches!(*key, "title" | "description"));
        lines.extend(others.map(|(key, it)| format!("  {key} of the form: {}", whole(it))));
        lines.push("  asks for:".to_owned());
        let field_line = |(name, field): (&str, &Json)| field_line(name, field, schema);
        lines.extend(petition::fields(arguments).map(field_line));
    }
    lines
}

/// Shows who is said to say what to the model.
fn message_line(message: &Json) -> String {
    let said = |key: &str| member(message, key);
    let text = said("content").and_then(|content| member(content, "text"));
    match (said("role").and_then(Json::as_str), text) {
        (Some(role @ ("user" | "assistant")), Some(text)) => format!("    {role}: {}", whole(text)),
        _ => format!("    {}", whole(message)),
    }
}

/// Shows a field: its name and kind, and then all that is said of it.
fn field_line(name: &str, field: &Json, schema: &Object) -> String {
    let said = |key: &str| member(field, key);
    let kind = said("type").and_then(Json::as_str).unwrap_or("of no type");
    let is_required = match schema.get("required") {
        Some(Json::Array(names)) => names.iter().any(|it| it.as_str() == Some(name)),
        _ => false,
    };
    let mark = if is_required { ", required" } else { "" };
    let about: Vec<String> =
        ["title", "description"].into_iter().filter_map(said).map(whole).collect();
    let about = match about.is_empty() {
        true => String::new(),
        false => format!(": {}", about.join(", ")),
    };
    let choices = choices(field).or_else(|| choices(said("items")?));
    let choices = choices.map_or_else(String::new, |it| format!("; choices: {}", it.join(", ")));
    let default =
        said("default").map_or_else(String::new, |it| format!("; filled in: {}", whole(it)));
    let name = text(name, View::Full);
    format!("    {name} ({}{mark}){about}{choices}{default}", ic_types::visible(kind))
}

/// Shows each choice with what it is called, if that is not what is sent.
fn choices(field: &Json) -> Option<Vec<String>> {
    let array = |key: &str| match member(field, key) {
        Some(Json::Array(items)) => Some(items),
        _ => None,
    };
    if let Some(sent) = array("enum") {
        let names = array("enumNames").into_iter().flatten().map(Some);
        let names = names.chain(std::iter::repeat(None));
        return Some(sent.iter().zip(names).map(|(sent, name)| choice(sent, name)).collect());
    }
    let choices = array("oneOf").or_else(|| array("anyOf"))?;
    let shown = choices.iter().map(|it| match member(it, "const") {
        Some(sent) => choice(sent, member(it, "title")),
        None => whole(it),
    });
    Some(shown.collect())
}

fn choice(sent: &Json, name: Option<&Json>) -> String {
    match name {
        Some(name) => format!("{} (sends {})", whole(name), whole(sent)),
        None => whole(sent),
    }
}

fn member<'a>(json: &'a Json, key: &str) -> Option<&'a Json> {
    match json {
        Json::Object(object) => object.get(key),
        _ => None,
    }
}

fn whole(json: &Json) -> String {
    value(json, View::Full)
}

/// Returns whether the server itself asks.
pub fn is_petition(request: &Request) -> bool {
    request.rule == Structural::ServerRequest.as_str()
}
