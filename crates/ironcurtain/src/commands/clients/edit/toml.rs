//! Changes TOML, by a library that keeps what it does not change.

use serde_json::{Map, Value};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike};

use super::NotEditable;

/// Sets keys of the table at `path`; tables on the way are made.
pub(super) fn set(
    text: &str,
    path: &[&str],
    keys: &Map<String, Value>,
) -> Result<String, NotEditable> {
    let mut document = read(text)?;
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
    Ok(document.to_string())
}

/// Removes the table at `path`, and each table above it that is empty then.
pub(super) fn remove(text: &str, path: &[&str]) -> Result<String, NotEditable> {
    let mut document = read(text)?;
    take(document.as_table_mut(), path);
    Ok(document.to_string())
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
