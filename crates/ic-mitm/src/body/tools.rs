//! The tools of a request: those that the agent runs stay, those that the provider runs are removed, and
//! the others are refused.

use std::collections::BTreeSet;

use ic_types::{Json, Object};

use super::{items_mut, text};
use crate::provider::{Format, Shape, ToolType};
use crate::refusal::{Refusal, named};

/// What becomes of a tool.
#[derive(Debug)]
pub(super) enum Fate {
    Stays,
    Removed(String),
}

/// Checks the tools of a body.
pub(super) fn check(
    format: &Format,
    body: &mut Object,
    removed: &mut BTreeSet<String>,
) -> Result<(), Refusal> {
    let mut names = BTreeSet::new();
    let is_left = match items_mut(format.shape, body, "tools")? {
        None => return check_choice(format, body, &names, removed),
        Some(tools) => {
            keep(format, tools, removed, &mut names)?;
            !tools.is_empty()
        }
    };
    if !is_left && !removed.is_empty() {
        body.remove("tools");
        for choice in ["tool_choice", "toolConfig", "tool_config"] {
            body.remove(choice);
        }
    }
    check_choice(format, body, &names, removed)
}

/// Keeps the tools that stay, and collects the names of the others.
pub(super) fn keep(
    format: &Format,
    tools: &mut Vec<Json>,
    removed: &mut BTreeSet<String>,
    names: &mut BTreeSet<String>,
) -> Result<(), Refusal> {
    let mut kept = Vec::with_capacity(tools.len());
    for tool in std::mem::take(tools) {
        let Json::Object(mut tool) = tool else {
            return Err(Refusal::Malformed("a tool is not an object".to_owned()));
        };
        match fate(format, &mut tool, removed, names)? {
            Fate::Stays => kept.push(Json::Object(tool)),
            Fate::Removed(name) => {
                names.extend(text(&tool, "name").map(ToOwned::to_owned));
                removed.insert(name);
            }
        }
    }
    *tools = kept;
    Ok(())
}

/// Returns what becomes of a tool; what is in it is looked at too.
pub(super) fn fate(
    format: &Format,
    tool: &mut Object,
    removed: &mut BTreeSet<String>,
    names: &mut BTreeSet<String>,
) -> Result<Fate, Refusal> {
    match format.shape {
        Shape::Gemini => of_keys(format, tool, removed),
        Shape::Messages => match tool.get("type") {
            // A tool without a type is the agent's own.
            None | Some(Json::Null) => Ok(Fate::Stays),
            Some(_) => of_type(format, tool),
        },
        Shape::Chat => of_type(format, tool),
        Shape::Responses => {
            let fate = of_type(format, tool)?;
            // SECURITY: a shell that does not say that it is the agent's own runs at the provider.
            if text(tool, "type") == Some("shell") && !is_local(tool) {
                return Ok(Fate::Removed("shell".to_owned()));
            }
            // A namespace holds tools; so would whatever else has a member of that name.
            if let Some(inner) = items_mut(format.shape, tool, "tools")? {
                keep(format, inner, removed, names)?;
            }
            Ok(fate)
        }
    }
}

fn of_type(format: &Format, tool: &Object) -> Result<Fate, Refusal> {
    let Some(name) = text(tool, "type") else {
        return Err(Refusal::Malformed("a tool has no type".to_owned()));
    };
    if fits(format.tools, name) {
        return Ok(Fate::Stays);
    }
    match fits(format.removed_tools, name) {
        true => Ok(Fate::Removed(name.to_owned())),
        false => Err(Refusal::Tool(named(name))),
    }
}

/// A tool of Google's is an object with one key for each thing that it can do.
fn of_keys(
    format: &Format,
    tool: &mut Object,
    removed: &mut BTreeSet<String>,
) -> Result<Fate, Refusal> {
    let keys: Vec<String> = tool.keys().map(ToOwned::to_owned).collect();
    for key in keys {
        if fits(format.tools, &key) {
            continue;
        }
        if !fits(format.removed_tools, &key) {
            return Err(Refusal::Tool(named(&key)));
        }
        tool.remove(&key);
        removed.insert(key);
    }
    let rest = removed.iter().next_back().cloned();
    Ok(match (tool.is_empty(), rest) {
        (true, Some(name)) => Fate::Removed(name),
        (true, None) | (false, _) => Fate::Stays,
    })
}

fn is_local(tool: &Object) -> bool {
    match tool.get("environment") {
        Some(Json::Object(environment)) => text(environment, "type") == Some("local"),
        _ => false,
    }
}

/// Takes back a choice of a tool that is not there any more, and refuses what nobody knows.
fn check_choice(
    format: &Format,
    body: &mut Object,
    names: &BTreeSet<String>,
    removed: &mut BTreeSet<String>,
) -> Result<(), Refusal> {
    let Some(Json::Object(choice)) = body.get_mut("tool_choice") else { return Ok(()) };
    let chosen = text(choice, "name").is_some_and(|name| names.contains(name));
    let kind = text(choice, "type").unwrap_or_default().to_owned();
    let is_gone = match format.shape {
        Shape::Messages | Shape::Gemini => chosen,
        Shape::Chat | Shape::Responses if kind == "allowed_tools" => {
            // Chat has the list one object deeper.
            let list = match choice.get_mut("allowed_tools") {
                Some(Json::Object(inner)) => items_mut(format.shape, inner, "tools")?,
                _ => items_mut(format.shape, choice, "tools")?,
            };
            if let Some(list) = list {
                keep(format, list, removed, &mut BTreeSet::new())?;
            }
            false
        }
        Shape::Chat | Shape::Responses => match fits(format.removed_tools, &kind) {
            true => true,
            false if fits(format.tools, &kind) => chosen,
            false => return Err(Refusal::Tool(named(&kind))),
        },
    };
    if is_gone {
        body.remove("tool_choice");
    }
    Ok(())
}

pub(super) fn fits(types: &[ToolType], name: &str) -> bool {
    types.iter().any(|it| it.fits(name))
}
