//! What an entry of another client says and ours cannot: told by its name, and never its value.

use serde_json::{Map, Value};

use super::clients::Shape;
use crate::screen::visible;

/// Where a server is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Near,
    Far,
}

/// Words about a server that mean nothing for how it runs.
const IDLE: [&str; 11] = [
    "type",
    "name",
    "display_name",
    "description",
    "enabled",
    "disabled",
    "bundled",
    "gallery",
    "version",
    "title",
    "required",
];

/// Returns what is to be said of the keys that are not taken over.
pub(super) fn notes(shape: Shape, kind: Kind, entry: &Map<String, Value>) -> Vec<String> {
    let taken: &[&str] = match (shape, kind) {
        (Shape::Usual, Kind::Near) => &["command", "args", "env", "cwd"],
        (Shape::Usual, Kind::Far) => &["url", "serverUrl", "headers"],
        (Shape::Codex, Kind::Near) => &["command", "args", "env", "env_vars", "cwd"],
        (Shape::Codex, Kind::Far) => {
            &["url", "http_headers", "env_http_headers", "bearer_token_env_var"]
        }
        (Shape::Goose, Kind::Near) => &["cmd", "args", "envs", "env_keys", "cwd"],
        // There, variables are what the headers refer to.
        (Shape::Goose, Kind::Far) => &["uri", "headers", "envs", "env_keys"],
        (Shape::OpenCode, Kind::Near) => &["command", "environment", "cwd"],
        (Shape::OpenCode, Kind::Far) => &["url", "headers"],
    };
    let is_empty = |value: &Value| match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(of) => of.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    };
    let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
    for (key, value) in entry {
        if is_empty(value) || taken.contains(&key.as_str()) || IDLE.contains(&key.as_str()) {
            continue;
        }
        let why = reason(key);
        let shown = format!("`{}`", visible(&key.chars().take(64).collect::<String>()));
        match groups.iter_mut().find(|(known, _)| *known == why) {
            Some((_, keys)) => keys.push(shown),
            None => groups.push((why, vec![shown])),
        }
    }
    groups
        .into_iter()
        .map(|(why, keys)| format!("{} not taken over: {why}", keys.join(", ")))
        .collect()
}

/// Returns why a key is not taken over, and what to do.
fn reason(key: &str) -> &'static str {
    let lower = key.to_ascii_lowercase();
    match lower.as_str() {
        "envfile" => {
            "files with variables are not read; give the server what it needs with `servers add --env NAME`"
        }
        "headershelper" => {
            "no program is run for headers; name a variable with `servers add --header`"
        }
        _ if lower.contains("timeout") => "every call has the time limits of the session",
        _ if lower.contains("oauth") || ["auth", "scopes"].contains(&lower.as_str()) => {
            "OAuth is not supported; pass a token in a header"
        }
        _ if lower.contains("tool")
            || ["alwaysallow", "autoapprove", "trust"].contains(&lower.as_str()) =>
        {
            "all its tools are offered here, and the policy decides over each call"
        }
        _ if lower.contains("sandbox") => "it runs in a cage",
        _ => "entries have no such setting",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_left_out_is_named_without_its_value() {
        let entry = json!({"type": "stdio", "command": "x", "args": [], "envFile": "hunter2", "timeout": 7,
            "startup_timeout_sec": 3, "disabled_tools": ["hunter2"], "oauth": {"secret": "hunter2"},
            "odd\u{1b}key": "hunter2", "dev": {}, "headers": {"A": "hunter2"}, "required": true});
        let notes = notes(Shape::Usual, Kind::Near, entry.as_object().unwrap());
        let said = notes.join("\n");
        for part in [
            "`envFile` not taken over: files",
            "`timeout`, `startup_timeout_sec` not taken over: every call",
            "`disabled_tools` not taken over: all its tools",
            "`oauth` not taken over",
            "`headers`",
        ] {
            assert!(said.contains(part), "{part} in {said}");
        }
        assert!(
            !said.contains("hunter2") && !said.contains('\u{1b}') && !said.contains("`dev`"),
            "{said}"
        );
        assert!(!said.contains("`required`") && !said.contains("`type`"), "{said}");
    }
}
