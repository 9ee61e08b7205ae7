//! What a push would send, as a person is shown it: each ref with its old and its new object, then the
//! commits and files behind them.
//!
//! Refs are never cut: they are what is approved. Names, subjects and paths were written by the agent or
//! by strangers, so they stand in quotes.

use ic_policy::Push;
use ic_types::Json;

use super::{View, cut, text, value};
use crate::request::Request;

/// The key of what would be pushed, among resolved values.
pub(super) const KEY: &str = Push::KEY;

/// Shows the refs that would change.
pub(super) fn ref_lines(json: &Json) -> Vec<String> {
    let mut lines = vec!["  push, exactly these objects:".to_owned()];
    match json {
        Json::Array(refs) => lines.extend(refs.iter().map(ref_line)),
        Json::Object(unknown) if unknown.get("unknown").is_some() => {
            let why = unknown.get("unknown").unwrap_or(&Json::Null);
            lines.push(format!("    nothing, because {}", value(why, View::Full)));
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Object(_) => {
            lines.push(format!("    {}", value(json, View::Full)));
        }
    }
    lines
}

fn ref_line(json: &Json) -> String {
    let Json::Object(pushed) = json else { return format!("    {}", value(json, View::Full)) };
    let get = |key: &str| pushed.get(key).unwrap_or(&Json::Null);
    let shown = |json: &Json| value(json, View::Full);
    let was = match get("old") {
        Json::Null => "not known here".to_owned(),
        old => format!("{} as last fetched", shown(old)),
    };
    let becomes = match (get("new"), get("manner").as_str()) {
        (Json::Null, _) => "is DELETED".to_owned(),
        (new, Some("advance")) => format!("becomes {}", shown(new)),
        (new, _) => format!("is FORCED to {}", shown(new)),
    };
    format!("    {} {becomes} (was: {was})", shown(get("ref")))
}

/// Shows the commits and files behind the refs.
pub(super) fn sent_lines(request: &Request, view: View) -> Vec<String> {
    if request.sends.is_empty() {
        return Vec::new();
    }
    let lines = request.sends.iter().map(|line| format!("    {}", text(line, view)));
    let mut shown = vec!["  sends:".to_owned()];
    shown.extend(cut(lines.collect(), view));
    shown
}
