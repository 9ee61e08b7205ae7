//! `ironcurtain policy`: what the policy says, and why.

mod check;
mod confirm;
mod explain;
mod request;
mod show;
pub(crate) mod test;

use ic_home::Environment;

use crate::commands::Exit;
use crate::error::Failure;
use crate::screen::Screen;

/// Ask the policy, test it, explain it
#[derive(Debug, clap::Subcommand)]
pub(crate) enum PolicyCommand {
    Check(check::CheckArgs),
    Test(test::TestArgs),
    Explain(explain::ExplainArgs),
    Show(show::ShowArgs),
    Confirm(confirm::ConfirmArgs),
}

/// Runs `command`.
pub(crate) fn run(
    command: PolicyCommand,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    match command {
        PolicyCommand::Check(args) => check::run(&args, environment, screen),
        PolicyCommand::Test(args) => test::run(&args, environment, screen),
        PolicyCommand::Explain(args) => explain::run(&args, environment, screen),
        PolicyCommand::Show(args) => show::run(&args, environment, screen),
        PolicyCommand::Confirm(args) => confirm::run(&args, environment, screen),
    }
}
