//! `ironcurtain config set` and `unset`: change the configuration file.

use std::io::Read as _;

use ic_home::config::update::{self, Unset};
use ic_home::config::{ConfigFile, Key, KeyName, Kind};
use ic_home::{Environment, Home};
use ic_types::{Json, JsonLimits};

use crate::commands::Exit;
use crate::commands::config::home;
use crate::commands::policy::using;
use crate::error::Failure;
use crate::person::{self, Answer, Person, Scripts};
use crate::screen::Screen;

/// Set a key in the configuration file
///
/// The value is checked before anything is written, and the rest of the file stays as it is.
/// `policy` asks as `policy use` does, and at a terminal so does `approvals.scripted`.
/// A key of a provider is best given on standard input, where neither the list of processes nor
/// the history of the shell shows it: `ironcurtain config set apiKey - < key.txt`.
#[derive(Debug, clap::Args)]
pub(crate) struct SetArgs {
    /// Key, such as `budget.maxSteps`
    key: String,
    /// Value as JSON, or plain text where the key holds text; `-` reads it from standard input
    #[arg(allow_hyphen_values = true)]
    value: String,
}

/// Remove a key from the configuration file
///
/// Its default, or what the environment says, is in force then; `policy` asks as `policy use` does. Also
/// removes what is in the file and is no key.
#[derive(Debug, clap::Args)]
pub(crate) struct UnsetArgs {
    /// Key, such as `budget.maxSteps`
    key: String,
}

/// The key of the policy in force.
const POLICY: &str = "policy";
/// The key that lets scripts answer.
const SCRIPTED: &str = "approvals.scripted";
/// The longest value that is read from standard input.
const INPUT_BYTES_MAX: u64 = 1 << 20;

/// Runs `config set`.
pub(crate) fn run(
    args: &SetArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let name = KeyName::parse(&args.key)?;
    let key = name.key();
    let value = match args.value.as_str() {
        "-" => parse(key, &read_input()?)?,
        text => {
            if key.kind == Kind::Secret {
                screen.warning(
                    "the key was part of a command line, which other programs and the history of \
                     the shell may show; `-` reads it from standard input",
                );
            }
            parse(key, text)?
        }
    };
    key.kind
        .check(&value, environment)
        .map_err(|reason| Failure::usage(format!("`{name}` is not changed: {reason}")))?;
    let home = home(environment)?;
    match (key.name, &value) {
        // SECURITY: another policy can allow more, so it is shown and confirmed as `policy use` does.
        (POLICY, Json::String(policy)) => {
            let exit = using::run_for_config(policy.as_ref(), environment, screen)?;
            if exit != Exit::Success {
                return Ok(exit);
            }
        }
        (SCRIPTED, Json::Bool(true)) if !is_scripts_agreed(&home, environment, screen)? => {
            screen.line("Nothing was changed.")?;
            return Ok(Exit::Failed);
        }
        (_, _) => update::set(&home, environment, vec![(name, value)])?,
    }
    warn_if_hidden(key, environment, screen);
    Ok(Exit::Success)
}

/// Asks, at a terminal, whether scripts may answer from now on.
fn is_scripts_agreed(
    home: &Home,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<bool, Failure> {
    if !person::is_at_terminal() || Scripts::of(home, environment)? == Scripts::MayAnswer {
        return Ok(true);
    }
    screen.out().flush().map_err(Failure::output)?;
    let what = "whether scripts may answer";
    let mut person = Person::find(what, false, Scripts::MayNotAnswer)?;
    let question = "Every program that runs as you could then approve calls, trust servers and change \
                    the policy in your place. Allow that?";
    Ok(person.ask(question)? == Answer::Approved)
}

/// Runs `config unset`.
pub(crate) fn run_unset(
    args: &UnsetArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let home = home(environment)?;
    if args.key == POLICY && ConfigFile::read(&home)?.is_set(POLICY) {
        // SECURITY: another policy is in force then, so it is shown and confirmed as `policy use` does.
        let exit = using::run_for_unset(environment, screen)?;
        if exit != Exit::Success {
            return Ok(exit);
        }
    }
    match (update::unset(&home, &args.key)?, KeyName::parse(&args.key)) {
        (Unset::Removed, Ok(name)) => warn_if_hidden(name.key(), environment, screen),
        (Unset::Absent, Ok(_)) => {
            screen.warning(&format!("`{}` was not set in the file", args.key));
        }
        (Unset::Absent, Err(unknown)) => return Err(unknown.into()),
        (Unset::Removed, Err(_)) => {}
    }
    for fault in ConfigFile::read(&home)?.faults(environment) {
        screen.warning(&fault.to_string());
    }
    Ok(Exit::Success)
}

/// Reads a value as it is typed.
fn parse(key: &Key, text: &str) -> Result<Json, Failure> {
    let parsed = Json::parse(
        text.as_bytes(),
        JsonLimits { bytes_max: 1 << 20, depth_max: 16, values_max: 1 << 16 },
    );
    match (parsed, key.kind.is_text()) {
        // A key of a provider may look like anything.
        (_, true) if key.kind == Kind::Secret => Ok(Json::from(text)),
        (Ok(Json::String(text)), true) => Ok(Json::String(text)),
        (_, true) => Ok(Json::from(text)),
        (Ok(value), false) => Ok(value),
        (Err(error), false) => Err(Failure::usage(format!(
            "the value for `{}` is not valid JSON; allowed is {}",
            key.name,
            key.kind.allowed()
        ))
        .with_source(error)),
    }
}

fn read_input() -> Result<String, Failure> {
    let mut text = String::new();
    std::io::stdin()
        .take(INPUT_BYTES_MAX)
        .read_to_string(&mut text)
        .map_err(|error| Failure::environment("cannot read standard input").with_source(error))?;
    let text =
        text.strip_suffix('\n').map_or(text.as_str(), |it| it.strip_suffix('\r').unwrap_or(it));
    Ok(text.to_owned())
}

/// Says so if the environment decides, whatever the file says.
fn warn_if_hidden(key: &Key, environment: &Environment, screen: &mut Screen) {
    if let Some(variable) = key.variable.filter(|variable| environment.is_set(variable)) {
        screen.warning(&format!("{variable} is set, and overrides the file"));
    }
}
