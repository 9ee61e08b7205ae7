//! `ironcurtain policy new`: a policy of one's own, to be edited.

use std::path::PathBuf;

use ic_home::{Environment, Home, Lock, PolicyName, file};
use ic_opening::policy::{NoSandbox, Wanted};
use ic_policy::Builtin;
use ic_types::Json;

use crate::commands::Exit;
use crate::error::Failure;
use crate::judge;
use crate::own_policy::constitution::{CONSTITUTION, Made, all_scenarios};
use crate::own_policy::{english, force, template};
use crate::screen::Screen;

/// Make a policy of your own: a copy of a built-in one, to be edited
///
/// Writes a directory with a constitution of plain sentences, its rules and a README into the IronCurtain
/// home. Change the sentences with `policy edit`; the policy in force stays what it is until `policy use`.
#[derive(Debug, clap::Args)]
pub(crate) struct NewArgs {
    /// Name of the policy: `a-z`, `0-9`, `-` and `_`
    name: PolicyName,
    /// Built-in policy to begin with
    #[arg(long, value_name = "POLICY", default_value = "default", value_parser = ["default", "coding", "readonly"])]
    from: String,
}

/// Runs the command.
pub(crate) fn run(
    args: &NewArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let NewArgs { name, from } = args;
    let is_taken = Builtin::by_name(name.as_str()).is_some() || name.as_str() == "generated";
    let Some(builtin) = Builtin::by_name(from).filter(|_| !is_taken) else {
        return Err(Failure::usage(format!("`{name}` is the name of a policy that is built in"))
            .with_hint("choose another name"));
    };
    let home = Home::new(environment.ironcurtain_home()?);
    home.prepare()?;
    let _lock = Lock::acquire(home.policies_lock())?;
    let directory = home.policies().join(name.as_str());
    if file::names(&directory)?.is_some() {
        return Err(Failure::config(format!("there is a policy `{name}` already"))
            .with_hint(format!("it is in `{}`; choose another name", directory.display())));
    }
    // SECURITY: what is configured takes force as soon as it exists, and nobody was asked about this one.
    if force::is_in_force(name.as_str(), &home, environment)? {
        return Err(Failure::config(format!(
            "`{name}` is the policy in force by your configuration, and its directory is gone; made anew, it \
             would take force without a question"
        ))
        .with_hint("bring the directory back, or first put another in force: `ironcurtain policy use default`"));
    }
    let wanted = Wanted {
        policy: Some(PathBuf::from(from)),
        sandbox: None,
        protected: Vec::new(),
        servers: None,
    };
    let known = judge::load(&wanted, NoSandbox::None, environment, screen)?;
    let text = template::constitution(name.as_str(), builtin);
    let made = Made::of(&text, &english::tools(&known), &directory, inherited(builtin))
        .map_err(|error| error.of(CONSTITUTION))?;
    made.verify(PathBuf::from(from), environment, screen)?;
    template::write(&directory, builtin, &made, &home)?;
    screen.line(&format!("made the policy `{name}`, a copy of the built-in `{from}`:"))?;
    screen.line(&format!("  {}", directory.join(CONSTITUTION).display()))?;
    screen.line(&format!("  {}", directory.join("README.md").display()))?;
    screen.line("")?;
    screen.line("next:")?;
    screen.line(&format!(
        "  ironcurtain policy edit {name}    (change its sentences, compile and test them)"
    ))?;
    screen.line(&format!("  ironcurtain policy use {name}     (put it in force)"))?;
    Ok(Exit::Success)
}

/// Returns the scenarios of a built-in policy for a copy of it.
///
/// They are not its owner's: once its sentences are others, they need not hold, and are left out.
fn inherited(builtin: Builtin) -> Vec<Json> {
    let mut all = all_scenarios(builtin.scenarios().bytes);
    for scenario in &mut all {
        if let Json::Object(scenario) = scenario {
            scenario.insert("source", "generated");
        }
    }
    all
}
