//! `ironcurtain clients list`: the clients that can be connected, and those that are.

use ic_home::Environment;
use serde::Serialize;

use super::edit::own_words;
use super::install::is_proxy;
use super::known::{CLIENTS, Proxy};
use super::target::Target;
use crate::commands::Exit;
use crate::error::Failure;
use crate::screen::{Screen, visible};

/// Show the clients that can be connected, and which of them are
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

/// A client as it is printed.
#[derive(Debug, Serialize)]
struct Row {
    name: &'static str,
    title: &'static str,
    connected: bool,
    file: String,
}

/// Runs the command.
pub(crate) fn run(
    args: &ListArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let proxy = Proxy { program: String::new(), arguments: Vec::new(), home: None };
    let mut rows = Vec::new();
    for client in &CLIENTS {
        // The first of its files holds the servers.
        let Some(config) = client.files.first() else { continue };
        let target = Target::find(config, environment)?;
        let text = target.text.as_deref().unwrap_or_default();
        let words = own_words(text, config.format, &(config.wants)(&proxy));
        rows.push(Row {
            name: client.name,
            title: client.title,
            connected: words.is_some_and(|words| is_proxy(&words)),
            file: target.expected.display().to_string(),
        });
    }
    if args.json {
        screen.json(&serde_json::to_string(&rows).unwrap_or_default())?;
        return Ok(Exit::Success);
    }
    for Row { name, title: _, connected, file } in &rows {
        let state = if *connected { "connected" } else { "not connected" };
        screen.line(&format!("{name:<12} {state:<14} {}", visible(file)))?;
    }
    Ok(Exit::Success)
}
