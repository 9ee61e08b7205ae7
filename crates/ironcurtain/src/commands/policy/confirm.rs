//! `ironcurtain policy confirm`: the directories that the policy opens are the ones that you mean.
//!
//! Changes no policy.

use ic_home::{Environment, Home};
use ic_opening::policy::NoSandbox;

use crate::commands::Exit;
use crate::error::Failure;
use crate::judge::{self, JudgeArgs};
use crate::screen::{Screen, visible_line};

/// Confirm the directories that the policy opens, after one of them became a link
///
/// A directory that a rule opens is remembered when the policy is first used. If its name leads through
/// a link to somewhere else later, sessions refuse to start, because an agent may have made that link.
/// This command shows where each name leads now, and takes that as confirmed.
#[derive(Debug, clap::Args)]
pub(crate) struct ConfirmArgs {
    #[command(flatten)]
    judge: JudgeArgs,
}

/// Runs the command.
pub(crate) fn run(
    args: &ConfirmArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let wanted = args.judge.wanted(environment)?;
    let home = Home::new(environment.ironcurtain_home()?);
    home.prepare()?;
    let loaded = judge::load_confirming(&wanted, NoSandbox::None, environment, screen)?;
    loaded.roots.remember(&loaded.origin, &home)?;
    screen.line(&format!("confirmed for {}:", loaded.origin))?;
    let lines = loaded.roots.lines();
    for line in &lines {
        screen.line(&format!("  {}", visible_line(line)))?;
    }
    if lines.is_empty() {
        screen.line("  its rules name no directory")?;
    }
    Ok(Exit::Success)
}
