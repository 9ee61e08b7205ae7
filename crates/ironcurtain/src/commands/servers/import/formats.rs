//! The formats of other clients' files, read into one.

use serde_json::{Map, Value};
use yaml_rust2::parser::{Event, EventReceiver, Parser};
use yaml_rust2::{Yaml, YamlLoader};

/// How deep a file may nest.
const DEPTH_MAX: usize = 64;
/// The largest file; none that people write comes near it.
const BYTES_MAX: usize = 16 << 20;

/// A format.
#[derive(Clone, Copy, Debug)]
pub(in crate::commands) enum Format {
    /// JSON, with comments and trailing commas.
    Json,
    Toml,
    Yaml,
}

/// Reads a file.
pub(in crate::commands) fn parse(format: Format, bytes: &[u8]) -> Result<Value, String> {
    if BYTES_MAX < bytes.len() {
        return Err("it is too large".to_owned());
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    let text = text.trim_start_matches('\u{feff}');
    match format {
        Format::Json => serde_json::from_str(&plain_json(text)).map_err(|error| error.to_string()),
        Format::Toml => {
            let table: toml::Table = text.parse().map_err(|error| toml_fault(text, &error))?;
            Ok(of_toml(toml::Value::Table(table)))
        }
        Format::Yaml => {
            let mut aliases = Aliases::default();
            let mut parser = Parser::new_from_str(text);
            parser.load(&mut aliases, true).map_err(|error| error.to_string())?;
            // Each can stand for many of another one, and none is needed here.
            if aliases.is_any {
                return Err("it uses aliases".to_owned());
            }
            let documents = YamlLoader::load_from_str(text).map_err(|error| error.to_string())?;
            match documents.first() {
                None => Ok(Value::Object(Map::new())),
                Some(document) => of_yaml(document, DEPTH_MAX),
            }
        }
    }
}

/// Says what is wrong, and in which line; the line itself may hold a secret.
fn toml_fault(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start));
    let at = before.map_or_else(String::new, |it| format!(" at line {}", it.split('\n').count()));
    format!("{}{at}", error.message())
}

/// Notes whether a document refers to parts of itself.
#[derive(Debug, Default)]
struct Aliases {
    is_any: bool,
}

impl EventReceiver for Aliases {
    fn on_event(&mut self, event: Event) {
        self.is_any |= matches!(event, Event::Alias(_));
    }
}

/// Takes comments and trailing commas out.
fn plain_json(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let mut in_text = false;
    while let Some(c) = rest.next() {
        match (in_text, c, rest.peek()) {
            (true, '\\', _) => {
                plain.push(c);
                plain.extend(rest.next());
            }
            (_, '"', _) => {
                in_text = !in_text;
                plain.push(c);
            }
            (false, '/', Some('/')) => while rest.next_if(|c| *c != '\n').is_some() {},
            (false, '/', Some('*')) => {
                let mut last = ' ';
                rest.next();
                for c in rest.by_ref() {
                    if (last, c) == ('*', '/') {
                        break;
                    }
                    last = c;
                }
            }
            (false, '}' | ']', _) => {
                let kept = plain.trim_end();
                if kept.ends_with(',') {
                    plain.truncate(kept.len() - 1);
                }
                plain.push(c);
            }
            _ => plain.push(c),
        }
    }
    plain
}

fn of_toml(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => Value::from(number),
        toml::Value::Float(number) => Value::from(number),
        toml::Value::Boolean(is) => Value::Bool(is),
        toml::Value::Datetime(at) => Value::String(at.to_string()),
        toml::Value::Array(items) => items.into_iter().map(of_toml).collect(),
        toml::Value::Table(table) => {
            Value::Object(table.into_iter().map(|(key, value)| (key, of_toml(value))).collect())
        }
    }
}

fn of_yaml(yaml: &Yaml, depth: usize) -> Result<Value, String> {
    let depth = depth.checked_sub(1).ok_or("it is nested too deep")?;
    Ok(match yaml {
        Yaml::Real(text) | Yaml::String(text) => Value::String(text.clone()),
        Yaml::Integer(number) => Value::from(*number),
        Yaml::Boolean(is) => Value::Bool(*is),
        Yaml::Array(items) => {
            items.iter().map(|item| of_yaml(item, depth)).collect::<Result<_, _>>()?
        }
        Yaml::Hash(entries) => {
            let mut object = Map::new();
            for (key, value) in entries {
                if let Some(key) = key.as_str() {
                    object.insert(key.to_owned(), of_yaml(value, depth)?);
                }
            }
            Value::Object(object)
        }
        Yaml::Alias(_) | Yaml::Null | Yaml::BadValue => Value::Null,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_taken_out_of_json_and_texts_are_left_alone() {
        let read = |text: &str| parse(Format::Json, text.as_bytes()).map(|it| it.to_string());
        for (text, expected) in [
            ("\u{feff}{\"a\":1,}", r#"{"a":1}"#),
            ("{\"a\":\"// no, \\\" /* no */ ,}\"} // yes", r#"{"a":"// no, \" /* no */ ,}"}"#),
            ("[1, /* x */ 2 , ]", "[1,2]"),
            ("{}// end", "{}"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(expected), "{text}");
        }
        assert!(read("{").is_err());
    }

    #[test]
    fn what_is_wrong_is_said_without_the_line() {
        for (format, text) in [
            (Format::Toml, "[a]\ntoken = \"hunter2\nb = 1\n"),
            (Format::Toml, "a = 1\nx = hunter2\n"),
            (Format::Toml, "a = 1\na = \"hunter2\"\n"),
            (Format::Json, "{\"a\":\n hunter2}"),
            (Format::Json, "{\"a\": \"hunter2\n\"}"),
            (Format::Yaml, "a:\n  - \"hunter2\n b: [x"),
            (Format::Yaml, "a: b\nhunter2: - x: y"),
        ] {
            let why = parse(format, text.as_bytes()).unwrap_err();
            assert!(!why.contains("hunter2") && why.contains("line"), "{text}: {why}");
        }
    }

    /// Each level stands for two of the one below.
    #[test]
    fn a_file_that_would_grow_when_it_is_read_is_refused() {
        let mut bomb = "a0: &a0 [x, x]\n".to_owned();
        bomb.extend((1..12).map(|n| format!("a{n}: &a{n} [*a{0}, *a{0}]\n", n - 1)));
        assert_eq!(parse(Format::Yaml, bomb.as_bytes()), Err("it uses aliases".to_owned()));
        let deep = format!("{}x{}", "[".repeat(200), "]".repeat(200));
        assert!(parse(Format::Yaml, deep.as_bytes()).is_err());
    }
}
