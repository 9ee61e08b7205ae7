//! `ironcurtain config list`: every key, its value, and where that comes from.

use ic_home::Environment;
use ic_home::config::{Origin, Setting, Shown};
use ic_types::{Json, Object};

use crate::commands::Exit;
use crate::commands::config::{NOT_SET, SET, is_secret, load, plain};
use crate::error::Failure;
use crate::screen::{Screen, visible};

/// Show every key with its value and where that comes from
///
/// Keys of providers are never shown, only whether they are set. What this version checks and keeps but
/// does not use is marked.
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Print a JSON array of `{"key", "value", "origin", "variable"?, "description", "unused"?}`
    #[arg(long)]
    json: bool,
}

/// What is said of a key that nothing reads.
const UNUSED: &str = "  not used by this version";

/// Runs the command.
pub(crate) fn run(
    args: &ListArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let config = load(environment)?;
    if args.json {
        let rows = config.settings().iter().map(|it| row(it).into()).collect();
        screen.json(&Json::Array(rows).to_string())?;
        return Ok(Exit::Success);
    }
    let width = config.settings().iter().map(|it| it.name.chars().count()).max().unwrap_or(0);
    for setting in config.settings().iter() {
        let value = plain(setting.value().as_ref());
        let origin = origin(setting.origin());
        let name = visible(&setting.name);
        let unused = if setting.key.is_used { "" } else { UNUSED };
        screen.folded(&format!("{name:width$}  {}  ({origin}){unused}", visible(&value)))?;
    }
    Ok(Exit::Success)
}

/// Says where a value comes from.
pub(super) fn origin(origin: Origin) -> String {
    match origin {
        Origin::Flag(name) => format!("flag {name}"),
        Origin::Environment(name) => format!("environment {name}"),
        Origin::File => "file".to_owned(),
        Origin::Default => "default".to_owned(),
    }
}

fn row(setting: &Setting) -> Object {
    let value = match setting.value() {
        Some(Shown::Value(value)) => value,
        Some(Shown::Set) => SET.into(),
        None if is_secret(setting) => NOT_SET.into(),
        None => Json::Null,
    };
    let (origin, variable) = match setting.origin() {
        Origin::Flag(_) => ("flag", None),
        Origin::Environment(variable) => ("environment", Some(variable)),
        Origin::File => ("file", None),
        Origin::Default => ("default", None),
    };
    let mut row = Object::new();
    row.insert("key", setting.name.as_str());
    row.insert("value", value);
    row.insert("origin", origin);
    if let Some(variable) = variable {
        row.insert("variable", variable);
    }
    row.insert("description", setting.key.about);
    if !setting.key.is_used {
        row.insert("unused", true);
    }
    row
}
