//! What the arguments of a stranger's tools mean, as a model sees it: roles for each place, beside the guess.
//!
//! Nothing is confirmed here. A place that looks like a resource keeps a role of its own kind in the guess, so
//! that a person who reads the table sees where the model would take it away.

use ic_types::{Json, Object, Role};

use crate::ask::{AskError, Asker, Question};
use crate::stage::Stage;
use crate::unit::quoted;

/// A tool whose places are to be annotated.
#[derive(Clone, Debug)]
pub struct Drafted {
    /// Its name.
    pub tool: String,
    /// What its server says of it, whole; a quotation.
    pub listed: Option<Object>,
    /// The names of its arguments, or pointers into them.
    pub places: Vec<String>,
}

/// What a model says of one place.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Said {
    /// The tool.
    pub tool: String,
    /// The place.
    pub place: String,
    /// Its roles; never empty.
    pub roles: Vec<Role>,
    /// Why, in the model's words.
    pub note: String,
}

/// How many tools are asked about at once.
const TOOLS_MAX: usize = 20;

/// Asks what the places of tools mean.
pub async fn ask(
    asker: &Asker<'_>,
    server: &str,
    tools: &[Drafted],
) -> Result<Vec<Said>, AskError> {
    let mut said = Vec::new();
    for some in tools.chunks(TOOLS_MAX) {
        let mut input = Object::new();
        input.insert("server", server);
        input.insert("roles", roles());
        input.insert("tools", some.iter().map(Drafted::to_json).collect::<Vec<_>>());
        let question = Question { stage: Stage::Annotate, unit: server, input };
        said.extend(asker.ask(&question, |answer| read(answer, some)).await?);
    }
    Ok(said)
}

impl Drafted {
    fn to_json(&self) -> Json {
        let mut tool = Object::new();
        tool.insert("name", self.tool.as_str());
        let listed = self.listed.as_ref();
        let text = |key: &str| listed.and_then(|it| it.get(key)?.as_str()).map(quoted);
        tool.insert("description", text("description").unwrap_or_default());
        if let Some(schema) = listed.and_then(|it| it.get("inputSchema")) {
            tool.insert("schema", schema.clone());
        }
        let places = self.places.iter().map(|it| Json::from(it.as_str()));
        tool.insert("places", places.collect::<Vec<_>>());
        Json::Object(tool)
    }
}

/// Describes the roles for a model.
fn roles() -> Json {
    let role = |role: Role| {
        let mut row = Object::new();
        row.insert("role", role.as_str());
        row.insert("kind", format!("{:?}", role.category()).to_lowercase());
        Json::Object(row)
    };
    Json::Array(Role::all().map(role).collect())
}

fn read(answer: &Object, tools: &[Drafted]) -> Result<Vec<Said>, String> {
    let Some(Json::Array(all)) = answer.get("tools") else {
        return Err("`tools` is missing".to_owned());
    };
    let all: Vec<&Object> = objects(all).collect();
    let mut said = Vec::new();
    for tool in tools {
        let named = |it: &&&Object| it.get("tool").and_then(Json::as_str) == Some(&tool.tool);
        let mut found = all.iter().filter(named);
        let (Some(one), None) = (found.next(), found.next()) else {
            return Err(format!("tool `{}` has to be answered exactly once", tool.tool));
        };
        let Some(Json::Array(places)) = one.get("places") else {
            return Err(format!("tool `{}`: `places` is missing", tool.tool));
        };
        let places: Vec<&Object> = objects(places).collect();
        for place in &tool.places {
            let named = |it: &&&Object| it.get("place").and_then(Json::as_str) == Some(place);
            let mut found = places.iter().filter(named);
            let (Some(one), None) = (found.next(), found.next()) else {
                return Err(format!("`{}`: place `{place}` has to be there once", tool.tool));
            };
            said.push(said_of(one, tool, place)?);
        }
        if places.len() != tool.places.len() {
            return Err(format!("`{}`: only the places that were given", tool.tool));
        }
    }
    Ok(said)
}

fn said_of(one: &Object, tool: &Drafted, place: &str) -> Result<Said, String> {
    let mut roles: Vec<Role> = Vec::new();
    for name in crate::sentences::texts(one, "roles") {
        let role = name.parse::<Role>().map_err(|_| format!("`{name}` is not a role"))?;
        if !roles.contains(&role) {
            roles.push(role);
        }
    }
    if 1 < roles.len() && roles.contains(&Role::None) {
        return Err(format!("`{}`: `{place}`: `none` stands alone", tool.tool));
    }
    let note = one.get("note").and_then(Json::as_str).unwrap_or_default().to_owned();
    Ok(Said { tool: tool.tool.clone(), place: place.to_owned(), roles, note })
}

fn objects(all: &[Json]) -> impl Iterator<Item = &Object> {
    all.iter().filter_map(|it| match it {
        Json::Object(object) => Some(object),
        _ => None,
    })
}
