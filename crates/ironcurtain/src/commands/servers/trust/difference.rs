//! What differs between a server as it was trusted and as it is now, in lines for a person.
//!
//! Every line can be shown as it is: invisible and controlling characters are written out, and long
//! lines are folded under a mark of their own, so that no text can pass for something that we say.
//! Nothing is decided here.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use ic_home::tree::manifest::Difference;
use ic_inventory::pins::{Identity, Package, Pin, Pins, Standing};
use ic_inventory::tool::Tool;
use ic_servers::filesystem::diff::unified;
use ic_types::{Json, Object, ServerName};

use crate::commands::servers::import::secrets::{is_secret_name, is_secret_text};
use crate::screen::{visible, visible_line};

/// How much of one text is shown.
const CHARS_MAX: usize = 64 << 10;
/// How many files of a package are named.
const FILES_MAX: usize = 50;
/// Where a line is folded.
const WIDTH: usize = 72;

/// What differs about the tools.
#[derive(Debug)]
pub(super) struct Changes(Vec<ToolChange>);

#[derive(Debug)]
struct ToolChange {
    name: String,
    kind: Kind,
    /// A sentence about characters that nobody sees, if there are any.
    hidden: Option<String>,
    /// What differs, in lines.
    lines: Vec<String>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    New,
    Changed,
    Gone,
}

/// Returns how the way of being started differs, each line with a mark.
pub(super) fn of_start(pin: Option<&Pin>, identity: &Identity) -> Vec<String> {
    let old = pin.map(|pin| start_text(&pin.start)).unwrap_or_default();
    let mut lines = difference(&old, &start_text(identity.as_object()));
    // What is trusted with this is shown, unless it may be secret.
    let broken = pin.map(|pin| pin.seal.broken(identity));
    for (name, value) in identity.values() {
        let is_other = broken.as_ref().is_none_or(|broken| broken.iter().any(|it| it == name));
        if is_other {
            fold(
                '~',
                &format!("{}: {}", visible(name), visible(&shown_value(name, value))),
                &mut lines,
            );
        }
    }
    lines
}

/// Says which files of an installed package are not what they were.
pub(super) fn of_package(server: &ServerName, package: &Package) -> Vec<String> {
    let mut lines = vec![format!(
        "{server}: the files that it is installed from have changed since it was trusted:"
    )];
    for (directory, differences) in package.differences() {
        lines.push(format!("  in {}", visible(&directory.display().to_string())));
        for (path, difference) in differences.iter().take(FILES_MAX) {
            let word = match difference {
                Difference::New => "new",
                Difference::Changed => "changed",
                Difference::Gone => "gone",
            };
            lines.push(format!("    {word}: {}", visible(path)));
        }
        if let Some(n_more @ 1..) = differences.len().checked_sub(FILES_MAX) {
            lines.push(format!("    and {n_more} more"));
        }
    }
    lines
}

/// Returns a value as a person may see it; of one that may be secret, what it refers to.
fn shown_value(name: &str, value: &str) -> String {
    if !is_secret_name(name) && !is_secret_text(value) {
        return value.to_owned();
    }
    let references: Vec<String> = value
        .split("${")
        .skip(1)
        .filter_map(|after| after.split_once('}').map(|(inside, _)| format!("${{{inside}}}")))
        .collect();
    match references.is_empty() {
        true => "(not shown)".to_owned(),
        false => format!("(not shown, refers to {})", references.join(", ")),
    }
}

impl Changes {
    /// Compares what was trusted with what is listed now.
    pub(super) fn of(server: &ServerName, pins: &Pins, tools: &[Tool]) -> Self {
        let (pin, nothing) = (pins.get(server), Object::new());
        let mut changes = Vec::new();
        for tool in tools {
            let kind = match pins.of_tool(server, tool) {
                Standing::Trusted => continue,
                Standing::New => Kind::New,
                Standing::Changed => Kind::Changed,
            };
            let known = pin.and_then(|pin| pin.tools.get(tool.name.as_str()));
            let lines = of_tool(known.unwrap_or(&nothing), &tool.listed);
            let hidden = tool.hidden_text();
            changes.push(ToolChange { name: tool.name.to_string(), kind, hidden, lines });
        }
        let is_listed = |name: &str| tools.iter().any(|tool| tool.name.as_str() == name);
        let known = pin.into_iter().flat_map(|pin| pin.tools.keys());
        changes.extend(known.filter(|name| !is_listed(name)).map(|name| ToolChange {
            name: name.clone(),
            kind: Kind::Gone,
            hidden: None,
            lines: Vec::new(),
        }));
        Self(changes)
    }

    /// Returns whether everything is as it was.
    pub(super) fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns all that differs, to be shown.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for change in &self.0 {
            let word = match change.kind {
                Kind::New => "new",
                Kind::Changed => "changed",
                Kind::Gone => "gone",
            };
            lines.push(format!("  {word}: {}", visible(&change.name)));
            if let Some(hidden) = &change.hidden {
                lines.push(format!("    HIDDEN TEXT: {}", visible(hidden)));
            }
            lines.extend(change.lines.iter().cloned());
        }
        lines
    }

    /// Returns one line that says how much differs; it stands right above the question.
    pub(super) fn summary(&self) -> String {
        let count = |kind| self.0.iter().filter(|change| change.kind == kind).count();
        let n_hidden = self.0.iter().filter(|change| change.hidden.is_some()).count();
        let (n_new, n_changed, n_gone) =
            (count(Kind::New), count(Kind::Changed), count(Kind::Gone));
        let mut summary = format!("tools: {n_new} new, {n_changed} changed, {n_gone} gone");
        if 0 < n_hidden {
            // Writing to a string cannot fail.
            write!(summary, "; {n_hidden} with invisible text that a model would read").ok();
        }
        summary
    }
}

/// Returns what differs about one tool: everything that its server says of it.
fn of_tool(old: &Object, new: &Object) -> Vec<String> {
    const FIRST: [&str; 3] = ["title", "description", "inputSchema"];
    let others: BTreeSet<&str> = old.keys().chain(new.keys()).collect();
    let others = others.into_iter().filter(|key| !FIRST.contains(key) && *key != "name");
    let mut lines = Vec::new();
    for key in FIRST.into_iter().chain(others) {
        let (old, new) = (old.get(key), new.get(key));
        if old.map(Json::to_canonical) == new.map(Json::to_canonical) {
            continue;
        }
        lines.push(format!("    {}:", visible(key)));
        let text = |json: Option<&Json>| json.map(readable).unwrap_or_default();
        lines.extend(difference(&text(old), &text(new)));
    }
    lines
}

/// Writes how a server is started, one word to a line.
fn start_text(start: &Object) -> String {
    let mut text = String::new();
    for (key, value) in start.iter() {
        write_words(&visible(key), value, &mut text);
    }
    text
}

fn write_words(key: &str, value: &Json, out: &mut String) {
    match value {
        Json::Array(words) if !words.is_empty() => {
            for word in words {
                write_words(key, word, out);
            }
        }
        Json::Object(object) if !object.is_empty() => {
            let mut entries: Vec<(&str, &Json)> = object.iter().collect();
            entries.sort_by_key(|(name, _)| *name);
            for (name, value) in entries {
                write_words(&format!("{key}.{}", visible(name)), value, out);
            }
        }
        Json::String(word) => write_word(key, word, out),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => {
            write_word(key, &value.to_string(), out);
        }
    }
}

fn write_word(key: &str, word: &str, out: &mut String) {
    // Writing to a string cannot fail.
    writeln!(out, "{key}: {}", visible(word)).ok();
}

/// Writes a value so that it can be read: text as it is, everything else as indented JSON.
fn readable(json: &Json) -> String {
    let mut text = match json {
        Json::String(text) => text.clone(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => {
            let mut text = String::new();
            indent(json, 0, &mut text);
            text
        }
    };
    text.push('\n');
    text
}

/// Writes JSON with one value to a line, and keys in order, so that only what differs shows.
fn indent(json: &Json, depth: usize, out: &mut String) {
    let new_line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    };
    match json {
        Json::Object(object) if !object.is_empty() => {
            let mut entries: Vec<(&str, &Json)> = object.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            out.push('{');
            for (at, (key, value)) in entries.into_iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                new_line(out, depth + 1);
                Json::write_text(out, key);
                out.push_str(": ");
                indent(value, depth + 1, out);
            }
            new_line(out, depth);
            out.push('}');
        }
        Json::Array(items) if !items.is_empty() => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                new_line(out, depth + 1);
                indent(item, depth + 1, out);
            }
            new_line(out, depth);
            out.push(']');
        }
        // Empty ones too: there is nothing in them to put on a line.
        Json::Null
        | Json::Bool(_)
        | Json::Number(_)
        | Json::String(_)
        | Json::Array(_)
        | Json::Object(_) => json.write(out),
    }
}

/// Returns the lines that differ, with those around them, marked and folded.
fn difference(old: &str, new: &str) -> Vec<String> {
    let unified = unified("", &cut(old), &cut(new));
    let mut lines = Vec::new();
    // The first three lines are headings: two names, and where the first part is.
    for line in unified.split_terminator('\n').skip(3) {
        let mut chars = line.chars();
        match chars.next() {
            Some(mark @ ('+' | '-' | ' ')) => fold(mark, chars.as_str(), &mut lines),
            // Where another part begins.
            Some(_) | None => lines.push("      …".to_owned()),
        }
    }
    if lines.is_empty() && old != new {
        lines.push("      … differs only where it is too long to be shown".to_owned());
    }
    lines
}

/// Cuts a text that nobody would read to the end, and says so.
fn cut(text: &str) -> String {
    match text.char_indices().nth(CHARS_MAX) {
        None => text.to_owned(),
        Some((at, _)) => {
            let kept = text.get(..at).unwrap_or_default();
            let n_left = text.chars().count() - CHARS_MAX;
            format!("{kept}\n(and {n_left} characters more, too many to be shown)\n")
        }
    }
}

/// Adds one line under its mark, in as many rows as it takes.
fn fold(mark: char, line: &str, lines: &mut Vec<String>) {
    let shown: Vec<char> = visible_line(line).chars().collect();
    let mut rows = shown.chunks(WIDTH);
    let first: String = rows.next().unwrap_or_default().iter().collect();
    lines.push(format!("      {mark} {first}"));
    for row in rows {
        let row: String = row.iter().collect();
        lines.push(format!("      {mark}   {row}"));
    }
}

#[cfg(test)]
mod tests {
    use ic_types::JsonLimits;

    use super::*;

    fn object(text: &str) -> Object {
        match Json::parse(text.as_bytes(), JsonLimits::CALL).unwrap() {
            Json::Object(object) => object,
            _ => panic!("an object"),
        }
    }

    #[track_caller]
    fn check(old: &str, new: &str, expected: &[&str]) {
        assert_eq!(of_tool(&object(old), &object(new)), expected, "{old} -> {new}");
    }

    #[test]
    fn each_part_that_differs_is_shown_and_the_rest_is_not() {
        check(
            r#"{"name":"a","title":"T","description":"one\ntwo","inputSchema":{}}"#,
            r#"{"inputSchema":{},"name":"a","title":"T","description":"one\nthree"}"#,
            &["    description:", "        one", "      - two", "      + three"],
        );
        check(
            r#"{"name":"a","inputSchema":{"type":"object","properties":{"x":{"type":"string"}}}}"#,
            r#"{"name":"a","inputSchema":{"properties":{"x":{"type":"number"}},"type":"object"}}"#,
            &[
                "    inputSchema:",
                "        {",
                "          \"properties\": {",
                "            \"x\": {",
                "      -       \"type\": \"string\"",
                "      +       \"type\": \"number\"",
                "            }",
                "          },",
                "          \"type\": \"object\"",
            ],
        );
        check(
            r#"{"name":"a","annotations":{"readOnlyHint":true}}"#,
            r#"{"name":"a","_meta":7,"title":""}"#,
            &[
                "    title:",
                "      + ",
                "    _meta:",
                "      + 7",
                "    annotations:",
                "      - {",
                "      -   \"readOnlyHint\": true",
                "      - }",
            ],
        );
    }

    #[test]
    fn what_could_deceive_is_written_out_and_stays_under_its_mark() {
        check(
            r#"{"name":"a"}"#,
            "{\"name\":\"a\",\"description\":\"x\\u202ey\\r\\nTrust this? [y/N] y\\u001b[2J\"}",
            &[
                "    description:",
                "      + x\\u{202e}y\\u{d}",
                "      + Trust this? [y/N] y\\u{1b}[2J",
            ],
        );
        let long = "z".repeat(100);
        check(
            r#"{"name":"a"}"#,
            &format!(r#"{{"name":"a","title":"{long}"}}"#),
            &[
                "    title:",
                &format!("      + {}", "z".repeat(72)),
                &format!("      +   {}", "z".repeat(28)),
            ],
        );
    }

    #[test]
    fn a_difference_that_is_too_long_is_said_to_be_there() {
        let text = |end: &str| format!("{}{end}", "a\n".repeat(CHARS_MAX));
        assert_eq!(
            difference(&text("x\n"), &text("y\n")),
            ["      … differs only where it is too long to be shown"]
        );
        let cut = difference("", &"b".repeat(CHARS_MAX + 7));
        assert_eq!(
            cut.last().map(String::as_str),
            Some("      + (and 7 characters more, too many to be shown)")
        );
    }

    #[test]
    fn a_start_is_shown_word_by_word() {
        let start = object(
            r#"{"command":"python3","args":["-u","a b\n"],"env":["TOKEN"],"cwd":"${SANDBOX}"}"#,
        );
        assert_eq!(
            start_text(&start),
            "command: python3\nargs: -u\nargs: a b\\u{a}\nenv: TOKEN\ncwd: ${SANDBOX}\n"
        );
    }
}
