//! `ironcurtain policy new`: a policy of one's own, to be edited.

use ic_home::{Environment, Home, Lock, PolicyName, file};
use ic_policy::Builtin;

use crate::commands::Exit;
use crate::error::Failure;
use crate::own_policy::template;
use crate::screen::Screen;

/// Make a policy of your own: a copy of a built-in one, to be edited
///
/// Writes a directory with the rules and a README into the IronCurtain home. The policy in force stays
/// what it is until `policy use`.
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
    template::write(&directory, builtin, &home)?;
    screen.line(&format!("made the policy `{name}`, a copy of the built-in `{from}`:"))?;
    screen.line(&format!("  {}", directory.join(ic_opening::policy::COMPILED).display()))?;
    screen.line(&format!("  {}", directory.join("README.md").display()))?;
    screen.line("")?;
    screen.line("next:")?;
    screen.line(&format!("  ironcurtain policy use {name}"))?;
    screen
        .line("  ironcurtain policy allow filesystem --to read --in DIR    (or edit the rules)")?;
    screen.line(&format!("  ironcurtain policy lint {name}"))?;
    Ok(Exit::Success)
}
