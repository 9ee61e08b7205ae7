//! `ironcurtain config explain`: the value in force, where it came from, and what else there is.

use ic_home::Environment;
use ic_home::config::{KeyName, Origin, Setting, Shown};

use crate::commands::Exit;
use crate::commands::config::{NOT_SET, home, load, plain};
use crate::error::Failure;
use crate::screen::{Screen, visible};

/// Show the value of a key, where it comes from, what each layer says and what is allowed
///
/// A flag comes before the environment, the environment before the file, the file before the
/// default; `=>` marks the one in force.
#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// Key, such as `budget.maxSteps`
    key: String,
}

/// Runs the command.
pub(crate) fn run(
    args: &ExplainArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let name = KeyName::parse(&args.key)?;
    let config = load(environment)?;
    let setting = config.settings().get(&name);
    let (key, origin) = (name.key(), setting.map_or(Origin::Default, Setting::origin));
    let value = setting.and_then(Setting::value);
    screen.line(&format!("{name}: {}", visible(&plain(value.as_ref()))))?;
    screen.line(&format!("  {}", key.about))?;
    screen.line(&format!("  allowed: {}", key.kind.allowed()))?;

    if !key.is_used {
        screen.line("  not used by this version: changing it changes nothing yet")?;
    }

    let mark = |is_in_force: bool| if is_in_force { "=>" } else { " -" };
    let flag = setting.and_then(|it| it.flag.as_ref());
    let flag = flag.map_or(NOT_SET.to_owned(), |(name, shown)| said(name, Some(shown)));
    let is_flag = matches!(origin, Origin::Flag(_));
    screen.line(&format!("{} flag: {}", mark(is_flag), visible(&flag)))?;

    let set = setting.and_then(|it| it.environment.as_ref());
    let shown = set.map(|(_, shown)| shown);
    let variable = match set.map(|(name, _)| *name).or(key.variable) {
        None => "no variable".to_owned(),
        Some(name) => {
            let others: Vec<&str> = key.variables().filter(|it| *it != name).collect();
            let also = match others.is_empty() {
                true => String::new(),
                false => format!(" (also read: {})", others.join(", ")),
            };
            format!("{}{also}", said(name, shown))
        }
    };
    let is_variable = matches!(origin, Origin::Environment(_));
    screen.line(&format!("{} environment: {}", mark(is_variable), visible(&variable)))?;

    let shown = setting.and_then(|it| it.file.as_ref());
    let file = said(&home(environment)?.config().display().to_string(), shown);
    screen.line(&format!("{} file: {}", mark(origin == Origin::File), visible(&file)))?;

    let default = setting.and_then(|it| it.default.clone()).map(Shown::Value);
    let default = default.map_or("none".to_owned(), |it| plain(Some(&it)));
    screen.line(&format!("{} default: {}", mark(origin == Origin::Default), visible(&default)))?;
    Ok(Exit::Success)
}

/// Says what a layer says.
fn said(place: &str, shown: Option<&Shown>) -> String {
    format!("{place}: {}", plain(shown))
}
