//! Changes JSON that people write, with comments and trailing commas, and leaves the rest of it as it is.
//!
//! The text is read once for each change, which is then made in the text itself. What a value means is
//! not known here; whether the result says what was meant is checked by the caller.

use std::ops::Range;

use serde_json::Value;

use super::NotEditable;

/// How deep a file may nest.
const DEPTH_MAX: usize = 64;

/// A value, and where it stands.
#[derive(Debug)]
struct Node {
    span: Range<usize>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// An object or an array.
    Container(Vec<Part>),
    /// A text, a number or a word.
    Scalar,
}

/// A member of an object, or an item of an array.
#[derive(Debug)]
struct Part {
    /// Where it begins: at its key, if it has one.
    start: usize,
    key: Option<String>,
    value: Node,
    /// The comma behind it.
    comma: Option<usize>,
}

/// Sets what is at `path`; objects on the way are made.
pub(super) fn set(text: &str, path: &[&str], value: &Value) -> Result<String, NotEditable> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let root = read(text)?;
    let mut node = &root;
    for (at, key) in path.iter().enumerate() {
        let Kind::Container(parts) = &node.kind else { return Err(NotEditable::Shape) };
        if !text.get(node.span.clone()).is_some_and(|it| it.starts_with('{')) {
            return Err(NotEditable::Shape);
        }
        let Some(part) = member(parts, key)? else {
            let rest = path.get(at + 1..).unwrap_or_default();
            let nested = rest.iter().rev().fold(value.clone(), |inner, key| {
                Value::Object([((*key).to_owned(), inner)].into_iter().collect())
            });
            return Ok(insert(text, node, &unit(text, &root), Some(key), &nested));
        };
        node = &part.value;
    }
    let indent = indent_at(text, node.span.start);
    let written = pretty(value, &unit(text, &root), &indent);
    Ok(replaced(text, node.span.clone(), &written))
}

/// Adds an item to the array at `path`, which is made if it is not there.
pub(super) fn push(text: &str, path: &[&str], value: &Value) -> Result<String, NotEditable> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let root = read(text)?;
    match find(&root, path)? {
        None => set(text, path, &Value::Array(vec![value.clone()])),
        Some((_, Part { value: array, .. })) => {
            if !text.get(array.span.clone()).is_some_and(|it| it.starts_with('[')) {
                return Err(NotEditable::Shape);
            }
            Ok(insert(text, array, &unit(text, &root), None, value))
        }
    }
}

/// Removes the member at `path`, and each object above it that is empty then; that it is absent is fine.
pub(super) fn remove(text: &str, path: &[&str]) -> Result<String, NotEditable> {
    let root = read(text)?;
    let Some((siblings, part)) = find(&root, path)? else { return Ok(text.to_owned()) };
    let text = cut(text, siblings, part);
    without_empty(&text, path.split_last().map_or(&[][..], |(_, above)| above))
}

/// Removes the items that equal `value` from the array at `path`.
pub(super) fn remove_item(text: &str, path: &[&str], value: &Value) -> Result<String, NotEditable> {
    let root = read(text)?;
    let Some((_, Part { value: Node { kind: Kind::Container(items), .. }, .. })) =
        find(&root, path)?
    else {
        return Ok(text.to_owned());
    };
    let written = value.to_string();
    let is_it = |part: &&Part| text.get(part.value.span.clone()) == Some(written.as_str());
    let Some(item) = items.iter().find(is_it) else { return Ok(text.to_owned()) };
    let text = cut(text, items, item);
    without_empty(&text, path)
}

/// Removes what is at `path` as long as it is an empty object or array without a comment.
fn without_empty(text: &str, path: &[&str]) -> Result<String, NotEditable> {
    let root = read(text)?;
    match find(&root, path)? {
        Some((_, part)) if is_empty(text, &part.value) => remove(text, path),
        Some((_, part)) => Ok(collapsed(text, &part.value)),
        None => Ok(collapsed(text, &root)),
    }
}

/// Returns whether nothing but white space is between the brackets.
fn is_empty(text: &str, node: &Node) -> bool {
    let inner = text.get(node.span.start + 1..node.span.end.saturating_sub(1));
    matches!(node.kind, Kind::Container(_)) && inner.is_some_and(|it| it.trim().is_empty())
}

/// Writes an empty object without the line end that was left in it.
fn collapsed(text: &str, node: &Node) -> String {
    match is_empty(text, node) {
        true => replaced(text, node.span.start + 1..node.span.end.saturating_sub(1), ""),
        false => text.to_owned(),
    }
}

/// Finds the member at `path`, and all members beside it.
fn find<'a>(root: &'a Node, path: &[&str]) -> Result<Option<(&'a [Part], &'a Part)>, NotEditable> {
    let (mut node, mut found) = (root, None);
    for key in path {
        let Kind::Container(parts) = &node.kind else { return Err(NotEditable::Shape) };
        let Some(part) = member(parts, key)? else { return Ok(None) };
        found = Some((parts.as_slice(), part));
        node = &part.value;
    }
    Ok(found)
}

fn member<'a>(parts: &'a [Part], key: &str) -> Result<Option<&'a Part>, NotEditable> {
    let mut named = parts.iter().filter(|it| it.key.as_deref() == Some(key));
    let first = named.next();
    match named.next() {
        Some(_) => Err(NotEditable::Twice(key.to_owned())),
        None => Ok(first),
    }
}

// === changing the text ===

fn replaced(text: &str, span: Range<usize>, by: &str) -> String {
    let before = text.get(..span.start).unwrap_or_default();
    let after = text.get(span.end..).unwrap_or_default();
    format!("{before}{by}{after}")
}

/// Puts a new part at the end of a container, in the way in which its other parts are written.
fn insert(text: &str, node: &Node, unit: &str, key: Option<&str>, value: &Value) -> String {
    let Kind::Container(parts) = &node.kind else { return text.to_owned() };
    let outer = indent_at(text, node.span.start);
    let close = node.span.end.saturating_sub(1);
    let own_lines = parts.first().is_none_or(|it| is_first_on_line(text, it.start));
    let inner = match parts.first() {
        Some(first) if own_lines => indent_at(text, first.start),
        _ => format!("{outer}{unit}"),
    };
    let name = key.map_or_else(String::new, |key| format!("{}: ", Value::from(key)));
    // Behind whatever stands before the bracket, comments included.
    let head = text.get(..close).unwrap_or_default();
    let at = head.trim_end().len().max(node.span.start + 1);
    let written = match own_lines {
        true => format!("\n{inner}{name}{}", pretty(value, unit, &inner)),
        false => format!(" {name}{value}"),
    };
    let last = parts.last();
    let has_comma = last.is_some_and(|it| it.comma.is_some());
    let is_bare = is_empty(text, node);
    let end = match (is_bare, has_comma) {
        (true, _) => format!("\n{outer}"),
        (false, true) => ",".to_owned(),
        (false, false) => String::new(),
    };
    let until = if is_bare { close } else { at };
    let mut inserted = format!("{written}{end}");
    if text.contains("\r\n") {
        inserted = inserted.replace('\n', "\r\n");
    }
    let after = replaced(text, at..until, &inserted);
    match last {
        // In front of what was inserted, so that its place is the same still.
        Some(part) if !has_comma => replaced(&after, part.value.span.end..part.value.span.end, ","),
        _ => after,
    }
}

/// Takes a part out, with the line that it has for itself and the comma that it needed.
fn cut(text: &str, siblings: &[Part], part: &Part) -> String {
    let end = part.comma.map_or(part.value.span.end, |comma| comma + 1);
    let is_last = siblings.last().is_some_and(|it| it.start == part.start);
    let line_rest = text.get(end..).unwrap_or_default().split('\n').next().unwrap_or_default();
    let span = if is_first_on_line(text, part.start) && line_rest.trim().is_empty() {
        let start = part.start - indent_at(text, part.start).len();
        let line_end = end + line_rest.len();
        start..(line_end + usize::from(line_end < text.len()))
    } else if is_last {
        let head = text.get(..part.start).unwrap_or_default();
        head.trim_end().len()..end
    } else {
        let tail = text.get(end..).unwrap_or_default();
        part.start..end + (tail.len() - tail.trim_start().len())
    };
    let after = replaced(text, span, "");
    let before = siblings.iter().take_while(|it| it.start < part.start).last();
    match before.and_then(|it| it.comma) {
        // A comma behind the last part is the way in which this file is written.
        Some(comma) if is_last && part.comma.is_none() => replaced(&after, comma..comma + 1, ""),
        _ => after,
    }
}

/// Returns the white space in front of the line in which `at` lies.
fn indent_at(text: &str, at: usize) -> String {
    let head = text.get(..at).unwrap_or_default();
    let line = head.rsplit('\n').next().unwrap_or_default();
    line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect()
}

fn is_first_on_line(text: &str, at: usize) -> bool {
    let head = text.get(..at).unwrap_or_default();
    let line = head.rsplit('\n').next().unwrap_or_default();
    head.contains('\n') && line.chars().all(|c| matches!(c, ' ' | '\t'))
}

/// Returns what the file is indented by.
fn unit(text: &str, root: &Node) -> String {
    let first = match &root.kind {
        Kind::Container(parts) => parts.first(),
        Kind::Scalar => None,
    };
    let own = first.filter(|it| is_first_on_line(text, it.start));
    let indent = own.map(|it| indent_at(text, it.start)).unwrap_or_default();
    if indent.is_empty() { "  ".to_owned() } else { indent }
}

/// Writes a value over several lines; arrays of plain values stay on one.
fn pretty(value: &Value, unit: &str, indent: &str) -> String {
    let inner = format!("{indent}{unit}");
    match value {
        Value::Object(members) if !members.is_empty() => {
            let lines: Vec<String> = members
                .iter()
                .map(|(key, value)| {
                    format!("{inner}{}: {}", Value::from(key.as_str()), pretty(value, unit, &inner))
                })
                .collect();
            format!("{{\n{}\n{indent}}}", lines.join(",\n"))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(ToString::to_string).collect();
            format!("[{}]", items.join(", "))
        }
        _ => value.to_string(),
    }
}

// === reading ===

fn read(text: &str) -> Result<Node, NotEditable> {
    let mut reader = Reader { text, at: 0 };
    reader.skip()?;
    let node = reader.value(DEPTH_MAX)?;
    reader.skip()?;
    match reader.peek() {
        None => Ok(node),
        Some(_) => Err(NotEditable::Syntax),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Goes past white space, comments, and the mark at the beginning of a file.
    fn skip(&mut self) -> Result<(), NotEditable> {
        loop {
            let rest = self.rest();
            let length = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if let Some(comment) = rest.strip_prefix("/*") {
                comment.find("*/").ok_or(NotEditable::Syntax)? + 4
            } else {
                let is_space = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n' | '\u{feff}');
                rest.len() - rest.trim_start_matches(is_space).len()
            };
            if length == 0 {
                return Ok(());
            }
            self.at += length;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, NotEditable> {
        let depth = depth.checked_sub(1).ok_or(NotEditable::Syntax)?;
        let start = self.at;
        let kind = match self.peek() {
            Some('{') => Kind::Container(self.parts('}', depth)?),
            Some('[') => Kind::Container(self.parts(']', depth)?),
            Some('"') => {
                self.text()?;
                Kind::Scalar
            }
            _ => {
                let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
                let length = self.rest().find(|c| !is_word(c)).unwrap_or(self.rest().len());
                if length == 0 {
                    return Err(NotEditable::Syntax);
                }
                self.at += length;
                Kind::Scalar
            }
        };
        Ok(Node { span: start..self.at, kind })
    }

    fn parts(&mut self, close: char, depth: usize) -> Result<Vec<Part>, NotEditable> {
        let mut parts: Vec<Part> = Vec::new();
        self.at += 1;
        loop {
            self.skip()?;
            if self.peek() == Some(close) {
                self.at += 1;
                return Ok(parts);
            }
            if parts.last().is_some_and(|it| it.comma.is_none()) {
                return Err(NotEditable::Syntax);
            }
            let start = self.at;
            let key = match close {
                '}' => {
                    let key = self.text()?;
                    self.skip()?;
                    if self.peek() != Some(':') {
                        return Err(NotEditable::Syntax);
                    }
                    self.at += 1;
                    self.skip()?;
                    Some(key)
                }
                _ => None,
            };
            let value = self.value(depth)?;
            self.skip()?;
            let comma = (self.peek() == Some(',')).then_some(self.at);
            self.at += usize::from(comma.is_some());
            parts.push(Part { start, key, value, comma });
        }
    }

    fn text(&mut self) -> Result<String, NotEditable> {
        let start = self.at;
        let mut is_escaped = false;
        let inside = self.rest().strip_prefix('"').ok_or(NotEditable::Syntax)?;
        let end = inside.find(|c| {
            let is_end = c == '"' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            is_end
        });
        self.at += end.ok_or(NotEditable::Syntax)? + 2;
        let written = self.text.get(start..self.at).unwrap_or_default();
        serde_json::from_str(written).map_err(|_| NotEditable::Syntax)
    }
}
