//! What there is to call: servers, their tools, and how they are described.
//!
//! Descriptions and schemas come from servers and are untrusted; they reach the worker as they are,
//! for `help()`, and the host reads nothing out of them.

use ic_types::{Json, Object, ServerName, ToolName};

/// Everything that a script can call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Catalogue {
    /// The servers, in the order in which they are shown.
    pub servers: Vec<ServerEntry>,
}

/// A server.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerEntry {
    /// Its name.
    pub name: ServerName,
    /// What it is for.
    pub description: Option<String>,
    /// Its tools.
    pub tools: Vec<ToolEntry>,
}

/// A tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolEntry {
    /// Its name.
    pub name: ToolName,
    /// What it does.
    pub description: Option<String>,
    /// What it takes.
    pub input_schema: Object,
    /// What it gives, if it says so; then a script gets its structured content.
    pub output_schema: Option<Object>,
}

impl Catalogue {
    /// Returns a tool.
    pub fn tool(&self, server: &str, tool: &str) -> Option<(&ServerEntry, &ToolEntry)> {
        let server = self.servers.iter().find(|it| it.name.as_str() == server)?;
        server.tools.iter().find(|it| it.name.as_str() == tool).map(|tool| (server, tool))
    }

    pub(crate) fn to_json(&self) -> Json {
        let servers = self.servers.iter().map(|server| {
            let mut object = Object::new();
            object.insert("name", server.name.as_str());
            object.insert("description", optional(server.description.as_deref()));
            let tools: Vec<Json> = server.tools.iter().map(tool_to_json).collect();
            object.insert("tools", tools);
            Json::Object(object)
        });
        Json::Array(servers.collect())
    }

    pub(crate) fn from_json(json: Json) -> Option<Self> {
        let servers = array(json)?.into_iter().map(|server| {
            let Json::Object(mut server) = server else { return None };
            let tools = array(server.remove("tools")?)?.into_iter().map(tool_from_json);
            Some(ServerEntry {
                name: server.get("name")?.as_str()?.parse().ok()?,
                description: server.get("description")?.as_str().map(ToOwned::to_owned),
                tools: tools.collect::<Option<_>>()?,
            })
        });
        Some(Self { servers: servers.collect::<Option<_>>()? })
    }
}

fn tool_to_json(tool: &ToolEntry) -> Json {
    let mut object = Object::new();
    object.insert("name", tool.name.as_str());
    object.insert("description", optional(tool.description.as_deref()));
    object.insert("input", tool.input_schema.clone());
    object.insert("output", tool.output_schema.clone().map_or(Json::Null, Json::Object));
    Json::Object(object)
}

fn tool_from_json(json: Json) -> Option<ToolEntry> {
    let Json::Object(mut tool) = json else { return None };
    let Json::Object(input_schema) = tool.remove("input")? else { return None };
    let output_schema = match tool.remove("output")? {
        Json::Object(schema) => Some(schema),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => None,
    };
    Some(ToolEntry {
        name: tool.get("name")?.as_str()?.parse().ok()?,
        description: tool.get("description")?.as_str().map(ToOwned::to_owned),
        input_schema,
        output_schema,
    })
}

pub(crate) fn optional(text: Option<&str>) -> Json {
    text.map_or(Json::Null, Json::from)
}

pub(crate) fn array(json: Json) -> Option<Vec<Json>> {
    match json {
        Json::Array(items) => Some(items),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Object(_) => None,
    }
}
