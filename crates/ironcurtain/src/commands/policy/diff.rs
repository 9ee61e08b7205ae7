//! `ironcurtain policy diff`: what changes if one policy takes the place of another?

use std::path::PathBuf;

use ic_analysis::Comparison;
use ic_analysis::describe::Names;
use ic_analysis::report::{self, Summary};
use ic_home::Environment;
use serde::Serialize;

use crate::commands::Exit;
use crate::commands::policy::verify::{ShownExample, example, home_of, subject, too_complex};
use crate::error::Failure;
use crate::judge::{Loaded, NoSandbox, Wanted};
use crate::screen::{Screen, visible};

/// Compare two policies: every region of calls that comes out differently
///
/// What the second policy lets through and the first does not comes first, then what it no longer lets
/// through; the most dangerous first, each with an example call. Calls are judged as in a new session.
#[derive(Debug, clap::Args)]
pub(crate) struct DiffArgs {
    /// `default`, `coding`, `readonly`, one of your own by name, or a directory
    #[arg(value_name = "BEFORE")]
    before: PathBuf,
    /// The policy that takes its place
    #[arg(value_name = "AFTER")]
    after: PathBuf,
    /// Exit with 1 if there is a difference
    #[arg(long)]
    exit_code: bool,
    /// Print the differences as a JSON array
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    direction: &'static str,
    what: &'a str,
    role: Option<&'static str>,
    tools: Vec<String>,
    before: &'static str,
    after: &'static str,
    rule_before: &'a str,
    rule_after: &'a str,
    example: ShownExample,
}

/// Runs the command.
pub(crate) fn run(
    args: &DiffArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let load = |policy: &PathBuf, screen: &mut Screen| {
        let policy = Some(policy.clone());
        let wanted = Wanted { policy, sandbox: None, protected: Vec::new(), servers: None };
        Loaded::load_confirming(&wanted, NoSandbox::Fresh, environment, screen)
    };
    let (mut before, mut after) = (load(&args.before, screen)?, load(&args.after, screen)?);
    // Each policy protects its own directory, which is no difference between what they say.
    let protected = [&before, &after].map(|it| it.judge.bounds.protected.clone()).concat();
    before.judge.bounds.protected.clone_from(&protected);
    after.judge.bounds.protected = protected;
    let comparison = Comparison::new(subject(&before), subject(&after));
    let changes = comparison.changes().map_err(too_complex)?;
    let home = home_of(&after);
    let names = Names { home: home.as_ref(), bounds: &after.judge.bounds };
    let policies = (&before.judge.policy, &after.judge.policy);
    let found = report::summaries(&changes, comparison.space(), names, policies);
    if args.json {
        let shown: Vec<Shown<'_>> = found.iter().map(|it| shown(it, &after)).collect();
        screen.json(&serde_json::to_string(&shown).unwrap_or_default())?;
    } else {
        print(&found, (&before, &after), screen)?;
    }
    Ok(if args.exit_code && !found.is_empty() { Exit::Failed } else { Exit::Success })
}

fn shown<'s>(summary: &'s Summary, after: &Loaded) -> Shown<'s> {
    Shown {
        direction: if summary.is_widening() { "widening" } else { "narrowing" },
        what: &summary.what,
        role: summary.role.map(ic_types::Role::as_str),
        tools: summary.tools.iter().map(|(server, tool)| format!("{server}.{tool}")).collect(),
        before: summary.before.as_str(),
        after: summary.after.as_str(),
        rule_before: &summary.rule_before,
        rule_after: &summary.rule_after,
        example: example(&summary.example, after),
    }
}

fn print(
    found: &[Summary],
    (before, after): (&Loaded, &Loaded),
    screen: &mut Screen,
) -> Result<(), Failure> {
    let (from, to) = (visible(&before.origin), visible(&after.origin));
    if found.is_empty() {
        return screen.line(&format!("no call comes out differently: {from} and {to}"));
    }
    screen.line(&format!("from {from} to {to}"))?;
    for (heading, is_widening) in [("lets more through:", true), ("lets less through:", false)] {
        let mut of_kind = found.iter().filter(|it| it.is_widening() == is_widening).peekable();
        if of_kind.peek().is_some() {
            screen.line(heading)?;
        }
        for summary in of_kind {
            screen.line(&format!("  {}", visible(&summary.line())))?;
            let ShownExample { server, tool, arguments, .. } = example(&summary.example, after);
            let call = format!("{server} {tool} '{arguments}'");
            screen.line(&format!("    example: {}", visible(&call)))?;
        }
    }
    Ok(())
}
