//! What `help()` says: the servers and tools of this run, in the words of their servers.
//!
//! Nothing is promised here; whether a call is let through is decided when it is made.

use std::fmt::Write as _;

use ic_types::{Json, Object};

use crate::catalogue::{Catalogue, ServerEntry, ToolEntry};

/// How much of a description is shown in a list.
const LINE_CHARS_MAX: usize = 100;

/// Returns what there is to say about `topic`: a server, a tool as `server.tool`, or everything.
pub(super) fn about(catalogue: &Catalogue, topic: &str) -> String {
    if topic.is_empty() {
        return all(catalogue);
    }
    if let Some(server) = catalogue.servers.iter().find(|it| it.name.as_str() == topic) {
        return of_server(server);
    }
    // A tool may have dots in its name, a server has none.
    let tool = topic.split_once('.').and_then(|(server, tool)| catalogue.tool(server, tool));
    match tool {
        Some((server, tool)) => of_tool(server, tool),
        None => format!("There is no `{topic}`.\n\n{}", all(catalogue)),
    }
}

fn all(catalogue: &Catalogue) -> String {
    let mut text = String::from(
        "Call a tool as `server.tool({ argument: value })`, or `servers['server']['tool']({...})`.\n\
         Calls wait for their results: the tool's text as a string, or an object where it says \
         `returns an object`.\n\
         A call that is not let through throws `Denied` (with .reason, .rule and .nextStep), a tool \
         that fails throws `ToolError`.\n\
         help('server') lists a server's tools with their arguments, help('server.tool') says all \
         about one.\n",
    );
    for server in &catalogue.servers {
        let description = server.description.as_deref().map(line).unwrap_or_default();
        write(&mut text, format_args!("\n{}{}", server.name.as_str(), dashed(&description)));
        let tools: Vec<_> = server.tools.iter().map(|tool| tool.name.as_str()).collect();
        write(&mut text, format_args!("\n  {}\n", tools.join(", ")));
    }
    text
}

fn of_server(server: &ServerEntry) -> String {
    let mut text = String::from(server.name.as_str());
    if let Some(description) = &server.description {
        write(&mut text, format_args!(": {description}"));
    }
    text.push('\n');
    for tool in &server.tools {
        let description = tool.description.as_deref().map(line).unwrap_or_default();
        write(&mut text, format_args!("\n{}{}", signature(server, tool), dashed(&description)));
    }
    text.push('\n');
    text
}

fn of_tool(server: &ServerEntry, tool: &ToolEntry) -> String {
    let mut text = signature(server, tool);
    text.push('\n');
    if let Some(description) = &tool.description {
        write(&mut text, format_args!("\n{description}\n"));
    }
    if let Some(Json::Object(properties)) = tool.input_schema.get("properties") {
        for (name, schema) in properties.iter() {
            let description = match schema {
                Json::Object(schema) => schema.get("description").and_then(Json::as_str),
                Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
                    None
                }
            };
            let description = description.unwrap_or_default();
            let mark = if is_required(&tool.input_schema, name) { "" } else { "?" };
            write(&mut text, format_args!("\n  {name}{mark}: {}", kind(schema)));
            text.push_str(&dashed(description));
        }
        text.push('\n');
    }
    if let Some(schema) = &tool.output_schema {
        write(&mut text, format_args!("\nreturns an object: {}\n", Json::Object(schema.clone())));
    }
    text
}

/// Returns how a tool is called.
fn signature(server: &ServerEntry, tool: &ToolEntry) -> String {
    let arguments = match tool.input_schema.get("properties") {
        Some(Json::Object(properties)) => {
            let arguments = properties.iter().map(|(name, schema)| {
                let mark = if is_required(&tool.input_schema, name) { "" } else { "?" };
                format!("{name}{mark}: {}", kind(schema))
            });
            arguments.collect::<Vec<_>>().join(", ")
        }
        Some(_) | None => String::new(),
    };
    let place = match is_identifier(server.name.as_str()) && is_identifier(tool.name.as_str()) {
        true => format!("{}.{}", server.name.as_str(), tool.name.as_str()),
        false => format!("servers['{}']['{}']", server.name.as_str(), tool.name.as_str()),
    };
    let returns = match tool.output_schema {
        Some(_) => "object",
        None => "string",
    };
    match arguments.is_empty() {
        true => format!("{place}({{}}): {returns}"),
        false => format!("{place}({{ {arguments} }}): {returns}"),
    }
}

/// Names the type that a schema describes, as TypeScript would.
fn kind(schema: &Json) -> String {
    let Json::Object(schema) = schema else { return "any".to_owned() };
    if let Some(Json::Array(values)) = schema.get("enum") {
        let values: Vec<_> = values.iter().map(ToString::to_string).collect();
        return values.join(" | ");
    }
    match schema.get("type").and_then(Json::as_str) {
        Some("integer" | "number") => "number".to_owned(),
        Some("array") => match schema.get("items") {
            Some(items) => format!("{}[]", kind(items)),
            None => "any[]".to_owned(),
        },
        Some(kind @ ("string" | "boolean" | "object" | "null")) => kind.to_owned(),
        Some(_) | None => "any".to_owned(),
    }
}

fn is_required(schema: &Object, name: &str) -> bool {
    match schema.get("required") {
        Some(Json::Array(names)) => names.iter().any(|it| it.as_str() == Some(name)),
        Some(_) | None => false,
    }
}

fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|it| it.is_ascii_alphabetic() || it == '_')
        && chars.all(|it| it.is_ascii_alphanumeric() || it == '_')
}

/// Returns the first line of a description, cut.
fn line(description: &str) -> String {
    let first = description.trim().lines().next().unwrap_or_default();
    match first.chars().nth(LINE_CHARS_MAX) {
        Some(_) => first.chars().take(LINE_CHARS_MAX).chain(['…']).collect(),
        None => first.to_owned(),
    }
}

fn dashed(description: &str) -> String {
    if description.is_empty() { String::new() } else { format!(" - {description}") }
}

fn write(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    text.write_fmt(arguments).ok();
}
