//! One server, as a client writes it, and what comes of it here.
//!
//! An entry that cannot be read as it is meant is an error that is told; nothing of it is guessed or
//! left out in silence. Nothing is added here.

use serde_json::{Map, Value};

use super::clients::{Client, Shape};
use super::far;
use super::left_out::{self, Kind};
use super::places::{Origin, Reach};
use super::references::{Context, Gathered, Machine, Place, Wanted, Why};
use super::secrets::{self, is_secret_text, is_variable};
use crate::commands::servers::plan::Far;

/// A server that was found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) name: String,
    pub(super) origin: Origin,
    /// How it is started, or why it cannot be.
    pub(super) line: Result<Line, String>,
    /// The variables that have to be set.
    pub(super) variables: Vec<Wanted>,
    /// What differs from how the client starts it.
    pub(super) notes: Vec<String>,
    /// Whether it is switched off there.
    pub(super) is_off: bool,
}

/// How a server is started, without secrets.
#[derive(Debug, Default, Eq, PartialEq)]
pub(super) struct Line {
    pub(super) command: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    /// Where it runs, if that is said.
    pub(super) directory: Option<String>,
    /// Where it is, if it is on another machine; then there is no command.
    pub(super) far: Option<Far>,
}

/// Reads one server; `None` if it is a part of the client, or is the proxy itself.
pub(super) fn read(
    client: &'static Client,
    (name, entry): (&str, &Value),
    origin: Origin,
    machine: Machine<'_>,
) -> Option<Found> {
    let empty = Map::new();
    let (entry, is_object) = match entry {
        Value::Object(entry) => (entry, true),
        _ => (&empty, false),
    };
    if let (Shape::Goose, Some("builtin" | "platform")) = (client.shape, text(entry, "type")) {
        return None;
    }
    let is_strangers = origin.reach == Reach::Project;
    let context =
        Context { server: name, client: client.name, style: client.style, machine, is_strangers };
    let words = words(client.shape, entry);
    if words.as_ref().is_ok_and(|words| is_proxy(words)) {
        return None;
    }
    let read = match words {
        _ if !is_object => Err("it is not a valid entry".to_owned()),
        Err(why) => Err(why),
        Ok(words) if words.is_empty() => match far::read(&context, client.shape, entry) {
            Some(read) => {
                read.map(|(far, gathered)| (Line { far: Some(far), ..Line::default() }, gathered))
            }
            None => Err("it has no command".to_owned()),
        },
        Ok(words) => near(&context, client.shape, entry, &words),
    };
    let kind = match &read {
        Ok((Line { far: Some(_), .. }, _)) => Kind::Far,
        Ok(_) | Err(_) => Kind::Near,
    };
    let (line, Gathered { variables, mut notes }) = match read {
        Ok((line, gathered)) => (Ok(line), gathered),
        Err(why) => (Err(why), Gathered::default()),
    };
    notes.extend(left_out::notes(client.shape, kind, entry));
    let is_off = [("enabled", true), ("disabled", false)]
        .iter()
        .any(|(key, usual)| entry.get(*key).is_some_and(|it| *it != Value::Bool(*usual)));
    Some(Found { name: name.to_owned(), origin, line, variables, notes, is_off })
}

/// Reads how a server on this machine is started.
fn near(
    context: &Context<'_>,
    shape: Shape,
    entry: &Map<String, Value>,
    words: &[String],
) -> Result<(Line, Gathered), String> {
    let key = match shape {
        Shape::Usual | Shape::Codex => "env",
        Shape::Goose => "envs",
        Shape::OpenCode => "environment",
    };
    let mut kept = secrets::keep_out(context, words, pairs(entry, key)?)?;
    // They name variables that the client passes on, from its environment or from where it keeps secrets.
    let (passed_on, why) = match shape {
        Shape::Codex => (names(entry, "env_vars")?, Why::Named),
        Shape::Goose => (names(entry, "env_keys")?, Why::Secret),
        Shape::Usual | Shape::OpenCode => (Vec::new(), Why::Named),
    };
    for name in passed_on {
        if !kept.env.iter().any(|(known, _)| *known == name) {
            kept.refer(context, &name, why.clone());
        }
    }
    let mut gathered = kept.gathered;
    let directory = match entry.get("cwd") {
        None | Some(Value::Null) => None,
        Some(Value::String(cwd)) => directory(context, cwd, &mut gathered)?,
        Some(_) => return Err("its `cwd` is not text".to_owned()),
    };
    Ok((Line { command: kept.command, env: kept.env, directory, far: None }, gathered))
}

/// Reads where a server runs; `None`, with a note, if that cannot be taken over.
fn directory(
    context: &Context<'_>,
    cwd: &str,
    gathered: &mut Gathered,
) -> Result<Option<String>, String> {
    let cwd = match cwd.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("${{userHome}}{rest}"),
        Some(_) | None => cwd.to_owned(),
    };
    let (path, of_path) = context.translate(Place::Directory, &cwd, &[])?;
    if is_secret_text(&path) {
        return Err("its `cwd` holds what may be a secret".to_owned());
    }
    let is_absolute = ["/", "${HOME}", "${ENV:"].iter().any(|start| path.starts_with(start));
    if is_absolute && !path.contains("${SANDBOX}") {
        gathered.extend(of_path);
        gathered
            .note("its cage shows what `--allow-read` names: the directory that it runs in, too");
        return Ok(Some(path));
    }
    // SECURITY: many programs load code from where they run, and there the agent writes.
    gathered.note(
        "it runs in the folder that is open there (`cwd`); here it runs in a directory of its own, since an \
         agent that writes in the sandbox could give it code to load",
    );
    Ok(None)
}

/// Returns the words that start a server; none if the entry names no command.
fn words(shape: Shape, entry: &Map<String, Value>) -> Result<Vec<String>, String> {
    let command = match shape {
        Shape::OpenCode => return texts(entry, "command"),
        Shape::Usual | Shape::Codex => "command",
        Shape::Goose => "cmd",
    };
    let program = match entry.get(command) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::String(program)) if program.is_empty() => return Ok(Vec::new()),
        Some(Value::String(program)) => program.clone(),
        Some(_) => return Err(format!("its `{command}` is not text")),
    };
    Ok(std::iter::once(program).chain(texts(entry, "args")?).collect())
}

/// Returns whether these words start us.
fn is_proxy(words: &[String]) -> bool {
    let program = words.first().and_then(|word| word.rsplit('/').next());
    program == Some("ironcurtain")
}

/// Returns the text of a key.
pub(super) fn text<'a>(entry: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    entry.get(key).and_then(Value::as_str)
}

/// Writes a value as a word, as clients do.
fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(is) => Some(is.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn texts(entry: &Map<String, Value>, key: &str) -> Result<Vec<String>, String> {
    match entry.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => items
            .iter()
            .map(|it| {
                word(it).ok_or_else(|| format!("its `{key}` holds something that is not a string"))
            })
            .collect(),
        Some(_) => Err(format!("its `{key}` is not a list of strings")),
    }
}

pub(super) fn pairs(
    entry: &Map<String, Value>,
    key: &str,
) -> Result<Vec<(String, String)>, String> {
    let fault = || format!("its `{key}` holds something that is not text");
    match entry.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Object(pairs)) => pairs
            .iter()
            .map(|(name, value)| Ok((name.clone(), word(value).ok_or_else(fault)?)))
            .collect(),
        Some(_) => Err(format!("its `{key}` is not an object of names and values")),
    }
}

/// Reads names of variables: texts, or objects that have a name.
fn names(entry: &Map<String, Value>, key: &str) -> Result<Vec<String>, String> {
    let items = match entry.get(key) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(items)) => items,
        Some(_) => return Err(format!("its `{key}` is not a list of names")),
    };
    let name = |item: &Value| match item {
        Value::String(name) => Some(name.clone()),
        // Codex can also take one from another machine.
        Value::Object(of) if matches!(text(of, "source"), None | Some("local")) => {
            text(of, "name").map(str::to_owned)
        }
        _ => None,
    };
    items
        .iter()
        .map(|item| name(item).filter(|it| is_variable(it)))
        .collect::<Option<_>>()
        .ok_or_else(|| "one of its variables has an invalid name".to_owned())
}
