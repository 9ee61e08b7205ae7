//! What a person is shown of what a server changed without asking: every file, and how it differs.
//!
//! The host found it and wrote the question, so the shape is ours; paths and texts are the server's.

use ic_policy::host_executes::KEEP;
use ic_types::{Json, Object};

use super::{View, changed_line, value};
use crate::request::Request;

/// Says in one line what is asked, if it is this.
pub(super) fn headline(request: &Request) -> Option<String> {
    let server = &request.server;
    files(request)
        .map(|_| format!("Keep what {server} changed without asking? It was put back ({KEEP})"))
}

/// Shows each file, with its difference line by line; nothing is left out.
pub(super) fn file_lines(request: &Request, view: View) -> Vec<String> {
    let Some(files) = files(request) else { return Vec::new() };
    let mut lines = vec!["  would be kept:".to_owned()];
    for file in files {
        let Json::Object(file) = file else {
            lines.push(format!("    {}", value(file, View::Full)));
            continue;
        };
        lines.push(format!("    {}", line(file)));
        // SECURITY: what is in the middle of it may be the point.
        let diff = file.get("diff").and_then(Json::as_str).unwrap_or_default();
        let changed = diff.lines().map(|line| format!("      {}", changed_line(line, View::Full)));
        match view {
            View::Full => lines.extend(changed),
            View::Short => {
                let n_lines = diff.lines().count();
                lines.extend(changed.take(SHOWN_MAX));
                if SHOWN_MAX < n_lines {
                    let more = n_lines - SHOWN_MAX;
                    lines.push(format!("      … {more} more lines are not shown …"));
                }
            }
        }
    }
    lines
}

/// How many lines of a difference the short view shows.
const SHOWN_MAX: usize = 40;

fn line(file: &Object) -> String {
    let shown = |key: &str| value(file.get(key).unwrap_or(&Json::Null), View::Full);
    let is = |key: &str, text: &str| file.get(key).and_then(Json::as_str) == Some(text);
    if is("kind", "directory") {
        return format!("{} (a directory)", shown("path"));
    }
    let change = if is("change", "changed") { "changed" } else { "new" };
    let executable = match file.get("executable") {
        Some(Json::Bool(true)) => ", executable",
        _ => "",
    };
    let text = if file.get("diff").is_some() { "" } else { ", not a text" };
    format!(
        "{} ({change}, {} bytes{executable}{text}, SHA-256 {})",
        shown("path"),
        shown("bytes"),
        shown("sha256")
    )
}

/// Returns the files that would be kept, if that is what is asked.
pub(super) fn files(request: &Request) -> Option<&[Json]> {
    match request.arguments.get("files") {
        Some(Json::Array(files)) if request.tool.as_str() == KEEP => Some(files),
        _ => None,
    }
}
