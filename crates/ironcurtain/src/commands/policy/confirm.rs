//! `ironcurtain policy confirm`: the directories that the policy opens are the ones that you mean.
//!
//! Changes no rule; but what a rule opens may be another directory afterwards, so a person is asked.

use ic_home::{Environment, Home};
use ic_opening::policy::{Moved, NoSandbox};

use crate::commands::Exit;
use crate::error::Failure;
use crate::judge::{self, JudgeArgs};
use crate::own_policy::force::note_moved;
use crate::person::{Answer, Person, Scripts};
use crate::screen::{Screen, visible_line};

/// Confirm the directories that the policy opens, after one of them became a link
///
/// A directory that a rule opens is remembered when the policy is first used. If its name leads through
/// a link to somewhere else later, sessions refuse to start, because an agent may have made that link.
/// This command shows where each name leads now and asks whether you mean that, since the policy then opens
/// another directory than before.
#[derive(Debug, clap::Args)]
pub(crate) struct ConfirmArgs {
    #[command(flatten)]
    judge: JudgeArgs,
    /// Confirm beforehand, where `approvals.scripted` allows it
    #[arg(long)]
    yes: bool,
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
    let moved = loaded.roots.moved(&loaded.origin, &home)?;
    if !moved.is_empty() {
        let what = "whether the policy is to open other directories";
        let mut person = Person::find(what, args.yes, Scripts::of(&home, environment)?)?;
        let line =
            |it: &Moved| format!("{} was {} and is a link to {} now", it.name, it.then, it.now);
        let lines: Vec<String> = moved.iter().map(|it| visible_line(&line(it))).collect();
        person.show(&lines, screen)?;
        if person.ask("Let the policy open what the links lead to?")? == Answer::Denied {
            screen.line("Nothing was changed.")?;
            return Ok(Exit::Failed);
        }
        note_moved(&loaded, &moved, person.how_agreed(), &home)?;
    }
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
