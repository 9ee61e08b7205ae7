//! The real engine behind the port of the stages: sentences compiled by code, calls judged as sessions judge them.

use std::path::{Path, PathBuf};

use ic_compiler::{Case, Engine, EngineFault, Finding};
use ic_constitution::artifact::{self, Origin};
use ic_constitution::scenario::Scenario;
use ic_constitution::{Constitution, Tool};
use ic_home::Environment;
use ic_opening::policy::{Loaded, NoSandbox, Wanted};
use ic_policy::artifact::{Scenarios, Source};
use ic_types::{Json, Object};

use crate::commands::policy::test;
use crate::judge;
use crate::own_policy::constitution::{Made, MadeError, SCENARIOS, Sentences};
use crate::screen::Screen;

/// What sentences are compiled for.
#[derive(Clone, Debug)]
pub(crate) struct Bench<'a> {
    /// The constitution as written.
    pub(crate) text: &'a str,
    /// The tools that are known, with their roles.
    pub(crate) tools: Vec<Tool>,
    /// Where the policy goes.
    pub(crate) output: &'a Path,
    /// The policy that the rules replace.
    pub(crate) base: PathBuf,
    /// The scenarios that a person wrote.
    pub(crate) handwritten: Vec<Json>,
    /// A policy that knows all tools.
    pub(crate) known: &'a Loaded,
    /// The environment.
    pub(crate) environment: &'a Environment,
}

impl Engine for Bench<'_> {
    fn judge(
        &mut self,
        constitution: &Constitution,
        cases: &[Case],
    ) -> Result<Vec<Finding>, EngineFault> {
        let other = |error: &dyn std::fmt::Display| EngineFault::Other(error.to_string());
        let constitution = constitution.clone();
        let sentences = Sentences { text: self.text, constitution, tested: Vec::new() };
        let made = Made::of_sentences(sentences, &self.tools, self.output, Vec::new());
        let made = made.map_err(|error| match error {
            MadeError::Faults(faults) => EngineFault::Sentences(faults),
            MadeError::Failure(failure) => other(&failure),
        })?;
        let policy = Some(self.base.clone());
        let wanted = Wanted { policy, sandbox: None, protected: Vec::new(), servers: None };
        let mut silent = Screen::silent();
        let how = made.load_as();
        let loaded = judge::load_as(&wanted, NoSandbox::Fresh, how, self.environment, &mut silent)
            .map_err(|failure| other(&failure))?;
        let scenarios: Vec<Scenario> = cases.iter().map(|it| it.scenario.clone()).collect();
        let origin = Origin { constitution: "", generated_at: "", tools: &[] };
        let file = artifact::test_scenarios(&[], &scenarios, origin);
        let source = Source { file: SCENARIOS, bytes: file.as_bytes() };
        let read: Scenarios = ic_policy::artifact::read(source).map_err(|error| other(&error))?;
        let outcomes = test::judged(read.scenarios, &loaded);
        let finding = |it: &test::Outcome| {
            let (decision, by) = it.decided();
            Finding {
                passed: it.passed,
                decision: decision.to_owned(),
                by: by.to_owned(),
                is_structural: it.is_structural(),
            }
        };
        Ok(outcomes.iter().map(finding).collect())
    }
}

/// Reads scenarios that a person wrote; what cannot be read fails when the whole policy is verified.
pub(crate) fn cases(handwritten: &[Json]) -> Vec<Case> {
    handwritten.iter().filter_map(case).collect()
}

fn case(scenario: &Json) -> Option<Case> {
    let Json::Object(scenario) = scenario else { return None };
    let text = |of: &Object, key: &str| of.get(key).and_then(Json::as_str).map(str::to_owned);
    let Some(Json::Object(request)) = scenario.get("request") else { return None };
    let Some(Json::Object(arguments)) = request.get("arguments") else { return None };
    let scenario = Scenario {
        description: text(scenario, "description")?,
        server: text(request, "serverName")?.parse().ok()?,
        tool: text(request, "toolName")?.parse().ok()?,
        role: None,
        arguments: arguments.clone(),
        expected: text(scenario, "expectedDecision")?,
        reasoning: text(scenario, "reasoning").unwrap_or_default(),
    };
    Some(Case { scenario, is_handwritten: true })
}
