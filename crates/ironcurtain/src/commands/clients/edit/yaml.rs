//! Changes YAML by whole lines: an entry of a mapping that is written in blocks, as clients write theirs.
//!
//! Anything that is written in another way is refused, or does not pass the caller's check of the result.

use serde_json::{Map, Value};

use super::NotEditable;

/// How entries are indented where there is none yet.
const INDENT: usize = 2;

/// Where a mapping is in the lines of a file.
struct Block {
    /// The lines of its entries, blank lines and comments at the end left out.
    lines: std::ops::Range<usize>,
    /// How far its entries are indented.
    indent: usize,
}

/// Writes the entry at `path`, which has two parts, anew.
pub(super) fn set(
    text: &str,
    path: &[&str],
    keys: &Map<String, Value>,
) -> Result<String, NotEditable> {
    let [outer, name] = path else { return Err(NotEditable::Shape) };
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let Some(block) = block(&lines, outer)? else {
        lines.push(format!("{outer}:"));
        lines.extend(written(name, keys, INDENT));
        return Ok(joined(&lines));
    };
    let now = entry(&lines, &block, name).unwrap_or(block.lines.end..block.lines.end);
    let rewritten = lines.get(now.clone()).and_then(|entry| rewritten(entry, keys));
    lines.splice(now, rewritten.unwrap_or_else(|| written(name, keys, block.indent)));
    Ok(joined(&lines))
}

/// Removes the entry at `path`, which has two parts, and the mapping if it is empty then.
pub(super) fn remove(text: &str, path: &[&str]) -> Result<String, NotEditable> {
    let [outer, name] = path else { return Err(NotEditable::Shape) };
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let block = block(&lines, outer)?.ok_or(NotEditable::Unusual)?;
    let mut span = entry(&lines, &block, name).ok_or(NotEditable::Unusual)?;
    if span == block.lines {
        // Its own line goes as well.
        span.start = span.start.saturating_sub(1);
    }
    lines.drain(span);
    Ok(joined(&lines))
}

/// Finds the mapping `key` at the left edge.
fn block(lines: &[String], key: &str) -> Result<Option<Block>, NotEditable> {
    let head = format!("{key}:");
    let Some(at) = lines.iter().position(|line| line.starts_with(&head)) else { return Ok(None) };
    let rest = lines.get(at).and_then(|line| line.strip_prefix(&head)).unwrap_or_default();
    if !(rest.trim().is_empty() || rest.trim_start().starts_with('#')) {
        return Err(NotEditable::Unusual);
    }
    let is_content = |line: &String| !matches!(line.trim_start().chars().next(), None | Some('#'));
    let body = lines.get(at + 1..).unwrap_or_default();
    let first = body.iter().position(is_content);
    let indent = first.and_then(|it| body.get(it)).map_or(0, |line| indent_of(line));
    if indent == 0 {
        return Err(NotEditable::Unusual);
    }
    let n_inside =
        body.iter().position(|it| is_content(it) && indent_of(it) < indent).unwrap_or(body.len());
    let inside = body.get(..n_inside).unwrap_or_default();
    let n_lines = inside.iter().rposition(is_content).map_or(0, |last| last + 1);
    Ok(Some(Block { lines: at + 1..at + 1 + n_lines, indent }))
}

/// Finds the lines of an entry.
fn entry(lines: &[String], block: &Block, name: &str) -> Option<std::ops::Range<usize>> {
    let inside = lines.get(block.lines.clone())?;
    let is_key = |line: &String| indent_of(line) <= block.indent && !line.trim().is_empty();
    let head = format!("{name}:");
    let is_it = |line: &String| is_key(line) && line.trim_start().starts_with(&head);
    let start = inside.iter().position(is_it)?;
    let after = inside.get(start + 1..)?;
    let length = after.iter().position(is_key).unwrap_or(after.len());
    let first = block.lines.start + start;
    Some(first..first + 1 + length)
}

/// Returns the lines of an entry with other values, and with the comments that are in it; `None` if it is
/// not written with one key on each line.
fn rewritten(entry: &[String], keys: &Map<String, Value>) -> Option<Vec<String>> {
    let (head, body) = entry.split_first()?;
    let is_content = |line: &String| !matches!(line.trim_start().chars().next(), None | Some('#'));
    let indent = body.iter().find(|line| is_content(line)).map(|line| indent_of(line))?;
    let key_of = |line: &String| {
        let (key, rest) = line.trim_start().split_once(':')?;
        let is_whole = indent_of(line) == indent && keys.contains_key(key);
        (is_whole && rest.starts_with(' ')).then(|| (key.to_owned(), rest.to_owned()))
    };
    let mut lines = vec![head.clone()];
    let mut done: Vec<String> = Vec::new();
    for line in body {
        if !is_content(line) {
            lines.push(line.clone());
            continue;
        }
        let (key, rest) = key_of(line)?;
        let value = scalar(keys.get(&key)?);
        let is_quoted = rest.contains(['"', '\'']);
        let (was, comment) = match rest.find(" #") {
            Some(at) if !is_quoted => rest.split_at(at),
            Some(_) | None => (rest.as_str(), ""),
        };
        if was.trim() == value {
            lines.push(line.clone());
        } else {
            let gap = was.strip_prefix(was.trim_end()).unwrap_or_default();
            lines.push(format!("{}{key}: {value}{gap}{comment}", " ".repeat(indent)));
        }
        done.push(key);
    }
    let missing = keys.iter().filter(|(key, _)| !done.contains(key));
    lines.extend(
        missing.map(|(key, value)| format!("{}{key}: {}", " ".repeat(indent), scalar(value))),
    );
    Some(lines)
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Writes an entry; a JSON value is one of YAML too.
fn written(name: &str, keys: &Map<String, Value>, indent: usize) -> Vec<String> {
    let (outer, inner) = (" ".repeat(indent), " ".repeat(indent + INDENT));
    let mut lines = vec![format!("{outer}{name}:")];
    lines.extend(keys.iter().map(|(key, value)| format!("{inner}{key}: {}", scalar(value))));
    lines
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) if is_plain(text) => text.clone(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(scalar).collect::<Vec<_>>().join(", "))
        }
        Value::Object(members) => {
            let members = members.iter().map(|(key, value)| format!("{key}: {}", scalar(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        _ => value.to_string(),
    }
}

/// Returns whether a text means itself without quotes.
fn is_plain(text: &str) -> bool {
    let is_word =
        text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '/' | '.'));
    let is_reserved = matches!(
        text.to_ascii_lowercase().as_str(),
        "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n" | "~"
    );
    is_word && !is_reserved && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
}

fn joined(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}
