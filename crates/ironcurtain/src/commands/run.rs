//! `ironcurtain run`: a script of a person's, under policy, without any model.
//!
//! What it prints goes to standard output; what it calls, and what needs a person, to standard error.

use std::path::PathBuf;

use ic_home::Environment;
use ic_opening::SessionWanted;
use ic_opening::policy::Wanted;
use ic_opening::workspace::workspace_at;
use ic_policy::SandboxKind;
use ic_sandbox::{Ended, Run, Script};
use ic_session::{AtTerminal, SessionKind, Wait, Workbench};
use tokio_util::sync::CancellationToken;

use super::start::{open, runtime, session_name};
use crate::commands::Exit;
use crate::error::Failure;
use crate::files;
use crate::own_policy::always::Always;
use crate::screen::Screen;
use crate::signals::Signals;
use crate::terminal::{Onlooker, Seat, Tty, restore};

/// Who acts in such a session.
const AGENT: &str = "script";

/// Run a TypeScript or JavaScript file under the policy, without a model
///
/// Tools are called as `server.tool({...})`; `help()` lists them, and `args` holds what follows `--`.
/// Exits with 0 if the script ended, with 3 if it ended but a call needed approval and nobody was
/// available, with 130 if it was cancelled, and with 1 if it failed.
#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// The script
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Directory of your own to work in; changing files that your tools run needs approval
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Policy in force: `default`, `coding`, `readonly`, one of your own by name, or a directory
    #[arg(long, value_name = "NAME|DIR")]
    policy: Option<PathBuf>,
    /// Name of the session
    #[arg(long, value_name = "N")]
    name: Option<String>,
    /// Let calls that need approval wait for an answer even if no approver is connected
    #[arg(long)]
    wait: bool,
    /// What the script finds in `args`
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(
    args: &RunArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let source = String::from_utf8(files::read(&args.file)?).map_err(|_| {
        Failure::config(format!("`{}` is not UTF-8 text", args.file.display()))
            .with_hint("save the script as UTF-8")
    })?;
    let script = Script { source, arguments: args.arguments.clone() };
    let task = args.file.display().to_string();
    let session = SessionWanted {
        wanted: Wanted {
            policy: args.policy.clone(),
            sandbox: workspace_at(args.workspace.as_deref(), environment)?,
            protected: Vec::new(),
            servers: None,
        },
        name: session_name(args.name.as_deref())?,
        own_sandbox: SandboxKind::Session,
        about: None,
        resumed: None,
        kind: SessionKind::Script,
        agent: AGENT,
        seen_as: None,
        task: Some(&task),
        wait: if args.wait { Wait::ForAnybody } else { Wait::WhileAttended },
        at_terminal: AtTerminal::default(),
    };
    session.wanted.check(environment)?;
    let runtime = runtime()?;
    let ended = runtime.block_on(execute(&script, session, environment, screen));
    // A thread that waits for a name to be looked up must not keep us.
    runtime.shutdown_background();
    ended
}

async fn execute(
    script: &Script,
    mut session: SessionWanted<'_>,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let mut signals = Signals::listen()?.end_at_the_second_after(restore)?;
    let terminal = Tty::find();
    session.at_terminal = terminal.as_ref().map(Tty::at_terminal).unwrap_or_default();
    let (news, opened) = open(session, environment, screen).await?;
    let always = Always::new(environment, "repl");
    let workbench =
        Workbench::new(opened.ground, news, opened.launcher, opened.holding.confinement);
    let cancel = CancellationToken::new();
    let watched = {
        let running = workbench.run(script, &cancel);
        let scene = (&*workbench.news, &workbench.questions);
        let seat = Seat { terminal, environment, between: "running", always };
        let onlooker = Onlooker::new(scene, seat, screen)?;
        let mut onlooker = onlooker.printing(workbench.prints());
        let watched = onlooker.watch(running, &mut signals, &cancel).await;
        onlooker.deaf().map_or(Ok(watched), Err)
    };
    let closed = workbench.close().await;
    let exit = report(watched?, workbench.news.tally().unanswered, screen);
    closed?;
    exit
}

/// Prints what the script came to, and says how it ended.
fn report(run: Run, n_unanswered: u64, screen: &mut Screen) -> Result<Exit, Failure> {
    if let Some(value) = &run.value {
        screen.strangers_text(&format!("{value}\n"))?;
    }
    match run.ended {
        Ended::Done if n_unanswered == 0 => Ok(Exit::Success),
        Ended::Done => Ok(Exit::NeedsApproval),
        Ended::Cancelled => Ok(Exit::Cancelled),
        Ended::Threw { .. }
        | Ended::TimedOut
        | Ended::OutOfMemory
        | Ended::Killed { .. }
        | Ended::Broke { .. }
        | Ended::NotStarted { .. } => Err(failure(run)),
    }
}

/// Says why a script did not come to its end.
fn failure(run: Run) -> Failure {
    let report = Run { output: String::new(), value: None, ..run }.report();
    let mut lines = report.lines().map(str::to_owned);
    let first = lines.next().unwrap_or_default();
    Failure::environment(first).with_details(lines.collect())
}
