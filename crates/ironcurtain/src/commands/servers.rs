//! `ironcurtain servers`: which MCP servers there are, whether they work, and whom we trust.

mod add;
pub(crate) mod annotate;
mod drafts;
mod entries;
pub(super) mod import;
mod install;
pub(super) mod list;
mod meaning;
mod plan;
mod remove;
mod restore;
mod review;
mod test;
mod trust;

use std::path::Path;

use ic_home::Environment;
use ic_inventory::servers_file::{RESERVED, ServerConfig, ServersFile, Start};
use ic_opening::policy::servers_file;
use ic_types::ServerName;

use crate::commands::Exit;
use crate::error::Failure;
use crate::screen::{Screen, visible};

/// Add, list, test, review and trust MCP servers
#[derive(Debug, clap::Subcommand)]
pub(crate) enum ServersCommand {
    Add(add::AddArgs),
    Import(import::ImportArgs),
    List(list::ListArgs),
    Remove(remove::RemoveArgs),
    Restore(restore::RestoreArgs),
    Review(review::ReviewArgs),
    Test(test::TestArgs),
    Trust(trust::TrustArgs),
}

/// Runs `command`.
pub(crate) fn run(
    command: ServersCommand,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    match command {
        ServersCommand::Add(args) => add::run(args, environment, screen),
        ServersCommand::Import(args) => import::run(&args, environment, screen),
        ServersCommand::List(args) => list::run(&args, environment, screen),
        ServersCommand::Remove(args) => remove::run(&args, environment, screen),
        ServersCommand::Restore(args) => restore::run(&args, environment, screen),
        ServersCommand::Review(args) => review::run(&args, environment, screen),
        ServersCommand::Test(args) => test::run(&args, environment, screen),
        ServersCommand::Trust(args) => trust::run(&args, environment, screen),
    }
}

/// Reads the servers file that is named, or the one in force.
fn load(named: Option<&Path>, environment: &Environment) -> Result<ServersFile, Failure> {
    Ok(servers_file(named, environment)?.0)
}

/// Finds the server called `name`.
fn find<'a>(
    name: &str,
    servers: &'a ServersFile,
) -> Result<(&'a ServerName, &'a ServerConfig), Failure> {
    servers.get(name).ok_or_else(|| {
        let names: Vec<&str> = servers.iter().map(|(name, _)| name.as_str()).collect();
        let known = match names.is_empty() {
            true => "no server is configured".to_owned(),
            false => format!("there are {}", names.join(", ")),
        };
        Failure::config(format!("there is no server `{name}`")).with_hint(known)
    })
}

/// Refuses the name that no server can have.
fn refuse_reserved(name: &ServerName) -> Result<(), Failure> {
    match name.as_str() == RESERVED {
        true => Err(Failure::usage(reserved()).with_hint("choose another name")),
        false => Ok(()),
    }
}

fn reserved() -> String {
    format!("the name `{RESERVED}` is reserved for IronCurtain itself")
}

/// Returns whether the server runs on this machine.
fn runs_here(start: &Start) -> bool {
    match start {
        Start::Builtin(_) | Start::Command(_) => true,
        Start::Url(_) => false,
    }
}

/// Says what a server is, in words that cannot drive a terminal.
fn what(start: &Start) -> String {
    match start {
        Start::Builtin(builtin) => format!("built-in {}", builtin.as_str()),
        Start::Command(line) => {
            let words = std::iter::once(&line.program).chain(&line.arguments);
            words.map(|word| shown_word(word)).collect::<Vec<_>>().join(" ")
        }
        Start::Url(remote) => visible(remote.url.as_str()),
    }
}

/// Shows a word so that it is seen where it begins and where it ends.
fn shown_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_@%+=:,./${}~^#-".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", visible(word).replace('\'', "\\'")),
    }
}
