//! The values of lists: which call returns them, which values a model names, and what can be a value.
//!
//! Calls are made and judged elsewhere, and a person is shown every value before it counts.

mod values;

use ic_types::{Json, Object, ServerName, ToolName};

use crate::ask::{AskError, Asker, Question};
use crate::stage::Stage;
use crate::unit::{ToolInfo, quoted};

pub use values::{Kind, VALUES_MAX, found_in, usable};

/// How much of a result a model is shown; more is an error, not a shorter list.
const RESULT_BYTES_MAX: usize = 200_000;

/// A list whose values a model is to find.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Its name.
    pub name: &'a str,
    /// What its values are.
    pub kind: Kind,
    /// What the user says is on it.
    pub words: &'a str,
    /// The date: an answer of another day is asked for again.
    pub today: &'a str,
}

impl Wanted<'_> {
    fn to_json(self) -> Object {
        let mut input = Object::new();
        input.insert("list", self.name);
        input.insert("kind", self.kind.as_str());
        input.insert("words", self.words);
        input.insert("today", self.today);
        input
    }
}

/// Asks which call of a server returns the values.
pub async fn call_for(
    asker: &Asker<'_>,
    (server, tools): (&ServerName, &[&ToolInfo]),
    wanted: Wanted<'_>,
) -> Result<(ToolName, Object), AskError> {
    let mut input = wanted.to_json();
    let tool = |it: &&ToolInfo| {
        let mut tool = Object::new();
        tool.insert("name", it.tool.as_str());
        tool.insert("description", quoted(&it.description));
        if let Some(schema) = &it.schema {
            tool.insert("schema", schema.clone());
        }
        Json::Object(tool)
    };
    input.insert("tools", tools.iter().map(tool).collect::<Vec<_>>());
    let question = Question { stage: Stage::ListCall, unit: server.as_str(), input };
    let read = |answer: &Object| {
        let name = answer.get("tool").and_then(Json::as_str).unwrap_or_default();
        let Some(tool) = tools.iter().find(|it| it.tool.as_str() == name) else {
            return Err(format!("`{server}` has no tool `{name}`"));
        };
        match answer.get("arguments") {
            Some(Json::Object(arguments)) => Ok((tool.tool.clone(), arguments.clone())),
            _ => Err("`arguments` is an object".to_owned()),
        }
    };
    asker.ask(&question, read).await
}

/// Asks for the values; with a `result`, each of them has to stand in it.
pub async fn values(
    asker: &Asker<'_>,
    unit: &str,
    wanted: Wanted<'_>,
    result: Option<&str>,
) -> Result<Vec<String>, AskError> {
    let mut input = wanted.to_json();
    if let Some(result) = result {
        if RESULT_BYTES_MAX < result.len() {
            let fault = format!("the result has more than {RESULT_BYTES_MAX} bytes");
            let unit = unit.to_owned();
            return Err(AskError::Unusable { stage: Stage::ListValues, unit, fault });
        }
        input.insert("result", result);
    }
    let question = Question { stage: Stage::ListValues, unit, input };
    asker.ask(&question, |answer| read(answer, wanted.kind, result)).await
}

fn read(answer: &Object, kind: Kind, result: Option<&str>) -> Result<Vec<String>, String> {
    let Some(Json::Array(all)) = answer.get("values") else {
        return Err("`values` is missing".to_owned());
    };
    let mut values: Vec<String> = Vec::new();
    for value in all.iter().filter_map(Json::as_str) {
        let value = usable(kind, value, result.is_none())?;
        // SECURITY: a value that no tool returned would be the model's own idea.
        if result.is_some_and(|it| !values::stands_in(&value, it)) {
            return Err(format!("`{value}` does not stand in the result"));
        }
        if !values.contains(&value) {
            values.push(value);
        }
    }
    if values.is_empty() {
        return Err("there is no value".to_owned());
    }
    Ok(values)
}
