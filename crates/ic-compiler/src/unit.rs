//! What a run of the stages is about: the built-in servers together, or one server that was added.

use ic_policy::Effect;
use ic_types::{Json, Object, Role, ServerName, ToolName};

use ic_constitution::grammar::BUILT_IN_SERVERS;
use ic_constitution::{Deed, HostPlace, NamePlace, Place, Sentence};

/// The name of the unit of the built-in servers.
pub const BUILT_IN: &str = "built-in servers";
/// How much of a stranger's description a model is shown.
const DESCRIPTION_CHARS_MAX: usize = 2000;

/// Servers that sentences are proposed for together.
#[derive(Clone, Debug)]
pub struct Unit {
    /// What it is called.
    pub name: String,
    /// Whether these are the built-in servers, which sentences without a server are about.
    pub is_built_in: bool,
    /// The tools.
    pub tools: Vec<ToolInfo>,
}

/// What is known of a tool.
#[derive(Clone, Debug)]
pub struct ToolInfo {
    /// Its server.
    pub server: ServerName,
    /// Its name.
    pub tool: ToolName,
    /// What its server says of it; a quotation.
    pub description: String,
    /// The schema of its arguments, if it is known.
    pub schema: Option<Json>,
    /// Its arguments, each with the roles that it may have.
    pub arguments: Vec<(String, Vec<Role>)>,
}

impl Unit {
    /// Puts tools into units: the built-in servers first, then each other server by its name.
    pub fn of(tools: Vec<ToolInfo>) -> Vec<Self> {
        let mut built_in = Self { name: BUILT_IN.to_owned(), is_built_in: true, tools: Vec::new() };
        let mut others: Vec<Self> = Vec::new();
        for tool in tools {
            if BUILT_IN_SERVERS.contains(&tool.server.as_str()) {
                built_in.tools.push(tool);
                continue;
            }
            match others.iter_mut().find(|it| it.name == tool.server.as_str()) {
                Some(unit) => unit.tools.push(tool),
                None => others.push(Self {
                    name: tool.server.to_string(),
                    is_built_in: false,
                    tools: vec![tool],
                }),
            }
        }
        others.sort_by(|a, b| a.name.cmp(&b.name));
        std::iter::once(built_in).chain(others).collect()
    }

    /// Returns a tool of the unit.
    pub fn tool(&self, server: &str, tool: &str) -> Option<&ToolInfo> {
        self.tools.iter().find(|it| it.server.as_str() == server && it.tool.as_str() == tool)
    }

    /// Writes the servers for a model.
    pub(crate) fn to_json(&self) -> Json {
        let mut servers: Vec<(&ServerName, Vec<Json>)> = Vec::new();
        for tool in &self.tools {
            match servers.iter_mut().find(|(server, _)| *server == &tool.server) {
                Some((_, tools)) => tools.push(tool.to_json()),
                None => servers.push((&tool.server, vec![tool.to_json()])),
            }
        }
        let server = |(name, tools): (&ServerName, Vec<Json>)| {
            let mut server = Object::new();
            server.insert("name", name.as_str());
            server.insert("tools", tools);
            Json::Object(server)
        };
        Json::Array(servers.into_iter().map(server).collect())
    }

    /// Says why a sentence is not one about this unit, if it is not.
    ///
    /// SECURITY: a model that was asked about one server must not open another one.
    pub(crate) fn refuses(&self, sentence: &Sentence, lists: &[String]) -> Option<String> {
        let named = match &sentence.deed {
            Deed::Use(tools) => tools.iter().chain(&sentence.with).collect::<Vec<_>>(),
            Deed::Verbs(_) | Deed::UseWithoutResources | Deed::EverythingElse => {
                sentence.with.iter().collect()
            }
        };
        for with in &named {
            let of_server = || self.tools.iter().filter(|it| it.server == with.server);
            if of_server().next().is_none() {
                return Some(format!("`{}` is not a server that was asked about", with.server));
            }
            if let Some(tool) = &with.tool
                && !of_server().any(|it| it.tool == *tool)
            {
                return Some(format!("`{}` has no tool `{tool}`", with.server));
            }
        }
        if !self.is_built_in && named.is_empty() {
            return Some(format!("it has to name the server: add `with {}`", self.name));
        }
        let unknown = lists_of(sentence).find(|name| !lists.iter().any(|it| it == name))?;
        Some(format!("there is no list `@{unknown}`"))
    }
}

fn lists_of(sentence: &Sentence) -> impl Iterator<Item = &str> {
    let names: Vec<&str> = match &sentence.place {
        Place::Hosts(all) => all
            .iter()
            .filter_map(|it| match it {
                HostPlace::List(name) => Some(name.as_str()),
                HostPlace::Pattern(_) | HostPlace::Local => None,
            })
            .collect(),
        Place::Names(all) => all
            .iter()
            .filter_map(|it| match it {
                NamePlace::List(name) => Some(name.as_str()),
                NamePlace::Name(_) => None,
            })
            .collect(),
        Place::Unsaid
        | Place::Anywhere
        | Place::Elsewhere
        | Place::Unnamed
        | Place::Directories(_) => Vec::new(),
    };
    names.into_iter()
}

/// Returns whether a sentence opens something.
pub(crate) fn opens(sentence: &Sentence) -> bool {
    sentence.effect == Effect::Allow
}

impl ToolInfo {
    fn to_json(&self) -> Json {
        let mut tool = Object::new();
        tool.insert("name", self.tool.as_str());
        tool.insert("description", quoted(&self.description));
        let mut arguments = Object::new();
        for (name, roles) in &self.arguments {
            let roles: Vec<Json> = roles.iter().map(|it| Json::from(it.as_str())).collect();
            arguments.insert(name.as_str(), roles);
        }
        tool.insert("arguments", arguments);
        Json::Object(tool)
    }
}

/// Shortens a stranger's text, and takes out what a person would not see.
pub(crate) fn quoted(text: &str) -> String {
    let is_plain = |it: &char| !it.is_control() || matches!(it, '\n' | '\t');
    text.chars().filter(is_plain).take(DESCRIPTION_CHARS_MAX).collect()
}
