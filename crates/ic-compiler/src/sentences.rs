//! Plain sentences for free ones: what a model proposes, held against the grammar and the unit.

use ic_constitution::{Sentence, grammar, proposed};
use ic_types::{Json, Object};

use crate::ask::{AskError, Asker, Question};
use crate::run::Statement;
use crate::stage::Stage;
use crate::unit::Unit;

/// What is proposed for one statement.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Proposed {
    /// The statement.
    pub(crate) id: usize,
    /// The sentences, in our words.
    pub(crate) sentences: Vec<Sentence>,
    /// What the model says of it; never shown as words of ours.
    pub(crate) note: String,
}

/// What a model is told besides the statements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'a> {
    /// The whole constitution.
    pub(crate) text: &'a str,
    /// The lists that there are.
    pub(crate) lists: &'a [String],
    /// What was wrong with earlier sentences.
    pub(crate) feedback: &'a [String],
}

/// Asks for sentences that stand for statements, about the servers of a unit.
pub(crate) async fn ask(
    asker: &Asker<'_>,
    unit: &Unit,
    context: Context<'_>,
    statements: &[Statement],
) -> Result<Vec<Proposed>, AskError> {
    let texts = |all: &[String]| all.iter().map(|it| Json::from(it.as_str())).collect::<Vec<_>>();
    let mut input = Object::new();
    input.insert("grammar", grammar::page());
    input.insert("constitution", context.text);
    input.insert("statements", Statement::all_to_json(statements));
    input.insert("is_built_in", unit.is_built_in);
    input.insert("servers", unit.to_json());
    input.insert("lists", texts(context.lists));
    if !context.feedback.is_empty() {
        input.insert("feedback", texts(context.feedback));
    }
    let question = Question { stage: Stage::Sentences, unit: &unit.name, input };
    asker.ask(&question, |answer| read(answer, unit, context.lists, statements)).await
}

fn read(
    answer: &Object,
    unit: &Unit,
    lists: &[String],
    statements: &[Statement],
) -> Result<Vec<Proposed>, String> {
    let Some(Json::Array(all)) = answer.get("statements") else {
        return Err("`statements` is missing".to_owned());
    };
    let mut found = Vec::new();
    let mut faults = Vec::new();
    for statement in statements {
        let is_it = |it: &&Json| matches!(it, Json::Object(it) if id_of(it) == Some(statement.id));
        let mut said = all.iter().filter(is_it);
        let (Some(Json::Object(one)), None) = (said.next(), said.next()) else {
            faults.push(format!("statement {} has to be answered exactly once", statement.id));
            continue;
        };
        let mut sentences: Vec<Sentence> = Vec::new();
        for text in texts(one, "sentences") {
            match proposed(text, statement.line) {
                Err(fault) => faults.push(format!("statement {}: {fault}", statement.id)),
                Ok(sentence) => match unit.refuses(&sentence, lists) {
                    Some(why) => {
                        faults.push(format!("statement {}: `{text}`: {why}", statement.id));
                    }
                    None if sentences.contains(&sentence) => {}
                    None => sentences.push(sentence),
                },
            }
        }
        let note = one.get("note").and_then(Json::as_str).unwrap_or_default().to_owned();
        found.push(Proposed { id: statement.id, sentences, note });
    }
    let is_known = |it: &Json| {
        let id = match it {
            Json::Object(it) => id_of(it),
            _ => None,
        };
        statements.iter().any(|statement| Some(statement.id) == id)
    };
    if !all.iter().all(is_known) {
        faults.push("answer the statements that were given, and no others".to_owned());
    }
    if faults.is_empty() { Ok(found) } else { Err(faults.join("\n")) }
}

/// Asks which statements a unit has to do with.
pub(crate) async fn relevant(
    asker: &Asker<'_>,
    unit: &Unit,
    statements: &[Statement],
) -> Result<Vec<Statement>, AskError> {
    // Sentences without a server are proposed with the built-in ones, so nothing may fall away there.
    if unit.is_built_in {
        return Ok(statements.to_vec());
    }
    let mut input = Object::new();
    input.insert("statements", Statement::all_to_json(statements));
    input.insert("servers", unit.to_json());
    let question = Question { stage: Stage::PreFilter, unit: &unit.name, input };
    let read = |answer: &Object| {
        let Some(Json::Array(ids)) = answer.get("ids") else {
            return Err("`ids` is missing".to_owned());
        };
        let ids: Vec<Option<usize>> = ids.iter().map(number).collect();
        let is_known = |id: &Option<usize>| statements.iter().any(|it| Some(it.id) == *id);
        if !ids.iter().all(is_known) {
            return Err("name the statements that were given, and no others".to_owned());
        }
        Ok(statements.iter().filter(|it| ids.contains(&Some(it.id))).cloned().collect())
    };
    asker.ask(&question, read).await
}

pub(crate) fn number(json: &Json) -> Option<usize> {
    match json {
        Json::Number(number) => number.as_str().parse().ok(),
        _ => None,
    }
}

pub(crate) fn id_of(object: &Object) -> Option<usize> {
    number(object.get("id")?)
}

pub(crate) fn texts<'a>(object: &'a Object, key: &str) -> impl Iterator<Item = &'a str> {
    let all = match object.get(key) {
        Some(Json::Array(all)) => all.as_slice(),
        _ => &[],
    };
    all.iter().filter_map(Json::as_str)
}
