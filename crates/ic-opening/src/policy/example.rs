//! Example calls: what the policy in force says about one role of a server, at one place.
//!
//! Nothing is forwarded, and no rule is read here.

use ic_policy::{Annotation, ArgumentAnnotation, Effect};
use ic_types::{Json, Object, Role, ServerName, ToolCall, ToolName};

use super::Loaded;

impl Loaded {
    /// Returns the servers with tools that name files, sorted.
    pub fn path_servers(&self) -> Vec<&ServerName> {
        let mut servers: Vec<&ServerName> = Vec::new();
        for (server, _, annotation) in self.judge.policy.annotations() {
            let is_path = |role: Role| role.category() == ic_types::Category::Path;
            if servers.last() != Some(&server)
                && self.servers.get(server.as_str()).is_some()
                && possible_roles(annotation).any(is_path)
            {
                servers.push(server);
            }
        }
        servers
    }

    /// Returns what the policy says about `role` of a call of this tool with `value`; `None` if the tool
    /// has no such argument.
    pub fn effect_of_role(
        &self,
        (server, tool): (&ServerName, &ToolName),
        role: Role,
        value: &str,
    ) -> Option<Effect> {
        let annotation = self.judge.policy.annotation(server, tool)?;
        let arguments = arguments(annotation, &|it| (it == role).then(|| value.to_owned()));
        // A role that depends on other arguments may not be among them now.
        let mut named = annotation.arguments().iter().flat_map(|it| it.roles(&arguments));
        if arguments.is_empty() || !named.any(|it| *it == role) {
            return None;
        }
        let call = ToolCall { server: server.clone(), tool: tool.clone(), arguments };
        let (_, findings) = self.judge.explain(call);
        let of_role = findings.iter().filter(|it| it.role == Some(role)).map(|it| it.effect).max();
        of_role.or_else(|| ic_policy::decisive(&findings).map(|it| it.effect))
    }

    /// Returns what the most lenient tool of `server` may do in `role` with `value`.
    pub fn most_lenient(&self, server: &ServerName, role: Role, value: &str) -> Option<Effect> {
        let tools = self.judge.policy.annotations().filter(|(of, _, _)| *of == server);
        tools.filter_map(|(_, tool, _)| self.effect_of_role((server, tool), role, value)).min()
    }
}

/// Returns the roles that arguments of a tool can have.
pub fn possible_roles(annotation: &Annotation) -> impl Iterator<Item = Role> {
    annotation.arguments().iter().flat_map(ArgumentAnnotation::possible_roles)
}

/// Makes arguments with the values of their roles; what has none is left out.
pub fn arguments(annotation: &Annotation, value_of: &dyn Fn(Role) -> Option<String>) -> Object {
    let mut arguments = Object::new();
    for argument in annotation.arguments() {
        let name = argument.place().as_str();
        let Some(value) = argument.possible_roles().find_map(value_of) else { continue };
        if name.starts_with('/') {
            continue;
        }
        match annotation.input_schema().is_some_and(|schema| is_list(schema, name)) {
            true => arguments.insert(name, Json::Array(vec![Json::from(value)])),
            false => arguments.insert(name, value),
        }
    }
    arguments
}

/// Returns whether the schema says that the argument `name` is a list.
fn is_list(schema: &Json, name: &str) -> bool {
    let get = |json: &Json, key: &str| match json {
        Json::Object(object) => object.get(key).cloned(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => None,
    };
    let kind =
        get(schema, "properties").and_then(|it| get(&it, name)).and_then(|it| get(&it, "type"));
    kind.is_some_and(|kind| kind == Json::from("array"))
}
