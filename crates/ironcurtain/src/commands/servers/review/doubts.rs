//! The arguments that are taken for data without much to go by, as questions in plain words.

use std::collections::BTreeMap;

use ic_inventory::draft::doubts::doubts;
use ic_types::{Json, Object};

use super::Review;
use super::seen::Seen;
use crate::screen::visible;

/// How many tools are named behind an argument that several have.
const TOOLS_NAMED_MAX: usize = 3;

/// Returns the questions of a review, each with the arguments that it is about.
pub(super) fn lines(review: &Review<'_>, seen: &Seen) -> Vec<String> {
    let mut questions: Vec<(&str, BTreeMap<String, Vec<&str>>)> = Vec::new();
    for name in &review.drafts {
        let (Some(tool), Some(listed)) = (review.annotations.get(name), review.pin.tools.get(name))
        else {
            continue;
        };
        for doubt in doubts(name, listed, &seen.of(name)) {
            if !is_still_data(tool, &doubt.place) {
                continue;
            }
            let at = questions.iter().position(|(question, _)| *question == doubt.question);
            let at = at.unwrap_or_else(|| {
                questions.push((doubt.question, BTreeMap::new()));
                questions.len() - 1
            });
            if let Some((_, places)) = questions.get_mut(at) {
                places.entry(doubt.place).or_default().push(name);
            }
        }
    }
    let line = |(question, places): (&str, BTreeMap<String, Vec<&str>>)| {
        let places: Vec<String> = places.iter().map(|(place, tools)| about(place, tools)).collect();
        format!("  {}: {question}", places.join(", "))
    };
    let mut lines: Vec<String> = questions.into_iter().map(line).collect();
    if !lines.is_empty() {
        lines.insert(0, "Taken for data, but please look at these:".to_owned());
    }
    lines
}

/// Names an argument: `` `to` of `send` and `forward` ``.
fn about(place: &str, tools: &[&str]) -> String {
    let named: Vec<String> =
        tools.iter().take(TOOLS_NAMED_MAX).map(|tool| format!("`{}`", visible(tool))).collect();
    let tools = match (tools.len().checked_sub(TOOLS_NAMED_MAX), named.split_last()) {
        (Some(n_more @ 1..), _) => format!("{} and {n_more} more", named.join(", ")),
        (_, Some((last, others @ [_, ..]))) => format!("{} and {last}", others.join(", ")),
        _ => named.concat(),
    };
    format!("`{}` of {tools}", visible(place))
}

/// Returns whether a place, or the argument in which it lies, is still what it was guessed to be: a model or
/// a person may have said more.
fn is_still_data(tool: &Object, place: &str) -> bool {
    let Some(Json::Object(args)) = tool.get("args") else { return false };
    let is_data = |roles: &Json| matches!(roles, Json::Array(roles) if roles.iter().all(|it| it.as_str() == Some("none")));
    args.get(place).is_none_or(is_data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_of_many_tools_is_named_once() {
        for (tools, expected) in [
            (&["a"][..], "`to` of `a`"),
            (&["a", "b"], "`to` of `a` and `b`"),
            (&["a", "b", "c"], "`to` of `a`, `b` and `c`"),
            (&["a", "b", "c", "d", "e"], "`to` of `a`, `b`, `c` and 2 more"),
        ] {
            assert_eq!(about("to", tools), expected);
        }
    }
}
