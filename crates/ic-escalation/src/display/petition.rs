//! What a person is shown of what a server itself asks: whose it is, and each thing that is asked for.
//!
//! A form can ask for much behind a friendly sentence, so no field is left out, however short the view.

use ic_policy::Structural;
use ic_policy::petition::{self, ELICITATION, SAMPLING};
use ic_types::Json;

use super::{View, text};
use crate::request::Request;

/// Says in one line who wants what.
pub fn headline(request: &Request) -> String {
    let Request { server, tool, .. } = request;
    if !is_petition(request) {
        return format!("{server} wants to call {tool}");
    }
    let what = match tool.as_str() {
        SAMPLING => "asks your client's model for an answer",
        ELICITATION => "asks you to fill in a form, in your client",
        _ => "asks for something of your client's",
    };
    format!("FROM THE SERVER {server}, not from the agent: it {what} ({tool})")
}

/// Names each field of a form, with what is asked for in it.
pub(super) fn field_lines(request: &Request) -> Vec<String> {
    if !is_petition(request) {
        return Vec::new();
    }
    let required = match request.arguments.get("requestedSchema") {
        Some(Json::Object(schema)) => schema.get("required"),
        _ => None,
    };
    let is_required = |name: &str| match required {
        Some(Json::Array(names)) => names.iter().any(|it| it.as_str() == Some(name)),
        _ => false,
    };
    let line = |(name, field): (&str, &Json)| {
        let said = |key: &str| match field {
            Json::Object(field) => field.get(key).and_then(Json::as_str),
            _ => None,
        };
        let kind = said("type").unwrap_or("of no type");
        let mark = if is_required(name) { ", required" } else { "" };
        let about = said("description").or_else(|| said("title"));
        let about = about.map_or_else(String::new, |it| format!(": {}", text(it, View::Short)));
        format!("    {} ({}{mark}){about}", text(name, View::Full), ic_types::visible(kind))
    };
    let fields: Vec<String> = petition::fields(&request.arguments).map(line).collect();
    match fields.is_empty() {
        true => fields,
        false => std::iter::once("  asks for:".to_owned()).chain(fields).collect(),
    }
}

fn is_petition(request: &Request) -> bool {
    request.rule == Structural::ServerRequest.as_str()
}
