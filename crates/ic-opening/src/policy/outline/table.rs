//! What the policy in force answers: one column for each thing that a server can do, one row for each place.
//!
//! Rules choose the places that are asked about, and which tools one probe can stand for; what is said of
//! them is the answer to a call that is judged as a real one is. Nothing is forwarded.

use ic_inventory::servers_file::{BuiltinServer, Start};
use ic_policy::{Annotation, Authority, Effect, Finding, Rule, Structural};
use ic_types::{Category, Object, Role, ServerName, ToolCall, ToolName};

use crate::policy::{Loaded, arguments, possible_roles};

/// What can be done with files, and the word for it.
pub(super) const VERBS: [(&str, Role); 5] = [
    ("read", Role::ReadPath),
    ("write", Role::WritePath),
    ("delete", Role::DeletePath),
    ("commit", Role::WriteHistory),
    ("rewrite history", Role::DeleteHistory),
];

/// Tools of one server that the policy cannot tell apart, doing one thing.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) server: ServerName,
    pub(super) role: Role,
    /// All of them; the first one is asked about.
    pub(super) tools: Vec<ToolName>,
    /// Arguments that the role depends on.
    circumstances: Object,
    /// How the rules tell these tools from the others.
    kind: Kind,
}

/// What rules and invariants can tell tools of one server apart by.
type Kind = (bool, Vec<bool>);

/// What the policy answers in one row, column by column; `None` where it could not be asked.
pub(super) type Answers = Vec<Option<Effect>>;

impl Loaded {
    /// Returns what the configured servers can do with files, addresses and remotes.
    pub(super) fn columns(&self) -> Vec<Column> {
        let naming: Vec<&Rule> =
            self.judge.policy.rules().iter().filter(|rule| rule.names_tools()).collect();
        let roles = VERBS.iter().map(|(_, role)| *role);
        let mut columns: Vec<Column> = Vec::new();
        for role in roles.chain([Role::FetchUrl, Role::GitRemoteUrl]) {
            for (server, tool, annotation) in self.configured_tools() {
                let Some(circumstances) = circumstances_of(annotation, role) else { continue };
                let is_about = |rule: &&Rule| {
                    rule.is_about(server.as_str()) && rule.is_about_tool(tool.as_str())
                };
                let kind = (annotation.is_draft(), naming.iter().map(is_about).collect());
                let same =
                    |it: &&mut Column| it.server == *server && it.role == role && it.kind == kind;
                match columns.iter_mut().find(same) {
                    Some(column) => column.tools.push(tool.clone()),
                    None => columns.push(Column {
                        server: server.clone(),
                        role,
                        tools: vec![tool.clone()],
                        circumstances,
                        kind,
                    }),
                }
            }
        }
        columns
    }

    /// Returns whether a column is that of our shell server.
    pub(super) fn runs_commands(&self, column: &Column) -> bool {
        let server = self.servers.get(column.server.as_str());
        server.is_some_and(|(_, it)| it.start == Start::Builtin(BuiltinServer::Shell))
    }

    /// Returns what the policy answers about `value` in each of `columns`.
    pub(super) fn answers(&self, columns: &[&Column], value: &str) -> Answers {
        columns.iter().map(|column| self.answer(column, value)).collect()
    }

    /// Returns what the policy answers about `value` in one column.
    pub(super) fn answer(&self, column: &Column, value: &str) -> Option<Effect> {
        let tool = column.tools.first()?;
        let annotation = self.judge.policy.annotation(&column.server, tool)?;
        let mut arguments =
            arguments(annotation, &|it| (it == column.role).then(|| value.to_owned()));
        for (name, value) in column.circumstances.iter() {
            arguments.insert(name, value.clone());
        }
        let call = ToolCall { server: column.server.clone(), tool: tool.clone(), arguments };
        let findings = self.judge.explain_by_name(call);
        let speaks = |it: &&Finding| {
            it.role == Some(column.role) || (it.role.is_none() && it.effect != Effect::Allow)
        };
        let worst = findings.iter().filter(speaks).map(|it| it.effect).max();
        worst.or_else(|| ic_policy::decisive(&findings).map(|it| it.effect))
    }

    /// Returns the tools of other servers that name no file and no address, with what the policy answers.
    ///
    /// Such tools of the built-in servers reach nothing.
    pub(super) fn placeless(&self) -> Vec<(ServerName, ToolName, Effect)> {
        let mut found = Vec::new();
        for (server, tool, annotation) in self.configured_tools() {
            let is_place = |role: Role| matches!(role.category(), Category::Path | Category::Url);
            let is_builtin = self
                .servers
                .get(server.as_str())
                .is_some_and(|(_, it)| matches!(it.start, Start::Builtin(_)));
            if is_builtin || possible_roles(annotation).any(is_place) {
                continue;
            }
            let call =
                ToolCall { server: server.clone(), tool: tool.clone(), arguments: Object::new() };
            let findings = self.judge.explain_by_name(call);
            let decisive = ic_policy::decisive(&findings);
            let is_said = |it: &&Finding| {
                it.authority != Authority::Structural(Structural::IntrospectionAllow)
            };
            if let Some(finding) = decisive.filter(is_said) {
                found.push((server.clone(), tool.clone(), finding.effect));
            }
        }
        found
    }

    /// Returns whether a tool can do something that no probe can ask about.
    pub(super) fn has_unasked(&self) -> bool {
        self.configured_tools().any(|(_, _, annotation)| {
            let is_asked = |role: &Role| {
                VERBS.iter().any(|(_, it)| it == role)
                    || matches!(role, Role::FetchUrl | Role::GitRemoteUrl)
            };
            let mut roles = possible_roles(annotation).filter(is_asked);
            roles.any(|role| circumstances_of(annotation, role).is_none())
        })
    }

    fn configured_tools(&self) -> impl Iterator<Item = (&ServerName, &ToolName, &Annotation)> {
        let all = self.judge.policy.annotations();
        all.filter(|(server, ..)| self.servers.get(server.as_str()).is_some())
    }
}

/// Returns arguments with which a call of the tool has an argument of `role`; `None` if there are none.
fn circumstances_of(annotation: &Annotation, role: Role) -> Option<Object> {
    let usable = annotation.arguments().iter().filter(|it| !it.place().as_str().starts_with('/'));
    let mut having = usable.filter(|it| it.possible_roles().any(|it| it == role));
    having.find_map(|argument| {
        argument.circumstances().find(|other| argument.roles(other).contains(&role))
    })
}
