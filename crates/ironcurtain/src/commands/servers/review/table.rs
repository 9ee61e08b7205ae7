//! The tools of a server in one table: each argument with what it is taken for, in words.
//!
//! What a server says passes `visible` here; nobody is asked.

use ic_types::{Json, Object};

use super::super::{drafts, meaning};
use crate::screen::visible;

/// How much of what a server says of a tool is shown.
const DESCRIPTION_CHARS_MAX: usize = 600;
/// The widest column; what is longer stands out of it.
const WIDTH_MAX: usize = 32;

/// Returns the arguments of a tool, each with what it is taken for.
pub(super) fn arguments(tool: &Object) -> Vec<(String, String)> {
    let Some(Json::Object(args)) = tool.get("args") else { return Vec::new() };
    args.iter().map(|(name, roles)| (name.to_owned(), meaning::words(roles))).collect()
}

/// Shows tools, one below the other, with their numbers if they can be chosen.
pub(in super::super) fn rows<'a>(
    tools: impl Iterator<Item = &'a Object>,
    are_numbered: bool,
) -> Vec<String> {
    let mut cells = Vec::new();
    for (index, tool) in tools.enumerate() {
        let number = if are_numbered { format!("{}", index + 1) } else { String::new() };
        let state = if drafts::is_draft(tool) { "guessed" } else { "confirmed" };
        let mut first = [number, visible(drafts::name_of(tool)), state.to_owned()];
        let mut arguments = arguments(tool);
        if arguments.is_empty() {
            arguments.push(("(none)".to_owned(), String::new()));
        }
        for (argument, words) in arguments {
            let [number, name, state] = std::mem::take(&mut first);
            cells.push([number, name, state, visible(&argument), visible(&words)]);
        }
    }
    let width = |column: usize| {
        let widths = cells.iter().filter_map(|row| row.get(column)).map(|it| it.chars().count());
        widths.max().unwrap_or_default().min(WIDTH_MAX)
    };
    let [w0, w1, w2, w3] = [width(0), width(1), width(2), width(3)];
    let row = |[number, name, state, argument, words]: &[String; 5]| {
        let number = match are_numbered {
            true => format!("{number:>w0$}  "),
            false => String::new(),
        };
        let line = format!("  {number}{name:w1$}  {state:w2$}  {argument:w3$}  {words}");
        line.trim_end().to_owned()
    };
    cells.iter().map(row).collect()
}

/// Shows one tool: what its server says of it, and its arguments by number.
pub(super) fn details(server: &str, tool: &Object, listed: Option<&Object>) -> Vec<String> {
    let description = listed.and_then(|it| it.get("description")).and_then(Json::as_str);
    let description: String =
        description.unwrap_or("(nothing)").chars().take(DESCRIPTION_CHARS_MAX).collect();
    let mut lines = vec![
        String::new(),
        format!("{server}.{}", visible(drafts::name_of(tool))),
        format!("  the server says: {}", visible(&description)),
    ];
    let arguments = arguments(tool);
    if arguments.is_empty() {
        lines.push("  no arguments".to_owned());
    }
    for (index, (argument, words)) in arguments.iter().enumerate() {
        lines.push(format!("  {}  {}: {}", index + 1, visible(argument), visible(words)));
    }
    lines
}
