//! `ironcurtain policy test`: does the policy say what its scenarios expect?

use ic_home::Environment;
use ic_opening::policy::{Loaded, NoSandbox};
use ic_policy::artifact;
use ic_policy::{ExpectedDecision, Scenario, Scenarios};
use ic_types::Json;
use serde::Serialize;

use crate::commands::Exit;
use crate::commands::policy::mutate;
use crate::commands::policy::request::{INVALID_REQUEST, Judgement, Request};
use crate::error::Failure;
use crate::judge::{self, JudgeArgs};
use crate::screen::{Screen, visible};

/// Run the policy's scenarios
///
/// Judges each call of the policy's test-scenarios.json and compares the decision with the expected
/// one. Without `--sandbox` the calls are judged as in a new session, whose sandbox is empty.
/// Exits with 0 if all pass and with 1 if not; with `--mutate`, with 0 if every mistake that changes
/// a decision is noticed.
#[derive(Debug, clap::Args)]
pub(crate) struct TestArgs {
    #[command(flatten)]
    judge: JudgeArgs,
    /// Make one mistake in the policy at a time, and report those that no scenario notices
    #[arg(long)]
    mutate: bool,
    /// Print all results as a JSON array
    #[arg(long)]
    json: bool,
}

/// How one scenario came out.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Outcome {
    pub(crate) description: String,
    pub(crate) passed: bool,
    expected: &'static str,
    #[serde(flatten)]
    judgement: Judgement,
}

/// Runs the command.
pub(crate) fn run(
    args: &TestArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let mut loaded =
        judge::load(&args.judge.wanted(environment)?, NoSandbox::Fresh, environment, screen)?;
    let Some(outcomes) = outcomes(&loaded, |_| true)? else {
        return Err(Failure::config(format!(
            "the policy {} has no test-scenarios.json",
            loaded.origin
        )));
    };
    let all_pass = outcomes.iter().all(|outcome| outcome.passed);
    // A scenario that fails anyway would notice every mistake.
    if args.mutate && all_pass {
        return mutate::run(&mut loaded, args.json, screen);
    }
    if args.json {
        screen.json(&serde_json::to_string(&outcomes).unwrap_or_default())?;
    } else {
        report(&outcomes, &loaded, screen)?;
    }
    Ok(if all_pass { Exit::Success } else { Exit::Failed })
}

/// Judges those of the policy's scenarios that are wanted, if it has any.
pub(crate) fn outcomes(
    loaded: &Loaded,
    is_wanted: impl Fn(&Scenario) -> bool,
) -> Result<Option<Vec<Outcome>>, Failure> {
    let Some(file) = &loaded.scenarios else { return Ok(None) };
    let scenarios: Scenarios = artifact::read(file.source())?;
    Ok(Some(judged(scenarios.scenarios.into_iter().filter(is_wanted).collect(), loaded)))
}

/// Judges scenarios.
pub(crate) fn judged(scenarios: Vec<Scenario>, loaded: &Loaded) -> Vec<Outcome> {
    scenarios.into_iter().map(|scenario| Outcome::of(scenario, loaded)).collect()
}

fn report(outcomes: &[Outcome], loaded: &Loaded, screen: &mut Screen) -> Result<(), Failure> {
    for outcome in outcomes.iter().filter(|outcome| !outcome.passed) {
        let Judgement { decision, rule, reason, .. } = &outcome.judgement;
        screen.line(&format!("FAILED  {}", visible(&outcome.description)))?;
        screen.line(&format!(
            "        expected {}, got {decision} by {}",
            outcome.expected,
            visible(rule)
        ))?;
        screen.line(&format!("        {}", visible(reason)))?;
    }
    let n_passed = outcomes.iter().filter(|outcome| outcome.passed).count();
    screen.line(&format!(
        "{n_passed} of {} scenarios pass ({})",
        outcomes.len(),
        visible(&loaded.origin)
    ))
}

impl Outcome {
    /// Returns whether something decided that holds for every policy.
    pub(crate) fn is_structural(&self) -> bool {
        self.judgement.rule.starts_with("structural-")
    }

    /// Returns the decision and the rule that decided.
    pub(crate) fn decided(&self) -> (&'static str, &str) {
        (self.judgement.decision, &self.judgement.rule)
    }

    /// Says what was expected, and what came out.
    pub(crate) fn said(&self) -> String {
        let Judgement { decision, rule, .. } = &self.judgement;
        format!("expected {}, got {decision} by {rule}", self.expected)
    }

    fn of(scenario: Scenario, loaded: &Loaded) -> Self {
        let Scenario { description, request, expected_decision, .. } = scenario;
        let judgement = match request.arguments {
            Json::Object(arguments) => {
                Request { server: request.server_name, tool: request.tool_name, arguments }
                    .judge(loaded)
            }
            _ => Judgement::denied(INVALID_REQUEST, "`arguments` must be an object".to_owned()),
        };
        let (expected, passed) = match expected_decision {
            ExpectedDecision::Allow => ("allow", judgement.decision == "allow"),
            ExpectedDecision::Escalate => ("escalate", judgement.decision == "escalate"),
            ExpectedDecision::Deny => ("deny", judgement.decision == "deny"),
            ExpectedDecision::NotAllow => ("not-allow", judgement.decision != "allow"),
        };
        Self { description, passed, expected, judgement }
    }
}
