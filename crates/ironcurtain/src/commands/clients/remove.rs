//! `ironcurtain clients remove`: the proxy, taken out of a client's configuration.

use ic_home::Environment;

use super::Change;
use super::edit::{is_empty, neighbours, turned_off, without};
use super::install::is_proxy;
use super::known::{Client, Proxy};
use super::target::Target;
use crate::commands::Exit;
use crate::error::Failure;
use crate::person::Answer;
use crate::screen::{Screen, visible};

/// Take `ironcurtain proxy` out of the configuration of a client
///
/// Removes what `clients install` wrote and nothing else, after showing it and asking. The old file is
/// kept beside it. A file that held nothing else is removed if `clients install` made it.
#[derive(Debug, clap::Args)]
pub(crate) struct RemoveArgs {
    /// Client to disconnect
    #[arg(value_parser = super::names())]
    client: String,
    /// Do not ask before the file is changed
    #[arg(long)]
    yes: bool,
}

/// Runs the command.
pub(crate) fn run(
    args: &RemoveArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let client = super::client(&args.client)?;
    // An entry of ours goes whatever its options are.
    let proxy = Proxy { program: String::new(), arguments: Vec::new(), home: None };
    let mut changes = Vec::new();
    for config in client.files {
        let target = Target::find(config, environment)?;
        let Some(before) = target.text.clone() else { continue };
        let wants = (config.wants)(&proxy);
        if let (_, Some(command)) = neighbours(&before, config.format, &wants, is_proxy) {
            screen.warning(&format!(
                "the entry `ironcurtain` in {} starts `{}`, which `clients install` did not write; it stays",
                target.shown(),
                visible(&command)
            ));
            continue;
        }
        let after = without(&before, config.format, &wants).map_err(|error| {
            Failure::config(format!("cannot change `{}`: {error}", target.real.display()))
                .with_hint("nothing was changed; take the entry `ironcurtain` out by hand")
        })?;
        if after != before {
            // A file of which `clients install` kept an older one was there before: it is the user's.
            let is_ours = is_empty(&after, config.format) && !target.has_backup()?;
            let after = (!is_ours).then_some(after);
            changes.push(Change { target, before, after });
        }
    }
    if changes.is_empty() {
        screen.line(&format!("{} is not connected; nothing was changed.", client.title))?;
        return Ok(Exit::Success);
    }
    if super::make(client, &changes, args.yes, screen)? == Answer::Denied {
        return Ok(Exit::Failed);
    }
    tell_what_stays(client, environment, screen)?;
    screen.notice(&format!("Restart {} if it is running.", client.title));
    Ok(Exit::Success)
}

/// Says which settings still turn the client's own tools off: they may be the user's own.
fn tell_what_stays(
    client: &Client,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<(), Failure> {
    let (Some(off), Some(config)) = (client.own_tools.off, client.files.first()) else {
        return Ok(());
    };
    let target = Target::find(config, environment)?;
    let names = turned_off(target.text.as_deref().unwrap_or_default(), config.format, &off());
    if !names.is_empty() {
        screen.warning(&format!(
            "{}'s own tools are still turned off by these settings in {}; remove them to use its tools \
             again: {}",
            client.title,
            target.shown(),
            names.join(", ")
        ));
    }
    Ok(())
}
