//! One file per command, and what they share: exit codes and dispatch.

pub(crate) mod agents;
pub(crate) mod approvals;
pub(crate) mod attach;
pub(crate) mod audit;
pub(crate) mod ca;
pub(crate) mod cleanup;
pub(crate) mod clients;
pub(crate) mod compile_policy;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod customize_policy;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod grants;
pub(crate) mod images;
pub(crate) mod listen;
pub(crate) mod man;
pub(crate) mod mcp_server;
pub(crate) mod migrate;
pub(crate) mod mitm;
pub(crate) mod policy;
pub(crate) mod proxy;
pub(crate) mod refresh_lists;
pub(crate) mod run;
pub(crate) mod servers;
pub(crate) mod sessions;
pub(crate) mod start;
pub(crate) mod status;
pub(crate) mod usage;

use std::process::ExitCode;

pub(crate) use start::runtime;

use ic_home::Environment;

use crate::cli::Command;
use crate::error::Failure;
use crate::screen::Screen;

/// What the help of the whole program ends with.
pub(crate) const AFTER_HELP: &str = "\
With every command:
  --log FILE                write what IronCurtain itself does to FILE
                            (`IRONCURTAIN_LOG` says how much, such as `debug`; default `info`)
  --log-format <text|json>  how its lines look

Exit codes:
  0    done; for `policy check`: allowed
  1    failed, or a check found something wrong
  2    the command line is wrong
  3    answered, but at least one call needed approval and nobody was available;
       for `policy check`: needs approval
  4    `policy check`: denied
  5    the budget is used up
  130  cancelled
  141  the reader of the output went away";

/// How a command ended that did what it was asked to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Exit {
    /// All is well, or the call is allowed.
    Success,
    /// Something that was checked does not hold.
    Failed,
    /// The call needs approval, or needed it and nobody was available.
    NeedsApproval,
    /// The call is denied.
    Denied,
    /// The budget is used up.
    BudgetExhausted,
    /// The user cancelled it.
    Cancelled,
    /// As the agent ended at its own interface.
    Agent(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Success => 0,
            Exit::Failed => 1,
            Exit::NeedsApproval => 3,
            Exit::Denied => 4,
            Exit::BudgetExhausted => 5,
            Exit::Cancelled => 130,
            Exit::Agent(code) => code,
        })
    }
}

/// Runs `command`.
pub(crate) fn run(
    command: Command,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    match command {
        Command::Start(args) => start::run(&args, environment, screen),
        Command::Attach(args) => attach::run(&args, environment, screen),
        Command::Demo(args) => demo::run(&args, environment, screen),
        Command::Run(args) => run::run(&args, environment, screen),
        Command::Proxy(args) => proxy::run(&args, environment, screen),
        Command::McpServer(command) => mcp_server::run(command, environment, screen),
        Command::Approvals(command) => approvals::run(command, environment, screen),
        Command::EscalationListener(args) => listen::run(&args, environment, screen),
        Command::Grants(command) => grants::run(command, environment, screen),
        Command::Sessions(command) => sessions::run(command, environment, screen),
        Command::Cleanup(args) => cleanup::run(&args, environment, screen),
        Command::Status(args) => status::run(&args, environment, screen),
        Command::Usage(args) => usage::run(&args, environment, screen),
        Command::Clients(command) => clients::run(command, environment, screen),
        Command::Agents(command) => agents::run(command, environment, screen),
        Command::Images(command) => images::run(&command, environment, screen),
        Command::Servers(command) => servers::run(command, environment, screen),
        Command::Policy(command) => policy::run(command, environment, screen),
        Command::CompilePolicy(args) => compile_policy::run(&args, environment, screen),
        Command::CustomizePolicy(args) => customize_policy::run(&args, environment, screen),
        Command::RefreshLists(args) => refresh_lists::run(&args, environment, screen),
        Command::AnnotateTools(args) => servers::annotate::run(&args, environment, screen),
        Command::Audit(command) => audit::run(command, environment, screen),
        Command::Config(command) => config::run(command, environment, screen),
        Command::Doctor(args) => doctor::run(&args, environment, screen),
        Command::Mitm(args) => mitm::run(&args, environment, screen),
        Command::Ca(command) => ca::run(&command, environment, screen),
        Command::Migrate(args) => migrate::run(&args, environment, screen),
        Command::Completions(args) => completions::run(&args, screen),
        Command::Man(args) => man::run(&args, screen),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exit_code_is_listed() {
        for (exit, listed) in [
            (Exit::Success, "  0    "),
            (Exit::Failed, "  1    "),
            (Exit::NeedsApproval, "  3    "),
            (Exit::Denied, "  4    "),
            (Exit::BudgetExhausted, "  5    "),
            (Exit::Cancelled, "  130  "),
        ] {
            let code: u8 = listed.trim().parse().unwrap();
            assert_eq!(ExitCode::from(exit), ExitCode::from(code));
            assert!(AFTER_HELP.lines().any(|line| line.starts_with(listed)), "{listed}");
        }
    }
}
