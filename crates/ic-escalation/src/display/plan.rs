//! What a person is shown of a plan: each call, what it touches and why it needs approval.
//!
//! The session put it together from calls that it resolved and judged, so the shape is ours; values are an
//! agent's. An agent has no words of its own here.

use ic_policy::{Structural, plan};
use ic_types::{Json, Object, counted, visible};

use super::{View, argument_lines, cut, resolved_lines, text};
use crate::request::Request;

/// Says in one line what is asked, if it is this.
pub(super) fn headline(request: &Request) -> Option<String> {
    let n_calls = calls(request)?.len();
    let calls = counted(n_calls as u64, "call", "calls");
    Some(format!("The agent asks about {calls} before it makes them ({})", plan::TOOL))
}

/// Shows each call; in the short view long values are shortened, as everywhere.
pub(super) fn call_lines(request: &Request, view: View) -> Vec<String> {
    let Some(calls) = calls(request) else { return Vec::new() };
    let mut lines = Vec::new();
    for (number, call) in (1..).zip(calls) {
        let Json::Object(call) = call else {
            lines.push(format!("  {number}. {}", visible(&call.to_string())));
            continue;
        };
        lines.extend(lines_of(number, call, view));
    }
    lines
}

fn lines_of(number: usize, call: &Object, view: View) -> Vec<String> {
    let said = |key: &str| call.get(key).and_then(Json::as_str).unwrap_or_default();
    let object = |key: &str| match call.get(key) {
        Some(Json::Object(object)) => Some(object),
        _ => None,
    };
    let name = format!("{}.{}", said("server"), said("tool"));
    let mut lines = vec![format!("  {number}. {}", visible(&name))];
    match said("reason") {
        "" => lines.push("    needs no approval".to_owned()),
        reason => {
            lines.push(format!("    because: {}", text(reason, view)));
            lines.push(format!("    rule: {}", text(said("rule"), view)));
        }
    }
    for (role, values) in object("resolved").into_iter().flat_map(Object::iter) {
        lines.push(format!("    {}:", visible(role)));
        // What is touched is never cut: the one that matters could be the last.
        lines.extend(resolved_lines(role, values, view).iter().map(|line| format!("  {line}")));
    }
    lines.push("    arguments:".to_owned());
    let arguments = object("arguments").map(|it| argument_lines(it, view)).unwrap_or_default();
    lines.extend(cut(arguments, view).iter().map(|line| format!("  {line}")));
    lines
}

/// Returns the calls, if a plan is what is asked about.
pub(super) fn calls(request: &Request) -> Option<&[Json]> {
    match request.arguments.get(plan::CALLS) {
        Some(Json::Array(calls)) if request.rule == Structural::Plan.as_str() => Some(calls),
        _ => None,
    }
}
