//! Who is to blame for a scenario that fails: the proposed sentences, the scenario, or both.
//!
//! SECURITY: a scenario that a person wrote is never to blame, and what a model says of one changes nothing.

use ic_types::{Json, Object};

use crate::ask::{AskError, Asker, Question};
use crate::cases::Case;
use crate::engine::Finding;
use crate::run::Proposal;
use crate::sentences::{id_of, number};
use crate::stage::Stage;

/// A scenario that failed.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    /// Its position among the cases.
    pub(crate) at: usize,
    /// The case.
    pub(crate) case: Case,
    /// How it came out.
    pub(crate) finding: Finding,
}

/// What the judge says of one failure.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Ruling {
    /// The position of the case.
    pub(crate) at: usize,
    /// What the scenario should expect, if it is to blame.
    pub(crate) expected: Option<String>,
    /// The statements that are to be translated again.
    pub(crate) statements: Vec<usize>,
    /// Why.
    pub(crate) why: String,
}

/// Asks who is to blame.
pub(crate) async fn ask(
    asker: &Asker<'_>,
    (unit, text): (&str, &str),
    proposals: &[Proposal],
    failures: &[Failure],
) -> Result<Vec<Ruling>, AskError> {
    let statement = |it: &Proposal| {
        let mut statement = it.statement.to_object();
        let sentences = it.sentences.iter().map(|it| Json::from(it.text.as_str()));
        statement.insert("sentences", sentences.collect::<Vec<_>>());
        Json::Object(statement)
    };
    let mut input = Object::new();
    input.insert("constitution", text);
    input.insert("statements", proposals.iter().map(statement).collect::<Vec<_>>());
    let failed = failures.iter().enumerate().map(|(at, it)| failure(at + 1, it));
    input.insert("failures", failed.collect::<Vec<_>>());
    let question = Question { stage: Stage::Judge, unit, input };
    asker.ask(&question, |answer| read(answer, proposals, failures)).await
}

fn failure(id: usize, failure: &Failure) -> Json {
    let Failure { case, finding, .. } = failure;
    let mut object = Object::new();
    object.insert("id", id as u64);
    object.insert("server", case.scenario.server.as_str());
    object.insert("tool", case.scenario.tool.as_str());
    object.insert("arguments", case.scenario.arguments.clone());
    object.insert("expected", case.scenario.expected.as_str());
    object.insert("reasoning", case.scenario.reasoning.as_str());
    object.insert("handwritten", case.is_handwritten);
    object.insert("decision", finding.decision.as_str());
    object.insert("rule", finding.by.as_str());
    Json::Object(object)
}

fn read(
    answer: &Object,
    proposals: &[Proposal],
    failures: &[Failure],
) -> Result<Vec<Ruling>, String> {
    let Some(Json::Array(all)) = answer.get("rulings") else {
        return Err("`rulings` is missing".to_owned());
    };
    let mut rulings = Vec::new();
    for (position, failure) in failures.iter().enumerate() {
        let id = position + 1;
        let is_it = |it: &&Json| matches!(it, Json::Object(it) if id_of(it) == Some(id));
        let mut said = all.iter().filter(is_it);
        let (Some(Json::Object(one)), None) = (said.next(), said.next()) else {
            return Err(format!("failure {id} has to be judged exactly once"));
        };
        rulings.push(ruling(one, (id, failure), proposals)?);
    }
    Ok(rulings)
}

fn ruling(
    said: &Object,
    (id, failure): (usize, &Failure),
    proposals: &[Proposal],
) -> Result<Ruling, String> {
    let text = |key: &str| said.get(key).and_then(Json::as_str);
    let blame = text("blame").unwrap_or_default();
    let statements: Vec<usize> = match said.get("statements") {
        Some(Json::Array(all)) => all.iter().filter_map(number).collect(),
        _ => Vec::new(),
    };
    let is_known = |it: &usize| proposals.iter().any(|proposal| proposal.statement.id == *it);
    if !statements.iter().all(is_known) {
        return Err(format!("failure {id}: `statements` names one that was not given"));
    }
    let blames_scenario = blame != "sentence";
    let blames_sentence = blame != "scenario";
    if blames_scenario && failure.case.is_handwritten {
        return Err(format!("failure {id}: a person wrote this scenario, so it is right"));
    }
    if blames_sentence && statements.is_empty() && !proposals.is_empty() {
        return Err(format!("failure {id}: name the `statements` that are to be translated again"));
    }
    let expected = text("expected").filter(|_| blames_scenario);
    if blames_scenario && expected.is_none_or(|it| it == failure.case.scenario.expected) {
        return Err(format!("failure {id}: say what else the scenario should expect"));
    }
    let why = text("why").unwrap_or_default();
    Ok(Ruling {
        at: failure.at,
        expected: expected.map(str::to_owned),
        statements: if blames_sentence { statements } else { Vec::new() },
        why: why.to_owned(),
    })
}
