//! What a grant keeps as it was: every argument that is neither a resource of a granted role nor content.
//!
//! A person who approves a call sees one number, one flag, one branch. A grant is used for calls that
//! nobody sees, so what the person saw is a part of it. What may differ is what the scope says, and what
//! is plainly content: texts that are written, sent or replaced, by their role or by their name.

use ic_policy::{Push, ResolvedCall};
use ic_types::{Json, Object, Role};

use crate::display::{self, View};

/// Names of arguments that hold content if they hold a text, in lower case, without `_` and `-`.
const CONTENT: [&str; 14] = [
    "body",
    "content",
    "contents",
    "filetext",
    "inserttext",
    "message",
    "newcontent",
    "newstr",
    "newstring",
    "newtext",
    "oldstr",
    "oldstring",
    "oldtext",
    "text",
];
/// The name of an argument that holds a list of texts and what replaces them.
const EDITS: &str = "edits";
/// Roles of content.
pub(crate) const CONTENT_ROLES: [Role; 2] = [Role::CommitMessage, Role::EmailBody];
/// Words for what a push does beyond adding to a branch, written as [`CONTENT`] is.
const BEYOND: [&str; 9] = [
    "all",
    "delete",
    "followtags",
    "force",
    "forceifincludes",
    "forcewithlease",
    "mirror",
    "prune",
    "tags",
];
/// How many lines are shown of it.
const LINES_MAX: usize = 20;

/// What a call has to have in common with the one that was shown.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fixed {
    /// The arguments as they are sent, with `null` where they may differ.
    arguments: Object,
    /// The refs of the remote that a push may change.
    refs: Option<Vec<String>>,
}

impl Fixed {
    /// Takes what a grant for `scoped` keeps of `call`.
    pub(crate) fn of(call: &ResolvedCall, scoped: &[Role]) -> Self {
        let mut arguments = call.sent().clone();
        for it in call.places() {
            // SECURITY: a role that did not ask has no scope, so its values stay as they were.
            let may_differ = it.roles.iter().any(|role| scoped.contains(role))
                || it.roles.iter().all(|role| CONTENT_ROLES.contains(role));
            for value in it.place.find_mut(&mut arguments).unwrap_or_default() {
                if may_differ {
                    *value = Json::Null;
                }
            }
        }
        let has_role = |name: &str| call.places().iter().any(|it| it.place.argument() == name);
        let names: Vec<String> = arguments.keys().map(ToOwned::to_owned).collect();
        for name in names.iter().filter(|name| !has_role(name)) {
            if let Some(value) = arguments.get_mut(name).filter(|value| is_content(name, value)) {
                *value = Json::Null;
            }
        }
        Self { arguments, refs: call.push().map(Push::names) }
    }

    /// Says, line by line, what stays as it was.
    pub(crate) fn describe(&self) -> Vec<String> {
        let refs = self.refs.iter().flatten();
        let refs = refs.map(|name| format!("only to {}", display::text(name, View::Full)));
        let arguments = self.arguments.iter().filter(|(_, value)| **value != Json::Null);
        let arguments = arguments.map(|(name, value)| {
            let (name, value) =
                (display::text(name, View::Short), display::value(value, View::Short));
            format!("only with {name}: {value}")
        });
        let mut lines: Vec<String> = refs.chain(arguments).collect();
        if LINES_MAX < lines.len() {
            let n_more = lines.len() - LINES_MAX;
            lines.truncate(LINES_MAX);
            lines.push(format!("and {n_more} more arguments as they are in this call"));
        }
        lines
    }
}

/// Returns whether `call` is a push that a grant must not repeat: one that forces, deletes, or sends tags
/// or more than one branch, or of which nobody knows what it sends.
pub(crate) fn is_push_beyond_a_branch(call: &ResolvedCall) -> bool {
    let is_said = |(name, value): (&str, &Json)| {
        let is_off = matches!(value, Json::Null | Json::Bool(false));
        BEYOND.contains(&plain(name).as_str()) && !is_off
    };
    let is_more = call.push().is_some_and(|push| !push.only_advances_branches());
    is_more || (is_push(call) && call.sent().iter().any(is_said))
}

/// Returns whether a call pushes, as far as its tool's name or what was resolved tells.
pub(crate) fn is_push(call: &ResolvedCall) -> bool {
    call.push().is_some() || plain(call.tool().as_str()).contains("push")
}

/// Returns whether an argument without a role is plainly content.
pub(crate) fn is_content(name: &str, value: &Json) -> bool {
    let name = plain(name);
    let is_text = |name: &str, value: &Json| {
        CONTENT.contains(&plain(name).as_str()) && matches!(value, Json::String(_))
    };
    match value {
        Json::String(_) => is_text(&name, value),
        Json::Array(items) if name == EDITS => items.iter().all(|item| match item {
            Json::Object(edit) => edit.iter().all(|(name, value)| is_text(name, value)),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
                false
            }
        }),
        Json::Array(_) | Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_) => false,
    }
}

/// Writes a name as the lists above do.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(|c| !matches!(c, '_' | '-'));
    letters.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ic_types::JsonLimits;

    #[test]
    fn only_texts_that_are_plainly_content_are_content() {
        let is = |name: &str, value: &str| {
            is_content(name, &Json::parse(value.as_bytes(), JsonLimits::CALL).unwrap())
        };
        for (name, value) in [
            ("content", r#""x""#),
            ("new_string", r#""x""#),
            ("oldText", r#""x""#),
            ("message", r#""x""#),
            ("edits", r#"[{"oldText":"a","newText":"b"}]"#),
            ("edits", "[]"),
        ] {
            assert!(is(name, value), "{name}: {value}");
        }
        for (name, value) in [
            ("amount", r#""x""#),
            ("to", r#""x""#),
            ("query", r#""x""#),
            ("content", "7"),
            ("content", r#"["x"]"#),
            ("content", r#"{"x":"y"}"#),
            ("message", "true"),
            ("edits", r#"[{"oldText":"a","newText":"b","line":7}]"#),
            ("edits", r#"[{"oldText":"a","newText":7}]"#),
            ("edits", r#"["x"]"#),
            ("limit", "7"),
        ] {
            assert!(!is(name, value), "{name}: {value}");
        }
    }
}
