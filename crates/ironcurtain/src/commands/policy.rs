//! `ironcurtain policy`: what the policy says, and why.

mod adding;
mod check;
mod confirm;
mod diff;
mod edit;
mod explain;
mod grammar;
mod lint;
mod list;
mod mutate;
mod new;
mod recorded;
mod replay;
mod request;
mod show;
pub(in crate::commands) mod suggest;
pub(crate) mod test;
pub(in crate::commands) mod using;
mod verify;

use ic_home::Environment;
use ic_policy::Effect;

use crate::commands::Exit;
use crate::error::Failure;
use crate::screen::Screen;

/// Check, test, explain and change the policy
#[derive(Debug, clap::Subcommand)]
pub(crate) enum PolicyCommand {
    Check(check::CheckArgs),
    Test(test::TestArgs),
    Explain(explain::ExplainArgs),
    Verify(verify::VerifyArgs),
    Diff(diff::DiffArgs),
    Replay(replay::ReplayArgs),
    Suggest(suggest::SuggestArgs),
    Show(show::ShowArgs),
    List(list::ListArgs),
    Confirm(confirm::ConfirmArgs),
    New(new::NewArgs),
    Edit(edit::EditArgs),
    Use(using::UseArgs),
    Lint(lint::LintArgs),
    Grammar(grammar::GrammarArgs),
    /// Let an agent do something without asking you, from the next session on
    ///
    /// Shows what would change over recorded and example calls, and asks for your confirmation. Where the
    /// policy in force is built in, a copy of it is made and used. Never opens what no rule can open.
    Allow(adding::AddingArgs),
    /// Ask you before something, from the next session on
    Ask(adding::AddingArgs),
    /// Forbid something, from the next session on
    ///
    /// Without a place it is forbidden everywhere, and nothing makes an exception to it.
    Never(adding::AddingArgs),
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
        PolicyCommand::Verify(args) => verify::run(&args, environment, screen),
        PolicyCommand::Diff(args) => diff::run(&args, environment, screen),
        PolicyCommand::Replay(args) => replay::run(&args, environment, screen),
        PolicyCommand::Suggest(args) => suggest::run(&args, environment, screen),
        PolicyCommand::Show(args) => show::run(&args, environment, screen),
        PolicyCommand::List(args) => list::run(&args, environment, screen),
        PolicyCommand::Confirm(args) => confirm::run(&args, environment, screen),
        PolicyCommand::New(args) => new::run(&args, environment, screen),
        PolicyCommand::Edit(args) => edit::run(&args, environment, screen),
        PolicyCommand::Use(args) => using::run(&args, environment, screen),
        PolicyCommand::Lint(args) => lint::run(&args, environment, screen),
        PolicyCommand::Grammar(args) => grammar::run(&args, screen),
        PolicyCommand::Allow(args) => adding::run(Effect::Allow, &args, environment, screen),
        PolicyCommand::Ask(args) => adding::run(Effect::Escalate, &args, environment, screen),
        PolicyCommand::Never(args) => adding::run(Effect::Deny, &args, environment, screen),
    }
}
