//! `ironcurtain policy test --mutate`: would the scenarios notice a mistake in the policy?

use ic_analysis::mutate::{Mutant, Written, mutants};
use ic_analysis::{Comparison, Subject};
use ic_opening::policy::{Loaded, Origin};
use ic_policy::Policy;
use ic_types::ToolCall;
use serde::Serialize;

use crate::commands::Exit;
use crate::commands::policy::test::outcomes;
use crate::commands::policy::verify::{ShownExample, example, pasted, too_complex};
use crate::error::Failure;
use crate::screen::{Screen, visible};

/// What became of all mutants.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    mutants: usize,
    noticed: usize,
    /// Those with which every call comes out as before.
    equivalent: usize,
    /// Those that cannot be loaded, so that nobody could use them.
    refused: usize,
    unnoticed: Vec<Unnoticed>,
}

/// A mistake that no scenario notices, and a call that would.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Unnoticed {
    rule: String,
    mistake: String,
    /// A call that comes out differently; the decision is the right one.
    call: ShownExample,
    mistaken: &'static str,
}

/// Tries the scenarios on every mutant.
pub(super) fn run(loaded: &mut Loaded, json: bool, screen: &mut Screen) -> Result<Exit, Failure> {
    let (compiled, lists) = loaded.rules_and_lists();
    let all = mutants(Written { compiled, lists, additions: loaded.additions() })?;
    let (mut noticed, mut equivalent, mut refused) = (0, 0, 0);
    let mut unnoticed = Vec::new();
    for mutant in &all {
        let Mutant { compiled, lists, additions, .. } = mutant;
        let changed = loaded.policy_with(compiled, lists.as_deref(), additions.as_deref());
        let Ok(policy) = changed else {
            refused += 1;
            continue;
        };
        let original = std::mem::replace(&mut loaded.judge.policy, policy);
        let judged = outcomes(loaded, |_| true);
        let policy = std::mem::replace(&mut loaded.judge.policy, original);
        if judged?.is_some_and(|all| all.iter().any(|it| !it.passed)) {
            noticed += 1;
            continue;
        }
        match difference(loaded, &policy, mutant)? {
            Some(found) => unnoticed.push(found),
            None => equivalent += 1,
        }
    }
    let report = Report { mutants: all.len(), noticed, equivalent, refused, unnoticed };
    if json {
        screen.json(&serde_json::to_string(&report).unwrap_or_default())?;
    } else {
        print(&report, loaded, screen)?;
    }
    Ok(if report.unnoticed.is_empty() { Exit::Success } else { Exit::Failed })
}

/// Returns a call that comes out differently with a mutant, if there is one.
fn difference(
    loaded: &Loaded,
    policy: &Policy,
    mutant: &Mutant,
) -> Result<Option<Unnoticed>, Failure> {
    let bounds = &loaded.judge.bounds;
    let comparison = Comparison::new(
        Subject { policy: &loaded.judge.policy, bounds },
        Subject { policy, bounds },
    );
    let change = comparison.first_change().map_err(|error| too_complex(&error))?;
    Ok(change.and_then(|change| {
        let arguments = change.regions.first()?.example.clone();
        let call = ToolCall { server: change.server, tool: change.tool, arguments };
        Some(Unnoticed {
            rule: mutant.rule.clone(),
            mistake: mutant.mistake.clone(),
            call: example(&call, loaded),
            mistaken: change.after.as_str(),
        })
    }))
}

fn print(report: &Report, loaded: &Loaded, screen: &mut Screen) -> Result<(), Failure> {
    for Unnoticed { rule, mistake, call, mistaken } in &report.unnoticed {
        screen.folded(&format!("UNNOTICED  {}", visible(&format!("{rule}: {mistake}"))))?;
        let shown = pasted(call, loaded.judge.bounds.sandbox.as_ref());
        let decision = call.decision;
        screen.line(&format!("        {shown}"))?;
        screen.line(&format!("        would be {mistaken}, not {decision}"))?;
    }
    let Report { mutants, noticed, equivalent, refused, .. } = report;
    let n_effective = mutants - equivalent - refused;
    screen.line(&format!("{noticed} of {n_effective} mistakes are noticed"))?;
    screen
        .folded(&format!("{equivalent} more change no decision, and {refused} cannot be loaded"))?;
    if let Some(first) = report.unnoticed.first() {
        screen
            .folded(&format!("To notice a mistake, add its call to {}", scenarios_file(loaded)))?;
        screen.line(&format!("  {}", visible(&scenario(first))))?;
    }
    Ok(())
}

/// Says where scenarios are written.
fn scenarios_file(loaded: &Loaded) -> String {
    match &loaded.found {
        Origin::Directory(directory) => {
            let file = directory.as_path().join("test-scenarios.json");
            format!("the `scenarios` in {}, for example:", visible(&file.display().to_string()))
        }
        Origin::Builtin(builtin) => format!(
            "the scenarios of a copy (`ironcurtain policy new mine --from {}`), for example:",
            builtin.name()
        ),
    }
}

/// Writes a scenario that would notice a mistake.
fn scenario(unnoticed: &Unnoticed) -> String {
    let Unnoticed { mistake, call, .. } = unnoticed;
    let ShownExample { server, tool, arguments, decision } = call;
    let text = |it: &str| serde_json::to_string(it).unwrap_or_default();
    format!(
        r#"{{"description": {}, "request": {{"serverName": {}, "toolName": {}, "arguments": {arguments}}}, "expectedDecision": "{decision}", "reasoning": "", "source": "handwritten"}}"#,
        text(&format!("notices: {mistake}")),
        text(server),
        text(tool),
    )
}
