//! `ironcurtain config get`: one value, for scripts.

use ic_home::Environment;
use ic_home::config::{KeyName, Shown};

use crate::commands::Exit;
use crate::commands::config::{NOT_SET, load, plain};
use crate::error::Failure;
use crate::screen::Screen;

/// Print the value of a key
///
/// Text is printed as it is, everything else as JSON, and `null` if there is no value. Keys of
/// providers are never printed: `<set>` or `<not set>` is printed instead.
#[derive(Debug, clap::Args)]
pub(crate) struct GetArgs {
    /// Key, such as `budget.maxSteps`
    key: String,
}

/// Runs the command.
pub(crate) fn run(
    args: &GetArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let name = KeyName::parse(&args.key)?;
    let config = load(environment)?;
    let value = config.settings().get(&name).and_then(ic_home::config::Setting::value);
    let is_secret = name.key().kind == ic_home::config::Kind::Secret;
    screen.line(&match value {
        Some(Shown::Value(_) | Shown::Set) => plain(value.as_ref()),
        None if is_secret => NOT_SET.to_owned(),
        None => "null".to_owned(),
    })?;
    Ok(Exit::Success)
}
