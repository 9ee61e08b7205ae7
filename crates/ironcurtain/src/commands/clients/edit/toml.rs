//! Changes TOML, by a library that keeps what it does not change.

use serde_json::{Map, Value};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike};

use super::NotEditable;

/// Sets keys of the table at `path`; one that is not there is written at the end.
pub(super) fn set(
    text: &str,
    path: &[&str],
    keys: &Map<String, Value>,
) -> Result<String, NotEditable> {
    let mut document = read(text)?;
    put(&mut document, path, keys)?;
    let changed = document.to_string();
    let mut alone = DocumentMut::new();
    put(&mut alone, path, keys)?;
    let gap = match text.lines().next_back().map(str::trim) {
        None | Some("") => "",
        Some(_) if text.ends_with('\n') => "\n",
        Some(_) => "\n\n",
    };
    // The library would write it in front of comments at the end.
    let appended = format!("{text}{gap}{alone}");
    Ok(if says_the_same(&appended, &changed) { appended } else { changed })
}

/// Removes the table at `path`, and each table above it that is empty then.
pub(super) fn remove(text: &str, path: &[&str]) -> Result<String, NotEditable> {
    let mut document = read(text)?;
    take(document.as_table_mut(), path);
    let changed = document.to_string();
    // The library would take comments in front of it along.
    let cut = without_lines(text, path);
    Ok(cut.filter(|cut| says_the_same(cut, &changed)).unwrap_or(changed))
}

/// Returns the text without the lines of a table, if it stands by itself.
fn without_lines(text: &str, path: &[&str]) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let name = path.join(".");
    let (head, beneath) = (format!("[{name}]"), format!("[{name}."));
    let mut start = lines.iter().position(|line| line.trim().starts_with(&head))?;
    let is_next = |line: &&str| {
        let line = line.trim_start();
        line.starts_with('[') && !line.starts_with(&beneath)
    };
    let after = lines.get(start + 1..)?;
    let length = after.iter().position(is_next).unwrap_or(after.len());
    let is_content = |line: &&str| !matches!(line.trim_start().chars().next(), None | Some('#'));
    let length = after.get(..length)?.iter().rposition(is_content).map_or(0, |last| last + 1);
    let end = start + 1 + length;
    // A blank line in front of it is the one that we wrote.
    let before = start.checked_sub(1).and_then(|at| lines.get(at));
    if before.is_some_and(|line| line.trim().is_empty()) {
        start -= 1;
    }
    Some(lines.get(..start)?.concat() + &lines.get(end..)?.concat())
}

fn says_the_same(one: &str, other: &str) -> bool {
    let read = |text: &str| text.parse::<toml::Table>().ok();
    read(one).is_some_and(|one| Some(one) == read(other))
}

fn put(
    document: &mut DocumentMut,
    path: &[&str],
    keys: &Map<String, Value>,
) -> Result<(), NotEditable> {
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for (at, key) in path.iter().enumerate() {
        let is_last = at + 1 == path.len();
        if table.get(key).is_none() {
            let mut new = Table::new();
            // Only the last one has a line of its own.
            new.set_implicit(!is_last);
            table.insert(key, Item::Table(new));
        }
        table = table.get_mut(key).and_then(Item::as_table_like_mut).ok_or(NotEditable::Shape)?;
    }
    for (key, value) in keys {
        let value = of_json(value)?;
        match table.get_mut(key).and_then(Item::as_value_mut) {
            Some(now) => {
                let decor = now.decor().clone();
                *now = value;
                *now.decor_mut() = decor;
            }
            None => {
                table.insert(key, Item::Value(value));
            }
        }
    }
    Ok(())
}

fn take(table: &mut dyn TableLike, path: &[&str]) {
    let Some((first, rest)) = path.split_first() else { return };
    if rest.is_empty() {
        table.remove(first);
        return;
    }
    let Some(inner) = table.get_mut(first).and_then(Item::as_table_like_mut) else { return };
    take(inner, rest);
    if inner.is_empty() {
        table.remove(first);
    }
}

fn read(text: &str) -> Result<DocumentMut, NotEditable> {
    text.parse().map_err(|_| NotEditable::Syntax)
}

fn of_json(value: &Value) -> Result<toml_edit::Value, NotEditable> {
    Ok(match value {
        Value::Bool(is) => (*is).into(),
        Value::Number(number) => number.as_i64().ok_or(NotEditable::Shape)?.into(),
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => {
            let items: Result<Array, NotEditable> = items.iter().map(of_json).collect();
            toml_edit::Value::Array(items?)
        }
        Value::Object(members) => {
            let members = members.iter().map(|(key, value)| Ok((key.as_str(), of_json(value)?)));
            let members: Result<InlineTable, NotEditable> = members.collect();
            toml_edit::Value::InlineTable(members?)
        }
        Value::Null => return Err(NotEditable::Shape),
    })
}
