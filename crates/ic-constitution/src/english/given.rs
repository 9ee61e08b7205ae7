//! A rule as compiled-policy.json has it, to be read back; what it means is not decided here.

use ic_policy::Effect;
use ic_types::{Json, JsonLimits, Object, Role};

/// A rule that is given.
#[derive(Clone, Debug)]
pub struct Given {
    pub(super) name: String,
    pub(super) effect: Effect,
    pub(super) reason: String,
    pub(super) servers: Option<Vec<String>>,
    pub(super) tools: Option<Vec<String>>,
    pub(super) roles: Option<Vec<Role>>,
    pub(super) paths: Option<GivenPaths>,
    pub(super) domains: Option<(Vec<Role>, Vec<String>)>,
    pub(super) lists: Vec<GivenList>,
    pub(super) json: Json,
}

#[derive(Clone, Debug)]
pub(super) struct GivenPaths {
    pub(super) roles: Vec<Role>,
    pub(super) within: String,
    pub(super) leaves_sandbox: bool,
}

#[derive(Clone, Debug)]
pub(super) struct GivenList {
    pub(super) roles: Vec<Role>,
    pub(super) allowed: Vec<String>,
    pub(super) kind: String,
}

impl Given {
    /// Reads the rules of a compiled-policy.json; `None` if it is not one.
    pub fn read(bytes: &[u8]) -> Option<Vec<Self>> {
        match Json::parse(bytes, JsonLimits::ARTIFACT).ok()? {
            Json::Object(file) => match file.get("rules")? {
                Json::Array(rules) => rules.iter().map(Self::of).collect(),
                _ => None,
            },
            _ => None,
        }
    }

    /// Reads one rule.
    pub fn of(json: &Json) -> Option<Self> {
        let Json::Object(rule) = json else { return None };
        let effect = match text(rule, "then")?.as_str() {
            "allow" => Effect::Allow,
            "escalate" => Effect::Escalate,
            "deny" => Effect::Deny,
            _ => return None,
        };
        let condition = object(rule, "if")?;
        let part = |key: &str| condition.get(key).map(|_| object(condition, key));
        let paths = match part("paths") {
            Some(paths) => {
                let paths = paths?;
                let leaves_sandbox = match paths.get("leavesSandbox") {
                    Some(Json::Bool(leaves)) => *leaves,
                    Some(_) => return None,
                    None => false,
                };
                let (roles, within) = (roles(paths, "roles")?, text(paths, "within")?);
                Some(GivenPaths { roles, within, leaves_sandbox })
            }
            None => None,
        };
        let domains = match part("domains") {
            Some(domains) => {
                let domains = domains?;
                Some((roles(domains, "roles")?, texts(domains, "allowed")?))
            }
            None => None,
        };
        let lists = match condition.get("lists") {
            Some(Json::Array(lists)) => lists.iter().map(list).collect::<Option<Vec<_>>>()?,
            Some(_) => return None,
            None => Vec::new(),
        };
        let optional = |key: &str| match condition.get(key) {
            Some(_) => texts(condition, key).map(Some),
            None => Some(None),
        };
        Some(Self {
            name: text(rule, "name")?,
            effect,
            reason: text(rule, "reason").unwrap_or_default(),
            servers: optional("server")?,
            tools: optional("tool")?,
            roles: match condition.get("roles") {
                Some(_) => Some(roles(condition, "roles")?),
                None => None,
            },
            paths,
            domains,
            lists,
            json: json.clone(),
        })
    }

    /// Returns whether it is about calls as a whole and every role.
    pub(super) fn is_about_all(&self) -> bool {
        self.roles.is_none()
            && self.paths.is_none()
            && self.domains.is_none()
            && self.lists.is_empty()
    }

    /// Returns whether it may be about values of `role` in calls of a tool.
    pub(crate) fn is_about(&self, role: Role, server: &str, tool: &str) -> bool {
        let has = |all: &Option<Vec<String>>, name: &str| {
            all.as_ref().is_none_or(|all| all.iter().any(|it| it == name))
        };
        self.is_relevant_to(role) && has(&self.servers, server) && has(&self.tools, tool)
    }

    /// Returns whether it may settle values of `role`.
    pub(super) fn is_relevant_to(&self, role: Role) -> bool {
        self.roles.as_ref().is_none_or(|all| all.contains(&role))
            && self.paths.as_ref().is_none_or(|it| it.roles.contains(&role))
            && self.domains.as_ref().is_none_or(|(all, _)| all.contains(&role))
            && (self.lists.is_empty() || self.lists.iter().any(|it| it.roles.contains(&role)))
    }

    /// Returns whether both can be about the same.
    pub(super) fn meets(&self, other: &Self) -> bool {
        let is_apart = |one: &Option<Vec<String>>, other: &Option<Vec<String>>| match (one, other) {
            (Some(one), Some(other)) => !one.iter().any(|it| other.contains(it)),
            _ => false,
        };
        !is_apart(&self.servers, &other.servers)
            && !is_apart(&self.tools, &other.tools)
            && (self.is_about_all()
                || other.is_about_all()
                || Role::all().any(|role| self.is_relevant_to(role) && other.is_relevant_to(role)))
    }
}

fn object<'a>(of: &'a Object, key: &str) -> Option<&'a Object> {
    match of.get(key)? {
        Json::Object(object) => Some(object),
        _ => None,
    }
}

fn text(of: &Object, key: &str) -> Option<String> {
    of.get(key)?.as_str().map(str::to_owned)
}

fn texts(of: &Object, key: &str) -> Option<Vec<String>> {
    match of.get(key)? {
        Json::Array(all) => all.iter().map(|it| it.as_str().map(str::to_owned)).collect(),
        _ => None,
    }
}

fn roles(of: &Object, key: &str) -> Option<Vec<Role>> {
    texts(of, key)?.iter().map(|it| it.parse().ok()).collect()
}

fn list(json: &Json) -> Option<GivenList> {
    let Json::Object(list) = json else { return None };
    let kind = text(list, "matchType")?;
    Some(GivenList { roles: roles(list, "roles")?, allowed: texts(list, "allowed")?, kind })
}
