//! `ironcurtain config`: what is configured, why, and how to change it.
//!
//! Reading makes nothing: a home that is not there stays so.

mod explain;
mod get;
mod list;
mod set;

use std::os::unix::ffi::OsStrExt as _;

use ic_home::config::{Config, ConfigFile, Kind, Layers, Setting, Shown};
use ic_home::{Environment, Home};

use crate::commands::Exit;
use crate::error::Failure;
use crate::screen::Screen;

/// Show and change the configuration
#[derive(Debug, clap::Subcommand)]
pub(crate) enum ConfigCommand {
    List(list::ListArgs),
    Get(get::GetArgs),
    Set(set::SetArgs),
    Unset(set::UnsetArgs),
    /// Print where the configuration file is, or would be
    Path,
    /// Print a JSON Schema of the configuration file
    Schema,
    Explain(explain::ExplainArgs),
}

/// Runs `command`.
pub(crate) fn run(
    command: ConfigCommand,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    match command {
        ConfigCommand::List(args) => list::run(&args, environment, screen),
        ConfigCommand::Get(args) => get::run(&args, environment, screen),
        ConfigCommand::Set(args) => set::run(&args, environment, screen),
        ConfigCommand::Unset(args) => set::run_unset(&args, environment, screen),
        ConfigCommand::Path => path(environment, screen),
        ConfigCommand::Schema => {
            screen.line(ic_home::config::schema::schema().trim_end())?;
            Ok(Exit::Success)
        }
        ConfigCommand::Explain(args) => explain::run(&args, environment, screen),
    }
}

/// Prints the path byte by byte, because a name need not be text.
fn path(environment: &Environment, screen: &mut Screen) -> Result<Exit, Failure> {
    let path = home(environment)?.config();
    let line = [path.as_os_str().as_bytes(), b"\n"].concat();
    screen.out().write_all(&line).map_err(Failure::output)?;
    Ok(Exit::Success)
}

/// Returns the home in force.
pub(crate) fn home(environment: &Environment) -> Result<Home, Failure> {
    Ok(Home::new(environment.ironcurtain_home()?))
}

/// Loads the configuration in force.
fn load(environment: &Environment) -> Result<Config, Failure> {
    let file = ConfigFile::read(&home(environment)?)?;
    Ok(Config::load(&Layers { flags: &[], environment, file: &file })?)
}

/// What is shown in place of a secret.
const SET: &str = "<set>";
/// What is shown where there is no value.
const NOT_SET: &str = "<not set>";

/// Returns a value as plain text, or as JSON where it is none.
fn plain(shown: Option<&Shown>) -> String {
    match shown {
        Some(Shown::Value(value)) => value.as_str().map_or_else(|| value.to_string(), Into::into),
        Some(Shown::Set) => SET.to_owned(),
        None => NOT_SET.to_owned(),
    }
}

fn is_secret(setting: &Setting) -> bool {
    setting.key.kind == Kind::Secret
}
