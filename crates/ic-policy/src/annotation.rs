//! What the arguments of a tool mean: roles, possibly depending on other arguments.
//!
//! Does not look at values beyond the conditions; resolving them is the work of `ic-resolve`.

use std::collections::{HashMap, HashSet};

use ic_types::{Json, Object, Role, ServerName, ToolName};

use crate::artifact::{AnnotationsFile, ArgumentFile, ArtifactError, ConditionFile, ToolFile};
use crate::pointer::Pointer;

/// The annotations of all tools of all servers.
#[derive(Debug)]
pub(crate) struct Annotations(HashMap<ServerName, HashMap<ToolName, Annotation>>);

/// What the arguments of one tool mean.
#[derive(Debug)]
pub struct Annotation {
    arguments: Vec<ArgumentAnnotation>,
    comment: String,
    input_schema: Option<Json>,
    is_draft: bool,
}

/// What one argument, or one place within an argument, means.
#[derive(Debug)]
pub struct ArgumentAnnotation {
    place: Pointer,
    default: Vec<Role>,
    when: Vec<When>,
    relative_to: Option<Pointer>,
}

/// Roles that hold under a condition.
#[derive(Debug)]
struct When {
    condition: Condition,
    roles: Vec<Role>,
}

/// A question about one other argument; `null` counts as absent.
#[derive(Debug)]
struct Condition {
    argument: String,
    test: Test,
}

#[derive(Debug)]
enum Test {
    OneOf(Vec<Json>),
    Present,
    Absent,
    Truthy,
    Falsy,
}

// === impl Annotations ===

impl Annotations {
    pub(crate) fn compile(file: AnnotationsFile, name: &str) -> Result<Self, ArtifactError> {
        let mut servers = HashMap::new();
        for (server, entry) in file.servers.0 {
            let place = format!("servers.{server}");
            let server: ServerName =
                server.parse().map_err(|error| ArtifactError::new(name, "servers", error))?;
            let mut tools = HashMap::new();
            for (index, tool) in entry.tools.into_iter().enumerate() {
                let place = format!("{place}.tools[{index}]");
                let (tool, annotation) =
                    Annotation::compile(&server, tool).map_err(|(at, reason)| {
                        ArtifactError::new(name, format!("{place}{at}"), reason)
                    })?;
                if tools.contains_key(&tool) {
                    let reason = format!("the tool `{tool}` is annotated twice");
                    return Err(ArtifactError::new(name, place, reason));
                }
                tools.insert(tool, annotation);
            }
            servers.insert(server, tools);
        }
        Ok(Self(servers))
    }

    pub(crate) fn get(&self, server: &ServerName, tool: &ToolName) -> Option<&Annotation> {
        self.0.get(server)?.get(tool)
    }

    /// Returns the servers with a tool that has an argument of such a role.
    pub(crate) fn servers_with(&self, is_meant: impl Fn(Role) -> bool) -> Vec<&ServerName> {
        let mut servers: Vec<&ServerName> = Vec::new();
        for (server, _, annotation) in self.iter() {
            let mut roles =
                annotation.arguments().iter().flat_map(ArgumentAnnotation::possible_roles);
            if servers.last() != Some(&server) && roles.any(&is_meant) {
                servers.push(server);
            }
        }
        servers
    }

    /// Returns all annotated tools, sorted.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&ServerName, &ToolName, &Annotation)> {
        let mut all: Vec<_> = self
            .0
            .iter()
            .flat_map(|(server, tools)| {
                tools.iter().map(move |(tool, annotation)| (server, tool, annotation))
            })
            .collect();
        all.sort_by_key(|(server, tool, _)| (*server, *tool));
        all.into_iter()
    }
}

// === impl Annotation ===

/// Where below a tool's entry something is wrong, and what.
type Fault = (String, String);

impl Annotation {
    fn compile(server: &ServerName, file: ToolFile) -> Result<(ToolName, Self), Fault> {
        let tool: ToolName = file
            .tool_name
            .parse()
            .map_err(|error: ic_types::InvalidName| (".toolName".to_owned(), error.to_string()))?;
        if file.server_name.as_deref().is_some_and(|name| name != server.as_str()) {
            let reason = format!("the tool is listed under the server `{server}`");
            return Err((".serverName".to_owned(), reason));
        }
        let mut arguments: Vec<ArgumentAnnotation> = Vec::new();
        let mut places = HashSet::new();
        for (place, argument) in file.args.0 {
            let fault = |reason| (format!(".args.{place}"), reason);
            let argument = ArgumentAnnotation::compile(&place, argument).map_err(fault)?;
            // SECURITY: each spelling would be resolved and sent by itself, the last one winning.
            if !places.insert(argument.place.clone()) {
                let reason = format!("the place `{}` is annotated twice", argument.place.as_str());
                return Err(fault(reason));
            }
            arguments.push(argument);
        }
        let annotation = Self {
            arguments,
            comment: file.comment,
            input_schema: file.input_schema,
            is_draft: file.draft,
        };
        annotation.check_relative_to()?;
        annotation.check_conditions()?;
        Ok((tool, annotation))
    }

    /// An argument cannot be relative to one that is not annotated, or that is itself relative.
    fn check_relative_to(&self) -> Result<(), Fault> {
        for argument in &self.arguments {
            let Some(base) = &argument.relative_to else { continue };
            let is_usable = self
                .arguments
                .iter()
                .any(|other| other.place == *base && other.relative_to.is_none());
            if !is_usable {
                let place = format!(".args.{}.relativeTo", argument.place.as_str());
                let reason = format!(
                    "`{}` is not an annotated top-level argument",
                    base.as_str().escape_debug()
                );
                return Err((place, reason));
            }
        }
        Ok(())
    }

    /// A condition on an argument that no call may have would never change its answer.
    fn check_conditions(&self) -> Result<(), Fault> {
        let named: HashSet<&str> = self.arguments.iter().map(|a| a.place.argument()).collect();
        for argument in &self.arguments {
            for (index, When { condition, .. }) in argument.when.iter().enumerate() {
                if !named.contains(condition.argument.as_str()) {
                    let place = argument.place.as_str();
                    let name = condition.argument.escape_debug();
                    return Err((
                        format!(".args.{place}.when[{index}].condition.arg"),
                        format!("`{name}` is not the plain name of an annotated argument"),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Returns the annotated arguments, in the file's order.
    pub fn arguments(&self) -> &[ArgumentAnnotation] {
        &self.arguments
    }

    /// Returns whether a call of the tool may change or remove what is at a path.
    pub fn may_change_paths(&self) -> bool {
        self.arguments().iter().any(|it| it.possible_roles().any(Role::changes_path))
    }

    /// Returns whether the annotation speaks of the argument `name`, or of something within it.
    pub fn names(&self, name: &str) -> bool {
        self.arguments.iter().any(|argument| argument.place.argument() == name)
    }

    /// Returns whether nobody has confirmed the annotation yet.
    pub fn is_draft(&self) -> bool {
        self.is_draft
    }

    /// Returns what the tool does, in the annotation's words.
    pub fn comment(&self) -> &str {
        &self.comment
    }

    /// Returns the schema of the tool's arguments.
    pub fn input_schema(&self) -> Option<&Json> {
        self.input_schema.as_ref()
    }
}

// === impl ArgumentAnnotation ===

impl ArgumentAnnotation {
    fn compile(place: &str, file: ArgumentFile) -> Result<Self, String> {
        let place = Pointer::parse(place).map_err(|error| error.to_string())?;
        let when = file
            .when
            .into_iter()
            .map(|when| {
                Ok(When { condition: Condition::compile(when.condition)?, roles: when.roles })
            })
            .collect::<Result<_, String>>()?;
        let relative_to = match file.relative_to {
            Some(base) => Some(Pointer::parse(&base).map_err(|error| error.to_string())?),
            None => None,
        };
        Ok(Self { place, default: file.default, when, relative_to })
    }

    /// Returns where the values stand.
    pub fn place(&self) -> &Pointer {
        &self.place
    }

    /// Returns the roles that the argument has in a call with these `arguments`.
    pub fn roles(&self, arguments: &Object) -> &[Role] {
        self.when
            .iter()
            .find(|when| when.condition.holds(arguments))
            .map_or(&self.default, |when| &when.roles)
    }

    /// Returns every role that the argument can have.
    pub fn possible_roles(&self) -> impl Iterator<Item = Role> {
        self.default.iter().chain(self.when.iter().flat_map(|when| &when.roles)).copied()
    }

    /// Returns examples of other arguments, between them for every role that this one can have under a
    /// condition of its own: none at all, and for each condition a value for which it holds and one for
    /// which it does not.
    pub fn circumstances(&self) -> impl Iterator<Item = Object> {
        let of = |when: &When| {
            let name = &when.condition.argument;
            let other = Json::from("example");
            let held = match &when.condition.test {
                Test::OneOf(values) => values.first().cloned(),
                Test::Present | Test::Truthy => Some(Json::Bool(true)),
                Test::Absent | Test::Falsy => None,
            };
            [held, Some(other)]
                .into_iter()
                .flatten()
                .map(|value| {
                    let mut arguments = Object::new();
                    arguments.insert(name, value);
                    arguments
                })
                .collect::<Vec<_>>()
        };
        std::iter::once(Object::new()).chain(self.when.iter().flat_map(of))
    }

    /// Returns the arguments that decide about the roles, each with the values that conditions name.
    pub fn conditions(&self) -> impl Iterator<Item = (&str, &[Json])> {
        self.when.iter().map(|When { condition, .. }| {
            let named: &[Json] = match &condition.test {
                Test::OneOf(values) => values,
                Test::Present | Test::Absent | Test::Truthy | Test::Falsy => &[],
            };
            (condition.argument.as_str(), named)
        })
    }

    /// Returns the argument against which relative paths are resolved.
    pub fn relative_to(&self) -> Option<&Pointer> {
        self.relative_to.as_ref()
    }
}

// === impl Condition ===

impl Condition {
    fn compile(file: ConditionFile) -> Result<Self, String> {
        use crate::artifact::PresenceFile;
        let test = match (file.equals, file.one_of, file.is) {
            (Some(value), None, None) => Test::OneOf(vec![value]),
            (None, Some(values), None) => Test::OneOf(values),
            (None, None, Some(PresenceFile::Present)) => Test::Present,
            (None, None, Some(PresenceFile::Absent)) => Test::Absent,
            (None, None, Some(PresenceFile::Truthy)) => Test::Truthy,
            (None, None, Some(PresenceFile::Falsy)) => Test::Falsy,
            _ => return Err("a condition has exactly one of `equals`, `in` and `is`".to_owned()),
        };
        Ok(Self { argument: file.arg, test })
    }

    fn holds(&self, arguments: &Object) -> bool {
        let value = arguments.get(&self.argument).filter(|value| **value != Json::Null);
        match &self.test {
            Test::OneOf(values) => value.is_some_and(|value| values.contains(value)),
            Test::Present => value.is_some(),
            Test::Absent => value.is_none(),
            Test::Truthy => value.is_some_and(is_truthy),
            Test::Falsy => !value.is_some_and(is_truthy),
        }
    }
}

/// Returns whether a program in JavaScript would take `value` for true.
fn is_truthy(value: &Json) -> bool {
    match value {
        Json::Null => false,
        Json::Bool(value) => *value,
        Json::Number(number) => !number.is_zero(),
        Json::String(text) => !text.is_empty(),
        Json::Array(_) | Json::Object(_) => true,
    }
}
