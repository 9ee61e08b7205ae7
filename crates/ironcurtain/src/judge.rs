//! The policy that a command asks about, and in which surroundings.
//!
//! Found and loaded in `ic_opening`; here are the arguments, and the place where warnings are printed.

use std::path::PathBuf;

use ic_home::Environment;
use ic_opening::policy::{As, Loaded, NoSandbox, Wanted};
use ic_policy::SandboxKind;

use crate::error::Failure;
use crate::screen::Screen;

/// Which policy to ask, and in which surroundings
#[derive(Debug, clap::Args)]
pub(crate) struct JudgeArgs {
    /// Policy to ask: `default`, `coding`, `readonly`, one of your own by name, or a directory
    ///
    /// Without it, the policy in force: see `ironcurtain policy use`.
    #[arg(long, value_name = "NAME|DIR")]
    policy: Option<PathBuf>,
    /// Directory in which the agent is free
    #[arg(long, value_name = "DIR")]
    sandbox: Option<PathBuf>,
    /// The sandbox is the user's own directory
    #[arg(long, requires = "sandbox")]
    workspace: bool,
    /// Further path that no rule can open (can be repeated)
    #[arg(long, value_name = "PATH")]
    protected: Vec<PathBuf>,
    /// Servers file; without it that of the IronCurtain home, or the built-in servers
    #[arg(long, value_name = "FILE")]
    servers: Option<PathBuf>,
}

/// Loads everything that is wanted, and prints what is odd about it.
pub(crate) fn load(
    wanted: &Wanted,
    no_sandbox: NoSandbox,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Loaded, Failure> {
    load_as(wanted, no_sandbox, As::IS, environment, screen)
}

/// Loads everything that is wanted, with roots that the user confirms now, and prints what is odd about it.
pub(crate) fn load_confirming(
    wanted: &Wanted,
    no_sandbox: NoSandbox,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Loaded, Failure> {
    load_as(wanted, no_sandbox, As::CONFIRMED, environment, screen)
}

/// Loads everything that is wanted, as it is or as it would be, and prints what is odd about it.
pub(crate) fn load_as(
    wanted: &Wanted,
    no_sandbox: NoSandbox,
    how: As<'_>,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Loaded, Failure> {
    let loaded = Loaded::load_as(wanted, no_sandbox, how, environment)?;
    for warning in &loaded.warnings {
        screen.warning(warning);
    }
    Ok(loaded)
}

impl JudgeArgs {
    /// Returns what the arguments ask for.
    pub(crate) fn wanted(&self, environment: &Environment) -> Result<Wanted, Failure> {
        let kind = match self.workspace {
            true => SandboxKind::Workspace,
            false => SandboxKind::Session,
        };
        let absolute = |path: &PathBuf| environment.absolute(path);
        Ok(Wanted {
            policy: self.policy.clone(),
            sandbox: match &self.sandbox {
                Some(path) => Some((absolute(path)?, kind)),
                None => None,
            },
            protected: self.protected.iter().map(absolute).collect::<Result<_, _>>()?,
            servers: self.servers.clone(),
        })
    }
}
