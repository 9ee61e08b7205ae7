//! `ironcurtain policy diff`: what changes if one policy takes the place of another?

use std::path::PathBuf;

use ic_analysis::report::{self, ChangedTool, Summary};
use ic_home::Environment;
use ic_opening::policy::Wanted;
use ic_policy::SandboxKind;
use serde::Serialize;

use crate::commands::Exit;
use crate::commands::policy::recorded::policy_meant;
use crate::commands::policy::verify::{ShownExample, example, pasted, too_complex};
use crate::error::Failure;
use crate::own_policy::difference::{Difference, HEADINGS, Settings};
use crate::screen::{Screen, visible};

/// Compare two policies: every kind of call that is judged differently
///
/// What the second policy lets through and the first does not comes first, then what it no longer lets
/// through; the most dangerous first, each with an example call. What is no longer let through is put
/// together, if the same is done in different places. Compared as in a new session, and for a workspace as
/// in a session that works there.
#[derive(Debug, clap::Args)]
pub(crate) struct DiffArgs {
    /// `default`, `coding`, `readonly`, one of your own by name, a directory, or `session:NAME` for the
    /// policy that a session had
    #[arg(value_name = "BEFORE")]
    before: PathBuf,
    /// The policy that takes its place
    #[arg(value_name = "AFTER")]
    after: PathBuf,
    /// Exit with 1 if there is a difference
    #[arg(long)]
    exit_code: bool,
    /// Print each change that lets less through by itself
    #[arg(long)]
    all: bool,
    /// Print the differences as a JSON array
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    direction: &'static str,
    what: String,
    /// Each place, host or name by itself, all of them.
    places: &'a [String],
    /// The worst that such calls do there.
    role: Option<&'static str>,
    tools: Vec<String>,
    /// The tools of which only calls with certain arguments are meant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    only_with: Vec<OnlyWith<'a>>,
    before: &'static str,
    after: &'static str,
    rule_before: &'a str,
    rule_after: &'a str,
    example: ShownExample,
    /// Where the agent is free in the example.
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<String>,
    /// Whether that is a directory of the user's.
    workspace: bool,
}

#[derive(Debug, Serialize)]
struct OnlyWith<'a> {
    tool: String,
    arguments: &'a str,
}

/// Runs the command.
pub(crate) fn run(
    args: &DiffArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let load = |policy: &PathBuf, screen: &mut Screen| {
        let meant = policy_meant(policy, environment)?;
        let policy = Some(meant.policy);
        let wanted = Wanted { policy, sandbox: None, protected: Vec::new(), servers: None };
        let mut settings = Settings::load(&wanted, environment, screen)?;
        if let Some(origin) = meant.origin {
            settings.session.origin = origin;
        }
        Ok::<Settings, Failure>(settings)
    };
    let (before, after) = (load(&args.before, screen)?, load(&args.after, screen)?);
    let found = Difference::of(&before, &after).map_err(|error| too_complex(&error))?;
    if args.json {
        let shown: Vec<Shown<'_>> = found.changes.iter().map(|it| shown(it, &after)).collect();
        screen.json(&serde_json::to_string(&shown).unwrap_or_default())?;
    } else {
        print(&found, args.all, (&before, &after), screen)?;
    }
    let differs = !found.changes.is_empty();
    Ok(if args.exit_code && differs { Exit::Failed } else { Exit::Success })
}

fn shown<'s>(summary: &'s Summary, after: &Settings) -> Shown<'s> {
    Shown {
        direction: if summary.is_widening() { "widening" } else { "narrowing" },
        what: summary.what(),
        role: summary.role.map(ic_types::Role::as_str),
        tools: summary.tools.iter().map(ChangedTool::name).collect(),
        places: &summary.places,
        only_with: summary
            .tools
            .iter()
            .filter_map(|it| {
                Some(OnlyWith { tool: it.name(), arguments: it.only_with.as_deref()? })
            })
            .collect(),
        before: summary.before.as_str(),
        after: summary.after.as_str(),
        rule_before: &summary.rule_before,
        rule_after: &summary.rule_after,
        example: example(&summary.example, after.of_change(summary)),
        sandbox: summary.sandbox.as_ref().map(|it| it.path.to_string()),
        workspace: summary.sandbox.as_ref().is_some_and(|it| it.kind != SandboxKind::Session),
    }
}

fn print(
    found: &Difference,
    all: bool,
    (before, after): (&Settings, &Settings),
    screen: &mut Screen,
) -> Result<(), Failure> {
    let (from, to) = (visible(&before.session.origin), visible(&after.session.origin));
    if found.changes.is_empty() {
        return screen.line(&format!("No call is judged differently by {from} and {to}."));
    }
    screen.line(&format!("From {from} to {to}:"))?;
    for (heading, is_widening) in HEADINGS {
        let of_kind = found.of_kind(is_widening);
        if !of_kind.is_empty() {
            screen.line(heading)?;
        }
        let mut show = |line: &str, summary: &Summary| {
            screen.folded(&format!("  {}", visible(line)))?;
            let call = example(&summary.example, after.of_change(summary));
            screen.line(&format!("    example: {}", pasted(&call, summary.sandbox.as_ref())))
        };
        // What is opened is shown piece by piece: each of them counts.
        match is_widening || all {
            true => of_kind.iter().try_for_each(|it| show(&it.line(), it))?,
            false => {
                report::groups(&of_kind).iter().try_for_each(|it| show(&it.line(), it.first()))?;
            }
        }
    }
    Ok(())
}
