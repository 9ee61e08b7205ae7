//! Calls that test sentences: those that a person wrote, and those of a model that has not seen the rules.

use ic_constitution::scenario::Scenario;
use ic_schema::Schema;
use ic_types::{Json, Object, ServerName, ToolName};

use crate::ask::{AskError, Asker, Question};
use crate::run::Statement;
use crate::stage::Stage;
use crate::unit::Unit;

/// A call and what is expected of it.
#[derive(Clone, Debug)]
pub struct Case {
    /// The call.
    pub scenario: Scenario,
    /// Whether a person wrote it, so that nothing changes it.
    pub is_handwritten: bool,
}

/// Asks for calls that test statements with the tools of a unit.
pub(crate) async fn ask(
    asker: &Asker<'_>,
    unit: &Unit,
    text: &str,
    statements: &[Statement],
) -> Result<Vec<Case>, AskError> {
    let mut input = Object::new();
    input.insert("constitution", text);
    input.insert("statements", Statement::all_to_json(statements));
    input.insert("servers", unit.to_json());
    let question = Question { stage: Stage::Scenarios, unit: &unit.name, input };
    asker.ask(&question, |answer| read(answer, unit)).await
}

fn read(answer: &Object, unit: &Unit) -> Result<Vec<Case>, String> {
    let Some(Json::Array(all)) = answer.get("scenarios") else {
        return Err("`scenarios` is missing".to_owned());
    };
    all.iter().map(|it| case(it, unit)).collect()
}

fn case(scenario: &Json, unit: &Unit) -> Result<Case, String> {
    let Json::Object(scenario) = scenario else { return Err("not an object".to_owned()) };
    let text = |key: &str| scenario.get(key).and_then(Json::as_str).unwrap_or_default();
    let (server, tool) = (text("server"), text("tool"));
    let Some(known) = unit.tool(server, tool) else {
        return Err(format!("there is no tool `{tool}` of `{server}`; use the tools given"));
    };
    let Some(Json::Object(arguments)) = scenario.get("arguments") else {
        return Err("`arguments` has to be an object".to_owned());
    };
    if let Some(schema) = &known.schema
        && let Ok(schema) = Schema::compile(schema)
    {
        schema.check(arguments).map_err(|violation| format!("`{tool}`: {violation}"))?;
    }
    let parsed = |what: &str| format!("`{what}` is not a name");
    let server: ServerName = server.parse().map_err(|_| parsed(server))?;
    let tool: ToolName = tool.parse().map_err(|_| parsed(tool))?;
    let scenario = Scenario {
        description: text("description").to_owned(),
        server,
        tool,
        role: None,
        arguments: arguments.clone(),
        expected: text("expected").to_owned(),
        reasoning: text("reasoning").to_owned(),
    };
    Ok(Case { scenario, is_handwritten: false })
}
