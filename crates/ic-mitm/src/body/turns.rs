//! Tools that are not among the tools of a request but in its conversation: added in the middle, found by a
//! search, or kept by a summary. They are judged like the others.

use std::collections::BTreeSet;

use ic_types::{Json, Object};

use super::sources::{each, note};
use super::tools::{self, Fate};
use super::{items_mut, text};
use crate::provider::{Format, Shape};
use crate::refusal::{Refusal, named};

/// What is removed if a part refers to tools of a remote server.
const REMOTE: &str = "mcp";

/// Judges the tools in the conversation of a body.
pub(super) fn check(
    format: &Format,
    body: &mut Object,
    removed: &mut BTreeSet<String>,
) -> Result<(), Refusal> {
    match format.shape {
        Shape::Messages => each(format.shape, body, "messages", &mut |message| {
            let Some(Json::Array(blocks)) = message.get_mut("content") else { return Ok(()) };
            for block in blocks {
                if let Json::Object(block) = block {
                    of_block(format, block, removed)?;
                }
            }
            Ok(())
        }),
        Shape::Responses if matches!(body.get("input"), Some(Json::Array(_))) => {
            each(format.shape, body, "input", &mut |item| of_item(format, item, removed))
        }
        // Neither knows such a thing.
        Shape::Responses | Shape::Chat | Shape::Gemini => Ok(()),
    }
}

/// `additional_tools` and `tool_search_output` hold tools; so would whatever else has a member of that name.
fn of_item(
    format: &Format,
    item: &mut Object,
    removed: &mut BTreeSet<String>,
) -> Result<(), Refusal> {
    if text(item, "type") == Some("mcp_list_tools") {
        // What a remote server offered once; it cannot be called any more, and describes itself otherwise.
        removed.insert(REMOTE.to_owned());
        item.insert("tools", Vec::new());
        return Ok(());
    }
    match items_mut(format.shape, item, "tools")? {
        Some(inner) => tools::keep(format, inner, removed, &mut BTreeSet::new()),
        None => Ok(()),
    }
}

fn of_block(
    format: &Format,
    block: &mut Object,
    removed: &mut BTreeSet<String>,
) -> Result<(), Refusal> {
    match text(block, "type") {
        Some("mcp_tool_listing") => {
            removed.insert(REMOTE.to_owned());
            *block = note(format.shape);
        }
        Some("tool_addition" | "tool_removal") => {
            let Some(Json::Object(change)) = block.get_mut("tool") else {
                return Err(Refusal::Malformed("a change of tools names none".to_owned()));
            };
            if !stays(format, change, removed)? {
                *block = note(format.shape);
            }
        }
        // A summary names the changes that it stands for.
        _ => {
            if let Some(changes) = items_mut(format.shape, block, "tool_changes")? {
                let mut kept = Vec::with_capacity(changes.len());
                for mut change in std::mem::take(changes) {
                    let is_kept = match &mut change {
                        Json::Object(change) => changed(format, change, removed)?,
                        _ => false,
                    };
                    if is_kept {
                        kept.push(change);
                    }
                }
                *changes = kept;
            }
        }
    }
    Ok(())
}

/// A change in a summary is the change itself, or holds it.
fn changed(
    format: &Format,
    change: &mut Object,
    removed: &mut BTreeSet<String>,
) -> Result<bool, Refusal> {
    match change.get_mut("tool") {
        Some(Json::Object(inner)) => stays(format, inner, removed),
        Some(_) => Ok(false),
        None => stays(format, change, removed),
    }
}

/// Returns whether a change of tools stays; the tool that it defines is judged.
fn stays(
    format: &Format,
    change: &mut Object,
    removed: &mut BTreeSet<String>,
) -> Result<bool, Refusal> {
    if let Some(definition) = change.get_mut("definition") {
        let Json::Object(tool) = definition else {
            return Err(Refusal::Malformed("a tool is not an object".to_owned()));
        };
        return match tools::fate(format, tool, removed, &mut BTreeSet::new())? {
            Fate::Stays => Ok(true),
            Fate::Removed(name) => {
                removed.insert(name);
                Ok(false)
            }
        };
    }
    match text(change, "type") {
        Some("tool_reference") => Ok(true),
        Some("mcp_tool_reference" | "mcp_toolset_reference") => {
            removed.insert(REMOTE.to_owned());
            Ok(false)
        }
        kind => Err(Refusal::Tool(named(kind.unwrap_or("without a type")))),
    }
}
