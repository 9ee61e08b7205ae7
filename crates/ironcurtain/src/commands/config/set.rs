//! `ironcurtain config set` and `unset`: change the configuration file.

use std::io::Read as _;

use ic_home::config::update::{self, Unset};
use ic_home::config::{Config, ConfigFile, Confinement, Flag, Key, KeyName, Kind, Layers};
use ic_home::{Environment, Home};
use ic_types::{Json, JsonLimits};

use crate::commands::Exit;
use crate::commands::config::home;
use crate::commands::policy::using;
use crate::error::Failure;
use crate::person::{Answer, Person, Scripts};
use crate::screen::Screen;

/// Set a key in the configuration file
///
/// The value is checked before anything is written, and the rest of the file stays as it is.
/// Asks at the terminal before a change that lets more happen without you: `approvals.scripted`,
/// another `policy`, a weaker `confinement`, fewer `protectedPaths`, more in
/// `agent.show` or `agent.registries`, a `notify.command`.
/// A key of a provider is best given on standard input, where neither the list of processes nor
/// the history of the shell shows it: `ironcurtain config set apiKey - < key.txt`.
#[derive(Debug, clap::Args)]
pub(crate) struct SetArgs {
    /// Key, such as `budget.maxSteps`
    key: String,
    /// Value as JSON, or plain text where the key holds text; `-` reads it from standard input
    #[arg(allow_hyphen_values = true)]
    value: String,
    /// Confirm beforehand, where `approvals.scripted` allows it
    #[arg(long)]
    yes: bool,
}

/// Remove a key from the configuration file
///
/// Its default, or what the environment says, is in force then. Also removes entries that are not
/// keys. Asks at the terminal before a change that lets more happen without you, as `config set` does.
#[derive(Debug, clap::Args)]
pub(crate) struct UnsetArgs {
    /// Key, such as `budget.maxSteps`
    key: String,
    /// Confirm beforehand, where `approvals.scripted` allows it
    #[arg(long)]
    yes: bool,
}

/// The key of the policy in force.
const POLICY: &str = "policy";
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
    if let (POLICY, Json::String(policy)) = (key.name, &value) {
        // SECURITY: another policy can allow more, so it is shown and confirmed as `policy use` does.
        let exit = using::run_for_config(policy.as_ref(), args.yes, environment, screen)?;
        if exit != Exit::Success {
            return Ok(exit);
        }
    } else {
        if !is_agreed((&name, &value), args.yes, environment, screen)? {
            screen.line("Nothing was changed.")?;
            return Ok(Exit::Failed);
        }
        update::set(&home, environment, vec![(name, value)])?;
    }
    warn_if_hidden(key, environment, screen);
    Ok(Exit::Success)
}

/// Asks the user about a change that would let more happen without them.
///
/// SECURITY: in a pipe it is refused, since an agent that can run programs could make it; `--yes` counts only
/// where scripts may answer already.
fn is_agreed(
    (name, value): (&KeyName, &Json),
    yes: bool,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<bool, Failure> {
    let home = home(environment)?;
    let Some(question) = widening(name, value, &home, environment)? else { return Ok(true) };
    screen.out().flush().map_err(Failure::output)?;
    // A configuration that cannot be read allows nothing.
    let scripts = Scripts::of(&home, environment).unwrap_or(Scripts::MayNotAnswer);
    let mut person = Person::find(&format!("whether to change `{name}`"), yes, scripts)?;
    Ok(person.ask(question)? == Answer::Approved)
}

/// Returns what to ask before the change, if it would let more happen without the user.
fn widening(
    name: &KeyName,
    value: &Json,
    home: &Home,
    environment: &Environment,
) -> Result<Option<&'static str>, Failure> {
    let (question, is): (_, fn(&Config, &Config) -> bool) = match name.key().name {
        "approvals.scripted" => (
            "Every program that runs as you could then approve calls, trust servers and change the \
             policy in your place. Allow that?",
            |before, after| !before.approvals_scripted && after.approvals_scripted,
        ),
        "confinement" => (
            "Where servers and scripts cannot be confined, they would then run with all of your rights. \
             Allow that?",
            |before, after| strictness(after.confinement) < strictness(before.confinement),
        ),
        "protectedPaths" => {
            ("Rules could then open paths that are protected now. Allow that?", |before, after| {
                before.protected_paths.iter().any(|it| !after.protected_paths.contains(it))
            })
        }
        "agent.show" => (
            "Agents and their commands could then read more of your files. Allow that?",
            |before, after| after.agent_shown.iter().any(|it| !before.agent_shown.contains(it)),
        ),
        "agent.registries" => (
            "Agents and their commands could then read packages from there, and the names that they ask for leave \
             this machine. Allow that?",
            |before, after| {
                after.agent_registries.iter().any(|it| !before.agent_registries.contains(it))
            },
        ),
        "notify.command" => (
            "This program would then run with all of your rights whenever a call waits, and is told what the \
             call would do. Allow that?",
            |before, after| {
                after.notify_command.is_some() && before.notify_command != after.notify_command
            },
        ),
        _ => return Ok(None),
    };
    let file = ConfigFile::read(home)?;
    let flags = [Flag { name: "", key: name.key().name, value: value.clone() }];
    let before = Config::load(&Layers { flags: &[], environment, file: &file });
    let after = Config::load(&Layers { flags: &flags, environment, file: &file });
    let is_widened = match (before, after) {
        (Ok(before), Ok(after)) => is(&before, &after),
        // What cannot be compared is asked about.
        (Err(_), _) | (_, Err(_)) => true,
    };
    Ok(is_widened.then_some(question))
}

fn strictness(confinement: Confinement) -> u8 {
    match confinement {
        Confinement::Enforce => 2,
        Confinement::Warn => 1,
        Confinement::Off => 0,
    }
}

/// Runs `config unset`.
pub(crate) fn run_unset(
    args: &UnsetArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let home = home(environment)?;
    if let Ok(name) = KeyName::parse(&args.key)
        && !is_unsetting_agreed(&name, args.yes, environment, screen)?
    {
        screen.line("Nothing was changed.")?;
        return Ok(Exit::Failed);
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

/// Asks the user if the default of a key would let more happen without them than the file does.
fn is_unsetting_agreed(
    name: &KeyName,
    yes: bool,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<bool, Failure> {
    let key = name.key();
    if key.name == POLICY {
        // A configuration that cannot be read starts no session, and this may be how to mend it.
        if !super::load(environment).is_ok_and(|config| config.policy.is_some()) {
            return Ok(true);
        }
        let exit = using::run_for_unset(yes, environment, screen)?;
        return Ok(exit == Exit::Success);
    }
    let Some(default) = key.default else { return Ok(true) };
    is_agreed((name, &parse(key, default)?), yes, environment, screen)
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
        // A command may be a list of words, or none at all.
        (Ok(value @ (Json::Array(_) | Json::Null)), true) if key.kind == Kind::Command => Ok(value),
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
