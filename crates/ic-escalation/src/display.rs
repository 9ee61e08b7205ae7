//! What a person is shown of a question: everything that matters, and nothing that acts.
//!
//! All text of a question was written by an agent, a server or a repository. Values are shown as JSON
//! and then made visible, so that no value can look like another one or like a line of ours; long
//! ones are shortened in the middle, with their length, and the full view shows all of it. Colours
//! and widths are the business of whoever prints.

use ic_types::{Json, Object, Role, Timestamp, visible};

use crate::request::Request;

/// The longest value that is shown whole, in characters.
const VALUE_CHARS_MAX: usize = 160;
/// The longest name of an argument that is shown whole, in characters.
const NAME_CHARS_MAX: usize = 40;
/// How many values, arguments or lines of a difference are shown.
const LINES_MAX: usize = 20;

/// How much is shown.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum View {
    /// What fits a screen.
    Short,
    /// Everything.
    Full,
}

/// Shows `request`, line by line, with the change that it would make to a file if that is known.
///
/// `diff` is text too: it holds what is in the file, and what the agent wants to be in it.
pub fn show(request: &Request, view: View, diff: Option<&str>, now: Timestamp) -> Vec<String> {
    let mut lines = vec![format!("{} wants to call {}", request.server, request.tool)];
    lines.push(format!("  because: {}", text(&request.reason, view)));
    lines.push(format!("  rule: {}", text(&request.rule, view)));
    for (role, values) in request.resolved.iter() {
        let escalates = request.escalated_roles.iter().any(|it| it.as_str() == role);
        let mark = if escalates { " (asks)" } else { "" };
        lines.push(format!("  {}{mark}:", text(role, view)));
        let values = resolved_lines(role, values, view);
        // SECURITY: behind many harmless values of a role that asks, the one that asks could be cut.
        lines.extend(if escalates { values } else { cut(values, view) });
    }
    lines.push("  arguments:".to_owned());
    lines.extend(cut(argument_lines(&request.arguments, view), view));
    if let Some(diff) = diff {
        lines.push("  change:".to_owned());
        let changes = diff.lines().map(|line| format!("    {}", plain(line, view)));
        lines.extend(cut(changes.collect(), view));
    }
    lines.push(format!("  expires: {}", remaining(request.expires_at, now)));
    lines
}

/// Shows one value as JSON on one line, shortened unless everything is to be shown.
pub fn value(json: &Json, view: View) -> String {
    match (json, view) {
        (Json::String(text), View::Short) => quoted_short(text, VALUE_CHARS_MAX),
        (_, View::Full) => visible(&json.to_string()),
        (
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_),
            View::Short,
        ) => short(&json.to_string(), VALUE_CHARS_MAX, visible),
    }
}

/// Shows a text as JSON on one line, shortened unless everything is to be shown.
pub fn text(text: &str, view: View) -> String {
    value(&Json::from(text), view)
}

/// Shortens a text in the middle, with its length; the cuts stand outside of the quotes, so that no
/// text can look as if it had been shortened.
fn quoted_short(text: &str, chars_max: usize) -> String {
    short(text, chars_max, |part| visible(&Json::from(part).to_string()))
}

fn short(text: &str, chars_max: usize, show: impl Fn(&str) -> String) -> String {
    let n_chars = text.chars().count();
    if n_chars <= chars_max {
        return show(text);
    }
    let kept = chars_max / 2;
    let head: String = text.chars().take(kept).collect();
    let tail: String = text.chars().skip(n_chars - kept).collect();
    format!("{} … {n_chars} characters … {}", show(&head), show(&tail))
}

/// Shows a line of a difference, whose first character means something.
fn plain(line: &str, view: View) -> String {
    match view {
        View::Full => visible(line),
        View::Short => short(line, VALUE_CHARS_MAX, visible),
    }
}

fn resolved_lines(role: &str, values: &Json, view: View) -> Vec<String> {
    let Json::Array(values) = values else { return vec![format!("    {}", value(values, view))] };
    let changes = role.parse().is_ok_and(Role::changes_path);
    let line = |item: &Json| {
        let Json::Object(object) = item else { return format!("    {}", value(item, view)) };
        match (object.get("path"), object.get("url"), object.get("destination")) {
            // A path is what is decided about, and has an end: it is never shortened.
            (Some(path), None, None) => {
                let there = if changes { what_is_there(object) } else { None };
                let there = there.map_or_else(String::new, |there| format!(" ({there})"));
                format!("    {}{there}", value(path, View::Full))
            }
            (None, Some(url), Some(destination)) => {
                format!("    {} (at {})", value(url, view), value(destination, View::Full))
            }
            _ => format!("    {}", value(item, view)),
        }
    };
    values.iter().map(line).collect()
}

/// Says what would be changed or removed.
fn what_is_there(object: &Object) -> Option<String> {
    let bytes = crate::document::whole(object.get("bytes")?)?;
    let seconds = object.get("modified")?.as_str()?.split('.').next()?.parse::<u64>().ok()?;
    let changed = Timestamp::from_unix_ms(seconds.checked_mul(1_000)?);
    match object.get("kind")?.as_str()? {
        "directory" => Some(format!("a directory, changed {changed}")),
        _ => Some(format!("holds {}, changed {changed}", size(bytes))),
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}

fn argument_lines(arguments: &Object, view: View) -> Vec<String> {
    let name = |name: &str| match view {
        View::Short => quoted_short(name, NAME_CHARS_MAX),
        View::Full => text(name, View::Full),
    };
    let line = |(key, it): (&str, &Json)| format!("    {}: {}", name(key), value(it, view));
    arguments.iter().map(line).collect()
}

/// Keeps the beginning of a long list, and says how much more there is.
fn cut(mut lines: Vec<String>, view: View) -> Vec<String> {
    if view == View::Short && LINES_MAX < lines.len() {
        let more = lines.len() - LINES_MAX;
        lines.truncate(LINES_MAX);
        lines.push(format!("    … {more} more …"));
    }
    lines
}

/// Says how long there is to answer.
pub fn remaining(expires_at: Timestamp, now: Timestamp) -> String {
    let ms = expires_at.unix_ms().saturating_sub(now.unix_ms());
    match (ms / 1_000, ms) {
        (_, 0) => "now".to_owned(),
        (seconds @ 0..60, _) => format!("in {seconds} s"),
        (seconds @ 60..3_600, _) => format!("in {} min {} s", seconds / 60, seconds % 60),
        (seconds, _) => format!("in {} h {} min", seconds / 3_600, seconds / 60 % 60),
    }
}
